import * as fc from 'fast-check'
import { MAX_TOKENS } from '../../src/limits.ts'
import { TIME, timeAfter } from '../support/builders.ts'
import {
  type Command,
  type Event,
  type FeedbackBody,
  type Fields,
  isObject,
  type Json,
  leavesOf,
  type ObservationBody,
  type SpanBody,
  type TraceBody,
} from './model.ts'

/*
 * This file generates the calls. It uses only a few names, and its values collide on purpose, because bugs appear where
 * calls interact. The ids are the same in every run, so that counterexamples stay readable. Each run has its own
 * organization.
 */

/** Jobs in a sequence of calls. Clients must not notice them. */
export type Job =
  /** The queue delivers the jobs that deletions sent. */
  | { type: 'deliver' }
  /** Cron runs `hours` hours after everything before it. */
  | { type: 'sweep'; hours: number; hasQueue: boolean }

/** A call or a job, and the number of milliseconds since the previous one. */
export interface Step {
  after: number
  action: Command | Job
}

/** A search for some of the metadata that was sent, and optionally for a name and a status. */
export interface Probe {
  leaves: number[]
  name: string | undefined
  status: 'running' | 'completed' | undefined
}

export const TRACES: readonly string[] = ['trace_a', 'trace_b', 'trace_c']
const uuids = (first: string) => [1, 2, 3, 4].map(digit => `${first}0000000-0000-4000-8000-00000000000${digit}`)
export const SPANS = uuids('a')
/**
 * With several databases, the ids of spans and feedback are unique only within one database. The model doesn't
 * distinguish databases, so each trace gets its own ids.
 */
export const ownSpanId = (place: number, id: string): string => `${place}${id.slice(1)}`
const OBSERVATIONS = [...uuids('b'), ...uuids('9')]
const FEEDBACK = ['f1', 'f2', 'f\u00003'] as const
/** The maximum number of calls in a crowd. */
const CROWD = 12
/** Every feedback_id that calls send. */
export const FEEDBACK_IDS: readonly string[] = [
  ...FEEDBACK,
  ...Array.from({ length: CROWD }, (_, index) => `crowd${index}`),
]
const NAMES = ['ask', 'answer', 'é\u0000x'] as const

/**
 * Placeholders that `expand` replaces with values that exist only during a run, or with strings that are too long to
 * print.
 */
const ROOT_OF = 'root of '
const KNOWN_VERSION = 'the prompt version'
const UNKNOWN_VERSION = 'd0000000-0000-4000-8000-000000000000'
const LONG = /^<(.)\*(\d+)>$/u

/** Returns the body with its placeholders filled in. */
export function expand<Body extends object>(
  body: Body,
  ids: { root: (id: string) => string; promptVersion: string },
): Body {
  const fill = (value: Json): Json => {
    if (typeof value === 'string') {
      if (value === KNOWN_VERSION) return ids.promptVersion
      return value.startsWith(ROOT_OF) ? ids.root(value.slice(ROOT_OF.length)) : repeated(value)
    }
    if (Array.isArray(value)) return value.map(fill)
    return isObject(value)
      ? Object.fromEntries(Object.entries(value).map(([field, item]) => [repeated(field), fill(item)]))
      : value
  }
  return fill(body as unknown as Json) as unknown as Body
}

function repeated(text: string): string {
  const [, character = text, times = '1'] = LONG.exec(text) ?? []
  return character.repeat(Number(times))
}

const time = fc.nat(2).map(timeAfter)
const traceId = fc.constantFrom('trace_a', 'trace_a', 'trace_a', 'trace_b', 'trace_b', 'trace_c')
/** UUIDs are case-insensitive. */
const uuidOf = ([first = '', ...others]: readonly string[]) =>
  fc.tuple(fc.constantFrom(first, first, ...others), fc.nat(9)).map(([id, die]) => (die === 9 ? id.toUpperCase() : id))

const scalar = fc.constantFrom<Json>(
  1,
  'x',
  null,
  true,
  false,
  0,
  42,
  '42',
  1.5,
  '',
  'true',
  'null',
  'vip',
  'é😀',
  'a\u0000b',
  '\ud800',
  'sha256:x',
  1e21,
  '<v*300>',
)
const FIELDS = [
  'a',
  'b',
  'a.b',
  'tags',
  'group_id',
  'name',
  'limit',
  '__proto__',
  'constructor',
  '',
  'q\u0000',
  '<k*200>',
]
const field = fc.constantFrom(...FIELDS)

