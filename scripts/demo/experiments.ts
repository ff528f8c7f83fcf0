import type { JsonObject } from '../../src/domain/json.ts'
import { type Random, seededRandom } from './random.ts'

/** A dataset item, as a candidate sees it. The stand-in for the model also sees what reviewers approved. */
export interface DemoItem {
  id: string
  input: JsonObject
  output: JsonObject
  expected: JsonObject
  isCorrected: boolean
}

/** A prompt version that is tried on the reviewed outputs of its step. A stand-in answers in place of the model. */
export interface DemoExperiment {
  id: string
  stepId: string
  /** The number of the version; 1 is the first. */
  version: number
  name: string
  answer: (item: DemoItem, random: Random) => JsonObject
  /** How many of the items that wait for a person get a decision. The decisions alternate between accept and reject. */
  judged: number
}

/** A step's evaluator and its gate. */
export interface DemoStandard {
  stepId: string
  evaluator: object
  gate: object
}

/** The standard for each step's candidates. It ignores the model's confidence, which isn't part of a right answer. */
export const STANDARDS: readonly DemoStandard[] = [
  {
    stepId: 'classify',
    evaluator: { paths: { confidence: { type: 'ignore' } } },
    gate: { minItems: 5, minPassRate: 0.7, maxRegressed: 0 },
  },
  {
    stepId: 'generate-answer',
    evaluator: { paths: { confidence: { type: 'ignore' } } },
    gate: { minItems: 3, maxRegressed: 1, maxUnjudged: 3 },
  },
]

/** The experiments, oldest first: a version that helped, one that the gate blocks, and one that waits for people. */
export const EXPERIMENTS: readonly DemoExperiment[] = [
  {
    id: seededRandom('experiment 1').uuid(),
    stepId: 'classify',
    version: 3,
    name: 'Urgent: accounts that someone else uses',
    answer: ({ output, expected, isCorrected }, random) =>
      isCorrected && random.chance(75) ? { ...output, ...expected } : output,
    judged: 0,
  },
  {
    id: seededRandom('experiment 2').uuid(),
    stepId: 'classify',
    version: 4,
    name: 'Urgent: any device that does not work',
    answer: ({ output, expected, isCorrected }) => {
      const answer = isCorrected ? { ...output, ...expected } : output
      // It treats every broken device as a danger.
      return answer.category === 'technical' ? { ...answer, priority: 'urgent' } : answer
    },
    judged: 0,
  },
  {
    id: seededRandom('experiment 3').uuid(),
    stepId: 'generate-answer',
    version: 4,
    name: 'Say how sure the answer is',
    answer: ({ output, expected, isCorrected }, random) => {
      const confidence = random.whole(42, 98) / 100
      if (isCorrected && random.chance(60)) return { ...expected, confidence }
      // It no longer names its sources if it isn't sure.
      if (confidence < 0.5) return { ...output, sources: [], confidence }
      return random.chance(45) ? { ...output, confidence } : { ...output, answer: reworded(output), confidence }
    },
    judged: 4,
  },
]

/** The same answer in slightly different words, as a model would give it the next time. */
function reworded({ answer }: JsonObject): string {
  const [first = '', ...rest] = String(answer).split(/(?<=[.!?]) /)
  const start = first.startsWith('I ') ? 'I' : first.slice(0, 1).toLowerCase()
  return [...rest, `In short: ${start}${first.slice(1)}`].join(' ')
}
