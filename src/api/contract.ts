import type * as v from 'valibot'
import type { Scope } from '../domain/api-key.ts'
import type { JsonObject, JsonText, WrittenJson } from '../domain/json.ts'
import type { ErrorStatus } from '../http/errors.ts'

type Fields = v.ObjectEntries

/** An endpoint's group. `mcp` is for agents, `session` for signing in, `operation` for monitoring a deployment. */
export type Family =
  | 'ingest'
  | 'otlp'
  | 'read'
  | 'review'
  | 'dataset'
  | 'experiment'
  | 'problem'
  | 'webhook'
  | 'manage'
  | 'mcp'
  | 'session'
  | 'operation'

/** An endpoint's contract: everything that the router, the OpenAPI document, and the auth and tenancy tests need. */
export interface Contract {
  readonly family: Family
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Parameters are in braces, as in OpenAPI. */
  readonly path: `/${string}`
  readonly summary: string
  /** Anything a caller needs to know beyond the summary. Full sentences. */
  readonly description?: string
  /** The scope that a key needs, or a list of alternatives. `admin` needs ADMIN_TOKEN; `public` needs nothing. */
  readonly scope: Scope | readonly Scope[] | 'admin' | 'public'
  /** Whether an adjudicator may call it with the `review` scope instead. */
  readonly isForAdjudicators?: boolean
  readonly params?: v.ObjectSchema<Fields, undefined>
  readonly query?: v.StrictObjectSchema<Fields, undefined>
  /** Query parameters with this prefix filter by metadata, except those in `query`. The rest of the name is a path. */
  readonly metadataPrefix?: string
  readonly body?: v.GenericSchema<unknown, unknown>
  /** The largest body to read. Default: MAX_BODY_BYTES. */
  readonly maxBytes?: number
  /**
   * The kind of `ETag` in the response. `body`: a hash of the body; a client that sends the same hash gets a 304.
   * `own`: set by the handler, and valid in a later `If-Match`. `guard`: like `own`, and this endpoint checks
   * `If-Match` itself.
   */
  readonly etag?: 'body' | 'own' | 'guard'
  /**
   * The status of the response that has a `Location` header. 201: the URL of the created resource. 202: the URL of the
   * future result; the request waits for it unless it has `Prefer: respond-async`.
   */
  readonly location?: 201 | 202
  /** Whether it manages the browser's session: only pages on this origin may call it, and it may set the cookie. */
  readonly managesSession?: boolean
  /** Whether it refuses calls from pages on other origins, even with a key. */
  readonly isForPrograms?: boolean
  /** Whether it queries the database for callers without a key, so calls per address are limited. */
  readonly isLimitedByAddress?: boolean
  /**
   * Where a GET reads, if not from a replica that's at least as recent as the request's bookmark. `primary`: only from
   * the primary, because people act on the response, or because a file must leave out anything that's deleted while the
   * file is written. `memory`: pipelines get what this isolate has read in the last 10 seconds, if the handler passes
   * on `mayUseMemory`.
   */
  readonly reads?: 'primary' | 'memory'
  /**
   * What the path's `traceId`, `spanId`, or `feedbackId` identifies. The handler's store is in the database of the
   * corresponding trace instead of the control database.
   */
  readonly at?: 'trace' | 'span' | 'feedback'
  /** The messages, by status, of the errors that this endpoint returns in addition to the request pipeline's errors. */
  readonly errors?: Readonly<Partial<Record<ErrorStatus, string>>>
  readonly responses: Readonly<Record<number, v.GenericSchema<unknown, unknown>>>
  /**
   * If the 200 response is a file instead of JSON, the file's media types, each with an example. The response's schema
   * is a string. Use `fileEndpoint`.
   */
  readonly files?: Readonly<Record<string, string>>
  /**
   * A successful request and its responses. The OpenAPI document shows it, and the tests for all endpoints send it.
   */
  readonly example: Example
}

/** A contract's example. `endpoint` checks it against the contract's schemas. */
export interface Example {
  readonly params?: object
  readonly query?: object
  readonly body?: object
  /** The response bodies, by status. A body is text for a file, and undefined for a response without a body. */
  readonly answers: Readonly<Record<number, object | string | undefined>>
}

/** An example that matches a contract's schemas. */
export type ExampleOf<C extends Contract> = {
  readonly answers: { readonly [S in keyof C['responses'] & number]: Shown<C['responses'][S]> }
} & (C extends { params: infer S extends v.GenericSchema<unknown, unknown> } ? { readonly params: Sent<S> } : unknown) &
  (C extends { query: infer S extends v.GenericSchema<unknown, unknown> } ? { readonly query?: Sent<S> } : unknown) &
  (C extends { body: infer S extends v.GenericSchema<unknown, unknown> } ? { readonly body: Sent<S> } : unknown)

/** An example of a schema's input. */
type Sent<S extends v.GenericSchema<unknown, unknown>> = Plain<v.InferInput<S>>

/** An example of a schema's output. */
export type Shown<S extends v.GenericSchema<unknown, unknown>> = Plain<v.InferOutput<S>>

/** A read-only version of a type. Stored JSON can be any value. */
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

/** A status, a body that its schema allows, and the headers that the contract promises. */
export type Reply<C extends Contract> = {
  [S in keyof C['responses'] & number]: {
    status: S
    body: v.InferOutput<C['responses'][S]>
    /** Includes the quotes. */
    etag?: string
    /** A path. */
    location?: string
    /** The secret of the session to set in the browser. Null clears the browser's session. */
    session?: string | null
  }
}[keyof C['responses'] & number]

/** A contract whose 200 response is a file. */
export type FileContract = Contract & Required<Pick<Contract, 'files'>>

/** A file that's written while the client reads it. */
export interface FileReply {
  /** One of the contract's media types. */
  type: string
  /** The name that a browser saves it under: ASCII letters, digits, dots, hyphens, and underscores. */
  name: string
  /** The file's text. An error cuts off the response, so a client can tell that the file isn't complete. */
  pieces: AsyncGenerator<string>
  /** Where the next file continues. Null if this is the last one. */
  nextCursor: string | null
}

/** Whether a request may read from a replica, on a deployment that has them. */
export const mayReadReplicas = (contract: Contract): boolean =>
  contract.method === 'GET' && hasCaller(contract) && !isIngestion(contract) && contract.reads !== 'primary'

/** Whether calls need a key, or a session that acts as one. */
export const hasCaller = ({ scope }: Contract): boolean => scope !== 'public' && scope !== 'admin'

/**
 * Whether an endpoint belongs to the ingestion interface. Such endpoints ignore unknown fields, take the project from a
 * header, and return 400 for an invalid path parameter; other endpoints return 404.
 */
export const isIngestion = ({ family }: Contract): boolean => family === 'ingest' || family === 'otlp'
