import * as v from 'valibot'
import { Gone, Revoked, Unanswered } from '../domain/failures.ts'
import { MAX_ERROR_DETAILS, MAX_ERROR_PATH_LENGTH } from '../limits.ts'
import { jsonResponse } from './response.ts'

/** One fault in a request: its place (a dotted path, '' for the whole request) and what to fix. */
export interface ErrorDetail {
  path: string
  message: string
}

interface ApiErrorOptions {
  details?: readonly ErrorDetail[]
  headers?: Record<string, string>
  /** Additional fields of the body. */
  fields?: Readonly<Record<string, string>>
  /** Default: the status's own code. */
  code?: string
  /** The underlying error, which is logged but never shown. */
  cause?: unknown
}

/** The code of each error status, and its message if nothing more specific is known. */
export const ERRORS = {
  400: { code: 'invalid_request', message: 'Invalid request; `details` names the fields' },
  401: { code: 'not_authenticated', message: 'Not authenticated' },
  403: { code: 'forbidden', message: 'Forbidden' },
  404: { code: 'not_found', message: 'Not found' },
  405: { code: 'method_not_allowed', message: 'Method not allowed' },
  409: { code: 'conflict', message: 'Already exists' },
  410: { code: 'takes_no_webhooks', message: "Countersign doesn't receive webhooks, from itself or others" },
  412: { code: 'precondition_failed', message: 'Changed since you read it; read it again' },
  413: { code: 'too_large', message: 'Request body too large' },
  415: {
    code: 'unsupported_media_type',
    message: 'The body must be JSON, sent with content-type: application/json',
  },
  422: { code: 'unprocessable', message: "The request is valid but can't be carried out" },
  429: { code: 'rate_limited', message: 'Rate limit exceeded' },
  500: { code: 'internal', message: 'Internal error' },
  502: { code: 'failed', message: 'Failed after all retries; you can try again' },
  503: { code: 'unavailable', message: 'Temporarily unavailable; please retry' },
} as const

export type ErrorStatus = keyof typeof ERRORS

export const ERROR_STATUSES = Object.keys(ERRORS).map(Number).filter(isErrorStatus)

function isErrorStatus(status: number): status is ErrorStatus {
  return status in ERRORS
}

/** The body of every error. */
export const ErrorBody = v.strictObject({
  error: v.string(),
  code: v.string(),
  details: v.optional(v.array(v.strictObject({ path: v.string(), message: v.string() }))),
  requestId: v.string(),
  heldBy: v.optional(
    v.pipe(
      v.string(),
      v.metadata({ description: 'For a 409 on a claimed span: the ID of the user or key that holds the claim' }),
    ),
  ),
  until: v.optional(v.pipe(v.string(), v.metadata({ description: 'When the claim expires, as an ISO 8601 time' }))),
})

/**
 * The body of every error on OTLP paths: `google.rpc.Status` (github.com/googleapis/googleapis,
 * google/rpc/status.proto).
 */
export const StatusBody = v.object({ code: v.number(), message: v.string() })

/** The body of an error in a message of the Model Context Protocol: a JSON-RPC error. */
export const RpcErrorBody = v.object({
  jsonrpc: v.literal('2.0'),
  id: v.nullable(v.union([v.string(), v.number()])),
  error: v.object({ code: v.number(), message: v.string() }),
})

/** An error that the caller may see. The constructors below create it, and one function maps it to a response. */
export class ApiError extends Error {
  readonly status: ErrorStatus
  readonly code: string
  readonly details: readonly ErrorDetail[]
  readonly headers: Readonly<Record<string, string>>
  readonly fields: Readonly<Record<string, string>>

  constructor(
    status: ErrorStatus,
    message: string = ERRORS[status].message,
    { details = [], headers = {}, fields = {}, code = ERRORS[status].code, cause }: ApiErrorOptions = {},
  ) {
    super(message, { cause })
    this.name = 'ApiError'
    this.status = status
    this.code = code
    this.details = details
    this.headers = headers
    this.fields = fields
  }
}

