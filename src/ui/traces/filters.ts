import { METADATA } from '../filters/filter.ts'
import { withoutFilters } from '../parts/parameters.ts'

/*
 * The list's filters. The URL uses the API's names.
 */

/** The filters' names, without metadata. */
const FILTERS = [
  'name',
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

/** A URL without filters. */
export const withoutTraceFilters = withoutFilters(isFilter)

/** A metadata filter's name in the URL. */
export const metadataName = (path: string): string => METADATA + path
