import type { SpanContext } from './run.ts'

type StorageClass = new () => SpanContext

interface Runtime {
  AsyncLocalStorage?: StorageClass
  process?: { getBuiltinModule?: (name: string) => { AsyncLocalStorage?: StorageClass } | undefined }
}

let shared: SpanContext | undefined

/**
 * The context of all clients. It's looked up at run time: importing `node:async_hooks` would break browsers, and
 * bundlers that build for them. Without it, only `span.span(...)` nests spans.
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
