import * as v from 'valibot'
import { authenticate, type Caller, checkAdmin } from '../auth/authenticate.ts'
import type { Scope } from '../auth/keys.ts'
import { requireSameOrigin } from '../auth/same-origin.ts'
import { sessionCookie } from '../auth/session.ts'
import type { SearchableField } from '../domain/metadata.ts'
import type { Env, Job } from '../env.ts'
import { MAX_BODY_BYTES, MAX_QUEUE_BATCH, STORE_PATIENCE_MS } from '../limits.ts'
import { takeOpenCall } from '../rate-limit/address.ts'
import { takeToken } from '../rate-limit/token.ts'
import type { Act } from '../store/audit.ts'
import { Patience } from '../store/patience.ts'
import { type Organization, openRegistry, openStore, type Registry, type Store } from '../store/store.ts'
import { readJson } from './body.ts'
import { type ErrorStatus, errorResponse, forbidden, invalidRequest, logFault, notFound } from './errors.ts'
import { taggedResponse } from './etag.ts'
import { jsonResponse } from './response.ts'
import { parse, validationDetails } from './validation.ts'

type Fields = v.ObjectEntries

/**
 * An endpoint's contract: all that the router, the OpenAPI document and the auth and tenancy suites need to know of it.
 * Paths under `/api/v1/` are the ingestion interface: a bad path parameter is a 400 there, a 404 elsewhere.
 */
export interface Contract {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With parameters in braces, as OpenAPI writes them. */
  readonly path: `/${string}`
  readonly summary: string
  /** The scope that a key needs (any one of several); `admin` needs ADMIN_TOKEN; `public` needs nothing. */
  readonly scope: Scope | readonly Scope[] | 'admin' | 'public'
  readonly params?: v.ObjectSchema<Fields, undefined>
  readonly query?: v.StrictObjectSchema<Fields, undefined>
  /** Query parameters that begin so and are not in `query` filter by a metadata field: the rest of their name is its path. */
  readonly metadataPrefix?: string
  readonly body?: v.GenericSchema<unknown, unknown>
  /** How much of a body is read; MAX_BODY_BYTES where absent. */
  readonly maxBytes?: number
  /** Whether the answer carries an `ETag`, and a client that has it already is told so with 304. */
  readonly hasEtag?: boolean
  /** Whether the answer carries an `ETag` of its own, which the handler gives: what a later `If-Match` names. */
  readonly hasOwnEtag?: boolean
  /** Whether `If-Match` guards against what has changed since. */
  readonly hasIfMatch?: boolean
  /** Whether a 201 says in `Location` where what was created can be read. */
  readonly hasLocation?: boolean
  /** Whether `Prefer: respond-async` asks for a 202 at once, whose `Location` says where the result will be. */
  readonly isAwaitable?: boolean
  /** Whether it is about the browser's session: for pages of this origin alone, and its answer may set the cookie. */
  readonly isOfSession?: boolean
  /** Whether it asks the database for callers without a key: how often an address may call it is limited. */
  readonly isLimitedByAddress?: boolean
  /** Whether it takes OTLP: ingestion in protobuf or JSON, answered in the same, errors as `google.rpc.Status`. */
  readonly isTelemetry?: boolean
  /** Messages of the errors that this endpoint's own rules add, by status. */
  readonly errors?: Readonly<Partial<Record<ErrorStatus, string>>>
  readonly responses: Readonly<Record<number, v.GenericSchema<unknown, unknown>>>
}

type Parsed<S> = S extends v.GenericSchema<unknown, infer Output> ? Output : undefined

/**
 * A status and the body that its schema allows; `etag`, with its quotes, where the contract says that there is one;
 * `location`, the path where what was created can be read, or what was accepted can be asked for; `session`, the secret of the one that the browser gets, null
 * to take its own away.
 */
export type Reply<C extends Contract> = {
  [S in keyof C['responses'] & number]: {
    status: S
    body: v.InferOutput<C['responses'][S]>
    etag?: string
    location?: string
    session?: string | null
  }
}[keyof C['responses'] & number]

