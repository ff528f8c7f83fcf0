import { METADATA } from '../filters/filter.ts'
import { withoutFilters } from '../parts/parameters.ts'

/*
 * The list's filters. The URL uses the API's names.
 */

/** The filters' names, without metadata. */
const FILTERS = [
  'contains',
  'name',
  'nameContains',
  'status',
  'review',
  'stepId',
  'promptVersionId',
  'hasFeedback',
  'rating',
  'errorType',
  'engineErrorType',
  'engineStepId',
  'engineHasStep',
  'engineFrom',
  'engineTo',
  'from',
  'to',
  'kind',
] as const

const isFilter = (name: string): boolean =>
  FILTERS.some(filter => filter === name) || (name.startsWith(METADATA) && name.length > METADATA.length)

/** A URL's filters as an API query, sorted so that equal filters give equal strings. */
export function queryOf(address: URLSearchParams): string {
  const given = [...address].filter(([name, value]) => isFilter(name) && value !== '')
  const query = new URLSearchParams(given)
  query.sort()
  return query.toString()
}

/** The filters with the sort order. A search is always sorted by time. */
export function listQueryOf(address: URLSearchParams): string {
  const filters = queryOf(address)
  const sort = address.get('sort')
  if (!sort || address.get('contains')) return filters
  return `${filters}${filters === '' ? '' : '&'}${new URLSearchParams({ sort })}`
}

/** A URL without filters, sorted by time. */
export const withoutTraceFilters = withoutFilters(name => isFilter(name) || name === 'sort')

/** A metadata filter's name in the URL. */
export const metadataName = (path: string): string => METADATA + path
