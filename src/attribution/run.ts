import type { Attribution, ErrorType } from '../domain/attribution.ts'
import type { Rating } from '../domain/feedback.ts'
import { newId, newRevision } from '../domain/ids.ts'
import type { Env } from '../env.ts'
import { isUnavailable, logFault } from '../http/errors.ts'
import { ATTRIBUTION_RENEW_MS } from '../limits.ts'
import { findSubject } from '../store/attribution-subject.ts'
import {
  type AttributionStatus,
  type Claim,
  claimAttribution,
  finishAttribution,
  releaseLease,
  renewLease,
  settleAttribution,
} from '../store/attributions.ts'
import { listEnabledErrorTypes } from '../store/error-types.ts'
import type { Store } from '../store/store.ts'
import { engineOf } from './configured-engine.ts'
import { type EngineAnswer, type EngineContext, EngineError } from './engine.ts'
import { findEvidencePatiently } from './evidence.ts'
import type { Subject } from './subject.ts'

export const NO_FEEDBACK = 'The trace has no feedback to analyze'
const UNAVAILABLE = 'The database or the object storage did not answer'
const FAILED = 'The analysis failed'

/**
 * Works on a trace's job, if it is pending and nobody else does. Returns what the job is then: `pending` where it was asked
 * for since, so that somebody has to look again; undefined where there was nothing to do. Where the run fails and another
 * one may not, it gives the job back and throws.
 */
export async function runAttribution(env: Env, store: Store, traceKey: number): Promise<AttributionStatus | undefined> {
  const token = newRevision()
  try {
    const claim = await claimAttribution(store, traceKey, { token, now: Date.now() })
    return claim && (await work(env, store, claim))
  } catch (error) {
    const status = await giveBack(store, { traceKey, token }, error)
    if (status === 'pending') throw error
    logFault('attribution_failed', { traceKey }, error)
    return status
  }
}

const RETRYABLE = { isFinal: false, retryAfterSeconds: undefined }

/** A claim whose answer was lost may hold the job, too. A job that cannot be given back is free when its lease ends. */
async function giveBack(store: Store, claim: Pick<Claim, 'traceKey' | 'token'>, error: unknown) {
  const { isFinal, retryAfterSeconds } = error instanceof EngineError ? error : RETRYABLE
  const retryAfterMs = (retryAfterSeconds ?? 0) * 1000
  try {
    return await releaseLease(store, claim, { reason: reasonOf(error), isFinal, retryAfterMs }, Date.now())
  } catch (fault) {
    logFault('attribution_not_released', { traceKey: claim.traceKey }, fault)
    return 'pending'
  }
}

/** What anybody may read of an error. */
function reasonOf(error: unknown): string {
  if (error instanceof EngineError) return error.message
  return isUnavailable(error) ? UNAVAILABLE : FAILED
}

async function work(env: Env, store: Store, claim: Claim): Promise<AttributionStatus | undefined> {
  if (claim.basis === claim.basisBefore) return settleAttribution(store, claim, Date.now())
  const answer = await whileHeld(store, claim, context => analyze(env, store, claim, context))
  return answer && finishAttribution(store, claim, { id: newId(), ...answer }, Date.now())
}

/** What the engine says of a trace; undefined where it was deleted meanwhile, and its purge takes the job. */
async function analyze(
  env: Env,
  store: Store,
  { traceKey, projectKey }: Claim,
  context: EngineContext,
): Promise<EngineAnswer | undefined> {
  const [subject, types] = await Promise.all([findSubject(store, traceKey), listEnabledErrorTypes(store, projectKey)])
  if (!subject) return undefined
  if (!isDisputed(subject)) throw new EngineError(NO_FEEDBACK, { isFinal: true })
  const answer = await engineOf(env)(subject, await findEvidencePatiently(subject), types, context)
  checkAnswer(answer.attribution, subject, types)
  return answer
}

/** Whether there is anything to analyze still: a comment can be deleted, a correction reset. Praise alone is no reason. */
const isDisputed = ({ feedback, steps }: Subject): boolean =>
  feedback.some(({ rating, comment, correction }) => !!comment || correction !== null || isNoPraise(rating)) ||
  steps.some(({ review }) => review?.state === 'corrected')

const isNoPraise = (rating: Rating | null): boolean =>
  rating === 'negative' || (typeof rating === 'number' && rating <= 0.5)

/** Does what may take long, and keeps the job meanwhile. */
async function whileHeld<Result>(
  store: Store,
  claim: Claim,
  task: (context: EngineContext) => Promise<Result>,
): Promise<Result> {
  const lost = new AbortController()
  const renew = async () => {
    const isHeld = await renewLease(store, claim, Date.now())
    if (!isHeld) lost.abort(new Error('somebody else has the job'))
    return isHeld
  }
  // One renewal that fails is made up for by the next.
  const tick = () => renew().catch(error => logFault('attribution_not_renewed', { traceKey: claim.traceKey }, error))
  const timer = setInterval(tick, ATTRIBUTION_RENEW_MS)
  try {
    return await task({ signal: lost.signal, renew })
  } finally {
    clearInterval(timer)
  }
}

/** An answer that names what there is not must not be stored, whichever engine gave it. */
function checkAnswer(
  { errorType, spanId, alternatives }: Attribution,
  { steps }: Subject,
  types: readonly ErrorType[],
) {
  const named = [errorType, ...alternatives.map(alternative => alternative.errorType)]
  const isKnown = named.every(name => types.some(type => type.errorType === name))
  const isPlaced = spanId === null || steps.some(step => step.spanId === spanId)
  if (!isKnown || !isPlaced) throw new EngineError('The engine named what there is not', { isFinal: false })
}
