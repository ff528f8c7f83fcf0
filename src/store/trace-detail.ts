import { and, asc, eq, isNotNull, sql } from 'drizzle-orm'
import type { SelectResultFields } from 'drizzle-orm/query-builders/select.types'
import type { FeedbackSource, Labeller, Rating } from '../domain/feedback.ts'
import { JsonText } from '../domain/json.ts'
import type { PayloadMode } from '../domain/span.ts'
import { MAX_DETAIL_FEEDBACK_BYTES } from '../limits.ts'
import { bounded, bytesOf, bytesSoFar } from './bounds.ts'
import { named, readPlain } from './database.ts'
import { untilWhole } from './payloads.ts'
import { feedback, isNoRoot, observations, spans, traces } from './schema.ts'
import { foldSpans, lastDecisions, observationFields, type SpanDetail, showSpans, spanFields } from './span-detail.ts'
import type { Store } from './store.ts'
import type { TraceSummary } from './trace-list.ts'
import { isLive, joinedSpanId, liveTraceKey } from './traces.ts'

export interface FeedbackDetail {
  id: string
  /** The span that it names, if that is there; else the root. */
  spanId: string
  userId: string
  rating: Rating | null
  comment: string | null
  correction: JsonText | null
  labeller: Labeller | null
  timestamp: number
  source: FeedbackSource
  /** The fields that are not whole: `content`, `correction`. */
  truncated: string[]
}

export interface TraceDetail extends TraceSummary {
  projectKey: number
  projectId: string
  projectSlug: string
  /** False: every span with an output is reviewed. */
  needsReview: boolean
  /** Root first, then by time and id. */
  spans: SpanDetail[]
  /** Oldest first. */
  feedback: FeedbackDetail[]
}

/** A trace with all that belongs to it, values put back in place: one round trip, and R2 reads for its large values. */
export const findTraceDetail = (store: Store, id: string, mode: PayloadMode): Promise<TraceDetail | undefined> =>
  untilWhole(store, () => readTrace(store, id, mode))

async function readTrace(store: Store, id: string, mode: PayloadMode) {
  const [[trace], roots, others, observations, decisions, feedbackRows] = await readRows(store, id)
  if (!trace) return undefined
  const folded = foldSpans({ traces: [trace], spans: [...roots, ...others], observations, decisions })
  const spans = await showSpans(store, folded, mode)
  if (!spans) return { traces: [trace], found: undefined }
  const feedback = feedbackRows.map(row => toFeedbackDetail(row, trace.rootSpanId))
  const { needsReview, ...fields } = trace
  const metadata = new JsonText(trace.metadata)
  return { traces: [trace], found: { ...fields, needsReview: needsReview === 1, metadata, spans, feedback } }
}

const traceFields = {
  ...named({
    id: traces.id,
    traceId: traces.traceId,
    name: traces.name,
    status: traces.status,
    timestamp: traces.timestamp,
    durationMs: traces.durationMs,
    updatedAt: traces.updatedAt,
    key: traces.key,
    rootSpanId: traces.rootSpanId,
    projectKey: traces.projectKey,
  }),
  needsReview: sql<number>`${traces.needsReview}`.as('needsReview'),
  isPosted: sql<number>`${traces.isPosted}`.as('isPosted'),
  metadata: sql<string>`${traces.metadata}`.as('metadata'),
  projectId: sql<string>`(select id from projects where projects.key = traces.project_key)`.as('projectId'),
  projectSlug: sql<string>`(select slug from projects where projects.key = traces.project_key)`.as('projectSlug'),
}

const feedbackBytes = bytesSoFar(feedback.comment, feedback.correction)
const MAX_BYTES = sql.raw(String(MAX_DETAIL_FEEDBACK_BYTES))

/** The fields of feedback, its texts as far as an answer may hold them. */
export const feedbackFields = {
  ...named({
    id: feedback.id,
    userId: feedback.userId,
    timestamp: feedback.timestamp,
    source: feedback.source,
  }),
  spanId: joinedSpanId('feedback').as('spanId'),
  rating: sql<string | null>`${feedback.rating}`.as('rating'),
  labeller: sql<string | null>`${feedback.labeller}`.as('labeller'),
  comment: bounded(feedback.comment, feedbackBytes, MAX_BYTES, 'comment'),
  correction: sql<string | null>`iif(${feedbackBytes} > ${MAX_BYTES}, null, ${feedback.correction})`.as('correction'),
  hadCorrection: sql<number>`${feedback.correction} is not null`.as('hadCorrection'),
  isCut: sql<number>`${feedbackBytes} > ${MAX_BYTES}`.as('isCut'),
}

type FeedbackRow = SelectResultFields<typeof feedbackFields>

export const toFeedbackDetail = (
  { rating, labeller, correction, hadCorrection, isCut, ...row }: FeedbackRow,
  rootSpanId: string,
): FeedbackDetail => ({
  ...row,
  spanId: row.spanId ?? rootSpanId,
  rating: rating === null ? null : JSON.parse(rating),
  labeller: labeller === null ? null : JSON.parse(labeller),
  correction: correction === null ? null : new JsonText(correction),
  truncated: [
    ...(isCut === 1 && row.comment !== null ? ['content'] : []),
    ...(isCut === 1 && hadCorrection === 1 ? ['correction'] : []),
  ],
})

function readRows(store: Store, id: string) {
  const { database } = store
  const trace = isLive(store, eq(traces.id, id))
  const traceKey = sql`(${liveTraceKey(store, id)})`
  const ofTrace = and(eq(spans.traceKey, traceKey), isNoRoot)
  const spanBytes = sql`(
    select coalesce(${bytesOf(spans.metadata, spans.input, spans.output, spans.state)}, 0) from ${spans} where ${ofTrace})`
  return readPlain(database, [
    database.select(traceFields).from(traces).where(trace),
    database
      .select(spanFields)
      .from(spans)
      .where(
        and(
          eq(spans.id, sql`(select ${traces.rootSpanId} from ${traces} where ${trace})`),
          eq(spans.traceKey, traceKey),
        ),
      ),
    database.select(spanFields).from(spans).where(ofTrace).orderBy(asc(spans.timestamp), asc(spans.id)),
    database.select(observationFields(spanBytes)).from(observations).where(eq(observations.traceKey, traceKey)),
    lastDecisions(store, and(eq(spans.traceKey, traceKey), isNotNull(spans.reviewState))),
    database
      .select(feedbackFields)
      .from(feedback)
      .where(eq(feedback.traceKey, traceKey))
      .orderBy(asc(feedback.timestamp), asc(feedback.receivedAt), asc(feedback.id)),
  ])
}
