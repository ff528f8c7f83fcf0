import { createServer, type Server as HttpServer } from 'node:http'
import { text } from 'node:stream/consumers'
import * as v from 'valibot'

const Data = v.looseObject({
  trace: v.optional(v.object({ id: v.string() })),
  promptId: v.optional(v.string()),
  spanId: v.optional(v.string()),
})
export const Envelope = v.object({ type: v.string(), data: Data })
export type Envelope = v.InferOutput<typeof Envelope>

/** The events that the crash test causes, and for each event, the field of its data that identifies its subject. */
const SUBJECTS: Readonly<Record<string, (data: v.InferOutput<typeof Data>) => string | undefined>> = {
  'trace.deleted': ({ trace }) => trace?.id,
  'prompt.activated': ({ promptId }) => promptId,
  'span.reviewed': ({ spanId }) => spanId,
}

export const EVENTS = Object.keys(SUBJECTS)

/** Counts the changes to each subject and the events about it that arrived. */
export class EventLedger {
  /** How many events each subject must have, by `<type> <subject>`. */
  readonly #expected = new Map<string, number>()
  /** The IDs of the events that arrived. */
  readonly #arrived = new Map<string, Set<string>>()

  /** Records that a change took effect. */
  expect(type: string, subject: string): void {
    const key = `${type} ${subject}`
    this.#expected.set(key, (this.#expected.get(key) ?? 0) + 1)
  }

  /** Records that an event arrived, perhaps again. */
  arrive(id: string, { type, data }: Envelope): void {
    const key = `${type} ${SUBJECTS[type]?.(data)}`
    const ids = this.#arrived.get(key) ?? new Set()
    this.#arrived.set(key, ids.add(id))
  }

  get arrivedCount(): number {
    return [...this.#arrived.values()].reduce((sum, { size }) => sum + size, 0)
  }

  /** Lists the subjects whose number of changes differs from their number of events. */
  differences(): string[] {
    const keys = new Set([...this.#expected.keys(), ...this.#arrived.keys()])
    return [...keys].flatMap(key => {
      const [changes, events] = [this.#expected.get(key) ?? 0, this.#arrived.get(key)?.size ?? 0]
      return changes === events ? [] : [`${key}: ${changes} changes, ${events} events`]
    })
  }

  /** Listens for events. */
  async receive(): Promise<HttpServer> {
    const server = createServer(async (request, response) => {
      this.arrive(String(request.headers['webhook-id']), v.parse(Envelope, JSON.parse(await text(request))))
      response.writeHead(204).end()
    })
    return new Promise(resolve => server.listen(0, 'localhost', () => resolve(server)))
  }
}
