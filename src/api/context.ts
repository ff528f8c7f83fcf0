import type { Caller } from '../auth/authenticate.ts'
import type { SearchableField } from '../domain/metadata.ts'
import type { Job, Runtime } from '../env.ts'
import type { Act } from '../store/accounts/audit.ts'
import type { Organization, Store, UnscopedStore } from '../store/core/store.ts'
import type { Contract, Parsed } from './contract.ts'

/** A handler's input and services. Key endpoints have a caller and a store bound to the caller's organization. */
export type Context<C extends Contract> = {
  params: Parsed<C['params']>
  query: Parsed<C['query']>
  body: Parsed<C['body']>
  headers: Headers
  /** Milliseconds since 1970, one for the whole request. */
  now: number
  unscoped: UnscopedStore
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
  /** For what may take longer than a request's own deadline: work that goes on beside the request, or after it. */
  runtime: Runtime
  /** Aborts when the client goes away. */
  signal: AbortSignal
} & (C['scope'] extends 'public'
  ? unknown
  : C['scope'] extends 'admin'
    ? { openStore: (organization: Organization) => Store; act: Act }
    : { caller: Caller; store: Store; act: Act })
