import * as v from 'valibot'
import type { SearchableField } from '../domain/metadata.ts'
import { invalidRequest, notFound } from '../http/errors.ts'
import { parse, validationDetails } from '../http/validation.ts'
import { type Contract, isIngestion } from './contract.ts'

/** The query of a URL. Avoids `new URL`: the router has already parsed the whole URL. */
export function queryOf({ url }: Request): URLSearchParams {
  const start = url.indexOf('?')
  return start === -1 ? NO_PARAMETERS : new URLSearchParams(url.slice(start))
}

const NO_PARAMETERS = new URLSearchParams()

/**
 * Rejects unknown parameters, which may be typos. But ingestion ignores them so that newer clients work, and
 * `operation` ignores them so that health probes work.
 */
export function parseQuery(contract: Contract, searchParams: URLSearchParams) {
  const { query, metadataPrefix, family } = contract
  // Separates the filters before valibot runs, because valibot drops fields named __proto__ or constructor.
  const metadataFilters: SearchableField[] = []
  const parameters: Record<string, string> = Object.create(null)
  const isStrict = !isIngestion(contract) && family !== 'operation'
  const isKnown = (name: string) => query !== undefined && Object.hasOwn(query.entries, name)
  const isFilter = (name: string) => metadataPrefix !== undefined && !isKnown(name) && name.startsWith(metadataPrefix)
  const read = [...searchParams].filter(([name]) => isKnown(name) || isFilter(name) || isStrict)
  for (const [name, value] of singleValues(read)) {
    if (isFilter(name)) metadataFilters.push({ path: name.slice(metadataPrefix?.length), value })
    else parameters[name] = value
  }
  return { query: query || isStrict ? parse(query ?? NO_QUERY, parameters) : undefined, metadataFilters }
}

const NO_QUERY = v.strictObject({})

export function parseParams(contract: Contract, raw: Record<string, string>): unknown {
  if (!contract.params) return undefined
  const decoded = Object.fromEntries(Object.entries(raw).map(([name, value]) => [name, decode(value)]))
  const result = v.safeParse(contract.params, decoded)
  if (result.success) return result.output
  throw isIngestion(contract) ? invalidRequest(validationDetails(result.issues)) : notFound()
}

/**
 * Decodes a path parameter, which the router doesn't do. An invalid escape is left as it is, so the value doesn't match
 * its schema.
 */
function decode(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

/** The value of each parameter. A repeated parameter is an error, because it's unclear which value to use. */
function singleValues(parameters: readonly (readonly [name: string, value: string])[]): Map<string, string> {
  const values = new Map(parameters)
  if (values.size === parameters.length) return values
  const names = parameters.map(([name]) => name)
  const repeated = names.find((name, index) => names.indexOf(name) !== index) ?? ''
  throw invalidRequest([{ path: repeated, message: 'is given more than once' }])
}
