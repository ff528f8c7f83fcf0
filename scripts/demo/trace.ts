import type { Json, JsonObject } from '../../src/domain/json.ts'
import { type Random, seededRandom } from './random.ts'

/** One event of `POST /api/v1/batch`. */
export interface DemoEvent {
  type: 'trace' | 'span' | 'observation' | 'feedback'
  body: JsonObject
}

/** The possible flaws in a trace, and the error type that each is an example of. */
export const ERROR_TYPE_OF_FLAW = {
  ambiguous_input: 'ambiguous_request',
  contradictory_input: 'incorrect_input_data',
  wrong_order_number: 'incorrect_input_data',
  unsupported_question: 'unsupported_request',
  mistaken_reviewer: 'reviewer_mistake',
  matter_of_taste: 'acceptable_variation',
  outdated_document: 'outdated_reference',
  wrong_language: 'instruction_noncompliance',
  wrong_team: 'instruction_noncompliance',
  lost_question: 'instruction_noncompliance',
  dropped_prefix: 'instruction_noncompliance',
  wrong_task: 'task_misunderstanding',
  invented_fact: 'hallucinated_content',
  wrong_document: 'retrieval_failure',
  misread_number: 'context_misinterpretation',
  transposed_digits: 'context_misinterpretation',
  swapped_dates: 'context_misinterpretation',
  wrong_label: 'reasoning_error',
  wrong_conclusion: 'reasoning_error',
  missing_field: 'output_format_violation',
  incomplete_answer: 'incomplete_output',
  missing_line: 'incomplete_output',
} as const

export type Flaw = keyof typeof ERROR_TYPE_OF_FLAW

/** The error types that the demo shows. */
export type ErrorType = (typeof ERROR_TYPE_OF_FLAW)[Flaw] | 'system_failure'

/** A mistake in an output, known to the demo but not to the service. */
export interface Mistake {
  /** The correct output. Absent if no correct output fits the step's schema. */
  right?: Json
  errorType: ErrorType
  /** What is wrong, in a reviewer's words. */
  why: string
}

/** The reason given by a reviewer who corrects a right output, by mistake or as a matter of taste. */
export interface Objection {
  why: string
  /** The comment of a second reviewer who accepts the output after all. If absent, the correction stands. */
  overruled?: string
}

/** An output and the truth about it. */
interface Judged {
  /** Absent if the run produced no such output. */
  output?: Json
  /** Absent if the output is right. */
  mistake?: Mistake | undefined
  /** An objection to a right output, with what the objector approves instead. */
  objection?: (Objection & { approvedOutput: Json; errorType: ErrorType }) | undefined
}

/** A step of a run, without times. */
export interface Step extends Judged {
  stepId: string
  input: Json
  error?: { type: string; message: string }
  /** The version of the step's prompt that it used. */
  promptVersion?: number
  state?: JsonObject
  /** How long its own work takes, without its children. */
  workMs: number
  children?: Step[]
}

/** A person's feedback on a run. */
export interface Opinion {
  rating: 'positive' | 'negative' | number
  comment?: string
  correction?: JsonObject
  /** The step that the feedback is about. If absent, it's about the whole run. */
  stepId?: string
}

/** How a run ended. A failed run stopped at one of its steps, although the service considers it completed. */
export type Ending = 'completed' | 'running' | 'failed'

/** One run of a pipeline. */
export interface DemoTrace extends Judged {
  /** Unique to this run. Its ids are derived from it. */
  key: string
  project: 'support' | 'back-office'
  name: string
  startedAt: number
  metadata: JsonObject
  input: JsonObject
  state: JsonObject
  steps: Step[]
  ending: Ending
  opinion?: Opinion | undefined
  flaw: Flaw | null
}

/** Returns the service's id of a version (1 is the first) of a step's prompt. */
export type PromptVersionId = (stepId: string, version: number) => string

