/**
 * Shards are the databases that the traces are distributed over: DB_1, DB_2, and so on, in addition to DB. By default,
 * there is only one shard. In that case, these databases don't exist, and DB also contains the traces.
 */

export const MAX_SHARDS = 16

/** How messages describe the valid values of `--shards` and SHARDS. */
export const SHARDS_RANGE = `a number from 1 to ${MAX_SHARDS}`

/** Parses a number of shards. Undefined if the text isn't a valid number of shards. */
export function parseShards(text: string): number | undefined {
  const shards = /^\d{1,2}$/.test(text) ? Number(text) : 0
  return shards >= 1 && shards <= MAX_SHARDS ? shards : undefined
}

/**
 * How many databases there should be besides DB, given the number of `existing` ones and the number `asked` for, if
 * any. Undefined if an existing database would be left out.
 */
export function shardsToHave(asked: number | undefined, existing: number): number | undefined {
  if (asked === undefined || (asked === 1 && existing === 0)) return existing
  return asked < existing ? undefined : asked
}

/** The binding names for that many databases. */
export function shardBindings(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `DB_${index + 1}`)
}

/** The databases of a local installation, under the ids that wrangler gives them. */
export function localShards(count: number): Record<string, { id: string }> {
  return Object.fromEntries(shardBindings(count).map(binding => [binding, { id: binding }]))
}
