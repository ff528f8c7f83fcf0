import { queueOf } from '../api/queue.ts'
import type { Env, Job } from '../env.ts'
import { JOB_ATTEMPT_MS, JOB_DEADLINE_MS, MAX_RETRY_DELAY_SECONDS } from '../limits.ts'
import { findOrganizationByKey } from '../store/accounts/organizations.ts'
import { Deadline } from '../store/core/deadline.ts'
import { openStore, openUnscopedStore } from '../store/core/store.ts'
import { sendEvents } from '../webhooks/run.ts'

/** Sends a project's events to its webhooks. If there's more to do soon, sends a new job. */
export async function runEventSending(job: Job & { kind: 'send_events' }, env: Env): Promise<void> {
  const deadline = new Deadline(JOB_DEADLINE_MS, JOB_ATTEMPT_MS)
  const organization = await findOrganizationByKey(openUnscopedStore(env, deadline), job.organizationKey)
  if (!organization) return
  const next = await sendEvents(env, openStore(env, organization, deadline), job.projectKey)
  if (next === null) return
  const delaySeconds = Math.max(0, Math.ceil((next - Date.now()) / 1000))
  // As in purge-trace.ts: without a queue, cron continues; if the queue fails, so does this message.
  if (delaySeconds <= MAX_RETRY_DELAY_SECONDS) await queueOf(job, env)?.send(job, { delaySeconds })
}
