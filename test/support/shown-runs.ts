import { isJsonObject, type Json, type JsonObject } from '../../src/domain/json.ts'
import { foldMessages, messagesOf } from '../../src/otlp/log-messages.ts'
import { stepOf, traceIdOf } from '../../src/otlp/map.ts'
import type { TelemetryLog, TelemetrySpan } from '../../src/otlp/reading/telemetry.ts'
import { isRootOf, outlineOf, type ReadSpan, type SpanStep } from '../../src/otlp/span-step.ts'
import { factsOf } from '../../src/otlp/trace-facts.ts'
import { twinsIn } from '../../src/otlp/twins.ts'

/*
 * Renders traces as a page for people to read. It shows each trace's name and fields, and then its steps as a tree with
 * the values that a reviewer sees. Ids and times are left out, because they differ from run to run.
 */

/** A client's telemetry. */
export interface Sent {
  spans: readonly TelemetrySpan[]
  logs: readonly TelemetryLog[]
}

/** A step with the content of its log records, which the service adds when it stores them. */
export interface ShownStep extends Pick<SpanStep, 'kind' | 'stepId' | 'input' | 'output' | 'state' | 'metadata'> {
  steps: readonly ShownStep[]
}

export interface ShownTrace {
  name: string
  fields: JsonObject
  steps: readonly ShownStep[]
}

/** The client's traces, by start time. */
export function tracesOf({ spans, logs }: Sent): ShownTrace[] {
  const twins = twinsIn(spans)
  const read = spans.map(span => ({ span, step: stepOf(span, twins) })).filter(({ step }) => !step.isPending)
  const byTrace = Map.groupBy(read.toSorted(byStart), ({ span }) => traceIdOf(span))
  return [...byTrace.values()].map(group => {
    const { name, fields } = factsOf(group.map(outlineOf))
    const namedFields = Array.from(fields, ([field, { value }]) => [field, value] as const)
    return { name: name.value, fields: Object.fromEntries(namedFields.toSorted()), steps: treeOf(group, logs) }
  })
}

const byStart = ({ span: left }: ReadSpan, { span: right }: ReadSpan): number =>
  Number(left.startNs - right.startNs) || (left.parentSpanId === null ? -1 : left.name < right.name ? -1 : 1)

function treeOf(read: readonly ReadSpan[], logs: readonly TelemetryLog[]): ShownStep[] {
  const ids = new Set(read.map(({ span }) => span.spanId))
  const below = (parent: string | null): ShownStep[] =>
    read
      .filter(({ span }) => (ids.has(span.parentSpanId ?? '') ? span.parentSpanId : null) === parent)
      .map(each => shownStep(each, logs, below(each.span.spanId)))
  return below(null)
}

function shownStep(read: ReadSpan, logs: readonly TelemetryLog[], steps: readonly ShownStep[]): ShownStep {
  const { span, step } = read
  const own = logs
    .filter(({ traceId, spanId }) => traceId === span.traceId && spanId === span.spanId)
    .toSorted((left, right) => Number(left.timeNs - right.timeNs))
  const logged = foldMessages(own.flatMap(messagesOf))
  const rootTrace = isRootOf(read) ? step.trace : undefined
  return {
    ...step,
    input: step.input ?? logged.input ?? rootTrace?.input,
    output: step.output ?? logged.output ?? rootTrace?.output,
    steps,
  }
}

/** All steps of the traces, in page order. */
export const stepsIn = (traces: readonly ShownTrace[]): ShownStep[] => {
  const all = (steps: readonly ShownStep[]): ShownStep[] => steps.flatMap(step => [step, ...all(step.steps)])
  return all(traces.flatMap(({ steps }) => steps))
}

