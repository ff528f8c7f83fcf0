import type { Dataset } from '../api/wire.ts'
import { counted } from '../parts/format.ts'

type Evaluator = Dataset['evaluator']

/** The app's names for the ways to compare outputs. */
export const COMPARISON_LABELS = {
  fields: 'Fields',
  exact: 'Exact',
  text: 'Text',
  number: 'Number',
} as const satisfies Record<NonNullable<Evaluator['type']>, string>

/** An evaluator in a few words: `Number ± 0.01, 2 paths`. */
export function evaluatorWords({ type, tolerance, paths = {} }: Evaluator): string {
  const whole = type === undefined ? 'Default' : COMPARISON_LABELS[type]
  const range = tolerance === undefined ? '' : ` ± ${tolerance}`
  const parts = Object.keys(paths).length
  return `${whole}${range}${parts === 0 ? '' : `, ${counted(parts, 'path')}`}`
}
