import { MAX_UNDEFINED_RESAMPLES, RESAMPLED_PER_TURN, RESAMPLES } from '../limits.ts'
import type { Measure } from './agreement.ts'
import { drawBinomial, type Random, seededRandom } from './random.ts'
import type { Interval } from './statistics.ts'
import type { Work } from './turns.ts'

/** Any fixed number works: the same data must always give the same intervals. */
const SEED = 1979

/**
 * The 95% percentile interval of each measure over resampled units (B. Efron, Bootstrap methods: another look at the
 * jackknife, 1979, doi 10.1214/aos/1176344552). `counts` says how many units have each pattern. Units with the same
 * pattern are alike, so a resample's counts are multinomial. They can be drawn pattern by pattern, so more units don't
 * cost more.
 *
 * Null if a measure is undefined in more than 5% of the resamples, which happens if almost all units have the same
 * pattern.
 */
export function* bootstrapIntervals(
  counts: readonly number[],
  measures: readonly Measure[],
): Work<(Interval | null)[]> {
  const { draw, cost } = resampler(seededRandom(SEED), counts)
  const values = measures.map((): number[] => [])
  let spent = RESAMPLED_PER_TURN
  for (let i = 0; i < RESAMPLES; i++) {
    spent += cost
    if (spent > RESAMPLED_PER_TURN) {
      spent = 0
      yield
    }
    const drawn = draw()
    measures.forEach((measure, place) => {
      const value = measure(drawn)
      if (value !== null) values[place]?.push(value)
    })
  }
  return values.map(percentiles)
}

/** With fewer units per pattern, drawing each unit is faster than drawing each pattern's count. */
const MIN_UNITS_PER_PATTERN = 16

interface Resampler {
  /** Draws as many units as there are, and counts how many have each pattern. */
  draw: () => Int32Array
  /** The number of units or patterns that `draw` draws each time. */
  cost: number
}

function resampler(random: Random, counts: readonly number[]): Resampler {
  const drawn = new Int32Array(counts.length)
  const units = counts.reduce((sum, count) => sum + count, 0)
  if (units < MIN_UNITS_PER_PATTERN * counts.length) {
    const patterns = Int32Array.from(counts.flatMap((count, pattern) => Array<number>(count).fill(pattern)))
    const draw = () => {
      drawn.fill(0)
      for (let i = 0; i < units; i++) {
        const pattern = patterns[Math.floor(random() * units)] ?? 0
        drawn[pattern] = (drawn[pattern] ?? 0) + 1
      }
      return drawn
    }
    return { draw, cost: units }
  }
  const draw = () => {
    let [unitsLeft, drawsLeft] = [units, units]
    counts.forEach((count, pattern) => {
      const successes = drawBinomial(random, drawsLeft, count / unitsLeft)
      drawn[pattern] = successes
      unitsLeft -= count
      drawsLeft -= successes
    })
    return drawn
  }
  return { draw, cost: counts.length }
}

/** The bounds between which 95% of the values lie. */
function percentiles(values: readonly number[]): Interval | null {
  if (values.length < RESAMPLES * (1 - MAX_UNDEFINED_RESAMPLES)) return null
  const sorted = Float64Array.from(values).sort()
  const outside = Math.floor(sorted.length * 0.025)
  const [low, high] = [sorted[outside], sorted[sorted.length - 1 - outside]]
  return low === undefined || high === undefined ? null : { low, high }
}
