import type { Env, Job } from '../env.ts'
import { JOB_ATTEMPT_MS, JOB_DEADLINE_MS, PROJECT_PURGE_STEPS } from '../limits.ts'
import { findOrganizationByKey } from '../store/accounts/organizations.ts'
import { Deadline } from '../store/core/deadline.ts'
import { openStore, openUnscopedStore } from '../store/core/store.ts'
import { purgeProject } from '../store/traces/project-purge.ts'

/**
 * Deletes a deleted project's data: traces in separate jobs, everything else here. If there's too much for one job, a
 * new job continues.
 */
export async function runProjectPurge(job: Job & { kind: 'purge_project' }, env: Env): Promise<void> {
  const { organizationKey, projectKey } = job
  const deadline = new Deadline(JOB_DEADLINE_MS, JOB_ATTEMPT_MS)
  const organization = await findOrganizationByKey(openUnscopedStore(env, deadline), organizationKey)
  if (!organization) return
  const isDone = await purgeProject(openStore(env, organization, deadline), projectKey, {
    now: Date.now(),
    steps: PROJECT_PURGE_STEPS,
    // If there's no queue, or it fails, cron finds the deleted traces.
    onTraces: async traceKeys => {
      const jobs = traceKeys.map((traceKey): { body: Job } => ({
        body: { kind: 'purge_trace', organizationKey, traceKey },
      }))
      await env.JOBS?.sendBatch(jobs)
    },
  })
  // As in purge-trace.ts: without a queue, cron continues; if the queue fails, so does this message.
  if (!isDone) await env.JOBS?.send(job)
}
