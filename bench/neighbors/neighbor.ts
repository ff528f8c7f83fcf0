import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** What a neighbor requests, and the process that serves it. */
export interface Probed {
  url: string
  processId: number
}

/** The longest response time, and the most processor time that the isolates' thread used during any one response. */
export interface Longest {
  ms: number
  /** On a busy machine, this is lower than `ms`. */
  computingMs: number
}

/** Another client of the same Worker. It constantly requests `/healthz` from its own thread. */
export class Neighbor implements AsyncDisposable {
  readonly #thread: Worker

  constructor(url: URL, processId: number) {
    const workerData: Probed = { url: new URL('/healthz', url).href, processId }
    this.#thread = new Worker(new URL('probe.ts', import.meta.url), { workerData })
  }

  /** The longest times among the responses since the previous call of this method. */
  async longest(): Promise<Longest> {
    this.#thread.postMessage(null)
    const [longest] = await once(this.#thread, 'message')
    return longest
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread.terminate()
  }
}
