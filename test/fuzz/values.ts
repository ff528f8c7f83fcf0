import type { Schema } from '@cfworker/json-schema'
import * as fc from 'fast-check'
import { isAbout, meaningsOf } from './memory.ts'

/** A placeholder for a string from an earlier response, which exists only during the run. */
export class Known {
  readonly text: { meanings: readonly string[]; schema: Schema; nth: number; otherwise: string }

  /** Stands in for the `nth` known string that has one of the meanings and fits the schema, or for `otherwise`. */
  constructor(text: Known['text']) {
    this.text = text
  }
}

/** A value in the given percentage of cases, and otherwise undefined. */
export const sometimes = <T>(percent: number, values: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof(
    { withCrossShrink: true },
    { arbitrary: fc.constant(undefined), weight: 100 - percent },
    { arbitrary: values, weight: percent },
  )

/** Strings that code, SQL, globs, JSON, URLs, headers, terminals, or people may misread. */
const ODD_TEXTS = [
  ...['', ' ', '0', '-1', '1e9', 'null', '__proto__', 'constructor', 'toString', 'hasOwnProperty', '.', '..', 'a.b'],
  ...["'; drop table traces; --", '" or 1=1', '%', '_', '*?[a-z]', '$', '$.a[0]', '\\', '"', '%2F', '{{7*7}}'],
  ...['\u0000', 'a\u0000b', '\ud800', 'x\udfff', '\ufeff', '\u202e', 'é😀e\u0301', '<script>', '\r\nx-injected: 1'],
]
const oddText = fc.constantFrom(...ODD_TEXTS)
export const oddName = fc.oneof(oddText, fc.string({ maxLength: 8 }))

const objectOf = (names: fc.Arbitrary<string>, values: fc.Arbitrary<unknown>) =>
  fc.array(fc.tuple(names, values), { maxLength: 4 }).map(fields => Object.fromEntries(fields))

/** Values over 8 KiB, which are stored in R2, and one over 64 KiB. */
const LARGE = ['x'.repeat(9000), '😀'.repeat(3000), { a: 'y'.repeat(9000) }, 'z'.repeat(70_000)]

const { json } = fc.letrec<{ json: unknown }>(tie => ({
  json: fc.oneof(
    { withCrossShrink: true, depthSize: 'small' },
    { arbitrary: fc.constantFrom(0, 1, 0.5, -1, 2 ** 53, 1e308, true, false, null), weight: 2 },
    { arbitrary: oddText, weight: 2 },
    { arbitrary: fc.oneof(fc.string({ unit: 'binary' }), fc.integer(), fc.double({ noNaN: true })), weight: 2 },
    { arbitrary: fc.array(tie('json'), { maxLength: 4 }), weight: 2 },
    { arbitrary: objectOf(oddName, tie('json')), weight: 3 },
    { arbitrary: fc.constantFrom(...LARGE), weight: 1 },
  ),
}))

const nested = (depth: number): unknown => JSON.parse(`${'[{"a":'.repeat(depth / 2)}0${'}]'.repeat(depth / 2)}`)

/** Numbers that JSON can express but `JSON.stringify` never writes, for `spelled`. */
const SPELLINGS = ['<1e400>', '<-1e400>', '<-0>', '<1.0>', '<123456789012345678901234567890>']

/** Values that no endpoint expects. */
export const hostile: fc.Arbitrary<unknown> = fc.oneof(
  { arbitrary: json, weight: 8 },
  { arbitrary: fc.constantFrom(...SPELLINGS), weight: 2 },
  { arbitrary: fc.constantFrom(126, 128, 130, 1002).map(nested), weight: 1 },
  { arbitrary: fc.constantFrom('x'.repeat(300_000), '\u0000'.repeat(20_000)), weight: 1 },
)

/** A value as JSON, with `SPELLINGS` as numbers. */
export const spelled = (value: unknown): string => JSON.stringify(value).replace(/"<(-?[\d.e]+)>"/g, '$1')

/** The field or parameter that the values are for ('' for a whole body), and the operation's path up to that point. */
interface Place {
  name: string
  path: string
}

/** Values that match a schema. Throws if the schema has a type that isn't supported here. */
export function valuesOf(schema: Schema | boolean | Schema[], place: Place): fc.Arbitrary<unknown> {
  if (typeof schema === 'boolean' || Array.isArray(schema)) return json
  if ('const' in schema) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  const alternatives = schema.anyOf ?? schema.oneOf
  if (alternatives) return fc.oneof(...alternatives.map(each => valuesOf(each, place)))
  const { minimum: min = Number.MIN_SAFE_INTEGER, maximum: max = Number.MAX_SAFE_INTEGER } = schema
  switch (schema.type) {
    case undefined:
      return json
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.integer({ min, max })
    case 'number':
      return fc.double({ min, max, noNaN: true })
    case 'string':
      return knownOr(textsOf(schema), schema, place)
    case 'array':
      return arraysOf(schema, place)
    case 'object':
      return objectsOf(schema, place)
    default:
      throw new Error(`unsupported schema: ${JSON.stringify(schema)}`)
  }
}

function textsOf({ format, pattern, minLength = 0, maxLength = 1000 }: Schema): fc.Arbitrary<string> {
  if (format === 'uuid') return fc.uuid()
  if (format === 'date-time') return times
  if (format === 'uri') return fc.uuid().map(id => `https://hooks.invalid/${id}`)
  const fits = (text: string) => text.isWellFormed() && [...text].length >= minLength && [...text].length <= maxLength
  if (pattern) return fc.stringMatching(new RegExp(pattern)).filter(fits)
  return fc.oneof(
    { arbitrary: fc.string({ minLength, maxLength, unit: 'binary' }), weight: 4 },
    { arbitrary: fc.constantFrom(...ODD_TEXTS.filter(fits), 'x'.repeat(minLength)), weight: 2 },
    { arbitrary: fc.constant('x'.repeat(maxLength)), weight: 1 },
  )
}

/** A few fixed times, so that some times are equal, and arbitrary other times. */
const times = fc.oneof(
  fc.nat(3).map(second => `2026-11-21T09:30:0${second}.000Z`),
  fc
    .date({ min: new Date('0000-01-01'), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true })
    .map(date => date.toISOString()),
)

/**
 * Strings, or placeholders for known strings. Most strings are known, but an operation's own resource mostly gets new
 * strings.
 */
function knownOr(texts: fc.Arbitrary<string>, schema: Schema, { name, path }: Place): fc.Arbitrary<unknown> {
  const percent = path.endsWith('/') ? 97 : isAbout(name, path) ? 30 : 85
  const known = fc
    .tuple(sometimes(25, fc.nat(20)), texts)
    .map(([nth = 0, otherwise]) => new Known({ meanings: meaningsOf(name, path), schema, nth, otherwise }))
  return fc.oneof({ arbitrary: texts, weight: 100 - percent }, { arbitrary: known, weight: percent })
}

const arraysOf = ({ items = true, minItems = 0, maxItems = minItems + 5 }: Schema, place: Place) =>
  fc.array(valuesOf(items, place), { minLength: minItems, maxLength: Math.min(maxItems, minItems + 5) })

function objectsOf({ properties, required = [], propertyNames, additionalProperties }: Schema, place: Place) {
  if (properties) {
    const fields = Object.entries(properties).map(([name, schema]) => {
      const values = valuesOf(schema, { ...place, name })
      return [name, required.includes(name) ? values : sometimes(40, values)]
    })
    return fc.record(Object.fromEntries(fields))
  }
  const beginnings = propertyNames?.pattern ? fc.stringMatching(new RegExp(propertyNames.pattern)) : fc.constant('')
  const names = fc
    .tuple(beginnings, oddName)
    .map(parts => parts.join(''))
    // If the document's checker has to check the names, it can't handle any other names.
    .filter(name => !propertyNames?.minLength || (name.length >= propertyNames.minLength && name.isWellFormed()))
  return objectOf(names, valuesOf(additionalProperties ?? true, { ...place, name: '' }))
}
