import { describe, it } from 'vitest'
import { shownSeparately, throughput } from '../../../src/ui/insights/throughput.ts'

const reviewer = (number: number, reviewed: number) => ({
  userId: `0f1c7d52-3a6b-5e8d-9c4f-${String(number).padStart(12, '0')}`,
  name: `Reviewer ${number}`,
  days: [{ day: '2026-10-02', reviewed }],
})

const BUCKETS = [{ from: '2026-10-02', days: 1 }]

const stylesOf = (...reviewers: ReturnType<typeof reviewer>[]) =>
  new Map(shownSeparately(throughput(reviewers, BUCKETS)).map(({ name, style }) => [name, style]))

describe("reviewers' colors", () => {
  it('stay with the person if the order changes', ({ expect }) => {
    const styles = stylesOf(reviewer(1, 9), reviewer(2, 5), reviewer(3, 1))
    expect(stylesOf(reviewer(1, 1), reviewer(2, 9), reviewer(3, 5))).toEqual(styles)
    expect(stylesOf(reviewer(2, 1)).get('Reviewer 2')).toBe(styles.get('Reviewer 2'))
  })

  it.for([1, 6, 7, 20])('differ among %i reviewers', (number, { expect }) => {
    // All their IDs select the same color.
    const same = Array.from({ length: number }, (_, index) => reviewer(index * 600_000, index + 1))
    const styles = [...stylesOf(...same).values()]
    expect(styles).toHaveLength(Math.min(6, number))
    expect(new Set(styles).size).toBe(styles.length)
    expect(styles.every(style => style >= 0 && style < 6)).toBe(true)
  })
})
