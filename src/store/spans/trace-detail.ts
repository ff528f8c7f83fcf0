import { and, asc, eq, isNotNull, type SQL, sql } from 'drizzle-orm'
import type { SelectResultFields } from 'drizzle-orm/query-builders/select.types'
import type { FeedbackSource, Labeler, Rating } from '../../domain/feedback.ts'
import { JsonText } from '../../domain/json.ts'
import type { PayloadMode } from '../../domain/span.ts'
import {
  MAX_DETAIL_BYTES,
  MAX_DETAIL_FEEDBACK_BYTES,
  MAX_DETAIL_SPANS,
  MAX_WHOLE_OBSERVATIONS,
  MAX_WHOLE_SPANS,
} from '../../limits.ts'
import { bounded, bytesOf, bytesSoFar, quotedJson } from '../core/bounds.ts'
import { named, readPlain } from '../core/database.ts'
import { readTraceUse } from '../core/model-calls.ts'
import type { Store } from '../core/store.ts'
import { isCommentShown } from '../core/veil.ts'
import { feedback, reviews } from '../schema/reviews.ts'
import { isNotRoot, observations, spans } from '../schema/spans.ts'
import { mayNeedReview, traces } from '../schema/traces.ts'
import { isLive, liveTraceKey } from '../traces/live.ts'
import { readUntilWhole, type ShownMode } from '../traces/payloads.ts'
import { joinedSpanId } from '../traces/span-ids.ts'
import { type CountedTrace, traceCounts } from '../traces/trace-list.ts'
import { isObserved, observationSizes, plannedFields, readParts, type Show, type SpanPlace } from './detail-parts.ts'
import { type FoldedSpan, foldSpans } from './fold-spans.ts'
import { chooseShared, readShared, sharingSpans } from './shared-review.ts'
import { type SpanDetail, showSpans, sizeOf } from './span-detail.ts'
import { isLastDecision, wholeDecisionFields, wholeObservationFields, wholeSpanFields } from './span-fields.ts'

export interface FeedbackDetail {
  id: string
  /** The span that the feedback names, if it exists, or else the root. */
  spanId: string
  userId: string
  name: string | null
  rating: Rating | null
  comment: string | null
  correction: JsonText | null
  labeller: Labeler | null
  timestamp: number
  receivedAt: number
  source: FeedbackSource
  /** The fields that are truncated: `content`, `correction`. */
  truncated: string[]
}

/** A position in a trace's feedback. */
type FeedbackPlace = Pick<FeedbackDetail, 'timestamp' | 'receivedAt' | 'id'>

/** Which of a trace's spans and feedback to read. If a position is given, reading starts after it. */
export interface DetailPage {
  mode: PayloadMode
  /** Null for as many spans as fit in a response. */
  spanLimit: number | null
  afterSpan: SpanPlace | undefined
  feedbackLimit: number
  afterFeedback: FeedbackPlace | undefined
}

/** `Shown` is the form of a span in the response. */
export interface TraceDetail<Shown> extends CountedTrace {
  projectKey: number
  projectId: string
  projectSlug: string
  /** The root first, then the other spans by time and id. */
  spans: Shown[]
  nextSpan: SpanPlace | null
  /** Oldest first. */
  feedback: FeedbackDetail[]
  nextFeedback: FeedbackPlace | null
}

/**
 * Finds a trace with its spans and feedback, including their full values. Takes one round trip, and R2 reads for large
 * values. For a page, or for a trace that's too large to show in full, takes one more round trip for each part of the
 * spans.
 */
export const findTraceDetail = <Shown extends { bytes: number }>(
  store: Store,
  id: string,
  page: DetailPage,
  show: Show<Shown>,
): Promise<TraceDetail<Shown> | undefined> => readUntilWhole(store, () => readTrace(store, id, page, show))

async function readTrace<Shown extends { bytes: number }>(
  store: Store,
  id: string,
  page: DetailPage,
  show: Show<Shown>,
) {
  const [[row], roots, others, observations, decisions, plannedRoot, planned, feedbackRows, sharing] = await readRows(
    store,
    id,
    page,
  )
  if (!row) return undefined
  const { isWhole, ...trace } = row
  const { rootSpanId } = trace
  const folded = foldSpans({ traces: [trace], spans: [...roots, ...others], observations, decisions })
  const isBrief = isWhole === 1 ? isTooLarge(folded, page.mode) : page.spanLimit === null
  const mode = isBrief ? 'brief' : page.mode
  const showShared = await readShared(store, rootSpanId, chooseShared(store, sharing).get(rootSpanId), mode)
  if (!showShared) return { traces: [trace], found: undefined }
  const showSpan = (span: SpanDetail) => show(showShared(span))
  const read =
    isWhole === 1
      ? await showWhole(store, folded, mode, showSpan)
      : await readParts(store, trace, [...plannedRoot, ...planned], page, showSpan)
  if (!read) return { traces: [trace], found: undefined }
  const feedback = feedbackRows.slice(0, page.feedbackLimit).map(row => toFeedbackDetail(row, trace.rootSpanId))
  const metadata = new JsonText(trace.metadata)
  const found: TraceDetail<Shown> = {
    ...trace,
    needsReview: trace.needsReview === 1,
    metadata,
    ...readTraceUse(trace.traceUse),
    spans: read.spans,
    nextSpan: read.nextSpan,
    feedback,
    nextFeedback: (feedbackRows.length > feedback.length && feedback.at(-1)) || null,
  }
  return { traces: [trace], found }
}