const objectOf = (value: fc.Arbitrary<Json>, maxLength: number): fc.Arbitrary<Fields> =>
  fc
    .uniqueArray(fc.tuple(field, value), { maxLength, selector: ([name]) => name })
    .map(entries => Object.fromEntries(entries))

const small: fc.Arbitrary<Json> = fc.oneof(
  { arbitrary: scalar, weight: 4 },
  { arbitrary: fc.array(scalar, { maxLength: 3 }), weight: 1 },
  { arbitrary: objectOf(scalar, 2), weight: 2 },
  { arbitrary: fc.array(objectOf(scalar, 1), { maxLength: 2 }), weight: 1 },
)
/** Values over 8 KiB, which are stored in R2. */
const large = fc.constantFrom<Json>('<x*9000>', '<é*5000>', { a: '<y*9000>' }, { b: '<😀*3000>', c: 1 }, ['<z*9000>'])
const value = fc.oneof(
  { arbitrary: small, weight: 4 },
  { arbitrary: objectOf(small, 3), weight: 3 },
  { arbitrary: large, weight: 2 },
)

/** Fields so large that a few of them exceed the limit for metadata or for searchable metadata. */
const bulky = fc.constantFrom<Json>(
  '<m*40000>',
  '<n*25000>',
  '<o*35000>',
  Array.from({ length: 40 }, (_, index) => index),
  Array.from({ length: 63 }, (_, index) => `t${index}`),
)
const metadata = objectOf(
  fc.oneof(
    { arbitrary: small, weight: 9 },
    { arbitrary: objectOf(small, 2), weight: 2 },
    { arbitrary: bulky, weight: 1 },
  ),
  4,
)

const status = fc.constantFrom('running' as const, 'completed' as const)
const duration = fc.constantFrom(0, 5, 2 ** 53 - 1)

const trace: fc.Arbitrary<TraceBody> = fc.record(
  { trace_id: traceId, name: fc.constantFrom(...NAMES), timestamp: time, status, metadata, duration_ms: duration },
  { requiredKeys: ['trace_id', 'name', 'timestamp', 'status'], noNullPrototype: true },
)

const rootId = traceId.map(id => ROOT_OF + id)
const anySpanId = fc.oneof({ arbitrary: uuidOf(SPANS), weight: 5 }, { arbitrary: rootId, weight: 1 })

const span: fc.Arbitrary<SpanBody> = fc
  .record(
    {
      trace_id: traceId,
      span_id: fc.oneof({ arbitrary: uuidOf(SPANS), weight: 6 }, { arbitrary: fc.constant(ROOT_OF), weight: 1 }),
      parent_span_id: anySpanId,
      step_id: fc.constantFrom(...NAMES),
      input: value,
      output: value,
      metadata: objectOf(small, 2),
      prompt_version_id: fc.constantFrom(KNOWN_VERSION, KNOWN_VERSION, KNOWN_VERSION, UNKNOWN_VERSION),
      timestamp: time,
      duration_ms: duration,
      status: fc.constantFrom('ok' as const, 'error' as const),
      model: fc.constantFrom(...NAMES),
      provider: fc.constantFrom(...NAMES),
      usage: fc.record(
        { input_tokens: fc.nat(MAX_TOKENS), output_tokens: fc.nat(9), cached_tokens: fc.nat(9) },
        { requiredKeys: ['input_tokens', 'output_tokens'], noNullPrototype: true },
      ),
      // Sums of powers of two are exact in any order.
      cost_usd: fc.constantFrom(0, 0.25, 0.5, 2),
    },
    { requiredKeys: ['trace_id', 'span_id', 'step_id', 'timestamp'], noNullPrototype: true },
  )
  // A call may refer only to its own trace's root span. The contract doesn't define what happens if a call refers to
  // another trace's root before that root exists.
  .map(body => (body.span_id === ROOT_OF ? { ...body, span_id: ROOT_OF + body.trace_id } : body))

