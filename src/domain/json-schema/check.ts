import { format as formats } from '@cfworker/json-schema'
import { MAX_ERROR_DETAILS, MAX_FORMAT_LENGTH, MAX_SCHEMA_DEPTH } from '../../limits.ts'
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../json.ts'
import { type Budget, TooCostly } from './budget.ts'
import type { Resource, Schema, SchemaError } from './compile.ts'

/** A place where a value violates a schema. */
export interface Fault {
  /** The fields and indexes that lead to the place. */
  path: (string | number)[]
  keyword: string
  message: string
}

/** Thrown if a schema that applies to the value is invalid. */
export class Unappliable extends Error {
  readonly error: SchemaError

  constructor(error: SchemaError) {
    super(error.message)
    this.error = error
  }
}

/**
 * Finds where a value violates a schema: the first 20 faults, none if it's valid. Throws `Unappliable` if the value
 * reaches a part of the schema that can't be applied, and `TooCostly` if the budget runs out.
 */
export function findFaults(schema: Schema, value: Json, budget: Budget): Fault[] {
  const faults: FoundFault[] = []
  const check = new Check(budget, faults)
  check.apply(schema, value, undefined)
  return faults.map(({ place, ...fault }) => ({ path: pathOf(place), ...fault }))
}

/**
 * A path as its last step and the path before it. That's cheap to record at each fault, and alternatives produce many
 * faults.
 */
type Place = { before: Place; step: string | number } | undefined

type FoundFault = Omit<Fault, 'path'> & { place: Place }

function pathOf(place: Place): Fault['path'] {
  const path: Fault['path'] = []
  for (let at = place; at; at = at.before) path.push(at.step)
  return path.reverse()
}

/** The fields and items that some schema has evaluated, for `unevaluatedProperties` and `unevaluatedItems`. */
interface Seen {
  fields: Set<string>
  items: Set<number>
  /** All items before this index. */
  first: number
}

const newSeen = (): Seen => ({ fields: new Set(), items: new Set(), first: 0 })

/** Avoids closures and generators, because it runs for each of up to a million items. */
class Check {
  readonly #budget: Budget
  /** Undefined if the caller only needs to know whether there are faults. */
  #faults: FoundFault[] | undefined
  #hasFailed = false
  /** Whether the answer is known, so that the rest of the value doesn't have to be checked. */
  #isDone = false
  #place: Place
  /** The enclosing resources, the outermost first. */
  readonly #scope: Resource[] = []
  #depth = 0
  /** Fields of large objects, because several schemas may need them. */
  readonly #fields = new Map<JsonObject, string[]>()

  constructor(budget: Budget, faults: FoundFault[]) {
    this.#budget = budget
    this.#faults = faults
  }

  apply(schema: Schema, value: Json, seenAround: Seen | undefined): void {
    this.#budget.spend(1)
    if (schema.error) throw new Unappliable(schema.error)
    if (schema.isNever) {
      this.#fail('false', 'is not allowed')
      return
    }
    if (++this.#depth > MAX_SCHEMA_DEPTH) throw new TooCostly()
    const isNewResource = this.#scope.at(-1) !== schema.resource
    if (isNewResource) this.#scope.push(schema.resource)
    const needsSeen = schema.unevaluatedProperties || schema.unevaluatedItems
    const seen = seenAround ?? (needsSeen ? newSeen() : undefined)
    this.#applyTypes(schema, value)
    if (schema.isCombined && !this.#isDone) this.#applyInPlace(schema, value, seen)
    if (this.#isDone) {
      // The remaining faults don't matter.
    } else if (typeof value === 'string') this.#applyToText(schema, value)
    else if (typeof value === 'number') this.#applyToNumber(schema, value)
    else if (Array.isArray(value)) this.#applyToList(schema, value, seen)
    else if (isJsonObject(value)) this.#applyToObject(schema, value, seen)
    if (isNewResource) this.#scope.pop()
    this.#depth--
  }

  #fail(keyword: string, message: string, field?: string): void {
    const place = field === undefined ? this.#place : { before: this.#place, step: field }
    this.#add(this.#faults && { place, keyword, message })
  }

  #add(fault: FoundFault | undefined): void {
    this.#hasFailed = true
    if (fault && !this.#isDone) this.#faults?.push(fault)
    this.#isDone = !this.#faults || this.#faults.length >= MAX_ERROR_DETAILS
  }

  /** Whether a value matches a schema. Its faults go only to `faults`. */
  #matches(schema: Schema, value: Json, seen: Seen | undefined, faults?: FoundFault[]): boolean {
    this.#budget.spend(COST.asking)
    const outerFaults = this.#faults
    const hadFailed = this.#hasFailed
    this.#faults = outerFaults && faults
    this.#hasFailed = false
    this.apply(schema, value, seen)
    const isValid = !this.#hasFailed
    this.#faults = outerFaults
    this.#hasFailed = hadFailed
    this.#isDone = false
    return isValid
  }

