import { sendEventHints } from '../api/queue.ts'
import { JobError } from '../domain/job-error.ts'
import type { ModelJobKind } from '../domain/model-job.ts'
import type { Env, Job } from '../env.ts'
import { judgeResults } from '../experiments/judge/run.ts'
import { runExperiment } from '../experiments/model/run.ts'
import { MAX_MODEL_JOB_DELAY_SECONDS } from '../limits.ts'
import { type ModelTask, runModelJob } from '../model/job.ts'
import { suggestVersion } from '../problems/suggestion/run.ts'
import { failModelJob } from '../store/model-jobs/leases.ts'
import { openJob } from './open-job.ts'

type ModelJobMessage = Job & { kind: 'model_job' }

const TASKS: Readonly<Record<ModelJobKind, ModelTask>> = {
  run_experiment: runExperiment(),
  judge_results: judgeResults,
  suggest_version: suggestVersion,
}

/** Asks a model about a job's subject, if that's still needed. If there's more to do, sends a new job. */
export async function runModelJobMessage(job: ModelJobMessage, env: Env): Promise<void> {
  const store = await openJob(job, env)
  if (!store) return
  const next = await runModelJob(env, store, { kind: job.jobKind, subject: job.subject }, taskOf(job))
  await sendEventHints(store, env)
  if (!next) return
  const delaySeconds = Math.max(0, Math.ceil((next.at - Date.now()) / 1000))
  // As in purge-trace.ts, cron continues if there's no queue. If the queue fails, this message fails, too.
  if (delaySeconds <= MAX_MODEL_JOB_DELAY_SECONDS) await env.JOBS?.send(job, { delaySeconds })
}

/** Marks the job as failed after the queue has given up. */
export async function failModelJobMessage(job: ModelJobMessage, env: Env): Promise<void> {
  const store = await openJob(job, env)
  if (!store) return
  const name = { kind: job.jobKind, subject: job.subject }
  const now = Date.now()
  const status = await failModelJob(store, name, 'The job failed on every attempt', now)
  if (status === 'failed') await taskOf(job).failed?.(store, name, now)
  await sendEventHints(store, env)
}

function taskOf({ jobKind }: ModelJobMessage): ModelTask {
  const task = TASKS[jobKind]
  // During a deployment, an older release may get a newer one's job.
  if (!task) throw new JobError('This release has no such job', { isFinal: false })
  return task
}
