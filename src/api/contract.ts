import type * as v from 'valibot'
import type { Scope } from '../domain/api-key.ts'
import type { ErrorStatus } from '../http/errors.ts'

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
  /** Whether the answer carries an `ETag`; a client that already has the answer gets a 304. */
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

export type Parsed<S> = S extends v.GenericSchema<unknown, infer Output> ? Output : undefined

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

/** Whether an endpoint is of the ingestion interface. */
export const isIngestion = ({ path, isTelemetry = false }: Contract): boolean =>
  isTelemetry || path.startsWith('/api/v1/')
