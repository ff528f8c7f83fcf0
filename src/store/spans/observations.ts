import { eq, ne, type SQL, sql } from 'drizzle-orm'
import type { ObservationType } from '../../domain/fold.ts'
import { sharedTextHash } from '../../domain/shared-text.ts'
import { chunkRows } from '../core/chunks.ts'
import { named, Template } from '../core/database.ts'
import { rowSet, selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { observations, spans } from '../schema/spans.ts'
import { isOpenForReview, traces } from '../schema/traces.ts'
import { BOUND_LATER, hasIdIn, isLive } from '../traces/live.ts'
import type { NewValue, PlacedValue, Placement } from '../traces/payloads.ts'
import { ensureRoots, showInLists, updateNeedsReview } from '../traces/roots.ts'
import { belongsToOtherTrace } from '../traces/span-ids.ts'
import { markStale } from './staleness.ts'

/** An observation to store. */
export interface ObservationDraft {
  id: string
  traceUuid: string
  /** Null for the root span. */
  spanId: string | null
  type: ObservationType
  stateKey: string | null
  data: NewValue
  timestamp: number
  receivedAt: number
}

export type ObservationOutcome = 'stored' | 'trace_missing' | 'span_on_other_trace'

/**
 * Stores each observation whose trace exists. If an id is repeated, the first observation is kept. Small observations
 * take one round trip and one row each, or two rows for a span's first output. Takes one more round trip if
 * observations that name a span are refused. `span_on_other_trace`: the observation's span belongs to another live
 * trace of the organization. If several drafts have the same id, the first one that isn't refused is stored.
 */
export async function addObservations(
  store: Store,
  drafts: readonly ObservationDraft[],
  placement: Placement,
): Promise<ObservationOutcome[]> {
  const { database } = store
  const placed = drafts.flatMap(draft => {
    const data = placement.get(draft.data)
    return data ? [{ draft, data }] : []
  })
  const sameId = Map.groupBy(placed, ({ draft }) => keyOf(draft))
  const firsts = [...sameId.values()].flatMap(same => same.slice(0, 1))
  const stored = new Set<string>()
  for (const { items, json } of chunkRows(firsts, rowOf)) {
    const outputs = items.filter(({ draft }) => draft.type === 'output')
    const values = {
      organizationKey: store.organization.key,
      rows: json,
      outputs: OUTPUTS.encodeAll(outputs.map(({ draft: { traceUuid, id } }) => ({ traceUuid, id }))),
    }
    const isNullAmong = outputs.some(({ data }) => data.text === 'null')
    const [inserted] = await database.$client.batch([
      insertion.with(database, values),
      ...(outputs.length > 0 ? [flagOutputs.with(database, values)] : []),
      ...(isNullAmong ? [flagNullOutputs.with(database, values)] : []),
    ])
    const rows = insertion.rowsOf(inserted).map(({ trace, ...row }) => ({ ...row, ...parseTrace(trace) }))
    for (const row of rows) stored.add(keyOf(row))
    const jsonOf = new Map(outputs.map(({ draft }) => [keyOf(draft), draft.data.json]))
    const inReviewed = rows.flatMap(row => {
      const json = row.isReviewed ? jsonOf.get(keyOf(row)) : undefined
      return json === undefined ? [] : [{ traceUuid: row.traceUuid, spanId: row.spanId, revision: row.id, json }]
    })
    await markStale(store, inReviewed, drafts[0]?.receivedAt ?? 0)
    await settleTraces(store, rows, isNullAmong ? outputs.map(({ draft }) => draft.traceUuid) : [])
  }
  // A draft may be storable even though an earlier draft with the same id was refused.
  const refused = placed.filter(({ draft }) => !stored.has(keyOf(draft)))
  const namesSpans = refused.some(({ draft }) => draft.spanId !== null)
  const { onOtherTrace, again } = namesSpans ? await findReasons(store, refused) : NONE_REFUSED
  const outcomes = again.length === 0 ? [] : await addObservations(store, again, placement)
  const retried = new Map(again.map((draft, index) => [draft, outcomes[index]]))
  return drafts.map(draft => {
    const key = keyOf(draft)
    if (retried.get(draft) === 'stored') stored.add(key)
    if (stored.has(key)) return 'stored'
    return onOtherTrace.has(draft) ? 'span_on_other_trace' : (retried.get(draft) ?? 'trace_missing')
  })
}

/** The key of an observation across traces. */
const keyOf = ({ traceUuid, id }: { traceUuid: string; id: string }): string => traceUuid + id

const NONE_REFUSED = { onOtherTrace: new Set<ObservationDraft>(), again: [] }

/** Finds the refused observations that name another trace's span and those that nothing blocks anymore. */
async function findReasons(store: Store, refused: readonly PlacedDraft[]) {
  const onOtherTrace = new Set<ObservationDraft>()
  const again: ObservationDraft[] = []
  for (const { items, json } of chunkRows(refused, rowOf)) {
    const found = await store.database.all<{ place: number; isOnOther: number }>(sql`
      select item.key as place, ${belongsToOtherTrace(store, row.spanId)} as isOnOther
      from ${OBSERVATIONS.from(json)} cross join ${traces}
      where ${isLive(store, sql`${traces.id} = ${row.traceUuid}`)} and ${isPlaced}`)
    for (const { place, isOnOther } of found) {
      const draft = items[place]?.draft
      if (draft && isOnOther === 1) onOtherTrace.add(draft)
      else if (draft) again.push(draft)
    }
  }
  return { onOtherTrace, again }
}

interface PlacedDraft {
  draft: ObservationDraft
  data: PlacedValue
}

const OBSERVATIONS = rowSet([
  'traceUuid',
  'placedUnder',
  'id',
  'spanId',
  'type',
  'stateKey',
  'data',
  'dataRef',
  'timestamp',
  'receivedAt',
  'textHash',
])
const { row } = OBSERVATIONS

const rowOf = ({ draft, data }: PlacedDraft) =>
  OBSERVATIONS.encode({
    ...draft,
    placedUnder: data.traceKey,
    data: data.text,
    dataRef: data.ref,
    textHash: draft.type === 'output' ? sharedTextHash(draft.data.json) : null,
  })

/** Whether a row's value, if it's in R2, is in the current trace's folder. */
const isPlaced = sql`coalesce(${row.placedUnder}, ${traces.key}) = ${traces.key}`

/** Inserts the `rows` of `OBSERVATIONS` whose traces exist. Returns the rows that are stored afterward. */
const insertion = new Template(database =>
  database
    .insert(observations)
    .select(
      selectFor(
        observations,
        { ...row, traceKey: traces.key },
        sql`from ${OBSERVATIONS.from(sql.placeholder('rows'))} cross join ${traces}
          where ${isLive(BOUND_LATER, sql`${traces.id} = ${row.traceUuid}`)} and ${isPlaced}
            and (not ${belongsToOtherTrace(BOUND_LATER, row.spanId)} or exists (select 1 from ${observations} stored
              where stored.trace_key = ${traces.key} and stored.id = ${row.id}))`,
      ),
    )
    // Changes nothing, but makes the statement return the row. This distinguishes a repeated observation from a missing
    // trace.
    .onConflictDoUpdate({ target: [observations.traceKey, observations.id], set: { id: sql`excluded.id` } })
    .returning({
      ...named({ id: observations.id, spanId: observations.spanId, type: observations.type }),
      // Reads the trace's fields in one lookup.
      trace: sql<string>`(
        select json_object('traceUuid', ${traces.id}, 'isPosted', ${traces.isPosted}, 'isGeneric', ${traces.isGeneric},
          'isOpen', ${isOpenForReview}, 'isReviewed', observations.type = 'output' and exists (
            select 1 from ${spans} reviewed
            where reviewed.trace_key = traces.key and reviewed.review_state is not null))
        from ${traces} where ${traces.key} = ${observations.traceKey})`.as('trace'),
    }),
)

const OUTPUTS = rowSet(['traceUuid', 'id'])

/**
 * Each span's last output of the given `kind` among `outputs` (rows of `OUTPUTS`). If an id is repeated, only the
 * stored data matters, which may be of a different kind.
 */
const lastOutputs = (kind: SQL) => sql`(
  select trace_key, span_id, timestamp, received_at, id, text_hash from (
    select ${traces.key} as trace_key, coalesce(${observations.spanId}, ${traces.rootSpanId}) as span_id,
      ${observations.timestamp} as timestamp, ${observations.receivedAt} as received_at, ${observations.id} as id,
      ${observations.textHash} as text_hash, row_number() over (
        partition by ${traces.key}, coalesce(${observations.spanId}, ${traces.rootSpanId})
        order by ${observations.timestamp} desc, ${observations.receivedAt} desc, ${observations.id} desc) as place
    from ${OUTPUTS.from(sql.placeholder('outputs'))} cross join ${traces} cross join ${observations}
    where ${isLive(BOUND_LATER, sql`${traces.id} = ${OUTPUTS.row.traceUuid}`)}
      and ${observations.traceKey} = ${traces.key} and ${observations.id} = ${OUTPUTS.row.id}
      and ${observations.type} = 'output' and ${kind})
  where place = 1) as last`

const isOfLast = sql`${spans.id} = last.span_id and ${spans.traceKey} = last.trace_key`

/**
 * Whether an output comes after those that the span already has. A span's own output comes before all observed outputs.
 */
const isLater = sql`(${spans.hasOutput} = 0 or ${spans.textId} is null
  or (last.timestamp, last.received_at, last.id) > (
    select known.timestamp, known.received_at, known.id from ${observations} known
    where known.trace_key = ${spans.traceKey} and known.id = ${spans.textId}))`

/** A span with an output needs review. */
const flagOutputs = new Template(database =>
  database
    .update(spans)
    .set({ hasOutput: true, textHash: sql`last.text_hash`, textId: sql`last.id` })
    .from(lastOutputs(ne(observations.data, 'null')))
    .where(sql`${isOfLast} and ${isLater}`),
)

const flagNullOutputs = new Template(database =>
  database
    .update(spans)
    .set({ hasNullOutput: true })
    .from(lastOutputs(eq(observations.data, 'null')))
    .where(sql`${isOfLast} and ${spans.hasNullOutput} = 0`),
)

/** A stored observation and its trace's flags. */
interface StoredObservation {
  id: string
  spanId: string | null
  type: ObservationType
  traceUuid: string
  isPosted: boolean
  isGeneric: boolean
  /** Whether the queue searches the trace for spans. */
  isOpen: boolean
  /** Whether this is an output in a trace with reviewed spans. */
  isReviewed: boolean
}

function parseTrace(trace: string): Omit<StoredObservation, 'id' | 'spanId' | 'type'> {
  const { traceUuid, isPosted, isGeneric, isOpen, isReviewed } = JSON.parse(trace)
  return {
    traceUuid,
    isPosted: isPosted === 1,
    isGeneric: isGeneric === 1,
    isOpen: isOpen === 1,
    isReviewed: isReviewed === 1,
  }
}

/**
 * Follow-up writes for unusual traces. They're rare, so each is a separate round trip. `withNull`: traces that received
 * a null output.
 */
async function settleTraces(
  store: Store,
  rows: readonly StoredObservation[],
  withNull: readonly string[],
): Promise<void> {
  const idsOf = (some: readonly StoredObservation[]) => [...new Set(some.map(({ traceUuid }) => traceUuid))]
  const rootless = idsOf(rows.filter(({ isPosted, spanId }) => !isPosted && spanId === null))
  if (rootless.length > 0) await ensureRoots(store, rootless)
  const generic = idsOf(rows.filter(({ isGeneric }) => isGeneric))
  if (generic.length > 0) await showInLists(store, isLive(store, hasIdIn(generic)))
  const needsUpdate = ({ type, isGeneric, isOpen }: StoredObservation) => !isOpen && (type === 'output' || isGeneric)
  const toUpdate = [...idsOf(rows.filter(needsUpdate)), ...withNull]
  if (toUpdate.length > 0) await updateNeedsReview(store, isLive(store, hasIdIn(toUpdate)))
}
