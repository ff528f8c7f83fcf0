import type { Json } from '../../src/domain/json.ts'
import { itemAt, seededRandom } from './random.ts'
import { APPROVALS, THREADS } from './review-words.ts'
import { type DemoOutput, type DemoTrace, type ErrorType, outputsOf, REVIEWERS } from './trace.ts'

/** What one reviewer decided on an output. */
interface DemoDecision {
  /** The e-mail of the reviewer. */
  reviewer: string
  decision: 'accept' | 'correct' | 'reset'
  approvedOutput?: Json
  comment?: string
  errorType?: ErrorType
}

/** Where the demo's reviewers meet an output: on its span, or with null on the root span of the trace. */
export interface DemoPlace {
  traceId: string
  spanId: string | null
}

/** All decisions on an output, the first one first. */
export interface DemoReview extends DemoPlace {
  decisions: DemoDecision[]
}

/** What a reviewer said about an output without deciding on it. */
export interface DemoComment extends DemoPlace {
  id: string
  reviewer: string
  content: string
}

/**
 * The reviews of a run. The last decision on an output is true: what is right is accepted, what is wrong is corrected to
 * what it should have been. Not so where a case has an objection that nobody overrules: there, a reviewer corrected what
 * was right, by mistake or as a matter of taste. Before the last decision there may be a hasty one.
 */
export function reviewsOf(trace: DemoTrace): DemoReview[] {
  const outputs = outputsOf(trace)
  const { reviewer, second, random } = takenBy(trace)
  const shares = outputs.some(({ mistake, objection }) => mistake ?? objection)
    ? { flawed: 94, sound: 40 }
    : { flawed: 0, sound: random.pick(SHARES_OF_SOUND_RUNS) }
  const praise = trace.flaw === null ? 20 : 0
  // Nobody reviews what is not done.
  if (trace.ending === 'running') return []
  return outputs.flatMap(output => {
    const isTaken = random.chance((output.mistake ?? output.objection) ? shares.flawed : shares.sound)
    const decisions = isTaken ? decisionsOn(output, { reviewer, second, praise, random }) : []
    const { traceId, spanId } = output
    return decisions.length > 0 ? [{ traceId, spanId, decisions }] : []
  })
}

/** Who takes a run, who else looks at it now and then, and what else is drawn for its reviews. */
function takenBy({ key }: DemoTrace) {
  const random = seededRandom(`reviews ${key}`)
  const [reviewer = '', second = ''] = random.shuffle(REVIEWERS.map(({ email }) => email))
  return { reviewer, second, random }
}

/** Of a sound run, a reviewer looks at everything, at about half of the outputs, or at nothing. */
const SHARES_OF_SOUND_RUNS = [100, 100, 50, 50, 50, 50, 0, 0, 0, 0, 0]

interface Decider extends ReturnType<typeof takenBy> {
  /** How many of a hundred acceptances come with a comment. */
  praise: number
}

function decisionsOn(
  { mistake, objection, stepId }: DemoOutput,
  { reviewer, second, praise, random }: Decider,
): DemoDecision[] {
  if (objection) {
    const { approvedOutput, why, overruled, errorType } = objection
    // Who makes a mistake does not know it.
    const named = errorType === 'reviewer_mistake' ? {} : { errorType }
    return [
      { reviewer, decision: 'correct', approvedOutput, comment: why, ...named },
      ...(overruled === undefined
        ? []
        : [{ reviewer: second, decision: 'accept', comment: overruled, errorType } as const]),
    ]
  }
  if (mistake) {
    const { right, errorType, why } = mistake
    if (right === undefined) return []
    // What breaks its schema could not even be accepted in haste.
    const isHasty = random.chance(8) && errorType !== 'output_format_violation'
    const hasty = { reviewer: random.pick([reviewer, second]), decision: 'accept' } as const
    return [
      ...(isHasty ? [hasty] : []),
      { reviewer, decision: 'correct', approvedOutput: right, comment: why, errorType },
    ]
  }
  const comments = APPROVALS[stepId]
  const isCommented = random.chance(praise)
  const accept = {
    reviewer,
    decision: 'accept',
    ...(comments && isCommented && { comment: random.pick(comments) }),
  } as const
  // Some acceptances are taken back, and the output waits in the queue again.
  return random.chance(1) ? [accept, { reviewer: second, decision: 'reset', comment: random.pick(RESETS) }] : [accept]
}

const RESETS = [
  'Accepted without a look at the whole run. Back into the queue.',
  'I would like somebody who knows the docs to see this one.',
  'Not so fast: we agreed to read these in pairs.',
  'Wrong button, I think. Please look again.',
  'Reset for the training on Monday.',
]

/** What reviewers say to each other about the outputs of a project's runs, each thread on an output of its own. */
export function commentsOn(traces: readonly DemoTrace[]): DemoComment[] {
  const done = traces.filter(({ ending, flaw }) => ending === 'completed' && flaw === null)
  const sound = seededRandom('threads').shuffle(done)
  return THREADS.flatMap(({ run, stepId, said }, index) => {
    const places = (run === undefined ? sound : traces.filter(({ key }) => key === run)).flatMap(trace =>
      outputsOf(trace).flatMap(output => (output.stepId === stepId ? [{ trace, output }] : [])),
    )
    if (places.length === 0) return []
    const { trace, output } = itemAt(places, index)
    const { reviewer, second } = takenBy(trace)
    const random = seededRandom(`thread ${index}`)
    return said.map((content, turn) => ({
      traceId: output.traceId,
      spanId: output.spanId,
      id: random.uuid(),
      reviewer: itemAt([second, reviewer], turn),
      content,
    }))
  })
}
