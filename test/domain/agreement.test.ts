import fc from 'fast-check'
import { describe, it } from 'vitest'
import {
  cohensKappa,
  countPairs,
  krippendorffsAlpha,
  type Labels,
  percentAgreement,
} from '../../src/domain/agreement.ts'

/** A pattern for each cell of a table. The rows are one rater's labels, and the columns are the other rater's. */
const table = (rows: readonly (readonly number[])[]) =>
  rows.flatMap((row, first) => row.map((count, second) => ({ labels: [String(first), String(second)], count })))

const kappaOf = (rows: readonly (readonly number[])[]) => {
  const cells = table(rows)
  return cohensKappa(cells.map(({ labels }) => labels))(cells.map(({ count }) => count))
}

describe("Cohen's κ", () => {
  it.for([
    // 35 of 50 agree: 0.7. Chance agreement is 25/50 × 30/50 + 25/50 × 20/50 = 0.5.
    [
      'two labels',
      [
        [20, 5],
        [10, 15],
      ],
      0.2 / 0.5,
    ],
    // Cohen 1960, table 1, as counts out of 200. 140 agree: 0.7. Chance agreement is
    // (120 × 100 + 60 × 60 + 20 × 40) / 200² = 0.41, so κ is 0.492.
    [
      "Cohen's example",
      [
        [88, 14, 18],
        [10, 40, 10],
        [2, 6, 12],
      ],
      0.29 / 0.59,
    ],
    // 30 of 100 agree. Chance agreement is 0.3 × 0.5 + 0.7 × 0.5 = 0.5.
    [
      'agreement worse than chance',
      [
        [5, 25],
        [45, 25],
      ],
      -0.2 / 0.5,
    ],
    // 25 of 100 agree. Each label fills a quarter of every row and column.
    [
      'agreement no better than chance',
      [
        [1, 1, 1, 1],
        [1, 1, 1, 1],
        [1, 1, 1, 1],
        [1, 1, 1, 1],
      ],
      0,
    ],
    [
      'full agreement',
      [
        [7, 0],
        [0, 3],
      ],
      1,
    ],
    [
      'full disagreement',
      [
        [0, 5],
        [5, 0],
      ],
      -1,
    ],
    // 5 of 10 agree. One rater uses a single label, so chance agreement is also 0.5.
    [
      'a rater who uses only one label',
      [
        [5, 5],
        [0, 0],
      ],
      0,
    ],
  ] as const)('is computed for %s', ([, rows, expected], { expect }) => {
    expect(kappaOf(rows)).toBeCloseTo(expected, 12)
  })

  it.for([
    ['nothing was rated', []],
    ['both raters used the same single label', [[9]]],
    [
      'both raters used only one of several labels',
      [
        [0, 0],
        [0, 12],
      ],
    ],
  ] as const)('is undefined if %s', ([, rows], { expect }) => {
    expect(kappaOf(rows)).toBeNull()
  })
})

/** A unit for each position in the raters' lists of labels. A dot is a missing label. */
const unitsOf = (...raters: readonly string[]): Labels[] =>
  raters
    .map(labels => labels.split(' '))
    .reduce<string[][]>((units, labels) => labels.map((label, place) => [...(units[place] ?? []), label]), [])
    .map(labels => labels.filter(label => label !== '.'))

/** A unit for each row. The row lists how many raters gave the unit each label. */
const unitsFrom = (rows: readonly string[]): Labels[] =>
  rows.map(row => row.split(' ').flatMap((count, label) => Array<string>(Number(count)).fill(String(label))))

const once = (units: readonly Labels[]) => units.map(() => 1)
const alphaOf = (units: readonly Labels[]) => krippendorffsAlpha(units)(once(units))

/** J. L. Fleiss, Measuring nominal scale agreement among many raters, 1971, table 1: 30 patients, 6 psychiatrists. */
const FLEISS = unitsFrom(
  `0 0 0 6 0|0 3 0 0 3|0 1 4 0 1|0 0 0 0 6|0 3 0 3 0|2 0 4 0 0|0 0 4 0 2|2 0 3 1 0|2 0 0 4 0|0 0 0 0 6|1 0 0 5 0|
1 1 0 4 0|0 3 3 0 0|1 0 0 5 0|0 2 0 3 1|0 0 5 0 1|3 0 0 1 2|5 1 0 0 0|0 2 0 4 0|1 0 2 0 3|0 0 0 0 6|0 1 0 5 0|
0 2 0 1 3|2 0 0 4 0|1 0 0 4 1|0 5 0 1 0|4 0 0 0 2|0 2 0 4 0|1 0 5 0 0|0 0 0 0 6`
    .replaceAll('\n', '')
    .split('|'),
)

