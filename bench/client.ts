import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'

export interface Answer {
  status: number
  headers: IncomingMessage['headers']
  body: string
  /** From the sending of the request until the whole body was there. */
  ms: number
}

/** Calls one Worker over connections that stay open. */
export class Client {
  readonly #url: URL
  readonly #headers: Record<string, string>
  readonly #agent = new Agent({ keepAlive: true })

  constructor(url: URL, headers: Record<string, string>) {
    this.#url = url
    this.#headers = headers
  }

  /** Makes a call that must succeed. */
  async call(method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown): Promise<Answer> {
    const json = body === undefined ? undefined : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
    const start = performance.now()
    const response = await new Promise<IncomingMessage>((settle, fail) => {
      const options = {
        method,
        agent: this.#agent,
        headers: {
          ...this.#headers,
          ...(json && { 'content-type': 'application/json', 'content-length': json.byteLength }),
        },
      }
      request(new URL(path, this.#url), options, settle).on('error', fail).end(json)
    })
    const answer = await text(response)
    const ms = performance.now() - start
    const status = response.statusCode ?? 0
    if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${answer}`)
    return { status, headers: response.headers, body: answer, ms }
  }

  /** The same Worker, called with other headers. */
  with(headers: Record<string, string>): Client {
    return new Client(this.#url, headers)
  }

  /** Another Worker, called with the same headers. */
  at(url: URL): Client {
    return new Client(url, this.#headers)
  }
}
