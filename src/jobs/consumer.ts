import { JobError } from '../domain/job-error.ts'
import type { Env, Job } from '../env.ts'
import { logFault } from '../http/errors.ts'
import { MAX_RETRY_DELAY_SECONDS } from '../limits.ts'
import { Copying } from '../store/core/copying.ts'
import { failAttributionJob, runAttributionJob } from './attribute-trace.ts'
import { runUserDeletion } from './delete-user.ts'
import { failModelJobMessage, runModelJobMessage } from './model-job.ts'
import { runProjectPurge } from './purge-project.ts'
import { runTracePurge } from './purge-trace.ts'
import { runEventSending } from './send-events.ts'
import { runItemSettling } from './settle-items.ts'

/** The suffix of the dead-letter queue's name. The deployment chooses the rest. */
const DEAD_LETTER_SUFFIX = '-dead'

/**
 * Runs the jobs of one delivery. A message is only a hint, which may arrive twice, late, or never; the rows in D1 are
 * authoritative. A failed job is retried after a growing delay. Jobs from the dead-letter queue are logged and never
 * retried.
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

/**
 * The delay before a job's next attempt. It grows with each attempt, and is at least as long as the model's provider
 * asks for, but never longer than `MAX_RETRY_DELAY_SECONDS`.
 */
function retryDelaySeconds(error: unknown, attempts: number): number {
  const requested = error instanceof JobError ? (error.retryAfterSeconds ?? 0) : 0
  return Math.min(Math.max(2 ** attempts, requested), MAX_RETRY_DELAY_SECONDS)
}

/** Handles a job that failed on every attempt. A job that asks a model is marked as failed; cron retries all others. */
async function giveUp(job: Job, env: Env): Promise<void> {
  logFault('job_failed', job, new Error('failed on every attempt'))
  if (job.kind === 'attribute_trace') await failAttributionJob(job, env)
  if (job.kind === 'model_job') await failModelJobMessage(job, env)
}

/** Runs one job: in the queue's consumer, or in cron if there is no queue. */
export async function runJob(job: Job, env: Env): Promise<void> {
  const copying = new Copying(env)
  await run(job, copying.bindings())
  await copying.finish(job.organizationKey)
}

function run(job: Job, env: Env): Promise<void> {
  switch (job.kind) {
    case 'purge_trace':
      return runTracePurge(job, env)
    case 'purge_project':
      return runProjectPurge(job, env)
    case 'attribute_trace':
      return runAttributionJob(job, env)
    case 'settle_items':
      return runItemSettling(job, env)
    case 'forget_user':
      return runUserDeletion(job, env)
    case 'model_job':
      return runModelJobMessage(job, env)
    case 'send_events':
      return runEventSending(job, env)
  }
}
