import * as v from 'valibot'
import { Gone, Revoked, Unanswered } from '../domain/failures.ts'
import { MAX_ERROR_DETAILS, MAX_ERROR_PATH_LENGTH } from '../limits.ts'
import { jsonResponse } from './response.ts'

/** One thing that is wrong with a request: where (a dotted path, '' for the whole) and what to mend. */
export interface ErrorDetail {
  path: string
  message: string
}

interface ApiErrorOptions {
  details?: readonly ErrorDetail[]
  headers?: Record<string, string>
  /** More fields of the body. */
  fields?: Readonly<Record<string, string>>
  /** The status's own code where absent. */
  code?: string
  /** What went wrong behind it: logged, never shown. */
  cause?: unknown
}

/** What each error status is called, and what it says where nothing more is known. */
export const ERRORS = {
  400: { code: 'invalid_request', message: 'Invalid request; `details` names the fields' },
  401: { code: 'not_authenticated', message: 'Not authenticated' },
  403: { code: 'forbidden', message: 'Forbidden' },
  404: { code: 'not_found', message: 'Not found' },
  405: { code: 'method_not_allowed', message: 'Method not allowed' },
  409: { code: 'conflict', message: 'It exists already' },
  412: { code: 'precondition_failed', message: 'It has changed since; read it again' },
  413: { code: 'too_large', message: 'Request body too large' },
  415: {
    code: 'unsupported_media_type',
    message: 'The body must be JSON, sent with content-type: application/json',
  },
  422: { code: 'unprocessable', message: 'What the request names does not allow it' },
  429: { code: 'rate_limited', message: 'Rate limit exceeded' },
  500: { code: 'internal', message: 'Internal error' },
  502: { code: 'failed', message: 'It failed for good; it can be asked for again' },
  503: { code: 'unavailable', message: 'Temporarily unavailable, please retry' },
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
    v.pipe(v.string(), v.metadata({ description: 'With 409 on a held span: who holds it, a user or a key' })),
  ),
  until: v.optional(v.pipe(v.string(), v.metadata({ description: 'Until when, ISO 8601' }))),
})

/** The body of every error on a path of OTLP: `google.rpc.Status` (github.com/googleapis/googleapis, google/rpc/status.proto). */
export const StatusBody = v.object({ code: v.number(), message: v.string() })

/** An answer other than success that the caller may see. Made by the constructors below, mapped to a response in one place. */
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

/** 400 with the field at fault. `path` '' speaks of the request as a whole. */
export const badRequest = (message: string, path = '') => invalidRequest([{ path, message }])

/** 400 with the fields at fault, the first of them where they are many; the first one makes the message. */
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

/** What a 401 must name, by RFC 9110: how to authenticate. No browser asks a person for it. */
const CHALLENGE = { 'www-authenticate': 'Bearer realm="countersign"' }

export const notAuthenticated = () => new ApiError(401, undefined, { headers: CHALLENGE })
/** 401 for one who is of several organizations, and did not say which of them is meant. */
export const organizationRequired = () => {
  const message = 'You are a user of several organizations: say which one'
  return new ApiError(401, undefined, { details: [{ path: 'x-org-slug', message }], headers: CHALLENGE })
}
/** 403; `reason` says which right is missing, where that is the caller's own business. */
export const forbidden = (reason?: string) =>
  new ApiError(403, undefined, reason ? { details: [{ path: '', message: reason }] } : {})
/** 403 for a key of one project on another: its holder may know that the other exists. */
export const otherProject = () => forbidden('This key is for another project')
export const notFound = (message?: string) => new ApiError(404, message)
export const conflict = (message: string, path: string) => new ApiError(409, message, { details: [{ path, message }] })
/** 409: somebody else reviews it. `until`: an ISO time. */
export const heldByOther = (claim: { heldBy: string; until: string }) => new ApiError(409, HELD, { fields: claim })
export const HELD = 'Somebody else is reviewing this span; `takeOver` decides nevertheless'
export const unprocessable = (message: string, path: string) =>
  new ApiError(422, message, { details: [{ path, message }] })
