/** The header that says how recent a response is or, in a request, how recent the response has to be. */
const HEADER = 'x-d1-bookmark'

/**
 * For each of the service's databases, the newest point in its history that a client has seen. The service sends points
 * only if it reads from replicas, which lag behind.
 */
export class Bookmark {
  readonly #points = new Map<string, string>()

  /** Keeps a response's points, unless a concurrent response has newer ones. */
  keep(headers: Pick<Headers, 'get'>): void {
    for (const part of headers.get(HEADER)?.split(',') ?? []) {
      const [database = '', point = ''] = part.trim().split('=')
      // Later points sort after earlier ones.
      if (point > (this.#points.get(database) ?? '')) this.#points.set(database, point)
    }
  }

  /** The headers for a request whose response must not be older than these points. */
  headers(): Record<string, string> {
    if (this.#points.size === 0) return {}
    return { [HEADER]: Array.from(this.#points, ([database, point]) => `${database}=${point}`).join(', ') }
  }
}
