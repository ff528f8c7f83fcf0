import * as v from 'valibot'
import { COMPARISONS, evaluatorFaults, RULE_TYPES } from '../domain/evaluator.ts'
import { described, pathItem } from '../http/atoms.ts'

const Tolerance = v.optional(
  described(
    v.pipe(v.number(), v.finite('must be a finite number'), v.minValue(0, 'must be at least 0')),
    'For number: how far apart two numbers may be. Default: 0.',
  ),
)

const Rule = v.strictObject({ type: v.picklist(RULE_TYPES), tolerance: Tolerance })

/** An evaluator: how to compare a step's outputs with what's expected. */
export const Evaluator = v.pipe(
  v.strictObject({
    type: v.optional(
      described(
        v.picklist(COMPARISONS),
        'exact: as JSON. text: ignoring white space and case. fields: each leaf, strings as text. number: as fields, but numbers within a tolerance. Default: fields.',
      ),
    ),
    tolerance: Tolerance,
    paths: v.optional(
      described(
        v.record(v.string(), Rule),
        'Other rules for parts of the output, by path: `total`, `items.*.price`. ignore: the part may differ or be missing. A backslash before a dot or star makes it part of a name.',
      ),
    ),
  }),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return
    for (const { path, message } of evaluatorFaults(dataset.value)) {
      const [first, ...rest] = path.map(pathItem)
      addIssue({ message, ...(first && { path: [first, ...rest] }) })
    }
  }),
)
