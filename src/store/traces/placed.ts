import { and, eq, isNull, type SQL, sql } from 'drizzle-orm'
import { begunEpochs, type Epoch, parseEpochs, shardOf, shardsOfTrace } from '../../domain/shards.ts'
import type { PlacedProject } from '../accounts/projects.ts'
import { type Grouped, readSome } from '../core/across.ts'
import { named, readPlain } from '../core/database.ts'
import { CLOCK, EpochBegins } from '../core/epochs.ts'
import { isOneOf } from '../core/rows.ts'
import { epochsIn, type Store } from '../core/store.ts'
import { feedback } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'

/*
 * Finds the databases of traces and of items that belong to traces. If there's only one database, reads nothing. If an
 * item isn't found, returns some store, in which the caller's own query doesn't find it either. If a database doesn't
 * respond, only the items that may be in that database have no store.
 */

/** The store of the trace with this read id. */
export const storeOfTrace = async (store: Store, id: string): Promise<Store> =>
  onlyStore(await placesIn(store, [id], epochsIn(store.organization)), id)

/**
 * The store of a project's trace, which may not exist yet. It's the store that has the trace or, if none has it, the
 * one that the current epoch assigns to it. If the project has no epochs, reads nothing.
 */
export async function storeInProject(store: Store, project: PlacedProject, id: string): Promise<Store> {
  if (project.epochs === null) return store
  return onlyStore(await placesIn(store, [id], [parseEpochs(project.epochs)]), id)
}

/** The stores of items, and the reason why some items have none, such as a database that didn't respond. */
interface Places {
  stores: ReadonlyMap<string, Store>
  failure: unknown
}

function onlyStore({ stores, failure }: Places, id: string): Store {
  const found = stores.get(id)
  if (!found) throw failure
  return found
}

function grouped<Item>(
  items: readonly Item[],
  idOf: (item: Item) => string,
  { stores, failure }: Places,
): Grouped<Item> {
  const groups = new Map<Store, Item[]>()
  const unplaced: Item[] = []
  for (const item of items) {
    const store = stores.get(idOf(item))
    const group = store ? (groups.get(store) ?? []) : unplaced
    if (store) groups.set(store, group)
    group.push(item)
  }
  return { groups, unplaced, failure }
}

/** Groups items that belong to a project's traces by the stores of those traces, which may not exist yet. */
export async function groupByStore<Item>(
  store: Store,
  project: PlacedProject,
  items: readonly Item[],
  traceIdOf: (item: Item) => string | Promise<string>,
): Promise<Grouped<Item>> {
  if (project.epochs === null) return { groups: new Map([[store, [...items]]]), unplaced: [], failure: null }
  const ids = new Map(await Promise.all(items.map(async item => [item, await traceIdOf(item)] as const)))
  const places = await placesIn(store, [...new Set(ids.values())], [parseEpochs(project.epochs)])
  return grouped(items, item => ids.get(item) ?? '', places)
}

/**
 * For each trace, the store that has it or, if none has it, the one that may create it. Reads nothing for a trace that
 * only one store may have.
 */
async function placesIn(store: Store, ids: readonly string[], epochs: readonly (readonly Epoch[])[]): Promise<Places> {
  const now = Date.now()
  const shards = new Map(ids.map(id => [id, [...new Set(epochs.flatMap(each => shardsOfTrace(id, each, now)))]]))
  const unknown = ids.filter(id => (shards.get(id)?.length ?? 0) > 1)
  const asked = new Set(unknown.flatMap(id => shards.get(id) ?? []))
  const { stores, clocks, failures } = await findTraces([...asked].map(store.in), unknown)
  const [epoch] = begunEpochs(epochs[0] ?? [], now)
  // A database whose clock is behind may still create a trace in the previous epoch.
  const isBeginning = epoch !== undefined && clocks.some(clock => clock < epoch.from)
  for (const id of ids) {
    const candidates = shards.get(id) ?? []
    const isOfSeveral = candidates.length > 1
    const mayBeMissed = isOfSeveral && (isBeginning || failures.some(({ shard }) => candidates.includes(shard)))
    if (!stores.has(id) && !mayBeMissed) stores.set(id, store.in(epoch ? shardOf(id, epoch) : 0))
  }
  return { stores, failure: failures[0]?.error ?? new EpochBegins() }
}

