import { and, asc, gt, gte, isNotNull, lte, sql } from 'drizzle-orm'
import type { ModelJobKind, ModelJobStatus } from '../../domain/model-job.ts'
import { MAX_MODEL_JOB_ATTEMPTS, MODEL_JOB_LEASE_MS, RESEND_AFTER_MS } from '../../limits.ts'
import { named, readPlain } from '../core/database.ts'
import type { Store, UnscopedStore } from '../core/store.ts'
import { modelJobs } from '../schema/model-jobs.ts'
import { isJob, isPending, type ModelJob, type ModelJobName, NO_LEASE } from './jobs.ts'

const CUT_OFF = 'The job was interrupted on every attempt'

const isFree = (now: number) => sql`(${modelJobs.leaseUntil} is null or ${modelJobs.leaseUntil} <= ${now})`
/** Nobody holds a waiting job, but it must not be claimed. */
const isReady = (now: number) => sql`coalesce(${modelJobs.waitsUntil}, 0) <= ${now}`
const isHeld = (token: string) => sql`${modelJobs.leaseToken} = ${token}`

/**
 * Claims a pending job that nobody holds, for `MODEL_JOB_LEASE_MS` from `now`. Returns undefined if there is no such
 * job, or `failed` if the job has failed, either just now because it was claimed too often, or earlier.
 */
export async function claimModelJob(
  store: Store,
  name: ModelJobName,
  { token, now }: { token: string; now: number },
): Promise<ModelJob | 'failed' | undefined> {
  const { database } = store
  const isClaimable = isJob(store, name, isPending, isFree(now), isReady(now))
  const leaseUntil = now + MODEL_JOB_LEASE_MS
  const [, , [row]] = await readPlain(database, [
    database
      .update(modelJobs)
      .set({
        ...NO_LEASE,
        status: 'failed',
        failure: sql`coalesce(${modelJobs.failure}, ${CUT_OFF})`,
        dueAt: null,
        waitsUntil: null,
      })
      .where(and(isClaimable, gte(modelJobs.attempts, MAX_MODEL_JOB_ATTEMPTS)))
      .returning({ status: modelJobs.status }),
    database
      .update(modelJobs)
      .set({
        leaseToken: token,
        leaseUntil,
        dueAt: leaseUntil,
        attempts: sql`${modelJobs.attempts} + 1`,
        waitsUntil: null,
      })
      .where(isClaimable)
      .returning({ status: modelJobs.status }),
    database
      .select(
        named({
          status: modelJobs.status,
          leaseToken: modelJobs.leaseToken,
          projectKey: modelJobs.projectKey,
          requests: modelJobs.requests,
          attempts: modelJobs.attempts,
        }),
      )
      .from(modelJobs)
      .where(isJob(store, name)),
  ])
  if (!row) return undefined
  const { status, leaseToken, ...counts } = row
  if (status === 'failed') return 'failed'
  if (status !== 'pending' || leaseToken !== token) return undefined
  return { kind: name.kind, subject: name.subject, token, ...counts }
}

/** Extends a lease by `MODEL_JOB_LEASE_MS`. Returns false if the lease was lost or the job was canceled. */
export async function renewModelJob(store: Store, job: ModelJob, now: number): Promise<boolean> {
  const leaseUntil = now + MODEL_JOB_LEASE_MS
  const rows = await store.database
    .update(modelJobs)
    .set({ leaseUntil, dueAt: leaseUntil })
    .where(isJob(store, job, isPending, isHeld(job.token)))
    .returning({ status: modelJobs.status })
  return rows.length > 0
}

/** Ends a job, unless it was requested again during the run. Returns its status, or undefined if the job is gone. */
export async function finishModelJob(
  store: Store,
  job: ModelJob,
  result: string | null,
  now: number,
): Promise<ModelJobStatus | undefined> {
  const isOver = sql`${modelJobs.requests} = ${job.requests}`
  const [, [row]] = await readPlain(store.database, [
    store.database
      .update(modelJobs)
      .set({
        ...NO_LEASE,
        status: sql`iif(${isOver}, 'done', 'pending')`,
        dueAt: sql`iif(${isOver}, null, ${now + RESEND_AFTER_MS})`,
        attempts: 0,
        failure: null,
        result,
      })
      .where(isJob(store, job, isPending, isHeld(job.token)))
      .returning({ status: modelJobs.status }),
    statusOf(store, job),
  ])
  return row?.status
}

