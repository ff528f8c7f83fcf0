/*
 * How often raters agree on labels that have no order. The thing that raters label is called a unit. Measures are
 * computed from the distinct patterns of labels and how many times each occurs, so a bootstrap can recompute them from
 * other counts.
 */

/** The labels that a unit got, one from each of its raters. */
export type Labels = readonly string[]

/** A measure of patterns, given how many times each occurs. Null if it's undefined. */
export type Measure = (counts: ArrayLike<number>) => number | null

/** A pattern of labels, and how many units have it. */
export interface LabelPattern {
  labels: Labels
  count: number
}

/** Merges patterns with the same labels in the same order. */
export function distinctPatterns(patterns: Iterable<LabelPattern>): LabelPattern[] {
  const distinct = new Map<string, LabelPattern>()
  for (const { labels, count } of patterns) {
    const key = JSON.stringify(labels)
    distinct.set(key, { labels, count: (distinct.get(key)?.count ?? 0) + count })
  }
  return [...distinct.values()]
}

/** How many pairs of different raters a unit has, and how many of these pairs gave it the same label. */
export interface ComparedPairs {
  pairs: number
  agreed: number
}

/** Counts the pairs of different raters that a unit with these labels has. */
export function countPairs(labels: Labels): ComparedPairs {
  let agreed = 0
  for (const n of countLabels(labels).values()) agreed += (n * (n - 1)) / 2
  return { pairs: (labels.length * (labels.length - 1)) / 2, agreed }
}

/** The share of pairs of raters who gave the same label, over all units. Undefined if no unit has two raters. */
export const percentAgreement =
  (patterns: readonly ComparedPairs[]): Measure =>
  counts => {
    let [pairs, agreed, place] = [0, 0, 0]
    for (const pattern of patterns) {
      const count = counts[place++] ?? 0
      pairs += count * pattern.pairs
      agreed += count * pattern.agreed
    }
    return pairs === 0 ? null : agreed / pairs
  }

/**
 * Cohen's κ for two raters (J. Cohen, A coefficient of agreement for nominal scales, 1960, doi
 * 10.1177/001316446002000104): their agreement beyond chance, divided by the largest possible agreement beyond chance.
 * Each pattern has the first rater's label, then the second's. Undefined if there are no units, or if both raters gave
 * every unit the same label, because chance alone would then produce full agreement.
 */
export function cohensKappa(patterns: readonly Labels[]): Measure {
  const { places, size } = numberLabels(patterns)
  const pairs = places.map(([first = 0, second = 0]) => ({ first, second }))
  // Measures run thousands of times, and creating arrays would take longer than the rest.
  const [firsts, seconds] = [new Float64Array(size), new Float64Array(size)]
  return counts => {
    firsts.fill(0)
    seconds.fill(0)
    let [all, agreed, byChance, place] = [0, 0, 0, 0]
    for (const { first, second } of pairs) {
      const count = counts[place++] ?? 0
      all += count
      if (first === second) agreed += count
      firsts[first] = (firsts[first] ?? 0) + count
      seconds[second] = (seconds[second] ?? 0) + count
    }
    for (let label = 0; label < size; label++) byChance += (firsts[label] ?? 0) * (seconds[label] ?? 0)
    // Everything up to here is a whole number. Otherwise, rounding could hide that chance alone would produce full
    // agreement.
    if (byChance === all * all) return null
    const expected = byChance / (all * all)
    return (agreed / all - expected) / (1 - expected)
  }
}

/**
 * Krippendorff's α for nominal labels (K. Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011,
 * https://repository.upenn.edu/asc_papers/43): 1 − observed / expected disagreement, for any number of raters, any of
 * whom may be missing from a unit. A unit with n_c labels c out of m has n_c (n_c − 1) / (m − 1) coincidences of c with
 * itself. With the sum of these as o, the number of labels as n, and Σ n_c (n_c − 1) over all units' labels as e,
 *
 *     α = ((n − 1) o − e) / (n (n − 1) − e)
 *
 * Units with fewer than two labels don't count. Undefined if no unit has two labels, or if all labels are the same,
 * because chance alone would then produce full agreement.
 */
export function krippendorffsAlpha(patterns: readonly Labels[]): Measure {
  const { places, size } = numberLabels(patterns)
  const units = places.map((labels, index) => {
    const raters = labels.length
    const { agreed } = countPairs(patterns[index] ?? [])
    return { labels, raters, coincidences: raters < 2 ? 0 : (2 * agreed) / (raters - 1) }
  })
  const totals = new Float64Array(size)
  return counts => {
    totals.fill(0)
    let [all, coincidences, byChance, place] = [0, 0, 0, 0]
    for (const { labels, raters, coincidences: own } of units) {
      const count = counts[place++] ?? 0
      if (count === 0 || raters < 2) continue
      all += count * raters
      coincidences += count * own
      for (const label of labels) totals[label] = (totals[label] ?? 0) + count
    }
    for (const total of totals) byChance += total * (total - 1)
    const most = all * (all - 1)
    // These are whole numbers, as in κ.
    return byChance === most ? null : ((all - 1) * coincidences - byChance) / (most - byChance)
  }
}

const countLabels = (labels: Labels): Map<string, number> =>
  new Map([...Map.groupBy(labels, label => label)].map(([label, group]) => [label, group.length] as const))

/** The patterns with a number in place of each label, and how many labels there are. */
function numberLabels(patterns: readonly Labels[]): { places: number[][]; size: number } {
  const numbers = new Map<string, number>()
  const numberOf = (label: string): number => {
    const number = numbers.get(label) ?? numbers.size
    numbers.set(label, number)
    return number
  }
  return { places: patterns.map(labels => labels.map(numberOf)), size: numbers.size }
}
