/*
 * The list's filters. They are called in the address what the API calls them, so that an address can be passed on.
 */

/** The filters by name, without those by metadata. */
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

/** A metadata field at a dotted path and the text that it must have. */
export interface MetadataFilter {
  path: string
  value: string
}

const isFilter = (name: string): boolean =>
  FILTERS.some(filter => filter === name) || (name.startsWith(METADATA) && name.length > METADATA.length)

/** The filters of an address as the API's query, in one order, so that equal filters are equal texts. */
export function queryOf(address: URLSearchParams): string {
  const given = [...address].filter(([name, value]) => isFilter(name) && value !== '')
  const query = new URLSearchParams(given)
  query.sort()
  return query.toString()
}

/** How many filters an address has. */
export const countFilters = (address: URLSearchParams): number => [...new URLSearchParams(queryOf(address))].length

/** An address with a filter set, or without it where the value is null or ''. */
export function withFilter(address: URLSearchParams, name: FilterName, value: string | null): URLSearchParams {
  const changed = new URLSearchParams(address)
  if (value === null || value === '') changed.delete(name)
  else changed.set(name, value)
  return changed
}

/** An address with nothing filtered. */
export const withoutFilters = (address: URLSearchParams): URLSearchParams =>
  new URLSearchParams([...address].filter(([name]) => !isFilter(name)))

export const metadataFilters = (address: URLSearchParams): MetadataFilter[] =>
  [...address]
    .filter(([name, value]) => name.startsWith(METADATA) && isFilter(name) && value !== '')
    .map(([name, value]) => ({ path: name.slice(METADATA.length), value }))

/** An address that asks for a metadata field, too; in place of what it asked of that field. */
export function withMetadata(address: URLSearchParams, { path, value }: MetadataFilter): URLSearchParams {
  const changed = new URLSearchParams(address)
  changed.set(METADATA + path, value)
  return changed
}

/** An address that asks nothing of a metadata field. */
export function withoutMetadata(address: URLSearchParams, path: string): URLSearchParams {
  const changed = new URLSearchParams(address)
  changed.delete(METADATA + path)
  return changed
}

/** What somebody typed as `path=value`; undefined where it is not (yet) that. */
export function parseMetadataFilter(text: string): MetadataFilter | undefined {
  const middle = text.indexOf('=')
  const path = text.slice(0, Math.max(middle, 0)).trim()
  const value = text.slice(middle + 1).trim()
  return path === '' || value === '' ? undefined : { path, value }
}
