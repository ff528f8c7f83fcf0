import { findUrlFault } from '../domain/webhook-url.ts'
import type { Env } from '../env.ts'
import {
  KEPT_ANSWER_BYTES,
  MAX_RETRY_AFTER_MS,
  WEBHOOK_RETRY_JITTER,
  WEBHOOK_RETRY_SECONDS,
  WEBHOOK_TIMEOUT_MS,
} from '../limits.ts'
import type { Outcome } from '../store/webhooks/sending.ts'
import { sign } from './secrets.ts'

/** One attempt at a delivery. */
export interface Attempt {
  url: string
  /** The event's id, the same for each attempt. */
  id: string
  body: string
  secrets: readonly string[]
  /** The number of this attempt, from 1. */
  attempts: number
  isSlack: boolean
}

/** Identifies a request as a delivery. */
const USER_AGENT = 'Countersign-Webhooks'

/**
 * Whether a request is a delivery, from this deployment or another one. The service accepts no deliveries, so it can
 * refuse all of them. A deployment doesn't know its own domains, so a webhook's URL may point to one of them. Such a
 * webhook causes only one request.
 */
export const isDelivery = ({ headers }: Request): boolean =>
  headers.get('user-agent') === USER_AGENT && headers.has('webhook-signature')

/** The outcome of an attempt, and what else the response says. */
export interface Answered extends Outcome {
  /** Whether the receiver responded that it's permanently gone. */
  isGone: boolean
}

/** Sends a message once. Never throws: a receiver that can't be reached is an outcome like any other. */
export async function attemptDelivery(attempt: Attempt, { ALLOW_LOCAL_WEBHOOKS }: Env): Promise<Answered> {
  const attemptedAt = Date.now()
  // Checked again, because the deployment's settings may have changed.
  const fault = findUrlFault(attempt.url, { ownHost: undefined, allowsLocal: ALLOW_LOCAL_WEBHOOKS === '1' })
  const answered = fault === undefined ? await post(attempt, attemptedAt) : noAnswer(`The URL ${fault}`)
  const { retryAfterMs, isSuccess, ...rest } = answered
  const durationMs = Date.now() - attemptedAt
  const wait = WEBHOOK_RETRY_SECONDS[attempt.attempts - 1]
  const jitter = 1 + Math.random() * WEBHOOK_RETRY_JITTER
  const isOver = isSuccess || wait === undefined
  const retryAt = isOver ? null : attemptedAt + durationMs + Math.round(Math.max(wait * 1000 * jitter, retryAfterMs))
  return { ...rest, attemptedAt, durationMs, isSuccess, retryAt }
}

type Received = Omit<Answered, 'attemptedAt' | 'durationMs' | 'retryAt'> & { retryAfterMs: number }

const noAnswer = (fault: string): Received => ({
  status: null,
  fault,
  answer: null,
  isSuccess: false,
  isDown: true,
  isGone: false,
  retryAfterMs: 0,
})

async function post({ url, id, body, secrets, isSlack }: Attempt, now: number): Promise<Received> {
  const timestamp = Math.floor(now / 1000)
  const signal = AbortSignal.timeout(WEBHOOK_TIMEOUT_MS)
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': USER_AGENT,
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': await sign(secrets, { id, timestamp, body }),
      },
      body,
      // A redirect could lead anywhere.
      redirect: 'manual',
      signal,
    })
    const { status, ok } = response
    if (ok) {
      // Not awaited, because the rest of the response can't turn a success into a failure.
      response.body?.cancel().catch(() => {})
      return { ...noAnswer(''), status, fault: null, isSuccess: true, isDown: false }
    }
    const answer = await beginningOf(response)
    return {
      status,
      fault: status >= 300 && status < 400 ? 'Redirects are not followed' : `The receiver returned ${status}`,
      answer,
      isSuccess: false,
      isDown: status === 429 || status >= 500,
      isGone: status === 410 || (isSlack && SLACK_GONE.has(answer.trim())),
      retryAfterMs: retryAfterMsOf(response, Date.now()),
    }
  } catch {
    // The error may contain the URL, which may contain a token.
    return noAnswer(signal.aborted ? `No response within ${WEBHOOK_TIMEOUT_MS / 1000} s` : 'Could not connect')
  }
}

/** What Slack responds if the app or its webhook was removed. */
const SLACK_GONE: ReadonlySet<string> = new Set([
  'no_service',
  'no_service_id',
  'no_active_hooks',
  'no_team',
  'team_disabled',
  'invalid_token',
])

/**
 * The wait, in milliseconds, that a response requests with `Retry-After`, which contains seconds or a date. 0 if the
 * header is missing or invalid.
 */
function retryAfterMsOf({ headers }: Response, now: number): number {
  const text = headers.get('retry-after')?.trim() ?? ''
  const asked = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  return asked > 0 ? Math.min(asked, MAX_RETRY_AFTER_MS) : 0
}

/** The first KiB of a response as text, or less if it doesn't arrive in time. Reads no more, and never throws. */
async function beginningOf({ body }: Response): Promise<string> {
  if (!body) return ''
  const kept = new Uint8Array(KEPT_ANSWER_BYTES)
  let length = 0
  const reader = body.getReader()
  try {
    while (length < KEPT_ANSWER_BYTES) {
      const { done, value } = await reader.read()
      if (done) break
      const part = value.subarray(0, KEPT_ANSWER_BYTES - length)
      kept.set(part, length)
      length += part.length
    }
  } catch {
    // The status counts even if the rest of the response doesn't arrive.
  }
  reader.cancel().catch(() => {})
  return new TextDecoder().decode(kept.subarray(0, length))
}
