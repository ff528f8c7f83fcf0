import { and, asc, eq, sql } from 'drizzle-orm'
import type { Labeller, Rating } from '../domain/feedback.ts'
import { type FoldedSpan, foldObservations } from '../domain/fold.ts'
import type { JsonObject } from '../domain/json.ts'
import { unavailable } from '../http/errors.ts'
import { readValues } from './payloads.ts'
import { feedback, isNoRoot, observations, spans, traces } from './schema.ts'
import type { Store } from './store.ts'
import { isLive, liveTraceKey, type TraceRecord } from './traces.ts'

export interface SpanDetail extends FoldedSpan {
  id: string
  parentId: string | null
  stepId: string
  promptVersionId: string | null
  metadata: JsonObject
  timestamp: number
}

export interface FeedbackDetail {
  id: string
  /** The span that it names, or the root. */
  spanId: string
  userId: string
  rating: Rating | null
  comment: string | null
  correction: JsonObject | null
  labeller: Labeller | null
  timestamp: number
}

export interface TraceDetail extends TraceRecord {
  /** Root first, then by time and id. */
  spans: SpanDetail[]
  /** Oldest first. */
  feedback: FeedbackDetail[]
}

/** A trace with all that belongs to it, values put back in place: one round trip, and R2 reads for its large values. */
export async function findTraceDetail(store: Store, id: string): Promise<TraceDetail | undefined> {
  const [[trace], roots, others, observed, feedbackRows] = await readRows(store, id)
  if (!trace) return undefined
  const data = await readValues(
    store,
    trace.key,
    observed.map(({ data, dataRef }) => ({ text: data, ref: dataRef })),
  )
  if (!data) {
    const [live] = await liveTraceKey(store, id)
    if (live?.key === trace.key)
      throw unavailable(5, new Error(`trace ${trace.key} refers to an R2 object that is gone`))
    return live && findTraceDetail(store, id)
  }
  const values = observed.map((row, index) => ({ ...row, data: data[index] ?? null }))
  const bySpan = Map.groupBy(values, ({ spanId }) => spanId ?? trace.rootSpanId)
  return {
    ...trace,
    spans: [...roots, ...others].map(span => ({ ...span, ...foldObservations(bySpan.get(span.id) ?? []) })),
    feedback: feedbackRows.map(row => ({ ...row, spanId: row.spanId ?? trace.rootSpanId })),
  }
}

/** No joins: drizzle mixes up columns of one name in a batch. */
function readRows(store: Store, id: string) {
  const { database } = store
  const trace = isLive(store, eq(traces.id, id))
  const traceKey = sql`(${liveTraceKey(store, id)})`
  return database.batch([
    database.select().from(traces).where(trace),
    database
      .select()
      .from(spans)
      .where(
        and(
          eq(spans.id, sql`(select ${traces.rootSpanId} from ${traces} where ${trace})`),
          eq(spans.traceKey, traceKey),
        ),
      ),
    database
      .select()
      .from(spans)
      .where(and(eq(spans.traceKey, traceKey), isNoRoot))
      .orderBy(asc(spans.timestamp), asc(spans.id)),
    database.select().from(observations).where(eq(observations.traceKey, traceKey)),
    database
      .select()
      .from(feedback)
      .where(eq(feedback.traceKey, traceKey))
      .orderBy(asc(feedback.timestamp), asc(feedback.receivedAt), asc(feedback.id)),
  ])
}
