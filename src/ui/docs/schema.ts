import { nounFor } from '../../domain/counted.ts'
import type { Schema } from './document.ts'

export type Schemas = Readonly<Record<string, Schema>>

const nameOf = (reference: string): string => reference.slice(reference.lastIndexOf('/') + 1)

/** Resolves a reference to a named schema. */
export const resolved = (schema: Schema, schemas: Schemas): Schema =>
  schema.$ref === undefined ? schema : (schemas[nameOf(schema.$ref)] ?? schema)

/** A schema's type in a few words. */
export function typeName(schema: Schema): string {
  if (schema.$ref !== undefined) return nameOf(schema.$ref)
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map(value => JSON.stringify(value)).join(' | ')
  const alternatives = schema.anyOf ?? schema.oneOf
  if (alternatives) return [...new Set(alternatives.map(typeName))].join(' | ')
  if (schema.items) return `array of ${typeName(schema.items)}`
  const types = [schema.type ?? 'any JSON'].flat().join(' | ')
  return schema.format === undefined ? types : `${types}, ${schema.format}`
}

/** A value's limits, apart from its type. */
export function bounds(schema: Schema): string[] {
  const { minLength, maxLength, minItems, maxItems, minimum, maximum, pattern } = schema
  return [
    between(minLength, maxLength, 'character'),
    between(minItems, maxItems, 'item'),
    // JavaScript's largest integer isn't a limit that matters to callers.
    between(minimum, maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum),
    pattern === undefined ? '' : `matches ${pattern}`,
  ].filter(Boolean)
}

function between(least: number | undefined, most: number | undefined, one?: string): string {
  const last = most ?? least
  if (last === undefined) return ''
  const unit = one === undefined ? '' : ` ${nounFor(last, one)}`
  if (least !== undefined && most !== undefined) return `${least} to ${most}${unit}`
  return `at ${most === undefined ? 'least' : 'most'} ${last}${unit}`
}

/** The objects in a schema, whose fields the page shows. A union may have several objects. */
export function objectsIn(schema: Schema, schemas: Schemas): Schema[] {
  const { properties, anyOf, oneOf, items, additionalProperties } = resolved(schema, schemas)
  if (properties) return [resolved(schema, schemas)]
  const inner = [...(anyOf ?? oneOf ?? []), ...(items ? [items] : [])]
  if (typeof additionalProperties === 'object') inner.push(additionalProperties)
  return inner.flatMap(one => objectsIn(one, schemas))
}
