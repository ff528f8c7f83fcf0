import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../src/domain/json.ts'
import type { Mistake } from './trace.ts'

/** What one of a run's outputs is and should have been. */
interface Comparison {
  stepId: string
  output: Json
  right: Json
  /** What a reviewer says where it is wrong only because an earlier one was. */
  sequel: string
}

/** What is wrong with which outputs of a run. Given in the order of the run: where it went wrong is the first that differs. */
export function mistakesIn(
  comparisons: readonly Comparison[],
  { errorType, why }: Omit<Mistake, 'right'>,
): ReadonlyMap<string, Mistake> {
  const wrong = comparisons.filter(({ output, right }) => !isDeepStrictEqual(output, right))
  return new Map(
    wrong.map(({ stepId, right, sequel }, index) => [stepId, { right, errorType, why: index === 0 ? why : sequel }]),
  )
}