/** A run's events in the order in which a pipeline posts them: each step when it's done, and people's feedback last. */
export function traceEvents(trace: DemoTrace, promptVersionId: PromptVersionId): DemoEvent[] {
  const { trace_id, placed, endsAt, random } = placeTrace(trace)
  const finishedAt = endsAt + random.whole(3, 15)
  const head = { trace_id, name: trace.name, timestamp: isoTime(trace.startedAt), metadata: trace.metadata }
  const observe = (fields: JsonObject, time: number): DemoEvent => ({
    type: 'observation',
    body: { trace_id, observation_id: random.uuid(), ...fields, timestamp: isoTime(time) },
  })
  const observeState = (state: JsonObject, time: number, fields: JsonObject = {}) =>
    Object.entries(state).map(([key, data]) => observe({ type: 'state', ...fields, key, data }, time))
  const postStep = ({ step, spanId, parentId, startedAt, durationMs, children }: PlacedStep): DemoEvent[] => [
    ...children.flatMap(postStep),
    {
      type: 'span',
      body: {
        trace_id,
        span_id: spanId,
        ...(parentId && { parent_span_id: parentId }),
        step_id: step.stepId,
        input: step.input,
        ...(step.output !== undefined && { output: step.output }),
        ...(step.error && { metadata: { error: step.error } }),
        ...(step.promptVersion && { prompt_version_id: promptVersionId(step.stepId, step.promptVersion) }),
        ...modelUse(step),
        timestamp: isoTime(startedAt),
        duration_ms: durationMs,
        status: step.error ? 'error' : 'ok',
      },
    },
    ...observeState(step.state ?? {}, startedAt, { span_id: spanId }),
  ]
  const completion: DemoEvent = {
    type: 'trace',
    body: { ...head, status: 'completed', duration_ms: finishedAt - trace.startedAt },
  }
  return [
    { type: 'trace', body: { ...head, status: 'running' } },
    observe({ type: 'input', data: trace.input }, trace.startedAt + 1),
    ...observeState(trace.state, trace.startedAt + 2),
    ...placed.flatMap(postStep),
    ...(trace.output === undefined ? [] : [observe({ type: 'output', data: trace.output }, finishedAt - 1)]),
    ...(trace.ending === 'running' ? [] : [completion]),
    ...(trace.opinion ? [feedback(trace.opinion, { trace_id, placed, finishedAt, random })] : []),
  ]
}

/** The usage of a step's model call: a token for every four characters, at made-up prices. Empty for other steps. */
function modelUse({ stepId, input, output, promptVersion, error }: Step): JsonObject {
  const model = promptVersion ? (PROMPT_MODELS[stepId] ?? 'assistant-small-2') : EMBEDDING_MODELS[stepId]
  if (!model || error) return {}
  const tokensIn = (value: Json | undefined) => Math.ceil(JSON.stringify(value ?? '').length / 4)
  const input_tokens = tokensIn(input) + (promptVersion ? PROMPT_TOKENS : 0)
  const output_tokens = promptVersion ? tokensIn(output) : 0
  // In millionths of a dollar, to avoid fractions that can't be stored exactly.
  const cost_usd = Math.round(input_tokens * 0.4 + output_tokens * 1.6) / 1e6
  return { model, usage: { input_tokens, output_tokens }, cost_usd }
}

const PROMPT_MODELS: Record<string, string> = { 'extract-fields': 'extractor-medium-1' }
const EMBEDDING_MODELS: Record<string, string> = { 'embed-query': 'embedding-small-1' }
const PROMPT_TOKENS = 450

/** An output of a run and its place in the service. If `spanId` is null, it's the output of the whole run. */
export interface DemoOutput extends Judged {
  traceId: string
  spanId: string | null
  stepId: string
}

/** All outputs of a run. The run's own output is last. */
export function outputsOf(trace: DemoTrace): DemoOutput[] {
  const { trace_id: traceId, placed } = placeTrace(trace)
  const ofSpan = ({ step, spanId, children }: PlacedStep): DemoOutput[] => [
    ...children.flatMap(ofSpan),
    { ...judged(step), traceId, spanId, stepId: step.stepId },
  ]
  const whole = { ...judged(trace), traceId, spanId: null, stepId: trace.name }
  return [...placed.flatMap(ofSpan), whole].filter(({ output }) => output !== undefined)
}

const judged = ({ output, mistake, objection }: Judged): Judged => ({
  ...(output !== undefined && { output }),
  mistake,
  objection,
})

/** A run's ids and times, and the generator for the run's other random choices. */
function placeTrace({ key, steps, startedAt }: DemoTrace) {
  const random = seededRandom(`ids of ${key}`)
  const trace_id = `trace_${random.hex(22)}`
  return { trace_id, ...placeSteps(steps, startedAt + random.whole(4, 20), random), random }
}

/** The people who look at runs and review them. */
export const REVIEWERS = [
  { name: 'Ada Lopez', email: 'ada@example.com' },
  { name: 'Kofi Mensah', email: 'kofi@example.com' },
  { name: 'Mei Tanaka', email: 'mei@example.com' },
] as const

interface FeedbackContext {
  trace_id: string
  placed: readonly PlacedStep[]
  finishedAt: number
  random: Random
}

