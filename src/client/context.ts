import type { SpanContext } from './run.ts'

/** The part of `AsyncLocalStorage` that the client uses. */
interface Context<Store> {
  run<Result>(store: Store, run: () => Result): Result
  getStore(): Store | undefined
}

type StorageClass = new <Store>() => Context<Store>

interface Runtime {
  AsyncLocalStorage?: StorageClass
  process?: { getBuiltinModule?: (name: string) => { AsyncLocalStorage?: StorageClass } | undefined }
}

/** The experiment item that a function runs on. Applies to the traces that the function starts. */
export interface ItemScope {
  /** Added to the metadata of these traces. */
  mark: { experiment_id: string; experiment_item_id: string }
  /** Whether these traces are sent. */
  isRecorded: boolean
  /** The first of these traces. */
  traceId?: string | undefined
}

let shared: SpanContext | undefined
let items: Context<ItemScope> | undefined

/**
 * The context of all clients. `AsyncLocalStorage` is looked up at run time, because importing `node:async_hooks` would
 * fail in browsers and in bundlers that build for them. If the runtime doesn't have it, only `span.span(...)` nests
 * spans.
 */
export function sharedContext(): SpanContext {
  shared ??= newContext()
  return shared
}

/**
 * The context of experiments, shared by all clients: a pipeline may record with its own client instead of the
 * experiment's.
 */
export function itemContext(): Context<ItemScope> {
  items ??= newContext()
  return items
}

function newContext<Store>(): Context<Store> {
  try {
    const { AsyncLocalStorage, process }: Runtime = globalThis as Runtime
    const Storage = AsyncLocalStorage ?? process?.getBuiltinModule?.('node:async_hooks')?.AsyncLocalStorage
    if (Storage) return new Storage()
  } catch {}
  return { run: (_, run) => run(), getStore: () => undefined }
}
