import { type SQL, sql } from 'drizzle-orm'
import type { SelectResultFields } from 'drizzle-orm/query-builders/select.types'
import { MAX_PAGE_VALUE_BYTES } from '../../limits.ts'
import { named } from '../core/database.ts'
import type { Store } from '../core/store.ts'
import { observations, spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { isLive } from '../traces/live.ts'
import type { SpanRows } from './fold-spans.ts'
import {
  boundedSpanFields,
  chosenObservations,
  type DecisionRow,
  lastDecisions,
  type ObservationRow,
  type SpanRow,
} from './span-fields.ts'

/* The rows of spans that are looked up by id alone. */

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

/** Like `isLocated`, for the alias `root` in `sharingSpans`. */
export const isLocatedRoot = (located: SQL): SQL =>
  sql`(root.id, root.trace_key) in (select located.span_id, located.trace_key from ${located} as located)`

/**
 * The live traces of spans. Ids of roots and of telemetry spans can be computed, so a span in another trace may have
 * taken such an id before the root or telemetry span existed. The root or telemetry span wins.
 */
export const locatedSpans = (store: Store, ids: readonly string[]): SQL => sql`(
  select item.value as span_id, (
    select ${traces.key} from ${spans} own cross join ${traces}
    where own.id = item.value and ${traces.key} = own.trace_key and ${isLive(store)}
    order by own.is_root desc, own.export_revision is not null desc limit 1) as trace_key
  from json_each(${JSON.stringify(ids)}) as item)`
