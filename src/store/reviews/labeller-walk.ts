import { and, asc, eq, gt, isNull, lt, or, type SQL, sql } from 'drizzle-orm'
import type { Env } from '../../env.ts'
import { LABELLER_DELETE_ROWS, LABELLER_PASS_MS, LABELLER_TRACES } from '../../limits.ts'
import { findOrganizationByKey } from '../accounts/organizations.ts'
import { openStore, type Store, type UnscopedStore } from '../core/store.ts'
import { duePass, savePass } from '../core/sweeps.ts'
import { apiKeys, users } from '../schema/accounts.ts'
import { feedback, reviews } from '../schema/reviews.ts'
import { type TracePlace, WALK_START, walkTraces } from '../traces/trace-walk.ts'

/*
 * A labeller is a user by nobody's word but a pipeline's, and goes with the last record of theirs. No index finds records by
 * their user, for it would be written with every piece of feedback. So what deletes feedback marks whose it was, and cron
 * walks over the traces of organizations that have such marks: who has a record still is marked no more, and the others go.
 * Feedback that comes meanwhile takes its labeller's mark away, too.
 */

/** A pass over one organization. */
interface Walk {
  organizationKey: number
  startedAt: number
  place: TracePlace
}

/** Goes on with the walk by one bounded piece. Returns whether more is due now. Safe to run twice: a mark goes once. */
export async function checkLabellers(env: Env, unscoped: UnscopedStore, now: number): Promise<boolean> {
  const saved = await duePass(unscoped, 'labellers', now)
  if (saved === undefined) return false
  const before: Walk | { organizationKey: number } = saved === '' ? { organizationKey: 0 } : JSON.parse(saved)
  const walk = 'place' in before ? before : await nextWalk(unscoped, before.organizationKey, now)
  if (!walk) {
    await savePass(unscoped, 'labellers', { cursor: '', dueAt: now + LABELLER_PASS_MS })
    return false
  }
  const organization = await findOrganizationByKey(unscoped, walk.organizationKey)
  const next = organization && (await checkPiece(openStore(env, organization, unscoped.deadline), walk))
  const cursor = next ? { ...walk, place: next } : { organizationKey: walk.organizationKey }
  await savePass(unscoped, 'labellers', { cursor: JSON.stringify(cursor), dueAt: now })
  return true
}

/** The walk over the next organization that has marks. */
async function nextWalk({ database }: UnscopedStore, after: number, now: number): Promise<Walk | undefined> {
  const [row] = await database
    .select({ organizationKey: users.organizationKey })
    .from(users)
    .where(and(gt(users.organizationKey, after), isMarked(now)))
    .orderBy(asc(users.organizationKey))
    .limit(1)
  return row && { organizationKey: row.organizationKey, startedAt: now, place: WALK_START }
}

/** Takes the marks of those who have a record on the next traces. Returns where to go on; null once nobody is left to look for. */
async function checkPiece(store: Store, { startedAt, place }: Walk): Promise<TracePlace | null> {
  const { database, organization } = store
  const { keys, next } = await walkTraces(store, place, LABELLER_TRACES)
  const isOpen = and(eq(users.organizationKey, organization.key), isMarked(startedAt))
  const ofKeys = sql`(select item.value from json_each(${JSON.stringify(keys)}) as item)`
  const [, left] = await database.batch([
    database
      .update(users)
      .set({ uncheckedSince: null })
      .where(
        and(
          isOpen,
          or(
            sql`${users.id} in (select ${feedback.userId} from ${feedback} where ${feedback.traceKey} in ${ofKeys})`,
            sql`${users.id} in (select ${reviews.userId} from ${reviews} where ${reviews.traceKey} in ${ofKeys})`,
          ),
        ),
      ),
    database.select({ id: users.id }).from(users).where(isOpen).limit(1),
  ])
  if (left.length === 0) return null
  if (next) return next
  await database.run(sql`
    delete from ${users} where (organization_key, id) in (
      select ${users.organizationKey}, ${users.id} from ${users} where ${isOpen} limit ${LABELLER_DELETE_ROWS})`)
  return null
}

/** Whether a labeller was marked before a time. One for whom a key acts stays while it does. */
const isMarked = (time: number): SQL | undefined =>
  and(
    sql`${users.uncheckedSince} is not null`,
    lt(users.uncheckedSince, time),
    isNull(users.createdBy),
    sql`not exists (select 1 from ${apiKeys}
      where ${apiKeys.organizationKey} = ${users.organizationKey} and ${apiKeys.userId} = ${users.id}
        and coalesce(${apiKeys.revokedAt}, ${time} + 1) > ${time} and coalesce(${apiKeys.expiresAt}, ${time} + 1) > ${time})`,
  )
