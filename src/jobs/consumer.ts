import { EngineError } from '../attribution/engine.ts'
import type { Env, Job } from '../env.ts'
import { logFault } from '../http/errors.ts'
import { MAX_RETRY_DELAY_SECONDS } from '../limits.ts'
import { failAttributionJob, runAttributionJob } from './attribute-trace.ts'
import { runForgetUser } from './forget-user.ts'
import { runProjectPurge } from './purge-project.ts'
import { runPurge } from './purge-trace.ts'

/** What the dead-letter queue's name ends with; the rest of it is the deployment's choice. */
const DEAD_LETTER_SUFFIX = '-dead'

/**
 * Runs the jobs of one delivery. A message is a hint that may come twice, late or never; the rows in D1 say what is to be
 * done. One that fails comes again after a growing delay; what the dead-letter queue brings is logged and given up.
 */
export async function consume(batch: MessageBatch<Job>, env: Env): Promise<void> {
  const isDead = batch.queue.endsWith(DEAD_LETTER_SUFFIX)
  for (const message of batch.messages) {
    try {
      await (isDead ? giveUp(message.body, env) : runJob(message.body, env))
      message.ack()
    } catch (error) {
      logFault('job_attempt_failed', message.body, error)
      message.retry({ delaySeconds: retryDelaySeconds(error, message.attempts) })
    }
  }
}

/** How long until a job is tried again: longer each time, and no sooner than an engine's provider wants to be asked. */
function retryDelaySeconds(error: unknown, attempts: number): number {
  const wishedFor = error instanceof EngineError ? (error.retryAfterSeconds ?? 0) : 0
  return Math.min(Math.max(2 ** attempts, wishedFor), MAX_RETRY_DELAY_SECONDS)
}

/** What becomes of a job that failed in every attempt: an analysis has failed, anything else is left to cron. */
async function giveUp(job: Job, env: Env): Promise<void> {
  logFault('job_failed', job, new Error('failed in every attempt'))
  if (job.kind === 'attribute_trace') await failAttributionJob(job, env)
}

/** Runs one job, in the queue's consumer or, without a queue, in cron. */
export function runJob(job: Job, env: Env): Promise<void> {
  switch (job.kind) {
    case 'purge_trace':
      return runPurge(job, env)
    case 'purge_project':
      return runProjectPurge(job, env)
    case 'attribute_trace':
      return runAttributionJob(job, env)
    case 'forget_user':
      return runForgetUser(job, env)
  }
}
