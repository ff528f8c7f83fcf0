import { sendEventHints } from '../api/queue.ts'
import { runAttribution } from '../attribution/run.ts'
import type { Env, Job } from '../env.ts'
import { failAttribution } from '../store/attribution/leases.ts'
import { openJob } from './open-job.ts'

type AttributionJob = Job & { kind: 'attribute_trace' }

/**
 * Analyzes a trace's disagreement if that's still needed. If it was requested again in the meantime, sends a new job.
 */
export async function runAttributionJob(job: AttributionJob, env: Env): Promise<void> {
  const store = await openJob(job, env)
  if (!store) return
  const status = await runAttribution(env, store, job.traceKey)
  await sendEventHints(store, env)
  // As in purge-trace.ts, cron continues if there's no queue. If the queue fails, this message fails, too.
  if (status === 'pending') await env.JOBS?.send(job)
}

/** Marks the analysis as failed after the queue has given up. */
export async function failAttributionJob(job: AttributionJob, env: Env): Promise<void> {
  const store = await openJob(job, env)
  if (!store) return
  await failAttribution(store, job.traceKey, 'The analysis failed on every attempt', Date.now())
  await sendEventHints(store, env)
}
