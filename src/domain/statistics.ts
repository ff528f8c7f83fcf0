/** The bounds of an interval of proportions, each from 0 to 1. */
export interface Interval {
  low: number
  high: number
}

/** The standard normal quantile of 0.975: 95 % of the distribution lies within this many deviations of its mean. */
const Z = 1.959963984540054

/**
 * The 95 % score interval of a proportion, without continuity correction (E. B. Wilson, Probable inference, the law of
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
  // Rounding must not move the bounds at the ends: both are exact there.
  return {
    low: successes === 0 ? 0 : (center - spread) / width,
    high: successes === n ? 1 : (center + spread) / width,
  }
}

/** With fewer discordant pairs, no result could be significant: 2 / 2⁵ is above 0.05. */
const MIN_DISCORDANT_PAIRS = 6

/**
 * The two-sided p of McNemar's test (Q. McNemar, Note on the sampling error of the difference between correlated
 * proportions or percentages, 1947, doi 10.1007/BF02295996) in its exact form. `first` and `second` count the pairs in
 * which only one side succeeds. If both sides were equally good, either count would be binomial with n = first + second
 * and probability 1/2, so
 *
 *     p = min(1, 2 Σ C(n, i) / 2ⁿ)   for i from 0 to the smaller count
 *
 * M. W. Fagerland, S. Lydersen, and P. Laake give worked examples (The McNemar test for binary matched-pairs data, 2013,
 * doi 10.1186/1471-2288-13-91). Null with fewer than 6 discordant pairs: too few to tell.
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
