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
  'from',
  'to',
  'kind',
] as const

export type FilterName = (typeof FILTERS)[number]

const METADATA = 'metadata.'

/** A metadata field's dotted path and required value. */
export interface MetadataFilter {
  path: string
  value: string
}

const isFilter = (name: string): boolean =>
  FILTERS.some(filter => filter === name) || (name.startsWith(METADATA) && name.length > METADATA.length)

/** A URL's filters as an API query, sorted so that equal filters give equal strings. */
export function queryOf(address: URLSearchParams): string {
  const given = [...address].filter(([name, value]) => isFilter(name) && value !== '')
  const query = new URLSearchParams(given)
  query.sort()
  return query.toString()
}

/** The number of filters in a URL. */
export const countFilters = (address: URLSearchParams): number => [...new URLSearchParams(queryOf(address))].length

/** A URL without filters. */
export const withoutTraceFilters = withoutFilters(isFilter)

export const metadataFilters = (address: URLSearchParams): MetadataFilter[] =>
  [...address]
    .filter(([name, value]) => name.startsWith(METADATA) && isFilter(name) && value !== '')
    .map(([name, value]) => ({ path: name.slice(METADATA.length), value }))

/** A metadata filter's name in the URL. */
export const metadataName = (path: string): string => METADATA + path

/** Parses `path=value`; undefined if the text doesn't have that form. */
export function parseMetadataFilter(text: string): MetadataFilter | undefined {
  const middle = text.indexOf('=')
  const path = text.slice(0, Math.max(middle, 0)).trim()
  const value = text.slice(middle + 1).trim()
  return path === '' || value === '' ? undefined : { path, value }
}
