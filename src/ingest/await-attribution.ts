import { enqueueEvents } from '../api/queue.ts'
import { runAttribution } from '../attribution/run.ts'
import type { Runtime } from '../env.ts'
import { isUnavailable, logFault } from '../http/errors.ts'
import {
  ATTRIBUTION_CONSUMER_MS,
  ATTRIBUTION_WAIT_MS,
  MAX_ATTRIBUTION_POLL_MS,
  MIN_ATTRIBUTION_POLL_MS,
  STORE_DEADLINE_MS,
} from '../limits.ts'
import { type AttributionState, findAttribution, findJobStatus } from '../store/attribution/state.ts'
import { Deadline } from '../store/core/deadline.ts'
import { openShard, reopenStore, type Store } from '../store/core/store.ts'

/** A request waiting for the analysis of a trace. */
interface Waiting {
  runtime: Runtime
  store: Store
  traceKey: number
  /** Whether the queue accepted the job. */
  sent: Promise<boolean>
  /** Aborts when the client disconnects. */
  signal: AbortSignal
}

/**
 * Waits until a job is done, for at most 25 seconds. If no consumer claims the job within 2 seconds, or if the queue
 * refuses it, the job runs here, and continues after the response if necessary. It doesn't wait for a job that's paused
 * until tomorrow because the project has used up today's model calls. Returns the job's state, or undefined if the
 * trace is gone. 503 if the platform fails. A retried request then finds the job as it was left.
 */
export async function awaitAttribution(waiting: Waiting): Promise<AttributionState | undefined> {
  const { runtime, store, traceKey, sent, signal } = waiting
  // The request's own deadline ends long before this wait.
  const open = (milliseconds: number) =>
    openShard(runtime.env, store.organization, new Deadline(milliseconds), store.shard)
  const until = Date.now() + ATTRIBUTION_WAIT_MS
  let consumerUntil = Date.now() + ATTRIBUTION_CONSUMER_MS
  const refused = resolveIfFalse(sent)
  refused.then(() => {
    consumerUntil = 0
  })
  const left = new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
  let run: Promise<void> | undefined
  let hasFailed = false
  const runInline = async () => {
    try {
      const own = open(ATTRIBUTION_WAIT_MS)
      await runAttribution(runtime.env, own, traceKey)
      enqueueEvents(own, runtime)
    } catch (error) {
      if (isUnavailable(error)) throw error
      // The queue or cron makes the next attempt later.
      hasFailed = true
      logFault('job_attempt_failed', { kind: 'attribute_trace', traceKey, requestId: runtime.requestId }, error)
    } finally {
      run = undefined
    }
  }
  for (let pauseMs = MIN_ATTRIBUTION_POLL_MS; ; pauseMs = Math.min(1.5 * pauseMs, MAX_ATTRIBUTION_POLL_MS)) {
    const leftMs = until - Date.now()
    const pause = new Promise<void>(resolve => setTimeout(resolve, run ? leftMs : Math.min(pauseMs, leftMs)))
    await Promise.race([pause, left, run ?? (consumerUntil > 0 ? refused : pause)])
    const job = await findJobStatus(open(STORE_DEADLINE_MS), traceKey)
    if (job?.status !== 'pending' || signal.aborted || Date.now() >= until) break
    if ((job.waitsUntil ?? 0) > Date.now()) break
    const isFree = (job.leaseUntil ?? 0) <= Date.now()
    if (!run && !hasFailed && isFree && Date.now() >= consumerUntil) {
      run = runInline()
      runtime.waitUntil(run.catch(() => {}))
    }
  }
  return findAttribution(reopenStore(runtime.env, store, new Deadline(STORE_DEADLINE_MS)), { key: traceKey })
}

/** Resolves if the promise resolves to false. Otherwise, it never resolves. */
const resolveIfFalse = (promise: Promise<boolean>): Promise<void> =>
  new Promise(resolve => promise.then(isTrue => (isTrue ? undefined : resolve())))
