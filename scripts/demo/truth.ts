import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../src/domain/json.ts'
import type { Random } from './random.ts'
import { SEQUELS, type Sequels } from './review-words.ts'
import type { Mistake } from './trace.ts'
import { fill, type Slots } from './versions.ts'

/** An output of a run, and the correct output. */
interface Comparison {
  stepId: string
  output: Json
  right: Json
}

/** Why a run went wrong, and the values to fill into comments on outputs that are wrong only as a result. */
interface Cause extends Omit<Mistake, 'right'> {
  sequels?: Sequels
  slots: Slots
  random: Random
}

/**
 * The mistakes in a run's outputs. `comparisons` must be in the order of the outputs, because the first output that
 * isn't right is where the run went wrong.
 */
export function mistakesIn(
  comparisons: readonly Comparison[],
  { errorType, why, sequels = SEQUELS, slots, random }: Cause,
): ReadonlyMap<string, Mistake> {
  const wrong = comparisons.filter(({ output, right }) => !isDeepStrictEqual(output, right))
  return new Map(
    wrong.map(({ stepId, right }, index) => {
      const words = index === 0 ? why : fill(random.pick(sequels[stepId] ?? []), slots)
      return [stepId, { right, errorType, why: words }]
    }),
  )
}
