import { and, eq, isNotNull, type SQL, sql } from 'drizzle-orm'
import type { SelectResultFields } from 'drizzle-orm/query-builders/select.types'
import { giveTurn, inPieces } from '../../domain/turns.ts'
import {
  DETAIL_PART_BYTES,
  DETAIL_PART_SPANS,
  MAX_BRIEF_METADATA_BYTES,
  MAX_BRIEF_STATE_BYTES,
  MAX_DETAIL_ANSWER_BYTES,
  MAX_DETAIL_BYTES,
  MAX_DETAIL_SPANS,
  MAX_SPAN_BYTES,
  MAX_WHOLE_SPANS,
  STORE_ATTEMPT_MS,
} from '../../limits.ts'
import { named, readPlain } from '../core/database.ts'
import type { Store } from '../core/store.ts'
import { reviews } from '../schema/reviews.ts'
import { observations, spans } from '../schema/spans.ts'
import type { ShownMode } from '../traces/payloads.ts'
import { type FoldedSpan, foldSpans } from './fold-spans.ts'
import { isAnyCut, type SpanDetail, showSpans, sizeOf } from './span-detail.ts'
import {
  briefDecisionFields,
  briefSpanFields,
  chosenObservations,
  isLastDecision,
  wholeDecisionFields,
  wholeSpanFields,
} from './span-fields.ts'

/*
 * Reads the spans of a trace that is too large to read at once. One query measures the spans, which are then read and
 * written in parts.
 */

/**
 * A position among a trace's spans, right after a span. The root has rank 0 and comes first; the others have rank 1.
 */
export interface SpanPlace {
  rank: number
  timestamp: number
  id: string
}

/** Converts a span to its form in the response, so that the memory for its rows can be freed. */
export type Show<Shown> = (span: SpanDetail) => Shown

/** The overhead of a row besides its values. */
const ROW_BYTES = sql.raw('600')
/** The maximum size of a preview, at four bytes per character. */
const BRIEF_BYTES = sql.raw('1028')
const MAX_STATE = sql.raw(String(MAX_BRIEF_STATE_BYTES))
const MAX_METADATA = sql.raw(String(MAX_BRIEF_METADATA_BYTES))

const lengthOf = (column: SQL) => sql`coalesce(octet_length(${column}), 0)`
const briefLength = (column: SQL) => sql`min(${lengthOf(column)}, ${BRIEF_BYTES})`
const lengthUpTo = (column: SQL, max: SQL) => sql`iif(${lengthOf(column)} > ${max}, 0, ${lengthOf(column)})`

/** The bytes that the last decision on a span adds. Skips the lookup for spans without a decision. */
const ofDecision = (bytes: SQL) => sql`iif(${isNotNull(spans.reviewState)}, (
  select ${bytes} from ${reviews} where ${isLastDecision}), 0)`

/**
 * The sizes of a trace's observations, by span. `trace` is a subquery named `large` with the trace's `key` and `root`.
 */
export const observationSizes = (trace: SQL): SQL => sql`(
  select coalesce(${observations.spanId}, large.root) as span_id,
    sum(${lengthOf(sql`${observations.data}`)} + ${ROW_BYTES}) as whole_bytes,
    sum(${briefLength(sql`${observations.data}`)} + ${ROW_BYTES}) as brief_bytes
  from ${trace} cross join ${observations} where ${observations.traceKey} = large.key
  group by coalesce(${observations.spanId}, large.root)) as observed`

export const isObserved = sql`observed.span_id = ${spans.id}`

const { metadata, input, output, state } = spans

/** The fields for planning: a span's id and its size in full and in brief. */
export const plannedFields = {
  ...named({ id: spans.id }),
  wholeBytes: sql<number>`(${ROW_BYTES} + ${lengthOf(sql`${metadata}`)} + ${lengthOf(sql`${input}`)}
    + ${lengthOf(sql`${output}`)} + ${lengthOf(sql`${state}`)} + coalesce(observed.whole_bytes, 0)
    + ${ofDecision(sql`${lengthOf(sql`${reviews.approved}`)} + ${lengthOf(sql`${reviews.comment}`)}`)})`.as(
    'wholeBytes',
  ),
  briefBytes: sql<number>`(${ROW_BYTES} + ${lengthUpTo(sql`${metadata}`, MAX_METADATA)} + ${briefLength(sql`${input}`)}
    + ${briefLength(sql`${output}`)} + ${lengthUpTo(sql`${state}`, MAX_STATE)} + coalesce(observed.brief_bytes, 0)
    + ${ofDecision(sql`${briefLength(sql`${reviews.approved}`)} + ${briefLength(sql`${reviews.comment}`)}`)})`.as(
    'briefBytes',
  ),
  hasObservations: sql<number>`observed.span_id is not null`.as('hasObservations'),
  isReviewed: sql<number>`${isNotNull(spans.reviewState)}`.as('isReviewed'),
}

type PlannedSpan = SelectResultFields<typeof plannedFields>

/** The trace whose spans are read. */
interface PlannedTrace {
  key: number
  rootSpanId: string
  isPosted: number
}

/** Spans in their form in the response, and where the next page begins. */
interface ReadSpans<Shown> {
  spans: Shown[]
  nextSpan: SpanPlace | null
}

