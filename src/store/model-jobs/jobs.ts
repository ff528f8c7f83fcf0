import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { ModelJobKind, ModelJobStatus } from '../../domain/model-job.ts'
import { RESEND_AFTER_MS } from '../../limits.ts'
import { named, readPlain } from '../core/database.ts'
import { selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { projects } from '../schema/accounts.ts'
import { modelJobs } from '../schema/model-jobs.ts'

/*
 * Jobs that call a model. A job's row is authoritative; queue messages only point to it. A worker holds a job under a
 * lease that has a token, and can write only with that token.
 */

/** Identifies a job in its organization. */
export interface ModelJobName {
  kind: ModelJobKind
  subject: string
}

/** A job that a run holds. */
export interface ModelJob extends ModelJobName {
  projectKey: number
  token: string
  /** The number of requests at the time of the claim. */
  requests: number
  /** The number of claims, including this one, since the last request or handover. */
  attempts: number
}

/** What callers can find out about a job. */
export interface ModelJobState {
  status: ModelJobStatus
  requestedAt: number
  /** Why it failed, or why it's waiting. */
  failure: string | null
  waitsUntil: number | null
  /** JSON. */
  result: string | null
}

/** Whether a row is the given job, in the store's organization. */
export const isJob = ({ organization }: Store, { kind, subject }: ModelJobName, ...conditions: SQL[]) =>
  and(
    eq(modelJobs.organizationKey, organization.key),
    eq(modelJobs.kind, kind),
    eq(modelJobs.subject, subject),
    ...conditions,
  )

export const isPending = sql`${modelJobs.status} = 'pending'`

/** Whether a run still holds its job, as a condition for the statements that write its results. */
export const holdsJob = (store: Store, job: ModelJob): SQL =>
  sql`exists (select 1 from ${modelJobs} where ${isJob(store, job, isPending, sql`${modelJobs.leaseToken} = ${job.token}`)})`

/**
 * The statement that requests a job. Run it alone or in the same batch as the write that causes it. A job that has
 * ended starts over. A request for a pending job has no effect, unless `runsAgain` is true: the job then runs once more
 * if a run has already begun. The job is requested only if the condition `when` is true. Returns a row if the request
 * changed anything.
 */
export function requestModelJob(
  { database, organization }: Store,
  { projectKey, kind, subject }: ModelJobName & { projectKey: number },
  { now, runsAgain = false, when = sql`true` }: { now: number; runsAgain?: boolean; when?: SQL },
) {
  const unlessPending = <Column extends keyof typeof modelJobs.$inferSelect>(column: Column, value: SQL) =>
    sql`iif(${isPending}, ${modelJobs[column]}, ${value})`
  return database
    .insert(modelJobs)
    .select(
      selectFor(
        modelJobs,
        {
          organizationKey: organization.key,
          projectKey: projects.key,
          kind,
          subject,
          status: 'pending',
          requests: 1,
          requestedAt: now,
          attempts: 0,
          leaseToken: null,
          leaseUntil: null,
          dueAt: now + RESEND_AFTER_MS,
          waitsUntil: null,
          failure: null,
          result: null,
        },
        sql`from ${projects} where ${projects.key} = ${projectKey}
          and ${projects.organizationKey} = ${organization.key} and ${projects.deletedAt} is null and ${when}`,
      ),
    )
    .onConflictDoUpdate({
      target: [modelJobs.organizationKey, modelJobs.kind, modelJobs.subject],
      set: {
        status: 'pending',
        requests: sql`${modelJobs.requests} + 1`,
        requestedAt: unlessPending('requestedAt', sql`excluded.requested_at`),
        attempts: unlessPending('attempts', sql`0`),
        dueAt: unlessPending('dueAt', sql`excluded.due_at`),
        waitsUntil: unlessPending('waitsUntil', sql`null`),
        failure: unlessPending('failure', sql`null`),
        result: unlessPending('result', sql`null`),
      },
      setWhere: runsAgain ? sql`true` : sql`not ${isPending}`,
    })
    .returning({ status: modelJobs.status })
}

/** Cancels a pending job. Its run loses the lease, which aborts the calls in flight. */
export const cancelModelJob = (store: Store, job: ModelJobName) =>
  store.database
    .update(modelJobs)
    .set({ ...NO_LEASE, status: 'cancelled', dueAt: null, waitsUntil: null, failure: null })
    .where(isJob(store, job, isPending))

export const NO_LEASE = { leaseToken: null, leaseUntil: null }

/** Finds a job's state. Undefined if it was never requested. */
export async function findModelJob(store: Store, job: ModelJobName): Promise<ModelJobState | undefined> {
  const [[row]] = await readPlain(store.database, [
    store.database
      .select(
        named({
          status: modelJobs.status,
          requestedAt: modelJobs.requestedAt,
          failure: modelJobs.failure,
          waitsUntil: modelJobs.waitsUntil,
          result: modelJobs.result,
        }),
      )
      .from(modelJobs)
      .where(isJob(store, job)),
  ])
  return row
}
