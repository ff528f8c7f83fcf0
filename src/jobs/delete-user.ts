import type { Env, Job } from '../env.ts'
import { DELETION_STEPS, JOB_ATTEMPT_MS, JOB_DEADLINE_MS } from '../limits.ts'
import { findOrganizationByKey } from '../store/accounts/organizations.ts'
import { Deadline } from '../store/core/deadline.ts'
import { openStore, openUnscopedStore } from '../store/core/store.ts'
import { continueDeletion } from '../store/reviews/user-deletion.ts'

/** Replaces a deleted user's id in their records. If there are many, a new job continues after a bounded part. */
export async function runUserDeletion(job: Job & { kind: 'forget_user' }, env: Env): Promise<void> {
  const deadline = new Deadline(JOB_DEADLINE_MS, JOB_ATTEMPT_MS)
  const organization = await findOrganizationByKey(openUnscopedStore(env, deadline), job.organizationKey)
  if (!organization) return
  const store = openStore(env, organization, deadline)
  for (let step = 0; step < DELETION_STEPS; step++) {
    if (!(await continueDeletion(store, job.userId, Date.now()))) return
  }
  // As in purge-trace.ts: without a queue, cron continues; if the queue fails, so does this message.
  await env.JOBS?.send(job)
}
