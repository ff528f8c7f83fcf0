import { useMemo } from 'react'
import { type Filter, optionsOf } from '../filters/filter.ts'
import { useErrorTypes } from '../session/error-type-names.ts'

/** The filters that are visible even if they aren't set. */
export const PINNED_FILTERS = ['Review', 'Time', 'Sort']

/** The filters that the list offers. A search has no sort, because its results are always newest first. */
export function useTraceFilters(isSearch: boolean): readonly Filter[] {
  const typeNames = useErrorTypes()
  return useMemo(() => {
    const errorTypes = optionsOf(typeNames)
    return [
      ...FILTERS,
      { kind: 'choice', label: 'Error type', name: 'errorType', options: errorTypes },
      { kind: 'choice', label: "Engine's error type", name: 'engineErrorType', options: errorTypes },
      ...LAST,
      ...(isSearch ? [] : [SORT]),
    ]
  }, [typeNames, isSearch])
}

const FILTERS: readonly Filter[] = [
  {
    kind: 'choice',
    label: 'Review',
    name: 'review',
    options: [
      { value: 'unreviewed', label: 'Unreviewed' },
      { value: 'mixed', label: 'Partly reviewed' },
      { value: 'accepted', label: 'Accepted' },
      { value: 'corrected', label: 'Corrected' },
    ],
  },
  { kind: 'period', label: 'Time', from: 'from', to: 'to', unit: 'minute' },
  { kind: 'text', label: 'Name', name: 'name', partName: 'nameContains', placeholder: 'e.g. support-answer' },
  { kind: 'text', label: 'Step', name: 'stepId', placeholder: 'e.g. generate-answer' },
  {
    kind: 'choice',
    label: 'Status',
    name: 'status',
    options: [
      { value: 'running', label: 'Running' },
      { value: 'completed', label: 'Completed' },
    ],
  },
  {
    kind: 'either',
    label: 'Feedback',
    options: [
      { name: 'rating', value: 'negative', label: 'Negative' },
      { name: 'rating', value: 'positive', label: 'Positive' },
      { name: 'hasFeedback', value: 'true', label: 'Any' },
      { name: 'hasFeedback', value: 'false', label: 'None' },
    ],
  },
]

const LAST: readonly Filter[] = [
  { kind: 'text', label: "Engine's step", name: 'engineStepId', placeholder: 'e.g. generate-answer' },
  {
    kind: 'choice',
    label: 'Engine found a step',
    name: 'engineHasStep',
    options: [
      { value: 'true', label: 'Yes' },
      { value: 'false', label: 'No' },
    ],
  },
  { kind: 'period', label: "Date of the engine's answer", from: 'engineFrom', to: 'engineTo', unit: 'day' },
  { kind: 'metadata', label: 'Metadata' },
  { kind: 'text', label: 'Prompt version', name: 'promptVersionId', placeholder: 'Version ID' },
  {
    kind: 'choice',
    label: 'Telemetry',
    name: 'kind',
    options: [{ value: 'all', label: "Include traces that aren't from AI pipelines" }],
  },
]

/** Not a filter, but shown as one. */
const SORT: Filter = {
  kind: 'choice',
  label: 'Sort',
  name: 'sort',
  options: [
    { value: 'duration', label: 'Longest first' },
    { value: 'cost', label: 'Most expensive first' },
  ],
}
