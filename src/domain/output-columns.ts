import { MAX_CSV_COLUMNS, MAX_CSV_COLUMNS_LENGTH } from '../limits.ts'
import { isJsonObject, type Json, type JsonObject } from './json.ts'
import { unescapePointerStep } from './json-pointer.ts'

/*
 * Which fields of a step's outputs get their own columns in a CSV file.
 */

/** How many references to follow to the schema's fields. They may form a cycle. */
const MAX_REFERENCES = 8

/** The fields that an `outputSchema` declares. Empty if it doesn't describe an object. */
export function columnsOfSchema(schema: JsonObject): string[] {
  let described: Json | undefined = schema
  for (let followed = 0; followed <= MAX_REFERENCES && isJsonObject(described); followed++) {
    if (isJsonObject(described.properties)) return fitting(Object.keys(described.properties))
    const reference: Json | undefined = described.$ref
    described = typeof reference === 'string' ? referencedIn(schema, reference) : undefined
  }
  return []
}

/** The part of a schema that a reference such as `#/$defs/Answer` points to. */
function referencedIn(schema: JsonObject, reference: string): Json | undefined {
  const [start, ...keys] = reference.split('/')
  if (start !== '#') return undefined
  let part: Json | undefined = schema
  for (const key of keys) {
    const name = unescapePointerStep(key)
    part = isJsonObject(part) && Object.hasOwn(part, name) ? part[name] : undefined
  }
  return part
}

/** The fields of these values, in the order in which they first appear. */
export const columnsOfValues = (values: readonly Json[]): string[] =>
  fitting([...new Set(values.flatMap(value => (isJsonObject(value) ? Object.keys(value) : [])))])

/** As many columns as fit in a cursor. */
function fitting(names: readonly string[]): string[] {
  const columns: string[] = []
  let length = 0
  for (const name of names) {
    length += lengthInCursor(name)
    if (length > MAX_CSV_COLUMNS_LENGTH || columns.length === MAX_CSV_COLUMNS) break
    columns.push(name)
  }
  return columns
}

/** A cursor contains the names as JSON within JSON, with escapes for everything but ASCII. */
const lengthInCursor = (name: string): number =>
  JSON.stringify(JSON.stringify(name)).replace(/[^ -~]/g, '\\u0000').length + 1
