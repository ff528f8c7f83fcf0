import type { Env, Job } from '../env.ts'
import { DELETION_STEPS, JOB_ATTEMPT_MS, JOB_DEADLINE_MS } from '../limits.ts'
import { findOrganizationByKey } from '../store/accounts/organizations.ts'
import { Deadline } from '../store/core/deadline.ts'
import { openStore, openUnscopedStore } from '../store/core/store.ts'
import { continueDeletion } from '../store/reviews/user-deletion.ts'

/** Gives a deleted user's records their new id. If there are many, a new job continues after a bounded part. */
export async function runForgetUser(job: Job & { kind: 'forget_user' }, env: Env): Promise<void> {
  const deadline = new Deadline(JOB_DEADLINE_MS, JOB_ATTEMPT_MS)
  const organization = await findOrganizationByKey(openUnscopedStore(env, deadline), job.organizationKey)
  if (!organization) return
  const store = openStore(env, organization, deadline)
  for (let step = 0; step < DELETION_STEPS; step++) {
    if (!(await continueDeletion(store, job.userId, Date.now()))) return
  }
  // Like a trace's purge: without a queue cron continues, and a queue that refuses fails this message.
  await env.JOBS?.send(job)
}
