import { BOOKMARK_HEADER, type Bookmark, parseBookmark } from '../domain/bookmark.ts'
import type { Env } from '../env.ts'
import { badRequest, findApiError } from '../http/errors.ts'
import { MAX_BOOKMARK_LENGTH } from '../limits.ts'
import { ReplicatedDatabases } from '../store/core/replicas.ts'
import { type Contract, mayReadReplicas } from './contract.ts'

/** Decides where a request reads, on a deployment with read replicas. */
export class ReadReplication {
  readonly #databases: ReplicatedDatabases<Env>
  readonly #mayReadReplicas: boolean

  /** 400 if the request's bookmark is malformed. */
  constructor(env: Env, contract: Contract, { headers }: Request) {
    this.#databases = new ReplicatedDatabases(env, bookmarkIn(headers))
    this.#mayReadReplicas = mayReadReplicas(contract)
  }

  /**
   * Runs a handler. If the handler's data may lag behind the primary's, the handler reads from a replica, but never
   * from one that's behind the bookmark. A replica may not have what the handler is looking for, so the primary is
   * checked before a 403 or a 404. It's also checked before a 503: the replica may refer to an object in R2 that has
   * since been deleted, or may never reach the bookmark.
   */
  async run<Answer>(handle: (bindings: Env) => Promise<Answer>, { mayLag }: { mayLag: boolean }): Promise<Answer> {
    if (!mayLag || !this.#mayReadReplicas) return handle(this.#databases.primary())
    try {
      return await handle(this.#databases.nearest())
    } catch (error) {
      const status = findApiError(error)?.status
      if (status !== 403 && status !== 404 && status !== 503) throw error
      return handle(this.#databases.primary())
    }
  }

  /** The bookmark of the response. */
  headers(): Record<string, string> {
    const bookmark = this.#databases.bookmark()
    return bookmark === undefined ? {} : { [BOOKMARK_HEADER]: bookmark }
  }
}

function bookmarkIn(headers: Headers): Bookmark {
  const value = headers.get(BOOKMARK_HEADER)
  if (value === null) return new Map()
  const bookmark = value.length > MAX_BOOKMARK_LENGTH ? undefined : parseBookmark(value)
  if (!bookmark) throw badRequest('must be the value from an earlier response', BOOKMARK_HEADER)
  return bookmark
}