/**
 * Looks for traces in these databases, and reads the databases' clocks. Once all traces are found, doesn't wait for the
 * remaining databases.
 */
async function findTraces(databases: readonly Store[], ids: readonly string[]) {
  const stores = new Map<string, Store>()
  const clocks: number[] = []
  const all = Promise.withResolvers<{ failures: [] }>()
  const reading = readSome(databases, async store => {
    const { found, clock } = await findIn(store, ids)
    clocks.push(clock)
    for (const id of found) stores.set(id, store)
    if (stores.size === ids.length) all.resolve({ failures: [] })
  })
  return { stores, clocks, ...(await Promise.race([reading, all.promise])) }
}

/** The traces that a database has, and its clock when it was asked. */
async function findIn({ database, organization }: Store, ids: readonly string[]) {
  const [rows, [time]] = await readPlain(database, [
    database
      .select(named({ id: traces.id }))
      .from(traces)
      .where(and(isOneOf(traces.id, ids), isLiveTraceOf(organization.key))),
    database.select({ clock: CLOCK.as('clock') }).from(sql`(select 1)`),
  ])
  return { found: rows.map(({ id }) => id), clock: time?.clock ?? 0 }
}

/** Groups the read ids of traces by the stores of those traces. */
export const groupByTrace = async (store: Store, ids: readonly string[]): Promise<Grouped<string>> =>
  grouped(ids, id => id, await placesIn(store, ids, epochsIn(store.organization)))

/** The store of the span with this id. */
export const storeOfSpan = async (store: Store, id: string): Promise<Store> =>
  onlyStore(await placesOfSpans(store, [id]), id)

/** The stores of spans. If several stores have a span with the same id, chooses the store that received it last. */
const placesOfSpans = (store: Store, ids: readonly string[]): Promise<Places> =>
  newestPlaces(store, ids, async ({ database, organization }) =>
    database
      .select({ id: spans.id, at: sql<number>`coalesce(${spans.receivedAt}, 0)` })
      .from(spans)
      .innerJoin(traces, eq(traces.key, spans.traceKey))
      .where(and(isOneOf(spans.id, ids), isLiveTraceOf(organization.key))),
  )

/**
 * Groups items that belong to spans by the stores of those spans, and keeps their order. Items of a span that doesn't
 * exist can be in any group.
 */
export const groupBySpan = async <Item>(
  store: Store,
  items: readonly Item[],
  spanIdOf: (item: Item) => string,
): Promise<Grouped<Item>> => grouped(items, spanIdOf, await placesOfSpans(store, [...new Set(items.map(spanIdOf))]))

/** The store of the feedback with this read id. If several stores have it, it's the one that received it last. */
export const storeOfFeedback = async (store: Store, id: string): Promise<Store> =>
  onlyStore(
    await newestPlaces(store, [id], ({ database, organization }) =>
      database
        .select({ id: feedback.id, at: feedback.receivedAt })
        .from(feedback)
        .innerJoin(traces, eq(traces.key, feedback.traceKey))
        .where(and(eq(feedback.id, id), isLiveTraceOf(organization.key))),
    ),
    id,
  )

const isLiveTraceOf = (organizationKey: number): SQL | undefined =>
  and(eq(traces.organizationKey, organizationKey), isNull(traces.deletedAt))

/** For each id, the store that received it last or, if none has it, any store. */
async function newestPlaces(
  store: Store,
  ids: readonly string[],
  find: (shard: Store) => Promise<{ id: string; at: number }[]>,
): Promise<Places> {
  const { shards } = store
  const [first = store] = shards
  const { found, failures } =
    shards.length < 2
      ? { found: [], failures: [] }
      : await readSome(shards, async shard => (await find(shard)).map(row => ({ ...row, shard })))
  const oldestFirst = found.flat().toSorted((one, other) => one.at - other.at)
  const stores = new Map(oldestFirst.map(({ id, shard }) => [id, shard]))
  // Ids that weren't found may be in a database that didn't respond.
  if (failures.length === 0) for (const id of ids) if (!stores.has(id)) stores.set(id, first)
  return { stores, failure: failures[0]?.error }
}
