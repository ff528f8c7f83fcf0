import { processorMs } from './process.ts'
import type { Options } from './report.ts'
import { median, spreadOf } from './statistics.ts'

/** Makes a call to each of the two Workers. */
export interface Rivals {
  countersign: () => Promise<unknown>
  bare: () => Promise<unknown>
}

interface Block {
  requestsPerSecond: number
  requests: number
  processorMs: number
}

/** Calls the two Workers in alternating blocks, so that other load on the machine affects both equally. */
export async function compare(
  { countersign, bare }: Rivals,
  connections: number,
  processId: number,
  { isQuick }: Options,
) {
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

/** Makes calls over this many connections for `ms` milliseconds, each as soon as the previous response arrives. */
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
