import { type Env, inShard, type Job } from '../env.ts'
import { PROJECT_PURGE_STEPS } from '../limits.ts'
import { purgeProject } from '../store/traces/project-purge.ts'
import { openJob } from './open-job.ts'

/**
 * Deletes a deleted project's data: traces in separate jobs, everything else here. If there's too much for one job, a
 * new job continues.
 */
export async function runProjectPurge(job: Job & { kind: 'purge_project' }, env: Env): Promise<void> {
  const { organizationKey, projectKey } = job
  const store = await openJob(job, env)
  if (!store) return
  const isDone = await purgeProject(store, projectKey, {
    now: Date.now(),
    steps: PROJECT_PURGE_STEPS,
    // If there's no queue, or it fails, cron finds the deleted traces.
    onTraces: async (traceKeys, shard) => {
      const jobs = traceKeys.map((traceKey): { body: Job } => ({
        body: { kind: 'purge_trace', organizationKey, traceKey, ...inShard(shard) },
      }))
      await env.JOBS?.sendBatch(jobs)
    },
  })
  // As in purge-trace.ts, cron continues if there's no queue. If the queue fails, this message fails, too.
  if (!isDone) await env.JOBS?.send(job)
}
