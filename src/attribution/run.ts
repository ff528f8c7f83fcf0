import type { Rating } from '../domain/feedback.ts'
import { newId, newRevision } from '../domain/ids.ts'
import { JobError } from '../domain/job-error.ts'
import type { Subject } from '../domain/subject.ts'
import { inTurns } from '../domain/turns.ts'
import type { Env } from '../env.ts'
import { isUnavailable, logFault } from '../http/errors.ts'
import { ATTRIBUTION_RENEW_MS } from '../limits.ts'
import { ModelLimitError, reserveCall } from '../model/daily-limit.ts'
import { whileHeld } from '../model/lease.ts'
import { listEnabledErrorTypes } from '../store/attribution/error-types.ts'
import { finishAttribution, settleAttribution } from '../store/attribution/finish.ts'
import type { AttributionStatus, Claim } from '../store/attribution/jobs.ts'
import { claimAttribution, postponeAttribution, releaseLease, renewLease } from '../store/attribution/leases.ts'
import { findSubject } from '../store/attribution/subject.ts'
import type { Store } from '../store/core/store.ts'
import { engineOf } from './configured-engine.ts'
import type { EngineAnswer, EngineContext } from './engine.ts'
import { searchEvidence } from './evidence/evidence.ts'

export const NO_FEEDBACK = 'The trace has no feedback to analyze'
const UNAVAILABLE = "The database or object storage didn't respond"
const FAILED = 'The analysis failed'

/**
 * Runs a trace's job if it's pending and no other run holds it. Returns the job's new status, or undefined if there was
 * nothing to do. The status is `pending` if the job was requested again in the meantime and needs another run. A failed
 * run that may be retried releases the job and throws. If the day's model calls are used up, postpones the job to the
 * next day and returns undefined.
 */
export async function runAttribution(env: Env, store: Store, traceKey: number): Promise<AttributionStatus | undefined> {
  const token = newRevision()
  try {
    const claim = await claimAttribution(store, traceKey, { token, now: Date.now() })
    return claim && (await work(env, store, claim))
  } catch (error) {
    if (error instanceof ModelLimitError) {
      // If this fails, the job is free again when its lease ends, and the next run hits the same limit.
      await postponeAttribution(store, { traceKey, token }, error.until)
      return undefined
    }
    const status = await release(store, { traceKey, token }, error)
    if (status === 'pending') throw error
    logFault('attribution_failed', { traceKey }, error)
    return status
  }
}

const RETRYABLE = { isFinal: false, retryAfterSeconds: undefined }

/**
 * Releases a job, even if the response to the claim was lost. If releasing fails, the job is free again when its lease
 * ends.
 */
async function release(store: Store, claim: Pick<Claim, 'traceKey' | 'token'>, error: unknown) {
  const { isFinal, retryAfterSeconds } = error instanceof JobError ? error : RETRYABLE
  const retryAfterMs = (retryAfterSeconds ?? 0) * 1000
  try {
    return await releaseLease(store, claim, { reason: reasonOf(error), isFinal, retryAfterMs }, Date.now())
  } catch (fault) {
    logFault('attribution_not_released', { traceKey: claim.traceKey }, fault)
    return 'pending'
  }
}

/** The reason for an error, in words that may be shown to anyone. */
function reasonOf(error: unknown): string {
  if (error instanceof JobError) return error.message
  return isUnavailable(error) ? UNAVAILABLE : FAILED
}

async function work(env: Env, store: Store, claim: Claim): Promise<AttributionStatus | undefined> {
  if (claim.basis === claim.basisBefore) return settleAttribution(store, claim, Date.now())
  const lease = { everyMs: ATTRIBUTION_RENEW_MS, about: { traceKey: claim.traceKey } }
  const extend = () => renewLease(store, claim, Date.now())
  const answer = await whileHeld(extend, lease, ({ signal, renew }) => {
    const reserve = async () => {
      await renew()
      signal.throwIfAborted()
      await reserveCall(env, store, claim.projectKey)
    }
    return analyze(env, store, claim, { signal, reserveCall: reserve })
  })
  return answer && finishAttribution(store, claim, { id: newId(), ...answer }, Date.now())
}

/** Runs the engine on a trace. Returns undefined if the trace has been deleted; its purge then removes the job. */
async function analyze(
  env: Env,
  store: Store,
  { traceKey, projectKey }: Claim,
  context: EngineContext,
): Promise<EngineAnswer | undefined> {
  const [subject, types] = await Promise.all([findSubject(store, traceKey), listEnabledErrorTypes(store, projectKey)])
  if (!subject) return undefined
  if (!isDisputed(subject)) throw new JobError(NO_FEEDBACK, { isFinal: true })
  return engineOf(env)(subject, await inTurns(searchEvidence(subject)), types, context)
}

/**
 * Whether there is still a disagreement to analyze. There may be none, because comments can be deleted and corrections
 * reset. Praise alone isn't a disagreement.
 */
const isDisputed = ({ feedback, steps }: Subject): boolean =>
  feedback.some(({ rating, comment, correction }) => !!comment || correction !== null || isNegative(rating)) ||
  // A comment on a decision belongs to its review and not to the feedback.
  steps.some(({ review }) => review?.state === 'corrected' || !!review?.comment)

const isNegative = (rating: Rating | null): boolean =>
  rating === 'negative' || (typeof rating === 'number' && rating <= 0.5)
