import { Unanswered } from '../../domain/failures.ts'
import type { Store } from './store.ts'

/**
 * Reads from each database that may have the organization's traces, in parallel. A database that doesn't respond is left
 * out, and the response's header names it. Throws if none responds.
 */
export async function readShards<Found>(store: Store, read: (shard: Store) => Promise<Found>): Promise<Found[]> {
  const { shards, missing } = store
  const { found, failures } = await readSome(shards, read)
  const [first] = failures
  if (first && found.length === 0) throw first.error
  for (const { shard } of failures) missing.add(shard)
  return found
}

/** Reads from each of these databases in parallel, and tells which ones didn't respond. Throws any other error. */
export async function readSome<Found>(stores: readonly Store[], read: (store: Store) => Promise<Found>) {
  const [only] = stores
  // Reading from one database is the same as without shards, errors included.
  if (only && stores.length === 1) return { found: [await read(only)], failures: [] }
  const settled = await Promise.allSettled(stores.map(read))
  const found: Found[] = []
  const failures: { shard: number; error: unknown }[] = []
  for (const [index, result] of settled.entries()) {
    if (result.status === 'fulfilled') found.push(result.value)
    else if (isUnanswered(result.reason)) failures.push({ shard: stores[index]?.shard ?? 0, error: result.reason })
    else throw result.reason
  }
  return { found, failures }
}

/** Whether an error is a database that didn't respond. drizzle wraps its driver's errors. */
const isUnanswered = (error: unknown): boolean =>
  error instanceof Unanswered || (error instanceof Error && error.cause !== undefined && isUnanswered(error.cause))