/** What a handler works with. Key endpoints have a caller and a store bound to the caller's organization. */
export type Context<C extends Contract> = {
  params: Parsed<C['params']>
  query: Parsed<C['query']>
  body: Parsed<C['body']>
  headers: Headers
  /** Milliseconds since 1970, one for the whole request. */
  now: number
  registry: Registry
  /** The filters that `metadataPrefix` admits. */
  metadataFilters: SearchableField[]
  /** As it came; its body is read already. */
  request: Request
  requestId: string
  /**
   * Sends hints to the queue, if need be after the response; a queue that refuses is no fault of the request. Resolves to
   * whether the queue took them, and never rejects.
   */
  enqueue: (...jobs: Job[]) => Promise<boolean>
  /** For what may take longer than a request's own patience: work that goes on beside the request, or after it. */
  runtime: Runtime
  /** Aborts when the client goes away. */
  signal: AbortSignal
} & (C['scope'] extends 'public'
  ? unknown
  : C['scope'] extends 'admin'
    ? { openStore: (organization: Organization) => Store; act: Act }
    : { caller: Caller; store: Store; act: Act })

/** A contract with its handler, as the router, the document and the suites take it. */
export interface Endpoint<C extends Contract = Contract> {
  readonly contract: C
  readonly serve: (request: Request, params: Record<string, string>, runtime: Runtime) => Promise<Response>
}

/** What a request runs in. */
export interface Runtime {
  env: Env
  waitUntil: (promise: Promise<unknown>) => void
  requestId: string
  /** Where the request comes from, as `addressOf` groups it. */
  address: string
}

/**
 * Declares an endpoint: `endpoint(contract).handle(handler)`. Two steps, because in one object literal TypeScript widens
 * the statuses and literals that the handler's result is checked against.
 */
export function endpoint<const C extends Contract>(contract: C) {
  return {
    handle(handler: (context: Context<C>) => Promise<Reply<C>>): Endpoint<C> {
      return { contract, serve: (request, params, runtime) => serve(contract, handler, request, params, runtime) }
    },
  }
}

/** Whether an endpoint is of the ingestion interface. */
export const isIngestion = ({ path, isTelemetry = false }: Contract): boolean =>
  isTelemetry || path.startsWith('/api/v1/')

/**
 * The one request order: who is calling, may they, have they tokens left, is the body small enough, is it JSON, is it
 * valid, and only then the handler. Whatever is thrown on the way becomes the answer; once the limiter spoke, every
 * answer carries its headers.
 */
async function serve<C extends Contract>(
  contract: C,
  handler: (context: Context<C>) => Promise<Reply<C>>,
  request: Request,
  params: Record<string, string>,
  runtime: Runtime,
): Promise<Response> {
  const { env, requestId } = runtime
  const headers: Record<string, string> = {}
  const now = Date.now()
  const patience = new Patience(STORE_PATIENCE_MS)
  try {
    const access = await admit(contract, request, runtime, patience, now)
    if ('caller' in access) Object.assign(headers, await takeToken(env, access.caller, requestId))
    const json = contract.body && (await readJson(request, contract.maxBytes ?? MAX_BODY_BYTES, contract.errors?.[413]))
    const context = {
      ...access,
      params: parseParams(contract, params),
      ...parseQuery(contract, queryOf(request)),
      body: contract.body && parse(contract.body, json),
      request,
      requestId,
      headers: request.headers,
      now,
      get registry() {
        return openRegistry(env, patience)
      },
      enqueue: (...jobs: Job[]) => enqueue(jobs, runtime),
      runtime,
      signal: request.signal,
    }
    // Each field was parsed by the schema that its type is taken from; TypeScript cannot follow that for a generic C.
    const reply = await handler(context as Context<C>)
    if (contract.hasEtag) return await taggedResponse(request, reply.status, reply.body, headers)
    return jsonResponse(reply.status, reply.body, {
      ...headers,
      ...(reply.etag && { etag: reply.etag }),
      ...(reply.location && { location: reply.location }),
      ...(reply.session !== undefined && { 'set-cookie': sessionCookie(request, reply.session) }),
    })
  } catch (error) {
    return withHeaders(errorResponse(error, requestId), headers)
  }
}

/**
 * Lets a request in, with what its handler may work on. 401, 403 for a caller without the scope or a page of another origin,
 * 404 without ADMIN_TOKEN, 429 for an address that calls or guesses too often.
 */
async function admit(
  { scope, method, path, isOfSession = false, isLimitedByAddress = false }: Contract,
  request: Request,
  runtime: Runtime,
  patience: Patience,
  now: number,
) {
  const { env, requestId } = runtime
  if (isOfSession && method !== 'GET') requireSameOrigin(request)
  if (isLimitedByAddress) takeOpenCall(`${method} ${path}`, runtime.address, now)
  if (scope === 'public') return {}
  if (scope === 'admin') {
    await checkAdmin(request, runtime, now)
    const act: Act = { keyId: null, userId: null, requestId, at: now }
    return { openStore: (organization: Organization) => openStore(env, organization, patience), act }
  }
  return admitCaller(scope, await authenticate(request, runtime, patience, now), runtime, patience, now)
}

