import { and, eq, gt, isNotNull, type SQL, sql } from 'drizzle-orm'
import type { SelectResultFields } from 'drizzle-orm/query-builders/select.types'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { MAX_SEARCHED_ROWS, SEARCHED_ROWS_AT_ONCE } from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import { named, readPlain } from '../core/database.ts'
import { rowSet } from '../core/rows.ts'
import { readStepId } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { isCommentShown } from '../core/veil.ts'
import { feedback, reviews } from '../schema/reviews.ts'
import { isNotRoot, observations, spans } from '../schema/spans.ts'
import { isLastDecision } from '../spans/span-fields.ts'
import { joinedSpanId } from '../traces/span-ids.ts'

/*
 * What a text search reads first: which values spans, observations, and comments have, and how long they are.
 * SQLite gets the lengths without reading the values.
 */

/** A trace to search. */
interface TraceKeys {
  key: number
  rootSpanId: string
}

/** A span to search. */
interface SpanKeys {
  traceKey: number
  spanId: string
}

/** Which of the traces' spans to read: only these; all of them; or, for a single trace, all spans after an id. */
type Chosen = { only: readonly SpanKeys[] } | { after: string | undefined }

const bytesOf = (column: SQLiteColumn, name: string) => sql<number | null>`octet_length(${column})`.as(name)

const spanHead = ({ key }: Project) => ({
  ...named({
    traceKey: spans.traceKey,
    id: spans.id,
    parentId: spans.parentId,
    timestamp: spans.timestamp,
    reviewNumber: spans.reviewNumber,
  }),
  stepId: readStepId(sql`${key}`, spans.stepId).as('stepId'),
  inputBytes: bytesOf(spans.input, 'inputBytes'),
  outputBytes: bytesOf(spans.output, 'outputBytes'),
  stateBytes: bytesOf(spans.state, 'stateBytes'),
  approvedBytes: sql<number | null>`iif(${isNotNull(spans.reviewState)}, (
    select octet_length(${reviews.approved}) from ${reviews} where ${isLastDecision}), null)`.as('approvedBytes'),
})

const observationHead = {
  ...named({
    traceKey: observations.traceKey,
    id: observations.id,
    spanId: observations.spanId,
    type: observations.type,
    stateKey: observations.stateKey,
    timestamp: observations.timestamp,
    receivedAt: observations.receivedAt,
  }),
  bytes: sql<number>`octet_length(${observations.data})`.as('bytes'),
}

const commentHead = {
  ...named({ traceKey: feedback.traceKey, id: feedback.id }),
  /** Null for the root. */
  spanId: joinedSpanId('feedback').as('spanId'),
  bytes: sql<number>`octet_length(${feedback.comment})`.as('bytes'),
}

export type SpanHead = SelectResultFields<ReturnType<typeof spanHead>>
export type ObservationHead = SelectResultFields<typeof observationHead>
export type CommentHead = SelectResultFields<typeof commentHead>

/** The spans, observations, and comments of some traces. */
export interface Heads {
  /** The traces' roots come first, followed by the other spans by trace and id. */
  spans: SpanHead[]
  observations: ObservationHead[]
  comments: CommentHead[]
  /** How many of the traces were read, at least one. */
  count: number
  /** If the only trace that was read has more spans, the last span that was read. */
  lastSpanId?: string | undefined
  /** Whether that trace has more observations or comments than a search reads. */
  isLeftOut: boolean
}

const TRACES = rowSet(['key', 'rootSpanId'])
const { row: trace } = TRACES
const SPANS = rowSet(['traceKey', 'spanId'])

/**
 * Reads the heads of as many of these traces as fit in a round trip. If the first one doesn't fit, reads as many of its
 * spans as fit, and takes more round trips for its observations and comments.
 */
