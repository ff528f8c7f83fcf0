import * as v from 'valibot'
import { isUuid } from '../domain/ids.ts'
import {
  findJsonFault,
  isJsonObject,
  type Json,
  type JsonObject,
  type JsonText,
  type WrittenJson,
} from '../domain/json.ts'
import { utf8Length } from '../domain/text.ts'
import { MAX_EMAIL_LENGTH, MAX_JSON_DEPTH, MAX_OBSERVATION_BYTES } from '../limits.ts'
import { tooLarge } from './errors.ts'

/*
 * The building blocks of wire schemas in both families of endpoints. Their messages complete the sentence that the
 * field's path begins: "timestamp: must be ...".
 */

/** Adds the JSON Schema that the OpenAPI document shows for a valibot item. */
const documented = <Item extends object>(item: Item, jsonSchema: Record<string, unknown>) => ({
  ...item,
  jsonSchema,
})

/** Adds the description that the OpenAPI document shows for a schema. */
export const described = <Schema extends v.GenericSchema>(schema: Schema, description: string) =>
  v.pipe(schema, v.metadata({ description }))

/** Parses with `schema`, but the OpenAPI document shows `shown`. */
export const shownAs = <Schema extends object>(schema: Schema, shown: v.GenericSchema<unknown, unknown>) => ({
  ...schema,
  shown,
})

/** An object with the schema's fields. On its own, Valibot accepts a list as an object without fields. */
export const object = <Fields extends v.ObjectEntries>(
  schema: v.ObjectSchema<Fields, undefined> | v.StrictObjectSchema<Fields, undefined>,
) => v.pipe(shownAs(v.custom<v.InferInput<typeof schema>>(isJsonObject, 'must be an object'), schema), schema)

/** An object with any keys. On its own, Valibot accepts lists, and drops keys that are special in JavaScript. */
export const record = <Key extends v.GenericSchema<string, string>, Value extends v.GenericSchema>(
  key: Key,
  value: Value,
) => {
  const schema = v.record(key, value)
  return v.pipe(
    shownAs(v.custom<v.InferInput<typeof schema>>(isJsonObject, 'must be an object'), schema),
    v.check(
      object => !DROPPED_KEYS.some(name => Object.hasOwn(object, name)),
      `must not have a field named ${DROPPED_KEYS.join(', ')}`,
    ),
    schema,
  )
}

const DROPPED_KEYS = ['__proto__', 'prototype', 'constructor']

/** A well-formed string of `min` to `max` characters (code points, as JSON Schema counts them). */
export const text = (min: number, max: number) =>
  v.pipe(
    v.string(),
    v.check(value => value.isWellFormed(), "contains half of a surrogate pair, which can't be encoded"),
    characters(min, max),
  )

function characters(min: number, max: number) {
  const message = min === 0 ? `must have at most ${max} characters` : `must have ${min} to ${max} characters`
  const check = v.check<string, string>(value => hasLength(value, min, max), message)
  return documented(check, { minLength: min, maxLength: max })
}

function hasLength(value: string, min: number, max: number): boolean {
  if (value.length < min || value.length > 2 * max) return false
  const length = value.length <= max ? value.length : [...value].length
  return length <= max
}

/** A well-formed string of 1 to `maxBytes` bytes of UTF-8. */
export const textOfBytes = (maxBytes: number) =>
  v.pipe(
    text(1, maxBytes),
    v.check(value => utf8Length(value) <= maxBytes, `must have at most ${maxBytes} bytes`),
    v.metadata({ description: `At most ${maxBytes} bytes of UTF-8` }),
  )

/** An object of at most `maxBytes` bytes as JSON. */
export const objectOfBytes = (maxBytes: number) =>
  v.pipe(
    JsonObjectValue,
    v.check(value => utf8Length(JSON.stringify(value)) <= maxBytes, `must have at most ${maxBytes} bytes as JSON`),
    v.metadata({ description: `At most ${maxBytes} bytes as JSON` }),
  )

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** A time in the form `YYYY-MM-DDTHH:mm:ss.sssZ` that is a real date. Parses to milliseconds since 1970. */
export const timestamp = (description: string) =>
  v.pipe(
    v.string(),
    documented(v.check(isTimestamp, 'must be a valid time in the form YYYY-MM-DDTHH:mm:ss.sssZ'), {
      format: 'date-time',
      pattern: TIMESTAMP.source,
    }),
    // Metadata must come before the transformation, because the input schema leaves out whatever follows.
    v.metadata({ description, examples: ['2026-11-21T09:30:00.000Z'] }),
    v.transform(value => Date.parse(value)),
  )

