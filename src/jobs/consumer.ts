import type { Env, Job } from '../env.ts'
import { logFault } from '../http/errors.ts'
import { MAX_RETRY_DELAY_SECONDS } from '../limits.ts'
import { runPurge } from './purge-trace.ts'

/** What the dead-letter queue's name ends with; the rest of it is the deployment's choice. */
const DEAD_LETTER_SUFFIX = '-dead'

/**
 * Runs the jobs of one delivery. A message is a hint that may come twice, late or never; the rows in D1 say what is to be
 * done. One that fails comes again after a growing delay; what the dead-letter queue brings is logged and left to cron.
 */
export async function consume(batch: MessageBatch<Job>, env: Env): Promise<void> {
  for (const message of batch.messages) {
    if (batch.queue.endsWith(DEAD_LETTER_SUFFIX)) {
      logFault('job_failed', message.body, new Error('failed in every attempt'))
      message.ack()
      continue
    }
    try {
      await runJob(message.body, env)
      message.ack()
    } catch (error) {
      logFault('job_attempt_failed', message.body, error)
      message.retry({ delaySeconds: Math.min(2 ** message.attempts, MAX_RETRY_DELAY_SECONDS) })
    }
  }
}

/** Runs one job, in the queue's consumer or, without a queue, in cron. */
export function runJob(job: Job, env: Env): Promise<void> {
  switch (job.kind) {
    case 'purge_trace':
      return runPurge(job, env)
  }
}
