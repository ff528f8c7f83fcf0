import fc from 'fast-check'
import { describe, it } from 'vitest'
import { mcNemarP, wilsonInterval } from '../../src/domain/statistics.ts'

describe("Wilson's interval", () => {
  // Newcombe 1998, table I, method 3.
  it.for([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ] as const)("matches Newcombe's example of %d of %d", ([successes, n, low, high], { expect }) => {
    const interval = wilsonInterval(successes, n)
    expect(interval?.low).toBeCloseTo(low, 4)
    expect(interval?.high).toBeCloseTo(high, 4)
  })

  const aSample = fc.nat(10_000).chain(n => fc.tuple(fc.nat(n), fc.constant(n)))

  it('lies within 0 and 1, and contains the proportion', ({ expect }) => {
    fc.assert(
      fc.property(aSample, ([successes, n]) => {
        const interval = wilsonInterval(successes, n)
        if (n === 0) expect(interval).toBeNull()
        else {
          expect(interval?.low).toBeGreaterThanOrEqual(0)
          expect(interval?.low).toBeLessThanOrEqual(successes / n)
          expect(interval?.high).toBeGreaterThanOrEqual(successes / n)
          expect(interval?.high).toBeLessThanOrEqual(1)
        }
      }),
    )
  })

  it('mirrors the interval of failures', ({ expect }) => {
    fc.assert(
      fc.property(aSample, ([successes, n]) => {
        fc.pre(n > 0)
        expect(wilsonInterval(successes, n)?.low).toBeCloseTo(1 - (wilsonInterval(n - successes, n)?.high ?? 2), 12)
      }),
    )
  })

  it('ends at 0 without successes, and at 1 without failures', ({ expect }) => {
    for (let n = 1; n < 2000; n++) {
      expect(wilsonInterval(0, n)?.low).toBe(0)
      expect(wilsonInterval(n, n)?.high).toBe(1)
    }
  })
})

/** Σ C(n, i) for i up to `most`, exactly. */
function binomialSum(n: number, most: number): bigint {
  let [term, sum] = [1n, 1n]
  for (let i = 1n; i <= BigInt(most); i++) {
    term = (term * (BigInt(n) - i + 1n)) / i
    sum += term
  }
  return sum
}

describe("McNemar's exact test", () => {
  it.for([
    // Fagerland, Lydersen, and Laake 2013, tables 1 and 2: the exact conditional test.
    [1, 7, 0.0703, 4],
    [6, 16, 0.0525, 4],
    // 2 / 2⁶
    [0, 6, 0.03125, 12],
    [3, 3, 1, 12],
    // 2 (1 + 7) / 2⁷
    [6, 1, 0.125, 12],
  ] as const)('gives p for %d and %d pairs', ([first, second, p, digits], { expect }) => {
    expect(mcNemarP(first, second)).toBeCloseTo(p, digits)
    expect(mcNemarP(second, first)).toBe(mcNemarP(first, second))
  })

  it.for([
    [0, 0],
    [5, 0],
    [2, 3],
  ] as const)('has too few of %d and %d pairs', ([first, second], { expect }) => {
    expect(mcNemarP(first, second)).toBeNull()
  })

  it('agrees with exact arithmetic for any counts', ({ expect }) => {
    fc.assert(
      fc.property(fc.nat(400), fc.nat(400), (first, second) => {
        const n = first + second
        fc.pre(n >= 6)
        const doubled = 2n * binomialSum(n, Math.min(first, second))
        // Keeps 60 digits behind the point.
        const exact = Math.min(1, Number((doubled * 10n ** 60n) / 2n ** BigInt(n)) / 1e60)
        const p = mcNemarP(first, second) ?? -1
        expect(Math.abs(p - exact)).toBeLessThanOrEqual(1e-9 * exact + 1e-59)
      }),
      { numRuns: 200 },
    )
  })

  it('is stable for 10,000 pairs', ({ expect }) => {
    expect(mcNemarP(5000, 5000)).toBe(1)
    // The normal approximation with continuity correction: z = (|5100 − 4900| − 1) / √10000 = 1.99, p = 0.0466.
    expect(mcNemarP(4900, 5100)).toBeCloseTo(0.0466, 4)
    expect(mcNemarP(4999, 5001)).toBeCloseTo(0.992, 3)
    expect(mcNemarP(0, 10_000)).toBe(0)
    expect(mcNemarP(10, 9990)).toBeGreaterThanOrEqual(0)
  })
})
