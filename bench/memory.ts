import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from './client.ts'
import { type BatchEvent, makeLargeTrace, textOf } from './events.ts'
import { Inspector } from './inspector.ts'
import { peakMemory, resetPeak } from './process.ts'
import type { Benchmark } from './report.ts'
import { startServer } from './server.ts'
import { newTenant } from './tenant.ts'

const MB = 1e6
/** What an isolate may take on Cloudflare, for all its requests. */
const ISOLATE_MB = 128
/**
 * Old objects that V8 may keep: half of that, so that it collects garbage when it would there. Without a bound it lets
 * garbage lie, and how much would say nothing of what a read needs.
 */
const OLD_SPACE_MB = 64
const SAMPLE_EVERY_MS = 5

/** The memory of the Worker while it reads traces whose values add up to 30 MB. */
export const memory: Benchmark = async ({ isQuick }) => {
  const [traceBytes, reads] = isQuick ? [1 * MB, 2] : [30 * MB, 5]
  const [bounded, unbounded] = [await measure(traceBytes, reads, OLD_SPACE_MB), await measure(traceBytes, reads)]
  return [
    {
      title: `Memory of the isolate while a trace of ${traceBytes / MB} MB is read ${reads} times, one after another: its peak`,
      notes: [
        `V8 may keep ${OLD_SPACE_MB} MB of old objects; the peak without a bound is mostly garbage that nothing made it collect.`,
        'That of the process holds the local D1 and R2, too.',
      ],
      measurements: bounded.map(({ what, before, peak, peakHeap, processPeak }, index) => ({
        what,
        value: peak,
        unit: 'MB',
        goal: { atMost: ISOLATE_MB },
        more: {
          'of it heap': peakHeap,
          'before the first read': before,
          'without a bound': unbounded[index]?.peak ?? Number.NaN,
          'the process': processPeak,
          'the process, without': unbounded[index]?.processPeak ?? Number.NaN,
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
  for (const [what, valueBytes, eventsABatch] of [
    ['values of 1 MB, in R2', 1 * MB, 7],
    ['values of 7 KB, in their rows', 7000, 1000],
  ] as const) {
    const stateOf = (index: number): BatchEvent => ({
      type: 'observation',
      body: { type: 'state', key: `key-${index}`, data: textOf(valueBytes) },
    })
    const id = await makeLargeTrace(client, `trace_${valueBytes}`, traceBytes / valueBytes, stateOf, eventsABatch)
    await inspector.collectGarbage(() => client.call('GET', '/healthz'))
    const before = await inspector.memory()
    await resetPeak(server.processId)
    const [reading, peak] = [readSeveral(client, id, reads), { heap: 0, whole: 0 }]
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

async function readSeveral(client: Client, id: string, reads: number): Promise<void> {
  for (let read = 0; read < reads; read++) await client.call('GET', `/api/traces/${id}`)
}

/** Waits a little. Whether the promise is still not settled; its error, if it failed. */
const isPending = (promise: Promise<void>): Promise<boolean> =>
  Promise.race([promise.then(() => false), sleep(SAMPLE_EVERY_MS, true)])