const observation: fc.Arbitrary<ObservationBody> = fc
  .record(
    {
      trace_id: traceId,
      observation_id: uuidOf(OBSERVATIONS),
      span_id: anySpanId,
      type: fc.constantFrom('input' as const, 'input' as const, 'output' as const, 'state' as const),
      key: fc.constantFrom('config', 'config', 'k\u0000', '__proto__'),
      data: value,
      timestamp: time,
    },
    { requiredKeys: ['trace_id', 'observation_id', 'type', 'data', 'timestamp'], noNullPrototype: true },
  )
  .map(body => (body.type === 'state' ? { key: 'config', ...body } : body))

const feedback: fc.Arbitrary<FeedbackBody> = fc.record(
  {
    trace_id: traceId,
    feedback_id: fc.constantFrom(...FEEDBACK),
    span_id: anySpanId,
    name: fc.constantFrom('tone', 'n\u0000'),
    rating: fc.constantFrom('positive' as const, 'negative' as const, 0, 0.5, 1),
    comment: fc.constantFrom('', 'Wrong', 'c\u0000d', '<w*9000>'),
    correction: objectOf(small, 2),
    labeller: fc.record(
      { name: fc.constantFrom('', 'Ada\u0000'), email: fc.constantFrom('ada@x.org', 'Ada@X.org', 'bo@x.org') },
      { requiredKeys: [], noNullPrototype: true },
    ),
    timestamp: time,
  },
  { requiredKeys: ['trace_id', 'feedback_id'], noNullPrototype: true },
)

const event: fc.Arbitrary<Event> = fc.oneof(
  { arbitrary: trace.map(body => ({ type: 'trace' as const, body })), weight: 3 },
  { arbitrary: observation.map(body => ({ type: 'observation' as const, body })), weight: 3 },
  { arbitrary: span.map(body => ({ type: 'span' as const, body })), weight: 2 },
  { arbitrary: feedback.map(body => ({ type: 'feedback' as const, body })), weight: 2 },
)

const deletion = traceId.map((trace_id): Command => ({ type: 'delete', trace_id }))

const command: fc.Arbitrary<Command> = fc.oneof({ arbitrary: event, weight: 10 }, { arbitrary: deletion, weight: 1 })

/** A call, a read, or a delivery by the queue that runs at the same time as others. */
export type Racer = Command | { type: 'deliver' } | { type: 'read'; trace_id: string }

const job: fc.Arbitrary<Job> = fc.oneof(
  fc.constant<Job>({ type: 'deliver' }),
  fc.record({ type: fc.constant('sweep' as const), hours: fc.constantFrom(0, 25), hasQueue: fc.boolean() }),
)

export const isCommand = (action: { type: string }): action is Command =>
  ['trace', 'span', 'observation', 'feedback', 'delete'].includes(action.type)
export const isEvent = (action: { type: string }): action is Event => isCommand(action) && action.type !== 'delete'

/** The sizes of batches, used in rotation. */
export const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 })

const creations = TRACES.map((trace_id): Event => {
  const body = { trace_id, name: 'ask', timestamp: timeAfter(1), status: 'running' as const }
  return { type: 'trace', body }
})

/** A request in a crowd: one call, or a batch of several. It's sent `times` times. */
export interface Request {
  events: Event[]
  times: number
}

/**
 * Calls that have the same outcome in any order: the traces already exist, each call has its own child or metadata
 * field, and no two children have the same time.
 */
export const crowd: fc.Arbitrary<{ first: Step[]; requests: Request[] }> = fc
  .array(
    fc.record({ events: fc.array(event, { minLength: 1, maxLength: 3 }), times: fc.integer({ min: 1, max: 2 }) }),
    {
      minLength: 2,
      maxLength: CROWD / 3,
    },
  )
  .map(requests => ({
    first: creations.map(action => ({ after: 1, action })),
    requests: requests.map((request, place) => ({
      ...request,
      events: request.events.map((event, index) => apart(event, 3 * place + index)),
    })),
  }))

