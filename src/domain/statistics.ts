/** The bounds of an interval of proportions, each from 0 to 1. */
export interface Interval {
  low: number
  high: number
}

/** The standard normal quantile of 0.975: 95% of the distribution lies within this many deviations of its mean. */
const Z = 1.959963984540054

/**
 * The 95% score interval of a proportion, without continuity correction (E. B. Wilson, Probable inference, the law of
 * succession, and statistical inference, 1927, doi 10.1080/01621459.1927.10502953). With p = successes / n, its bounds
 * are
 *
 *     (2np + z² ± z √(z² + 4np(1 − p))) / (2(n + z²))
 *
 * R. G. Newcombe gives worked examples (Two-sided confidence intervals for the single proportion, 1998, method 3). Null
 * if n is 0.
 */
export function wilsonInterval(successes: number, n: number): Interval | null {
  if (n === 0) return null
  const center = 2 * successes + Z * Z
  const spread = Z * Math.sqrt(Z * Z + 4 * successes * (1 - successes / n))
  const width = 2 * (n + Z * Z)
  // If no trial succeeds, or if all do, one bound is exactly 0 or 1, and rounding must not move it.
  return {
    low: successes === 0 ? 0 : (center - spread) / width,
    high: successes === n ? 1 : (center + spread) / width,
  }
}

/** If there are fewer discordant pairs, no result can be significant: 2 / 2⁵ is above 0.05. */
const MIN_DISCORDANT_PAIRS = 6

/**
 * The two-sided p of McNemar's test (Q. McNemar, Note on the sampling error of the difference between correlated
 * proportions or percentages, 1947, doi 10.1007/BF02295996) in its exact form. `first` and `second` count the pairs in
 * which only one side succeeds. If both sides were equally good, either count would be binomial with n = first + second
 * and probability 1/2, so
 *
 *     p = min(1, 2 Σ C(n, i) / 2ⁿ)   for i from 0 to the smaller count
 *
 * M. W. Fagerland, S. Lydersen, and P. Laake give worked examples (The McNemar test for binary matched-pairs data,
 * 2013, doi 10.1186/1471-2288-13-91). Null if there are fewer than 6 discordant pairs, which are too few to tell a
 * difference.
 */
export function mcNemarP(first: number, second: number): number | null {
  const n = first + second
  if (n < MIN_DISCORDANT_PAIRS) return null
  if (first === second) return 1
  const smaller = Math.min(first, second)
  // The logarithm of the largest term. 2ⁿ itself would overflow from n = 1024.
  let log = -n * Math.LN2
  for (let i = 1; i <= smaller; i++) log += Math.log((n - i + 1) / i)
  // The other terms as shares of the largest one, which only get smaller.
  let share = 1
  let sum = 1
  for (let i = smaller; i >= 1; i--) {
    share *= i / (n - i + 1)
    sum += share
  }
  return Math.min(1, 2 * sum * Math.exp(log))
}

/** How many of n trials succeed. */
export interface Sample {
  n: number
  successes: number
}

/** Because of rounding, probabilities that differ by at most this share count as equal. */
const EQUAL_WITHIN = 1e-7

/**
 * The two-sided p of Fisher's exact test for equal rates in two independent samples (R. A. Fisher, The logic of
 * inductive inference, 1935, doi 10.2307/2342435). Given the sizes of the samples and the total of successes, the
 * successes of the first are hypergeometric. The p is the sum of the probabilities of all tables that are at most as
 * likely as the observed one. 1 if a sample is empty.
 */
export function fisherP(first: Sample, second: Sample): number {
  const { shares, observed } = tablesOf(first, second)
  const limit = observed * (1 + EQUAL_WITHIN)
  return shareOf(shares, ({ share }) => share <= limit)
}

/**
 * The one-sided p of the same test for a lower rate in the first sample: the probability of tables in which that sample
 * has at most as many successes as observed.
 */
export function fisherPLower(first: Sample, second: Sample): number {
  return shareOf(tablesOf(first, second).shares, ({ successes }) => successes <= first.successes)
}

/**
 * A table with the observed totals: the first sample's successes, and the table's probability as a share of the
 * likeliest table's.
 */
interface Table {
  successes: number
  share: number
}

/**
 * Every table with the observed totals. Shares of the likeliest table's probability can't overflow, but shares of the
 * observed table's can.
 */
function tablesOf(first: Sample, second: Sample): { shares: Table[]; observed: number } {
  const successes = first.successes + second.successes
  const [least, most] = [Math.max(0, successes - second.n), Math.min(first.n, successes)]
  const mode = Math.floor(((first.n + 1) * (successes + 1)) / (first.n + second.n + 2))
  /** How much likelier the table with one more success is. */
  const ratio = (count: number) =>
    ((successes - count) * (first.n - count)) / ((count + 1) * (second.n - successes + count + 1))
  const above: Table[] = []
  for (let [count, share] = [mode, 1]; count <= most; share *= ratio(count), count++)
    above.push({ successes: count, share })
  const below: Table[] = []
  for (let [count, share] = [mode - 1, 1]; count >= least; count--) {
    share /= ratio(count)
    below.push({ successes: count, share })
  }
  const shares = [...below.reverse(), ...above]
  return { shares, observed: shares[first.successes - least]?.share ?? 1 }
}

/**
 * The probability of the tables that meet a condition. Adds the smallest first, which keeps the rounding error small.
 */
function shareOf(tables: readonly Table[], isCounted: (table: Table) => boolean): number {
  const sum = (some: readonly Table[]) =>
    some
      .map(({ share }) => share)
      .sort((left, right) => left - right)
      .reduce((total, share) => total + share, 0)
  return Math.min(1, sum(tables.filter(isCounted)) / sum(tables))
}

/**
 * The 95% interval of the second rate minus the first, from Wilson's interval of each (R. G. Newcombe, Interval
 * estimation for the difference between independent proportions, 1998, method 10, doi
 * 10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I). With the rates p and their Wilson bounds l and u,
 * the bounds of d = p₂ − p₁ are
 *
 *     d − √((p₂ − l₂)² + (u₁ − p₁)²)   and   d + √((u₂ − p₂)² + (p₁ − l₁)²)
 *
 * Null if a sample is empty.
 */
export function newcombeInterval(first: Sample, second: Sample): Interval | null {
  const [before, after] = [first, second].map(({ n, successes }) => wilsonInterval(successes, n))
  if (!before || !after) return null
  const [from, to] = [first.successes / first.n, second.successes / second.n]
  return {
    low: Math.max(-1, to - from - Math.hypot(to - after.low, before.high - from)),
    high: Math.min(1, to - from + Math.hypot(after.high - to, from - before.low)),
  }
}
