import fc from 'fast-check'
import { describe, it } from 'vitest'
import type { Insights } from '../../../src/ui/api/wire.ts'
import { FEW_DECISIONS, rankSteps, sumOf, wilsonInterval } from '../../../src/ui/insights/ranking.ts'

/** The tolerance for floating-point arithmetic. */
const ROUNDING = 1e-12

type Day = Insights['days'][number]
type Version = Insights['promptVersions'][number]

/**
 * Insights with these steps and days. If a step doesn't specify `outputs`, reviewers have decided on all of its
 * outputs.
 */
function insightsOf(
  steps: { stepId: string; accepted: number; corrected: number; outputs?: number; reviewed?: number }[],
  { days = [], promptVersions = [] }: { days?: Day[]; promptVersions?: Version[] } = {},
): Insights {
  return {
    from: '2026-10-01T00:00:00.000Z',
    to: '2026-10-31T00:00:00.000Z',
    outputs: { total: 0, reviewed: 0, countedAt: null },
    usage: null,
    costUsd: null,
    steps: steps.map(({ stepId, accepted, corrected, outputs, reviewed }) => ({
      stepId,
      accepted,
      corrected,
      outputs: outputs ?? accepted + corrected,
      reviewed: reviewed ?? accepted + corrected,
      usage: null,
      costUsd: null,
      duration: null,
    })),
    versions: [],
    useDays: [],
    days,
    promptVersions,
    errorTypes: [],
    reviewers: [],
  }
}

const version = (number: number, isActive = false): Version => ({
  id: `version-${number}`,
  promptId: 'prompt',
  stepId: 'classify',
  number,
  isActive,
})

const day = (promptVersionId: string | null, accepted: number, corrected: number): Day => ({
  day: '2026-10-02',
  stepId: 'classify',
  promptVersionId,
  accepted,
  corrected,
})

/**
 * Generates a step with unreviewed outputs, and with decisions on an earlier version and on the live version. The live
 * version has enough decisions to judge the step by it.
 */
const rankable = () =>
  fc.record({
    before: fc.record({ accepted: fc.nat(200), corrected: fc.nat(200) }),
    live: fc.record({
      accepted: fc.integer({ min: FEW_DECISIONS, max: 200 }),
      corrected: fc.integer({ min: 1, max: 200 }),
    }),
    waiting: fc.nat(5_000),
  })

const namesOf = (steps: readonly { stepId: string }[]) => steps.map(({ stepId }) => stepId)

describe('wilsonInterval', () => {
  it('matches published intervals', ({ expect }) => {
    // R. G. Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17 (1998),
    // table I.
    for (const [part, whole, low, high] of [
      [81, 263, 0.2553, 0.3662],
      [15, 148, 0.0624, 0.1605],
      [0, 20, 0, 0.1611],
      [1, 29, 0.0061, 0.1718],
    ] as const) {
      const interval = wilsonInterval(part, whole)
      expect(interval.low).toBeCloseTo(low, 4)
      expect(interval.high).toBeCloseTo(high, 4)
    }
  })

  it('stays between 0 and 1, and contains the share', ({ expect }) => {
    for (const whole of [1, 2, 10, 1_000, 10_000_000]) {
      for (const part of [0, 1, whole - 1, whole]) {
        const { low, high } = wilsonInterval(part, whole)
        expect(low).toBeGreaterThanOrEqual(0)
        expect(low).toBeLessThanOrEqual(part / whole + ROUNDING)
        expect(high).toBeGreaterThanOrEqual(part / whole - ROUNDING)
        expect(high).toBeLessThanOrEqual(1)
      }
    }
  })

  it('spans the whole range if there is no data', ({ expect }) => {
    expect(wilsonInterval(0, 0)).toEqual({ low: 0, high: 1 })
  })

  it('puts the lower bound for 1 of 1 below the one for 30 of 100', ({ expect }) => {
    expect(wilsonInterval(1, 1).low).toBeLessThan(wilsonInterval(30, 100).low)
  })
})

