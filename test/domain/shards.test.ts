import { describe, expect, it } from 'vitest'
import {
  begunEpochs,
  endsAt,
  firstEpochs,
  formatEpochs,
  parseEpochs,
  shardOf,
  shardsOfTrace,
  withEpoch,
} from '../../src/domain/shards.ts'
import { EPOCH_SETTLE_MS, MAX_CLOCK_DIFFERENCE_MS, MAX_EPOCHS } from '../../src/limits.ts'

const NOW = 1_000_000
const FROM = NOW + 1000
const added = (text: string | null, shards: number[]) => withEpoch(text, shards, { now: NOW, from: FROM })

describe('an added epoch', () => {
  it.each([
    ['begins later for a project that existed before there were shards', null, [1, 2], `0@0 ${FROM}@1.2`],
    ['comes last', '0@1', [1, 2], `0@1 ${FROM}@1.2`],
    ['is left out if the last epoch has the same shards', '0@0 5@1.2', [1, 2], '0@0 5@1.2'],
    [
      'is left out if the last epoch has the same shards, even if it has not begun',
      `0@0 ${FROM}@1.2`,
      [1, 2],
      `0@0 ${FROM}@1.2`,
    ],
    ['waits until the last epoch has begun', `0@0 ${FROM}@1`, [1, 2], `0@0 ${FROM}@1`],
    ['follows an epoch that begins now', `0@0 ${NOW}@1`, [1, 2], `0@0 ${NOW}@1 ${FROM}@1.2`],
    [
      'removes earlier epochs that place traces in the same shards as a later epoch',
      '0@1 5@1.2 9@1',
      [1, 2, 3],
      `5@1.2 9@1 ${FROM}@1.2.3`,
    ],
  ])('%s', (_, before, shards, after) => {
    expect(added(before, shards)).toBe(after)
  })

  it('keeps every shard that a trace may be in, now and later', () => {
    const ids = Array.from({ length: 40 }, () => crypto.randomUUID())
    let text: string | null = null
    const places = new Map(ids.map(id => [id, new Set<number>()]))
    for (let step = 0; step < 60; step++) {
      const now = step * 1000
      text = withEpoch(text, [[1], [1, 2], [2], [1, 2, 3]][(step * 7) % 4] ?? [], { now, from: now + 1500 })
      const epochs = parseEpochs(text)
      expect(begunEpochs(epochs, now).length).toBeGreaterThan(0)
      for (const [id, known] of places) {
        const shards = shardsOfTrace(id, epochs, now)
        for (const shard of known) expect(shards).toContain(shard)
        const [current] = begunEpochs(epochs, now)
        if (current) known.add(shardOf(id, current))
      }
    }
    expect(parseEpochs(text).length).toBeLessThanOrEqual(6)
  })

  it(`is left out if there are already ${MAX_EPOCHS} epochs with different shards`, () => {
    const full = formatEpochs(Array.from({ length: MAX_EPOCHS }, (_, index) => ({ from: index, shards: [index] })))
    expect(added(full, [1, 2])).toBe(full)
    const less = formatEpochs(parseEpochs(full).slice(1))
    expect(added(less, [1, 2])).toBe(`${less} ${FROM}@1.2`)
  })
})

describe('a trace whose shard changes when an epoch begins', () => {
  const id = '00000001-0000-5000-8000-000000000000'
  const epochs = parseEpochs(`0@1.2 ${FROM}@3 ${2 * FROM}@1.2`)

  it('may already be in the next shard shortly before the epoch begins', () => {
    expect(shardsOfTrace(id, epochs, FROM - MAX_CLOCK_DIFFERENCE_MS - 1)).toEqual([2])
    expect(shardsOfTrace(id, epochs, FROM - MAX_CLOCK_DIFFERENCE_MS)).toEqual([3, 2])
  })

  it('may be created in a shard until the last epoch that puts it there ends', () => {
    expect(endsAt(id, epochs, 2, NOW)).toBeNull()
    expect(endsAt(id, epochs, 3, NOW)).toBe(2 * FROM)
    expect(endsAt(id, epochs.slice(0, 2), 2, NOW)).toBe(FROM)
    expect(endsAt(id, epochs.slice(0, 2), 2, FROM + EPOCH_SETTLE_MS)).toBe(FROM)
    expect(endsAt(id, epochs.slice(0, 2), 2, FROM + EPOCH_SETTLE_MS + 1)).toBeNull()
  })
})

it('a new project uses the current shards from the beginning', () => {
  expect(firstEpochs([])).toBeNull()
  expect(firstEpochs([1, 3])).toBe('0@1.3')
})
