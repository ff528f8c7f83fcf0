import * as v from 'valibot'
import { type Random, seededRandom } from '../src/domain/random.ts'
import { pipelineRuns, SINGLE_CALLS } from './batches.ts'
import { highestRate, type SimulatedCall } from './queueing.ts'
import type { Benchmark, Measurement } from './report.ts'
import { startServer } from './server.ts'
import { newTenant } from './tenant.ts'

const SEED = 1
const PROJECTS = 1000
const LIMIT_MS = 50

/** The shards that can store a project's traces. `project` is the project's rank: 0 is the busiest. */
type Placement = (project: number, random: Random) => readonly number[]

interface Layout {
  what: string
  shards: number
  placement: Placement
  /** The goal for the rate, as a multiple of one database's rate. */
  atLeast?: number
}

const all = (shards: number): readonly number[] => Array.from({ length: shards }, (_, shard) => shard)

const spread =
  (shards: number): Placement =>
  () =>
    all(shards)

const alone =
  (shards: number): Placement =>
  (_, random) => [Math.floor(random() * shards)]

/** The busiest project's traces are in the first `hotShards` shards. Every other project is in one random shard. */
const withHotSpread =
  (shards: number, hotShards: number): Placement =>
  (project, random) =>
    project === 0 ? all(hotShards) : alone(shards)(project, random)

const LAYOUTS: readonly Layout[] = [
  { what: '1 shard', shards: 1, placement: spread(1) },
  { what: '4 shards, each project in all of them', shards: 4, placement: spread(4), atLeast: 3 },
  { what: '16 shards, each project in all of them', shards: 16, placement: spread(16), atLeast: 12 },
  { what: '4 shards, each project in one', shards: 4, placement: alone(4) },
  { what: '16 shards, each project in one', shards: 16, placement: alone(16) },
  { what: '16 shards, the busiest project in 4, the others in one each', shards: 16, placement: withHotSpread(16, 4) },
]

/** How many calls per second several databases can handle, simulated with measured times. */
export const capacity: Benchmark = async ({ isQuick }) => {
  const workMs = await measureWork(isQuick ? 4 : 400)
  const servicesMs = workMs.map(ms => ms + CONFIRMATION_MS)
  const rates = LAYOUTS.map(layout => rateOf(layout, servicesMs, isQuick ? 2000 : 200_000))
  const [one = Number.NaN] = rates
  return [
    {
      title: `Calls per second before the 99th percentile in D1 exceeds ${LIMIT_MS} ms, relative to 1 shard`,
      notes: [
        `Simulated. The calls record pipeline runs in ${PROJECTS.toLocaleString('en')} projects; the nth busiest project makes 1/n as many calls as the busiest.`,
        `A call occupies a database for as long as SQLite worked on a similar call here (${mean(workMs).toFixed(2)} ms on average,`,
        `excluding the slowest 2%), plus ${CONFIRMATION_MS} ms, the estimated time that a deployed D1 takes to confirm the write.`,
      ],
      measurements: LAYOUTS.map(({ what, atLeast }, index): Measurement => {
        const rate = rates[index] ?? Number.NaN
        return {
          what,
          value: rate / one,
          ...(atLeast !== undefined && { goal: { atLeast } }),
          more: { 'calls/s': rate },
        }
      }),
    },
  ]
}

/** The estimate from docs/operations.md, because the local runtime doesn't confirm writes. */
const CONFIRMATION_MS = 4

const MEASURED_SHARE = 0.98

const Times = v.object({ sqlMs: v.number() })

/** Records pipeline runs, one call at a time. Returns how long SQLite worked on each call, in milliseconds. */
async function measureWork(runs: number): Promise<number[]> {
  await using server = await startServer([{ name: 'measured', program: 'measured', database: 'measured' }])
  const client = await newTenant(server, 'measured')
  const times: number[] = []
  for (const { type, body } of pipelineRuns(runs)) {
    const { headers } = await client.call('POST', SINGLE_CALLS[type], body)
    times.push(v.parse(Times, JSON.parse(String(headers['x-measured']))).sqlMs)
  }
  // Leaves out the slowest calls, in which a statement was used for the first time or the machine paused.
  return times.toSorted((left, right) => left - right).slice(0, Math.ceil(times.length * MEASURED_SHARE))
}

/** The highest rate for a layout. The simulated calls are the same each time. */
function rateOf({ shards, placement }: Layout, servicesMs: readonly number[], count: number): number {
  const random = seededRandom(SEED)
  const places = Array.from({ length: PROJECTS }, (_, project) => placement(project, random))
  const projectOf = zipf(PROJECTS)
  const calls = Array.from({ length: count }, (): SimulatedCall => {
    const project = places[projectOf(random())] ?? []
    return {
      // Calls arrive independently of each other.
      gap: -Math.log(1 - random()),
      database: pick(project, random) ?? 0,
      serviceMs: pick(servicesMs, random) ?? 0,
    }
  })
  return highestRate(calls, shards, LIMIT_MS)
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

const pick = <Item>(items: readonly Item[], random: Random): Item | undefined =>
  items[Math.floor(random() * items.length)]

/** Turns a number below 1 into an index. The nth index is drawn 1/n times as often as the first. */
function zipf(count: number): (share: number) => number {
  const sums: number[] = []
  for (let index = 0, sum = 0; index < count; index++) {
    sum += 1 / (index + 1)
    sums.push(sum)
  }
  const total = sums.at(-1) ?? 1
  return share => sums.findIndex(sum => share * total < sum)
}
