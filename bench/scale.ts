import * as v from 'valibot'
import type { Client } from './client.ts'
import { multiply } from './multiply.ts'
import type { Benchmark, Measurement, Options, Section } from './report.ts'
import {
  APART_MS,
  groupOf,
  makePrompt,
  NEWEST,
  type PromptVersions,
  postEvents,
  sampleTraces,
} from './sample-traces.ts'
import { type Server, startServer } from './server.ts'
import { median } from './statistics.ts'
import { newTenant } from './tenant.ts'

const SERVED_BY_INDEX = { atMost: 1.3 }
const LOOKED_AT = { atMost: 5000 }

/** What reading costs as traces grow many: the same requests, in turns, to databases of every size in one workerd. */
export const scale: Benchmark = async options => {
  const [base, ...copies] = options.isQuick ? [100, 10] : options.isLarge ? [1000, 100, 1000] : [1000, 100]
  const sizes = [1, ...copies].map(copies => ({ copies, traces: base * copies, name: `${base * copies}-traces` }))
  await using server = await startServer(
    sizes.flatMap(({ name }) => [
      { name, program: 'countersign' as const, database: name },
      { name: measuredName(name), program: 'measured' as const, database: name },
    ]),
  )
  const client = await newTenant(server, `${base}-traces`)
  const versions = await makePrompt(client)
  const notes: string[] = []
  let start = performance.now()
  const noteSeconds = (what: string) => {
    notes.push(`${what} took ${((performance.now() - start) / 1000).toFixed(1)} s.`)
    start = performance.now()
  }
  await postEvents(client, sampleTraces(base, versions))
  noteSeconds(`Posting ${base.toLocaleString('en')} traces`)
  const places: Place[] = []
  for (const { copies, traces, name } of sizes) {
    if (copies > 1) {
      await multiply(await server.databaseOf(`${base}-traces`), await server.databaseOf(name), copies, base * APART_MS)
      noteSeconds(`Copying them to make ${traces.toLocaleString('en')}`)
    }
    places.push(await findPlace(server, client, name, traces))
  }
  return sectionsOf(places, await readAll(places, requestsOf(versions), options), notes)
}

const measuredName = (name: string) => `${name}-measured`

/** A database of some size, behind two Workers, and what requests to it name. */
interface Place {
  traces: number
  client: Client
  /** Its Worker tells what answers cost. */
  measuredClient: Client
  /** A trace in the middle. */
  traceId: string
  spanId: string
  /** Where the page in the middle begins. */
  cursor: string
}

const Page = v.object({ traces: v.array(v.object({ id: v.string() })), nextCursor: v.nullable(v.string()) })
const Detail = v.object({ spans: v.array(v.object({ id: v.string() })) })

async function findPlace(server: Server, tenant: Client, name: string, traces: number): Promise<Place> {
  const client = tenant.at(await server.urlOf(name))
  const measuredClient = tenant.at(await server.urlOf(measuredName(name)))
  const firstOfOlderHalf = list(`to=${timeOf(traces / 2)}&limit=1`)
  // So that its isolate knows the key and the project.
  await measuredClient.call('GET', firstOfOlderHalf)
  const { body } = await client.call('GET', firstOfOlderHalf)
  const {
    traces: [trace],
    nextCursor,
  } = v.parse(Page, JSON.parse(body))
  const detail = await client.call('GET', `/api/traces/${trace?.id}`)
  const span = v.parse(Detail, JSON.parse(detail.body)).spans.at(-1)
  if (!trace || !span || !nextCursor) throw new Error(`${name} has no trace in its middle`)
  return { traces, client, measuredClient, traceId: trace.id, spanId: span.id, cursor: nextCursor }
}

const list = (query: string) => `/api/traces?projectSlug=bench&${query}`
const search = (query: string) => `/api/v1/traces/search?${query}`
/** When the trace began that so many are newer than. */
const timeOf = (place: number) => new Date(NEWEST - place * APART_MS).toISOString()

interface Read {
  what: string
  /** Whether an index leads to all that it answers, and to nothing else. */
  isIndexed: boolean
  path: (place: Place) => string
}

