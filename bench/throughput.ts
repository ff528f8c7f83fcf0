import { Client } from './client.ts'
import { processorMs } from './process.ts'
import type { Benchmark, Measurement, Options } from './report.ts'
import { startServer } from './server.ts'
import { median, spreadOf } from './statistics.ts'
import { newTenant } from './tenant.ts'

const TIMESTAMP = '2026-11-20T10:00:00.000Z'
const TRACE = { trace_id: 'trace_bench', name: 'support-answer', timestamp: TIMESTAMP, status: 'running', metadata: {} }
const DATA = { question: 'How long is the warranty?', locale: 'en', customer: { tier: 'gold' } }

const CASES = [
  { type: 'input', connections: 32, goal: { atLeast: 0.8 } },
  { type: 'output', connections: 32 },
  { type: 'input', connections: 1 },
] as const

/** `POST /observations` compared with a minimal Worker in the same workerd. */
export const throughput: Benchmark = async options => {
  await using server = await startServer([
    { name: 'countersign', program: 'countersign', database: 'countersign' },
    { name: 'bare', program: 'bare', database: 'bare' },
  ])
  const countersign = await newTenant(server, 'countersign')
  const bare = new Client(await server.urlOf('bare'), {})
  await countersign.call('POST', '/api/v1/traces', TRACE)
  await bare.call('PUT', '/')
  const measurements: Measurement[] = []
  for (const { type, connections, ...goal } of CASES) {
    const body = JSON.stringify({ trace_id: TRACE.trace_id, type, data: DATA, timestamp: TIMESTAMP })
    const rivals: Rivals = {
      countersign: () => countersign.call('POST', '/api/v1/observations', body),
      bare: () => bare.call('POST', '/', body),
    }
    const comparison = await compare(rivals, connections, server.processId, options)
    const through = connections === 1 ? 'one after another' : `${connections} at a time`
    measurements.push({ what: `observations of type ${type}, ${through}`, ...comparison, ...goal })
  }
  return [
    {
      title: 'POST /observations: requests per second relative to a bare Worker',
      notes: [
        'The bare Worker parses the JSON and does one insert. Both run in one workerd and alternate in short blocks. The ratio',
        'is the median over neighboring blocks, with its middle half. The client uses its own core. Its share of the time',
        'per request is the same for both, which pulls the ratio toward 1. The processor time of workerd per request has no such',
        'share.',
      ],
      measurements,
    },
  ]
}

/** A call to each of the two Workers. */
interface Rivals {
  countersign: () => Promise<unknown>
  bare: () => Promise<unknown>
}

interface Block {
  requestsPerSecond: number
  requests: number
  processorMs: number
}

/** Runs both in alternating blocks, so that other load on the machine affects both equally. */
async function compare({ countersign, bare }: Rivals, connections: number, processId: number, { isQuick }: Options) {
  const [rounds, blockMs, warmUpMs] = isQuick ? [2, 50, 50] : [40, 250, 1500]
  const block = (call: () => Promise<unknown>, ms = blockMs) => runBlock(call, connections, ms, processId)
  for (const call of [countersign, bare]) await block(call, warmUpMs)
  const ownBlocks: Block[] = []
  const bareBlocks: Block[] = []
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) ownBlocks.push(await block(countersign))
    bareBlocks.push(await block(bare))
    if (round % 2 === 1) ownBlocks.push(await block(countersign))
  }
  const ratios = ownBlocks.map(
    (each, index) => each.requestsPerSecond / (bareBlocks[index]?.requestsPerSecond ?? Number.NaN),
  )
  const rate = (blocks: readonly Block[]) => median(blocks.map(({ requestsPerSecond }) => requestsPerSecond))
  const cost = (blocks: readonly Block[]) => sumOf(blocks, 'processorMs') / sumOf(blocks, 'requests')
  return {
    value: median(ratios),
    spread: spreadOf(ratios),
    more: {
      'requests/s': rate(ownBlocks),
      'bare requests/s': rate(bareBlocks),
      'CPU ms per request': cost(ownBlocks),
      'bare CPU ms': cost(bareBlocks),
      'bare CPU/CPU': cost(bareBlocks) / cost(ownBlocks),
    },
  }
}

const sumOf = (blocks: readonly Block[], field: 'processorMs' | 'requests') =>
  blocks.reduce((sum, block) => sum + block[field], 0)

/** Calls over this many connections, each again as soon as its response arrives, for `ms` milliseconds. */
async function runBlock(
  call: () => Promise<unknown>,
  connections: number,
  ms: number,
  processId: number,
): Promise<Block> {
  const processorBefore = await processorMs(processId)
  const start = performance.now()
  let requests = 0
  const caller = async () => {
    while (performance.now() - start < ms) {
      await call()
      requests++
    }
  }
  await Promise.all(Array.from({ length: connections }, caller))
  const seconds = (performance.now() - start) / 1000
  return {
    requestsPerSecond: requests / seconds,
    requests,
    processorMs: (await processorMs(processId)) - processorBefore,
  }
}
