import type { Json } from '../../src/domain/json.ts'
import { sharedTextHash } from '../../src/domain/shared-text.ts'
import { itemAt, seededRandom } from './random.ts'
import { APPROVALS, THREADS } from './review-words.ts'
import {
  DAY_MS,
  DEMO_END,
  type DemoOutput,
  type DemoTrace,
  type ErrorType,
  HOUR_MS,
  outputsOf,
  REVIEWERS,
} from './trace.ts'

/** A reviewer's decision on an output. */
interface DemoDecision {
  /** The reviewer's email. */
  reviewer: string
  decision: 'accept' | 'correct' | 'reset'
  approvedOutput?: Json
  comment?: string
  errorType?: ErrorType
}

/** Where reviewers find an output: on its span, or, if `spanId` is null, on the trace's root span. */
export interface DemoPlace {
  traceId: string
  spanId: string | null
}

/** All decisions on an output, in order. `at` is null if a decision is made when the demo is seeded. */
export interface DemoReview extends DemoPlace {
  decisions: (DemoDecision & { at: number | null })[]
}

/** A reviewer's comment on an output, without a decision. */
export interface DemoComment extends DemoPlace {
  id: string
  reviewer: string
  content: string
}

/**
 * The reviews of a run. The last decision on an output is correct: correct outputs are accepted, and wrong ones are
 * corrected to what they should have been. The exception is a case with an objection that nobody overrules: a reviewer
 * corrects a right output by mistake or as a matter of taste. A hasty decision may precede the last one.
 */
export function reviewsOf(trace: DemoTrace): DemoReview[] {
  const outputs = outputsToReview(trace)
  const { reviewer, second, random } = takenBy(trace)
  const shares = outputs.some(({ mistake, objection }) => mistake ?? objection)
    ? { flawed: 94, sound: 40 }
    : { flawed: 0, sound: random.pick(SHARES_OF_SOUND_RUNS) }
  const praise = trace.flaw === null ? 20 : 0
  // Unfinished runs aren't reviewed.
  if (trace.ending === 'running') return []
  const beginsAt = reviewTime(trace)
  return outputs.flatMap((output, index) => {
    const isTaken = random.chance((output.mistake ?? output.objection) ? shares.flawed : shares.sound)
    const decisions = isTaken ? decisionsOn(output, { reviewer, second, praise, random }) : []
    const { traceId, spanId } = output
    return decisions.length > 0 ? [{ traceId, spanId, decisions: timed(decisions, beginsAt + index * 40_000) }] : []
  })
}

/** When a run's reviewers start: during working hours on one of the following days. */
function reviewTime({ key, startedAt }: DemoTrace): number {
  const chosen = startedAt + seededRandom(`review time of ${key}`).whole(15 * HOUR_MS, 60 * HOUR_MS)
  const timeOfDay = chosen % DAY_MS
  return chosen - timeOfDay + 8 * HOUR_MS + Math.floor(timeOfDay * (9 / 24))
}

/** Adds times to decisions. A single decision that would come after the demo's end gets null. */
function timed(decisions: DemoDecision[], from: number): DemoReview['decisions'] {
  if (decisions.length === 1 && from >= DEMO_END) return decisions.map(decision => ({ ...decision, at: null }))
  const first = Math.min(from, DEMO_END - 6 * HOUR_MS)
  return decisions.map((decision, turn) => ({ ...decision, at: first + turn * 25 * 60_000 }))
}

/**
 * The outputs that the queue offers. If a run's own output repeats a step's output, the two are reviewed together, on
 * the step.
 */
export function outputsToReview(trace: DemoTrace): DemoOutput[] {
  const outputs = outputsOf(trace)
  const hashOf = ({ output }: DemoOutput) => sharedTextHash(JSON.stringify(output), output)
  const ofSteps = new Set(outputs.filter(({ spanId }) => spanId !== null).map(hashOf))
  return outputs.filter(output => {
    const hash = hashOf(output)
    return output.spanId !== null || hash === null || !ofSteps.has(hash)
  })
}

/**
 * Chooses the reviewer who takes a run, and a second one who sometimes also looks at it. `random` makes the other
 * choices for its reviews.
 */
function takenBy({ key }: DemoTrace) {
  const random = seededRandom(`reviews ${key}`)
  const [reviewer = '', second = ''] = random.shuffle(REVIEWERS.map(({ email }) => email))
  return { reviewer, second, random }
}

/** The percentage of outputs that get reviewed in a run without mistakes: all, about half, or none. */
const SHARES_OF_SOUND_RUNS = [100, 100, 50, 50, 50, 50, 0, 0, 0, 0, 0]

interface Decider extends ReturnType<typeof takenBy> {
  /** The percentage of acceptances with a comment. */
  praise: number
}

function decisionsOn(
  { mistake, objection, stepId }: DemoOutput,
  { reviewer, second, praise, random }: Decider,
): DemoDecision[] {
  if (objection) {
    const { approvedOutput, why, overruled, errorType } = objection
    // Reviewers who make a mistake don't notice it, so they don't name its type.
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
    // An output that breaks its schema can't be accepted, even in haste.
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
  // Some acceptances are taken back, and the output returns to the queue.
  return random.chance(1) ? [accept, { reviewer: second, decision: 'reset', comment: random.pick(RESETS) }] : [accept]
}

const RESETS = [
  'Accepted without looking at the whole run. Back to the queue.',
  "I'd like somebody who knows the docs to look at this one.",
  'Not so fast: we agreed to read these in pairs.',
  'Wrong button, I think. Please take another look.',
  "Reset for Monday's training.",
]

/** The reviewers' conversations about a project's runs, each on a different output. */
export function commentsOn(traces: readonly DemoTrace[]): DemoComment[] {
  const done = traces.filter(({ ending, flaw }) => ending === 'completed' && flaw === null)
  const sound = seededRandom('threads').shuffle(done)
  return THREADS.flatMap(({ run, stepId, turns }, index) => {
    const places = (run === undefined ? sound : traces.filter(({ key }) => key === run)).flatMap(trace =>
      outputsOf(trace).flatMap(output => (output.stepId === stepId ? [{ trace, output }] : [])),
    )
    if (places.length === 0) return []
    const { trace, output } = itemAt(places, index)
    const { reviewer, second } = takenBy(trace)
    const random = seededRandom(`thread ${index}`)
    return turns.map((content, turn) => ({
      traceId: output.traceId,
      spanId: output.spanId,
      id: random.uuid(),
      reviewer: itemAt([second, reviewer], turn),
      content,
    }))
  })
}
