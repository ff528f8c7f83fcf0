import { parametersIn, withoutFilters } from '../parts/parameters.ts'

/*
 * The list's filters. The URL uses the API's names.
 */

const FILTERS = [
  'contains',
  'decision',
  'stepId',
  'errorType',
  'problemId',
  'namedBy',
  'watchedPromptId',
  'watchedSide',
  'reviewerId',
  'promptVersionId',
  'model',
  'review',
  'assignee',
  'hasOutput',
  'reviewable',
  'reviewedFrom',
  'reviewedTo',
  'from',
  'to',
  'kind',
] as const

export type SpanFilterName = (typeof FILTERS)[number]

/** A URL's filters as an API query. Equal filters give equal strings. */
export const queryOf = (address: URLSearchParams): string =>
  new URLSearchParams(parametersIn(FILTERS, address)).toString()

/** A URL without filters. */
export const withoutSpanFilters = withoutFilters(name => FILTERS.some(filter => filter === name))
