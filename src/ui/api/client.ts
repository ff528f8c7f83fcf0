import { chosenOrganization } from './organization.ts'

/** An answer other than success, or none at all (status 0): in words for people, with what support needs to find it. */
export class Fault extends Error {
  override readonly name = 'Fault'
  readonly status: number
  readonly code: string
  /** What is wrong with which field: dotted paths. */
  readonly details: readonly { path: string; message: string }[]
  /** '' where no answer came. */
  readonly requestId: string
  /** The id of whoever holds the span that the call would have decided on. */
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
  /** Left out where a value is null, undefined or ''. */
  query?: Readonly<Record<string, Parameter>>
  body?: unknown
  headers?: Readonly<Record<string, string>>
  signal?: AbortSignal
  /** Sent to its end even where the page is left meanwhile; for bodies of up to 64 KiB. */
  keepalive?: boolean
}

/** A path with its query, as the API takes it. */
export function pathWith(path: string, query: Readonly<Record<string, Parameter>> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '')
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? path : `${path}?${text}`
}

/** The longest wait of a rate limit that a call waits by itself: the window in which requests are counted, and a second. */
const MAX_WAIT_SECONDS = 61
const MAX_ATTEMPTS = 3

let tellOfWait = (_seconds: number): void => {}

/** Sets what is told each time that a call has to wait because there were too many. */
export function onWait(listener: (seconds: number) => void): void {
  tellOfWait = listener
}

/**
 * Calls the API as whoever is signed in. `Answer` is what the endpoint's schema says (`wire.ts`). A call that was one too many
 * for its minute had no effect: it is sent again when the answer says so. Throws a `Fault` for every other answer and where
 * none came; an abort stays what it is.
 */
export async function call<Answer>(path: string, request: Call = {}): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    const response = await send(path, request)
    const answer: unknown = await response.json().catch(() => undefined)
    if (response.ok) return answer as Answer
    const seconds = secondsToWait(response)
    if (seconds === undefined || seconds > MAX_WAIT_SECONDS || attempt === MAX_ATTEMPTS) throw faultOf(response, answer)
    tellOfWait(seconds)
    await pause(seconds * 1000, request.signal)
  }
}

/** What a 429 says of when to come back. */
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
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  }).catch((cause: unknown) => {
    if (signal?.aborted) throw cause
    throw new Fault('The service did not answer. Are you online?', { status: 0, code: 'unreachable', requestId: '' })
  })
}

function faultOf(response: Response, answer: unknown): Fault {
  const { status, headers } = response
  const seconds = secondsToWait(response)
  const hint = seconds === undefined ? '' : `. Try again in ${seconds} seconds.`
  const { error, code, details, heldBy } = (answer instanceof Object ? answer : {}) as Partial<Record<string, unknown>>
  return new Fault((typeof error === 'string' ? error : `The service answered ${status}`) + hint, {
    status,
    code: typeof code === 'string' ? code : '',
    details: Array.isArray(details) ? details : [],
    requestId: headers.get('x-request-id') ?? '',
    heldBy: typeof heldBy === 'string' ? heldBy : undefined,
  })
}

/** Whether a refusal says that the person has to choose. */
export const needsOrganization = ({ status, details }: Fault): boolean =>
  status === 401 && details.some(({ path }) => path === 'x-org-slug')
