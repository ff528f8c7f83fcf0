import { parametersIn, withoutFilters } from '../parts/parameters.ts'

/*
 * The filters for a dataset's items. The URL uses the API's names.
 */

const FILTERS = ['split', 'decision', 'errorType', 'excluded', 'version'] as const

/** The filters in a URL as an API query. Equal filters give equal strings. */
export const queryOf = (address: URLSearchParams): string =>
  new URLSearchParams(parametersIn(FILTERS, address)).toString()

/** Removes the item filters from a URL. */
export const withoutItemFilters = withoutFilters(name => FILTERS.some(filter => filter === name))
