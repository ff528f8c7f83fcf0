import { type Filter, optionsOf } from '../filters/filter.ts'
import { DECISION_OPTIONS } from '../parts/decision-options.ts'

/** The filters that are visible even if they aren't set. */
export const PINNED_FILTERS = ['Problem', 'Decision', 'Error type', 'Decided']

interface Names {
  /** The problem in the URL, if any, by its ID. */
  problems: ReadonlyMap<string, string>
  errorTypes: ReadonlyMap<string, string>
  reviewers: ReadonlyMap<string, string>
  /** The people that the listed spans are assigned to. */
  assignees: ReadonlyMap<string, string>
}

/** The filters that the list offers: for all spans, or for a problem's cases. */
export const spanFilters = (names: Names): Filter[] =>
  names.problems.size === 0
    ? allFilters(names)
    : [
        { kind: 'choice', label: 'Problem', name: 'problemId', options: optionsOf(names.problems) },
        NAMED_BY,
        ...allFilters(names).filter(({ label }) => !UNLIKE_PROBLEMS.includes(label)),
      ]

const NAMED_BY: Filter = {
  kind: 'choice',
  label: 'Cause named by',
  name: 'namedBy',
  options: [
    { value: 'reviewer', label: 'A reviewer' },
    { value: 'engine', label: 'Only the engine' },
  ],
}

/** The filters that the API doesn't allow together with a problem. */
const UNLIKE_PROBLEMS = [
  'Decision',
  'Error type',
  'Step',
  'Reviewer',
  'Prompt version',
  'Watched prompt',
  'Watched version',
]

const allFilters = ({ errorTypes, reviewers, assignees }: Names): Filter[] => [
  { kind: 'choice', label: 'Decision', name: 'decision', options: DECISION_OPTIONS },
  { kind: 'choice', label: 'Error type', name: 'errorType', options: optionsOf(errorTypes) },
  { kind: 'period', label: 'Decided', from: 'reviewedFrom', to: 'reviewedTo', unit: 'day' },
  { kind: 'text', label: 'Step', name: 'stepId', placeholder: 'e.g. generate-answer' },
  { kind: 'choice', label: 'Reviewer', name: 'reviewerId', options: optionsOf(reviewers) },
  {
    kind: 'choice',
    label: 'Assigned to',
    name: 'assignee',
    options: [{ value: 'me', label: 'Me' }, { value: 'none', label: 'Nobody' }, ...optionsOf(assignees)],
  },
  { kind: 'text', label: 'Watched prompt', name: 'watchedPromptId', placeholder: "A prompt's ID" },
  {
    kind: 'choice',
    label: 'Watched version',
    name: 'watchedSide',
    options: [
      { value: 'after', label: 'The active version' },
      { value: 'before', label: 'The previous version' },
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
