import { describe, it } from 'vitest'
import { rankedVersions, usageByBucket } from '../../../src/ui/insights/use-by-bucket.ts'
import { bucketsOf } from '../../../src/ui/insights/window.ts'

const RANGE = { from: '2026-11-01T00:00:00.000Z', to: '2026-11-04T00:00:00.000Z' }

const used = (stepId: string, costUsd: number | null, inputTokens?: number) => ({
  stepId,
  promptVersionId: null,
  usage: inputTokens === undefined ? null : { inputTokens, outputTokens: 1 },
  costUsd,
  duration: null,
})

describe('what model calls used', () => {
  it('is added up by day, over all steps and versions', ({ expect }) => {
    const useDays = [
      { day: '2026-11-01', ...used('a', 1, 10) },
      { day: '2026-11-01', ...used('b', null, 5) },
      { day: '2026-11-03', ...used('a', 0.5) },
    ]
    expect(usageByBucket({ useDays }, bucketsOf(RANGE))).toEqual([
      { tokens: 17, costUsd: 1 },
      { tokens: 0, costUsd: 0 },
      { tokens: 0, costUsd: 0.5 },
    ])
  })

  it('is ranked by cost, and then by the number of tokens', ({ expect }) => {
    const versions = [used('d', null), used('c', null, 5), used('a', 0, 1), used('b', 2, 1), used('e', null, 9)]
    expect(rankedVersions({ versions }).map(({ stepId }) => stepId)).toEqual(['b', 'a', 'e', 'c', 'd'])
  })
})
