import { type SQL, sql } from 'drizzle-orm'
import type { SelectResultFields } from 'drizzle-orm/query-builders/select.types'
import type { PayloadMode } from '../domain/span.ts'
import { named, readPlain } from './database.ts'
import { untilWhole } from './payloads.ts'
import { observations, spans, traces } from './schema.ts'
import {
  type DecisionRow,
  foldSpans,
  lastDecisions,
  type ObservationRow,
  observationFields,
  type SpanDetail,
  type SpanRow,
  type SpanRows,
  showSpans,
  spanFields,
} from './span-detail.ts'
import type { Store } from './store.ts'
import { isLive } from './traces.ts'

/*
 * Spans that are known by their ids alone, as the read interface names them.
 */

/** A span and its trace. */
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

/** One span of a live trace, in full as far as an answer goes: one round trip, and R2 reads for its large values. */
export async function findSpan(store: Store, id: string): Promise<LocatedSpan | undefined> {
  const spans = await findSpans(store, [id], 'full')
  return spans.get(id)
}

/** Spans of live traces, by their ids: one round trip, and R2 reads for their large values. */
export async function findSpans(
  store: Store,
  ids: readonly string[],
  mode: PayloadMode,
): Promise<Map<string, LocatedSpan>> {
  const found = await untilWhole(store, async () => {
    const rows = rowsOf(await readPlain(store.database, spanQueries(store, ids)))
    const shown = await showSpans(store, foldSpans(rows), mode)
    const traceOf = new Map(rows.traces.map(trace => [trace.key, trace]))
    const found = shown?.flatMap((detail, index) => {
      const trace = traceOf.get(rows.spans[index]?.traceKey ?? 0)
      return trace ? [locate(detail, trace)] : []
    })
    return { traces: rows.traces, found }
  })
  return new Map(found?.map(span => [span.id, span]))
}

/** A span with its trace. */
export const locate = (detail: SpanDetail, { id, traceId, name, projectKey }: LocatedTrace): LocatedSpan => ({
  ...detail,
  trace: { id, traceId, name },
  projectKey,
})

/** The rows that located spans are made of. */
export interface LocatedRows extends SpanRows {
  traces: readonly LocatedTrace[]
}

/** Names the results of `spanQueries`. */
export const rowsOf = ([traces, spans, observations, decisions]: readonly [
  LocatedRows['traces'],
  readonly SpanRow[],
  readonly ObservationRow[],
  readonly DecisionRow[],
]): LocatedRows => ({ traces, spans, observations, decisions })

/** Reads spans of live traces by their ids, with all that they are made of. */
export function spanQueries(store: Store, ids: readonly string[]) {
  const { database } = store
  const given = sql`json_each(${JSON.stringify(ids)}) as item`
  const located = locatedSpans(store, ids)
  const inTraces = sql`in (select located.trace_key from ${located} as located)`
  const rootSpanId = sql`(select ${traces.rootSpanId} from ${traces} where ${traces.key} = ${observations.traceKey})`
  return [
    database.select(locatedFields).from(traces).where(sql`${traces.key} ${inTraces}`),
    database.select(spanFields).from(spans).where(isAmong(located)),
    database
      .select(observationFields())
      .from(observations)
      .where(
        sql`${observations.traceKey} ${inTraces}
          and coalesce(${observations.spanId}, ${rootSpanId}) in (select item.value from ${given})`,
      ),
    lastDecisions(store, isAmong(located)),
  ] as const
}

/** Whether a span is one of those that `located` gives. */
export const isAmong = (located: SQL): SQL =>
  sql`(${spans.id}, ${spans.traceKey}) in (select located.span_id, located.trace_key from ${located} as located)`

/**
 * The live traces of spans. The ids of roots and of telemetry's spans can be computed, and so taken by another trace's span
 * before they are there: those are meant.
 */
export const locatedSpans = (store: Store, ids: readonly string[]): SQL => sql`(
  select item.value as span_id, (
    select ${traces.key} from ${spans} own cross join ${traces}
    where own.id = item.value and ${traces.key} = own.trace_key and ${isLive(store)}
    order by own.is_root desc, own.export_revision is not null desc limit 1) as trace_key
  from json_each(${JSON.stringify(ids)}) as item)`
