import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import type { Client } from './client.ts'
import { type BatchEvent, postEvents, textOf } from './events.ts'
import { multiply } from './multiply.ts'
import type { Benchmark, Measurement, Section } from './report.ts'
import { APART_MS, NEWEST } from './sample-traces.ts'
import { startServer } from './server.ts'
import { median, quantile, spreadOf } from './statistics.ts'
import { newTenant } from './tenant.ts'

/** Spans per trace, including the root. */
const SPANS = 5
/** The size of a span's input and output together. */
const SPAN_BYTES = 600

const Costs = v.object({
  d1RoundTrips: v.number(),
  rowsRead: v.number(),
  sqlMs: v.number(),
  readBytes: v.number(),
  largestReadBytes: v.number(),
})
const Page = v.object({ traces: v.array(v.unknown()), nextCursor: v.nullable(v.string()) })

/** Text search over many traces: the cost of a page, and how long other clients' writes wait during a search. */
export const search: Benchmark = async ({ isQuick }) => {
  const [base, copies, rounds] = isQuick ? [5, 24, 1] : [50, 2000, 31]
  await using server = await startServer([
    { name: 'original', program: 'countersign', database: 'original' },
    { name: 'countersign', program: 'countersign', database: 'traces' },
    { name: 'measured', program: 'measured', database: 'traces' },
    { name: 'neighbor', program: 'countersign', database: 'traces' },
  ])
  const original = await newTenant(server, 'original')
  await postEvents(original, traces(base))
  await multiply(await server.databaseOf('original'), await server.databaseOf('countersign'), copies, base * APART_MS)
  const client = original.at(await server.urlOf('countersign'))
  const measured = original.at(await server.urlOf('measured')).adding({ 'x-measure-bytes': 'yes' })
  const neighbor = original.at(await server.urlOf('neighbor'))
  const count = base * copies
  const pages = await measurePages(client, measured, count, rounds)
  const waits = await measureWaits(client, neighbor, isQuick ? 3 : 300)
  const title = `Text search over ${count.toLocaleString('en')} traces of ${SPANS} spans with ${SPAN_BYTES} B each`
  return [
    {
      title: `${title}: p50 of a page, relative to an unfiltered page of 50 traces`,
      notes: ['If there are no hits, a page examines 500 traces.'],
      measurements: pages,
    },
    {
      title: `${title}: how long another client's writes take during a search, relative to an idle server`,
      measurements: waits,
    },
  ]
}

/** Traces of a pipeline, newest first. */
function* traces(count: number): Generator<BatchEvent> {
  for (let index = 0; index < count; index++) {
    const trace_id = `trace_${index}`
    const timestamp = new Date(NEWEST - index * APART_MS).toISOString()
    yield { type: 'trace', body: { trace_id, name: 'support-answer', timestamp, status: 'completed', metadata: {} } }
    for (let step = 1; step < SPANS; step++) {
      const text = `The warranty is 24 months. ${textOf(SPAN_BYTES / 2)}`.slice(
        0,
        SPAN_BYTES / 2 - '{"text":""}'.length,
      )
      yield {
        type: 'span',
        body: {
          trace_id,
          span_id: randomUUID(),
          step_id: `step-${step}`,
          input: { text },
          output: { text },
          timestamp,
        },
      }
    }
  }
}

const list = (query: string) => `/api/traces?projectSlug=bench&${query}`

async function measurePages(
  client: Client,
  measured: Client,
  count: number,
  rounds: number,
): Promise<Section['measurements']> {
  const middle = new Date(NEWEST - (count / 2) * APART_MS).toISOString()
  const requests = [
    ['an unfiltered page', list('')],
    ['contains: no hits, among the newest traces', list('contains=nowhere+to+be+found')],
    ['contains: no hits, from the middle of the list', list(`contains=nowhere+to+be+found&to=${middle}`)],
    ['contains: no hits, among spans', '/api/spans?projectSlug=bench&contains=nowhere+to+be+found'],
    ['contains: 50 hits', list('contains=WARRANTY')],
    ['nameContains: no hits', list('nameContains=refund')],
  ] as const
  const times = requests.map((): number[] => [])
  const costs: v.InferOutput<typeof Costs>[] = []
  for (const [, path] of requests) {
    await client.call('GET', path)
    await measured.call('GET', path)
    const { headers } = await measured.call('GET', path)
    costs.push(v.parse(Costs, JSON.parse(String(headers['x-measured']))))
  }
  for (let round = 0; round < rounds; round++) {
    for (const [index, [, path]] of requests.entries()) times[index]?.push((await client.call('GET', path)).ms)
  }
  const baseMs = median(times[0] ?? [])
  const lines = requests.map(([what], index): Measurement => {
    const [ms = [], cost] = [times[index], costs[index]]
    return {
      what,
      value: median(ms) / baseMs,
      spread: spreadOf(ms.map(each => each / baseMs)),
      more: {
        'p50 ms': median(ms),
        'SQLite ms': cost?.sqlMs ?? 0,
        'D1 round trips': cost?.d1RoundTrips ?? 0,
        'rows read': cost?.rowsRead ?? 0,
        'MiB read': (cost?.readBytes ?? 0) / 1024 ** 2,
        'KiB in the largest round trip': (cost?.largestReadBytes ?? 0) / 1024,
      },
    }
  })
  const newer = count / 20
  const pages = await pagesUntilHit(client, newer)
  return [...lines, { what: `pages until a hit after ${newer.toLocaleString('en')} newer traces`, more: { pages } }]
}

async function pagesUntilHit(client: Client, newer: number): Promise<number> {
  const timestamp = new Date(NEWEST - newer * APART_MS + APART_MS / 2).toISOString()
  await client.call('POST', '/api/v1/traces', {
    trace_id: 'trace_rare',
    name: 'zebra crossing',
    timestamp,
    status: 'completed',
  })
  let cursor: string | null = ''
  for (let pages = 1; cursor !== null; pages++) {
    const path = list(`contains=zebra+crossing${cursor && `&cursor=${cursor}`}`)
    const page: v.InferOutput<typeof Page> = v.parse(Page, JSON.parse((await client.call('GET', path)).body))
    if (page.traces.length > 0) return pages
    cursor = page.nextCursor
  }
  throw new Error("The search didn't find the text")
}

/**
 * How long writes through another Worker with the same database take: first alone, then during back-to-back searches.
 */
async function measureWaits(client: Client, neighbor: Client, writes: number): Promise<Measurement[]> {
  const [trace_id, timestamp] = ['trace_neighbor', new Date(NEWEST).toISOString()]
  await neighbor.call('POST', '/api/v1/traces', { trace_id, name: 'neighbor', timestamp, status: 'completed' })
  const observation = { trace_id, type: 'state', key: 'k', data: 1, timestamp }
  const write = async () => (await neighbor.call('POST', '/api/v1/observations', observation)).ms
  const writeAll = async () => {
    const times: number[] = []
    for (let index = 0; index < writes; index++) times.push(await write())
    return times
  }
  await write()
  const alone = await writeAll()
  let isSearching = true
  const searching = (async () => {
    while (isSearching) await client.call('GET', list('contains=nowhere+to+be+found'))
  })()
  const during = await writeAll()
  isSearching = false
  await searching
  const line = (what: string, of: (times: readonly number[]) => number): Measurement => ({
    what,
    value: of(during) / of(alone),
    more: { 'ms alone': of(alone), 'ms during a search': of(during) },
  })
  return [
    line('a write: p50', median),
    line('a write: p99', times => quantile(times, 0.99)),
    line('a write: longest', times => Math.max(...times)),
  ]
}
