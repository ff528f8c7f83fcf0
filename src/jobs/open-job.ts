import type { Env, Job } from '../env.ts'
import { JOB_ATTEMPT_MS, JOB_DEADLINE_MS } from '../limits.ts'
import { findOrganizationByKey } from '../store/accounts/organizations.ts'
import { Deadline } from '../store/core/deadline.ts'
import { openShard, openUnscopedStore, type Store } from '../store/core/store.ts'

/**
 * Opens the store of a job's organization, in the database that has the work. Undefined if the organization is gone.
 */
export async function openJob({ organizationKey, shard = 0 }: Job, env: Env): Promise<Store | undefined> {
  const deadline = new Deadline(JOB_DEADLINE_MS, JOB_ATTEMPT_MS)
  const organization = await findOrganizationByKey(openUnscopedStore(env, deadline), organizationKey)
  return organization && openShard(env, organization, deadline, shard)
}
