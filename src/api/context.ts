import type { Caller } from '../auth/authenticate.ts'
import type { SearchableField } from '../domain/metadata.ts'
import type { Job, Runtime } from '../env.ts'
import type { Act } from '../store/accounts/audit.ts'
import type { Organization, Store, UnscopedStore } from '../store/core/store.ts'
import type { Contract, Parsed } from './contract.ts'

/** A handler's input and services, with the caller and its organization's store if the endpoint needs a caller. */
export type Context<C extends Contract> = {
  params: Parsed<C['params']>
  query: Parsed<C['query']>
  body: Parsed<C['body']>
  headers: Headers
  /** Milliseconds since 1970, the same for the whole request. */
  now: number
  unscoped: UnscopedStore
  /** Whether data that this isolate read in the last 10 seconds is recent enough. False unless `reads` is `memory`. */
  mayUseMemory: boolean
  /** Filters from the query parameters that begin with `metadataPrefix`. */
  metadataFilters: SearchableField[]
  /** The request as it was received. Its body has already been read. */
  request: Request
  requestId: string
  /**
   * Sends hints to the queue, after the response if necessary. Resolves to whether the queue accepted them, and never
   * rejects: cron does the work if the queue fails.
   */
  enqueue: (...jobs: Job[]) => Promise<boolean>
  /** For work that may continue after the response or after the request's deadline. */
  runtime: Runtime
  /** Aborts when the client disconnects. */
  signal: AbortSignal
} & (C['scope'] extends 'public'
  ? unknown
  : C['scope'] extends 'admin'
    ? { openStore: (organization: Organization) => Store; act: Act }
    : { caller: Caller; store: Store; act: Act })
