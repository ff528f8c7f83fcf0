import { and, asc, eq, sql } from 'drizzle-orm'
import type { Labeller, Rating } from '../domain/feedback.ts'
import { JsonText } from '../domain/json.ts'
import type { PayloadMode } from '../domain/span.ts'
import { MAX_DETAIL_FEEDBACK_BYTES } from '../limits.ts'
import { bounded, bytesOf, bytesSoFar } from './bounds.ts'
import { untilWhole } from './payloads.ts'
import { feedback, isNoRoot, observations, spans, traces } from './schema.ts'
import { assembleSpans, observationColumns, type SpanDetail, spanColumns } from './span-detail.ts'
import type { Store } from './store.ts'
import { summaryColumns, type TraceSummary } from './trace-list.ts'
import { isLive, liveTraceKey } from './traces.ts'

export interface FeedbackDetail {
  id: string
  /** The span that it names, or the root. */
  spanId: string
  userId: string
  rating: Rating | null
  comment: string | null
  correction: JsonText | null
  labeller: Labeller | null
  timestamp: number
  /** The fields that are not whole: `content`, `correction`. */
  truncated: string[]
}

export interface TraceDetail extends TraceSummary {
  projectKey: number
  /** Root first, then by time and id. */
  spans: SpanDetail[]
  /** Oldest first. */
  feedback: FeedbackDetail[]
}

/** A trace with all that belongs to it, values put back in place: one round trip, and R2 reads for its large values. */
export const findTraceDetail = (store: Store, id: string, mode: PayloadMode): Promise<TraceDetail | undefined> =>
  untilWhole(store, () => readTrace(store, id, mode))

async function readTrace(store: Store, id: string, mode: PayloadMode) {
  const [[trace], roots, others, observed, feedbackRows] = await readRows(store, id)
  if (!trace) return undefined
  const details = await assembleSpans(store, trace, [...roots, ...others], observed, mode)
  const rows = feedbackRows.map(row => ({ ...row, spanId: row.spanId ?? trace.rootSpanId }))
  return { trace, found: details && { ...trace, spans: details, feedback: rows.map(toFeedbackDetail) } }
}

const traceColumns = {
  ...summaryColumns,
  key: traces.key,
  rootSpanId: traces.rootSpanId,
  projectKey: traces.projectKey,
}

const feedbackBytes = bytesSoFar(feedback.comment, feedback.correction)
const MAX_BYTES = sql.raw(String(MAX_DETAIL_FEEDBACK_BYTES))

const feedbackColumns = {
  id: feedback.id,
  spanId: feedback.spanId,
  userId: feedback.userId,
  rating: feedback.rating,
  labeller: feedback.labeller,
  timestamp: feedback.timestamp,
  comment: bounded(feedback.comment, feedbackBytes, MAX_BYTES, 'bounded_comment'),
  correction: sql<string | null>`iif(${feedbackBytes} > ${MAX_BYTES}, null, ${feedback.correction})`.as(
    'bounded_correction',
  ),
  hadCorrection: sql<number>`${feedback.correction} is not null`.as('had_correction'),
  isCut: sql<number>`${feedbackBytes} > ${MAX_BYTES}`.as('is_cut'),
}

interface FeedbackRow extends Omit<FeedbackDetail, 'correction' | 'truncated'> {
  correction: string | null
  hadCorrection: number
  isCut: number
}

const toFeedbackDetail = ({ correction, hadCorrection, isCut, ...row }: FeedbackRow): FeedbackDetail => ({
  ...row,
  correction: correction === null ? null : new JsonText(correction),
  truncated: [
    ...(isCut === 1 && row.comment !== null ? ['content'] : []),
    ...(isCut === 1 && hadCorrection === 1 ? ['correction'] : []),
  ],
})

/** No joins: drizzle mixes up columns of one name in a batch. */
function readRows(store: Store, id: string) {
  const { database } = store
  const trace = isLive(store, eq(traces.id, id))
  const traceKey = sql`(${liveTraceKey(store, id)})`
  const ofTrace = and(eq(spans.traceKey, traceKey), isNoRoot)
  const spanBytes = sql`(
    select coalesce(${bytesOf(spans.metadata, spans.input, spans.output)}, 0) from ${spans} where ${ofTrace})`
  return database.batch([
    database.select(traceColumns).from(traces).where(trace),
    database
      .select(spanColumns)
      .from(spans)
      .where(
        and(
          eq(spans.id, sql`(select ${traces.rootSpanId} from ${traces} where ${trace})`),
          eq(spans.traceKey, traceKey),
        ),
      ),
    database.select(spanColumns).from(spans).where(ofTrace).orderBy(asc(spans.timestamp), asc(spans.id)),
    database.select(observationColumns(spanBytes)).from(observations).where(eq(observations.traceKey, traceKey)),
    database
      .select(feedbackColumns)
      .from(feedback)
      .where(eq(feedback.traceKey, traceKey))
      .orderBy(asc(feedback.timestamp), asc(feedback.receivedAt), asc(feedback.id)),
  ])
}
