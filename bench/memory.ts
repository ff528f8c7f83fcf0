import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from './client.ts'
import { type BatchEvent, makeLargeTrace, textOf } from './events.ts'
import { Inspector } from './inspector.ts'
import { peakMemory, resetPeak } from './process.ts'
import type { Benchmark } from './report.ts'
import { startServer } from './server.ts'
import { newTenant } from './tenant.ts'

const MB = 1e6
/** An isolate's memory limit on Cloudflare, shared by all its requests. */
const ISOLATE_MB = 128
/**
 * V8's limit for old objects: half of the isolate's limit, so that V8 collects garbage as it would on Cloudflare.
 * Without a limit, garbage piles up, and the peak doesn't show how much memory a read needs.
 */
const OLD_SPACE_MB = 64
const SAMPLE_EVERY_MS = 5

/** The Worker's memory while it reads traces with 30 MB of values. */
export const memory: Benchmark = async ({ isQuick }) => {
  const [traceBytes, reads] = isQuick ? [1 * MB, 2] : [30 * MB, 5]
  const [bounded, unbounded] = [await measure(traceBytes, reads, OLD_SPACE_MB), await measure(traceBytes, reads)]
  return [
    {
      title: `The isolate's peak memory while it reads a trace of ${traceBytes / MB} MB ${reads} times in a row`,
      notes: [
        `V8 may keep ${OLD_SPACE_MB} MB of old objects. Without that limit, the peak is mostly uncollected garbage.`,
        "The process's memory includes the local D1 and R2.",
      ],
      measurements: bounded.map(({ what, before, peak, peakHeap, processPeak }, index) => ({
        what,
        value: peak,
        unit: 'MB',
        goal: { atMost: ISOLATE_MB },
        more: {
          'heap only': peakHeap,
          'before the first read': before,
          'without the limit': unbounded[index]?.peak ?? Number.NaN,
          'the process': processPeak,
          'the process, without the limit': unbounded[index]?.processPeak ?? Number.NaN,
        },
      })),
    },
  ]
}

/** In MB. */
interface Reading {
  what: string
  before: number
  peak: number
  peakHeap: number
  processPeak: number
}

async function measure(traceBytes: number, reads: number, oldSpaceMb?: number): Promise<Reading[]> {
  const v8Flags = oldSpaceMb === undefined ? [] : [`--max-old-space-size=${oldSpaceMb}`]
  await using server = await startServer([{ name: 'countersign', program: 'countersign', database: 'countersign' }], {
    isInspected: true,
    v8Flags,
  })
  const client = await newTenant(server, 'countersign')
  using inspector = await Inspector.open(await server.inspectorUrl(), 'countersign')
  const readings: Reading[] = []
  for (const [what, valueBytes, eventsPerBatch] of [
    ['values of 1 MB, in R2', 1 * MB, 7],
    ['values of 7 KB, in their rows', 7000, 1000],
  ] as const) {
    const stateOf = (index: number): BatchEvent => ({
      type: 'observation',
      body: { type: 'state', key: `key-${index}`, data: textOf(valueBytes) },
    })
    const id = await makeLargeTrace(client, `trace_${valueBytes}`, traceBytes / valueBytes, stateOf, eventsPerBatch)
    await inspector.collectGarbage(() => client.call('GET', '/healthz'))
    const before = await inspector.memory()
    await resetPeak(server.processId)
    const [reading, peak] = [readRepeatedly(client, id, reads), { heap: 0, whole: 0 }]
    while (await isPending(reading)) {
      const { heap, buffers } = await inspector.memory()
      peak.heap = Math.max(peak.heap, heap)
      peak.whole = Math.max(peak.whole, heap + buffers)
    }
    readings.push({
      what,
      before: (before.heap + before.buffers) / MB,
      peak: peak.whole / MB,
      peakHeap: peak.heap / MB,
      processPeak: (await peakMemory(server.processId)) / MB,
    })
  }
  return readings
}

async function readRepeatedly(client: Client, id: string, reads: number): Promise<void> {
  for (let read = 0; read < reads; read++) await client.call('GET', `/api/traces/${id}`)
}

/**
 * Waits briefly, and then resolves to whether the promise is still pending. If the promise failed, rejects with its
 * error.
 */
const isPending = (promise: Promise<void>): Promise<boolean> =>
  Promise.race([promise.then(() => false), sleep(SAMPLE_EVERY_MS, true)])
