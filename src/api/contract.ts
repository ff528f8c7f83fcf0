import type * as v from 'valibot'
import type { Scope } from '../domain/api-key.ts'
import type { JsonObject, JsonText, WrittenJson } from '../domain/json.ts'
import type { ErrorStatus } from '../http/errors.ts'

type Fields = v.ObjectEntries

/** An endpoint's group. `session` is for signing in, `operation` for monitoring a deployment. */
export type Family = 'ingest' | 'otlp' | 'read' | 'review' | 'manage' | 'session' | 'operation'

/** An endpoint's contract: all that the router, the OpenAPI document and the auth and tenancy suites need to know of it. */
export interface Contract {
  readonly family: Family
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
  /**
   * Which `ETag` the answer carries. `body`: a hash of the answer, and a client that already has it gets a 304. `own`: the
   * handler gives it, and a later `If-Match` may name it. `guard`: likewise, and `If-Match` guards against what has changed since.
   */
  readonly etag?: 'body' | 'own' | 'guard'
  /**
   * The status whose answer has a `Location`. 201: where what was created can be read. 202: where the result will be, for
   * which the request waits unless it says `Prefer: respond-async`.
   */
  readonly location?: 201 | 202
  /** Whether it is about the browser's session: for pages of this origin alone, and its answer may set the cookie. */
  readonly isOfSession?: boolean
  /** Whether it asks the database for callers without a key: how often an address may call it is limited. */
  readonly isLimitedByAddress?: boolean
  /** Messages of the errors that this endpoint's own rules add, by status. */
  readonly errors?: Readonly<Partial<Record<ErrorStatus, string>>>
  readonly responses: Readonly<Record<number, v.GenericSchema<unknown, unknown>>>
  /** A request that succeeds, and what it is answered: in the OpenAPI document, and sent by the suites over all endpoints. */
  readonly example: Example
}

/** Of a contract. `endpoint` holds it to the contract's schemas. */
export interface Example {
  readonly params?: object
  readonly query?: object
  readonly body?: object
  /** By status. */
  readonly answers: Readonly<Record<number, object>>
}

/** An example that the schemas of a contract allow. */
export type ExampleOf<C extends Contract> = {
  readonly answers: { readonly [S in keyof C['responses'] & number]: Shown<C['responses'][S]> }
} & (C extends { params: infer S extends v.GenericSchema<unknown, unknown> } ? { readonly params: Sent<S> } : unknown) &
  (C extends { query: infer S extends v.GenericSchema<unknown, unknown> } ? { readonly query?: Sent<S> } : unknown) &
  (C extends { body: infer S extends v.GenericSchema<unknown, unknown> } ? { readonly body: Sent<S> } : unknown)

/** An example of a schema's input. */
type Sent<S extends v.GenericSchema<unknown, unknown>> = Plain<v.InferInput<S>>

/** An example of a schema's output. */
export type Shown<S extends v.GenericSchema<unknown, unknown>> = Plain<v.InferOutput<S>>

/** A value that nothing changes, with stored JSON as anything. */
type Plain<T> = unknown extends T
  ? unknown
  : T extends JsonText
    ? unknown
    : T extends WrittenJson<infer Value>
      ? Plain<Value>
      : JsonObject extends T
        ? object
        : T extends readonly (infer Item)[]
          ? readonly Plain<Item>[]
          : T extends object
            ? { readonly [Field in keyof T]: Plain<T[Field]> }
            : T

export type Parsed<S> = S extends v.GenericSchema<unknown, infer Output> ? Output : undefined

/** A status, the body that its schema allows, and the headers that the contract promises. */
export type Reply<C extends Contract> = {
  [S in keyof C['responses'] & number]: {
    status: S
    body: v.InferOutput<C['responses'][S]>
    /** With its quotes. */
    etag?: string
    /** A path. */
    location?: string
    /** The secret of the session that the browser gets; null takes its own away. */
    session?: string | null
  }
}[keyof C['responses'] & number]

/**
 * Whether an endpoint is of the ingestion interface: it accepts what newer clients add, names its project in a header, and
 * answers a bad path parameter with a 400 where the others answer 404.
 */
export const isIngestion = ({ family }: Contract): boolean => family === 'ingest' || family === 'otlp'
