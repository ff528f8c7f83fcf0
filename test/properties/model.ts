import { bytesOf, type Fields, isObject, itemsOf, type Json } from './json.ts'
import { inputPreview, mergedInput, outputPreview } from './previews.ts'

/*
 * An independent implementation of sections 2 and 3 of the contract as plain data and functions. It computes a
 * project's data after a sequence of calls, the response to each call, and the result of each read. It's based only on
 * the contract and deliberately uses none of the product's code, so that a misreading in either one shows up as a
 * difference.
 */

export { type Fields, isObject, type Json }

export interface TraceBody {
  trace_id: string
  name: string
  timestamp: string
  status: 'running' | 'completed'
  metadata?: Fields
  duration_ms?: number
}

export interface SpanBody {
  trace_id: string
  span_id: string
  parent_span_id?: string
  step_id: string
  input?: Json
  output?: Json
  metadata?: Fields
  prompt_version_id?: string
  timestamp: string
  duration_ms?: number
  status?: 'ok' | 'error'
  model?: string
  provider?: string
  usage?: { input_tokens: number; output_tokens: number; cached_tokens?: number }
  cost_usd?: number
}

export interface ObservationBody {
  trace_id: string
  observation_id: string
  span_id?: string
  type: 'input' | 'output' | 'state'
  key?: string
  data: Json
  timestamp: string
}

export interface FeedbackBody {
  trace_id: string
  feedback_id: string
  span_id?: string
  name?: string
  rating?: 'positive' | 'negative' | number
  comment?: string
  correction?: Fields
  labeller?: { name?: string; email?: string }
  timestamp?: string
}

/** A call that can also be an event in a batch. */
export type Event =
  | { type: 'trace'; body: TraceBody }
  | { type: 'span'; body: SpanBody }
  | { type: 'observation'; body: ObservationBody }
  | { type: 'feedback'; body: FeedbackBody }

export type Command = Event | { type: 'delete'; trace_id: string }

/** When the service received a call: milliseconds since 1970, and its position in the batch. */
export interface Arrival {
  at: number
  place: number
}

/** The ids that the contract derives from client names, and those of the tenant. */
export interface Ids {
  trace: (traceId: string) => string
  root: (traceId: string) => string
  feedback: (feedbackId: string) => string
  /** The only project. */
  project: { id: string; slug: string }
  /** The only prompt version. */
  promptVersion: string
  /** The author of feedback whose labeler has no email. */
  caller: string
}

type Observation = ObservationBody & { arrival: Arrival }
type Feedback = FeedbackBody & { timestamp: string; arrival: Arrival }

interface Trace {
  traceId: string
  name: string
  timestamp: string
  status: 'running' | 'completed'
  durationMs: number | null
  metadata: Fields
  /** The metadata fields that a completing call sent. */
  settled: ReadonlySet<string>
  /** The fields sent for the root span. */
  root: Partial<SpanBody>
  /** The other spans, each with its calls merged. */
  spans: readonly SpanBody[]
  observations: readonly Observation[]
  feedback: readonly Feedback[]
  /**
   * `updatedAt` is between these times, because the contract doesn't specify whether a call that changes nothing
   * updates it.
   */
  updatedAt: { from: number; to: number }
}

/** The live traces of a project. */
export type World = readonly Trace[]

export const EMPTY: World = []

/** A response's status and, on success, its body. `warns` means that some metadata was dropped or isn't searchable. */
export interface ModelResponse {
  status: number
  body?: Fields
  warns?: boolean
}

const NOT_FOUND: ModelResponse = { status: 404 }
const CONFLICT: ModelResponse = { status: 409 }
const UNPROCESSABLE: ModelResponse = { status: 422 }
export const INVALID: ModelResponse = { status: 400 }

const MAX_METADATA_BYTES = 64 * 1024
const MAX_SEARCHABLE = 64
const MAX_PATH_BYTES = 256

/** The world after a call, and the response to it. */
export function apply(world: World, command: Command, arrival: Arrival, ids: Ids): [World, ModelResponse] {
  switch (command.type) {
    case 'trace':
      return applyTrace(world, command.body, arrival, ids)
    case 'span':
      return applySpan(world, command.body, arrival, ids)
    case 'observation':
      return applyObservation(world, command.body, arrival, ids)
    case 'feedback':
      return applyFeedback(world, command.body, arrival, ids)
    case 'delete':
      return findTrace(world, command.trace_id)
        ? [without(world, command.trace_id), { status: 200, body: { id: ids.trace(command.trace_id) } }]
        : [world, NOT_FOUND]
  }
}

