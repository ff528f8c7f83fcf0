/** The header that says how recent a response is or, in a request, has to be. */
const HEADER = 'x-d1-bookmark'

/**
 * The newest point that a client has seen of each of the service's databases. The service only sends such points if it
 * reads from replicas, which lag.
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

  /** The headers of a request whose response must not be older. */
  headers(): Record<string, string> {
    if (this.#points.size === 0) return {}
    return { [HEADER]: Array.from(this.#points, ([database, point]) => `${database}=${point}`).join(', ') }
  }
}
