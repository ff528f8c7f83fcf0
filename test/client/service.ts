import { env } from 'cloudflare:workers'
import { Countersign, type CountersignOptions, type Fetch, type Loss } from '../../src/client/index.ts'
import type { Env } from '../../src/env.ts'
import { type Org, send } from '../support/org.ts'

/** A request that the client sent. */
export interface Sent {
  method: string
  /** Includes the query. */
  path: string
  headers: Headers
  /** The events in a batch. Empty for other requests. */
  events: { type: string; body: Record<string, unknown> }[]
  signal: AbortSignal | undefined
}

/** A `fetch` that records its requests and responds as configured. */
function stubbedFetch(reply: (sent: Sent, nth: number) => Response | Promise<Response>) {
  const sent: Sent[] = []
  const fetch: Fetch = async (url, init) => {
    const { pathname, search } = new URL(url)
    const body: { events?: Sent['events'] } = typeof init.body === 'string' ? JSON.parse(init.body) : {}
    sent.push({
      method: init.method ?? '',
      path: pathname + search,
      headers: new Headers(init.headers),
      events: body.events ?? [],
      signal: init.signal ?? undefined,
    })
    return reply(sent.at(-1) as Sent, sent.length)
  }
  return { fetch, sent }
}

export const jsonResponse = (status: number, body: unknown, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } })

export const errorResponse = (status: number, code: string, headers: Record<string, string> = {}): Response =>
  jsonResponse(status, { error: `It is ${code}`, code, requestId: 'r' }, { 'x-request-id': 'r', ...headers })

/** The response to a batch, with a status for each event or one status for all events. */
export const batchResponse = ({ events }: Sent, statuses: readonly number[] | number = 202): Response =>
  jsonResponse(207, {
    results: events.map((_, index) => {
      const status = typeof statuses === 'number' ? statuses : (statuses[index] ?? 202)
      return { status, body: status < 300 ? {} : { error: `It is ${status}`, code: 'some_code' } }
    }),
  })

/** A client that calls a stub, and the losses that it reports. */
export function newClient(
  reply: (sent: Sent, nth: number) => Response | Promise<Response> = sent => batchResponse(sent),
  options: Partial<CountersignOptions> = {},
) {
  const losses: Loss[] = []
  const { fetch, sent } = stubbedFetch(reply)
  const countersign = new Countersign({
    baseUrl: 'https://countersign.test',
    apiKey: 'cs_key',
    fetch,
    onLoss: loss => losses.push(loss),
    ...options,
  })
  return { countersign, sent, losses, batches: () => sent.map(({ events }) => events.map(({ type }) => type)) }
}

/** A `fetch` that calls the Worker directly with the tests' bindings or with wrapped bindings. */
export const workerFetch =
  (bindings: Env = env): Fetch =>
  async (url, init) => {
    const { status, headers, body } = await send(new Request(url, init), bindings)
    return new Response(body === undefined ? null : JSON.stringify(body), { status, headers })
  }

/** A client that calls the Worker for a tenant's project, and the losses that it reports. */
export function newWorkerClient(org: Org, options: Partial<CountersignOptions> = {}) {
  const losses: Loss[] = []
  const countersign = new Countersign({
    baseUrl: 'https://countersign.test/',
    apiKey: org.projectKey,
    projectSlug: 'support',
    projectId: org.project.id,
    fetch: workerFetch(),
    onLoss: loss => losses.push(loss),
    ...options,
  })
  return { countersign, losses }
}

/** A prompt in a tenant's project, and a function that activates a new version of it. */
export async function newPrompt(org: Org, stepId: string) {
  const created = await org.owner.post('/api/prompts', { projectSlug: 'support', stepId, content: 'First' })
  if (created.status !== 201) throw new Error(`creating the prompt returned ${created.status}`)
  const path = `/api/prompts/${created.body.id}`
  return {
    created: created.body,
    addVersion: (content: string) => org.owner.post(`${path}/versions`, { content, activate: true }),
    remove: () => org.owner.delete(path),
  }
}
