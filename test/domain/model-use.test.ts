import { describe, it } from 'vitest'
import { tokenUsage, validCost } from '../../src/domain/model-use.ts'
import { MAX_COST_USD, MAX_TOKENS } from '../../src/limits.ts'

describe('token usage', () => {
  it.for([
    ['input and output', { input: 5, output: 3 }, { inputTokens: 5, outputTokens: 3, totalTokens: 8 }],
    [
      'input, output, and a separate total',
      { input: 5, output: 3, total: 9 },
      { inputTokens: 5, outputTokens: 3, totalTokens: 9 },
    ],
    ['input and total', { input: 5, total: 8 }, { inputTokens: 5, outputTokens: 3, totalTokens: 8 }],
    ['output and total', { output: 3, total: 8 }, { inputTokens: 5, outputTokens: 3, totalTokens: 8 }],
    ['input alone', { input: 5 }, { inputTokens: 5, outputTokens: 0, totalTokens: 5 }],
    ['output alone', { output: 3 }, { inputTokens: 0, outputTokens: 3, totalTokens: 3 }],
    ['a total alone', { total: 8 }, { inputTokens: 8, outputTokens: 0, totalTokens: 8 }],
    [
      'a total that is less than its parts',
      { output: 8, total: 3 },
      { inputTokens: 0, outputTokens: 8, totalTokens: 3 },
    ],
    [
      'cached and reasoning tokens',
      { input: 5, output: 3, cached: 0, reasoning: 2 },
      { inputTokens: 5, outputTokens: 3, totalTokens: 8, cachedTokens: 0, reasoningTokens: 2 },
    ],
    ['cached tokens alone', { cached: 5 }, null],
    ['nothing', {}, null],
    ['zeros', { input: 0, output: 0 }, { inputTokens: 0, outputTokens: 0, totalTokens: 0 }],
    [
      'the largest valid count',
      { input: MAX_TOKENS },
      { inputTokens: MAX_TOKENS, outputTokens: 0, totalTokens: MAX_TOKENS },
    ],
    ['an impossible count', { input: MAX_TOKENS + 1, output: 3 }, { inputTokens: 0, outputTokens: 3, totalTokens: 3 }],
    ['a negative count', { input: -1 }, null],
    ['a fraction', { input: 0.5 }, null],
  ] as const)('is read from %s', ([, reported, usage], { expect }) => {
    expect(tokenUsage(reported)).toEqual(usage)
  })
})

describe('a cost', () => {
  it.for([
    [0, 0],
    [0.00018, 0.00018],
    [MAX_COST_USD, MAX_COST_USD],
    [MAX_COST_USD + 1, null],
    [-1, null],
    [Number.NaN, null],
    [undefined, null],
  ] as const)('is checked: %s becomes %s', ([cost, valid], { expect }) => {
    expect(validCost(cost)).toBe(valid)
  })
})
