import { type Filter, optionsOf } from '../filters/filter.ts'
import { DECISION_OPTIONS } from '../parts/decision-options.ts'

/** The filters that are visible even if they aren't set. */
export const PINNED_FILTERS = ['Decision', 'Error type', 'Decided']

interface Names {
  errorTypes: ReadonlyMap<string, string>
  reviewers: ReadonlyMap<string, string>
}

/** The filters that the list offers. */
export const spanFilters = ({ errorTypes, reviewers }: Names): Filter[] => [
  { kind: 'choice', label: 'Decision', name: 'decision', options: DECISION_OPTIONS },
  { kind: 'choice', label: 'Error type', name: 'errorType', options: optionsOf(errorTypes) },
  { kind: 'period', label: 'Decided', from: 'reviewedFrom', to: 'reviewedTo', unit: 'day' },
  { kind: 'text', label: 'Step', name: 'stepId', placeholder: 'e.g. generate-answer' },
  { kind: 'choice', label: 'Reviewer', name: 'reviewerId', options: optionsOf(reviewers) },
  { kind: 'text', label: 'Problem', name: 'problemId', placeholder: "A problem's ID" },
  {
    kind: 'choice',
    label: 'Cause named by',
    name: 'namedBy',
    options: [
      { value: 'reviewer', label: 'A reviewer' },
      { value: 'engine', label: 'Only the engine' },
    ],
  },
  { kind: 'text', label: 'Model', name: 'model', placeholder: 'e.g. gpt-4.1-mini' },
  { kind: 'text', label: 'Prompt version', name: 'promptVersionId', placeholder: 'Version IDs, or none' },
  {
    kind: 'choice',
    label: 'Review',
    name: 'review',
    options: [
      { value: 'unreviewed', label: 'Unreviewed' },
      { value: 'accepted', label: 'Accepted' },
      { value: 'corrected', label: 'Corrected' },
      { value: 'stale', label: 'Output changed after review' },
      { value: 'reviewed', label: 'Reviewed' },
      { value: 'waiting', label: 'Waiting for review' },
    ],
  },
  {
    kind: 'choice',
    label: 'Output',
    name: 'hasOutput',
    options: [
      { value: 'true', label: 'With an output' },
      { value: 'false', label: 'Without an output' },
    ],
  },
  {
    kind: 'choice',
    label: 'Outputs to review',
    name: 'reviewable',
    options: [{ value: 'true', label: 'Only outputs that people review' }],
  },
  { kind: 'period', label: 'Trace time', from: 'from', to: 'to', unit: 'minute' },
  {
    kind: 'choice',
    label: 'Telemetry',
    name: 'kind',
    options: [{ value: 'all', label: "Include spans that aren't AI steps" }],
  },
]
