import type { Fields, Json } from '../../properties/model.ts'

/** What a call comes to whose server died before it answered: nobody knows whether it took effect. */
export class CutOff extends Error {}

export interface Answer {
  status: number
  body: Fields
}

/** Calls a server that may be killed meanwhile. No answer of 500 or more is taken as one. */
export class Client {
  /** Whether the server is being killed: from then on a call may stay without an answer. */
  isDying = false
  /** Calls that were under way when the server was killed, and that nobody answered. */
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
      if (response.status >= 500) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
      return { status: response.status, body: JSON.parse(text) }
    } catch (cause) {
      if (!this.isDying) throw cause
      if (wasAlive) this.cutOff++
      throw new CutOff(`${method} ${path}`, { cause })
    }
  }

  /** The body of a call's answer, which must be one of success. */
  async make(...call: Parameters<Client['call']>): Promise<Fields> {
    const { status, body } = await this.call(...call)
    if (status >= 300) throw new Error(`${call[0]} ${call[1]} answered ${status}: ${JSON.stringify(body)}`)
    return body
  }

  /** What is at a path; null where nothing is. */
  async read(path: string): Promise<Fields | null> {
    const { status, body } = await this.call('GET', path)
    if (status !== 200 && status !== 404) throw new Error(`GET ${path} answered ${status}: ${JSON.stringify(body)}`)
    return status === 200 ? body : null
  }

  /** The items of all pages of a list, by the names that the list and its cursor have; null where it is not there. */
  async pages(path: string, list: string, next: string): Promise<Json[] | null> {
    const items: Json[] = []
    for (let cursor = ''; ; ) {
      const page = await this.read(path + cursor)
      if (page === null) return null
      const { [list]: more } = page
      if (!Array.isArray(more)) throw new Error(`GET ${path} shows no ${list}`)
      items.push(...more)
      if (page[next] === null) return items
      cursor = `&cursor=${page[next]}`
    }
  }
}
