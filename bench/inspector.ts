import * as v from 'valibot'

/** An isolate's memory in bytes: the used part of V8's heap, and the isolate's memory outside the heap, such as buffers. */
export interface IsolateMemory {
  heap: number
  buffers: number
}

const Usage = v.object({ result: v.object({ usedSize: v.number(), backingStorageSize: v.number() }) })

/** Inspects a Worker's isolate while it runs, using the Chrome DevTools protocol. */
export class Inspector implements Disposable {
  readonly #socket: WebSocket
  readonly #waiting = new Map<number, (answer: unknown) => void>()
  #calls = 0

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.addEventListener('message', ({ data }) => {
      const answer: unknown = JSON.parse(data)
      if (v.is(v.object({ id: v.number() }), answer)) this.#waiting.get(answer.id)?.(answer)
    })
  }

  /** Opens an inspector. `url` is the URL of the server's inspector; `worker` is the Worker's name. */
  static async open(url: URL, worker: string): Promise<Inspector> {
    const socket = new WebSocket(new URL(`/core:user:${worker}`, url))
    await new Promise((settle, fail) => {
      socket.addEventListener('open', settle)
      socket.addEventListener('error', fail)
    })
    return new Inspector(socket)
  }

  async memory(): Promise<IsolateMemory> {
    const { usedSize, backingStorageSize } = v.parse(Usage, await this.#call('Runtime.getHeapUsage')).result
    return { heap: usedSize, buffers: backingStorageSize }
  }

  /** Collects garbage. workerd defers this until the isolate serves a request, which `request` sends. */
  async collectGarbage(request: () => Promise<unknown>): Promise<void> {
    let isCollected = false
    this.#call('HeapProfiler.collectGarbage').then(() => {
      isCollected = true
    })
    while (!isCollected) await request()
  }

  #call(method: string): Promise<unknown> {
    const id = ++this.#calls
    this.#socket.send(JSON.stringify({ id, method }))
    return new Promise(settle => this.#waiting.set(id, settle))
  }

  [Symbol.dispose](): void {
    this.#socket.close()
  }
}
