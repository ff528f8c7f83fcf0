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

/**
 * Calls the API as whoever is signed in. `Answer` is what the endpoint's schema says (`wire.ts`). Throws a `Fault` for every
 * other answer and where none came; an abort stays what it is.
 */
export async function call<Answer>(
  path: string,
  { method = 'GET', query, body, headers, signal, keepalive = false }: Call = {},
): Promise<Answer> {
  const response = await fetch(pathWith(path, query), {
    method,
    keepalive,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  }).catch((cause: unknown) => {
    if (signal?.aborted) throw cause
    throw new Fault('The service did not answer. Are you online?', { status: 0, code: 'unreachable', requestId: '' })
  })
  const answer: unknown = await response.json().catch(() => undefined)
  if (!response.ok) throw faultOf(response, answer)
  return answer as Answer
}

function faultOf({ status, headers }: Response, answer: unknown): Fault {
  const { error, code, details, heldBy } = (answer instanceof Object ? answer : {}) as Partial<Record<string, unknown>>
  return new Fault(typeof error === 'string' ? error : `The service answered ${status}`, {
    status,
    code: typeof code === 'string' ? code : '',
    details: Array.isArray(details) ? details : [],
    requestId: headers.get('x-request-id') ?? '',
    heldBy: typeof heldBy === 'string' ? heldBy : undefined,
  })
}
