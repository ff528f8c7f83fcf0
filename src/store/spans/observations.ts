import { eq, ne, type SQL, sql } from 'drizzle-orm'
import type { ObservationType } from '../../domain/fold.ts'
import { chunkRows } from '../core/chunks.ts'
import { named, Template } from '../core/database.ts'
import { rowSet, selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { observations, spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { BOUND_LATER, hasIdIn, isLive } from '../traces/live.ts'
import type { NewValue, PlacedValue, Placement } from '../traces/payloads.ts'
import { ensureRoots, judgeAgain, showInLists } from '../traces/roots.ts'
import { isNamedOfOther } from '../traces/span-ids.ts'
import { markStale } from './staleness.ts'

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

export type ObservationOutcome = 'stored' | 'trace_missing' | 'span_on_other_trace'

/**
 * Stores observations, each under its trace or not at all; sent again with the same id, the first one stays. Small ones are
 * one round trip and one row each, two rows for a span's first output; one more round trip where some that name a span are
 * refused. `span_on_other_trace`: it names a span of another live trace of the organization. Of several with one id, the
 * first that is not refused is stored.
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
      ...(outputs.length > 0 ? [marking.with(database, values)] : []),
      ...(isNullAmong ? [markingNull.with(database, values)] : []),
    ])
    const rows = insertion.rowsOf(inserted).map(({ trace, ...row }) => ({ ...row, ...parseTrace(trace) }))
    for (const row of rows) stored.add(keyOf(row))
    const jsonOf = new Map(outputs.map(({ draft }) => [keyOf(draft), draft.data.json]))
    const onReviewed = rows.flatMap(row => {
      const json = row.isOnReviewed ? jsonOf.get(keyOf(row)) : undefined
      return json === undefined ? [] : [{ traceUuid: row.traceUuid, spanId: row.spanId, revision: row.id, json }]
    })
    await markStale(store, onReviewed)
    await settleTraces(store, rows, isNullAmong ? outputs.map(({ draft }) => draft.traceUuid) : [])
  }
  // What repeats the id of a refused one may be the first that is stored.
  const refused = placed.filter(({ draft }) => !stored.has(keyOf(draft)))
  const isNaming = refused.some(({ draft }) => draft.spanId !== null)
  const { ofOther, again } = isNaming ? await reasonsOf(store, refused) : NOTHING_REFUSED
  const outcomes = again.length === 0 ? [] : await addObservations(store, again, placement)
  const retried = new Map(again.map((draft, index) => [draft, outcomes[index]]))
  return drafts.map(draft => {
    const key = keyOf(draft)
    if (retried.get(draft) === 'stored') stored.add(key)
    if (stored.has(key)) return 'stored'
    return ofOther.has(draft) ? 'span_on_other_trace' : (retried.get(draft) ?? 'trace_missing')
  })
}

/** What an observation is known by. */
const keyOf = ({ traceUuid, id }: { traceUuid: string; id: string }): string => traceUuid + id

const NOTHING_REFUSED = { ofOther: new Set<ObservationDraft>(), again: [] }

/** Of refused observations those that name a span of another trace, and those in whose way nothing stands any more. */
async function reasonsOf(store: Store, refused: readonly PlacedDraft[]) {
  const ofOther = new Set<ObservationDraft>()
  const again: ObservationDraft[] = []
  for (const { items, json } of chunkRows(refused, rowOf)) {
    const found = await store.database.all<{ place: number; isOfOther: number }>(sql`
      select item.key as place, ${isNamedOfOther(store, row.spanId)} as isOfOther
      from ${OBSERVATIONS.from(json)} cross join ${traces}
      where ${isLive(store, sql`${traces.id} = ${row.traceUuid}`)} and ${isPlaced}`)
    for (const { place, isOfOther } of found) {
      const draft = items[place]?.draft
      if (draft && isOfOther === 1) ofOther.add(draft)
      else if (draft) again.push(draft)
    }
  }
  return { ofOther, again }
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
])
const { row } = OBSERVATIONS

const rowOf = ({ draft, data }: PlacedDraft) =>
  OBSERVATIONS.encode({ ...draft, placedUnder: data.traceKey, data: data.text, dataRef: data.ref })

/** Whether a row's value, if it lies in R2, lies under the trace at hand. */
const isPlaced = sql`coalesce(${row.placedUnder}, ${traces.key}) = ${traces.key}`

/** Inserts `rows` of `OBSERVATIONS`, guarded by their traces, and returns those that are there after. */
const insertion = new Template(database =>
  database
    .insert(observations)
    .select(
      selectFor(
        observations,
        { ...row, traceKey: traces.key },
        sql`from ${OBSERVATIONS.from(sql.placeholder('rows'))} cross join ${traces}
          where ${isLive(BOUND_LATER, sql`${traces.id} = ${row.traceUuid}`)} and ${isPlaced}
            and (not ${isNamedOfOther(BOUND_LATER, row.spanId)} or exists (select 1 from ${observations} stored
              where stored.trace_key = ${traces.key} and stored.id = ${row.id}))`,
      ),
    )
    // Writes nothing new, but returns the row, which tells a repeated observation from a missing trace.
    .onConflictDoUpdate({ target: [observations.traceKey, observations.id], set: { id: sql`excluded.id` } })
    .returning({
      ...named({ id: observations.id, spanId: observations.spanId, type: observations.type }),
      // Of its trace, in one look-up.
      trace: sql<string>`(
        select json_object('traceUuid', ${traces.id}, 'isPosted', ${traces.isPosted}, 'isGeneric', ${traces.isGeneric},
          'needsReview', ${traces.needsReview}, 'isOnReviewed', observations.type = 'output' and exists (
            select 1 from ${spans} reviewed
            where reviewed.id = coalesce(observations.span_id, traces.root_span_id)
              and reviewed.trace_key = traces.key and reviewed.review_state is not null))
        from ${traces} where ${traces.key} = ${observations.traceKey})`.as('trace'),
    }),
)

const OUTPUTS = rowSet(['traceUuid', 'id'])

/**
 * Marks the spans of observations, `outputs` of `OUTPUTS`, that are outputs of one kind. Of a repeated id the first body
 * counts, which may be of another.
 */
const markingOf = (flag: 'hasOutput' | 'hasNullOutput', kind: SQL) =>
  new Template(database =>
    database
      .update(spans)
      .set({ [flag]: true })
      .where(
        sql`(${spans.id}, ${spans.traceKey}) in (
          select coalesce(${observations.spanId}, ${traces.rootSpanId}), ${traces.key}
          from ${OUTPUTS.from(sql.placeholder('outputs'))} cross join ${traces} cross join ${observations}
          where ${isLive(BOUND_LATER, sql`${traces.id} = ${OUTPUTS.row.traceUuid}`)}
            and ${observations.traceKey} = ${traces.key} and ${observations.id} = ${OUTPUTS.row.id}
            and ${observations.type} = 'output' and ${kind})
          and ${spans[flag]} = 0`,
      ),
  )

/** A span with an output is one to review; null is no output. */
const marking = markingOf('hasOutput', ne(observations.data, 'null'))
const markingNull = markingOf('hasNullOutput', eq(observations.data, 'null'))

/** An observation that is stored, and how its trace stands. */
interface StoredObservation {
  id: string
  spanId: string | null
  type: ObservationType
  traceUuid: string
  isPosted: boolean
  isGeneric: boolean
  needsReview: boolean
  /** Whether it is an output of a span with a review. */
  isOnReviewed: boolean
}

function parseTrace(trace: string): Omit<StoredObservation, 'id' | 'spanId' | 'type'> {
  const { traceUuid, isPosted, isGeneric, needsReview, isOnReviewed } = JSON.parse(trace)
  return {
    traceUuid,
    isPosted: isPosted === 1,
    isGeneric: isGeneric === 1,
    needsReview: needsReview === 1,
    isOnReviewed: isOnReviewed === 1,
  }
}

/** What must follow where a trace is not as most are. Rare, so each is a round trip of its own. `withNull`: traces that null came to as an output. */
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
  const isToJudge = ({ type, isGeneric, needsReview }: StoredObservation) =>
    !needsReview && (type === 'output' || isGeneric)
  const toJudge = [...idsOf(rows.filter(isToJudge)), ...withNull]
  if (toJudge.length > 0) await judgeAgain(store, isLive(store, hasIdIn(toJudge)))
}
