import { type SQL, sql } from 'drizzle-orm'
import type { SelectResultFields } from 'drizzle-orm/query-builders/select.types'
import type { PayloadMode } from '../../domain/span.ts'
import { MAX_PAGE_VALUE_BYTES, MAX_SPAN_BYTES } from '../../limits.ts'
import { named, readPlain } from '../core/database.ts'
import type { Store } from '../core/store.ts'
import { observations, spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { isLive } from '../traces/live.ts'
import { readUntilWhole } from '../traces/payloads.ts'
import { type FoldedSpan, foldSpans, type SpanRows } from './fold-spans.ts'
import { isAnyCut, type SpanDetail, showSpans, sizeOf } from './span-detail.ts'
import {
  boundedSpanFields,
  chosenObservations,
  type DecisionRow,
  lastDecisions,
  type ObservationRow,
  type SpanRow,
} from './span-fields.ts'

/* Looks up spans by id alone, for the read interface. */

/** A span with its trace. */
export interface LocatedSpan extends SpanDetail {
  trace: { id: string; traceId: string; name: string }
  projectKey: number
}

const locatedFields = {
  ...named({
    id: traces.id,
    key: traces.key,
    rootSpanId: traces.rootSpanId,
    traceId: traces.traceId,
    name: traces.name,
    projectKey: traces.projectKey,
  }),
  isPosted: sql<number>`${traces.isPosted}`.as('isPosted'),
}

/** The trace that a span belongs to. */
export type LocatedTrace = SelectResultFields<typeof locatedFields>

/**
 * Finds a span of a live trace, with as much of its values as fits in a response. Takes one round trip, and R2 reads
 * for large values.
 */
export async function findSpan(store: Store, id: string): Promise<LocatedSpan | undefined> {
  const { found } = await findSpans(store, [id], 'full')
  return found.get(id)
}

/** The spans of a page. */
interface SpansOfPage {
  /** Keyed by id. Deleted spans are missing. */
  found: Map<string, LocatedSpan>
  /** How many of the ids were read. The values of more spans wouldn't fit in the page. */
  count: number
}

/**
 * Finds spans of live traces by id, as many as fit in a page and at least one. Takes one round trip, and R2 reads for
 * large values. If the values stored in rows don't fit, tries again with half as many ids.
 */
export async function findSpans(store: Store, ids: readonly string[], mode: PayloadMode): Promise<SpansOfPage> {
  const page = await readUntilWhole<SpansOfPage | 'too_many'>(store, () => readPage(store, ids, mode))
  if (page === 'too_many') return findSpans(store, ids.slice(0, Math.floor(ids.length / 2)), mode)
  return page ?? { found: new Map(), count: ids.length }
}

async function readPage(store: Store, ids: readonly string[], mode: PayloadMode) {
  const maxBytes = ids.length === 1 ? MAX_SPAN_BYTES : MAX_PAGE_VALUE_BYTES
  const rows = toLocatedRows(await readPlain(store.database, spanQueries(store, ids, maxBytes)))
  const foldedOf = new Map(foldSpans(rows).map(span => [span.row.id, span]))
  const fitting: FoldedSpan[] = []
  let [count, bytes] = [0, 0]
  for (const id of ids) {
    const span = foldedOf.get(id)
    bytes += span ? sizeOf(span, mode) : 0
    if (ids.length > 1 && span && isAnyCut(span)) {
      if (fitting.length === 0) return { traces: rows.traces, found: 'too_many' as const }
      break
    }
    if (bytes > maxBytes && fitting.length > 0) break
    if (span) fitting.push(span)
    count++
  }
  const shown = await showSpans(store, fitting, mode)
  const traceOf = new Map(rows.traces.map(trace => [trace.key, trace]))
  const located = shown?.flatMap((detail, index) => {
    const trace = traceOf.get(fitting[index]?.row.traceKey ?? 0)
    return trace ? [[detail.id, withTrace(detail, trace)] as const] : []
  })
  return { traces: rows.traces, found: located && { found: new Map(located), count } }
}

/** Adds its trace to a span. */
export const withTrace = (detail: SpanDetail, { id, traceId, name, projectKey }: LocatedTrace): LocatedSpan => ({
  ...detail,
  trace: { id, traceId, name },
  projectKey,
})

/** The rows that make up located spans. */
export interface LocatedRows extends SpanRows {
  traces: readonly LocatedTrace[]
}

/** Names the results of `spanQueries`. */
export const toLocatedRows = ([traces, spans, observations, decisions]: readonly [
  LocatedRows['traces'],
  readonly SpanRow[],
  readonly ObservationRow[],
  readonly DecisionRow[],
]): LocatedRows => ({ traces, spans, observations, decisions })

/** The queries for spans of live traces by id. Up to `maxBytes` of the values in rows are read in full. */
export function spanQueries(store: Store, ids: readonly string[], maxBytes: number = MAX_PAGE_VALUE_BYTES) {
  const { database } = store
  const given = sql`json_each(${JSON.stringify(ids)}) as item`
  const located = locatedSpans(store, ids)
  const inTraces = sql`in (select located.trace_key from ${located} as located)`
  const spanId = sql`coalesce(${observations.spanId}, (
    select ${traces.rootSpanId} from ${traces} where ${traces.key} = ${observations.traceKey}))`
  return [
    database.select(locatedFields).from(traces).where(sql`${traces.key} ${inTraces}`),
    database.select(boundedSpanFields(maxBytes)).from(spans).where(isLocated(located)),
    chosenObservations(store, {
      among: sql`${observations.traceKey} ${inTraces} and ${spanId} in (select item.value from ${given})`,
      spanId,
      maxBytes,
    }),
    lastDecisions(store, isLocated(located)),
  ] as const
}

/** Whether a span is among the rows of `located`. */
export const isLocated = (located: SQL): SQL =>
  sql`(${spans.id}, ${spans.traceKey}) in (select located.span_id, located.trace_key from ${located} as located)`

/**
 * The live traces of spans. Ids of roots and of telemetry spans can be computed, so another trace's span may have taken
 * one before the root or telemetry span existed. The root or telemetry span wins.
 */
export const locatedSpans = (store: Store, ids: readonly string[]): SQL => sql`(
  select item.value as span_id, (
    select ${traces.key} from ${spans} own cross join ${traces}
    where own.id = item.value and ${traces.key} = own.trace_key and ${isLive(store)}
    order by own.is_root desc, own.export_revision is not null desc limit 1) as trace_key
  from json_each(${JSON.stringify(ids)}) as item)`