describe("Krippendorff's α", () => {
  it.for([
    // Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011: sections A, B, and C.
    ['two raters with two labels', unitsOf('0 1 0 0 0 0 0 0 1 0', '1 1 1 0 0 1 0 0 0 0'), 0.095],
    ['two raters with five labels', unitsOf('a a b b d c c c e d d a', 'b a b b b c c c e d d d'), 0.692],
    [
      'four raters with missing labels',
      unitsOf(
        '1 2 3 3 2 1 4 1 2 . . .',
        '1 2 3 3 2 2 4 1 2 5 . 3',
        '. 3 3 3 2 3 4 2 2 5 1 .',
        '1 2 3 3 2 4 4 1 2 5 1 .',
      ),
      0.743,
    ],
  ] as const)("matches Krippendorff's example of %s", ([, units, alpha], { expect }) => {
    expect(alphaOf(units)).toBeCloseTo(alpha, 3)
  })

  it("follows from Fleiss's κ, which computes the expected agreement with replacement", ({ expect }) => {
    // Fleiss 1971: 0.555 of pairs agree, 0.220 by chance, κ = 0.430. α corrects for the 180 labels:
    // α = 1 − (1 − κ) (180 − 1) / 180.
    const shares = [26, 26, 30, 55, 43].map(count => count / 180)
    const byChance = shares.reduce((sum, share) => sum + share * share, 0)
    const agreement = percentAgreement(FLEISS.map(countPairs))(once(FLEISS)) ?? 0
    const kappa = (agreement - byChance) / (1 - byChance)
    expect(agreement).toBeCloseTo(0.555, 2)
    expect(kappa).toBeCloseTo(0.43, 3)
    expect(alphaOf(FLEISS)).toBeCloseTo(1 - ((1 - kappa) * 179) / 180, 12)
  })

  it('is the same if disagreements are counted pair by pair, for any units', ({ expect }) => {
    fc.assert(
      fc.property(someUnits, units => {
        const pairable = units.filter(({ length }) => length > 1)
        const all = pairable.flat()
        const disagree = (labels: Labels) =>
          labels.reduce((sum, one) => sum + labels.filter(other => other !== one).length, 0)
        const expected = disagree(all) / (all.length * (all.length - 1))
        const observed = pairable.reduce((sum, labels) => sum + disagree(labels) / (labels.length - 1), 0) / all.length
        if (expected > 0) expect(alphaOf(units)).toBeCloseTo(1 - observed / expected, 9)
        else expect(alphaOf(units)).toBeNull()
      }),
    )
  })

  it('is undefined if no unit has two labels, or all labels are the same', ({ expect }) => {
    expect(alphaOf([])).toBeNull()
    expect(alphaOf([['a'], ['b'], []])).toBeNull()
    expect(alphaOf([['a', 'a'], ['a', 'a', 'a'], ['b']])).toBeNull()
  })
})

const aLabel = fc.constantFrom('a', 'b', 'c', 'd')
const someUnits = fc.array(fc.array(aLabel, { maxLength: 5 }), { maxLength: 40 })
const somePairs = fc.array(fc.tuple(aLabel, aLabel), { maxLength: 60 })

describe('every measure', () => {
  const measures = [
    ['percent agreement', (units: readonly Labels[]) => percentAgreement(units.map(countPairs))],
    ["Cohen's κ", cohensKappa],
    ["Krippendorff's α", krippendorffsAlpha],
  ] as const

  it.for(measures)(
    '%s stays the same if labels are renamed, raters or units are reordered, or equal units are combined into counts',
    ([, measure], { expect }) => {
      fc.assert(
        fc.property(somePairs, fc.nat(), (units, turn) => {
          const value = measure(units)(once(units))
          const close = (other: number | null) =>
            value === null ? expect(other).toBeNull() : expect(other).toBeCloseTo(value, 9)
          const renamed = new Map([...'abcd'].map((label, place) => [label, `label ${(place + turn) % 4}`]))
          close(measure(units.map(labels => labels.map(label => renamed.get(label) ?? '')))(once(units)))
          close(measure(units.map(labels => labels.toReversed()))(once(units)))
          close(measure(units.toReversed())(once(units)))
          const groups = [...Map.groupBy(units, labels => labels.join(' '))]
          close(measure(groups.map(([key]) => key.split(' ')))(groups.map(([, group]) => group.length)))
        }),
      )
    },
  )

  it.for(measures)('%s is 1 if raters agree on everything, with more than one label', ([, measure], { expect }) => {
    const units = [
      ['a', 'a'],
      ['b', 'b'],
      ['a', 'a'],
    ]
    expect(measure(units)(once(units))).toBe(1)
  })
})
