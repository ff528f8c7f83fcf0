import type { Span } from './span.ts'

/** What the client uses of an `AsyncLocalStorage`: the span whose callback is running. */
export interface SpanContext {
  run<Result>(span: Span, run: () => Result): Result
  getStore(): Span | undefined
}

type StorageClass = new () => SpanContext

interface Runtime {
  AsyncLocalStorage?: StorageClass
  process?: { getBuiltinModule?: (name: string) => { AsyncLocalStorage?: StorageClass } | undefined }
}

let shared: SpanContext | undefined

/**
 * The context of all clients. Found at run time rather than imported: an import of `node:async_hooks` would break
 * browsers, and bundlers that build for them. Where there is none, spans nest by `span.span(...)` alone.
 * @internal
 */
export function sharedContext(): SpanContext {
  shared ??= newContext()
  return shared
}

function newContext(): SpanContext {
  try {
    const { AsyncLocalStorage, process }: Runtime = globalThis as Runtime
    const Storage = AsyncLocalStorage ?? process?.getBuiltinModule?.('node:async_hooks')?.AsyncLocalStorage
    if (Storage) return new Storage()
  } catch {}
  return { run: (_, run) => run(), getStore: () => undefined }
}
