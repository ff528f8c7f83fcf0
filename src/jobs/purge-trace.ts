import type { Env, Job } from '../env.ts'
import { JOB_ATTEMPT_MS, JOB_DEADLINE_MS } from '../limits.ts'
import { findOrganizationByKey } from '../store/accounts/organizations.ts'
import { Deadline } from '../store/core/deadline.ts'
import { openStore, openUnscopedStore } from '../store/core/store.ts'
import { purgeTrace } from '../store/traces/purge.ts'

/** Deletes a deleted trace's rows and objects. If there are too many for one job, a new job continues. */
export async function runTracePurge(job: Job & { kind: 'purge_trace' }, env: Env): Promise<void> {
  const deadline = new Deadline(JOB_DEADLINE_MS, JOB_ATTEMPT_MS)
  const organization = await findOrganizationByKey(openUnscopedStore(env, deadline), job.organizationKey)
  if (!organization) return
  const isDone = await purgeTrace(openStore(env, organization, deadline), job.traceKey, Date.now())
  // Without a queue, cron continues. If the queue fails, so does this message, and it's delivered again.
  if (!isDone) await env.JOBS?.send(job)
}