/** 422 with each field at fault, the first of them where they are many. */
export const unprocessableFields = (message: string, faults: readonly ErrorDetail[]) =>
  new ApiError(422, message, { details: shortened(faults) })
/** 412: `If-Match` names what is no longer there. */
export const changedSince = () => new ApiError(412)
export const tooLarge = (message?: string) => new ApiError(413, message)
/** 415; `message` says what is supported, where that is not JSON alone. */
export const unsupportedMediaType = (message?: string) => new ApiError(415, message)

export const methodNotAllowed = (allowed: readonly string[]) =>
  new ApiError(405, undefined, { headers: { allow: allowed.join(', ') } })

export const rateLimited = (retryAfterSeconds: number, headers: Record<string, string>) =>
  new ApiError(429, undefined, {
    headers: { ...headers, 'retry-after': String(retryAfterSeconds) },
  })

/** 429: the project's model calls of the day are used up. What was asked for goes on by itself then. */
export const modelLimitReached = (retryAfterSeconds: number) =>
  new ApiError(429, "This project's model calls of today are used up; the analysis goes on at 00:00 UTC", {
    code: 'model_limit_reached',
    headers: { 'retry-after': String(retryAfterSeconds) },
  })

/** 503: a part of the platform did not answer; whether a write took effect is unknown. */
export const unavailable = (retryAfterSeconds: number, cause: unknown) =>
  new ApiError(503, undefined, {
    headers: { 'retry-after': String(retryAfterSeconds) },
    cause,
  })

/** 502: what was asked for failed in every attempt; `reason` holds nothing of what it was about. */
export const failedForGood = (reason: string) => new ApiError(502, reason)

const internal = () => new ApiError(500)

/** The `ApiError` that an error is, stands for, or was caused by: drizzle wraps what its driver throws. */
export function findApiError(error: unknown): ApiError | undefined {
  if (error instanceof ApiError) return error
  if (error instanceof Unanswered) return unavailable(error.retryAfterSeconds, error)
  if (error instanceof Gone) return notFound(error.message || undefined)
  if (error instanceof Revoked) return forbidden(error.message)
  return error instanceof Error && error.cause !== undefined ? findApiError(error.cause) : undefined
}

/** Whether an error is, or was caused by, a part of the platform that did not answer. */
export const isUnavailable = (error: unknown): boolean => findApiError(error)?.status === 503

/** The innermost cause. Only it is logged: drizzle's own message holds the SQL's parameters, which are payloads. */
function rootCause(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? rootCause(error.cause) : error
}

/** A log line: JSON, with the ids of what it is about, no payload, no secret. */
export function logFault(event: string, about: Readonly<Record<string, string | number>>, error: unknown): void {
  const cause = rootCause(error)
  const fault = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
  console.error(JSON.stringify({ event, ...about, fault }))
}

/** What an error says, as a body. */
export const errorBody = ({ message, code, details, fields }: ApiError, requestId: string) => ({
  error: message,
  code,
  ...(details.length > 0 && { details: [...details] }),
  ...fields,
  requestId,
})

/** An error that a part of a request made, its paths as they are in the whole. */
export function errorWithin(place: string, { status, message, details, fields }: ApiError): ApiError {
  const placed = details.map(detail => ({ ...detail, path: [place, detail.path].filter(Boolean).join('.') }))
  return status === 400 ? invalidRequest(placed) : new ApiError(status, message, { details: placed, fields })
}

/** The only way from a thrown error to a response. What is no `ApiError` is a 500 that says nothing; every fault is logged. */
export function errorResponse(error: unknown, requestId: string): Response {
  const known = findApiError(error) ?? internal()
  if (known.status === 500 || known.status === 503) logFault('request_failed', { requestId }, error)
  return jsonResponse(known.status, errorBody(known, requestId), known.headers)
}
