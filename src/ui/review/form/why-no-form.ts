import { unescapePointerStep } from '../../../domain/json-pointer.ts'
import type { Json } from '../../api/wire.ts'

type JsonObject = { [name: string]: Json }

/** Every field is a component. A form with more fields would be slower than an editor, and too long to read. */
const MAX_FIELDS = 500

/** Why a value can't be edited in a form generated from its schema; undefined if it can. */
export function whyNoForm(schema: JsonObject, value: Json): string | undefined {
  const type = typeNamed(schema, schema)
  if (type === undefined) return "The schema doesn't specify a type"
  if (type !== 'any' && type !== kindOf(value) && !(type === 'number' && kindOf(value) === 'integer')) {
    return `The schema's type, ${type}, doesn't match the output`
  }
  if (hasLostReference(schema)) return "The schema refers to a definition that doesn't exist"
  if (countOf(value, MAX_FIELDS + 1) > MAX_FIELDS) return `The output has more than ${MAX_FIELDS} fields`
  return undefined
}

/** The fields that a form leaves out because their schemas don't describe them. */
export function undescribedFields(schema: JsonObject): string[] {
  const { properties } = schema
  if (!isObject(properties)) return []
  return Object.entries(properties).flatMap(([name, field]) =>
    isObject(field) && typeNamed(field, schema) !== undefined ? [] : [name],
  )
}

/** Whether any `$ref` points outside the schema. Also searches values that aren't schemas. */
function hasLostReference(root: JsonObject): boolean {
  const open: Json[] = [root]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue
    if (isObject(next) && typeof next.$ref === 'string' && !isFound(root, next.$ref)) return true
    open.push(...Object.values(next))
  }
  return false
}

/** Whether a reference (a JSON pointer as a URI fragment, RFC 6901, section 6) points to a place in the schema. */
function isFound(root: JsonObject, reference: string): boolean {
  if (!reference.startsWith('#')) return false
  const steps = reference
    .slice(1)
    .split('/')
    .slice(1)
    .map(span => stepOf(span))
  const place = steps.reduce<Json | undefined>(
    (at, step) =>
      typeof at === 'object' && at !== null ? Object.entries(at).find(([name]) => name === step)?.[1] : undefined,
    root,
  )
  return place !== undefined
}

function stepOf(step: string): string {
  try {
    return unescapePointerStep(decodeURIComponent(step))
  } catch {
    return step
  }
}

const SHAPES = ['anyOf', 'oneOf', 'allOf', 'enum', 'const', '$ref', 'if'] as const

/** The type that a schema names; `any` if it describes its values in another way. */
function typeNamed(schema: JsonObject, root: JsonObject): string | undefined {
  const { type, $ref } = schema
  if (typeof type === 'string') return type
  if (isObject(schema.properties)) return 'object'
  if (Array.isArray(type)) return 'any'
  if (typeof $ref === 'string' && $ref === '#' && schema === root) return undefined
  return SHAPES.some(name => Object.hasOwn(schema, name)) ? 'any' : undefined
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function kindOf(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}

/** The number of scalars in a value, counted up to a limit. */
function countOf(value: Json, limit: number): number {
  const open: Json[] = [value]
  let found = 0
  for (let next = open.pop(); next !== undefined && found + open.length < limit; next = open.pop()) {
    if (typeof next === 'object' && next !== null) open.push(...Object.values(next).slice(0, limit))
    else found += 1
  }
  return found + open.length
}
