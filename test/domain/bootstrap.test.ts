import { describe, it } from 'vitest'
import { countPairs, krippendorffsAlpha, type Labels, percentAgreement } from '../../src/domain/agreement.ts'
import { bootstrapIntervals } from '../../src/domain/bootstrap.ts'
import { drawBinomial, seededRandom } from '../../src/domain/random.ts'
import { wilsonInterval } from '../../src/domain/statistics.ts'
import { atOnce } from '../../src/domain/turns.ts'

describe('a binomial draw', () => {
  it.for([
    [1, 0.5],
    [12, 0.03],
    [40, 0.2],
    [40, 0.8],
    [25, 0.4],
    [30, 0.5],
    [200, 0.07],
    [10_000, 0.3],
    [10_000, 0.999],
  ] as const)('of %d trials with probability %d has the exact distribution', ([n, p], { expect }) => {
    const random = seededRandom(n)
    const draws = 20_000
    const seen = new Map<number, number>()
    for (let i = 0; i < draws; i++) {
      const successes = drawBinomial(random, n, p)
      seen.set(successes, (seen.get(successes) ?? 0) + 1)
    }
    // Pearson's χ² over each outcome that's expected at least ten times, and over all other outcomes combined.
    let [statistic, outcomes, restExpected, restSeen] = [0, 0, draws, draws]
    let log = n * Math.log(1 - p)
    for (let k = 0; k <= n; k++) {
      const expected = draws * Math.exp(log)
      if (expected >= 10) {
        statistic += ((seen.get(k) ?? 0) - expected) ** 2 / expected
        outcomes++
        restExpected -= expected
        restSeen -= seen.get(k) ?? 0
      }
      log += Math.log(((n - k) / (k + 1)) * (p / (1 - p)))
    }
    if (restExpected > 1) statistic += (restSeen - restExpected) ** 2 / restExpected
    // The mean of χ² is the number of degrees of freedom, and its variance is twice that number.
    expect(statistic).toBeLessThan(outcomes + 4 * Math.sqrt(2 * outcomes))
  })

  it('is certain for the probabilities 0 and 1, and if there are no trials', ({ expect }) => {
    const random = seededRandom(1)
    expect([drawBinomial(random, 9, 0), drawBinomial(random, 9, 1), drawBinomial(random, 0, 0.5)]).toEqual([0, 9, 0])
  })
})

const intervalsOf = (counts: readonly number[], units: readonly Labels[]) =>
  atOnce(bootstrapIntervals(counts, [percentAgreement(units.map(countPairs)), krippendorffsAlpha(units)]))

const UNITS = [
  ['a', 'a'],
  ['a', 'b'],
  ['b', 'b'],
]

describe('a bootstrap interval', () => {
  it('is the same every time', ({ expect }) => {
    expect(intervalsOf([60, 20, 20], UNITS)).toEqual(intervalsOf([60, 20, 20], UNITS))
  })

  it('for a share is close to the score interval for the same share', ({ expect }) => {
    const [agreement] = intervalsOf([600, 200, 200], UNITS)
    const score = wilsonInterval(800, 1000)
    expect(agreement?.low).toBeCloseTo(score?.low ?? 0, 2)
    expect(agreement?.high).toBeCloseTo(score?.high ?? 0, 2)
  })

  it('for α contains the true α in about 95% of samples', ({ expect }) => {
    // Each label has probability 1/2, and the second rater copies the first with probability 1/2, so α is 1/2.
    const random = seededRandom(7)
    let covered = 0
    for (let sample = 0; sample < 200; sample++) {
      const counts = [0, 0, 0]
      for (let unit = 0; unit < 150; unit++) {
        const first = Math.floor(random() * 2)
        const second = random() < 0.5 ? first : Math.floor(random() * 2)
        counts[first + second] = (counts[first + second] ?? 0) + 1
      }
      const [, alpha] = intervalsOf(counts, UNITS)
      if (alpha && alpha.low <= 0.5 && alpha.high >= 0.5) covered++
    }
    expect(covered).toBeGreaterThanOrEqual(180)
    expect(covered).toBeLessThanOrEqual(199)
  })

  it('contains 0 for raters who vote at random, and narrows as the number of units grows', ({ expect }) => {
    const [, few] = intervalsOf([25, 50, 25], UNITS)
    const [, many] = intervalsOf([2500, 5000, 2500], UNITS)
    for (const interval of [few, many]) {
      expect(interval?.low).toBeLessThan(0.01)
      expect(interval?.high).toBeGreaterThan(-0.01)
    }
    const width = (interval: typeof few) => (interval?.high ?? 0) - (interval?.low ?? 0)
    expect(width(many)).toBeLessThan(width(few) / 8)
  })

  it('is null if a measure is undefined in too many resamples', ({ expect }) => {
    // (11/12)¹² = 0.35 of the resamples lack the only unit with another label.
    const [agreement, alpha] = intervalsOf([11, 1, 0], UNITS)
    expect(agreement).not.toBeNull()
    expect(alpha).toBeNull()
    expect(intervalsOf([], [])).toEqual([null, null])
  })

  it('costs the same for a hundred times as many units, and pauses between parts of the work', ({ expect }) => {
    const pauses = (counts: readonly number[]) => [...bootstrapIntervals(counts, [])].length
    // There are 200 patterns, so 500 resamples are drawn at a time.
    expect(pauses(Array(200).fill(10_000))).toBe(4)
    expect(pauses(Array(200).fill(100))).toBe(4)
    // With so few units per pattern, it's cheaper to draw single units. There are 400 units, so 250 resamples are drawn
    // at a time.
    expect(pauses(Array(200).fill(2))).toBe(8)
  })

  it('has the same distribution, whether drawn by units or by patterns', ({ expect }) => {
    // The same 300 units, as 3 patterns of 100 units each and as 300 patterns of one unit each.
    const [byPattern] = intervalsOf([100, 100, 100], UNITS)
    const spread = Array.from({ length: 100 }, () => UNITS).flat()
    const [byUnit] = intervalsOf(Array(300).fill(1), spread)
    expect(byUnit?.low).toBeCloseTo(byPattern?.low ?? 0, 1)
    expect(byUnit?.high).toBeCloseTo(byPattern?.high ?? 0, 1)
  })
})
