import fc from 'fast-check'
import { describe, it } from 'vitest'
import { isJsonObject, type Json, type JsonObject } from '../../src/domain/json.ts'
import { diffJson } from '../../src/domain/json-diff.ts'
import { MAX_DIFF_PATH_LENGTH, MAX_JSON_DEPTH, MAX_SCHEMA_BYTES } from '../../src/limits.ts'

const ABSENT = Symbol('absent')

/** The value at a path. */
function valueAt(value: Json, path: string): Json | typeof ABSENT {
  return path.split('.').reduce<Json | typeof ABSENT>((within, step) => {
    if (typeof within !== 'object' || within === null || !Object.hasOwn(within, step)) return ABSENT
    return Reflect.get(within, step)
  }, value)
}

/** A copy of a value with one path set or removed. */
function withPlace(value: Json, [step = '', ...rest]: string[], place: Json | typeof ABSENT): Json {
  if (Array.isArray(value)) {
    const inner = rest.length === 0 ? place : withPlace(value[Number(step)] ?? null, rest, place)
    return value.toSpliced(Number(step), 1, ...(inner === ABSENT ? [] : [inner]))
  }
  if (!isJsonObject(value)) throw new Error(`no child of ${JSON.stringify(value)}`)
  const { [step]: former = null, ...others } = value
  const inner = rest.length === 0 ? place : withPlace(former, rest, place)
  return inner === ABSENT ? others : { ...others, [step]: inner }
}

const { value: aValue } = fc.letrec<{ value: Json }>(tie => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<Json>(null, true, 0, 1, 'string', 'number', ''),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('type', 'properties', 'required', 'answer'), tie('value'), { noNullPrototype: true }),
  ),
}))
const aSchema = fc.dictionary(fc.constantFrom('type', 'properties', 'required', 'items'), aValue, {
  noNullPrototype: true,
})

/** The same value with the fields of each object in the opposite order. */
function reordered(value: Json): Json {
  if (Array.isArray(value)) return value.map(reordered)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .map(([field, item]) => [field, reordered(item)] as const)
      .toReversed(),
  )
}

describe('the diff between two schemas', () => {
  it('gives paths and values that match both schemas', ({ expect }) => {
    fc.assert(
      fc.property(aSchema, aSchema, (before, after) => {
        for (const { path, op, before: old, after: fresh } of diffJson(before, after)) {
          expect(valueAt(before, path)).toEqual(op === 'add' ? ABSENT : old)
          expect(valueAt(after, path)).toEqual(op === 'remove' ? ABSENT : fresh)
          if (op === 'add') expect(old).toBeNull()
          if (op === 'remove') expect(fresh).toBeNull()
          if (op === 'change') expect(old).not.toEqual(fresh)
        }
      }),
      { numRuns: 1000 },
    )
  })

  it('lists each change once, and turns the first schema into the second if applied in order', ({ expect }) => {
    fc.assert(
      fc.property(aSchema, aSchema, (before, after) => {
        const changes = diffJson(before, after)
        expect(new Set(changes.map(({ path }) => path)).size).toBe(changes.length)
        // Removals are applied from the end so that they don't shift the indexes of other removals.
        const removed = changes.filter(({ op }) => op === 'remove').toReversed()
        const set = changes.filter(({ op }) => op !== 'remove')
        const rebuilt = [...set, ...removed].reduce<Json>(
          (value, { path, op, after }) => withPlace(value, path.split('.'), op === 'remove' ? ABSENT : after),
          before,
        )
        expect(rebuilt).toEqual(after)
      }),
      { numRuns: 1000 },
    )
  })

  it('is empty for equal schemas with fields in any order', ({ expect }) => {
    fc.assert(
      fc.property(aSchema, schema => {
        expect(diffJson(schema, structuredClone(schema))).toEqual([])
        expect(diffJson(schema, reordered(schema))).toEqual([])
      }),
    )
  })

  it.for<[string, JsonObject, JsonObject, object[]]>([
    [
      'a leaf',
      { properties: { answer: { type: 'string' } } },
      { properties: { answer: { type: 'number' } } },
      [{ path: 'properties.answer.type', op: 'change', before: 'string', after: 'number' }],
    ],
    [
      'an item',
      { required: ['a'] },
      { required: ['a', 'b'] },
      [{ path: 'required.1', op: 'add', before: null, after: 'b' }],
    ],
    [
      'a whole object',
      { properties: {} },
      { properties: { a: { type: 'string' } } },
      [{ path: 'properties.a', op: 'add', before: null, after: { type: 'string' } }],
    ],
    [
      'a whole array',
      { required: ['a', 'b'], type: 'object' },
      { type: 'object' },
      [{ path: 'required', op: 'remove', before: ['a', 'b'], after: null }],
    ],
    ['a removed null', { a: null }, {}, [{ path: 'a', op: 'remove', before: null, after: null }]],
    ['an added null', {}, { a: null }, [{ path: 'a', op: 'add', before: null, after: null }]],
    ['a different type', { a: [] }, { a: {} }, [{ path: 'a', op: 'change', before: [], after: {} }]],
    [
      'fields with unusual names',
      JSON.parse('{"__proto__": {"a": 1}, "constructor": 1}'),
      JSON.parse('{"__proto__": {"a": 2}, "toString": 1}'),
      [
        { path: '__proto__.a', op: 'change', before: 1, after: 2 },
        { path: 'constructor', op: 'remove', before: 1, after: null },
        { path: 'toString', op: 'add', before: null, after: 1 },
      ],
    ],
  ])('shows %s', ([, before, after, expected], { expect }) => {
    expect(diffJson(before, after)).toEqual(expected)
  })

  it('is not much longer than the schemas, even if the paths are long', ({ expect }) => {
    const long = 'x'.repeat(MAX_SCHEMA_BYTES / 2)
    const many = (value: number) => Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [index, value]))
    const changes = diffJson({ [long]: { same: 1, a: many(1) } }, { [long]: { same: 1, a: many(2) } })
    expect(changes).toEqual([
      { path: long, op: 'change', before: { same: 1, a: many(1) }, after: { same: 1, a: many(2) } },
    ])
    expect(diffJson({ [long]: many(1) }, { [long]: many(1) })).toEqual([])
    const short = 'x'.repeat(MAX_DIFF_PATH_LENGTH)
    expect(diffJson({ [short]: many(1) }, { [short]: many(2) })).toHaveLength(5000)
  })

  it('covers the deepest schema allowed', ({ expect }) => {
    const nested = (leaf: Json): Json => Array.from({ length: MAX_JSON_DEPTH - 1 }).reduce<Json>(a => ({ a }), leaf)
    const path = Array(MAX_JSON_DEPTH - 1)
      .fill('a')
      .join('.')
    expect(diffJson(nested(1), nested(2))).toEqual([{ path, op: 'change', before: 1, after: 2 }])
  })
})
