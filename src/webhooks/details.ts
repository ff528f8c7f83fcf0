import type { Json, JsonObject } from '../domain/json.ts'
import { utf8Length } from '../domain/text.ts'
import { toFigures } from '../experiments/figures.ts'
import { MAX_EVENT_VALUE_BYTES } from '../limits.ts'
import { readAnswerValues } from '../store/attribution/attribution-events.ts'
import type { Store } from '../store/core/store.ts'
import { readFeedbackValues, readReviewValues } from '../store/reviews/event-values.ts'
import { readSpanValues } from '../store/spans/event-values.ts'
import type { ShownValue } from '../store/traces/payloads.ts'
import type { SendableEvent } from '../store/webhooks/deliveries.ts'

/**
 * Reads the parts of an event that its row doesn't keep: figures, and values if `includesValues`. Undefined if the
 * parts were deleted with their trace, in which case nothing is sent.
 */
export async function readDetails(
  store: Store,
  event: SendableEvent,
  { includesValues }: { includesValues: boolean },
): Promise<JsonObject | undefined> {
  if (event.type === 'experiment.finished') return toFigures(store, event.subjectId, Date.now())
  if (!includesValues) return {}
  const read = await readValues(store, event)
  if (read === 'none') return {}
  return read && withoutLarge(read)
}

/** Values as JSON, by name. Null if there is no value, undefined if the value is too large. */
type Values = Record<string, string | null | undefined>

async function readValues(store: Store, event: SendableEvent): Promise<Values | 'none' | undefined> {
  const { type, traceKey, subjectId: id } = event
  const data: Record<string, Json> = JSON.parse(event.data)
  const spanId = typeof data.spanId === 'string' ? data.spanId : undefined
  if (traceKey === null) return 'none'
  switch (type) {
    case 'span.reviewed': {
      if (spanId === undefined) return undefined
      const span = await readSpan(store, spanId)
      const review = await readReviewValues(store, { traceKey, spanId, reviewId: id }, MAX_EVENT_VALUE_BYTES)
      return span && review && { ...span, approvedOutput: wholeOf(review.approved), comment: jsonOf(review.comment) }
    }
    case 'span.disputed':
      return spanId === undefined ? undefined : readSpan(store, spanId)
    case 'feedback.created': {
      const given = await readFeedbackValues(store, { traceKey, id })
      // The span that the feedback belongs to may not have arrived yet.
      const span = (spanId && (await readSpan(store, spanId))) || { input: null, output: null }
      return given && { ...span, comment: jsonOf(given.comment), correction: jsonOf(given.correction) }
    }
    case 'attribution.finished': {
      if (data.status !== 'done') return 'none'
      const answer = await readAnswerValues(store, { traceKey, id })
      return answer && { reasoning: jsonOf(answer.reasoning), evidence: jsonOf(answer.evidence) }
    }
    default:
      return 'none'
  }
}

async function readSpan(store: Store, spanId: string): Promise<Values | undefined> {
  const span = await readSpanValues(store, spanId, MAX_EVENT_VALUE_BYTES)
  return span && { input: wholeOf(span.input), output: wholeOf(span.output) }
}

const wholeOf = (value: ShownValue | undefined) => (value === undefined ? null : value.isWhole ? value.text : undefined)
const jsonOf = (value: unknown) => (value === null ? null : JSON.stringify(value))

/** Leaves out large values, and lists their names in `omitted`. */
function withoutLarge(read: Values): JsonObject {
  const values: JsonObject = {}
  const omitted: string[] = []
  for (const [name, json] of Object.entries(read)) {
    const isOmitted = json === undefined || (json !== null && utf8Length(json) > MAX_EVENT_VALUE_BYTES)
    if (isOmitted) omitted.push(name)
    values[name] = isOmitted || json === null ? null : JSON.parse(json)
  }
  return { values, omitted }
}
