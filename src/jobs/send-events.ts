import { queueOf } from '../api/queue.ts'
import type { Env, Job } from '../env.ts'
import { MAX_RETRY_DELAY_SECONDS } from '../limits.ts'
import { sendEvents } from '../webhooks/run.ts'
import { openJob } from './open-job.ts'

/** Sends a project's events to its webhooks. If there's more to do soon, sends a new job. */
export async function runEventSending(job: Job & { kind: 'send_events' }, env: Env): Promise<void> {
  const store = await openJob(job, env)
  if (!store) return
  const next = await sendEvents(env, store, job.projectKey)
  if (next === null) return
  const delaySeconds = Math.max(0, Math.ceil((next - Date.now()) / 1000))
  // As in purge-trace.ts, cron continues if there's no queue. If the queue fails, this message fails, too.
  if (delaySeconds <= MAX_RETRY_DELAY_SECONDS) await queueOf(job, env)?.send(job, { delaySeconds })
}
