import { parametersIn, withoutFilters } from '../parts/parameters.ts'

/*
 * The list's filters. The URL uses the API's names.
 */

const FILTERS = [
  'decision',
  'stepId',
  'errorType',
  'reviewerId',
  'promptVersionId',
  'model',
  'review',
  'hasOutput',
  'reviewedFrom',
  'reviewedTo',
  'from',
  'to',
] as const

export type SpanFilterName = (typeof FILTERS)[number]

/** The filters in a URL, in the order in which the page shows them. */
export const filtersIn = (address: URLSearchParams) => parametersIn(FILTERS, address)

/** The same as an API query. Equal filters give equal strings. */
export const queryOf = (address: URLSearchParams): string => new URLSearchParams(filtersIn(address)).toString()

/** A URL without filters. */
export const withoutSpanFilters = withoutFilters(name => FILTERS.some(filter => filter === name))
