import { describe, it } from 'vitest'
import { type Slot, takeFromWindow } from '../../src/rate-limit/window.ts'

/** Asks once at each of these times and returns the times that were admitted. */
function admitted(limit: number, times: readonly number[]): number[] {
  let slots: readonly Slot[] = []
  return times.filter(time => {
    const verdict = takeFromWindow(slots, limit, time)
    slots = verdict.slots
    return verdict.allowed
  })
}

/** The most that any 60 seconds hold. */
const mostInAnyMinute = (times: readonly number[]): number =>
  Math.max(0, ...times.map(start => times.filter(time => time >= start && time < start + 60_000).length))

/** What an exact limiter admits whose tokens come back after `windowMs`. */
function greedy(limit: number, times: readonly number[], windowMs: number): number[] {
  const through: number[] = []
  for (const time of times) {
    if (through.length < limit || (through.at(-limit) ?? 0) <= time - windowMs) through.push(time)
  }
  return through
}

describe('the window', () => {
  it('admits exactly its limit at once', ({ expect }) => {
    expect(
      admitted(
        5,
        Array.from({ length: 50 }, () => 1_000_000),
      ),
    ).toHaveLength(5)
  })

  it('never admits more than its limit in any 60 seconds, and gives each token back within 62', ({ expect }) => {
    for (const [limit, step] of [
      [5, 700],
      [5, 11_000],
      [100, 37],
      [100, 590],
    ] as const) {
      const times = Array.from({ length: 3000 }, (_, index) => 1_000_500 + index * step)
      const through = admitted(limit, times)
      expect(mostInAnyMinute(through)).toBeLessThanOrEqual(limit)
      expect(through.length).toBeGreaterThanOrEqual(greedy(limit, times, 62_000).length)
    }
  })

  it('says what is left and when there is more', ({ expect }) => {
    const first = takeFromWindow([], 2, 10_000)
    expect(first).toMatchObject({ allowed: true, remaining: 1, resetSeconds: 61 })
    const second = takeFromWindow(first.slots, 2, 30_000)
    expect(second).toMatchObject({ allowed: true, remaining: 0, resetSeconds: 41 })
    const third = takeFromWindow(second.slots, 2, 40_000)
    expect(third).toMatchObject({ allowed: false, remaining: 0, resetSeconds: 31 })
    expect(takeFromWindow(third.slots, 2, 40_000 + 31_000)).toMatchObject({ allowed: true })
  })

  it('is not fooled by a clock that was set back', ({ expect }) => {
    const { slots } = takeFromWindow([], 1, 1_000_000)
    expect(takeFromWindow(slots, 1, 0).allowed).toBe(false)
  })
})
