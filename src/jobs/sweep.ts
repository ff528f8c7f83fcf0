import type { Env, Job } from '../env.ts'
import { logFault } from '../http/errors.ts'
import { JOB_ATTEMPT_MS, JOB_PATIENCE_MS, RESEND_BATCH } from '../limits.ts'
import { Patience } from '../store/patience.ts'
import { takeDuePurges } from '../store/purge.ts'
import { openRegistry } from '../store/store.ts'
import { runJob } from './consumer.ts'

/** What cron does every minute: sends again what a lost message left undone, or does it where there is no queue. */
export async function sweep(env: Env, now: number): Promise<void> {
  const registry = openRegistry(env, new Patience(JOB_PATIENCE_MS, JOB_ATTEMPT_MS))
  for (const purge of await takeDuePurges(registry, now, env.JOBS ? RESEND_BATCH : 1)) {
    const job: Job = { kind: 'purge_trace', ...purge }
    try {
      await (env.JOBS ? env.JOBS.send(job) : runJob(job, env))
    } catch (error) {
      logFault('sweep_failed', job, error)
    }
  }
}
