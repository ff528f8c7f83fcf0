import type { Env, Job } from '../env.ts'
import { purgeTrace } from '../store/traces/purge.ts'
import { openJob } from './open-job.ts'

/** Deletes a deleted trace's rows and objects. If there are too many for one job, a new job continues. */
export async function runTracePurge(job: Job & { kind: 'purge_trace' }, env: Env): Promise<void> {
  const store = await openJob(job, env)
  if (!store) return
  const isDone = await purgeTrace(store, job.traceKey, Date.now())
  // If there's no queue, cron continues. If the queue fails, this message fails, too, and is delivered again.
  if (!isDone) await env.JOBS?.send(job)
}
