import { describe, it } from 'vitest'
import { wilsonInterval } from '../../src/domain/statistics.ts'
import { findingOf, MAX_WATCHED, nextLook, rarerCases, WATCH_LOOKS, type WatchState } from '../../src/domain/watch.ts'

/** The result of a look with these acceptances. */
const stateAt = (look: number, accepted: number, n: number, acceptedBefore: number): WatchState =>
  findingOf({ before: { n, accepted: acceptedBefore }, after: { n: look, accepted } }).state

/** The fewest and the most acceptances at a look that still show no difference. */
type Bounds = [least: number, most: number]

/**
 * For each number of acceptances on the previous version, the bounds at each look. Neither bound ever decreases as that
 * number grows, so one pass finds them all.
 */
function boundsOf(n: number): Bounds[][] {
  const bounds = Array.from({ length: n + 1 }, (): Bounds[] => [])
  for (const look of WATCH_LOOKS) {
    let [least, most] = [0, 0]
    for (const [before, row] of bounds.entries()) {
      while (stateAt(look, least, n, before) === 'worse') least++
      most = Math.max(most, least)
      while (most < look && stateAt(look, most + 1, n, before) === 'no_difference') most++
      row.push([least, most])
    }
  }
  return bounds
}

/** The binomial probabilities of 0 to n successes. */
function binomial(n: number, rate: number): number[] {
  let log = n * Math.log(1 - rate)
  return Array.from({ length: n + 1 }, (_, count) => {
    if (count > 0) log += Math.log(((n - count + 1) / count) * (rate / (1 - rate)))
    return Math.exp(log)
  })
}

/**
 * For each look, the exact probability that it's the first to show a difference. Enumerates the numbers of acceptances
 * on the previous version and at each look.
 */
function firstShown(rate: number, rateBefore: number, n: number, bounds: readonly Bounds[][]) {
  const chances = WATCH_LOOKS.map(() => ({ better: 0, worse: 0 }))
  const steps = WATCH_LOOKS.map((look, index) => binomial(look - (WATCH_LOOKS[index - 1] ?? 0), rate))
  for (const [before, chance] of binomial(n, rateBefore).entries()) {
    if (chance < 1e-12) continue
    // The chance of each number of acceptances with no difference shown so far.
    let open = [chance]
    for (const [index, look] of WATCH_LOOKS.entries()) {
      const [least, most] = bounds[before]?.[index] ?? [0, look]
      const reached = new Array<number>(look + 1).fill(0)
      for (const [accepted, share] of open.entries()) {
        for (const [more, p] of (steps[index] ?? []).entries()) {
          reached[accepted + more] = (reached[accepted + more] ?? 0) + share * p
        }
      }
      const shown = chances[index]
      for (const [accepted, share] of reached.entries()) {
        if (shown && accepted < least) shown.worse += share
        if (shown && accepted > most) shown.better += share
      }
      open = reached.map((share, accepted) => (accepted < least || accepted > most ? 0 : share))
    }
  }
  return chances
}