/** 400 for one field. With the path '', the message is about the whole request. */
export const badRequest = (message: string, path = '') => invalidRequest([{ path, message }])

/** 400 for several fields, at most the first 20. The first one is the error's message. */
export function invalidRequest(faults: readonly ErrorDetail[]): ApiError {
  const details = shortened(faults)
  const [first] = details
  const message = first ? [first.path, first.message].filter(Boolean).join(': ') : 'Invalid request'
  return new ApiError(400, message, { details })
}

const shortened = (faults: readonly ErrorDetail[]): ErrorDetail[] =>
  faults
    .slice(0, MAX_ERROR_DETAILS)
    .map(({ path, message }) => ({ path: path.slice(0, MAX_ERROR_PATH_LENGTH), message }))

/** The authentication scheme that RFC 9110 requires in a 401. `Bearer` doesn't trigger the browser's login dialog. */
const CHALLENGE = { 'www-authenticate': 'Bearer realm="countersign"' }

export const notAuthenticated = () => new ApiError(401, undefined, { headers: CHALLENGE })
/** 401 for a user in several organizations who didn't select one. */
export const organizationRequired = () => {
  const message = 'You belong to several organizations; select one'
  return new ApiError(401, undefined, { details: [{ path: 'x-org-slug', message }], headers: CHALLENGE })
}
/** 403. `reason` says which permission is missing, if the caller may know. */
export const forbidden = (reason?: string) =>
  new ApiError(403, undefined, reason ? { details: [{ path: '', message: reason }] } : {})
/** 403 because only a person may do this, and the caller's key doesn't act as one. */
export const personRequired = (actsAs: 'agent' | 'pipeline') =>
  new ApiError(403, undefined, { code: 'person_required', details: [{ path: '', message: PERSON_REQUIRED[actsAs] }] })
const PERSON_REQUIRED = {
  agent: 'Only a person may do this; this key acts as an agent',
  pipeline: 'Only a person may do this; this key acts as a pipeline',
}
/** 403 for a project's key that's used on another project. The caller may learn that the other project exists. */
export const otherProject = () => forbidden('This key is for another project')
export const notFound = (message?: string) => new ApiError(404, message)
export const conflict = (message: string, path: string) => new ApiError(409, message, { details: [{ path, message }] })
/** 409 for several fields, at most the first 20. */
export const conflictFields = (message: string, faults: readonly ErrorDetail[]) =>
  new ApiError(409, message, { details: shortened(faults) })
/** 409 because a prompt version doesn't meet its step's gate. Each detail names a condition. */
export const gateNotMet = (message: string, details: readonly ErrorDetail[]) =>
  new ApiError(409, message, { code: 'gate_not_met', details })
/** 410 for a webhook whose URL leads to a Countersign deployment, perhaps this one. The 410 disables the webhook. */
export const takesNoWebhooks = () => new ApiError(410)
/** 409 because somebody else is reviewing the span. `until` is an ISO time. */
export const heldByOther = (claim: { heldBy: string; until: string }) => new ApiError(409, HELD, { fields: claim })
export const IMPORT_NEEDS_MANAGE = 'Imports need the manage scope'
export const HELD = 'Somebody else is reviewing this span; set `takeOver` to decide anyway'
/** 409 because enough other people are reviewing the span. */
export const noPlaceLeft = () => new ApiError(409, NO_PLACE)
const NO_PLACE = 'Enough other people have voted on this span or claimed it'
export const unprocessable = (message: string, path: string) =>
  new ApiError(422, message, { details: [{ path, message }] })
/** 422 for several fields, at most the first 20. */
export const unprocessableFields = (message: string, faults: readonly ErrorDetail[]) =>
  new ApiError(422, message, { details: shortened(faults) })