export async function readHeads(
  store: Store,
  project: Project,
  searched: readonly TraceKeys[],
  chosen: Chosen,
): Promise<Heads> {
  const [observed, commented, ...chosenSpans] = await readPlain(store.database, [
    observationsOf(store, searched),
    commentsOf(store, searched),
    ...spanStatements(store, project, searched, chosen),
  ])
  const spans = chosenSpans.flat()
  const [last = []] = chosenSpans.slice(-1)
  const count = Math.min(...[observed, commented, last].map(rows => countComplete(searched, rows)))
  if (count > 0) return { spans, observations: observed, comments: commented, count, isLeftOut: false }
  const [first] = searched
  if (!first) return { spans: [], observations: [], comments: [], count: 0, isLeftOut: false }
  const isOfFirst = ({ traceKey }: { traceKey: number }) => traceKey === first.key
  const observations = await readAll(observed.filter(isOfFirst), after => observationsOf(store, [first], after))
  const comments = await readAll(commented.filter(isOfFirst), after => commentsOf(store, [first], after))
  const isAll = last.filter(isOfFirst).length < SEARCHED_ROWS_AT_ONCE
  return {
    spans: spans.filter(isOfFirst),
    observations: observations.rows,
    comments: comments.rows,
    count: 1,
    lastSpanId: isAll ? undefined : last.at(-1)?.id,
    isLeftOut: !(observations.isAll && comments.isAll),
  }
}

/** How many traces were read in full by a statement that stops after `SEARCHED_ROWS_AT_ONCE` rows. */
function countComplete(searched: readonly TraceKeys[], rows: readonly { traceKey: number }[]): number {
  if (rows.length < SEARCHED_ROWS_AT_ONCE) return searched.length
  const last = rows.at(-1)?.traceKey
  return searched.findIndex(({ key }) => key === last)
}

/* These statements don't sort, because a sort would read all rows first. Rows are already ordered by trace and id. */

const from = (searched: readonly TraceKeys[]) =>
  TRACES.from(TRACES.encodeAll(searched.map(({ key, rootSpanId }) => ({ key, rootSpanId }))))

function spanStatements({ database }: Store, project: Project, searched: readonly TraceKeys[], chosen: Chosen) {
  const select = (given: SQL, where: SQL | undefined) =>
    database.select(spanHead(project)).from(given).crossJoin(spans).where(where).limit(SEARCHED_ROWS_AT_ONCE)
  if ('only' in chosen) {
    const { row } = SPANS
    const given = SPANS.from(SPANS.encodeAll(chosen.only.map(({ traceKey, spanId }) => ({ traceKey, spanId }))))
    return [select(given, and(eq(spans.id, row.spanId), eq(spans.traceKey, row.traceKey)))]
  }
  const { after } = chosen
  const ofTraces = (which: SQL | undefined) => select(from(searched), and(eq(spans.traceKey, trace.key), which))
  const others = ofTraces(and(isNotRoot, after === undefined ? undefined : gt(spans.id, after)))
  return after === undefined ? [ofTraces(sql`${spans.id} = ${trace.rootSpanId}`), others] : [others]
}

const observationsOf = ({ database }: Store, searched: readonly TraceKeys[], after = '') =>
  database
    .select(observationHead)
    .from(from(searched))
    .crossJoin(observations)
    .where(and(eq(observations.traceKey, trace.key), gt(observations.id, after)))
    .limit(SEARCHED_ROWS_AT_ONCE)

const commentsOf = (store: Store, searched: readonly TraceKeys[], after = '') =>
  store.database
    .select(commentHead)
    .from(from(searched))
    .crossJoin(feedback)
    .where(
      and(eq(feedback.traceKey, trace.key), gt(feedback.id, after), isNotNull(feedback.comment), isCommentShown(store)),
    )
    .limit(SEARCHED_ROWS_AT_ONCE)

/** Reads the rows of a trace that follow the first ones, a few at a time, up to `MAX_SEARCHED_ROWS`. */
async function readAll<Row extends { id: string }>(
  first: readonly Row[],
  next: (after: string) => PromiseLike<Row[]>,
): Promise<{ rows: Row[]; isAll: boolean }> {
  const rows = [...first]
  let isAll = first.length < SEARCHED_ROWS_AT_ONCE
  while (!isAll && rows.length <= MAX_SEARCHED_ROWS) {
    const more = await next(rows.at(-1)?.id ?? '')
    rows.push(...more)
    isAll = more.length < SEARCHED_ROWS_AT_ONCE
  }
  return { rows: rows.slice(0, MAX_SEARCHED_ROWS), isAll: rows.length <= MAX_SEARCHED_ROWS }
}
