import { and, asc, eq, gt, gte, inArray, isNotNull, lte, type SQL, sql } from 'drizzle-orm'
import { ATTRIBUTION_LEASE_MS, MAX_ATTRIBUTION_ATTEMPTS, RESEND_AFTER_MS } from '../../limits.ts'
import { readLists } from '../core/database.ts'
import type { Store, UnscopedStore } from '../core/store.ts'
import { attributionJobs } from '../schema/attribution.ts'
import { traces } from '../schema/traces.ts'
import { isLive } from '../traces/live.ts'
import { hint, recordFailure } from './attribution-events.ts'
import {
  type AttributionStatus,
  type Claim,
  currentBasis,
  hasLiveTrace,
  isFree,
  isHeld,
  isJob,
  isPending,
  isWaiting,
  NO_LEASE,
  statusQuery,
} from './jobs.ts'

const CUT_OFF = 'The analysis was interrupted on every attempt'

/**
 * Claims a pending job that nobody holds, for `ATTRIBUTION_LEASE_MS` from `now`. Returns undefined if there is no such
 * job, if its trace is gone, or if it has been claimed too many times, in which case the job fails.
 */
export async function claimAttribution(
  store: Store,
  traceKey: number,
  { token, now }: { token: string; now: number },
): Promise<Claim | undefined> {
  const { database } = store
  const isSpent = gte(attributionJobs.attempts, MAX_ATTRIBUTION_ATTEMPTS)
  const isCutOff = isJob(store, traceKey, isPending, isFree(now), sql`not ${isWaiting(now)}`, isSpent)
  const leaseUntil = now + ATTRIBUTION_LEASE_MS
  const [recorded, , , [[claim] = []]] = await readLists(database, [
    ...failJobs(store, isCutOff, CUT_OFF, now),
    [
      database
        .update(attributionJobs)
        .set({
          leaseToken: token,
          leaseUntil,
          dueAt: leaseUntil,
          attempts: sql`${attributionJobs.attempts} + 1`,
          waitsUntil: null,
        })
        .where(isJob(store, traceKey, isPending, isFree(now), sql`not ${isWaiting(now)}`, hasLiveTrace(store)))
        .returning({ traceKey: attributionJobs.traceKey }),
    ],
    [
      database
        .select({
          traceKey: sql<number>`${traces.key}`.as('traceKey'),
          projectKey: sql<number>`${traces.projectKey}`.as('projectKey'),
          token: sql<string>`${attributionJobs.leaseToken}`.as('token'),
          requests: sql<number>`${attributionJobs.requests}`.as('requests'),
          basis: sql<string>`${currentBasis}`.as('basis'),
          basisBefore: sql<string | null>`${attributionJobs.basis}`.as('basisBefore'),
        })
        .from(attributionJobs)
        .crossJoin(traces)
        .where(and(isJob(store, traceKey, isPending, isHeld(token)), isLive(store, eq(traces.key, traceKey)))),
    ],
  ])
  hint(store, recorded)
  return claim
}

/** Extends a lease by `ATTRIBUTION_LEASE_MS`. Returns false if the lease was lost. */
export async function renewLease(store: Store, { traceKey, token }: Claim, now: number): Promise<boolean> {
  const leaseUntil = now + ATTRIBUTION_LEASE_MS
  const rows = await store.database
    .update(attributionJobs)
    .set({ leaseUntil, dueAt: leaseUntil })
    .where(isJob(store, traceKey, isPending, isHeld(token)))
    .returning({ traceKey: attributionJobs.traceKey })
  return rows.length > 0
}

/**
 * Releases a job after a failed run. `reason` is shown to users. The job fails permanently if `isFinal` is set or after
 * `MAX_ATTRIBUTION_ATTEMPTS` attempts. Otherwise, cron retries it after `retryAfterMs`, unless the queue does so first.
 * Returns the job's status, or undefined if the job is gone.
 */
export async function releaseLease(
  store: Store,
  { traceKey, token }: Pick<Claim, 'traceKey' | 'token'>,
  { reason, isFinal, retryAfterMs }: { reason: string; isFinal: boolean; retryAfterMs: number },
  now: number,
): Promise<AttributionStatus | undefined> {
  const isOver = isFinal ? sql`true` : sql`${attributionJobs.attempts} >= ${MAX_ATTRIBUTION_ATTEMPTS}`
  const isReleased = isJob(store, traceKey, isPending, isHeld(token))
  const [recorded, , [[job] = []]] = await readLists(store.database, [
    recordFailure(store, and(isReleased, isOver), sql`${reason}`, now),
    [
      store.database
        .update(attributionJobs)
        .set({
          ...NO_LEASE,
          status: sql`iif(${isOver}, 'failed', 'pending')`,
          dueAt: sql`iif(${isOver}, null, ${now + Math.max(RESEND_AFTER_MS, retryAfterMs)})`,
          failure: reason,
        })
        .where(isReleased)
        .returning({ traceKey: attributionJobs.traceKey }),
    ],
    [statusQuery(store, traceKey)],
  ])
  hint(store, recorded)
  return job?.status
}

/**
 * Releases a job that has to wait until a given time. It stays pending, but nobody can claim it earlier. Cron sends it
 * when the time comes. This run isn't counted as an attempt.
 */
export async function postponeAttribution(
  store: Store,
  { traceKey, token }: Pick<Claim, 'traceKey' | 'token'>,
  until: number,
): Promise<void> {
  await store.database
    .update(attributionJobs)
    .set({ ...NO_LEASE, attempts: sql`${attributionJobs.attempts} - 1`, waitsUntil: until, dueAt: until })
    .where(isJob(store, traceKey, isPending, isHeld(token)))
}

/**
 * Fails a job that the queue gave up on. Does nothing if someone holds the job, or if it was requested again and hasn't
 * been attempted since, because the message is then outdated. Keeps the last attempt's failure, or else sets `reason`.
 */
export async function failAttribution(store: Store, traceKey: number, reason: string, now: number): Promise<void> {
  const isGivenUp = isJob(
    store,
    traceKey,
    isPending,
    isFree(now),
    sql`not ${isWaiting(now)}`,
    gt(attributionJobs.attempts, 0),
  )
  const [recorded] = await readLists(store.database, failJobs(store, isGivenUp, reason, now))
  hint(store, recorded)
}

/**
 * The statements that make jobs fail permanently, preceded by the ones that record the failures. Jobs keep the last
 * attempt's failure, or else get `reason`.
 */
function failJobs(store: Store, isFailing: SQL | undefined, reason: string, now: number) {
  const failure = sql`coalesce(${attributionJobs.failure}, ${reason})`
  const fail = store.database
    .update(attributionJobs)
    .set({ ...NO_LEASE, status: 'failed', failure, dueAt: null })
    .where(isFailing)
    .returning({ traceKey: attributionJobs.traceKey })
  return [recordFailure(store, isFailing, failure, now), [fail]] as const
}

/** Takes up to `limit` due jobs and postpones each, like `takeDuePurges`. */
export async function takeDueAttributions({ database }: UnscopedStore, now: number, limit: number) {
  const due = database
    .select({ traceKey: attributionJobs.traceKey })
    .from(attributionJobs)
    .where(and(isNotNull(attributionJobs.dueAt), lte(attributionJobs.dueAt, now)))
    .orderBy(asc(attributionJobs.dueAt))
    .limit(limit)
  return database
    .update(attributionJobs)
    .set({ dueAt: now + RESEND_AFTER_MS })
    .where(inArray(attributionJobs.traceKey, due))
    .returning({ organizationKey: attributionJobs.organizationKey, traceKey: attributionJobs.traceKey })
}