  #applyWithin(step: string | number, schema: Schema, value: Json): void {
    const before = this.#place
    this.#place = { before, step }
    this.apply(schema, value, undefined)
    this.#place = before
  }

  #applyTypes({ types, constant, choices }: Schema, value: Json): void {
    if (types && !types.some(type => isOfType(value, type)))
      this.#fail('type', `Instance type "${typeOf(value)}" is invalid. Expected "${types.join('", "')}".`)
    if (constant && !this.#isEqual(value, constant.value))
      this.#fail('const', `Instance does not match ${constant.shown}.`)
    if (choices && !choices.scalars.has(value) && !choices.others.some(other => this.#isEqual(value, other)))
      this.#fail('enum', `Instance does not match any of ${choices.shown}.`)
  }

  #isEqual(left: Json, right: Json): boolean {
    this.#budget.spend(1)
    if (left === right) return true
    if (Array.isArray(left) && Array.isArray(right))
      return left.length === right.length && left.every((item, index) => this.#isEqual(item, right[index] ?? null))
    if (!isJsonObject(left) || !isJsonObject(right)) return false
    const fields = this.#fieldsOf(left)
    const others = this.#fieldsOf(right)
    return (
      fields.length === others.length &&
      fields.every(field => Object.hasOwn(right, field) && this.#isEqual(fieldOf(left, field), fieldOf(right, field)))
    )
  }

  /** Applies the other schemas that apply to the same value. */
  #applyInPlace(
    { ref, dynamicRef, allOf = [], anyOf, oneOf, not, ...schema }: Schema,
    value: Json,
    seen: Seen | undefined,
  ) {
    this.#budget.spend(COST.combining)
    if (ref) this.apply(ref, value, seen)
    if (dynamicRef && !this.#isDone) this.apply(this.#dynamic(dynamicRef), value, seen)
    for (const one of allOf) if (!this.#isDone) this.apply(one, value, seen)
    if (anyOf && !this.#isDone) this.#applyChoice('anyOf', anyOf, value, seen)
    if (oneOf && !this.#isDone) this.#applyChoice('oneOf', oneOf, value, seen)
    if (not && !this.#isDone && this.#matches(not, value, undefined))
      this.#fail('not', 'Instance matched "not" schema.')
    if (!schema.if || this.#isDone) return
    const own = seen && newSeen()
    const isTrue = this.#matches(schema.if, value, own)
    if (isTrue) this.#merge(seen, own)
    const chosen = isTrue ? schema.then : schema.else
    if (chosen) this.apply(chosen, value, seen)
  }

  /** The outermost enclosing schema with this dynamic anchor. */
  #dynamic({ anchor, schema }: { anchor: string; schema: Schema }): Schema {
    this.#budget.spend(this.#scope.length)
    for (const { dynamic } of this.#scope) {
      const found = dynamic.get(anchor)
      if (found) return found
    }
    return schema
  }

  #applyChoice(keyword: 'anyOf' | 'oneOf', choices: readonly Schema[], value: Json, seen: Seen | undefined): void {
    const faults: FoundFault[] = []
    let matches = 0
    for (const choice of choices) {
      const own = seen && newSeen()
      if (!this.#matches(choice, value, own, faults)) continue
      matches++
      this.#merge(seen, own)
      // The other schemas in `anyOf` can only evaluate more of the value.
      if (keyword === 'anyOf' && !seen) return
    }
    if (matches === 0) {
      this.#hasFailed = true
      for (const fault of faults) this.#add(fault)
      this.#isDone ||= !this.#faults
    } else if (keyword === 'oneOf' && matches > 1) {
      this.#fail('oneOf', `Instance does not match exactly one subschema (${matches} matches).`)
    }
  }

  #merge(seen: Seen | undefined, own: Seen | undefined): void {
    if (!seen || !own) return
    this.#budget.spend((own.fields.size + own.items.size) * COST.remembering)
    for (const field of own.fields) seen.fields.add(field)
    for (const item of own.items) seen.items.add(item)
    seen.first = Math.max(seen.first, own.first)
  }

  #applyToObject(schema: Schema, value: JsonObject, seen: Seen | undefined): void {
    const { minProperties = 0, maxProperties = Number.POSITIVE_INFINITY, unevaluatedProperties } = schema
    const { dependentRequired = [], dependentSchemas = [] } = schema
    const fields = this.#fieldsOf(value)
    this.#budget.spend(dependentRequired.length + dependentSchemas.length)
    this.#require(schema.required ?? [], value)
    if (fields.length < minProperties)
      this.#fail('minProperties', `Object has too few properties (${fields.length} < ${minProperties}).`)
    if (fields.length > maxProperties)
      this.#fail('maxProperties', `Object has too many properties (${fields.length} > ${maxProperties}).`)
    for (const [field, names] of dependentRequired) if (Object.hasOwn(value, field)) this.#require(names, value)
    for (const [field, one] of dependentSchemas)
      if (!this.#isDone && Object.hasOwn(value, field)) this.apply(one, value, seen)
    for (const field of fields) {
      if (this.#isDone) return
      this.#applyToField(schema, field, fieldOf(value, field), seen)
    }
    if (!unevaluatedProperties) return
    for (const field of fields) {
      if (this.#isDone) return
      if (!seen || seen.fields.has(field)) continue
      this.#budget.spend(COST.remembering)
      seen.fields.add(field)
      this.#applyWithin(field, unevaluatedProperties, fieldOf(value, field))
    }
  }

  #fieldsOf(value: JsonObject): string[] {
    const known = this.#fields.get(value)
    const fields = known ?? Object.keys(value)
    if (!known && fields.length > MANY_FIELDS) this.#fields.set(value, fields)
    this.#budget.spend(fields.length * COST.field)
    return fields
  }

  #require(names: readonly string[], value: JsonObject): void {
    this.#budget.spend(names.length)
    for (const name of names) if (!Object.hasOwn(value, name)) this.#fail('required', 'is required', name)
  }

  #applyToField(schema: Schema, field: string, value: Json, seen: Seen | undefined): void {
    const { properties, patternProperties = [], additionalProperties, propertyNames } = schema
    if (propertyNames) this.#applyWithin(field, propertyNames, field)
    const own = properties?.get(field)
    let isKnown = own !== undefined
    if (own && !this.#isDone) this.#applyWithin(field, own, value)
    for (const { pattern, schema: one } of patternProperties) {
      if (this.#isDone) return
      if (!pattern.test(field, this.#budget)) continue
      isKnown = true
      this.#applyWithin(field, one, value)
    }
    if (!isKnown && additionalProperties && !this.#isDone) this.#applyWithin(field, additionalProperties, value)
    if (!seen || !(isKnown || additionalProperties)) return
    this.#budget.spend(COST.remembering)
    seen.fields.add(field)
  }

  #applyToList(schema: Schema, list: readonly Json[], seen: Seen | undefined): void {
    const { prefixItems = [], items, unevaluatedItems, uniqueItems } = schema
    const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema
    const { length } = list
    if (length > maxItems) this.#fail('maxItems', `Array has too many items (${length} > ${maxItems}).`)
    if (length < minItems) this.#fail('minItems', `Array has too few items (${length} < ${minItems}).`)
    const end = items ? length : Math.min(prefixItems.length, length)
    if (seen) seen.first = Math.max(seen.first, end)
    for (let index = 0; index < end; index++) {
      if (this.#isDone) return
      const one = prefixItems[index] ?? items
      if (one) this.#applyWithin(index, one, list[index] ?? null)
    }
    if (!this.#isDone) this.#applyContains(schema, list, seen)
    if (uniqueItems && !this.#isDone) this.#applyUnique(list)
    if (!unevaluatedItems) return
    for (let index = seen?.first ?? 0; index < length; index++) {
      if (this.#isDone) return
      if (!seen || seen.items.has(index)) continue
      this.#budget.spend(COST.remembering)
      seen.items.add(index)
      this.#applyWithin(index, unevaluatedItems, list[index] ?? null)
    }
  }

  #applyContains(
    { contains, minContains = 1, maxContains = Number.POSITIVE_INFINITY }: Schema,
    list: readonly Json[],
    seen: Seen | undefined,
  ): void {
    if (!contains) return
    let count = 0
    for (let index = 0; index < list.length; index++) {
      if (!this.#matches(contains, list[index] ?? null, undefined)) continue
      count++
      if (seen) {
        this.#budget.spend(COST.remembering)
        seen.items.add(index)
      } else if (maxContains === Number.POSITIVE_INFINITY && count >= minContains) return
    }
    if (count < minContains)
      this.#fail('contains', `Array has too few items that match the schema (${count} < ${minContains}).`)
    if (count > maxContains)
      this.#fail('maxContains', `Array has too many items that match the schema (${count} > ${maxContains}).`)
  }

  #applyUnique(list: readonly Json[]): void {
    // Separate maps, because a string may equal the JSON of a list or an object.
    const [scalars, others] = [new Map<Json, number>(), new Map<string, number>()]
    for (const [index, item] of list.entries()) {
      this.#budget.spend(COST.remembering + (typeof item === 'string' ? item.length * COST.unit : 0))
      const isScalar = typeof item !== 'object' || item === null
      const key = isScalar ? '' : canonicalJson(item, value => this.#budget.spend(costOfWriting(value)))
      const first = isScalar ? scalars.get(item) : others.get(key)
      if (first !== undefined) {
        this.#fail('uniqueItems', `Duplicate items at indexes ${first} and ${index}.`)
        return
      }
      if (isScalar) scalars.set(item, index)
      else others.set(key, index)
    }
  }

  #applyToNumber(schema: Schema, value: number): void {
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
    if (minimum !== undefined && value < minimum) this.#fail('minimum', `${value} is less than ${minimum}.`)
    if (maximum !== undefined && value > maximum) this.#fail('maximum', `${value} is greater than ${maximum}.`)
    if (exclusiveMinimum !== undefined && value <= exclusiveMinimum)
      this.#fail('exclusiveMinimum', `${value} is less than or equal to ${exclusiveMinimum}.`)
    if (exclusiveMaximum !== undefined && value >= exclusiveMaximum)
      this.#fail('exclusiveMaximum', `${value} is greater than or equal to ${exclusiveMaximum}.`)
    if (multipleOf === undefined || (Number.isSafeInteger(value) && value % multipleOf === 0)) return
    this.#budget.spend(COST.division)
    if (!isMultipleOf(value, multipleOf)) this.#fail('multipleOf', `${value} is not a multiple of ${multipleOf}.`)
  }

  #applyToText({ minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern, format }: Schema, value: string): void {
    // A character has one or two units, so most strings don't have to be counted.
    const isCounted = value.length > maxLength || value.length < 2 * minLength
    const length = isCounted ? this.#lengthOf(value) : value.length
    if (length < minLength) this.#fail('minLength', `String is too short (${length} < ${minLength}).`)
    if (length > maxLength) this.#fail('maxLength', `String is too long (${length} > ${maxLength}).`)
    if (pattern && !pattern.test(value, this.#budget)) this.#fail('pattern', 'String does not match pattern.')
    if (format && !this.#hasFormat(value, format)) this.#fail('format', `String does not match format "${format}".`)
  }

  #lengthOf(text: string): number {
    this.#budget.spend(text.length * COST.unit)
    let length = text.length
    for (let index = 0; index < text.length - 1; index++) {
      if ((text.codePointAt(index) ?? 0) > 0xffff) {
        length--
        index++
      }
    }
    return length
  }

  #hasFormat(text: string, name: string): boolean {
    const isOfFormat = FORMATS.has(name) ? formats[name] : undefined
    if (!isOfFormat || text.length > MAX_FORMAT_LENGTH) return true
    this.#budget.spend((name === 'regex' ? COST.regex : COST.format) + text.length * COST.unit)
    return isOfFormat(text)
  }
}

/** The cost, in operations of about 40 ns each, of everything that takes longer than applying an empty schema. */
const COST = {
  /** Applying a schema whose faults are collected separately. */
  asking: 3,
  /** Looking for `$ref`, `allOf`, and other schemas for the same value. */
  combining: 6,
  /** Each field of an object. */
  field: 4,
  /** Adding to a set of up to a million entries. */
  remembering: 10,
  /** Each UTF-16 unit read. */
  unit: 1 / 8,
  format: 15,
  regex: 60,
  /** Dividing numbers whose digits and exponents expand to integers of up to 600 digits. */
  division: 50,
}

const MANY_FIELDS = 1000

/** The cost of writing a value as canonical JSON, without the values inside it. */
const costOfWriting = (value: Json): number =>
  typeof value === 'string' ? 4 + value.length * COST.unit : isJsonObject(value) ? 10 : 3

/** The JSON Schema formats to check. The library's own `url` format isn't one of them: it backtracks without bound. */
const FORMATS: ReadonlySet<string> = new Set([
  'date',
  'time',
  'date-time',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uri',
  'uri-reference',
  'uri-template',
  'uuid',
  'json-pointer',
  'relative-json-pointer',
  'regex',
])

const fieldOf = (value: JsonObject, field: string): Json => value[field] ?? null

const typeOf = (value: Json): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)

const isOfType = (value: Json, type: string): boolean =>
  type === 'integer' ? Number.isInteger(value) : typeOf(value) === type

/**
 * Whether a number is a multiple of another in decimal notation: 0.3 is a multiple of 0.1, though their quotient is
 * 2.9999….
 */
function isMultipleOf(value: number, divisor: number): boolean {
  const [digits, exponent] = decimal(value)
  const [divisorDigits, divisorExponent] = decimal(divisor)
  const shift = exponent - divisorExponent
  return shift >= 0
    ? (digits * 10n ** BigInt(shift)) % divisorDigits === 0n
    : digits % (divisorDigits * 10n ** BigInt(-shift)) === 0n
}

/** A number's digits as an integer, and the power of ten to multiply it by. */
function decimal(value: number): [digits: bigint, exponent: number] {
  const [coefficient = '0', exponent = '0'] = Math.abs(value).toString().split('e')
  const fraction = coefficient.split('.')[1] ?? ''
  return [BigInt(coefficient.replace('.', '')), Number(exponent) - fraction.length]
}
