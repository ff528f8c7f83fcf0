import { bookmarkHeaders, keepBookmark } from './bookmark.ts'
import { chosenOrganization } from './organization.ts'

/** A failed call: a readable message with the request ID for support. The status is 0 if there was no response. */
export class Fault extends Error {
  override readonly name = 'Fault'
  readonly status: number
  readonly code: string
  /** The errors for each field. `path` is a dotted path to the field. */
  readonly details: readonly { path: string; message: string }[]
  /** Empty if there was no response. */
  readonly requestId: string
  /** The ID of the user who holds the span. */
  readonly heldBy: string | undefined

  constructor(
    message: string,
    { status, code, details = [], requestId, heldBy }: Pick<Fault, 'status' | 'code' | 'requestId'> & Partial<Fault>,
  ) {
    super(message)
    this.status = status
    this.code = code
    this.details = details
    this.requestId = requestId
    this.heldBy = heldBy
  }
}

type Parameter = string | number | boolean | null | undefined

export interface Call {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Null, undefined, and '' are left out. */
  query?: Readonly<Record<string, Parameter>>
  body?: unknown
  headers?: Readonly<Record<string, string>>
  signal?: AbortSignal
  /** Lets the request finish even if the page closes. Works only for bodies of up to 64 KiB. */
  keepalive?: boolean
}

/** A path with its query. */
export function pathWith(path: string, query: Readonly<Record<string, Parameter>> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '')
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? path : `${path}?${text}`
}

/** The longest wait before a retry: the rate limit's window plus a second. */
const MAX_WAIT_SECONDS = 61
const MAX_ATTEMPTS = 3

let reportWait = (_seconds: number): void => {}

/** Sets the listener to call when a request has to wait for the rate limit. */
export function onWait(listener: (seconds: number) => void): void {
  reportWait = listener
}

/** Calls the API in the current session. `Answer` is the type of the endpoint's response (`wire.ts`). */
export async function call<Answer>(path: string, request: Call = {}): Promise<Answer> {
  return (await answerOf(await respond(path, request))) as Answer
}

/** Fetches a part of a file from the API, with the cursor for the next part. The last part's cursor is null. */
export async function fetchFile(path: string, request: Call = {}): Promise<{ file: Blob; nextCursor: string | null }> {
  const response = await respond(path, request)
  return { file: await response.blob(), nextCursor: response.headers.get('x-next-cursor') }
}

const answerOf = (response: Response): Promise<unknown> => response.json().catch(() => undefined)

/**
 * The response to a successful call. A rate-limited call had no effect, so it's sent again once the limit allows it.
 * Throws a `Fault` for any other failure, and rethrows aborts.
 */
async function respond(path: string, request: Call): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    const response = await send(path, request)
    keepBookmark(response)
    if (response.ok) return response
    const answer = await answerOf(response)
    const seconds = secondsToWait(response)
    if (seconds === undefined || seconds > MAX_WAIT_SECONDS || attempt === MAX_ATTEMPTS) throw faultOf(response, answer)
    reportWait(seconds)
    await pause(seconds * 1000, request.signal)
  }
}

/** How long a 429 response asks the client to wait. Undefined for other responses. */
function secondsToWait({ status, headers }: Response): number | undefined {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  return status === 429 && seconds >= 0 ? seconds : undefined
}

function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const timer = setTimeout(resolve, milliseconds)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}

function send(
  path: string,
  { method = 'GET', query, body, headers, signal, keepalive = false }: Call,
): Promise<Response> {
  const organization = chosenOrganization()
  return fetch(pathWith(path, query), {
    method,
    keepalive,
    headers: {
      ...(organization !== null && { 'x-org-slug': organization }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(method === 'GET' && bookmarkHeaders()),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  }).catch((cause: unknown) => {
    if (signal?.aborted) throw cause
    throw new Fault("Couldn't reach the service. Check your connection.", {
      status: 0,
      code: 'unreachable',
      requestId: '',
    })
  })
}

function faultOf(response: Response, answer: unknown): Fault {
  const { status, headers } = response
  const seconds = secondsToWait(response)
  const hint = seconds === undefined ? '' : `. Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`
  const { error, code, details, heldBy } = (answer instanceof Object ? answer : {}) as Partial<Record<string, unknown>>
  return new Fault((typeof error === 'string' ? error : `The service returned status ${status}`) + hint, {
    status,
    code: typeof code === 'string' ? code : '',
    details: Array.isArray(details) ? details : [],
    requestId: headers.get('x-request-id') ?? '',
    heldBy: typeof heldBy === 'string' ? heldBy : undefined,
  })
}

/** Whether the user must choose an organization. */
export const needsOrganization = ({ status, details }: Fault): boolean =>
  status === 401 && details.some(({ path }) => path === 'x-org-slug')
