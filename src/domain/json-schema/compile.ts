import { MAX_CHOICES_LENGTH, MAX_PATTERN_STATES, MAX_SCHEMA_APPLICATIONS, MAX_SCHEMA_CHAIN } from '../../limits.ts'
import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { unescapePointerStep } from '../json-pointer.ts'
import { compilePattern, type Pattern, PatternFault } from './pattern.ts'

/**
 * An error that keeps a schema from being applied, and its place in the schema: `properties.answer.pattern`, '' for the
 * whole schema.
 */
export interface SchemaError {
  path: string
  message: string
}

/** A whole document, or a part with its own `$id`. References and dynamic anchors are resolved in it. */
export interface Resource {
  /** Its URI, without a fragment. */
  base: string
  value: Json
  anchors: Map<string, Json>
  /** By `$dynamicAnchor`. The key '' is the root with `$recursiveAnchor`. */
  dynamic: Map<string, Schema>
}

/** A compiled schema: its checked keywords, with the schemas that they contain already compiled. */
export interface Schema {
  place: Place
  resource: Resource
  /** Why it can't be applied. */
  error?: SchemaError
  /** Set for the schema `false`. */
  isNever?: true
  /** Whether keywords apply other schemas to the same value. */
  isCombined?: true
  types?: readonly string[]
  constant?: { value: Json; shown: string }
  choices?: { scalars: ReadonlySet<Json>; others: readonly Json[]; shown: string }
  ref?: Schema
  dynamicRef?: { anchor: string; schema: Schema }
  not?: Schema
  anyOf?: readonly Schema[]
  allOf?: readonly Schema[]
  oneOf?: readonly Schema[]
  if?: Schema
  then?: Schema
  else?: Schema
  required?: readonly string[]
  properties?: ReadonlyMap<string, Schema>
  patternProperties?: readonly { pattern: Pattern; schema: Schema }[]
  additionalProperties?: Schema
  unevaluatedProperties?: Schema
  propertyNames?: Schema
  minProperties?: number
  maxProperties?: number
  dependentRequired?: readonly (readonly [field: string, required: readonly string[]])[]
  dependentSchemas?: readonly (readonly [field: string, schema: Schema])[]
  prefixItems?: readonly Schema[]
  items?: Schema
  unevaluatedItems?: Schema
  contains?: Schema
  minContains?: number
  maxContains?: number
  minItems?: number
  maxItems?: number
  uniqueItems?: boolean
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  exclusiveMaximum?: number
  multipleOf?: number
  minLength?: number
  maxLength?: number
  pattern?: Pattern
  format?: string
}

/**
 * A schema's place in its document, as a list from the inside out. Its path is written only if it's needed, which is
 * rare.
 */
type Place = { outer: Place; step: string } | undefined

/** A compiled schema, and every error that keeps it or parts of it from being applied. */
export interface Compiled {
  schema: Schema
  errors: readonly SchemaError[]
}

/**
 * Compiles a JSON Schema of draft 4, 6, 7, 2019-09, or 2020-12, as `$schema` says. If there's no `$schema`, the draft
 * is 2020-12. An error in a part only keeps that part from being applied. References resolve in `document`: the schema
 * itself, or the document that contains it.
 */
export function compileSchema(value: Json, document: Json = value): Compiled {
  const compiler = new Compiler(document)
  const schema = compiler.compile(value, compiler.root, undefined)
  compiler.resolve()
  compiler.checkChains()
  return { schema, errors: compiler.errors }
}

/** The drafts whose keywords differ. Before 2019-09, siblings of `$ref` are ignored. */
type Draft = '4' | '7' | '2019-09' | '2020-12'

const DRAFTS: ReadonlyMap<string, Draft> = new Map([
  ['json-schema.org/draft-04/schema', '4'],
  ['json-schema.org/draft-06/schema', '7'],
  ['json-schema.org/draft-07/schema', '7'],
  ['json-schema.org/draft/2019-09/schema', '2019-09'],
  ['json-schema.org/draft/2020-12/schema', '2020-12'],
])

