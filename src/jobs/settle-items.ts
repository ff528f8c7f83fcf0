import type { Env, Job } from '../env.ts'
import { settleItems } from '../review/settle-items.ts'
import { openJob } from './open-job.ts'

/** Brings a trace's dataset items up to date. */
export async function runItemSettling(job: Job & { kind: 'settle_items' }, env: Env): Promise<void> {
  const store = await openJob(job, env)
  if (store) await settleItems(store, job.traceKey, Date.now())
}