const findTrace = (world: World, traceId: string) => world.find(trace => trace.traceId === traceId)
const without = (world: World, traceId: string): World => world.filter(trace => trace.traceId !== traceId)
const replaced = (world: World, trace: Trace): World => [...without(world, trace.traceId), trace]

function applyTrace(world: World, body: TraceBody, { at }: Arrival, ids: Ids): [World, ModelResponse] {
  if (sizeOf(body.metadata ?? {}) > MAX_METADATA_BYTES) return [world, INVALID]
  const before = findTrace(world, body.trace_id) ?? newTrace(body, at)
  const isCompleting = body.status === 'completed'
  // A running call doesn't overwrite a completing call's fields.
  const sentFields = Object.entries(body.metadata ?? {}).filter(([field]) => isCompleting || !before.settled.has(field))
  const { metadata, left } = merged(before.metadata, sentFields)
  const added = sentFields.map(([field]) => field).filter(field => !left.includes(field))
  const trace = {
    ...before,
    ...(isCompleting && completed(before, body, added)),
    metadata,
    updatedAt: { from: before.updatedAt.from, to: at },
  }
  const answer = { status: 'accepted', trace_id: body.trace_id, id: ids.trace(body.trace_id) }
  return [replaced(world, trace), { status: 202, body: answer, warns: left.length > 0 || warns(metadata) }]
}

/**
 * Merges fields as far as they fit. Fields that free space come first, and a field that doesn't fit keeps its old
 * value.
 */
function merged(before: Fields, given: readonly [string, Json][]) {
  const grows = ([field, value]: [string, Json]) =>
    !Object.hasOwn(before, field) || bytesOf(JSON.stringify(value)) > bytesOf(JSON.stringify(before[field]))
  const left: string[] = []
  let metadata = before
  for (const change of [...given.filter(each => !grows(each)), ...given.filter(grows)]) {
    const [field, value] = change
    const after = { ...metadata, [field]: value }
    if (grows(change) && sizeOf(after) > MAX_METADATA_BYTES) left.push(field)
    else metadata = after
  }
  return { metadata, left }
}

const sizeOf = (metadata: Fields): number => bytesOf(JSON.stringify(metadata))

const newTrace = ({ trace_id, name, timestamp }: TraceBody, at: number): Trace => ({
  traceId: trace_id,
  name,
  timestamp,
  status: 'running',
  durationMs: null,
  metadata: {},
  settled: new Set(),
  root: {},
  spans: [],
  observations: [],
  feedback: [],
  updatedAt: { from: at, to: at },
})

/**
 * Applies a completing call, after which no running call can change the metadata fields that it sent. The first
 * completing call sets the duration.
 */
const completed = (trace: Trace, { duration_ms }: TraceBody, added: readonly string[]) => ({
  status: 'completed' as const,
  durationMs: trace.status === 'completed' ? trace.durationMs : (duration_ms ?? null),
  settled: new Set([...trace.settled, ...added]),
})

function applySpan(world: World, body: SpanBody, { at }: Arrival, ids: Ids): [World, ModelResponse] {
  // The contract doesn't specify this, but no span can be its own parent.
  if (body.parent_span_id?.toLowerCase() === body.span_id.toLowerCase()) return [world, INVALID]
  const trace = findTrace(world, body.trace_id)
  if (!trace) return [world, NOT_FOUND]
  const { input, output, ...others } = body
  const span = {
    ...others,
    ...lowered(body),
    span_id: body.span_id.toLowerCase(),
    // Null for an optional field is the same as leaving it out.
    ...(input !== undefined && input !== null && { input }),
    ...(output !== undefined && output !== null && { output }),
  }
  if (isOfOther(world, trace, span.span_id, ids)) return [world, CONFLICT]
  if (body.prompt_version_id !== undefined && body.prompt_version_id !== ids.promptVersion) {
    return [world, UNPROCESSABLE]
  }
  const updatedAt = { from: at, to: at }
  const isSame = ({ span_id }: SpanBody) => span_id === span.span_id
  // Fields that weren't sent are absent, so that a spread implements "later non-absent fields win".
  const after =
    span.span_id === ids.root(trace.traceId)
      ? { ...trace, root: { ...trace.root, ...span }, updatedAt }
      : trace.spans.some(isSame)
        ? { ...trace, spans: trace.spans.map(old => (isSame(old) ? { ...old, ...span } : old)), updatedAt }
        : { ...trace, spans: [...trace.spans, span], updatedAt }
  return [replaced(world, after), { status: 202, body: { status: 'accepted', span_id: span.span_id } }]
}

