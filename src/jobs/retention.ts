import { type Env, inShard, type Job } from '../env.ts'
import { RETENTION_STEPS } from '../limits.ts'
import type { UnscopedStore } from '../store/core/store.ts'
import { expireTraces } from '../store/traces/retention.ts'

/**
 * Deletes a database's traces that are older than their projects' `retentionDays`, a bounded number per minute, and
 * queues their purge. If there's no queue, or it fails, cron purges them.
 */
export async function applyRetention(env: Env, unscoped: UnscopedStore, now: number): Promise<void> {
  for (let step = 0; step < RETENTION_STEPS; step++) {
    const expired = await expireTraces(unscoped, now)
    if (!expired) return
    const jobs = expired.map((trace): { body: Job } => ({
      body: { kind: 'purge_trace', ...trace, ...inShard(unscoped.shard) },
    }))
    if (jobs.length > 0) await env.JOBS?.sendBatch(jobs)
  }
}