const draftOf = ($schema: Json | undefined): Draft | undefined =>
  $schema === undefined
    ? '2020-12'
    : typeof $schema === 'string'
      ? DRAFTS.get($schema.replace(/^https?:\/\//, '').replace(/#$/, ''))
      : undefined

/** The base URI of a document without an `$id`. */
const NO_BASE = 'schema://document/'

class Compiler {
  readonly errors: SchemaError[] = []
  readonly root: Resource
  readonly #draft: Draft
  readonly #schemas = new Map<object, Schema>()
  readonly #resources = new Map<string, Resource>()
  readonly #references: { from: Schema; keyword: string; uri: string }[] = []
  #states = 0

  constructor(document: Json) {
    const $schema = isJsonObject(document) ? document.$schema : undefined
    const draft = draftOf($schema)
    // Still compiled as the newest draft: schemas stored before this check existed must keep working as before.
    if (!draft) this.errors.push({ path: '$schema', message: 'is not the URI of a known draft of JSON Schema' })
    this.#draft = draft ?? '2020-12'
    this.root = { base: NO_BASE, value: document, anchors: new Map(), dynamic: new Map() }
    this.#resources.set(NO_BASE, this.root)
    this.compile(document, this.root, undefined)
  }

  /** Compiles the schema at a place in the document. Each value is compiled once. */
  compile(value: Json, around: Resource, place: Place): Schema {
    if (value === true) return { place, resource: around }
    if (value === false) return { place, resource: around, isNever: true }
    const known = isJsonObject(value) ? this.#schemas.get(value) : undefined
    if (known) return known
    const schema: Schema = { place, resource: around }
    if (!isJsonObject(value)) {
      this.#fail(schema, 'must be a schema: an object, true, or false')
      return schema
    }
    this.#schemas.set(value, schema)
    const isReference = '$ref' in value && (this.#draft === '4' || this.#draft === '7')
    if (!isReference) this.#identify(schema, value)
    if (COMBINING.some(keyword => Object.hasOwn(value, keyword))) schema.isCombined = true
    for (const [keyword, given] of Object.entries(value)) {
      if (isReference && keyword !== '$ref' && keyword !== '$defs' && keyword !== 'definitions') continue
      const message = Object.hasOwn(KEYWORDS, keyword) ? this.#read(schema, keyword, given, value) : undefined
      if (message !== undefined) this.#fail(schema, message, keyword)
    }
    return schema
  }

  /** Resolves references, which may compile more of the document. */
  resolve(): void {
    for (const { from, keyword, uri } of this.#references) {
      const found = this.#find(uri, from.resource.base)
      if (!found) this.#fail(from, 'refers to nothing in this schema', keyword)
      else if (keyword === '$ref') from.ref = found.schema
      else {
        const { anchor, schema } = found
        const isDynamic = anchor !== undefined && schema.resource.dynamic.get(anchor) === schema
        from.dynamicRef = { anchor: isDynamic ? anchor : NO_ANCHOR, schema }
      }
    }
  }

  /** Finds schemas that apply themselves to the same value endlessly or apply too many schemas to one value. */
  checkChains(): void {
    const done = new Map<Schema, { count: number; length: number }>()
    const open = new Set<Schema>()
    for (const first of this.#schemas.values()) {
      const stack = [{ schema: first, inner: this.#applied(first), at: 0 }]
      for (let top = stack.at(-1); top; top = stack.at(-1)) {
        open.add(top.schema)
        const next = done.has(top.schema) ? undefined : top.inner[top.at++]
        if (!next) {
          if (!done.has(top.schema)) done.set(top.schema, this.#measure(top.schema, top.inner, done))
          open.delete(top.schema)
          stack.pop()
        } else if (open.has(next)) {
          this.#fail(next, 'applies itself to the same value endlessly')
          done.set(next, { count: 1, length: 1 })
        } else if (!done.has(next)) {
          stack.push({ schema: next, inner: this.#applied(next), at: 0 })
        }
      }
    }
  }

  #measure(schema: Schema, applied: readonly Schema[], done: ReadonlyMap<Schema, { count: number; length: number }>) {
    let [count, length] = [1, 1]
    for (const inner of applied) {
      const measured = done.get(inner)
      count += measured?.count ?? 0
      length = Math.max(length, 1 + (measured?.length ?? 0))
    }
    if (count <= MAX_SCHEMA_APPLICATIONS && length <= MAX_SCHEMA_CHAIN) return { count, length }
    const message =
      count > MAX_SCHEMA_APPLICATIONS
        ? `applies more than ${MAX_SCHEMA_APPLICATIONS} schemas to one value`
        : `applies more than ${MAX_SCHEMA_CHAIN} schemas within each other to one value`
    this.#fail(schema, message)
    return { count: 1, length: 1 }
  }

  /** The schemas that a schema applies to the same value. */
  #applied(schema: Schema): readonly Schema[] {
    if (schema.error || !(schema.isCombined || schema.dependentSchemas)) return NONE
    const { ref, dynamicRef, not, anyOf = [], allOf = [], oneOf = [], dependentSchemas = [] } = schema
    const named = dynamicRef
      ? [...this.#resources.values()].flatMap(({ dynamic }) => dynamic.get(dynamicRef.anchor) ?? [])
      : []
    const single = [ref, dynamicRef?.schema, not, schema.if, schema.then, schema.else].filter(one => one !== undefined)
    return [...single, ...anyOf, ...allOf, ...oneOf, ...dependentSchemas.map(([, one]) => one), ...named]
  }

  /** Registers a schema's ids and anchors. */
  #identify(schema: Schema, value: JsonObject): void {
    const id = value[this.#draft === '4' ? 'id' : '$id']
    if (typeof id === 'string' && !id.startsWith('#')) {
      const base = urlOf(id, schema.resource.base)
      if (base === undefined) this.#fail(schema, 'is not a URI', '$id')
      else {
        schema.resource = { base: base.split('#')[0] ?? '', value, anchors: new Map(), dynamic: new Map() }
        this.#resources.set(schema.resource.base, schema.resource)
      }
    } else if (typeof id === 'string') schema.resource.anchors.set(id.slice(1), value)
    const { $anchor, $dynamicAnchor, $recursiveAnchor } = value
    if (typeof $anchor === 'string') schema.resource.anchors.set($anchor, value)
    if (typeof $dynamicAnchor === 'string') {
      schema.resource.anchors.set($dynamicAnchor, value)
      schema.resource.dynamic.set($dynamicAnchor, schema)
    }
    if ($recursiveAnchor === true && schema.resource.value === value) schema.resource.dynamic.set('', schema)
  }

  #find(uri: string, base: string): { schema: Schema; anchor: string | undefined } | undefined {
    const url = urlOf(uri, base)
    const [address = '', fragment = ''] = url?.split('#') ?? []
    const resource = this.#resources.get(address)
    const name = decoded(fragment)
    if (!resource || name === undefined) return undefined
    if (name !== '' && !name.startsWith('/')) {
      const value = resource.anchors.get(name)
      return value === undefined ? undefined : { schema: this.compile(value, resource, undefined), anchor: name }
    }
    let place: { value: Json; within: Resource; at: Place } | undefined = {
      value: resource.value,
      within: resource,
      at: this.#placeOf(resource),
    }
    for (const step of name.split('/').slice(1)) {
      place = this.#stepInto(place, unescapePointerStep(step))
      if (!place) return undefined
    }
    return { schema: this.compile(place.value, place.within, place.at), anchor: name === '' ? '' : undefined }
  }

  #stepInto({ value, within, at }: { value: Json; within: Resource; at: Place }, step: string) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    const inner: Json = Reflect.get(value, step)
    const known = isJsonObject(inner) ? this.#schemas.get(inner) : undefined
    return { value: inner, within: known?.resource ?? within, at: { outer: at, step } }
  }

  #placeOf({ value }: Resource): Place {
    return isJsonObject(value) ? this.#schemas.get(value)?.place : undefined
  }

  #fail(schema: Schema, message: string, ...steps: string[]): void {
    const place = steps.reduce<Place>((outer, step) => ({ outer, step }), schema.place)
    const error = { path: pathOf(place), message }
    schema.error ??= error
    if (this.errors.length < MAX_ERRORS) this.errors.push(error)
  }

  /** Reads one keyword. Returns an error message if it's invalid. */
  #read(schema: Schema, keyword: string, given: Json, all: JsonObject): string | undefined {
    const place = (step?: string | number): Place => {
      const at = { outer: schema.place, step: keyword }
      return step === undefined ? at : { outer: at, step: String(step) }
    }
    const inner = (value: Json, step?: string | number) => this.compile(value, schema.resource, place(step))
    const list = (values: readonly Json[]) => values.map(inner)
    switch (KEYWORDS[keyword]) {
      case 'schema':
        Object.assign(schema, { [keyword]: inner(given) })
        return undefined
      case 'schemas':
        if (!Array.isArray(given) || given.length === 0) return 'must be a list of at least one schema'
        Object.assign(schema, { [keyword]: list(given) })
        return undefined
      case 'definitions':
        if (!isJsonObject(given)) return 'must be an object of schemas'
        for (const [name, value] of Object.entries(given)) inner(value, name)
        return undefined
      case 'count':
        if (typeof given !== 'number' || !Number.isInteger(given) || given < 0)
          return 'must be a whole number, 0 or more'
        Object.assign(schema, { [keyword]: given })
        return undefined
      case 'number':
        if (typeof given !== 'number') return 'must be a number'
        Object.assign(schema, { [keyword]: given })
        return undefined
      case 'boolean':
        if (typeof given !== 'boolean') return 'must be true or false'
        Object.assign(schema, { [keyword]: given })
        return undefined
      case 'text':
        if (typeof given !== 'string') return 'must be a string'
        Object.assign(schema, { [keyword]: given })
        return undefined
      case 'reference':
        if (typeof given !== 'string') return 'must be a string'
        this.#references.push({ from: schema, keyword, uri: given })
        return undefined
      default:
        return this.#readOwn(schema, keyword, given, { all, inner, list })
    }
  }

  /** Reads a keyword that has its own rules. */
  #readOwn(
    schema: Schema,
    keyword: string,
    given: Json,
    {
      all,
      inner,
      list,
    }: {
      all: JsonObject
      inner: (value: Json, step?: string | number) => Schema
      list: (values: readonly Json[]) => Schema[]
    },
  ): string | undefined {
    switch (keyword) {
      case 'type': {
        const types = Array.isArray(given) ? given : [given]
        if (types.length === 0 || !types.every(type => typeof type === 'string' && TYPES.includes(type)))
          return `must be one of ${TYPES.join(', ')}, or a list of them`
        schema.types = types.filter(type => typeof type === 'string')
        return undefined
      }
      case 'const':
        schema.constant = { value: given, shown: shortJson(given) }
        return undefined
      case 'enum': {
        if (!Array.isArray(given)) return 'must be a list'
        const isScalar = (value: Json) => typeof value !== 'object' || value === null
        const scalars = new Set(given.filter(isScalar))
        schema.choices = { scalars, others: given.filter(value => !isScalar(value)), shown: shortJson(given) }
        return undefined
      }
      case 'multipleOf':
        if (typeof given !== 'number' || given <= 0) return 'must be a number above 0'
        schema.multipleOf = given
        return undefined
      case 'minimum':
      case 'maximum': {
        if (typeof given !== 'number') return 'must be a number'
        const exclusive = keyword === 'minimum' ? 'exclusiveMinimum' : 'exclusiveMaximum'
        schema[this.#draft === '4' && all[exclusive] === true ? exclusive : keyword] = given
        return undefined
      }
      case 'exclusiveMinimum':
      case 'exclusiveMaximum':
        if (this.#draft === '4') return typeof given === 'boolean' ? undefined : 'must be true or false in draft 4'
        if (typeof given !== 'number') return 'must be a number'
        schema[keyword] = given
        return undefined
      case 'pattern': {
        const pattern = this.#pattern(given)
        if (typeof pattern === 'string') return pattern
        schema.pattern = pattern
        return undefined
      }
      case 'required': {
        const required = textsIn(given)
        if (!required) return 'must be a list of strings'
        schema.required = required
        return undefined
      }
      case 'properties':
        if (!isJsonObject(given)) return 'must be an object of schemas'
        schema.properties = new Map(Object.entries(given).map(([name, value]) => [name, inner(value, name)]))
        return undefined
      case 'patternProperties': {
        if (!isJsonObject(given)) return 'must be an object of schemas'
        schema.patternProperties = Object.entries(given).flatMap(([source, value]) => {
          const pattern = this.#pattern(source)
          if (typeof pattern !== 'string') return { pattern, schema: inner(value, source) }
          this.#fail(schema, pattern, keyword, source)
          return []
        })
        return undefined
      }
      case 'dependentRequired':
      case 'dependentSchemas':
      case 'dependencies':
        return this.#readDependencies(schema, keyword, given, inner)
      case 'items':
        if (Array.isArray(given)) schema.prefixItems = list(given)
        else schema.items = inner(given)
        return undefined
      case 'additionalItems':
        // Ignored if `items` is one schema for all items.
        if (Array.isArray(all.items)) schema.items = inner(given)
        return undefined
      default:
        return undefined
    }
  }

  #readDependencies(
    schema: Schema,
    keyword: string,
    given: Json,
    inner: (value: Json, step: string) => Schema,
  ): string | undefined {
    if (!isJsonObject(given)) return 'must be an object'
    const required: [string, readonly string[]][] = []
    const schemas: [string, Schema][] = []
    for (const [field, value] of Object.entries(given)) {
      const names = keyword === 'dependentSchemas' ? undefined : textsIn(value)
      if (names) required.push([field, names])
      else if (keyword === 'dependentRequired') return 'must be an object of lists of strings'
      else schemas.push([field, inner(value, field)])
    }
    schema.dependentRequired = [...(schema.dependentRequired ?? []), ...required]
    schema.dependentSchemas = [...(schema.dependentSchemas ?? []), ...schemas]
    return undefined
  }

  /** A compiled pattern, or an error message. */
  #pattern(source: Json): Pattern | string {
    if (typeof source !== 'string') return 'must be a string'
    try {
      return compilePattern(source, () => {
        if (++this.#states > MAX_PATTERN_STATES)
          throw new PatternFault(`is too costly: all patterns together have more than ${MAX_PATTERN_STATES} states`)
      })
    } catch (error) {
      if (error instanceof PatternFault) return error.message
      throw error
    }
  }
}

const NONE: readonly Schema[] = []
/** A name that no anchor can have. */
const NO_ANCHOR = '#'
/** The maximum number of errors to keep. A response shows fewer. */
const MAX_ERRORS = 100

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']

const COMBINING = ['$ref', '$dynamicRef', '$recursiveRef', 'allOf', 'anyOf', 'oneOf', 'not', 'if']

/** How to read each keyword. Other keywords don't restrict values. */
const KEYWORDS: Readonly<Record<string, string>> = {
  $id: 'text',
  $anchor: 'text',
  $dynamicAnchor: 'text',
  $ref: 'reference',
  $dynamicRef: 'reference',
  $recursiveRef: 'reference',
  $defs: 'definitions',
  definitions: 'definitions',
  not: 'schema',
  if: 'schema',
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema's word, not a promise
  then: 'schema',
  else: 'schema',
  anyOf: 'schemas',
  allOf: 'schemas',
  oneOf: 'schemas',
  prefixItems: 'schemas',
  additionalProperties: 'schema',
  unevaluatedProperties: 'schema',
  propertyNames: 'schema',
  unevaluatedItems: 'schema',
  contains: 'schema',
  minContains: 'count',
  maxContains: 'count',
  minItems: 'count',
  maxItems: 'count',
  minProperties: 'count',
  maxProperties: 'count',
  minLength: 'count',
  maxLength: 'count',
  uniqueItems: 'boolean',
  format: 'text',
  type: 'own',
  const: 'own',
  enum: 'own',
  multipleOf: 'own',
  minimum: 'own',
  maximum: 'own',
  exclusiveMinimum: 'own',
  exclusiveMaximum: 'own',
  pattern: 'own',
  required: 'own',
  properties: 'own',
  patternProperties: 'own',
  dependentRequired: 'own',
  dependentSchemas: 'own',
  dependencies: 'own',
  items: 'own',
  additionalItems: 'own',
}

const shortJson = (value: Json): string => {
  const json = JSON.stringify(value)
  return json.length > MAX_CHOICES_LENGTH ? `${json.slice(0, MAX_CHOICES_LENGTH)}…` : json
}

/** The list's strings, or undefined if it contains anything else. */
const textsIn = (value: Json): string[] | undefined => {
  if (!Array.isArray(value)) return undefined
  const texts = value.filter(item => typeof item === 'string')
  return texts.length === value.length ? texts : undefined
}

function pathOf(place: Place): string {
  const steps: string[] = []
  for (let at = place; at; at = at.outer) steps.push(at.step)
  return steps.reverse().join('.')
}

const urlOf = (reference: string, base: string): string | undefined => URL.parse(reference, base)?.href

function decoded(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return undefined
  }
}