/** UUIDs are case-insensitive. */
const lowered = ({ span_id, parent_span_id }: { span_id?: string; parent_span_id?: string }) => ({
  ...(span_id !== undefined && { span_id: span_id.toLowerCase() }),
  ...(parent_span_id !== undefined && { parent_span_id: parent_span_id.toLowerCase() }),
})

/** Whether a span belongs to another trace. */
const isOfOther = (world: World, trace: Trace, id: string | undefined, ids: Ids): boolean =>
  id !== undefined && !hasSpan(trace, id, ids) && without(world, trace.traceId).some(other => hasSpan(other, id, ids))

/** The span that is shown for a span id. Until a span with that id exists, it's the root. */
const shownSpan = (trace: Trace, id: string | undefined, ids: Ids): string =>
  id !== undefined && hasSpan(trace, id, ids) ? id : ids.root(trace.traceId)

const hasSpan = (trace: Trace, id: string, ids: Ids): boolean =>
  ids.root(trace.traceId) === id || trace.spans.some(({ span_id }) => span_id === id)

function applyObservation(world: World, body: ObservationBody, arrival: Arrival, ids: Ids): [World, ModelResponse] {
  const trace = findTrace(world, body.trace_id)
  if (!trace) return [world, NOT_FOUND]
  const observation_id = body.observation_id.toLowerCase()
  const response = { status: 201, body: { status: 'created', observation_id } }
  if (trace.observations.some(old => old.observation_id === observation_id)) return [world, response]
  const observation = { ...body, ...lowered(body), observation_id, arrival }
  if (isOfOther(world, trace, observation.span_id, ids)) return [world, CONFLICT]
  return [replaced(world, { ...trace, observations: [...trace.observations, observation] }), response]
}

function applyFeedback(world: World, sent: FeedbackBody, arrival: Arrival, ids: Ids): [World, ModelResponse] {
  const body = { ...sent, ...lowered(sent) }
  const trace = findTrace(world, body.trace_id)
  if (!trace) return [world, NOT_FOUND]
  const isSame = ({ feedback_id }: FeedbackBody) => feedback_id === body.feedback_id
  if (without(world, trace.traceId).some(other => other.feedback.some(isSame))) return [world, CONFLICT]
  const isNamedAlready = trace.feedback.some(old => isSame(old) && old.span_id === body.span_id)
  if (!isNamedAlready && isOfOther(world, trace, body.span_id, ids)) return [world, CONFLICT]
  const isUpdate = trace.feedback.some(isSame)
  const feedback = isUpdate
    ? trace.feedback.map(old => (isSame(old) ? { ...old, ...body } : old))
    : [...trace.feedback, { timestamp: isoTime(arrival.at), ...body, arrival }]
  const answer = { status: 'success', feedback_id: body.feedback_id }
  // The time doesn't change if an update changes nothing, either by itself or together with the others in its batch.
  const updatedAt = { from: isUpdate ? trace.updatedAt.from : arrival.at, to: arrival.at }
  return [replaced(world, { ...trace, feedback, updatedAt }), { status: isUpdate ? 200 : 201, body: answer }]
}

/** A trace as `GET /api/traces/{id}` returns it, or undefined if the trace doesn't exist. */
export function detailOf(world: World, traceId: string, ids: Ids): Fields | undefined {
  const trace = findTrace(world, traceId)
  if (!trace) return undefined
  const spans = [rootOf(trace, ids), ...trace.spans.toSorted(bySpanOrder).map(span => spanOf(trace, span, ids))]
  return {
    ...itemOf(trace, ids),
    project: ids.project,
    spans,
    feedback: feedbackOf(trace, ids),
  }
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0)

function sumOfUsage(bodies: readonly Partial<SpanBody>[]): Fields | null {
  const usages = bodies.flatMap(({ usage }) => usage ?? [])
  if (usages.length === 0) return null
  const inputTokens = sumOf(usages.map(usage => usage.input_tokens))
  const outputTokens = sumOf(usages.map(usage => usage.output_tokens))
  const cached = usages.flatMap(({ cached_tokens }) => cached_tokens ?? [])
  return {
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    ...(cached.length > 0 && { cachedTokens: sumOf(cached) }),
  }
}