function requestsOf({ common, rare }: PromptVersions): Read[] {
  const indexed = (what: string, path: Read['path']) => ({ what, isIndexed: true, path })
  const scanning = (what: string, path: Read['path']) => ({ what, isIndexed: false, path })
  const few = groupOf(7)
  return [
    indexed('list: the first page', () => list('')),
    indexed('list: a page in the middle', ({ cursor }) => list(`cursor=${cursor}`)),
    indexed('list: from, to', ({ traces }) => list(`from=${timeOf(traces / 2 + 25)}&to=${timeOf(traces / 2)}`)),
    indexed('list: metadata of a conversation', () => list(`metadata.group_id=${few}`)),
    indexed('list: metadata of all', () => list('metadata.environment=production')),
    indexed('list: metadata of a conversation and of all', () =>
      list(`metadata.environment=production&metadata.group_id=${few}`),
    ),
    scanning('list: metadata of a quarter and of all', () =>
      list('metadata.environment=production&metadata.customer.tier=gold'),
    ),
    scanning('list: status of most', () => list('status=completed')),
    indexed('list: status of 1 in 50', () => list('status=running')),
    indexed('list: name of most', () => list('name=support-answer')),
    indexed('list: name of 3 in 1,000', () => list('name=refund')),
    indexed('list: name of none', () => list('name=none')),
    scanning('list: stepId of all', () => list('stepId=answer')),
    scanning('list: stepId of 3 in 1,000', () => list('stepId=escalate')),
    scanning('list: promptVersionId of most', () => list(`promptVersionId=${common}`)),
    scanning('list: promptVersionId of 3 in 1,000', () => list(`promptVersionId=${rare}`)),
    scanning('list: hasFeedback of 1 in 10', () => list('hasFeedback=true')),
    scanning('list: rating of 1 in 20', () => list('rating=negative')),
    scanning('list: status, rating and metadata of a quarter', () =>
      list('status=completed&rating=negative&metadata.customer.tier=gold'),
    ),
    indexed('search: a conversation', () => search(`group_id=${few}`)),
    indexed('search: metadata of all', () => search('environment=production')),
    indexed('search: a conversation and metadata of all', () => search(`environment=production&group_id=${few}`)),
    scanning('search: metadata of a quarter and of all', () => search('environment=production&customer.tier=gold')),
    indexed('search: name of most', () => search('name=support-answer')),
    indexed('search: name of 3 in 1,000', () => search('name=refund')),
    indexed('search: name of none', () => search('name=none')),
    indexed('search: status of 1 in 50', () => search('status=running')),
    scanning('search: name and status of 3 in 50,000', () => search('name=refund&status=running')),
    scanning('search: name of none and metadata of all', () => search('name=none&environment=production')),
    indexed('detail: a trace', ({ traceId }) => `/api/traces/${traceId}`),
    indexed('detail: a span', ({ spanId }) => `/api/spans/${spanId}`),
  ]
}

/** What one request came to at each place. */
interface Reading {
  request: Read
  /** Milliseconds, of each call. */
  times: number[][]
  rowsRead: number[]
}

const Costs = v.object({ rowsRead: v.number() })

async function readAll(places: readonly Place[], requests: readonly Read[], { isQuick }: Options): Promise<Reading[]> {
  const [rounds, patienceMs] = isQuick ? [2, 1000] : [31, 5000]
  const readings: Reading[] = []
  for (const request of requests) {
    const call = (place: Place) => place.client.call('GET', request.path(place))
    const rowsRead: number[] = []
    for (const place of places) {
      await call(place)
      const { headers } = await place.measuredClient.call('GET', request.path(place))
      rowsRead.push(v.parse(Costs, JSON.parse(String(headers['x-measured']))).rowsRead)
    }
    const times: number[][] = places.map(() => [])
    const start = performance.now()
    for (let round = 0; round < rounds && (round < 5 || performance.now() - start < patienceMs); round++) {
      for (const [index, place] of places.entries()) times[index]?.push((await call(place)).ms)
    }
    readings.push({ request, times, rowsRead })
  }
  return readings
}

/** A table for each size, which is held against the smallest one. */
function sectionsOf(places: readonly Place[], readings: readonly Reading[], notes: string[]): Section[] {
  const [base, ...larger] = places.map(({ traces }) => traces)
  return larger.map((traces, index) => {
    const compared = readings.map(({ request, times, rowsRead }) => {
      const [baseMs, ms] = [median(times[0] ?? []), median(times[index + 1] ?? [])]
      const [baseRows = 0, rows = 0] = [rowsRead[0], rowsRead[index + 1]]
      // A trace that is looked at is a row at least. Where all of the smallest database was, that tells how many rows it is.
      const lookedAt = Math.round(rows / Math.max(1, baseRows / (base ?? 1)))
      return { request, baseMs, ms, baseRows, rows, lookedAt }
    })
    const most = compared.reduce((most, each) => (each.lookedAt > most.lookedAt ? each : most))
    const [few, many] = [base, traces].map(count => count?.toLocaleString('en'))
    const measurements: Measurement[] = compared.map(({ request, baseMs, ms, baseRows, rows, lookedAt }) => ({
      what: request.what,
      value: ms / baseMs,
      ...(request.isIndexed && { goal: SERVED_BY_INDEX }),
      more: {
        [`p50 ms at ${few}`]: baseMs,
        [`at ${many}`]: ms,
        [`rows read at ${few}`]: baseRows,
        [`rows at ${many}`]: rows,
        'traces looked at, about': lookedAt,
      },
    }))
    const worst = { what: `traces looked at, about (${most.request.what})`, value: most.lookedAt, goal: LOOKED_AT }
    return {
      title: `Reading at ${many} traces over reading at ${few}: p50`,
      notes: [
        'What an index leads to must cost the same at every size. Other filters look at one trace after the other, which costs',
        'more until a page is full or 5,000 were looked at.',
        ...notes,
      ],
      measurements: [...measurements, worst],
    }
  })
}
