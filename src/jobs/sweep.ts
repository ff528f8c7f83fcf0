import type { Env } from '../env.ts'
import { logFault } from '../http/errors.ts'
import { JOB_PATIENCE_MS, RESEND_AFTER_MS } from '../limits.ts'
import { listUnfinishedDeletions } from '../store/purge.ts'
import { openRegistry } from '../store/store.ts'
import { runJob } from './consumer.ts'

/**
 * What cron does every minute: sends again what a lost message left undone. On a deployment without a queue it does the
 * work itself.
 */
export async function sweep(env: Env, now: number): Promise<void> {
  const registry = openRegistry(env, { remainingMs: JOB_PATIENCE_MS })
  for (const job of await listUnfinishedDeletions(registry, now - RESEND_AFTER_MS)) {
    try {
      await (env.JOBS ? env.JOBS.send(job) : runJob(job, env))
    } catch (error) {
      logFault('sweep_failed', job.kind, error)
    }
  }
}