/**
 * Reads the planned spans, up to `spanLimit`. If more spans follow, `planned` must contain one more span than the
 * limit. A page of up to 2,000 spans ends when its values exceed the limit for showing them in full; a longer list
 * switches to `brief`. Returns undefined if an object is gone.
 */
export async function readParts<Shown extends { bytes: number }>(
  store: Store,
  trace: PlannedTrace,
  planned: readonly PlannedSpan[],
  { spanLimit, mode }: { spanLimit: number | null; mode: ShownMode },
  show: Show<Shown>,
): Promise<ReadSpans<Shown> | undefined> {
  const limit = Math.min(spanLimit ?? MAX_DETAIL_SPANS, MAX_DETAIL_SPANS)
  const isPage = spanLimit !== null && spanLimit <= MAX_WHOLE_SPANS
  const read = (mode: ShownMode, isPage: boolean) => readSpans(store, trace, planned, { limit, mode, isPage }, show)
  const isMany = Math.min(planned.length, limit) > MAX_WHOLE_SPANS
  const found = isMany ? 'too_large' : await read(mode, isPage)
  // `brief` reads never return `too_large`.
  return found === 'too_large' ? ((await read('brief', true)) as ReadSpans<Shown> | undefined) : found
}

/** If the values don't fit in full, a page (`isPage`) ends early, and anything else returns `too_large`. */
async function readSpans<Shown extends { bytes: number }>(
  store: Store,
  trace: PlannedTrace,
  planned: readonly PlannedSpan[],
  { limit, mode, isPage }: { limit: number; mode: ShownMode; isPage: boolean },
  show: Show<Shown>,
): Promise<ReadSpans<Shown> | 'too_large' | undefined> {
  const shown: Shown[] = []
  let last: SpanDetail | undefined
  let [valueBytes, answerBytes] = [0, 0]
  const page = () => ({ spans: shown, nextSpan: last ? placeOf(trace, last) : null })
  const bytesOf = (span: PlannedSpan) => (mode === 'brief' ? span.briefBytes : span.wholeBytes)
  // The memory of an isolate can hold several parts.
  for (const part of inPieces(planned.slice(0, limit), DETAIL_PART_BYTES, bytesOf, DETAIL_PART_SPANS)) {
    // A partial page is better than a 503.
    if (last && store.deadline.remainingMs() < STORE_ATTEMPT_MS) return page()
    // Let other requests run, even if D1 responds immediately.
    await giveTurn()
    const folded = await readPart(store, trace, part, mode, isPage ? MAX_SPAN_BYTES : MAX_DETAIL_BYTES)
    if (!isPage && folded.some(isAnyCut)) return 'too_large'
    const fitting = folded.filter(span => {
      if (mode !== 'brief') valueBytes += sizeOf(span, mode)
      return valueBytes <= MAX_DETAIL_BYTES || (shown.length === 0 && span === folded[0])
    })
    if (fitting.length < folded.length && !isPage) return 'too_large'
    const details = await showSpans(store, fitting, mode)
    if (!details) return undefined
    for (const detail of details) {
      const written = show(detail)
      answerBytes += written.bytes
      if (answerBytes > MAX_DETAIL_ANSWER_BYTES && last) return page()
      shown.push(written)
      last = detail
    }
    if (fitting.length < folded.length) return page()
  }
  return planned.length > limit ? page() : { spans: shown, nextSpan: null }
}

const placeOf = (trace: PlannedTrace, { id, timestamp }: SpanDetail): SpanPlace => ({
  rank: id === trace.rootSpanId ? 0 : 1,
  timestamp,
  id,
})

/** Reads some of a trace's spans in order, with up to `maxBytes` of their observations in full. */
async function readPart(
  store: Store,
  trace: PlannedTrace,
  part: readonly PlannedSpan[],
  mode: ShownMode,
  maxBytes: number,
): Promise<FoldedSpan[]> {
  const { database } = store
  const isBrief = mode === 'brief'
  const given = (planned: readonly PlannedSpan[]) =>
    sql`json_each(${JSON.stringify(planned.map(({ id }) => id))}) as item`
  const isGiven = and(sql`${spans.id} = item.value`, eq(spans.traceKey, trace.key))
  const withObservations = part.filter(({ hasObservations }) => hasObservations === 1)
  const spanId = sql`coalesce(${observations.spanId}, ${trace.rootSpanId})`
  const isObservedHere = sql`${observations.traceKey} = ${withObservations.length === 0 ? null : trace.key}
    and ${spanId} in (select item.value from ${given(withObservations)})`
  const reviewed = part.filter(({ isReviewed }) => isReviewed === 1)
  const [spanRows, observationRows, decisions] = await readPlain(database, [
    database
      .select(isBrief ? briefSpanFields : wholeSpanFields)
      .from(given(part))
      .crossJoin(spans)
      .where(isGiven),
    chosenObservations(store, { among: isObservedHere, spanId, maxBytes: isBrief ? 'brief' : maxBytes }),
    database
      .select(isBrief ? briefDecisionFields : wholeDecisionFields)
      .from(given(reviewed))
      .crossJoin(spans)
      .crossJoin(reviews)
      .where(and(isGiven, isLastDecision)),
  ])
  return foldSpans({ traces: [trace], spans: spanRows, observations: observationRows, decisions })
}