function apart(event: Event, index: number): Event {
  const timestamp = timeAfter(index)
  const id = (first: string) => `${first}0000000-0000-4000-8000-${String(index).padStart(12, '0')}`
  switch (event.type) {
    case 'trace':
      return { type: 'trace', body: { ...event.body, metadata: { [`m${index}`]: index }, duration_ms: 5 } }
    case 'span': {
      const { prompt_version_id, ...body } = event.body
      return { type: 'span', body: { ...body, span_id: id('c') } }
    }
    // The service rejects a call that refers to another trace's span.
    case 'observation': {
      const { span_id, ...body } = event.body
      return { type: 'observation', body: { ...body, observation_id: id('c'), timestamp } }
    }
    case 'feedback': {
      const { span_id, ...body } = event.body
      return { type: 'feedback', body: { ...body, feedback_id: `crowd${index}`, timestamp } }
    }
  }
}

/** A sequence of calls and jobs. If `minGap` is 0, some of them happen in the same millisecond. */
export const sequence = (maxLength: number, minGap: 0 | 1): fc.Arbitrary<Step[]> => {
  const later = fc.record(
    {
      after: fc.integer({ min: minGap, max: 1 }),
      action: fc.oneof({ arbitrary: command, weight: 8 }, { arbitrary: job, weight: 1 }),
    },
    { noNullPrototype: true },
  )
  return fc
    .tuple(narrowness, fc.subarray(creations, { minLength: 1 }), fc.array(later, { maxLength, size: 'max' }))
    .map(([pools, first, steps]) =>
      [...first.map(action => ({ after: 1, action })), ...steps].map(step => ({
        ...step,
        action: narrowed(step.action, pools),
      })),
    )
}

/** The number of traces and times in a sequence. Many sequences have just one of each, so that more calls interact. */
interface Pools {
  traces: number
  times: number
}

const narrowness = fc.record(
  { traces: fc.constantFrom(1, 1, 2, 3), times: fc.constantFrom(1, 1, 2, 3) },
  { noNullPrototype: true },
)

/** Limits a call to the first few traces and times. */
function narrowed<Sent extends Command | Job | Racer>(sent: Sent, { traces, times }: Pools): Sent {
  const traceAmong = (id: string) => TRACES[TRACES.indexOf(id) % traces] ?? id
  const timeAmong = (time: string) => timeAfter((Date.parse(time) - Date.parse(TIME)) % times)
  if ('trace_id' in sent) return { ...sent, trace_id: traceAmong(sent.trace_id) }
  if (!('body' in sent)) return sent
  const { trace_id, timestamp } = sent.body
  const own =
    sent.type === 'span' && sent.body.span_id === ROOT_OF + trace_id ? { span_id: ROOT_OF + traceAmong(trace_id) } : {}
  return {
    ...sent,
    body: {
      ...sent.body,
      ...own,
      trace_id: traceAmong(trace_id),
      ...(timestamp && { timestamp: timeAmong(timestamp) }),
    },
  }
}

const racer: fc.Arbitrary<Racer> = fc.oneof(
  { arbitrary: event, weight: 6 },
  { arbitrary: deletion, weight: 2 },
  { arbitrary: traceId.map(trace_id => ({ type: 'read' as const, trace_id })), weight: 1 },
  { arbitrary: fc.constant({ type: 'deliver' as const }), weight: 1 },
)

/** A group of racers that is small enough to try every order. */
export const racers: fc.Arbitrary<Racer[]> = fc
  .tuple(narrowness, fc.array(racer, { minLength: 2, maxLength: 4 }))
  .map(([pools, racing]) => racing.map(sent => narrowed(sent, pools)))

export const probes: fc.Arbitrary<Probe[]> = fc.array(
  fc.record({
    leaves: fc.array(fc.nat(99), { maxLength: 2 }),
    name: fc.option(fc.constantFrom(...NAMES), { nil: undefined, freq: 1 }),
    status: fc.option(status, { nil: undefined, freq: 1 }),
  }),
  { minLength: 1, maxLength: 4 },
)

/** The distinct searchable metadata that a sequence's calls sent, except for values that a URL can't contain. */
export function leavesSent(commands: readonly (Command | Job)[]) {
  const leaves = commands.flatMap(sent => (sent.type === 'trace' ? leavesOf(sent.body.metadata ?? {}) : []))
  const distinct = new Map(leaves.map(leaf => [JSON.stringify(leaf), leaf]))
  return [...distinct.values()].filter(({ path, value }) => (path + value).isWellFormed())
}