describe('a watch', () => {
  it.for([320, 80, 20])(
    'with %i decisions on the previous version has at most a 5% chance of ever showing a difference at equal rates',
    (n, { expect }) => {
      const bounds = boundsOf(n)
      for (const rate of [0.05, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99]) {
        const chances = firstShown(rate, rate, n, bounds)
        const total = chances.reduce((sum, { better, worse }) => sum + better + worse, 0)
        expect(total).toBeGreaterThan(0)
        expect(total).toBeLessThanOrEqual(0.05)
      }
    },
  )

  it('has at most a 3% chance of ever showing a difference at equal rates if the previous version has 320 decisions', ({
    expect,
  }) => {
    const bounds = boundsOf(MAX_WATCHED)
    for (let percent = 1; percent < 100; percent += 7) {
      const chances = firstShown(percent / 100, percent / 100, MAX_WATCHED, bounds)
      expect(chances.reduce((sum, { better, worse }) => sum + better + worse, 0)).toBeLessThanOrEqual(0.03)
    }
  })

  // docs/watch.md shows this table.
  it.for([
    [0.95, [57, 88, 99, 100, 100]],
    [0.9, [42, 74, 95, 100, 100]],
    [0.8, [28, 56, 85, 98, 100]],
    [0.7, [19, 45, 78, 96, 100]],
    [0.6, [19, 42, 74, 95, 99]],
  ] as const)(
    'detects a drop of 20 points from %d by each look with the documented probability',
    ([rate, percents], { expect }) => {
      const chances = firstShown(rate - 0.2, rate, MAX_WATCHED, boundsOf(MAX_WATCHED))
      const seen = chances.map((_, index) =>
        Math.round(100 * chances.slice(0, index + 1).reduce((sum, { worse }) => sum + worse, 0)),
      )
      expect(seen).toEqual(percents)
    },
  )

  it('agrees with a simulation that draws the decisions at random', ({ expect }) => {
    const bounds = boundsOf(MAX_WATCHED)
    const lives = 4000
    let seed = 7
    const random = () => {
      // Park and Miller's minimal standard generator.
      seed = (seed * 48_271) % 2_147_483_647
      return seed / 2_147_483_647
    }
    let shown = 0
    for (let life = 0; life < lives; life++) {
      const draw = (n: number) => Array.from({ length: n }, () => random() < 0.7).filter(Boolean).length
      const before = draw(MAX_WATCHED)
      let accepted = 0
      const isShown = WATCH_LOOKS.some((look, index) => {
        accepted += draw(look - (WATCH_LOOKS[index - 1] ?? 0))
        const [least, most] = bounds[before]?.[index] ?? [0, look]
        return accepted < least || accepted > most
      })
      if (isShown) shown++
    }
    // The exact probability is 0.0279. The range below extends three standard errors in each direction.
    const interval = wilsonInterval(shown, lives)
    expect(shown / lives).toBeGreaterThan(0.02)
    expect(shown / lives).toBeLessThan(0.036)
    expect(interval?.high).toBeLessThanOrEqual(0.05)
  })

  it.for([
    [0, 20],
    [19, 20],
    [20, 40],
    [39, 40],
    [319, 320],
    [320, undefined],
    [10_000, undefined],
  ] as const)('after %i decisions looks next at %s', ([decisions, next], { expect }) => {
    expect(nextLook(decisions)).toBe(next)
  })

  it('multiplies p by five, up to 1', ({ expect }) => {
    const even = findingOf({ before: { n: 20, accepted: 10 }, after: { n: 20, accepted: 10 } })
    expect(even).toMatchObject({ state: 'no_difference', p: 1 })
    // 5 · 2 · C(20, 0) C(20, 20) / C(40, 20)
    const opposite = findingOf({ before: { n: 20, accepted: 0 }, after: { n: 20, accepted: 20 } })
    expect(opposite.state).toBe('better')
    expect(opposite.p).toBeCloseTo(10 / 137_846_528_820, 20)
    expect(findingOf({ before: { n: 20, accepted: 20 }, after: { n: 20, accepted: 0 } })).toMatchObject({
      state: 'worse',
      p: opposite.p,
      interval: { high: -(opposite.interval?.low ?? 2) },
    })
  })

  it('shows no difference if the previous version has no decisions', ({ expect }) => {
    const found = findingOf({ before: { n: 0, accepted: 0 }, after: { n: 320, accepted: 0 } })
    expect(found).toEqual({ state: 'no_difference', p: 1, interval: null })
  })

  it('finds that cases are rarer only if the corrected one-sided p is significant', ({ expect }) => {
    expect(rarerCases({ n: 320, cases: 96 }, { n: 40, cases: 1 })).toMatchObject({ isRarer: true })
    expect(rarerCases({ n: 320, cases: 96 }, { n: 40, cases: 12 })).toMatchObject({ isRarer: false })
    expect(rarerCases({ n: 320, cases: 0 }, { n: 40, cases: 20 })).toMatchObject({ isRarer: false, p: 1 })
    expect(rarerCases({ n: 0, cases: 0 }, { n: 40, cases: 0 })).toEqual({ isRarer: false, p: 1 })
  })
})