/** Lets a caller in. 403 without any of the scopes. */
export function admitCaller(
  scope: Scope | readonly Scope[],
  caller: Caller,
  { env, requestId }: Runtime,
  patience: Patience,
  now: number,
) {
  const accepted: readonly Scope[] = typeof scope === 'string' ? [scope] : scope
  if (!accepted.some(each => caller.scopes.includes(each))) {
    throw forbidden(`${caller.keyId === null ? 'Your user' : 'This key'} lacks the scope ${accepted.join(' or ')}`)
  }
  const act: Act = { keyId: caller.keyId, userId: caller.userId, requestId, at: now }
  return { caller, store: openStore(env, caller.organization, patience), act }
}

/** Sends hints, after the response if need be. A queue that refuses, or none, is no fault: cron does what lies too long. */
export async function enqueue(jobs: readonly Job[], { env, requestId, waitUntil }: Runtime): Promise<boolean> {
  if (!env.JOBS) return false
  const sent = sendAll(env.JOBS, jobs).then(
    () => true,
    error => {
      logFault('queue_refused', { requestId }, error)
      return false
    },
  )
  waitUntil(sent)
  return sent
}

/** In as few calls as can be: each is one of those that an invocation may make. */
async function sendAll(queue: Queue<Job>, jobs: readonly Job[]): Promise<void> {
  const [job] = jobs
  if (job && jobs.length === 1) {
    await queue.send(job)
    return
  }
  for (let start = 0; start < jobs.length; start += MAX_QUEUE_BATCH) {
    await queue.sendBatch(jobs.slice(start, start + MAX_QUEUE_BATCH).map(body => ({ body })))
  }
}

/** A response with more headers. */
export function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  return response
}

/** The router has parsed the whole URL already. */
function queryOf({ url }: Request): URLSearchParams {
  const start = url.indexOf('?')
  return start === -1 ? NO_PARAMETERS : new URLSearchParams(url.slice(start))
}

const NO_PARAMETERS = new URLSearchParams()

/** A typo must not pass in silence on `/api/`; ingestion keeps accepting what newer clients add. */
function parseQuery({ query, metadataPrefix, path }: Contract, searchParams: URLSearchParams) {
  // Filters are kept apart before valibot, which leaves out fields named __proto__ or constructor, sees them.
  const metadataFilters: SearchableField[] = []
  const parameters: Record<string, string> = Object.create(null)
  const isStrict = path.startsWith('/api/') && !path.startsWith('/api/v1/')
  const isKnown = (name: string) => query !== undefined && Object.hasOwn(query.entries, name)
  const isFilter = (name: string) => metadataPrefix !== undefined && !isKnown(name) && name.startsWith(metadataPrefix)
  const read = [...searchParams].filter(([name]) => isKnown(name) || isFilter(name) || isStrict)
  for (const [name, value] of singleValues(read)) {
    if (isFilter(name)) metadataFilters.push({ path: name.slice(metadataPrefix?.length), value })
    else parameters[name] = value
  }
  return { query: query || isStrict ? parse(query ?? NO_QUERY, parameters) : undefined, metadataFilters }
}

const NO_QUERY = v.strictObject({})

function parseParams(contract: Contract, raw: Record<string, string>): unknown {
  if (!contract.params) return undefined
  const decoded = Object.fromEntries(Object.entries(raw).map(([name, value]) => [name, decode(value)]))
  const result = v.safeParse(contract.params, decoded)
  if (result.success) return result.output
  throw isIngestion(contract) ? invalidRequest(validationDetails(result.issues)) : notFound()
}

/** The router leaves path parameters as they came. A broken escape stays, and fails its schema. */
function decode(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

/** The parameters that are read; one given twice is an error, because no reader could say which one counts. */
function singleValues(parameters: readonly (readonly [name: string, value: string])[]): Map<string, string> {
  const values = new Map(parameters)
  if (values.size === parameters.length) return values
  const names = parameters.map(([name]) => name)
  const repeated = names.find((name, index) => names.indexOf(name) !== index) ?? ''
  throw invalidRequest([{ path: repeated, message: 'is given more than once' }])
}
