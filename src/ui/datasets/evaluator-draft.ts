import type { Dataset } from '../api/wire.ts'

type Evaluator = Dataset['evaluator']
type Rule = NonNullable<Evaluator['paths']>[string]

/** How to compare a part of an output. The ID identifies the rule's row in the form. */
export interface RuleDraft {
  id: string
  path: string
  type: Rule['type']
  /** '' means that there is no tolerance. */
  tolerance: number | string
}

/** An evaluator in the form. */
export interface EvaluatorDraft {
  /** '' means the default type. */
  type: NonNullable<Evaluator['type']> | ''
  tolerance: number | string
  rules: readonly RuleDraft[]
}

export const newRule = (): RuleDraft => ({ id: crypto.randomUUID(), path: '', type: 'ignore', tolerance: '' })

export const draftOf = ({ type, tolerance, paths = {} }: Evaluator): EvaluatorDraft => ({
  type: type ?? '',
  tolerance: tolerance ?? '',
  rules: Object.entries(paths).map(([path, rule]) => ({
    ...newRule(),
    path,
    type: rule.type,
    tolerance: rule.tolerance ?? '',
  })),
})

export function evaluatorOf({ type, tolerance, rules }: EvaluatorDraft): Evaluator {
  const paths = rules.map(rule => [rule.path.trim(), { type: rule.type, ...toleranceOf(rule) }] as const)
  return {
    ...(type !== '' && { type, ...toleranceOf({ type, tolerance }) }),
    ...(paths.length > 0 && { paths: Object.fromEntries(paths) }),
  }
}

/** The form keeps a tolerance when another type is chosen, but the service accepts one only for numbers. */
const toleranceOf = ({ type, tolerance }: Pick<RuleDraft, 'type' | 'tolerance'>): { tolerance?: number } =>
  type === 'number' && tolerance !== '' ? { tolerance: Number(tolerance) } : {}

/** Whether a rule higher up in the list has the same path. */
export const isRepeated = (rules: readonly RuleDraft[], index: number): boolean =>
  rules.findIndex(({ path }) => path.trim() === rules[index]?.path.trim()) !== index
