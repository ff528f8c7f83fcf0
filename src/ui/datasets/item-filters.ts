import { type Filter, optionsOf } from '../filters/filter.ts'
import { DECISION_OPTIONS } from '../parts/decision-options.ts'

/** The filters that are visible even if they aren't set. */
export const PINNED_FILTERS = ['Split', 'Decision', 'Error type']

interface Names {
  splits: readonly string[]
  typeNames: ReadonlyMap<string, string>
}

/** The filters for a dataset's items. */
export const itemFilters = ({ splits, typeNames }: Names): Filter[] => [
  { kind: 'choice', label: 'Split', name: 'split', options: splits.map(value => ({ value, label: value })) },
  {
    kind: 'choice',
    label: 'Decision',
    name: 'decision',
    options: [...DECISION_OPTIONS, { value: 'import', label: 'Imported' }],
  },
  {
    kind: 'choice',
    label: 'Error type',
    name: 'errorType',
    options: optionsOf(typeNames),
  },
  {
    kind: 'choice',
    label: 'Excluded',
    name: 'excluded',
    options: [
      { value: 'true', label: 'Only excluded' },
      { value: 'false', label: 'Not excluded' },
    ],
  },
  { kind: 'text', label: 'Version', name: 'version', placeholder: 'An earlier version' },
]
