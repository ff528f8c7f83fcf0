import { setTimeout as sleep } from 'node:timers/promises'
import { Inspector } from '../inspector.ts'
import { peakMemory, resetPeak, residentMemory } from '../process.ts'
import type { Benchmark, Measurement } from '../report.ts'
import { type Server, startServer } from '../server.ts'
import { newTenant } from '../tenant.ts'
import type { Attack } from './attack.ts'
import { attacks } from './attacks/index.ts'
import { type Longest, Neighbor } from './neighbor.ts'

const STALL = { atMost: 250 }
const RISE_MB = { atMost: 64 }
const MB = 1e6
/**
 * V8's limit for old objects: half of an isolate's 128 MB, so that uncollected garbage doesn't count as memory in use.
 */
const OLD_SPACE_MB = 64
/** How many times each attack runs. The first run includes compiling code. */
const ROUNDS = 2
/** An attack that takes longer has stopped the Worker. */
const LONGEST_MS = 60_000
/**
 * The wait after an attack. It's long enough for the attack's remaining work, such as a job, to finish, and for the
 * neighbor to receive another response.
 */
const SETTLING_MS = 200

/** How long a neighbor waits, and how much memory is used, while one request does the worst that the limits allow. */
export const neighbors: Benchmark = async ({ isQuick, attack: wanted }) => {
  const [share, rounds, settlingMs] = isQuick ? [0.002, 1, 2] : [1, ROUNDS, SETTLING_MS]
  const stalls: Measurement[] = []
  const rises: Measurement[] = []
  const groups = Object.entries(attacks)
    .map(([group, attacksOf]) =>
      Object.entries(attacksOf(share)).map(([name, attack]) => [`${group}: ${name}`, attack] as const),
    )
    .map(group => group.filter(([what]) => what.includes(wanted)))
    .filter(group => group.length > 0)
  // In a quick run, all groups share a server, because starting one takes longer than a group with so little data.
  for (const chosen of isQuick ? [groups.flat()] : groups) {
    await using server = await startServer([{ name: 'countersign', program: 'countersign', database: 'countersign' }], {
      isInspected: true,
      consumesJobs: true,
      v8Flags: [`--max-old-space-size=${OLD_SPACE_MB}`],
    })
    const client = await newTenant(server, 'countersign')
    using inspector = await Inspector.open(await server.inspectorUrl(), 'countersign')
    await using neighbor = new Neighbor(await server.urlOf('countersign'), server.processId)
    if (stalls.length === 0) stalls.push({ what: 'nothing', value: await idleMs(neighbor, settlingMs), unit: 'ms' })
    for (const [what, attack] of chosen) {
      const send = await attack(client)
      // A quick run collects garbage only once, because that takes longer than an attack with so little data.
      if (!isQuick || rises.length === 0) await inspector.collectGarbage(() => client.call('GET', '/healthz'))
      const seen = await observe(send, neighbor, server, rounds, settlingMs)
      const more = {
        computing: seen.longest.computingMs,
        'answered with': seen.status,
        'after ms': seen.ms,
        'response, MB': seen.bytes / MB,
      }
      stalls.push({ what, value: seen.longest.ms, unit: 'ms', goal: STALL, more })
      rises.push({ what, value: seen.riseBytes / MB, unit: 'MB', goal: RISE_MB })
      console.error(
        `${what}: ${Math.round(seen.longest.ms)} ms, ${Math.round(seen.longest.computingMs)} computing, ${Math.round(seen.riseBytes / MB)} MB`,
      )
    }
  }
  return [
    {
      title: 'The longest response time of /healthz while another client sends this request',
      notes: [
        'One workerd serves both, with its local D1 and R2, so the time that SQLite takes is included.',
        `The longest of ${ROUNDS} rounds. The first one includes compiling code.`,
        'Computing: the processor time within that response time, in ms. The rest comes from other load on the machine.',
      ],
      measurements: stalls,
    },
    {
      title: "How far workerd's memory rises above idle during one such request",
      notes: [`Includes the local D1 and R2. V8 may keep ${OLD_SPACE_MB} MB of old objects.`],
      measurements: rises,
    },
  ]
}

interface Seen {
  status: number
  ms: number
  bytes: number
  longest: Longest
  riseBytes: number
}

async function observe(
  send: Awaited<ReturnType<Attack>>,
  neighbor: Neighbor,
  { processId }: Server,
  rounds: number,
  settlingMs: number,
): Promise<Seen> {
  let seen: Seen = { status: 0, ms: 0, bytes: 0, longest: { ms: 0, computingMs: 0 }, riseBytes: 0 }
  for (let round = 0; round < rounds; round++) {
    await sleep(settlingMs)
    await neighbor.longest()
    const idleBytes = await residentMemory(processId)
    await resetPeak(processId)
    const { status, ms, body } = await Promise.race([send(), stopped()])
    if (status >= 500) throw new Error(`returned ${status}: ${body.slice(0, 500)}`)
    await sleep(settlingMs)
    const [longest, riseBytes] = [await neighbor.longest(), (await peakMemory(processId)) - idleBytes]
    seen = {
      status,
      ms: Math.max(seen.ms, ms),
      bytes: body.length,
      longest: {
        ms: Math.max(seen.longest.ms, longest.ms),
        computingMs: Math.max(seen.longest.computingMs, longest.computingMs),
      },
      riseBytes: Math.max(seen.riseBytes, riseBytes),
    }
  }
  return seen
}

async function stopped(): Promise<never> {
  await sleep(LONGEST_MS, undefined, { ref: false })
  throw new Error(`no response in ${LONGEST_MS} ms`)
}

/** The neighbor's response time on an idle server. Anything above it is due to the attack. */
async function idleMs(neighbor: Neighbor, settlingMs: number): Promise<number> {
  await sleep(settlingMs)
  await neighbor.longest()
  await sleep(10 * settlingMs)
  return (await neighbor.longest()).ms
}