/** The traces as text. If there are more than 100 steps, only the pipeline's steps are included. */
export function pageOf(traces: readonly ShownTrace[]): string {
  const isLong = stepsIn(traces).length > 100
  const shown = isLong
    ? traces.map(trace => ({ ...trace, steps: pipelineSteps(trace.steps) })).filter(({ steps }) => steps.length > 0)
    : traces
  return shown
    .map(({ name, fields, steps }) => [
      `trace ${name}`,
      ...lines(fields, 1),
      ...steps.flatMap(step => stepLines(step, 1)),
    ])
    .map(each => `${each.join('\n')}\n`)
    .join('\n')
}

const pipelineSteps = (steps: readonly ShownStep[]): ShownStep[] =>
  steps
    .map(step => ({ ...step, steps: pipelineSteps(step.steps) }))
    .filter(({ kind, steps }) => kind !== 'generic' || steps.length > 0)

function stepLines({ kind, stepId, input, output, state, metadata, steps }: ShownStep, depth: number): string[] {
  const { otel, resource, attributes, kind: _, ...more } = metadata
  const values: JsonObject = {
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
    ...Object.fromEntries(state),
    ...Object.fromEntries(Object.entries(more).filter(([field]) => !OF_EVERY_SPAN.has(field))),
  }
  return [
    `${INDENT.repeat(depth)}- ${kind} ${stepId}`,
    ...lines(values, depth + 2),
    // Attributes that no convention reads are listed by name.
    ...(isJsonObject(attributes) ? [`${INDENT.repeat(depth + 2)}unread: ${patterns(Object.keys(attributes))}`] : []),
    ...steps.flatMap(step => stepLines(step, depth + 1)),
  ]
}

const OF_EVERY_SPAN = new Set(['span_name', 'span_kind', 'duration_ms', 'end_time', 'scope'])

/** The distinct keys, with `N` in place of each index. */
const patterns = (keys: readonly string[]): string =>
  [...new Set(keys.map(key => key.replaceAll(/\.\d+(?=\.|$)/g, '.N')))].toSorted().join(', ')

const INDENT = '  '

function lines(value: Json, depth: number): string[] {
  const indent = INDENT.repeat(depth)
  if (Array.isArray(value)) {
    const more = value.length - MAX_LIST_LENGTH
    if (more <= 0) return value.flatMap(item => underKey(`${indent}-`, item, depth))
    const [first, last] = [value.slice(0, MAX_LIST_LENGTH / 2), value.slice(-MAX_LIST_LENGTH / 2)]
    return [...lines(first, depth), `${indent}… ${more} more`, ...lines(last, depth)]
  }
  if (!isJsonObject(value)) return [indent + scalar(value)]
  return Object.entries(value).flatMap(([key, item]) => underKey(`${indent}${key}:`, item, depth))
}

/** Puts a value on the same line as its key if it fits. */
function underKey(key: string, value: Json, depth: number): string[] {
  if (typeof value !== 'object' || value === null) return [`${key} ${scalar(value)}`]
  const text = shortJson(value)
  return text.length <= MAX_LINE_LENGTH ? [`${key} ${text}`] : [key, ...lines(value, depth + 1)]
}

const MAX_LINE_LENGTH = 90
const MAX_LIST_LENGTH = 8

const shortJson = (value: Json): string => {
  if (Array.isArray(value)) return `[${value.map(shortJson).join(', ')}]`
  if (!isJsonObject(value)) return scalar(value)
  const fields = Object.entries(value).map(([key, item]) => `${key}: ${shortJson(item)}`)
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`
}

/** Strings are quoted to distinguish them from numbers and to show JSON in them. Long strings are shortened. */
function scalar(value: Json): string {
  if (typeof value !== 'string') return String(value)
  const { length } = value
  return length <= MAX_TEXT_LENGTH
    ? quoted(value)
    : `${quoted(value.slice(0, MAX_TEXT_LENGTH / 2))} … ${quoted(value.slice(-MAX_TEXT_LENGTH / 4))} (${length} characters)`
}

const MAX_TEXT_LENGTH = 400

const quoted = (text: string): string =>
  text.includes("'") ? JSON.stringify(text) : `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"')}'`
