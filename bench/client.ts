import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'

export interface Answer {
  status: number
  headers: IncomingMessage['headers']
  body: string
  /** From the sending of the request until the whole body was there. */
  ms: number
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

const bytesOf = (body: unknown): Buffer =>
  Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))

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
  async call(method: Method, path: string, body?: unknown): Promise<Answer> {
    const answer = await this.send(method, path, body)
    if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.body}`)
    return answer
  }

  /** Makes a call, whatever it answers. A text or bytes are sent as they are, anything else as JSON. */
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

  /** The same Worker, called with other headers. */
  with(headers: Record<string, string>): Client {
    return new Client(this.#url, headers)
  }

  /** The same Worker, called with further headers. */
  adding(headers: Record<string, string>): Client {
    return new Client(this.#url, { ...this.#headers, ...headers })
  }

  /** Another Worker, called with the same headers. */
  at(url: URL): Client {
    return new Client(url, this.#headers)
  }
}
