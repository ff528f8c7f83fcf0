import { and, eq, ne, sql } from 'drizzle-orm'
import type { ObservationType } from '../domain/fold.ts'
import { chunksOf } from './chunks.ts'
import { named, Template } from './database.ts'
import type { NewValue, PlacedValue, Placement } from './payloads.ts'
import { observations, spans, traces } from './schema.ts'
import type { Store } from './store.ts'
import { BOUND_LATER, isLive } from './traces.ts'

/** An observation to be stored. */
export interface ObservationDraft {
  id: string
  traceUuid: string
  /** Null: the root span. */
  spanId: string | null
  type: ObservationType
  stateKey: string | null
  data: NewValue
  timestamp: number
  receivedAt: number
}

/**
 * Stores observations, each under its trace or not at all; sent again with the same id, the first one stays. Returns for
 * each whether its trace is there. Small ones are one round trip and one row each, two rows for a span's first output.
 */
export async function addObservations(
  store: Store,
  drafts: readonly ObservationDraft[],
  placement: Placement,
): Promise<boolean[]> {
  const { database } = store
  const placed = drafts.flatMap(draft => {
    const data = placement.get(draft.data)
    return data ? [{ draft, data }] : []
  })
  const stored = new Set<string>()
  for (const { items, json } of chunksOf(placed, rowOf)) {
    const outputs = items.map(({ draft }) => draft).filter(({ type }) => type === 'output')
    const ids = outputs.map(({ traceUuid, id }) => [traceUuid, id])
    const organizationKey = store.organization.key
    const [inserted] = await database.$client.batch([
      insertion.with(database, { organizationKey, rows: json }),
      ...(ids.length > 0 ? [marking.with(database, { organizationKey, ids: JSON.stringify(ids) })] : []),
    ])
    for (const { traceUuid, id } of insertion.rowsOf(inserted)) stored.add(traceUuid + id)
  }
  return drafts.map(({ traceUuid, id }) => stored.has(traceUuid + id))
}

const rowOf = ({ draft, data }: { draft: ObservationDraft; data: PlacedValue }) => [
  draft.traceUuid,
  data.traceKey,
  draft.id,
  draft.spanId,
  draft.type,
  draft.stateKey,
  data.text,
  data.ref,
  draft.timestamp,
  draft.receivedAt,
]

/** Inserts `rows`, each as `rowOf` makes it, guarded by their traces, and returns those that are there after. */
const insertion = new Template(database =>
  database
    .insert(observations)
    .select(
      sql`select ${traces.key}, item.value ->> 2, item.value ->> 3, item.value ->> 4, item.value ->> 5, item.value ->> 6,
          item.value ->> 7, item.value ->> 8, item.value ->> 9
        from json_each(${sql.placeholder('rows')}) as item cross join ${traces}
        where ${isLive(BOUND_LATER, sql`${traces.id} = item.value ->> 0`)}
          and coalesce(item.value ->> 1, ${traces.key}) = ${traces.key}`,
    )
    // Writes nothing new, but returns the row, which tells a repeated observation from a missing trace.
    .onConflictDoUpdate({ target: [observations.traceKey, observations.id], set: { id: sql`excluded.id` } })
    .returning({
      ...named({ id: observations.id }),
      traceUuid: sql<string>`(select ${traces.id} from ${traces} where ${traces.key} = ${observations.traceKey})`.as(
        'traceUuid',
      ),
    }),
)

/** An observation whose span has an output now, unless that is null: null is no output. */
const isOutput = and(eq(observations.type, 'output'), ne(observations.data, 'null'))

/**
 * Marks the spans of observations, `ids` of trace and observation: a span with an output is one to review. Of a repeated id
 * the first body counts, which may be no output.
 */
const marking = new Template(database =>
  database
    .update(spans)
    .set({ hasOutput: true })
    .where(
      sql`(${spans.id}, ${spans.traceKey}) in (
        select coalesce(${observations.spanId}, ${traces.rootSpanId}), ${traces.key}
        from json_each(${sql.placeholder('ids')}) as item cross join ${traces} cross join ${observations}
        where ${isLive(BOUND_LATER, sql`${traces.id} = item.value ->> 0`)}
          and ${observations.traceKey} = ${traces.key} and ${observations.id} = item.value ->> 1 and ${isOutput})
        and ${spans.hasOutput} = 0`,
    ),
)
