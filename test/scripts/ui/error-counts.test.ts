import { describe, it } from 'vitest'
import { errorTypeTable, mostNamed } from '../../../src/ui/insights/error-counts.ts'

const named = (errorType: string, source: 'review' | 'engine', count: number, stepId: string | null = 'answer') => ({
  errorType,
  source,
  count,
  stepId,
})

describe('error types', () => {
  it("are sorted by the reviewers' counts, and only then by the engine's", ({ expect }) => {
    const { rows, steps, heatOf, most } = errorTypeTable([
      named('loud', 'engine', 90),
      named('quiet', 'engine', 2, 'route'),
      named('rare', 'review', 1, 'classify'),
      named('common', 'review', 3),
      named('common', 'engine', 1),
      named('blameless', 'engine', 5, null),
    ])
    expect(rows.map(({ errorType }) => errorType)).toEqual(['common', 'rare', 'loud', 'blameless', 'quiet'])
    expect(steps).toEqual(['answer', 'classify', 'route', null])
    expect([heatOf, most]).toEqual(['review', 3])
  })

  it('come from the engine if reviewers chose none', ({ expect }) => {
    const counts = [named('loud', 'engine', 90), named('quiet', 'engine', 2)]
    expect(errorTypeTable(counts)).toMatchObject({ heatOf: 'engine', most: 90 })
    expect(mostNamed(counts, 'answer')).toMatchObject({ errorType: 'loud', source: 'engine' })
    expect(mostNamed([...counts, named('quiet', 'review', 1)], 'answer')).toMatchObject({
      errorType: 'quiet',
      source: 'review',
    })
  })

  it('include a most frequent type only if there are several and one leads', ({ expect }) => {
    const [two, one] = [named('two', 'review', 2), named('one', 'review', 1)]
    expect(mostNamed([one], 'answer')).toMatchObject({ errorType: 'one', isOnly: true })
    expect(mostNamed([one, two], 'answer')).toMatchObject({ errorType: 'two', isMost: true, isOnly: false })
    expect(mostNamed([one, named('other', 'review', 1)], 'answer')).toMatchObject({ isMost: false, isOnly: false })
    expect(mostNamed([two], 'route')).toBeUndefined()
  })
})