export const Timestamp = timestamp('UTC, with milliseconds')

/** `Date` turns February 30 into March 2, and 24:00 into the next day, so compare its day with the day in the text. */
function isTimestamp(value: string): boolean {
  return TIMESTAMP.test(value) && new Date(value).getUTCDate() === Number(value.slice(8, 10))
}

/** A UUID in upper or lower case. Parses to lower case, so that equal ids are equal strings. */
export const uuid = (description?: string) =>
  v.pipe(
    v.string(),
    documented(v.check(isUuid, 'must be a UUID'), { format: 'uuid' }),
    v.metadata({ ...(description && { description }), examples: ['7c5be9e2-5a6a-4a35-b8c9-2f1d6a7f0c11'] }),
    v.transform(value => value.toLowerCase()),
  )

export const Uuid = uuid()

/** Any JSON value that can be stored and returned unchanged. */
export const JsonValue = v.pipe(
  v.custom<Json>(() => true),
  whole<Json>(),
)

/**
 * A value to store. Parses to its JSON. A value that is too large causes a 413, which takes precedence over errors in
 * other fields.
 */
export const jsonPayload = (tooLargeMessage: string) =>
  v.pipe(
    JsonValue,
    v.metadata({
      description: `Any JSON value of at most ${MAX_OBSERVATION_BYTES} bytes, nested at most ${MAX_JSON_DEPTH} levels deep`,
    }),
    v.transform(value => {
      const json = JSON.stringify(value)
      if (utf8Length(json) > MAX_OBSERVATION_BYTES) throw tooLarge(tooLargeMessage)
      return json
    }),
  )

/** A JSON object with any fields. */
export const JsonObjectValue = v.pipe(
  documented(v.custom<JsonObject>(isJsonObject, 'must be an object'), { type: 'object' }),
  whole<JsonObject>(),
)

/** A stored value in a response, as JSON text. */
export const StoredValue = v.custom<JsonText>(() => true)

/** A stored object in a response. */
export const StoredObject = documented(v.custom<JsonText>(isJsonObject), { type: 'object' })

/** A part of a response that has already been serialized as JSON from a value of this schema. */
export const written = <Schema extends v.GenericSchema<unknown, unknown>>(schema: Schema) =>
  shownAs(
    v.custom<WrittenJson<v.InferOutput<Schema>>>(value => v.is(schema, value)),
    schema,
  )

function whole<T extends Json>() {
  return v.rawCheck<T>(({ dataset, addIssue }) => {
    const fault = dataset.typed ? findJsonFault(dataset.value) : undefined
    if (!fault) return
    const [first, ...rest] = (fault.path ?? []).map(pathItem)
    addIssue({ message: fault.message, ...(first && { path: [first, ...rest] }) })
  })
}

/** A step of an issue's path, for checks that name a field or index within their value. */
export const pathItem = (key: string | number): v.UnknownPathItem => ({
  type: 'unknown',
  origin: 'value',
  input: undefined,
  key,
  value: undefined,
})

/**
 * An email address. Parses to lower case. Checks only that exactly one @ separates two parts without spaces: the rest
 * is up to mail servers.
 */
export const Email = v.pipe(
  text(3, MAX_EMAIL_LENGTH),
  v.regex(/^[^\s@]+@[^\s@]+$/, 'must be an email address'),
  v.metadata({ examples: ['ada@example.com'] }),
  v.toLowerCase(),
)

/** A name used in URLs. */
export const Slug = v.pipe(
  v.string(),
  v.regex(
    /^[a-z0-9][a-z0-9-]{0,62}$/,
    'must be 1 to 63 lowercase letters, digits, or hyphens, and must not begin with a hyphen',
  ),
)

/** A whole number from `min` to `max`, small enough to be exact. */
export const wholeNumber = (min: number, max = Number.MAX_SAFE_INTEGER) =>
  v.pipe(
    v.number(),
    v.safeInteger('must be a whole number'),
    v.minValue(min, `must be at least ${min}`),
    v.maxValue(max, `must be at most ${max}`),
  )

/** A time in a response. */
export const IsoTime = v.pipe(v.string(), v.isoTimestamp(), v.metadata({ examples: ['2026-11-21T09:30:00.000Z'] }))

/** A time as responses show it. */
export const isoTime = (milliseconds: number): string => new Date(milliseconds).toISOString()
