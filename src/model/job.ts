import { newRevision } from '../domain/ids.ts'
import { JobError } from '../domain/job-error.ts'
import type { Env } from '../env.ts'
import { isUnavailable, logFault } from '../http/errors.ts'
import { MODEL_JOB_RENEW_MS } from '../limits.ts'
import type { Store } from '../store/core/store.ts'
import type { ModelJob, ModelJobName } from '../store/model-jobs/jobs.ts'
import {
  claimModelJob,
  finishModelJob,
  handOverModelJob,
  releaseModelJob,
  renewModelJob,
} from '../store/model-jobs/leases.ts'
import { ModelLimitError, reserveCall } from './daily-limit.ts'
import { LeaseLost, whileHeld } from './lease.ts'

/** What ties a run to its job. */
export interface TaskContext {
  /** Aborts when another run takes over the job, or when the job is canceled. */
  signal: AbortSignal
  /**
   * Extends the lease on the job and counts a model call. Call this before each model call.
   *
   * @throws {ModelLimitError} If the project has used up its calls for the day. The job then waits for the next day. If
   *   the lease is lost, `signal.reason` is thrown.
   */
  reserveCall: () => Promise<void>
}

/**
 * How a run ended. `done`: the job is over, with a result as JSON. `continue`: the run lasted long enough, and another
 * run continues the work. `wait`: another run continues it later, for a reason that users see.
 */
export type TaskOutcome =
  | { state: 'done'; result: string | null }
  | { state: 'continue' }
  | { state: 'wait'; until: number; reason: string }

/** What a job of one kind does. */
export interface ModelTask {
  /**
   * Does the work, or a bounded part of it. Reads everything again, because an earlier run may have done some of the
   * work.
   *
   * @throws {JobError} If the work can't continue. Unless the error is final, the job runs again.
   */
  run: (env: Env, store: Store, job: ModelJob, context: TaskContext) => Promise<TaskOutcome>
  /** Cleans up after a job that won't be tried again. May run more than once. */
  failed?: (store: Store, job: ModelJobName, now: number) => Promise<void>
}

/** When the job needs another message. Undefined if it needs none, because it has ended or waits for cron. */
export type NextRun = { at: number } | undefined

const UNAVAILABLE = "The database or object storage didn't respond"
const FAILED = 'The job failed'

/**
 * Runs a job if it's pending and no other run holds it. A failed run that may be retried releases the job and throws.
 * If the day's model calls are used up, the job waits for the next day.
 */
export async function runModelJob(env: Env, store: Store, name: ModelJobName, task: ModelTask): Promise<NextRun> {
  const token = newRevision()
  const held = { ...name, token }
  try {
    const job = await claimModelJob(store, name, { token, now: Date.now() })
    if (job === 'failed') await task.failed?.(store, name, Date.now())
    if (job === undefined || job === 'failed') return undefined
    return await settle(store, job, await work(env, store, job, task))
  } catch (error) {
    if (error instanceof LeaseLost) return undefined
    if (error instanceof ModelLimitError) {
      // If this fails, the job is free again when its lease ends, and the next run hits the same limit.
      await handOverModelJob(store, held, { until: error.until, reason: error.message }, Date.now())
      return undefined
    }
    if ((await release(store, held, error)) !== 'failed') throw error
    logFault('model_job_failed', { ...name }, error)
    await task.failed?.(store, name, Date.now())
    return undefined
  }
}

const work = (env: Env, store: Store, job: ModelJob, task: ModelTask): Promise<TaskOutcome> => {
  const { kind, subject } = job
  const lease = { everyMs: MODEL_JOB_RENEW_MS, about: { kind, subject } }
  return whileHeld(
    () => renewModelJob(store, job, Date.now()),
    lease,
    ({ signal, renew }) => {
      const reserve = async () => {
        await renew()
        signal.throwIfAborted()
        await reserveCall(env, store, job.projectKey)
      }
      return task.run(env, store, job, { signal, reserveCall: reserve })
    },
  )
}

/** Stores how a run ended. */
async function settle(store: Store, job: ModelJob, outcome: TaskOutcome): Promise<NextRun> {
  const now = Date.now()
  if (outcome.state === 'done') {
    const status = await finishModelJob(store, job, outcome.result, now)
    return status === 'pending' ? { at: now } : undefined
  }
  const pause =
    outcome.state === 'wait' ? { until: outcome.until, reason: outcome.reason } : { until: null, reason: null }
  return (await handOverModelJob(store, job, pause, now)) ? { at: pause.until ?? now } : undefined
}

const RETRYABLE = { isFinal: false, retryAfterSeconds: undefined }

/**
 * Releases a job, even if the response to the claim was lost. If releasing fails, the job is free again when its lease
 * ends.
 */
async function release(store: Store, job: Pick<ModelJob, 'kind' | 'subject' | 'token'>, error: unknown) {
  const { isFinal, retryAfterSeconds } = error instanceof JobError ? error : RETRYABLE
  const retryAfterMs = (retryAfterSeconds ?? 0) * 1000
  try {
    return await releaseModelJob(store, job, { reason: reasonOf(error), isFinal, retryAfterMs }, Date.now())
  } catch (fault) {
    logFault('model_job_not_released', { kind: job.kind, subject: job.subject }, fault)
    return 'pending'
  }
}

/** The reason for an error, in words that are safe to show to anyone. */
function reasonOf(error: unknown): string {
  if (error instanceof JobError) return error.message
  return isUnavailable(error) ? UNAVAILABLE : FAILED
}
