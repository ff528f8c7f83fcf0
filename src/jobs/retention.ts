import type { Env, Job } from '../env.ts'
import { RETENTION_STEPS } from '../limits.ts'
import type { UnscopedStore } from '../store/core/store.ts'
import { expireTraces } from '../store/traces/retention.ts'

/**
 * Deletes traces that outlived their projects' `retentionDays`, so many a minute, and hands them to the queue to be purged;
 * without a queue, or where it refuses, cron does that.
 */
export async function retain(env: Env, unscoped: UnscopedStore, now: number): Promise<void> {
  for (let step = 0; step < RETENTION_STEPS; step++) {
    const expired = await expireTraces(unscoped, now)
    if (!expired) return
    const jobs = expired.map((trace): { body: Job } => ({ body: { kind: 'purge_trace', ...trace } }))
    if (jobs.length > 0) await env.JOBS?.sendBatch(jobs)
  }
}
