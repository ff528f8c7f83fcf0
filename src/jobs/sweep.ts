import type { Env, Job } from '../env.ts'
import { logFault } from '../http/errors.ts'
import { JOB_ATTEMPT_MS, JOB_PATIENCE_MS, RESEND_BATCH } from '../limits.ts'
import { sweepOrphans } from '../store/orphans.ts'
import { Patience } from '../store/patience.ts'
import { takeDuePurges } from '../store/purge.ts'
import { openRegistry } from '../store/store.ts'
import { runJob } from './consumer.ts'
import { forgetOldActs } from './forget-acts.ts'

/**
 * What cron does every minute: sends again what a lost message left undone, or does it where there is no queue; with
 * nothing of that to do, it looks for objects that no row names.
 */
export async function sweep(env: Env, now: number): Promise<void> {
  const registry = openRegistry(env, new Patience(JOB_PATIENCE_MS, JOB_ATTEMPT_MS))
  const purges = await takeDuePurges(registry, now, env.JOBS ? RESEND_BATCH : 1)
  for (const purge of purges) {
    const job: Job = { kind: 'purge_trace', ...purge }
    try {
      await (env.JOBS ? env.JOBS.send(job) : runJob(job, env))
    } catch (error) {
      logFault('sweep_failed', job, error)
    }
  }
  if (purges.length === 0) await sweepOrphans(registry, now)
  await forgetOldActs(env, registry, now)
}
