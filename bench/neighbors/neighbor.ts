import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** What a neighbor asks, and the process that answers. */
export interface Probed {
  url: string
  processId: number
}

/** The longest that an answer took, and the most that the thread of the isolates computed meanwhile: of any one answer. */
export interface Longest {
  ms: number
  /** On a machine that has other things to do, `ms` is more than that. */
  computingMs: number
}

/** Another client of the same Worker: it asks `/healthz` all the time, from a thread of its own. */
export class Neighbor implements AsyncDisposable {
  readonly #thread: Worker

  constructor(url: URL, processId: number) {
    const workerData: Probed = { url: new URL('/healthz', url).href, processId }
    this.#thread = new Worker(new URL('probe.ts', import.meta.url), { workerData })
  }

  /** Of the answers since the last call. */
  async longest(): Promise<Longest> {
    this.#thread.postMessage(null)
    const [longest] = await once(this.#thread, 'message')
    return longest
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread.terminate()
  }
}
