import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** Another client of the same Worker: it asks `/healthz` all the time, from a thread of its own. */
export class Neighbor implements AsyncDisposable {
  readonly #thread: Worker

  constructor(url: URL) {
    this.#thread = new Worker(new URL('probe.ts', import.meta.url), { workerData: new URL('/healthz', url).href })
  }

  /** The longest that an answer took since the last call, in milliseconds. */
  async longestMs(): Promise<number> {
    this.#thread.postMessage(null)
    const [longest] = await once(this.#thread, 'message')
    return longest
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread.terminate()
  }
}
