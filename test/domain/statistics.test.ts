import fc from 'fast-check'
import { describe, it } from 'vitest'
import { fisherP, fisherPLower, mcNemarP, newcombeInterval, wilsonInterval } from '../../src/domain/statistics.ts'

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

  it('lies between 0 and 1, and contains the proportion', ({ expect }) => {
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

  it('mirrors the interval for failures', ({ expect }) => {
    fc.assert(
      fc.property(aSample, ([successes, n]) => {
        fc.pre(n > 0)
        expect(wilsonInterval(successes, n)?.low).toBeCloseTo(1 - (wilsonInterval(n - successes, n)?.high ?? 2), 12)
      }),
    )
  })

  it('starts at 0 if nothing succeeds, and ends at 1 if nothing fails', ({ expect }) => {
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

const aSample = (most: number) => fc.nat(most).chain(n => fc.record({ n: fc.constant(n), successes: fc.nat(n) }))

const choose = (n: number, k: number): bigint => {
  let result = 1n
  for (let i = 1n; i <= BigInt(k); i++) result = (result * (BigInt(n) - i + 1n)) / i
  return result
}

/** The sum of exact probabilities of the tables that meet a condition. */
function exactly(
  first: { n: number; successes: number },
  second: { n: number; successes: number },
  isCounted: (successes: number, ways: bigint, observed: bigint) => boolean,
): number {
  const successes = first.successes + second.successes
  const waysOf = (count: number) => choose(first.n, count) * choose(second.n, successes - count)
  const observed = waysOf(first.successes)
  let [sum, all] = [0n, 0n]
  for (let count = Math.max(0, successes - second.n); count <= Math.min(first.n, successes); count++) {
    const ways = waysOf(count)
    all += ways
    if (isCounted(count, ways, observed)) sum += ways
  }
  return Number((sum * 10n ** 60n) / all) / 1e60
}

describe("Fisher's exact test", () => {
  it.for([
    // Fisher, The Design of Experiments, 1935: the lady tasting tea, who gets 3 of 4 cups right. One-sided: 17/70.
    [3, 4, 1, 4, 34 / 70, 17 / 70],
    // Fisher, Statistical Methods for Research Workers: convictions of like-sex twins of criminals. The documentation
    // of R's fisher.test has this example, with p = 0.0005367 and one-sided 0.0004652.
    [10, 13, 2, 17, 0.0005367, 0.0004652],
  ] as const)('matches the published p for %d of %d and %d of %d', ([a, n, b, m, p, lower], { expect }) => {
    const [high, low] = [
      { successes: a, n },
      { successes: b, n: m },
    ]
    expect(fisherP(high, low)).toBeCloseTo(p, 7)
    expect(fisherP(low, high)).toBeCloseTo(p, 7)
    expect(fisherPLower(low, high)).toBeCloseTo(lower, 7)
  })

  it('agrees with exact arithmetic for any samples of up to 320', ({ expect }) => {
    fc.assert(
      fc.property(aSample(320), aSample(320), (first, second) => {
        const [twoSided, lower] = [
          exactly(first, second, (_, ways, observed) => ways <= observed),
          exactly(first, second, count => count <= first.successes),
        ]
        expect(Math.abs(fisherP(first, second) - twoSided)).toBeLessThanOrEqual(1e-9 * twoSided + 1e-59)
        expect(Math.abs(fisherPLower(first, second) - lower)).toBeLessThanOrEqual(1e-9 * lower + 1e-59)
      }),
      { numRuns: 60 },
    )
  })

  it('counts a table that is as likely as the observed one, despite rounding', ({ expect }) => {
    // The samples have the same size, so the mirrored table is exactly as likely.
    for (let n = 1; n <= 320; n += 7) {
      const [first, second] = [
        { successes: 0, n },
        { successes: Math.floor(n / 3), n },
      ]
      expect(fisherP(first, second)).toBeCloseTo(Math.min(1, 2 * fisherPLower(first, second)), 10)
    }
  })

  it('is 1 if a sample has no decisions, and stays finite for large samples', ({ expect }) => {
    expect(fisherP({ successes: 0, n: 0 }, { successes: 3, n: 10 })).toBe(1)
    expect(fisherP({ successes: 0, n: 0 }, { successes: 0, n: 0 })).toBe(1)
    expect(fisherPLower({ successes: 0, n: 0 }, { successes: 3, n: 10 })).toBe(1)
    expect(fisherP({ successes: 10_000, n: 10_000 }, { successes: 0, n: 10_000 })).toBe(0)
    expect(fisherP({ successes: 5000, n: 10_000 }, { successes: 5000, n: 10_000 })).toBe(1)
  })
})

describe("Newcombe's interval for a difference", () => {
  // Newcombe 1998, table II, method 10: the first proportion minus the second.
  it.for([
    [56, 70, 48, 80, 0.0524, 0.3339],
    [9, 10, 3, 10, 0.1705, 0.809],
    [6, 7, 2, 7, 0.0582, 0.8062],
    [5, 56, 0, 29, -0.0381, 0.1926],
    [0, 10, 0, 20, -0.1611, 0.2775],
    [0, 10, 0, 10, -0.2775, 0.2775],
    [10, 10, 0, 20, 0.6791, 1],
    [10, 10, 0, 10, 0.6075, 1],
  ] as const)("matches Newcombe's example of %d of %d minus %d of %d", ([a, n, b, m, low, high], { expect }) => {
    const interval = newcombeInterval({ successes: b, n: m }, { successes: a, n })
    expect(interval?.low).toBeCloseTo(low, 4)
    expect(interval?.high).toBeCloseTo(high, 4)
  })

  it('is null if a sample has no decisions', ({ expect }) => {
    const [none, some] = [
      { n: 0, successes: 0 },
      { n: 5, successes: 3 },
    ]
    expect(newcombeInterval(none, some)).toBeNull()
    expect(newcombeInterval(some, none)).toBeNull()
  })

  it('contains the difference, lies between −1 and 1, and is mirrored when the samples are swapped', ({ expect }) => {
    fc.assert(
      fc.property(aSample(1000), aSample(1000), (first, second) => {
        const interval = newcombeInterval(first, second)
        fc.pre(first.n > 0 && second.n > 0)
        const difference = second.successes / second.n - first.successes / first.n
        expect(interval?.low).toBeGreaterThanOrEqual(-1)
        expect(interval?.low).toBeLessThanOrEqual(difference)
        expect(interval?.high).toBeGreaterThanOrEqual(difference)
        expect(interval?.high).toBeLessThanOrEqual(1)
        const mirrored = newcombeInterval(second, first)
        expect(mirrored?.low).toBeCloseTo(-(interval?.high ?? 2), 12)
        expect(mirrored?.high).toBeCloseTo(-(interval?.low ?? 2), 12)
      }),
    )
  })
})

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
  ] as const)('is null if there are too few pairs: %d and %d', ([first, second], { expect }) => {
    expect(mcNemarP(first, second)).toBeNull()
  })

  it('agrees with exact arithmetic for any counts', ({ expect }) => {
    fc.assert(
      fc.property(fc.nat(400), fc.nat(400), (first, second) => {
        const n = first + second
        fc.pre(n >= 6)
        const doubled = 2n * binomialSum(n, Math.min(first, second))
        // Keeps 60 digits after the decimal point.
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
