import { describe, it } from 'vitest'
import { type NearSpan, nearestSpans } from '../../src/domain/neighborhood.ts'

const span = (id: string, timestamp: number, fields: Partial<NearSpan> = {}): NearSpan => ({
  id,
  parentId: null,
  timestamp,
  isError: false,
  isReviewed: false,
  ...fields,
})

const root = span('root', 0)
const idsOf = (others: readonly NearSpan[], marked: readonly string[], limit = 100) =>
  nearestSpans(root, others, new Set(marked), limit).map(({ id }) => id)

describe('the spans nearest to a disagreement', () => {
  const line = ['a', 'b', 'c', 'd', 'e'].map((id, index) => span(id, index + 1))

  it.for([
    ['earlier spans, latest first, then later ones', ['c'], ['root', 'c', 'b', 'a', 'd', 'e']],
    ['the latest spans if only the root has feedback', ['root'], ['root', 'e', 'd', 'c', 'b', 'a']],
    ['spans with feedback before any others', ['b', 'd'], ['root', 'b', 'd', 'c', 'a', 'e']],
  ] as const)('are %s', ([, marked, expected], { expect }) => {
    expect(idsOf(line, marked)).toEqual(expected)
    for (const limit of [1, 3, 6]) expect(idsOf(line, marked, limit)).toEqual(expected.slice(0, limit))
  })

  it('include reviewed spans, their ancestors, and errors first', ({ expect }) => {
    const others = [
      span('top', 1),
      span('middle', 2, { parentId: 'top' }),
      span('near', 3),
      span('reviewed', 4, { parentId: 'middle', isReviewed: true }),
      span('failed', 9, { isError: true }),
    ]
    expect(idsOf(others, [])).toEqual(['root', 'reviewed', 'middle', 'top', 'failed', 'near'])
  })

  it('are found even if parents are missing or form a cycle', ({ expect }) => {
    const others = [
      span('a', 1, { parentId: 'b' }),
      span('b', 2, { parentId: 'a' }),
      span('c', 3, { parentId: 'nowhere' }),
      span('d', 4, { parentId: 'd' }),
    ]
    expect(idsOf(others, ['a', 'c', 'd'])).toEqual(['root', 'a', 'c', 'd', 'b'])
  })
})