/** What a trace's spans used in total. A span that repeats the sums of its children isn't counted. */
function summedUse(spans: readonly Partial<SpanBody>[]): Fields {
  const counted = spans.map((span): Partial<SpanBody> => {
    const below = spans.filter(
      ({ parent_span_id, span_id }) => parent_span_id === span.span_id && span_id !== span.span_id,
    )
    const sums = sumOfUsage(below)
    const own = sumOfUsage([span])
    const isRepeated = own && own.inputTokens === sums?.inputTokens && own.outputTokens === sums?.outputTokens
    if (!isRepeated) return span
    const { usage, ...withoutUsage } = span
    const { cost_usd, ...withoutUse } = withoutUsage
    return below.some(each => each.cost_usd !== undefined) ? withoutUse : withoutUsage
  })
  const costs = counted.flatMap(({ cost_usd }) => cost_usd ?? [])
  const calls = Map.groupBy(
    counted.filter(({ model }) => model !== undefined),
    ({ model }) => model ?? '',
  )
  const output = (of: readonly Partial<SpanBody>[]) => {
    const usages = of.flatMap(({ usage }) => usage ?? [])
    return usages.length === 0 ? -1 : sumOf(usages.map(usage => usage.output_tokens))
  }
  const [first] = [...calls].toSorted(
    ([name, left], [otherName, right]) =>
      output(right) - output(left) || right.length - left.length || (name < otherName ? -1 : 1),
  )
  return {
    model: first?.[0] ?? null,
    usage: sumOfUsage(counted),
    costUsd: costs.length === 0 ? null : sumOf(costs),
  }
}

/** A trace as the list returns it. */
const itemOf = (trace: Trace, ids: Ids): Fields => ({
  id: ids.trace(trace.traceId),
  traceId: trace.traceId,
  name: trace.name,
  status: trace.status,
  metadata: trace.metadata,
  durationMs: trace.durationMs,
  createdAt: trace.timestamp,
  updatedAt: `${isoTime(trace.updatedAt.from)} to ${isoTime(trace.updatedAt.to)}`,
  spanCount: 1 + trace.spans.length,
  reviewedCount: 0,
  staleCount: 0,
  feedbackCount: trace.feedback.length,
  ...summedUse([{ ...trace.root, span_id: ids.root(trace.traceId) }, ...trace.spans]),
  reviewState: 'unreviewed',
})

/**
 * Previews of the root's values. If the root has none, these are previews of the first step with an input and the last
 * step that ever had an output.
 */
function previewsOf(trace: Trace, ids: Ids): Fields {
  const root = { ...trace.root, span_id: ids.root(trace.traceId) }
  const steps = trace.spans.toSorted(bySpanOrder)
  const outputsOf = (span: Partial<SpanBody>) => valuesOf(trace, span, 'output', ids)
  const asked = [root, ...steps].find(span => valuesOf(trace, span, 'input', ids).all.length > 0)
  const inputs = asked && valuesOf(trace, asked, 'input', ids)
  const rootOutput = outputsOf(root).all.at(-1) ?? null
  const last = steps.findLast(span => outputsOf(span).all.some(output => output !== null))
  return {
    inputPreview: inputs ? inputPreview(inputs.own, inputs.observed) : null,
    outputPreview: outputPreview(rootOutput ?? (last && outputsOf(last).all.at(-1)) ?? null),
    errorType: null,
    errorTypeBy: null,
  }
}

/** Fields of the root span that come from the trace, so that no span call can change them. */
const rootOf = (trace: Trace, ids: Ids): Fields => ({
  ...spanFieldsOf(trace, trace.root, ids.root(trace.traceId), ids),
  review: { ...UNREVIEWED, reviewedBy: reviewedWith(trace, ids) },
  parentSpanId: null,
  stepId: trace.name,
  createdAt: trace.timestamp,
})

const spanOf = (trace: Trace, span: SpanBody, ids: Ids): Fields => ({
  ...spanFieldsOf(trace, span, span.span_id, ids),
  parentSpanId: span.parent_span_id ?? ids.root(trace.traceId),
  stepId: span.step_id,
  createdAt: span.timestamp,
})

