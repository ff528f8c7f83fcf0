/**
 * The databases that hold traces. A shard is a number: 0 is the binding `DB`, and 1 is `DB_1`. Without epochs, all
 * traces are in 0.
 */

/** The shards that a project's new traces go to, from a time on, in milliseconds since 1970. */
export interface Epoch {
  from: number
  shards: readonly number[]
}

/** The epochs of a project with none, as `formatEpochs` writes them. */
export const ONE_DATABASE = '0@0'

/**
 * Writes epochs as the database keeps them: `<from>@<shard>.<shard>`, separated by spaces. This is shorter than JSON, and
 * each cached key has the epochs of all projects.
 */
export const formatEpochs = (epochs: readonly Epoch[]): string =>
  epochs.map(({ from, shards }) => `${from}@${shards.join('.')}`).join(' ')

/** Reads what `formatEpochs` wrote. */
export const parseEpochs = (text: string | null): readonly Epoch[] =>
  (text ?? ONE_DATABASE).split(' ').map(epoch => {
    const [from, shards = ''] = epoch.split('@')
    return { from: Number(from), shards: shards.split('.').map(Number) }
  })

/** The epochs that have begun, newest first. There's always one. */
export const begunEpochs = (epochs: readonly Epoch[], now: number): readonly Epoch[] =>
  epochs.filter(({ from }) => from <= now).toReversed()

/**
 * The shard that an epoch gives the trace with this read id. The id is a UUIDv5, so its first digits are part of a hash
 * already.
 */
export function shardOf(id: string, { shards }: Epoch): number {
  return shards[Number.parseInt(id.slice(0, 8), 16) % shards.length] ?? 0
}

/** The shards that may have the trace with this read id, the newest epoch's first. */
export const shardsOfTrace = (id: string, epochs: readonly Epoch[], now: number): readonly number[] => [
  ...new Set(begunEpochs(epochs, now).map(epoch => shardOf(id, epoch))),
]

/** The epochs of a new project on a deployment with these shards besides DB. Null if there are none. */
export const firstEpochs = (shards: readonly number[]): string | null =>
  shards.length === 0 ? null : formatEpochs([{ from: 0, shards }])
