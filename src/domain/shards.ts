import { EPOCH_SETTLE_MS, MAX_CLOCK_DIFFERENCE_MS, MAX_EPOCHS } from '../limits.ts'

/**
 * The databases that hold traces. A shard is a number: 0 is the binding `DB`, and 1 is `DB_1`. If there are no epochs,
 * all traces are in shard 0.
 */

/** The shards that a project's new traces go to, from a given time on, in milliseconds since 1970. */
export interface Epoch {
  from: number
  shards: readonly number[]
}

/** The epochs of a project that has none stored, in the format of `formatEpochs`. */
export const ONE_DATABASE = '0@0'

/**
 * Writes epochs as the database keeps them: `<from>@<shard>.<shard>`, separated by spaces. This is shorter than JSON,
 * and each cached key has the epochs of all projects.
 */
export const formatEpochs = (epochs: readonly Epoch[]): string =>
  epochs.map(({ from, shards }) => `${from}@${shards.join('.')}`).join(' ')

/** Reads what `formatEpochs` wrote. */
export const parseEpochs = (text: string | null): readonly Epoch[] =>
  (text ?? ONE_DATABASE).split(' ').map(epoch => {
    const [from, shards = ''] = epoch.split('@')
    return { from: Number(from), shards: shards.split('.').map(Number) }
  })

/** The epochs that have begun, newest first. There's always at least one. */
export const begunEpochs = (epochs: readonly Epoch[], now: number): readonly Epoch[] =>
  epochs.filter(({ from }) => from <= now).toReversed()

/**
 * The shard in which an epoch places the trace with this read id. The id is a UUIDv5, so its first digits are part of a
 * hash already.
 */
export function shardOf(id: string, { shards }: Epoch): number {
  return shards[Number.parseInt(id.slice(0, 8), 16) % shards.length] ?? 0
}

/**
 * The epochs in which traces may have been created, newest first: on servers whose clocks are ahead, the next one has
 * already begun.
 */
export const usedEpochs = (epochs: readonly Epoch[], now: number): readonly Epoch[] =>
  begunEpochs(epochs, now + MAX_CLOCK_DIFFERENCE_MS)

/** The shards that may have the trace with this read id, the newest epoch's first. */
export const shardsOfTrace = (id: string, epochs: readonly Epoch[], now: number): readonly number[] => [
  ...new Set(usedEpochs(epochs, now).map(epoch => shardOf(id, epoch))),
]

/**
 * The end of the last epoch that places the trace with this read id in a shard. By its own clock, the shard decides
 * whether it can still create the trace. Null if there's no such end, or if it was so long ago that it doesn't matter.
 */
export function endsAt(id: string, epochs: readonly Epoch[], shard: number, now: number): number | null {
  const last = epochs.findLastIndex(epoch => shardOf(id, epoch) === shard)
  const end = epochs[last + 1]?.from ?? null
  return end === null || end + EPOCH_SETTLE_MS < now ? null : end
}

/** The epochs of a project that's created while new traces go to these shards. Null if there are no shards yet. */
export const firstEpochs = (shards: readonly number[]): string | null =>
  shards.length === 0 ? null : formatEpochs([{ from: 0, shards }])

/**
 * Adds an epoch to a project's epochs, as the database keeps them, so that its new traces go to these shards from
 * `from` on. Returns the epochs unchanged if new traces already go there, or if the last epoch hasn't begun: another
 * server may have cached that epoch, and would place traces according to it. Leaves out epochs that place traces in the
 * same way as a later epoch.
 */
export function withEpoch(
  text: string | null,
  shards: readonly number[],
  { now, from }: { now: number; from: number },
): string | null {
  const epochs = parseEpochs(text)
  const last = epochs.at(-1)
  if (!last || last.from > now || isSame(last.shards, shards)) return text
  const different = epochs.filter(
    (epoch, index) => !epochs.slice(index + 1).some(later => isSame(later.shards, epoch.shards)),
  )
  return different.length === MAX_EPOCHS ? text : formatEpochs([...different, { from, shards }])
}

/** Whether two epochs with these shards place every trace in the same shard. */
const isSame = (one: readonly number[], other: readonly number[]): boolean => one.join() === other.join()
