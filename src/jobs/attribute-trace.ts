import { sendEventHints } from '../api/queue.ts'
import { runAttribution } from '../attribution/run.ts'
import type { Env, Job } from '../env.ts'
import { JOB_ATTEMPT_MS, JOB_DEADLINE_MS } from '../limits.ts'
import { findOrganizationByKey } from '../store/accounts/organizations.ts'
import { failAttribution } from '../store/attribution/leases.ts'
import { Deadline } from '../store/core/deadline.ts'
import { openStore, openUnscopedStore, type Store } from '../store/core/store.ts'

type AttributionJob = Job & { kind: 'attribute_trace' }

/**
 * Analyzes a trace's disagreement if that's still needed. If it was requested again in the meantime, sends a new job.
 */
export async function runAttributionJob(job: AttributionJob, env: Env): Promise<void> {
  const store = await storeOf(job, env)
  if (!store) return
  const status = await runAttribution(env, store, job.traceKey)
  await sendEventHints(store, env)
  // As in purge-trace.ts: without a queue, cron continues; if the queue fails, so does this message.
  if (status === 'pending') await env.JOBS?.send(job)
}

/** Marks the analysis as failed after the queue has given up. */
export async function failAttributionJob(job: AttributionJob, env: Env): Promise<void> {
  const store = await storeOf(job, env)
  if (!store) return
  await failAttribution(store, job.traceKey, 'The analysis failed on every attempt', Date.now())
  await sendEventHints(store, env)
}

async function storeOf({ organizationKey }: AttributionJob, env: Env): Promise<Store | undefined> {
  const deadline = new Deadline(JOB_DEADLINE_MS, JOB_ATTEMPT_MS)
  const organization = await findOrganizationByKey(openUnscopedStore(env, deadline), organizationKey)
  return organization && openStore(env, organization, deadline)
}
