import type { Caller } from '../auth/authenticate.ts'
import type { Runtime } from '../env.ts'
import type { Context } from './context.ts'
import type { Contract, ExampleOf, FileContract, FileReply, Reply } from './contract.ts'
import { file } from './file.ts'
import { json } from './json.ts'
import { serve } from './serve.ts'

/** A contract with its handler, in the form that the router, the OpenAPI document, and the test suites use. */
export interface Endpoint<C extends Contract = Contract> {
  readonly contract: C
  /**
   * Responds to a request. If `caller` is given, this request is part of another one, for which that caller has already
   * been authenticated and has spent a token.
   */
  readonly serve: (
    request: Request,
    params: Record<string, string>,
    runtime: Runtime,
    caller?: Caller,
  ) => Promise<Response>
}

/**
 * Declares a JSON endpoint: `endpoint(contract).handle(handler)`. This takes two steps because TypeScript would widen
 * the statuses and literals in a single object literal, and the handler's result is checked against them.
 */
export function endpoint<const C extends Contract>(contract: C & { readonly example: ExampleOf<C> }) {
  return {
    handle(handler: (context: Context<C>) => Promise<Reply<C>>): Endpoint<C> {
      return { contract, serve: (...sent) => serve(contract, json, handler, ...sent) }
    },
  }
}

/** Declares an endpoint whose response is a file. This takes the same two steps as `endpoint`. */
export function fileEndpoint<const C extends FileContract>(contract: C & { readonly example: ExampleOf<C> }) {
  return {
    handle(handler: (context: Context<C>) => Promise<FileReply & { type: keyof C['files'] }>): Endpoint<C> {
      return { contract, serve: (...sent) => serve(contract, file, handler, ...sent) }
    },
  }
}
