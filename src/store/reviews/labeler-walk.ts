import { and, asc, eq, gt, isNull, lt, type SQL, sql } from 'drizzle-orm'
import type { Env } from '../../env.ts'
import { LABELER_DELETE_ROWS, LABELER_PASS_MS, LABELER_TRACES } from '../../limits.ts'
import { findOrganizationByKey } from '../accounts/organizations.ts'
import { chunkRows } from '../core/chunks.ts'
import { isOneOf, valuesOf } from '../core/rows.ts'
import { openStore, type Store, type UnscopedStore } from '../core/store.ts'
import { findDuePass, savePass } from '../core/sweeps.ts'
import { apiKeys, users } from '../schema/accounts.ts'
import { feedback, reviews, votes } from '../schema/reviews.ts'
import { type TracePlace, WALK_START, walkTraces } from '../traces/trace-walk.ts'

/*
 * Only a pipeline vouches for a labeler, so a labeler is deleted once they have no records left. An index of records by
 * user would cost a write for every piece of feedback. Instead, deleting feedback marks its labeler, and cron walks the
 * traces of organizations that have marked labelers: labelers who still have a record are unmarked, and the others are
 * deleted. New feedback also unmarks its labeler.
 */

/** A pass over one organization. */
interface Walk {
  organizationKey: number
  startedAt: number
  /** The number of the database that the walk has reached. A missing number means 0. */
  shard?: number
  place: TracePlace
}

/**
 * Advances the walk by one bounded chunk. Returns whether more is due now. Safe to run twice, because unmarking or
 * deleting again changes nothing.
 */
export async function checkLabelers(env: Env, unscoped: UnscopedStore, now: number): Promise<boolean> {
  const saved = await findDuePass(unscoped, 'labellers', now)
  if (saved === undefined) return false
  const before: Walk | { organizationKey: number } = saved === '' ? { organizationKey: 0 } : JSON.parse(saved)
  const walk = 'place' in before ? before : await nextWalk(unscoped, before.organizationKey, now)
  if (!walk) {
    await savePass(unscoped, 'labellers', { cursor: '', dueAt: now + LABELER_PASS_MS })
    return false
  }
  const organization = await findOrganizationByKey(unscoped, walk.organizationKey)
  const next = organization && (await checkPiece(openStore(env, organization, unscoped.deadline), walk))
  await savePass(unscoped, 'labellers', {
    cursor: JSON.stringify(next ?? { organizationKey: walk.organizationKey }),
    dueAt: now,
  })
  return true
}

/** The walk over the next organization that has marked labelers. */
async function nextWalk({ database }: UnscopedStore, after: number, now: number): Promise<Walk | undefined> {
  const [row] = await database
    .select({ organizationKey: users.organizationKey })
    .from(users)
    .where(and(gt(users.organizationKey, after), isMarked(now)))
    .orderBy(asc(users.organizationKey))
    .limit(1)
  return row && { organizationKey: row.organizationKey, startedAt: now, place: WALK_START }
}

/**
 * Unmarks labelers who have a record on the next traces. Returns where the walk continues, or null if there is no one
 * left to check.
 */
async function checkPiece(store: Store, walk: Walk): Promise<Walk | null> {
  const { organization, control } = store
  const [place, nextPlace] = store.shards
    .filter(({ shard }) => shard >= (walk.shard ?? 0))
    .toSorted((one, other) => one.shard - other.shard)
  if (!place) return null
  const { keys, next } = await walkTraces(place, walk.place, LABELER_TRACES)
  const isOpen = and(eq(users.organizationKey, organization.key), isMarked(walk.startedAt))
  const ofKeys = valuesOf(keys)
  const found = await place.database.all<{ id: string }>(sql`
    select distinct found.id from (
      select ${feedback.userId} as id from ${feedback} where ${feedback.traceKey} in ${ofKeys}
      union all select ${reviews.userId} from ${reviews} where ${reviews.traceKey} in ${ofKeys}
      union all select ${votes.userId} from ${votes} where ${votes.traceKey} in ${ofKeys}) as found`)
  // These are two statements, because users and their records may be in different databases.
  for (const { items } of chunkRows(found, ({ id }) => [id])) {
    const hasRecord = isOneOf(
      users.id,
      items.map(({ id }) => id),
    )
    await control.database.update(users).set({ uncheckedSince: null }).where(and(isOpen, hasRecord))
  }
  const left = await control.database.select({ id: users.id }).from(users).where(isOpen).limit(1)
  if (left.length === 0) return null
  if (next) return { ...walk, shard: place.shard, place: next }
  if (nextPlace) return { ...walk, shard: nextPlace.shard, place: WALK_START }
  await control.database.run(sql`
    delete from ${users} where (organization_key, id) in (
      select ${users.organizationKey}, ${users.id} from ${users} where ${isOpen} limit ${LABELER_DELETE_ROWS})`)
  return null
}

/** Whether a labeler was marked before a given time. False for labelers with a valid key, so they're kept. */
const isMarked = (time: number): SQL | undefined =>
  and(
    sql`${users.uncheckedSince} is not null`,
    lt(users.uncheckedSince, time),
    isNull(users.createdBy),
    sql`not exists (select 1 from ${apiKeys}
      where ${apiKeys.organizationKey} = ${users.organizationKey} and ${apiKeys.userId} = ${users.id}
        and coalesce(${apiKeys.revokedAt}, ${time} + 1) > ${time} and coalesce(${apiKeys.expiresAt}, ${time} + 1) > ${time})`,
  )
