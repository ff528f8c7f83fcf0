import { describe, it } from 'vitest'
import { LEASE_SECONDS } from '../../src/limits.ts'
import { type Ask, EMPTY_COUNT, grant } from '../../src/rate-limit/window.ts'
import { greedy, mostInAnyMinute } from './admitted.ts'

/** A window that keeps its count between requests. */
function newWindow() {
  let count = EMPTY_COUNT
  return (ask: Ask, nowMs: number) => {
    const next = grant(count, ask, nowMs)
    count = next.count
    return next.grant
  }
}

/** Requests one token at each time, and returns the admitted times. */
function admitted(limit: number, times: readonly number[]): number[] {
  const ask = newWindow()
  return times.filter(time => ask({ limit, tokens: 1 }, time).tokens === 1)
}

describe('the window', () => {
  it('admits exactly its limit in a burst', ({ expect }) => {
    const atOnce = Array.from({ length: 50 }, () => 1_000_000)
    expect(admitted(5, atOnce)).toHaveLength(5)
  })

  it.for([
    [5, 700],
    [5, 11_000],
    [100, 37],
    [100, 590],
  ] as const)(
    'never admits more than its limit of %i in any 60 seconds at one request per %i ms, and returns each token within 62 seconds',
    ([limit, step], { expect }) => {
      const times = Array.from({ length: 3000 }, (_, index) => 1_000_500 + index * step)
      const admittedTimes = admitted(limit, times)
      expect(mostInAnyMinute(admittedTimes)).toBeLessThanOrEqual(limit)
      expect(admittedTimes.length).toBeGreaterThanOrEqual(greedy(limit, times, 62_000).length)
    },
  )

  it('returns how many tokens are left and when there will be more', ({ expect }) => {
    const ask = newWindow()
    const one = { limit: 2, tokens: 1 }
    expect(ask(one, 10_000)).toMatchObject({ tokens: 1, remaining: 1, resetSeconds: 61 })
    expect(ask(one, 30_000)).toMatchObject({ tokens: 1, remaining: 0, resetSeconds: 41 })
    expect(ask(one, 40_000)).toMatchObject({ tokens: 0, remaining: 0, resetSeconds: 31, retrySeconds: 31 })
    expect(ask(one, 70_000)).toMatchObject({ tokens: 0 })
    expect(ask(one, 71_000)).toMatchObject({ tokens: 1 })
  })

  it('handles a clock that was set back', ({ expect }) => {
    const ask = newWindow()
    expect(ask({ limit: 1, tokens: 1 }, 1_000_000).tokens).toBe(1)
    expect(ask({ limit: 1, tokens: 1 }, 0).tokens).toBe(0)
  })

  it('grants only one token at a time if the limit is small', ({ expect }) => {
    const ask = newWindow()
    expect(ask({ limit: 99, tokens: 50 }, 0)).toMatchObject({ tokens: 1, lease: 0, remaining: 98 })
    expect(newWindow()({ limit: 100, tokens: 50 }, 0)).toMatchObject({ tokens: 50, lease: 1, remaining: 50 })
  })

  it('counts all tokens in an unreturned lease as spent when the lease ends', ({ expect }) => {
    const ask = newWindow()
    const all = { limit: 100, tokens: 100 }
    expect(ask(all, 0).tokens).toBe(100)
    // The token that was spent immediately comes back first.
    expect(ask(all, 61_000).tokens).toBe(1)
    expect(ask(all, (LEASE_SECONDS + 60) * 1000 + 999).tokens).toBe(0)
    expect(ask(all, (LEASE_SECONDS + 61) * 1000).tokens).toBe(99)
  })

  it('counts only the spent part of a returned lease, and gives the rest to others', ({ expect }) => {
    const ask = newWindow()
    const { lease } = ask({ limit: 100, tokens: 100 }, 0)
    expect(ask({ limit: 100, tokens: 1 }, 2000)).toMatchObject({ tokens: 0, retrySeconds: 1 })
    const returned = { lease, spent: 9 }
    expect(ask({ limit: 100, tokens: 1, returned }, 5000)).toMatchObject({ tokens: 1, remaining: 100 - 1 - 9 - 1 })
    // A lease can be returned only once.
    expect(ask({ limit: 100, tokens: 1, returned }, 5000)).toMatchObject({ tokens: 1, remaining: 100 - 1 - 9 - 2 })
    expect(ask({ limit: 100, tokens: 1 }, 64_000)).toMatchObject({ tokens: 1, remaining: 100 - 9 - 2 - 1 })
    expect(ask({ limit: 100, tokens: 1 }, 66_000)).toMatchObject({ tokens: 1, remaining: 100 - 2 })
  })

  it('shares the free tokens among the isolates with leases', ({ expect }) => {
    const ask = newWindow()
    const greedy = { limit: 6000, tokens: 6000 }
    expect(ask({ limit: 6000, tokens: 3001 }, 0).tokens).toBe(3001)
    expect(ask(greedy, 0).tokens).toBe(Math.floor(2999 / 2))
    expect(ask(greedy, 0).tokens).toBe(500)
  })
})