/** Whether spans that were all read together are too large for a response that shows them in full. */
const isTooLarge = (folded: readonly FoldedSpan[], mode: PayloadMode): boolean =>
  folded.reduce((sum, span) => sum + sizeOf(span, mode), 0) > MAX_DETAIL_BYTES

/** Shows spans that were all read together. */
async function showWhole<Shown>(store: Store, folded: readonly FoldedSpan[], mode: ShownMode, show: Show<Shown>) {
  const shown = await showSpans(store, folded, mode)
  return shown && { spans: shown.map(show), nextSpan: null }
}

const traceFields = (store: Store) => ({
  ...named({
    id: traces.id,
    traceId: traces.traceId,
    name: traces.name,
    status: traces.status,
    timestamp: traces.timestamp,
    durationMs: traces.durationMs,
    updatedAt: traces.updatedAt,
    receivedAt: traces.receivedAt,
    key: traces.key,
    rootSpanId: traces.rootSpanId,
    projectKey: traces.projectKey,
  }),
  ...traceCounts(store),
  needsReview: sql<number>`${mayNeedReview}`.as('needsReview'),
  isPosted: sql<number>`${traces.isPosted}`.as('isPosted'),
  metadata: sql<string>`${traces.metadata}`.as('metadata'),
  projectId: sql<string>`(select id from projects where projects.key = traces.project_key)`.as('projectId'),
  projectSlug: sql<string>`(select slug from projects where projects.key = traces.project_key)`.as('projectSlug'),
})

const feedbackBytes = bytesSoFar(quotedJson(feedback.comment), feedback.correction)
const MAX_FEEDBACK_BYTES = sql.raw(String(MAX_DETAIL_FEEDBACK_BYTES))

