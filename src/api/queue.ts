import type { Job, Runtime } from '../env.ts'
import { logFault } from '../http/errors.ts'
import { MAX_QUEUE_BATCH } from '../limits.ts'

/** Sends hints, after the response if need be. A queue that refuses, or none, is no fault: cron does what lies too long. */
export async function enqueue(jobs: readonly Job[], { env, requestId, waitUntil }: Runtime): Promise<boolean> {
  if (!env.JOBS) return false
  const sent = sendAll(env.JOBS, jobs).then(
    () => true,
    error => {
      logFault('queue_refused', { requestId }, error)
      return false
    },
  )
  waitUntil(sent)
  return sent
}

/** In as few calls as can be: each is one of those that an invocation may make. */
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