/**
 * Releases an unfinished job so that another run can continue it, either right away or from `until` on. Nobody can
 * claim it before `until`, when cron sends it. `reason` says why it's waiting. This run isn't counted as an attempt,
 * because its progress is stored. Returns whether the lease was still held.
 */
export async function handOverModelJob(
  store: Store,
  job: Pick<ModelJob, 'kind' | 'subject' | 'token'>,
  { until, reason }: { until: number; reason: string } | { until: null; reason: null },
  now: number,
): Promise<boolean> {
  const rows = await store.database
    .update(modelJobs)
    .set({ ...NO_LEASE, attempts: 0, waitsUntil: until, dueAt: until ?? now + RESEND_AFTER_MS, failure: reason })
    .where(isJob(store, job, isPending, isHeld(job.token)))
    .returning({ status: modelJobs.status })
  return rows.length > 0
}

/**
 * Releases a job after a failed run. `reason` is shown to users. The job fails permanently if `isFinal` is set or after
 * `MAX_MODEL_JOB_ATTEMPTS` attempts. Otherwise, cron retries it after `retryAfterMs`, unless the queue does so first.
 * Returns the job's status, or undefined if the job is gone.
 */
export async function releaseModelJob(
  store: Store,
  job: Pick<ModelJob, 'kind' | 'subject' | 'token'>,
  { reason, isFinal, retryAfterMs }: { reason: string; isFinal: boolean; retryAfterMs: number },
  now: number,
): Promise<ModelJobStatus | undefined> {
  const isOver = isFinal ? sql`true` : sql`${modelJobs.attempts} >= ${MAX_MODEL_JOB_ATTEMPTS}`
  const [, [row]] = await readPlain(store.database, [
    store.database
      .update(modelJobs)
      .set({
        ...NO_LEASE,
        status: sql`iif(${isOver}, 'failed', 'pending')`,
        dueAt: sql`iif(${isOver}, null, ${now + Math.max(RESEND_AFTER_MS, retryAfterMs)})`,
        failure: reason,
      })
      .where(isJob(store, job, isPending, isHeld(job.token)))
      .returning({ status: modelJobs.status }),
    statusOf(store, job),
  ])
  return row?.status
}

/**
 * Fails a job that the queue gave up on. Does nothing if somebody holds the job, if it's waiting, or if it was
 * requested again and hasn't been attempted since then, because the queue's message is outdated in these cases. Returns
 * the job's status.
 */
export async function failModelJob(
  store: Store,
  job: ModelJobName,
  reason: string,
  now: number,
): Promise<ModelJobStatus | undefined> {
  const [, [row]] = await readPlain(store.database, [
    store.database
      .update(modelJobs)
      .set({ ...NO_LEASE, status: 'failed', failure: sql`coalesce(${modelJobs.failure}, ${reason})`, dueAt: null })
      .where(and(isJob(store, job, isPending, isFree(now), isReady(now)), gt(modelJobs.attempts, 0)))
      .returning({ status: modelJobs.status }),
    statusOf(store, job),
  ])
  return row?.status
}

/** Reads the job's status after a write. Works even if the write ran twice because its first reply was lost. */
const statusOf = (store: Store, job: ModelJobName) =>
  store.database
    .select(named({ status: modelJobs.status }))
    .from(modelJobs)
    .where(isJob(store, job))

/** Takes up to `limit` due jobs and postpones each, like `takeDuePurges`. */
export function takeDueModelJobs(
  { database }: UnscopedStore,
  now: number,
  limit: number,
): Promise<{ organizationKey: number; jobKind: ModelJobKind; subject: string }[]> {
  const identity = sql`${modelJobs.organizationKey}, ${modelJobs.kind}, ${modelJobs.subject}`
  const due = database
    .select({ organizationKey: modelJobs.organizationKey, kind: modelJobs.kind, subject: modelJobs.subject })
    .from(modelJobs)
    .where(and(isNotNull(modelJobs.dueAt), lte(modelJobs.dueAt, now)))
    .orderBy(asc(modelJobs.dueAt))
    .limit(limit)
  return database
    .update(modelJobs)
    .set({ dueAt: now + RESEND_AFTER_MS })
    .where(sql`(${identity}) in ${due}`)
    .returning({
      organizationKey: modelJobs.organizationKey,
      jobKind: modelJobs.kind,
      subject: modelJobs.subject,
    })
}