function spanFieldsOf(trace: Trace, span: Partial<SpanBody>, id: string, ids: Ids): Fields {
  const own = observedFor(trace, id, ids)
  return {
    id,
    status: span.status ?? null,
    durationMs: span.duration_ms ?? null,
    model: span.model ?? null,
    provider: span.provider ?? null,
    usage: sumOfUsage([span]),
    costUsd: span.cost_usd ?? null,
    input: mergedInput(valuesOf(trace, { ...span, span_id: id }, 'input', ids).all),
    output: valuesOf(trace, { ...span, span_id: id }, 'output', ids).all.at(-1) ?? null,
    approvedOutput: null,
    state: Object.fromEntries(own.flatMap(({ type, key, data }) => (type === 'state' ? [[key ?? '', data]] : []))),
    promptVersionId: span.prompt_version_id ?? null,
    metadata: span.metadata ?? {},
    review: { ...UNREVIEWED, reviewedBy: null },
    truncated: [],
    claim: null,
    assignees: [],
    suggestions: [],
    votes: [],
    reviewers: 1,
    isDisputed: false,
  }
}

/** A span's observations, in the order in which they're folded. */
const observedFor = (trace: Trace, id: string | undefined, ids: Ids): Observation[] =>
  trace.observations.filter(({ span_id }) => (span_id ?? ids.root(trace.traceId)) === id).toSorted(byFoldOrder)

/** A span's inputs or outputs: the one in its own call, if any, and those observed for it. */
function valuesOf(trace: Trace, span: Partial<SpanBody>, type: 'input' | 'output', ids: Ids) {
  const value = span[type]
  const own = value === undefined ? [] : [value]
  const observed = observedFor(trace, span.span_id, ids).flatMap(each => (each.type === type ? [each.data] : []))
  return { own, observed, all: [...own, ...observed] }
}

const UNREVIEWED = {
  state: 'unreviewed',
  by: null,
  at: null,
  stale: false,
  comment: null,
  errorType: null,
  basis: null,
}

/**
 * The content by which outputs are compared. If an object or a list has only one item, the item is compared instead,
 * unless it's short. Returns null for short strings and other single values.
 */
function sharedText(output: Json): string | null {
  let value = output
  for (let [only, ...more] = itemsOf(value); only !== undefined && more.length === 0; [only, ...more] = itemsOf(value))
    value = only
  const isShort = typeof value !== 'object' && [...String(value).trim()].length < 16
  const shared = isShort || value === null || typeof value === 'number' ? output : value
  return itemsOf(shared).length > 0 || (typeof shared === 'string' && !isShort) ? withSortedFields(shared) : null
}

const withSortedFields = (value: Json): string =>
  JSON.stringify(value, (_, inner) =>
    isObject(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([left], [right]) => (left < right ? -1 : 1)))
      : inner,
  )

/** The deepest span with the root's text. If there are several, it's the earliest. */
function reviewedWith(trace: Trace, ids: Ids): string | null {
  const rootId = ids.root(trace.traceId)
  const spanWith = new Map(trace.spans.map(span => [span.span_id, span]))
  const textOf = (span: Partial<SpanBody>, id: string) => {
    const isNullAmong = trace.observations.some(
      ({ type, span_id, data }) => type === 'output' && (span_id ?? rootId) === id && data === null,
    )
    return isNullAmong ? null : sharedText(spanFieldsOf(trace, span, id, ids).output ?? null)
  }
  const depthOf = ({ parent_span_id }: SpanBody) => {
    let depth = 1
    let above = spanWith.get(parent_span_id ?? '')
    for (; above && depth < 100; depth++) above = spanWith.get(above.parent_span_id ?? '')
    return depth
  }
  const text = textOf(trace.root, rootId)
  const [first] = trace.spans
    .filter(span => text !== null && textOf(span, span.span_id) === text)
    .toSorted(
      (left, right) =>
        depthOf(right) - depthOf(left) ||
        Date.parse(left.timestamp) - Date.parse(right.timestamp) ||
        (left.span_id < right.span_id ? -1 : 1),
    )
  return first?.span_id ?? null
}

const feedbackOf = (trace: Trace, ids: Ids): Fields[] =>
  trace.feedback
    .toSorted(byArrival(({ feedback_id }) => ids.feedback(feedback_id)))
    .map(feedback => noteOf(trace, feedback, ids))

const noteOf = (trace: Trace, feedback: Feedback, ids: Ids): Fields => ({
  id: ids.feedback(feedback.feedback_id),
  spanId: shownSpan(trace, feedback.span_id, ids),
  userId: feedback.labeller?.email?.toLowerCase() ?? ids.caller,
  content: feedback.comment ?? '',
  name: feedback.name ?? null,
  rating: feedback.rating ?? null,
  correction: feedback.correction ?? null,
  labeller: labelerOf(feedback),
  source: 'api',
  truncated: [],
  createdAt: feedback.timestamp,
})

