import type { Env, Job } from '../env.ts'
import { DELETION_STEPS } from '../limits.ts'
import { continueDeletion } from '../store/reviews/user-deletion.ts'
import { openJob } from './open-job.ts'

/** Replaces a deleted user's id in a bounded number of their records. If there are more, a new job continues. */
export async function runUserDeletion(job: Job & { kind: 'forget_user' }, env: Env): Promise<void> {
  const store = await openJob(job, env)
  if (!store) return
  for (let step = 0; step < DELETION_STEPS; step++) {
    if (!(await continueDeletion(store, job.userId, Date.now()))) return
  }
  // As in purge-trace.ts, cron continues if there's no queue. If the queue fails, this message fails, too.
  await env.JOBS?.send(job)
}
