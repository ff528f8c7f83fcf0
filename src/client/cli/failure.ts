import { CountersignError, describe } from '../errors.ts'
import { fieldOf } from '../service.ts'
import { type Ending, EXIT_CODES } from './exit-codes.ts'

/** A fault in a request: where it is, and what to fix. */
interface ErrorDetail {
  path: string
  message: string
}

interface FailureText {
  details?: readonly ErrorDetail[]
  fields?: Readonly<Record<string, string>>
  hint?: string | undefined
  cause?: unknown
}

/** Why a command can't do what it was asked to. Its message and its hint are for the user. */
export class Failure extends Error {
  readonly ending: Ending
  /** A code for programs, such as `usage` or `not_found`. */
  readonly code: string
  readonly details: readonly ErrorDetail[]
  /** The API's other fields: who holds a span, and until when. */
  readonly fields: Readonly<Record<string, string>>
  /** What to do about it. */
  readonly hint: string | undefined

  constructor(
    ending: Ending,
    code: string,
    message: string,
    { details = [], fields = {}, hint, cause }: FailureText = {},
  ) {
    super(message, cause === undefined ? {} : { cause })
    this.ending = ending
    this.code = code
    this.details = details
    this.fields = fields
    this.hint = hint
  }
}

/** The command line, a file, or a value is invalid. */
export const invalid = (message: string, hint?: string): Failure =>
  new Failure('usage', 'usage', message, hint === undefined ? {} : { hint })

/** What went wrong, as a user should see it. */
export interface Fault {
  ending: Ending
  code: string
  message: string
  details: readonly ErrorDetail[]
  hint: string | undefined
  requestId: string | undefined
  /** The API's other fields: who holds a span, and until when. */
  fields: Readonly<Record<string, string>>
}

/** Describes anything that a command threw. */
export function faultOf(error: unknown): Fault {
  if (error instanceof Failure) {
    const { ending, code, message, details, hint, fields, cause } = error
    const requestId = cause instanceof CountersignError ? cause.requestId : undefined
    return { ending, code, message, details, hint, requestId, fields }
  }
  if (error instanceof CountersignError) {
    const { code, message, requestId, body } = error
    const [details, fields] = [detailsIn(body), fieldsIn(body)]
    return { ending: endingOf(error), code, message, details, hint: hintFor(error), requestId, fields }
  }
  if (error instanceof Error && fieldOf(error, 'syscall') !== undefined && fieldOf(error, 'path') !== undefined) {
    // A missing folder or a full disk, for example, isn't this program's fault.
    return faultOf(new Failure('usage', 'file', error.message, { cause: error }))
  }
  const { name, message } = describe(error)
  return {
    ending: 'internal',
    code: 'internal',
    message: [name, message].filter(Boolean).join(': '),
    details: [],
    hint: 'This is a bug. Please report it with the command that you ran.',
    requestId: undefined,
    fields: {},
  }
}

function endingOf({ status, code }: CountersignError): Ending {
  if (code === 'gate_not_met') return 'no'
  if (code === 'invalid_answer') return 'usage'
  if (status === 0 || status === 202 || status === 429 || status >= 500) return 'unavailable'
  if (status === 401 || status === 403) return 'denied'
  if (status === 404) return 'missing'
  return status === 409 || status === 412 ? 'conflict' : 'usage'
}

function hintFor({ status, code }: CountersignError): string | undefined {
  if (status === 401) return 'Run "countersign login", or set COUNTERSIGN_URL and COUNTERSIGN_KEY.'
  if (code === 'person_required') return 'Use a person\'s key: create one with actsAs "person".'
  if (code === 'unreachable') return 'Check the URL and your connection. COUNTERSIGN_URL may be set to a different URL.'
  if (status === 412) return 'Read it again before you decide.'
  return undefined
}

/** The faults that a response lists. */
export function detailsIn(body: unknown): ErrorDetail[] {
  const details = fieldOf(body, 'details')
  if (!Array.isArray(details)) return []
  return details.map(detail => ({ path: String(fieldOf(detail, 'path')), message: String(fieldOf(detail, 'message')) }))
}

/** Who holds a span, and until when. */
function fieldsIn(body: unknown): Readonly<Record<string, string>> {
  const [heldBy, until] = [fieldOf(body, 'heldBy'), fieldOf(body, 'until')]
  return typeof heldBy === 'string' && typeof until === 'string' ? { heldBy, until } : {}
}

/** A fault as JSON, for `--json`. */
export const faultAsJson = ({ ending, code, message, details, hint, requestId, fields }: Fault): object => ({
  error: message,
  code,
  exitCode: EXIT_CODES[ending].code,
  ...(details.length > 0 && { details }),
  ...fields,
  ...(hint !== undefined && { hint }),
  ...(requestId !== undefined && { requestId }),
})