/** 412 because `If-Match` doesn't match the current version. */
export const changedSince = () => new ApiError(412)
export const tooLarge = (message?: string) => new ApiError(413, message)
/** 415. `message` lists the supported types, if JSON isn't the only one. */
export const unsupportedMediaType = (message?: string) => new ApiError(415, message)

export const methodNotAllowed = (allowed: readonly string[]) =>
  new ApiError(405, undefined, { headers: { allow: allowed.join(', ') } })

export const rateLimited = (retryAfterSeconds: number, headers: Record<string, string>) =>
  new ApiError(429, undefined, {
    headers: { ...headers, 'retry-after': String(retryAfterSeconds) },
  })

/** 429 because the project has used up its model calls for the day. The job continues on its own the next day. */
export const modelLimitReached = (retryAfterSeconds: number) =>
  new ApiError(429, "This project has used up today's model calls; the analysis continues at 00:00 UTC", {
    code: 'model_limit_reached',
    headers: { 'retry-after': String(retryAfterSeconds) },
  })

/** 409 because the deployment has no model, or has invalid settings for it. `message` says how to configure one. */
export const modelNotConfigured = (message: string) => new ApiError(409, message, { code: 'model_not_configured' })

/** 503 because a part of the platform didn't respond. Whether a write took effect is unknown. */
export const unavailable = (retryAfterSeconds: number, cause: unknown) =>
  new ApiError(503, undefined, {
    headers: { 'retry-after': String(retryAfterSeconds) },
    cause,
  })

/** 502 because a job failed on every attempt. `reason` contains no data from the job. */
export const failedPermanently = (reason: string) => new ApiError(502, reason)

const internal = () => new ApiError(500)

/** Finds the `ApiError` that an error is, maps to, or was caused by, because drizzle wraps its driver's errors. */
export function findApiError(error: unknown): ApiError | undefined {
  if (error instanceof ApiError) return error
  if (error instanceof Unanswered) return unavailable(error.retryAfterSeconds, error)
  if (error instanceof Gone) return notFound(error.message || undefined)
  if (error instanceof Revoked) return forbidden(error.message)
  return error instanceof Error && error.cause !== undefined ? findApiError(error.cause) : undefined
}

/** Whether an error was caused by a part of the platform that didn't respond. */
export const isUnavailable = (error: unknown): boolean => findApiError(error)?.status === 503

/**
 * The innermost cause. It's the only one that's logged, because drizzle's own message contains the SQL's parameters,
 * which are payloads.
 */
function rootCause(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? rootCause(error.cause) : error
}

/** Logs a fault as a JSON line. `about` contains the ids of its subject. It must not contain payloads or secrets. */
export function logFault(
  event: string,
  about: Readonly<Record<string, string | number | null | undefined>>,
  error: unknown,
): void {
  const cause = rootCause(error)
  const fault = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
  console.error(JSON.stringify({ event, ...about, fault }))
}

/** An error's response body. */
export const errorBody = ({ message, code, details, fields }: ApiError, requestId: string) => ({
  error: message,
  code,
  ...(details.length > 0 && { details: [...details] }),
  ...fields,
  requestId,
})

/** Turns an error in a part of a request into an error of the whole request, by prefixing its paths with `place`. */
export function errorWithin(place: string, { status, message, details, fields, code }: ApiError): ApiError {
  const placed = details.map(detail => ({ ...detail, path: [place, detail.path].filter(Boolean).join('.') }))
  return status === 400 ? invalidRequest(placed) : new ApiError(status, message, { details: placed, fields, code })
}

/**
 * The only place that turns a thrown error into a response. Any error except an `ApiError` becomes a 500 without
 * details. Every 500 and 503 is logged.
 */
export function errorResponse(error: unknown, requestId: string): Response {
  const known = findApiError(error) ?? internal()
  if (known.status === 500 || known.status === 503) logFault('request_failed', { requestId }, error)
  return jsonResponse(known.status, errorBody(known, requestId), known.headers)
}