function feedback({ stepId, ...said }: Opinion, { trace_id, placed, finishedAt, random }: FeedbackContext): DemoEvent {
  const about = placed.find(({ step }) => step.stepId === stepId)
  return {
    type: 'feedback',
    body: {
      trace_id,
      feedback_id: `feedback-${random.hex(12)}`,
      ...(about && { span_id: about.spanId }),
      ...said,
      labeller: random.pick(REVIEWERS),
      timestamp: isoTime(finishedAt + random.whole(90_000, 4 * HOUR_MS)),
    },
  }
}

interface PlacedStep {
  step: Step
  spanId: string
  parentId: string | undefined
  startedAt: number
  durationMs: number
  children: PlacedStep[]
}

/** Places steps one after another, each around its children. Also returns the time at which the last step ends. */
function placeSteps(steps: readonly Step[], from: number, random: Random, parentId?: string) {
  let endsAt = from
  const placed = steps.map((step): PlacedStep => {
    const startedAt = endsAt + random.whole(1, 12)
    const spanId = random.uuid()
    const inner = placeSteps(step.children ?? [], startedAt, random, spanId)
    endsAt = inner.endsAt + step.workMs
    return { step, spanId, parentId, startedAt, durationMs: endsAt - startedAt, children: inner.placed }
  })
  return { placed, endsAt }
}

/** How the run at an index ended: one in 20 is still running, and one in 40 failed. Flawed cases always complete. */
export function endingAt(index: number): Ending {
  if (index % 20 === 11) return 'running'
  return index % 40 === 27 ? 'failed' : 'completed'
}

/** The flawed case of the run at an index, if any: every fifth run has one until none are left. */
export const caseAt = <T>(cases: readonly T[], index: number): T | undefined =>
  index % 5 === 4 ? cases[(index - 4) / 5] : undefined

/**
 * The steps that a run completed: a running run lacks the last step, and a failed run ends with the step that failed.
 */
export function stepsUntil(
  ending: Ending,
  steps: Step[],
  failure: Required<Pick<Step, 'stepId' | 'error' | 'workMs'>>,
) {
  if (ending === 'running') return steps.slice(0, -1)
  if (ending === 'completed') return steps
  const failed = steps.findIndex(({ stepId }) => stepId === failure.stepId)
  return steps.slice(0, failed + 1).map(step => (step.stepId === failure.stepId ? failedStep(step, failure) : step))
}

function failedStep(
  { output: _, state: __, children: ___, ...step }: Step,
  failure: Pick<Step, 'error' | 'workMs'>,
): Step {
  return { ...step, ...failure }
}

/** An occasional comment by a reviewer about a run that went well, and the step that the comment is about. */
export function approval(
  ending: Ending,
  comments: readonly string[],
  stepIds: readonly string[],
  random: Random,
): Opinion | undefined {
  if (ending !== 'completed' || !random.chance(27)) return undefined
  return {
    rating: random.chance(70) ? 'positive' : random.whole(14, 20) / 20,
    ...(random.chance(50) && { comment: random.pick(comments) }),
    ...(random.chance(25) && { stepId: random.pick(stepIds) }),
  }
}

export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS
const FIRST_DAY = Date.parse('2026-10-24T00:00:00.000Z')
const LAST_DAY = Date.parse('2026-11-20T00:00:00.000Z')
/** Everything in the demo's past happened before this time. */
export const DEMO_END = LAST_DAY + DAY_MS
const OPENS_AT_MS = 7.5 * HOUR_MS
const OPEN_MS = 10 * HOUR_MS

/**
 * Ascending times within working hours, evenly spaced with some jitter. `closedDays` are days of the week; 0 is Sunday.
 */
export function workingTimes(count: number, closedDays: readonly number[], random: Random): number[] {
  const days = Array.from({ length: (LAST_DAY - FIRST_DAY) / DAY_MS + 1 }, (_, day) => FIRST_DAY + day * DAY_MS)
  const openDays = days.filter(day => !closedDays.includes(new Date(day).getUTCDay()))
  const stepMs = Math.floor((openDays.length * OPEN_MS) / count)
  return Array.from({ length: count }, (_, index) => {
    const worked = index * stepMs + random.whole(0, Math.floor(stepMs * 0.7))
    const day = openDays[Math.floor(worked / OPEN_MS)] ?? LAST_DAY
    return day + OPENS_AT_MS + (worked % OPEN_MS)
  })
}

/** A time in the API's format. */
export const isoTime = (milliseconds: number): string => new Date(milliseconds).toISOString()
