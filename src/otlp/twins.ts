import type { Json } from '../domain/json.ts'
import type { TelemetrySpan } from './reading/telemetry.ts'

/*
 * Finds pairs of spans that record the same model call. Some clients record a call twice: an instrumentation records
 * its content, and the provider's own SDK records its usage again; Logfire sends the answer to a streamed call in a
 * record of its own; Mastra sends a call's content with the step around it. A single span doesn't show whether it's one
 * of a pair, so this file looks at all spans in an export. If the two spans arrive in different exports, both are
 * treated as calls.
 */

/** What the pairs in one export show. */
export interface Twins {
  /** Spans that repeat a call, so they're treated as generic. */
  repeated: ReadonlySet<TelemetrySpan>
  /** Attributes that belong to a call but were sent by its twin. */
  answers: ReadonlyMap<TelemetrySpan, ReadonlyMap<string, Json>>
}

const NONE: Twins = { repeated: new Set(), answers: new Map() }

/** Finds the pairs among the spans of one export. Runs in time proportional to their number. */
export function twinsIn(spans: readonly TelemetrySpan[]): Twins {
  const calls = new Map<string, TelemetrySpan>()
  const bare: TelemetrySpan[] = []
  const streamed: TelemetrySpan[] = []
  const steps = new Map<string, TelemetrySpan>()
  const inferences: TelemetrySpan[] = []
  for (const span of spans) {
    if (isStreamedAnswer(span)) streamed.push(span)
    else if (isBareCall(span)) bare.push(span)
    else if (span.attributes.get('mastra.span.type') === 'model_step') steps.set(idOf(span, span.spanId), span)
    else if (span.attributes.get('mastra.span.type') === 'model_inference') inferences.push(span)
    else if (isCall(span)) calls.set(idOf(span, span.spanId), span)
  }
  if (bare.length + streamed.length + inferences.length === 0) return NONE
  const repeated = new Set(repeatedCalls(bare, calls))
  const answers =
    streamed.length === 0 ? new Map<TelemetrySpan, ReadonlyMap<string, Json>>() : answersOf(spans, streamed, repeated)
  for (const span of inferences) {
    const step = steps.get(idOf(span, span.parentSpanId))
    if (step) answers.set(span, contentOfStep(step))
  }
  return { repeated, answers }
}

const idOf = (span: TelemetrySpan, spanId: string | null): string => `${span.traceId}:${spanId}`

/** How each convention labels a model call. */
const CALLS: ReadonlyMap<string, RegExp> = new Map([
  ['openinference.span.kind', /^LLM$/],
  ['gen_ai.operation.name', /^(?:chat|text_completion|generate_content)$/],
  ['langfuse.observation.type', /^generation$/],
  ['llm.request.type', /^(?:chat|completion)$/],
  ['mlflow.spanType', /^"(?:CHAT_MODEL|LLM)"$/],
  ['lmnr.span.type', /^LLM$/],
])

/** LangSmith also labels prompts and parsers as "chat". */
function isCall({ attributes }: TelemetrySpan): boolean {
  const kind = attributes.get('langsmith.span.kind')
  if (kind !== undefined) return kind === 'llm'
  for (const [key, values] of CALLS) if (values.test(String(attributes.get(key) ?? ''))) return true
  return false
}

/** Spans from a provider's own SDK have no content, whatever its settings. */
const isBareCall = ({ source, attributes }: TelemetrySpan): boolean =>
  /^(?:com\.)?(?:anthropic\b|mistralai_)/.test(source.scope.name) &&
  (attributes.has('gen_ai.operation.name') || attributes.has('gen_ai.request.model'))

/**
 * Bare calls that have a call with content as their parent or as a sibling at the same time. A streamed call can be a
 * sibling, because it ends before the SDK's span does.
 */
function repeatedCalls(bare: readonly TelemetrySpan[], calls: ReadonlyMap<string, TelemetrySpan>): TelemetrySpan[] {
  const byParent = Map.groupBy(calls.values(), span => idOf(span, span.parentSpanId))
  return bare.filter(span => {
    if (calls.has(idOf(span, span.parentSpanId))) return true
    // Simultaneous calls are rare, so a short list is enough.
    const siblings = byParent.get(idOf(span, span.parentSpanId))?.slice(0, MAX_SIBLINGS) ?? []
    return siblings.some(call => call.startNs <= span.endNs && span.startNs <= call.endNs)
  })
}

const MAX_SIBLINGS = 200

/** A step's content, under the keys that its model call would use. */
function contentOfStep({ attributes }: TelemetrySpan): Map<string, Json> {
  const content = new Map<string, Json>()
  for (const side of ['input', 'output']) {
    const value = attributes.get(`mastra.model_step.${side}`)
    if (value !== undefined) content.set(`mastra.model_inference.${side}`, value)
  }
  return content
}

const isStreamedAnswer = ({ source, attributes }: TelemetrySpan): boolean =>
  source.scope.name.startsWith('logfire') &&
  attributes.get('logfire.span_type') === 'log' &&
  String(attributes.get('logfire.msg_template')).startsWith('streaming response from')

const ANSWER = ['gen_ai.output.messages', 'gen_ai.response.finish_reasons', 'response_data']

/**
 * The answers to streamed calls. Each goes to the first call with the same request that has no answer yet. Adds the
 * answers' records to `repeated`.
 */
function answersOf(
  spans: readonly TelemetrySpan[],
  streamed: readonly TelemetrySpan[],
  repeated: Set<TelemetrySpan>,
): Map<TelemetrySpan, ReadonlyMap<string, Json>> {
  const waiting = new Map<string, TelemetrySpan[]>()
  for (const span of spans) {
    const { source, attributes } = span
    const isCall = source.scope.name.startsWith('logfire') && attributes.has('request_data')
    if (!isCall || span.status === 'error' || isStreamedAnswer(span) || ANSWER.some(key => attributes.has(key)))
      continue
    const request = requestOf(span)
    const calls = waiting.get(request)
    if (calls) calls.push(span)
    else waiting.set(request, [span])
  }
  for (const calls of waiting.values()) calls.reverse()
  const answers = new Map<TelemetrySpan, ReadonlyMap<string, Json>>()
  for (const record of streamed) {
    const call = waiting.get(requestOf(record))?.pop()
    if (!call) continue
    repeated.add(record)
    const sent = ANSWER.flatMap(key => {
      const value = record.attributes.get(key)
      return value === undefined ? [] : [[key, value] as const]
    })
    answers.set(call, new Map(sent))
  }
  return answers
}

const requestOf = (span: TelemetrySpan): string =>
  JSON.stringify([
    span.traceId,
    span.parentSpanId,
    span.attributes.get('request_data') ?? null,
    span.attributes.get('gen_ai.input.messages') ?? null,
  ])
