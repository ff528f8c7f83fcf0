import type { Env, Job } from '../env.ts'
import { JOB_PATIENCE_MS } from '../limits.ts'
import { findOrganizationByKey } from '../store/organizations.ts'
import { purgeTrace } from '../store/purge.ts'
import { openRegistry, openStore } from '../store/store.ts'

/** Removes the rows and objects of a deleted trace; a large one is handed on to a next job after a bounded part. */
export async function runPurge(job: Job & { kind: 'purge_trace' }, env: Env): Promise<void> {
  const patience = { remainingMs: JOB_PATIENCE_MS }
  const organization = await findOrganizationByKey(openRegistry(env, patience), job.organizationKey)
  if (!organization) return
  const done = await purgeTrace(openStore(env, organization, patience), job.traceKey)
  // Without a queue, or if it refuses, cron finds the rest.
  if (!done) await env.JOBS?.send(job)
}
