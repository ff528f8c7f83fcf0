import { describe, it } from 'vitest'
import { bucketIndex, bucketsOf, windowNamed, windowsAt } from '../../../src/ui/insights/window.ts'

const NOON = Date.parse('2026-11-22T12:00:00.000Z')

describe('windowNamed', () => {
  it('accepts the existing windows, and falls back to 30 days for other values', ({ expect }) => {
    expect(['7', '30', '90'].map(windowNamed)).toEqual([7, 30, 90])
    expect([null, '', '8', '-7', '7.0', '__proto__'].map(windowNamed)).toEqual([30, 30, 30, 30, 30, 30])
  })
})

describe('windowsAt', () => {
  it('includes all of today, and directly follows a window of the same length', ({ expect }) => {
    expect(windowsAt(NOON, 7)).toEqual({
      current: { from: '2026-11-16T00:00:00.000Z', to: '2026-11-23T00:00:00.000Z' },
      before: { from: '2026-11-09T00:00:00.000Z', to: '2026-11-16T00:00:00.000Z' },
    })
  })

  it('is the same all day', ({ expect }) => {
    const midnight = Date.parse('2026-11-22T00:00:00.000Z')
    expect(windowsAt(midnight, 30)).toEqual(windowsAt(midnight + 86_399_999, 30))
  })
})

describe('bucketsOf', () => {
  it('uses a bucket for each day in a 30-day window', ({ expect }) => {
    const buckets = bucketsOf(windowsAt(NOON, 30).current)
    expect(buckets).toHaveLength(30)
    expect(buckets[0]).toEqual({ from: '2026-10-24', days: 1 })
    expect(buckets.at(-1)).toEqual({ from: '2026-11-22', days: 1 })
  })

  it('uses weeks for a longer window, with a whole week at the end', ({ expect }) => {
    const buckets = bucketsOf(windowsAt(NOON, 90).current)
    expect(buckets).toHaveLength(13)
    expect(buckets[0]).toEqual({ from: '2026-08-25', days: 6 })
    expect(buckets[1]).toEqual({ from: '2026-08-31', days: 7 })
    expect(buckets.at(-1)).toEqual({ from: '2026-11-16', days: 7 })
    expect(buckets.reduce((sum, { days }) => sum + days, 0)).toBe(90)
  })

  it('finds the bucket of each day', ({ expect }) => {
    const buckets = bucketsOf(windowsAt(NOON, 90).current)
    expect(
      ['2026-08-24', '2026-08-25', '2026-08-30', '2026-08-31', '2026-11-22'].map(day => bucketIndex(buckets, day)),
    ).toEqual([-1, 0, 0, 1, 12])
  })
})