/** The fields of feedback. Its comment and correction are truncated to fit in a response. */
export const feedbackFields = {
  ...named({
    id: feedback.id,
    userId: feedback.userId,
    name: feedback.name,
    timestamp: feedback.timestamp,
    receivedAt: feedback.receivedAt,
    source: feedback.source,
  }),
  spanId: joinedSpanId('feedback').as('spanId'),
  rating: sql<string | null>`${feedback.rating}`.as('rating'),
  labeller: sql<string | null>`${feedback.labeller}`.as('labeller'),
  comment: bounded(feedback.comment, feedbackBytes, MAX_FEEDBACK_BYTES, 'comment'),
  correction: sql<string | null>`iif(${feedbackBytes} > ${MAX_FEEDBACK_BYTES}, null, ${feedback.correction})`.as(
    'correction',
  ),
  hadCorrection: sql<number>`${feedback.correction} is not null`.as('hadCorrection'),
  isCut: sql<number>`${feedbackBytes} > ${MAX_FEEDBACK_BYTES}`.as('isCut'),
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

/** A condition that is always false. */
const NONE = sql`0`

/**
 * Returns two subqueries for the key and root of the trace. Only one of them has a row: `whole` if a response can show
 * the trace in full, otherwise `large`.
 */
function splitBySize(store: Store, id: string, isWhole: SQL) {
  const ofTrace = isLive(store, eq(traces.id, id))
  const select = (condition: SQL, name: 'whole' | 'large') =>
    sql`(select ${traces.key} as key, ${traces.rootSpanId} as root from ${traces}
      where ${ofTrace} and ${condition}) as ${sql.raw(name)}`
  return { whole: select(isWhole, 'whole'), large: select(sql`not ${isWhole}`, 'large') }
}

const COUNTED_SPANS = sql.raw(String(MAX_WHOLE_SPANS))
const COUNTED_OBSERVATIONS = sql.raw(String(MAX_WHOLE_OBSERVATIONS + 1))
const MAX_BYTES = sql.raw(String(MAX_DETAIL_BYTES))
const spanBytes = bytesOf(spans.metadata, spans.input, spans.output, spans.state)
const sumOf = (bytes: SQL, from: SQL) => sql`coalesce((select ${bytes} from ${from}), 0)`

/**
 * Whether all of a trace's spans may be read together. Reads only lengths, and not even all of them if the trace is
 * large.
 */
const isSmall = sql`case
  when (select count(*) from (
    select 1 from ${spans} where ${spans.traceKey} = ${traces.key} and ${isNotRoot} limit ${COUNTED_SPANS})) = ${COUNTED_SPANS} then 0
  when (select count(*) from (
    select 1 from ${observations} where ${observations.traceKey} = ${traces.key}
    limit ${COUNTED_OBSERVATIONS})) = ${COUNTED_OBSERVATIONS} then 0
  else ${sumOf(spanBytes, sql`${spans} where ${spans.traceKey} = ${traces.key} and ${isNotRoot}`)}
    + ${sumOf(spanBytes, sql`${spans} where ${spans.id} = ${traces.rootSpanId} and ${spans.traceKey} = ${traces.key}`)}
    + ${sumOf(bytesOf(observations.data), sql`${observations} where ${observations.traceKey} = ${traces.key}`)}
    + ${sumOf(
      bytesOf(reviews.approved, reviews.comment),
      sql`${spans} cross join ${reviews}
        where ${spans.traceKey} = ${traces.key} and ${isNotNull(spans.reviewState)} and ${isLastDecision}`,
    )} <= ${MAX_BYTES} end`

function readRows(store: Store, id: string, { spanLimit, afterSpan, feedbackLimit, afterFeedback }: DetailPage) {
  const { database } = store
  const trace = isLive(store, eq(traces.id, id))
  const listsSpans = afterSpan || !afterFeedback ? undefined : NONE
  const listsFeedback = afterFeedback || !afterSpan ? undefined : NONE
  const isWhole = spanLimit === null && !afterSpan ? isSmall : NONE
  const { whole, large } = splitBySize(store, id, isWhole)
  const isRoot = (key: SQL, root: SQL) => sql`${spans.id} = ${root} and ${spans.traceKey} = ${key}`
  const [wholeKey, wholeRoot] = [sql`whole.key`, sql`whole.root`]
  const followsSpan =
    afterSpan &&
    afterSpan.rank > 0 &&
    sql`(${spans.timestamp}, ${spans.id}) > (${afterSpan.timestamp}, ${afterSpan.id})`
  const followsFeedback =
    afterFeedback &&
    sql`(${feedback.timestamp}, ${feedback.receivedAt}, ${feedback.id})
      > (${afterFeedback.timestamp}, ${afterFeedback.receivedAt}, ${afterFeedback.id})`
  const feedbackOrder = sql`${feedback.timestamp}, ${feedback.receivedAt}, ${feedback.id}`
  const listed = sql`(
    select ${feedback.id} as id, ${feedback.traceKey} as trace_key from ${feedback}
    where ${and(sql`${feedback.traceKey} = (${liveTraceKey(store, id)})`, followsFeedback, listsFeedback, isCommentShown(store))}
    order by ${feedbackOrder} limit ${feedbackLimit + 1}) as listed`
  return readPlain(database, [
    database
      .select({ ...traceFields(store), isWhole: sql<number>`${isWhole}`.as('isWhole') })
      .from(traces)
      .where(trace),
    database
      .select(wholeSpanFields)
      .from(whole)
      .crossJoin(spans)
      .where(and(isRoot(wholeKey, wholeRoot), listsSpans)),
    database
      .select(wholeSpanFields)
      .from(whole)
      .crossJoin(spans)
      .where(and(sql`${spans.traceKey} = ${wholeKey}`, isNotRoot, listsSpans))
      .orderBy(asc(spans.timestamp), asc(spans.id)),
    database
      .select(wholeObservationFields)
      .from(whole)
      .crossJoin(observations)
      .where(and(sql`${observations.traceKey} = ${wholeKey}`, listsSpans)),
    database
      .select(wholeDecisionFields)
      .from(whole)
      .crossJoin(spans)
      .crossJoin(reviews)
      .where(and(sql`${spans.traceKey} = ${wholeKey}`, isNotNull(spans.reviewState), isLastDecision, listsSpans)),
    database
      .select(plannedFields)
      .from(large)
      .crossJoin(spans)
      .leftJoin(observationSizes(large), isObserved)
      .where(and(isRoot(sql`large.key`, sql`large.root`), listsSpans, afterSpan ? NONE : undefined)),
    database
      .select(plannedFields)
      .from(large)
      .crossJoin(spans)
      .leftJoin(observationSizes(large), isObserved)
      .where(and(sql`${spans.traceKey} = large.key`, isNotRoot, followsSpan || undefined, listsSpans))
      .orderBy(asc(spans.timestamp), asc(spans.id))
      .limit(Math.min(spanLimit ?? MAX_DETAIL_SPANS, MAX_DETAIL_SPANS) + 1),
    database
      .select(feedbackFields)
      .from(listed)
      .crossJoin(feedback)
      .where(sql`${feedback.id} = listed.id and ${feedback.traceKey} = listed.trace_key`)
      .orderBy(feedbackOrder),
    // Only the first page shows the root.
    sharingSpans(
      store,
      and(
        sql`(root.id, root.trace_key) = (select ${traces.rootSpanId}, ${traces.key} from ${traces} where ${trace})`,
        listsSpans,
        afterSpan ? NONE : undefined,
      ) ?? NONE,
    ),
  ])
}
