import type { Env } from '../env.ts'
import { logFault } from '../http/errors.ts'
import {
  COPIED_ORGANIZATIONS,
  COPIED_PAGES,
  EMPTIED_SHARD_BYTES,
  EPOCH_DELAY_MS,
  FOLLOW_ATTEMPT_MS,
  FOLLOW_DEADLINE_MS,
  MAX_SHARD_BYTES,
  PLACING_PASS_MS,
  PLACING_STEPS,
} from '../limits.ts'
import { findNewShards, placeProjects, saveNewShards } from '../store/accounts/placement.ts'
import {
  copyChanges,
  findLog,
  findShardState,
  forgetSeed,
  isLogging,
  listCopiedKeys,
  listUncopied,
  logAllRows,
  logChanges,
  noteSeed,
  requireCopies,
  type ShardState,
} from '../store/core/copies.ts'
import { Deadline } from '../store/core/deadline.ts'
import { boundShards, openUnscopedStore, type UnscopedStore } from '../store/core/store.ts'
import { findDuePass, savePass } from '../store/core/sweeps.ts'

/**
 * Brings shards into use: copies the rows of the control database that statements on traces need, and then sends new
 * traces to the shards that have all of these rows and aren't full. Does nothing on a deployment with one database.
 */
export async function followShards(env: Env, now: number): Promise<void> {
  const bound = boundShards(env)
  if (bound.length === 0) return
  // A shard that doesn't respond uses up only its own time.
  const open = (shard: number) => openUnscopedStore(env, new Deadline(FOLLOW_DEADLINE_MS, FOLLOW_ATTEMPT_MS), shard)
  const control = open(0)
  const shards = bound.map(open)
  if (!(await isLogging(control))) await logChanges(control)
  await requireCopies(control, bound.length)
  const states = await seed(control, await withoutRestored(control, shards))
  await copyAll(control, shards, now)
  await place(control, shards, states, now)
}

type States = ReadonlyMap<UnscopedStore, ShardState>

/** The states of the shards that respond. */
async function readStates(shards: readonly UnscopedStore[]): Promise<States> {
  const found = await Promise.all(
    shards.map(async store => {
      try {
        return [[store, await findShardState(store)] as const]
      } catch (error) {
        logFault('shard_silent', { shard: store.shard }, error)
        return []
      }
    }),
  )
  return new Map(found.flat())
}

/**
 * Reads the shards' states. If DB or a shard was restored to an earlier time, the shard may have copies of changes that
 * aren't in DB's history, or may lack changes that are. Such a shard starts over as if it were new.
 */
async function withoutRestored(control: UnscopedStore, shards: readonly UnscopedStore[]): Promise<States> {
  const before = await findLog(control)
  const states = await readStates(shards)
  const after = await findLog(control)
  const checked = [...states].map(async ([shard, state]) => {
    const { seededUntil, copiedUntil } = state
    const isAhead = copiedUntil > after.last
    const isBehind = before.firstUncopied === null && copiedUntil < before.last
    if (seededUntil === null || !(isAhead || isBehind)) return [shard, state] as const
    await forgetSeed(shard)
    return [shard, { ...state, seededUntil: null }] as const
  })
  return new Map(await Promise.all(checked))
}

/**
 * Logs all rows for shards that are new. If this is interrupted, the next run repeats it, and rows are copied twice.
 */
async function seed(control: UnscopedStore, states: States): Promise<States> {
  const unseeded = [...states].filter(([, { seededUntil }]) => seededUntil === null)
  if (unseeded.length === 0) return states
  const keys = await Promise.all(unseeded.map(([shard]) => listCopiedKeys(shard)))
  const copiedUntil = Math.max(...unseeded.map(([, state]) => state.copiedUntil))
  const seededUntil = await logAllRows(control, { copiedUntil, keys: [...new Set(keys.flat())] })
  for (const [shard] of unseeded) await noteSeed(shard, seededUntil)
  return new Map(
    [...states].map(([shard, state]) => [shard, { ...state, seededUntil: state.seededUntil ?? seededUntil }]),
  )
}

/** Copies some changes for a few organizations. The next run continues with the next organizations. */
async function copyAll(control: UnscopedStore, shards: readonly UnscopedStore[], now: number): Promise<void> {
  const from = Number((await findDuePass(control, 'copies', now)) ?? 0)
  const keys = await listUncopied(control, COPIED_ORGANIZATIONS, from)
  const pages = Math.max(1, Math.floor(COPIED_PAGES / keys.length))
  const databases = shards.map(({ database }) => database)
  for (const organizationKey of keys) {
    try {
      await copyChanges(control.database, databases, organizationKey, pages)
    } catch (error) {
      logFault('copy_failed', { organizationKey }, error)
    }
  }
  const last = keys.at(-1)
  const next = keys.length === COPIED_ORGANIZATIONS && last !== undefined ? String(last + 1) : ''
  if (next !== '' || from > 0) await savePass(control, 'copies', { cursor: next, dueAt: now })
}

/** Gives projects an epoch with the shards that new traces should go to. */
async function place(
  control: UnscopedStore,
  shards: readonly UnscopedStore[],
  states: States,
  now: number,
): Promise<void> {
  const before = await findNewShards(control)
  const { firstUncopied } = await findLog(control)
  const wanted = chooseShards(shards, { states, firstUncopied, before })
  // If all shards are full, they stay in use. D1 itself then refuses writes, and only a new shard helps.
  if (wanted.length === 0) return
  const isChange = wanted.join() !== before.join()
  if (isChange) {
    await saveNewShards(control, wanted)
    await savePass(control, 'epochs', { cursor: '', dueAt: now })
  }
  for (let step = 0; step < PLACING_STEPS; step++) {
    const cursor = await findDuePass(control, 'epochs', now)
    if (cursor === undefined) return
    // The run may have taken a while.
    const from = Math.max(now, Date.now()) + EPOCH_DELAY_MS
    const last = await placeProjects(control, wanted, { after: Number(cursor), now, from })
    const next = last === null ? { cursor: '', dueAt: now + PLACING_PASS_MS } : { cursor: String(last), dueAt: now }
    await savePass(control, 'epochs', next)
  }
}

/** The shards that have copies of all rows and aren't full. A shard that doesn't respond stays as it was. */
const chooseShards = (
  shards: readonly UnscopedStore[],
  { states, firstUncopied, before }: { states: States; firstUncopied: number | null; before: readonly number[] },
): number[] =>
  shards
    .filter(store => {
      const isUsed = before.includes(store.shard)
      const state = states.get(store)
      if (!state) return isUsed
      const { bytes, seededUntil } = state
      const isCopied = seededUntil !== null && (firstUncopied === null || firstUncopied > seededUntil)
      return isUsed ? bytes < MAX_SHARD_BYTES : isCopied && bytes < EMPTIED_SHARD_BYTES
    })
    .map(({ shard }) => shard)
