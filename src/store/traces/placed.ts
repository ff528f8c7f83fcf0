import { and, eq, isNull, type SQL, sql } from 'drizzle-orm'
import { traceUuid } from '../../domain/ids.ts'
import { type Epoch, parseEpochs, shardsOfTrace } from '../../domain/shards.ts'
import type { PlacedProject } from '../accounts/projects.ts'
import { readSome } from '../core/across.ts'
import { isOneOf } from '../core/rows.ts'
import { epochsIn, type Store } from '../core/store.ts'
import { feedback } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'

/*
 * Finds the database of a trace and of what belongs to it. With one database, nothing is read. If nothing is found, the
 * caller gets a store that doesn't have it either, and so comes to the same result.
 */

/** The store of the trace with this read id. */
export const storeOfTrace = async (store: Store, id: string): Promise<Store> =>
  (await storesOfTraces(store, [id])).get(id) ?? store

/** The stores of the traces with these read ids. */
export async function storesOfTraces(store: Store, ids: readonly string[]): Promise<Map<string, Store>> {
  const epochs = epochsIn(store.organization)
  return new Map(await Promise.all(ids.map(async id => [id, await storeIn(store, id, epochs)] as const)))
}

/**
 * The store for writing a trace, by the client's id of it: the one that has the trace, or else the current epoch's. With
 * a single epoch, nothing is read.
 */
export async function storeForWriting(store: Store, project: PlacedProject, traceId: string): Promise<Store> {
  if (project.epochs === null) return store
  return storeIn(store, await traceUuid(project.id, traceId), [parseEpochs(project.epochs)])
}

/** The store that has a trace, or else the first one that may get it. Only asks if several may have it. */
async function storeIn(store: Store, id: string, epochs: readonly (readonly Epoch[])[]): Promise<Store> {
  const shards = new Set(epochs.flatMap(each => shardsOfTrace(id, each, Date.now())))
  const [first = store, ...others] = [...shards].map(store.in)
  if (others.length === 0) return first
  const { found, failures } = await readSome([first, ...others], async each =>
    (await hasTrace(each, id)) ? each : null,
  )
  const place = found.find(each => each !== null)
  if (!place && failures[0]) throw failures[0].error
  return place ?? first
}

async function hasTrace({ database, organization }: Store, id: string): Promise<boolean> {
  const rows = await database
    .select({ key: traces.key })
    .from(traces)
    .where(and(eq(traces.id, id), eq(traces.organizationKey, organization.key), isNull(traces.deletedAt)))
  return rows.length > 0
}

/** The store of the span with this id. */
export const storeOfSpan = async (store: Store, id: string): Promise<Store> =>
  (await storesOfSpans(store, [id])).get(id) ?? store

/** The stores of spans. If several have a span with an id, the one that received it last. */
export const storesOfSpans = (store: Store, ids: readonly string[]): Promise<Map<string, Store>> =>
  newestStores(store, ids, async ({ database, organization }) =>
    database
      .select({ id: spans.id, at: sql<number>`coalesce(${spans.receivedAt}, 0)` })
      .from(spans)
      .innerJoin(traces, eq(traces.key, spans.traceKey))
      .where(and(isOneOf(spans.id, ids), isLiveTraceOf(organization.key))),
  )

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
  ).get(id) ?? store

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
