import type { Fields, Json } from '../../properties/model.ts'

/** Thrown if the server died before it responded, so the call may or may not have taken effect. */
export class CutOff extends Error {}

export interface Answer {
  status: number
  body: Fields
}

/** Calls a server that may be killed at any time. A call with a status of 500 or higher counts as failed. */
export class Client {
  /** Whether the server is being killed. If so, calls may get no response. */
  isDying = false
  /** The number of calls that were in flight when the server was killed and never got a response. */
  cutOff = 0
  readonly #url: string
  readonly #key: string

  constructor(url: string, key: string) {
    this.#url = url
    this.#key = key
  }

  withKey(key: string): Client {
    return new Client(this.#url, key)
  }

  async call(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object): Promise<Answer> {
    const wasAlive = !this.isDying
    try {
      const response = await fetch(this.#url + path, {
        method,
        headers: { authorization: `Bearer ${this.#key}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      if (response.status >= 500) throw new Error(`${method} ${path} returned ${response.status}: ${text}`)
      return { status: response.status, body: JSON.parse(text) }
    } catch (cause) {
      if (!this.isDying) throw cause
      if (wasAlive) this.cutOff++
      throw new CutOff(`${method} ${path}`, { cause })
    }
  }

  /** Makes a call and returns the response body. Throws if the call fails. */
  async make(...call: Parameters<Client['call']>): Promise<Fields> {
    const { status, body } = await this.call(...call)
    if (status >= 300) throw new Error(`${call[0]} ${call[1]} returned ${status}: ${JSON.stringify(body)}`)
    return body
  }

  /** Reads the resource at a path. Returns null if it doesn't exist. */
  async read(path: string): Promise<Fields | null> {
    const { status, body } = await this.call('GET', path)
    if (status !== 200 && status !== 404) throw new Error(`GET ${path} returned ${status}: ${JSON.stringify(body)}`)
    return status === 200 ? body : null
  }

  /**
   * Reads the items on all pages of a list. Returns null if the list doesn't exist. `list` and `next` are the fields
   * with the items and the cursor.
   */
  async pages(path: string, list: string, next: string): Promise<Json[] | null> {
    const items: Json[] = []
    for (let cursor = ''; ; ) {
      const page = await this.read(path + cursor)
      if (page === null) return null
      const { [list]: more } = page
      if (!Array.isArray(more)) throw new Error(`GET ${path} returned no ${list}`)
      items.push(...more)
      if (page[next] === null) return items
      cursor = `&cursor=${page[next]}`
    }
  }
}