const labelerOf = ({ labeller }: Feedback): Fields | null => {
  if (!labeller) return null
  const { email, ...others } = labeller
  return { ...others, ...(email !== undefined && { email: email.toLowerCase() }) }
}

/** A span as `GET /api/spans/{id}` returns it, or undefined if no live trace has it. */
export function spanAloneOf(world: World, id: string, ids: Ids): Fields | undefined {
  const trace = world.find(trace => hasSpan(trace, id, ids))
  if (!trace) return undefined
  const span = trace.spans.find(({ span_id }) => span_id === id)
  const own = span ? spanOf(trace, span, ids) : rootOf(trace, ids)
  return { ...own, trace: { id: ids.trace(trace.traceId), traceId: trace.traceId, name: trace.name } }
}

/** A trace's observations as they were sent, or undefined if the trace doesn't exist. */
export function observationsOf(world: World, traceId: string, ids: Ids): Fields[] | undefined {
  const trace = findTrace(world, traceId)
  return trace?.observations.toSorted(byFoldOrder).map(({ observation_id, span_id, type, key, data, timestamp }) => ({
    observation_id,
    span_id: shownSpan(trace, span_id, ids),
    type,
    key: type === 'state' ? (key ?? '') : null,
    data,
    timestamp,
  }))
}

/** A search's filters, all of which must match. */
export interface Query {
  name?: string
  status?: 'running' | 'completed'
  fields: readonly Leaf[]
}

/** The project's traces that match a search, newest first. */
const matching = (world: World, { name, status, fields }: Query, ids: Ids): World =>
  world
    .filter(trace => (name === undefined || trace.name === name) && (status === undefined || trace.status === status))
    .filter(({ metadata }) => fields.every(field => isAmong(searchableOf(metadata), field)))
    .toSorted(
      (left, right) =>
        compare(right.timestamp, left.timestamp) || compare(ids.trace(right.traceId), ids.trace(left.traceId)),
    )

export const listOf = (world: World, query: Query, ids: Ids): Fields[] =>
  matching(world, query, ids).map(trace => ({ ...itemOf(trace, ids), ...previewsOf(trace, ids) }))

export const hitsOf = (world: World, query: Query, ids: Ids): Fields[] =>
  matching(world, query, ids).map(({ traceId, name, status, metadata, timestamp }) => ({
    id: ids.trace(traceId),
    trace_id: traceId,
    name,
    status,
    metadata,
    timestamp,
  }))

/** A scalar in metadata, as the search compares it. */
export interface Leaf {
  path: string
  value: string
}

/** The scalars in metadata by their dotted paths, in document order. */
export const leavesOf = (metadata: Fields): Leaf[] =>
  Object.entries(metadata).flatMap(([field, value]) => leavesAt(field, value))

function leavesAt(path: string, value: Json): Leaf[] {
  if (Array.isArray(value)) return value.flatMap(item => leavesAt(path, item))
  if (isObject(value)) return Object.entries(value).flatMap(([field, item]) => leavesAt(`${path}.${field}`, item))
  return [{ path, value: String(value) }]
}

const hasShortPath = ({ path }: Leaf): boolean => bytesOf(path) <= MAX_PATH_BYTES

const searchableOf = (metadata: Fields): Leaf[] => leavesOf(metadata).filter(hasShortPath).slice(0, MAX_SEARCHABLE)
const warns = (metadata: Fields): boolean => leavesOf(metadata).length > searchableOf(metadata).length

const isAmong = (leaves: readonly Leaf[], { path, value }: Leaf): boolean =>
  leaves.some(leaf => leaf.path === path && leaf.value === value)

/** Compares by the client's time, then by arrival, and then by id. */
const byArrival =
  <Item extends { timestamp: string; arrival: Arrival }>(idOf: (item: Item) => string) =>
  (left: Item, right: Item): number =>
    compare(left.timestamp, right.timestamp) ||
    left.arrival.at - right.arrival.at ||
    left.arrival.place - right.arrival.place ||
    compare(idOf(left), idOf(right))

const byFoldOrder = byArrival<Observation>(({ observation_id }) => observation_id)

const bySpanOrder = (left: SpanBody, right: SpanBody): number =>
  compare(left.timestamp, right.timestamp) || compare(left.span_id, right.span_id)

const compare = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0)

export const isoTime = (at: number): string => new Date(at).toISOString()
