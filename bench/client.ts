import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'

export interface Answer {
  status: number
  headers: IncomingMessage['headers']
  body: string
  /** The time from sending the request until the whole body has arrived. */
  ms: number
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

const bytesOf = (body: unknown): Buffer =>
  Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))

/** Calls one Worker over persistent connections. */
export class Client {
  readonly #url: URL
  readonly #headers: Record<string, string>
  readonly #agent = new Agent({ keepAlive: true })

  constructor(url: URL, headers: Record<string, string>) {
    this.#url = url
    this.#headers = headers
  }

  /** Makes a call that must succeed. */
  async call(method: Method, path: string, body?: unknown): Promise<Answer> {
    const answer = await this.send(method, path, body)
    if (answer.status >= 300) throw new Error(`${method} ${path} returned ${answer.status}: ${answer.body}`)
    return answer
  }

  /** Makes a call that may fail. Strings and bytes are sent unchanged, anything else as JSON. */
  async send(method: Method, path: string, body?: unknown): Promise<Answer> {
    const json = body === undefined ? undefined : bytesOf(body)
    const start = performance.now()
    const response = await new Promise<IncomingMessage>((settle, fail) => {
      const options = {
        method,
        agent: this.#agent,
        headers: {
          ...(json && { 'content-type': 'application/json', 'content-length': json.byteLength }),
          ...this.#headers,
        },
      }
      request(new URL(path, this.#url), options, settle).on('error', fail).end(json)
    })
    const answer = await text(response)
    const ms = performance.now() - start
    return { status: response.statusCode ?? 0, headers: response.headers, body: answer, ms }
  }

  /** A client for the same Worker with different headers. */
  with(headers: Record<string, string>): Client {
    return new Client(this.#url, headers)
  }

  /** A client for the same Worker with additional headers. */
  adding(headers: Record<string, string>): Client {
    return new Client(this.#url, { ...this.#headers, ...headers })
  }

  /** A client for a different Worker with the same headers. */
  at(url: URL): Client {
    return new Client(url, this.#headers)
  }
}
