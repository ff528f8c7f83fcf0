import type { Env, Job } from '../env.ts'
import { JOB_ATTEMPT_MS, JOB_DEADLINE_MS } from '../limits.ts'
import { settleItems } from '../review/settle-items.ts'
import { findOrganizationByKey } from '../store/accounts/organizations.ts'
import { Deadline } from '../store/core/deadline.ts'
import { openStore, openUnscopedStore } from '../store/core/store.ts'

/** Brings a trace's dataset items up to date. */
export async function runItemSettling(job: Job & { kind: 'settle_items' }, env: Env): Promise<void> {
  const deadline = new Deadline(JOB_DEADLINE_MS, JOB_ATTEMPT_MS)
  const organization = await findOrganizationByKey(openUnscopedStore(env, deadline), job.organizationKey)
  if (organization) await settleItems(openStore(env, organization, deadline), job.traceKey, Date.now())
}