describe('rankSteps', () => {
  it('puts the step that would have the most corrected outputs first', ({ expect }) => {
    const { ranked } = rankSteps(
      insightsOf([
        { stepId: 'often-but-rare', accepted: 10, corrected: 10 },
        { stepId: 'seldom-but-everywhere', accepted: 90, corrected: 10, outputs: 10_000 },
        { stepId: 'never', accepted: 500, corrected: 0, outputs: 100_000 },
      ]),
    )
    expect(namesOf(ranked)).toEqual(['seldom-but-everywhere', 'often-but-rare'])
    expect(ranked[0]?.expected).toBe(Math.floor(10_000 * wilsonInterval(10, 100).low))
    expect(ranked[0]?.waiting).toBe(9_900)
  })

  it("doesn't rank a step that has only a handful of decisions", ({ expect }) => {
    const { ranked, unknown } = rankSteps(
      insightsOf([
        { stepId: 'one-of-one', accepted: 0, corrected: 1, outputs: 5_000 },
        { stepId: 'none-waits', accepted: FEW_DECISIONS - 1, corrected: 0 },
        { stepId: 'enough', accepted: FEW_DECISIONS - 1, corrected: 1 },
        { stepId: 'undecided', accepted: 0, corrected: 0, outputs: 9_000 },
      ]),
    )
    expect(namesOf(ranked)).toEqual(['enough'])
    expect(namesOf(unknown)).toEqual(['undecided', 'one-of-one'])
  })

  it('judges a step by its current version once that version has enough decisions', ({ expect }) => {
    const step = { stepId: 'classify', accepted: 88, corrected: 62, outputs: 1_000 }
    const days = [day('version-1', 40, 60), day('version-2', 48, 2)]
    const { ranked } = rankSteps(insightsOf([step], { days, promptVersions: [version(1), version(2, true)] }))
    expect(ranked).toMatchObject([
      { active: { corrected: 2, version: { number: 2 } }, trend: 'better', accepted: 88, corrected: 62 },
    ])
    expect(ranked[0]?.expected).toBe(Math.floor(1_000 * wilsonInterval(2, 50).low))
  })

  it('expects corrections at the rate of the live version, and sorts steps by the expected number', ({ expect }) => {
    fc.assert(
      fc.property(fc.array(rankable(), { minLength: 2, maxLength: 8 }), parts => {
        const steps = parts.map(({ before, live, waiting }, index) => {
          const { accepted, corrected } = sumOf([before, live])
          return { stepId: `step${index}`, accepted, corrected, outputs: accepted + corrected + waiting }
        })
        const ofStep = (index: number) => ({ promptId: `prompt${index}`, stepId: `step${index}` })
        const { ranked } = rankSteps(
          insightsOf(steps, {
            days: parts.flatMap(({ before, live }, index) => [
              { ...day(`${index}.1`, before.accepted, before.corrected), stepId: `step${index}` },
              { ...day(`${index}.2`, live.accepted, live.corrected), stepId: `step${index}` },
            ]),
            promptVersions: parts.flatMap((_, index) => [
              { ...version(1), ...ofStep(index), id: `${index}.1` },
              { ...version(2, true), ...ofStep(index), id: `${index}.2` },
            ]),
          }),
        )
        expect(ranked).toHaveLength(parts.length)
        for (const { stepId, expected, rate, outputs } of ranked) {
          const { live } = parts[Number(stepId.slice(4))] ?? expect.unreachable()
          expect(rate).toEqual(wilsonInterval(live.corrected, live.accepted + live.corrected))
          expect(expected).toBe(Math.floor(rate.low * outputs))
        }
        const shown = ranked.map(({ expected }) => expected)
        expect(shown).toEqual(shown.toSorted((left, right) => right - left))
      }),
    )
  })

  it('judges a step by all decisions while its current version has only a few', ({ expect }) => {
    const step = { stepId: 'classify', accepted: 43, corrected: 61 }
    const days = [day('version-1', 40, 60), day('version-2', 3, 1)]
    const { ranked } = rankSteps(insightsOf([step], { days, promptVersions: [version(2, true), version(1)] }))
    expect(ranked).toMatchObject([{ active: null, trend: null }])
    expect(ranked[0]?.versions.map(({ version: { number } }) => number)).toEqual([2, 1])
  })

  it('calls a version worse than the previous one only if the difference is significant', ({ expect }) => {
    const trendOf = (...days: Day[]) => {
      const { accepted, corrected } = sumOf(days)
      const insights = insightsOf([{ stepId: 'classify', accepted, corrected }], {
        days,
        promptVersions: [version(1), version(2), version(3, true)],
      })
      return rankSteps(insights).ranked[0]?.trend
    }
    expect(trendOf(day('version-2', 95, 5), day('version-3', 60, 40))).toBe('worse')
    expect(trendOf(day('version-2', 9, 1), day('version-3', 7, 3))).toBeNull()
    expect(trendOf(day('version-1', 99, 1), day('version-2', 60, 40), day('version-3', 60, 40))).toBeNull()
    expect(trendOf(day('version-3', 60, 40))).toBeNull()
  })

  it('judges a step by the version in use even if newer versions exist', ({ expect }) => {
    const days = [day('version-1', 60, 40), day('version-2', 99, 1)]
    const insights = insightsOf([{ stepId: 'classify', accepted: 159, corrected: 41 }], {
      days,
      promptVersions: [version(1, true), version(2)],
    })
    expect(rankSteps(insights).ranked).toMatchObject([{ active: { version: { number: 1 } }, trend: null }])
  })

  it('works if reviewers decided on outputs that are older than those counted', ({ expect }) => {
    const { ranked } = rankSteps(insightsOf([{ stepId: 'a', accepted: 20, corrected: 20, outputs: 0, reviewed: 0 }]))
    expect(ranked).toMatchObject([{ waiting: 0, outputs: 40 }])
    expect(
      rankSteps(insightsOf([{ stepId: 'a', accepted: 20, corrected: 20, outputs: 3, reviewed: 9 }])).ranked,
    ).toMatchObject([{ waiting: 0 }])
  })

  it('sorts steps of equal weight by name', ({ expect }) => {
    const steps = ['b', '__proto__', 'a'].map(stepId => ({ stepId, accepted: 10, corrected: 10 }))
    expect(namesOf(rankSteps(insightsOf(steps)).ranked)).toEqual(['__proto__', 'a', 'b'])
  })
})
