import { newId } from '../domain/ids.ts'
import { type Env, inShard, type Job, type Runtime } from '../env.ts'
import { logFault } from '../http/errors.ts'
import { MAX_QUEUE_BATCH } from '../limits.ts'
import type { Store } from '../store/core/store.ts'

/** A job's queue. Undefined on a deployment without queues. */
export const queueOf = ({ kind }: Job, { JOBS, EVENTS }: Env): Queue<Job> | undefined =>
  kind === 'send_events' ? (EVENTS ?? JOBS) : JOBS

/**
 * Sends hints for jobs of one kind to their queue, after the response if necessary. It's fine if the queue is missing
 * or fails: cron picks up overdue work.
 */
export async function enqueue(
  jobs: readonly Job[],
  { env, requestId, waitUntil }: Omit<Runtime, 'address'>,
): Promise<boolean> {
  const [job] = jobs
  const queue = job && queueOf(job, env)
  if (!queue) return false
  const sent = sendAll(queue, jobs).then(
    () => true,
    error => {
      logFault('queue_refused', { requestId }, error)
      return false
    },
  )
  waitUntil(sent)
  return sent
}

/** Sends hints for the events that a request may have written. Like `enqueue`, it never rejects. */
export function enqueueEvents(store: Store, runtime: Runtime): void {
  const jobs = takeEventJobs(store)
  if (jobs.length > 0) runtime.waitUntil(enqueue(jobs, runtime))
}

/** Sends hints for the events that a job may have written, and waits until they're sent. */
export async function sendEventHints(store: Store, env: Env): Promise<void> {
  const jobs = takeEventJobs(store)
  if (jobs.length > 0) await enqueue(jobs, { env, requestId: newId(), waitUntil: () => {} })
}

/** Empties the outboxes. Returns the jobs that send their events. */
const takeEventJobs = ({ organization, opened }: Store): Job[] =>
  [...opened.values()].flatMap(({ shard, outbox }) => {
    const projectKeys = [...outbox]
    outbox.clear()
    return projectKeys.map(
      (projectKey): Job => ({ kind: 'send_events', organizationKey: organization.key, projectKey, ...inShard(shard) }),
    )
  })

/** Uses as few calls as possible, because an invocation may make only a limited number. */
async function sendAll(queue: Queue<Job>, jobs: readonly Job[]): Promise<void> {
  const [job] = jobs
  if (job && jobs.length === 1) {
    await queue.send(job)
    return
  }
  for (let start = 0; start < jobs.length; start += MAX_QUEUE_BATCH) {
    await queue.sendBatch(jobs.slice(start, start + MAX_QUEUE_BATCH).map(body => ({ body })))
  }
}
