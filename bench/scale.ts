import * as v from 'valibot'
import { postEvents } from './events.ts'
import { addItems, makeDataset } from './items.ts'
import { multiply } from './multiply.ts'
import { findPlace, type Place, type Read, readsOf, readsOfSample, readsOfShared } from './reads.ts'
import type { Benchmark, Options, Section } from './report.ts'
import { APART_MS, makePrompt, sampleTraces } from './sample-traces.ts'
import { sampleQueue, shareQueue } from './sampled-queue.ts'
import { startServer } from './server.ts'
import { median } from './statistics.ts'
import { addPeople, newTenant } from './tenant.ts'

const SERVED_BY_INDEX = { atMost: 1.3 }
const EXAMINED = { atMost: 5000 }

/**
 * How the cost of reading grows with the number of traces. Sends the same requests to databases of every size in turn,
 * all in one workerd.
 */
export const scale: Benchmark = async options => {
  const [base, ...copies] = options.isQuick ? [50, 2] : options.isLarge ? [1000, 100, 1000] : [1000, 100]
  const sizes = [1, ...copies].map(copies => ({ copies, traces: base * copies, name: `traces-${base * copies}` }))
  await using server = await startServer(
    sizes.flatMap(({ name }) => [
      { name, program: 'countersign' as const, database: name },
      { name: `measured-${name}`, program: 'measured' as const, database: name },
    ]),
  )
  const original = `traces-${base}`
  const client = await newTenant(server, original)
  const people = await addPeople(server, original)
  const versions = await makePrompt(client)
  await postEvents(client, sampleTraces(base, versions))
  const datasetId = await makeDataset(client)
  for (const { copies, name } of sizes.slice(1)) {
    await multiply(await server.databaseOf(original), await server.databaseOf(name), copies, base * APART_MS)
  }
  const places: Place[] = []
  for (const { traces, name } of sizes) {
    await addItems(await server.databaseOf(name), traces)
    const [plain, measured] = [await server.urlOf(name), await server.urlOf(`measured-${name}`)]
    places.push(await findPlace(client.at(plain), client.at(measured), { traces, datasetId, people }))
  }
  const readings: Reading[] = []
  for (const read of readsOf(versions)) readings.push(await readAtEachPlace(read, places, options))
  for (const [index, { name }] of sizes.entries()) {
    const place = places[index]
    if (place) await sampleQueue(server, name, place.client)
  }
  for (const read of readsOfSample) readings.push(await readAtEachPlace(read, places, options))
  for (const [index, { name }] of sizes.entries()) {
    const place = places[index]
    if (place) await shareQueue(server, name, place, people)
  }
  for (const read of readsOfShared) readings.push(await readAtEachPlace(read, places, options))
  return sectionsOf(places, readings)
}

/** The results of one request to each database. */
interface Reading {
  read: Read
  p50Ms: number[]
  rowsRead: number[]
  roundTrips: number[]
}

const Costs = v.object({ rowsRead: v.number(), d1RoundTrips: v.number() })

async function readAtEachPlace(read: Read, places: readonly Place[], { isQuick }: Options): Promise<Reading> {
  const [rounds, leastRounds, timeoutMs] = isQuick ? [1, 1, 0] : [31, 5, 5000]
  const clientsOf = (place: Place) => (read.by ? place.people[read.by] : place)
  const call = (place: Place) => clientsOf(place).client.call('GET', read.path(place))
  const rowsRead: number[] = []
  const roundTrips: number[] = []
  for (const place of places) {
    const { measuredClient } = clientsOf(place)
    // After this call, the isolate has the key and the project cached.
    if (!isQuick) await measuredClient.call('GET', read.path(place))
    const { headers } = await measuredClient.call('GET', read.path(place))
    const costs = v.parse(Costs, JSON.parse(String(headers['x-measured'])))
    rowsRead.push(costs.rowsRead)
    roundTrips.push(costs.d1RoundTrips)
    if (!isQuick) await call(place)
  }
  const times: number[][] = places.map(() => [])
  const start = performance.now()
  for (let round = 0; round < rounds && (round < leastRounds || performance.now() - start < timeoutMs); round++) {
    for (const [index, place] of places.entries()) times[index]?.push((await call(place)).ms)
  }
  return { read, p50Ms: times.map(median), rowsRead, roundTrips }
}

/** A table for each size, compared with the smallest one. */
function sectionsOf([smallest, ...larger]: readonly Place[], readings: readonly Reading[]): Section[] {
  const baseTraces = smallest?.traces ?? 0
  return larger.map(({ traces }, index) => {
    const [few, many] = [baseTraces, traces].map(count => count.toLocaleString('en'))
    const lines = readings.map(({ read, p50Ms, rowsRead, roundTrips }) => {
      const [baseMs = 0, baseRows = 0, ms = 0, rows = 0] = [
        p50Ms[0],
        rowsRead[0],
        p50Ms[index + 1],
        rowsRead[index + 1],
      ]
      const examined = tracesExamined(rows, baseRows, baseTraces * (read.among ?? 1))
      const measurement = {
        what: read.what,
        value: ms / baseMs,
        ...(read.isIndexed && { goal: SERVED_BY_INDEX }),
        more: {
          [`p50 ms at ${few}`]: baseMs,
          [`at ${many}`]: ms,
          [`rows read at ${few}`]: baseRows,
          [`rows at ${many}`]: rows,
          'round trips': roundTrips[index + 1] ?? 0,
          'traces examined (estimate)': examined,
        },
      }
      return { examined: read.isCounting ? 0 : examined, measurement }
    })
    const most = lines.reduce((most, line) => (line.examined > most.examined ? line : most))
    return {
      title: `Reads with ${many} traces, relative to ${few}: p50`,
      notes: [
        'A request served by an index must cost the same at every size. Other filters check one trace after another, so',
        'their cost grows until a page is full or 5,000 traces have been checked.',
      ],
      measurements: [
        ...lines.map(({ measurement }) => measurement),
        { what: `most traces examined (${most.measurement.what})`, value: most.examined, goal: EXAMINED },
      ],
    }
  })
}

/**
 * Estimates the number of traces examined, to two digits. Assumes that examining a trace reads as many rows as in the
 * smallest database, where all `candidates` were examined.
 */
const tracesExamined = (rows: number, baseRows: number, candidates: number): number =>
  Number((rows / Math.max(1, baseRows / candidates)).toPrecision(2))
