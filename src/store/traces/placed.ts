import { and, eq, isNull, type SQL, sql } from 'drizzle-orm'
import { begunEpochs, type Epoch, parseEpochs, shardOf, shardsOfTrace } from '../../domain/shards.ts'
import type { PlacedProject } from '../accounts/projects.ts'
import { readSome } from '../core/across.ts'
import { named, readPlain } from '../core/database.ts'
import { CLOCK, EpochBegins } from '../core/epochs.ts'
import { isOneOf } from '../core/rows.ts'
import { epochsIn, type Store } from '../core/store.ts'
import { feedback } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'

/*
 * Finds the database of a trace and of what belongs to it. With one database, nothing is read. If nothing is found, the
 * caller gets a store without it, and its own query finds nothing either.
 */

/** The store of the trace with this read id. */
export const storeOfTrace = async (store: Store, id: string): Promise<Store> =>
  (await storesOfTraces(store, [id])).get(id) ?? store

/** The stores of the traces with these read ids. */
const storesOfTraces = (store: Store, ids: readonly string[]): Promise<Map<string, Store>> =>
  storesIn(store, ids, epochsIn(store.organization))

/**
 * The store of a project's trace, which may not exist yet: the one that has it, or else the one that the current epoch
 * gives it. With a single epoch, nothing is read.
 */
export const storeInProject = async (store: Store, project: PlacedProject, id: string): Promise<Store> =>
  (await storesIn(store, [id], [parseEpochs(project.epochs)])).get(id) ?? store

/** Groups what belongs to a project's traces by the stores of those traces, which may not exist yet. */
export async function groupByStore<Item>(
  store: Store,
  project: PlacedProject,
  items: readonly Item[],
  traceIdOf: (item: Item) => string | Promise<string>,
): Promise<Map<Store, Item[]>> {
  if (project.epochs === null) return new Map([[store, [...items]]])
  const placed = await Promise.all(items.map(async item => ({ item, id: await traceIdOf(item) })))
  const places = await storesIn(store, [...new Set(placed.map(({ id }) => id))], [parseEpochs(project.epochs)])
  const groups = Map.groupBy(placed, ({ id }) => places.get(id) ?? store)
  return new Map([...groups].map(([shard, group]) => [shard, group.map(({ item }) => item)]))
}

/** The store that has each trace, or else the first one that may get it. Only asks if several may have it. */
async function storesIn(
  store: Store,
  ids: readonly string[],
  epochs: readonly (readonly Epoch[])[],
): Promise<Map<string, Store>> {
  const now = Date.now()
  const shards = new Map(ids.map(id => [id, [...new Set(epochs.flatMap(each => shardsOfTrace(id, each, now)))]]))
  const unknown = ids.filter(id => (shards.get(id)?.length ?? 0) > 1)
  const asked = new Set(unknown.flatMap(id => shards.get(id) ?? []))
  const { found, failures } = await readSome([...asked].map(store.in), each => findPlaces(each, unknown))
  const places = new Map(found.flatMap(each => each.places))
  const [epoch] = begunEpochs(epochs[0] ?? [], now)
  for (const id of ids) {
    if (places.has(id)) continue
    const candidates = shards.get(id) ?? []
    // The trace may be in a database that didn't respond.
    const failure = candidates.length > 1 && failures.find(({ shard }) => candidates.includes(shard))
    if (failure) throw failure.error
    // By its own clock, a database may still create the trace in the epoch before.
    if (candidates.length > 1 && epoch && found.some(({ clock }) => clock < epoch.from)) throw new EpochBegins()
    places.set(id, store.in(epoch ? shardOf(id, epoch) : 0))
  }
  return places
}

/** The traces that a database has, and its clock when it was asked. */
async function findPlaces(store: Store, ids: readonly string[]) {
  const { database, organization } = store
  const [rows, [time]] = await readPlain(database, [
    database
      .select(named({ id: traces.id }))
      .from(traces)
      .where(and(isOneOf(traces.id, ids), isLiveTraceOf(organization.key))),
    database.select({ clock: CLOCK.as('clock') }).from(sql`(select 1)`),
  ])
  return { places: rows.map(({ id }) => [id, store] as const), clock: time?.clock ?? 0 }
}

/** Groups the read ids of traces by the stores of those traces. */
export async function groupByTrace(store: Store, ids: readonly string[]): Promise<Map<Store, string[]>> {
  const places = await storesOfTraces(store, ids)
  return Map.groupBy(ids, id => places.get(id) ?? store)
}

/** The store of the span with this id. */
export const storeOfSpan = async (store: Store, id: string): Promise<Store> =>
  (await storesOfSpans(store, [id])).get(id) ?? store.shards[0] ?? store

/** The stores of spans. If several have a span with an id, the one that received it last. */
const storesOfSpans = (store: Store, ids: readonly string[]): Promise<Map<string, Store>> =>
  newestStores(store, ids, async ({ database, organization }) =>
    database
      .select({ id: spans.id, at: sql<number>`coalesce(${spans.receivedAt}, 0)` })
      .from(spans)
      .innerJoin(traces, eq(traces.key, spans.traceKey))
      .where(and(isOneOf(spans.id, ids), isLiveTraceOf(organization.key))),
  )

/** Groups what belongs to spans by the stores of those spans, in order. Spans that don't exist are in any group. */
export async function groupBySpan<Item>(
  store: Store,
  items: readonly Item[],
  spanIdOf: (item: Item) => string,
): Promise<Map<Store, Item[]>> {
  const places = await storesOfSpans(store, [...new Set(items.map(spanIdOf))])
  const [first = store] = store.shards
  return Map.groupBy(items, item => places.get(spanIdOf(item)) ?? first)
}

/** The store of the feedback with this read id. If several have it, the one that received it last. */
export const storeOfFeedback = async (store: Store, id: string): Promise<Store> =>
  (
    await newestStores(store, [id], ({ database, organization }) =>
      database
        .select({ id: feedback.id, at: feedback.receivedAt })
        .from(feedback)
        .innerJoin(traces, eq(traces.key, feedback.traceKey))
        .where(and(eq(feedback.id, id), isLiveTraceOf(organization.key))),
    )
  ).get(id) ??
  store.shards[0] ??
  store

const isLiveTraceOf = (organizationKey: number): SQL | undefined =>
  and(eq(traces.organizationKey, organizationKey), isNull(traces.deletedAt))

async function newestStores(
  store: Store,
  ids: readonly string[],
  find: (shard: Store) => Promise<{ id: string; at: number }[]>,
): Promise<Map<string, Store>> {
  const { shards } = store
  const [only] = shards
  if (only && shards.length === 1) return new Map(ids.map(id => [id, only]))
  const { found, failures } = await readSome(shards, async shard => (await find(shard)).map(row => ({ ...row, shard })))
  const oldestFirst = found.flat().toSorted((one, other) => one.at - other.at)
  const places = new Map(oldestFirst.map(({ id, shard }) => [id, shard]))
  // What wasn't found may be in a database that didn't respond.
  if (failures[0] && ids.some(id => !places.has(id))) throw failures[0].error
  return places
}
