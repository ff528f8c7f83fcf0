import fc from 'fast-check'
import { describe, it } from 'vitest'
import { Enumerated } from '../../src/domain/enumerated.ts'
import type { Evaluator } from '../../src/domain/evaluator.ts'
import { isJsonObject, type Json } from '../../src/domain/json.ts'
import { isWithin, type Judgment, judge } from '../../src/domain/outcome.ts'
import { MAX_JUDGED_FIELDS, MAX_JUDGED_LEAVES, MAX_SHOWN_DIFFERENCES } from '../../src/limits.ts'

const TEXT = 'The refund takes 5 days.'
const OTHER_TEXT = 'You get your money back within a week.'

const judgeOne = (expected: Json, actual: Json, evaluator: Evaluator = {}, schema?: Json): Judgment =>
  judge(actual, [expected], { evaluator, schema: schema === undefined ? undefined : Enumerated.by(schema) })

describe('the outcome of a candidate', () => {
  it.for<[string, Json, Json, Judgment['outcome']]>([
    ['the same text', TEXT, TEXT, 'passed'],
    ['other whitespace and case', TEXT, '  the refund\n\ttakes 5 DAYS. ', 'passed'],
    ['different text', TEXT, OTHER_TEXT, 'unjudged'],
    ['no text', TEXT, '', 'failed'],
    ['blank text', TEXT, ' \n', 'failed'],
    ['text instead of nothing', '', TEXT, 'failed'],
    ['null instead of text', TEXT, null, 'failed'],
    ['an object instead of text', TEXT, { text: TEXT }, 'failed'],
    ['a word instead of text', TEXT, 'Refunded', 'unjudged'],
    ['another word', 'refund', 'complaint', 'failed'],
    ['text instead of a word', 'refund', 'It is a refund', 'failed'],
    ['a word in a different case', 'refund', 'Refund', 'passed'],
    ['64 characters', 'a'.repeat(64), 'b', 'failed'],
    ['64 characters of two units each', '😀'.repeat(64), 'b', 'failed'],
    ['65 characters', 'a'.repeat(65), 'b', 'unjudged'],
    ['composed and decomposed characters', '\u00e9 and \u00e8', 'e\u0301 and e\u0300', 'unjudged'],
    ['another number', 1, 2, 'failed'],
    ['a number as a string', 5, '5', 'failed'],
    ['a string instead of a number', '5', 5, 'failed'],
    ['1 instead of true', true, 1, 'failed'],
    ['another boolean', true, false, 'failed'],
    ['false instead of null', null, false, 'failed'],
    ['0 instead of null', null, 0, 'failed'],
    ['text instead of null', null, TEXT, 'failed'],
    ['the same null', null, null, 'passed'],
    ['-0', 0, -0, 'passed'],
    ['a different order of fields', { a: 1, b: TEXT }, { b: TEXT, a: 1 }, 'passed'],
    ['a null instead of a missing field', {}, { a: null }, 'failed'],
    ['a missing field instead of null', { a: null }, {}, 'failed'],
    ['missing text', { a: TEXT, b: 1 }, { b: 1 }, 'failed'],
    ['a missing object', { a: { b: TEXT } }, {}, 'failed'],
    ['a missing empty object', { a: {} }, {}, 'failed'],
    ['a missing empty array', { a: [] }, {}, 'failed'],
    ['an added number', { a: 1 }, { a: 1, b: 2 }, 'failed'],
    ['added text', { a: 1 }, { a: 1, b: TEXT }, 'unjudged'],
    ['an added empty array', { a: 1 }, { a: 1, b: [] }, 'failed'],
    ['a different field and different text', { a: 1, b: TEXT }, { a: 2, b: OTHER_TEXT }, 'failed'],
    ['different text within', { a: [{ b: TEXT }] }, { a: [{ b: OTHER_TEXT }] }, 'unjudged'],
    ['an array instead of an object', {}, [], 'failed'],
    ['an object instead of an array', [1], { 0: 1 }, 'failed'],
    ['one item fewer', [1, 2], [1], 'failed'],
    ['one item more', [1], [1, 2], 'failed'],
    ['one string fewer', [TEXT, TEXT], [TEXT], 'failed'],
    ['one string more', [TEXT], [TEXT, OTHER_TEXT], 'unjudged'],
    ['no items', [1], [], 'failed'],
    ['items instead of none', [], [1], 'failed'],
    ['a different order of items', ['a', 'b'], ['b', 'a'], 'failed'],
    ['empty arrays', [], [], 'passed'],
    ['empty objects', {}, {}, 'passed'],
    ['a field that every object inherits', { constructor: 1 }, {}, 'failed'],
    ['no field that every object inherits', {}, { toString: 1 }, 'failed'],
  ])('by default: %s', ([, expected, actual, outcome], { expect }) => {
    expect(judgeOne(expected, actual).outcome).toBe(outcome)
  })

  it.for<[string, Evaluator, Json, Json, Judgment['outcome']]>([
    ['exact: the same', { type: 'exact' }, { a: TEXT, b: 1 }, { b: 1, a: TEXT }, 'passed'],
    ['exact: a different case', { type: 'exact' }, TEXT, TEXT.toLowerCase(), 'unjudged'],
    ['exact: a different case of a word', { type: 'exact' }, 'Refund', 'refund', 'failed'],
    ['exact: whitespace around a word', { type: 'exact' }, 'refund', 'refund\n', 'failed'],
    ['exact in one part', { paths: { id: { type: 'exact' } } }, { id: 'A', x: 'B' }, { id: 'a', x: 'b' }, 'failed'],
    ['text in one part', { type: 'exact', paths: { x: { type: 'text' } } }, { x: 'B' }, { x: 'b' }, 'passed'],
    ['a tolerance', { type: 'number', tolerance: 0.5 }, 1, 1.5, 'passed'],
    ['beyond a tolerance', { type: 'number', tolerance: 0.5 }, 1, 1.51, 'failed'],
    ['a tolerance within', { type: 'number', tolerance: 1 }, { a: [1, TEXT] }, { a: [2, TEXT] }, 'passed'],
    ['a tolerance and other types', { type: 'number', tolerance: 9 }, 1, '1', 'failed'],
    ['a tolerance and text', { type: 'number', tolerance: 9 }, TEXT, OTHER_TEXT, 'unjudged'],
    ['an ignored part', { paths: { note: { type: 'ignore' } } }, { a: 1, note: TEXT }, { a: 1, note: null }, 'passed'],
    ['a missing ignored part', { paths: { note: { type: 'ignore' } } }, { a: 1, note: { b: 1 } }, { a: 1 }, 'passed'],
    ['an added ignored part', { paths: { 'a.b': { type: 'ignore' } } }, {}, { a: { b: 1 } }, 'passed'],
    [
      'a part of an ignored part',
      { paths: { a: { type: 'ignore' }, 'a.b': { type: 'fields' } } },
      { a: { b: 1, c: 1 } },
      { a: { b: 2, c: 1 } },
      'failed',
    ],
    [
      'items',
      { paths: { 'items.*.price': { type: 'number', tolerance: 0.01 }, 'items.*.note': { type: 'ignore' } } },
      { items: [{ price: 1, note: 'a' }, { price: 2 }] },
      { items: [{ price: 1.01 }, { price: 1.99, note: 'b' }] },
      'passed',
    ],
  ])('follows its evaluator: %s', ([, evaluator, expected, actual, outcome], { expect }) => {
    expect(judgeOne(expected, actual, evaluator).outcome).toBe(outcome)
  })

  const LISTED = { enum: ['Wrong tone', 'Missing facts', null] }
  it.for<[string, Json, string, string, Judgment['outcome']]>([
    ['an enum', LISTED, 'Wrong tone', 'Missing facts', 'failed'],
    ['an enum in a different case', LISTED, 'Wrong tone', 'wrong tone', 'failed'],
    ['an enum and text', LISTED, 'Wrong tone', OTHER_TEXT, 'failed'],
    ['a const', { const: 'Wrong tone' }, 'Wrong tone', OTHER_TEXT, 'failed'],
    ['a string', { type: 'string' }, 'Wrong tone', OTHER_TEXT, 'unjudged'],
    ['a reference', { $ref: '#/$defs/a', $defs: { a: LISTED } }, 'Wrong tone', OTHER_TEXT, 'failed'],
    ['a combination', { allOf: [{ type: 'string' }, LISTED] }, 'Wrong tone', OTHER_TEXT, 'failed'],
    ['an enum or null', { anyOf: [LISTED, { type: 'null' }] }, 'Wrong tone', OTHER_TEXT, 'failed'],
    ['an enum or any string', { oneOf: [LISTED, { type: 'string' }] }, 'Wrong tone', OTHER_TEXT, 'unjudged'],
    ['no strings', { anyOf: [{ type: 'null' }, { type: 'number' }] }, 'Wrong tone', OTHER_TEXT, 'unjudged'],
    ['itself', { $ref: '#' }, 'Wrong tone', OTHER_TEXT, 'unjudged'],
    ['nothing', { $ref: '#/$defs/missing' }, 'Wrong tone', OTHER_TEXT, 'unjudged'],
    ['an invalid schema', { enum: 'x' }, 'Wrong tone', OTHER_TEXT, 'unjudged'],
    ['anything', true, 'Wrong tone', OTHER_TEXT, 'unjudged'],
  ])("follows the step's schema: %s", ([, schema, expected, actual, outcome], { expect }) => {
    const properties = { tone: schema }
    const wrappings: [Json, (value: Json) => Json][] = [
      [schema, value => value],
      [{ ...(isJsonObject(schema) && { $defs: schema.$defs ?? {} }), properties }, value => ({ tone: value })],
      [{ $defs: isJsonObject(schema) ? (schema.$defs ?? {}) : {}, items: schema }, value => [value]],
      [{ $defs: isJsonObject(schema) ? (schema.$defs ?? {}) : {}, prefixItems: [true, schema] }, value => [1, value]],
      [{ $defs: isJsonObject(schema) ? (schema.$defs ?? {}) : {}, additionalProperties: schema }, value => ({ value })],
      [
        { $defs: isJsonObject(schema) ? (schema.$defs ?? {}) : {}, anyOf: [{ type: 'null' }, { properties }] },
        value => ({ tone: value }),
      ],
    ]
    for (const [whole, wrap] of wrappings) {
      // Within a subschema, a reference to the root would refer to a different schema.
      if (JSON.stringify(schema) === '{"$ref":"#"}' && whole !== schema) continue
      expect(judgeOne(wrap(expected), wrap(actual), {}, whole).outcome, JSON.stringify(whole)).toBe(outcome)
    }
  })

  it('follows an explicit text rule even if the schema enumerates strings', ({ expect }) => {
    const schema = { enum: ['Wrong tone'] }
    expect(judgeOne('Wrong tone', 'wrong tone', { type: 'text' }, schema).outcome).toBe('passed')
  })

  it.for<[string, Json[], Json, Judgment['outcome'], string[]]>([
    ['agrees with an alternative', [1, 2], 2, 'passed', []],
    ['differs strictly from all', [1, 2], 3, 'failed', ['']],
    [
      'differs from one only in its text',
      [
        { a: 1, b: TEXT },
        { a: 2, b: TEXT },
      ],
      { a: 2, b: 'x y' },
      'unjudged',
      ['b'],
    ],
    [
      'is nearest to the second',
      [
        { a: 1, b: 1 },
        { a: 2, b: 2 },
      ],
      { a: 2, b: 1.5 },
      'failed',
      ['b'],
    ],
  ])('considers every expected value: %s', ([, expected, actual, outcome, paths], { expect }) => {
    const judgment = judge(actual, expected, { evaluator: {} })
    expect(judgment.outcome).toBe(outcome)
    expect(judgment.difference.map(({ path }) => path)).toEqual(paths)
  })
})

describe('a judgment', () => {
  it('shows what differs', ({ expect }) => {
    const long = 'x '.repeat(200)
    expect(
      judgeOne({ a: 1, 'b.c': [TEXT, { d: null }], e: TEXT, g: long }, { a: 2, 'b.c': [OTHER_TEXT], f: true, g: 1 }),
    ).toMatchObject({
      outcome: 'failed',
      difference: [
        { path: 'a', expected: 1, actual: 2 },
        { path: 'b\\.c.0', expected: TEXT, actual: OTHER_TEXT },
        { path: 'b\\.c.1.d', expected: null },
        { path: 'e', expected: TEXT },
        { path: 'g', expected: JSON.stringify(long).slice(0, 256), actual: 1 },
        { path: 'f', actual: true },
      ],
    })
  })

  it('says which fields agree, and what share of the leaves agrees', ({ expect }) => {
    const { fields, share } = judgeOne(
      { a: 1, items: [{ b: 1 }, { b: 2 }, { b: 3, c: 1 }] },
      { a: 1, items: [{ b: 1 }, { b: 0 }, { b: 3, c: 1 }] },
    )
    expect(fields).toEqual([
      { path: 'a', agrees: true },
      { path: 'items.*.b', agrees: false },
      { path: 'items.*.c', agrees: true },
    ])
    expect(share).toBe(0.8)
  })

  it('shows a bounded number of fields and differences', ({ expect }) => {
    const many = (count: number, value: Json) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, value]))
    const atBound = judgeOne(many(MAX_JUDGED_FIELDS, 1), many(MAX_JUDGED_FIELDS, 1))
    expect(atBound.fields.map(({ path }) => path)).not.toContain('_rest')
    const beyond = judgeOne(many(MAX_JUDGED_FIELDS + 2, 1), { ...many(MAX_JUDGED_FIELDS + 1, 1), other: 1 })
    expect(beyond.fields).toHaveLength(MAX_JUDGED_FIELDS + 1)
    expect(beyond.fields.at(-1)).toEqual({ path: '_rest', agrees: false })
    expect(judgeOne(many(100, 1), many(100, 2)).difference).toHaveLength(MAX_SHOWN_DIFFERENCES)
    const deep = judgeOne({ ['x'.repeat(300)]: { y: 1 } }, { ['x'.repeat(300)]: { y: 2 } })
    expect(deep.fields).toEqual([{ path: '_rest', agrees: false }])
    expect(deep.difference).toEqual([{ path: 'x'.repeat(256), expected: 1, actual: 2 }])
  })

  it("doesn't pass an output with too many leaves", ({ expect }) => {
    const most = Array(MAX_JUDGED_LEAVES).fill(1)
    expect(judgeOne(most, most).outcome).toBe('passed')
    expect(judgeOne([...most, 1], [...most, 1]).outcome).toBe('unjudged')
    expect(judgeOne([0, ...most], [...most, 1]).outcome).toBe('failed')
  })

  it('takes linear time for large and deep values', ({ expect }) => {
    const nested = (inner: Json) => {
      let value: Json = inner
      for (let depth = 0; depth < 128; depth++) value = depth % 2 ? [value] : { ['k'.repeat(4000)]: value }
      return value
    }
    expect(judgeOne(nested(1), nested(2)).outcome).toBe('failed')
    expect(judgeOne('a '.repeat(500_000), 'b '.repeat(500_000)).outcome).toBe('unjudged')
    expect(judgeOne(' '.repeat(1_000_000), 'b'.repeat(1_000_000)).outcome).toBe('unjudged')
    const keys = (value: Json) =>
      Object.fromEntries(Array.from({ length: MAX_JUDGED_LEAVES }, (_, index) => [`key${index}`, value]))
    expect(judgeOne(keys(1), keys(2), { paths: { '*.*.a': { type: 'ignore' } } }).outcome).toBe('failed')
  })

  const { value: aValue } = fc.letrec<{ value: Json }>(tie => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom<Json>(null, true, 0, 0.1, 1, '', 'a', 'A', 'a b', 'a  B', 'x y z'),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'a.b', '__proto__', ''), tie('value'), { noNullPrototype: true }),
    ),
  }))
  const anEvaluator = fc.constantFrom<Evaluator>(
    {},
    { type: 'exact' },
    { type: 'text' },
    { type: 'number', tolerance: 0.5 },
    { paths: { a: { type: 'exact' }, '*.b': { type: 'ignore' } } },
  )
  const reordered = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(reordered)
    if (!isJsonObject(value)) return value
    const entries = Object.entries(value).map(([field, item]) => [field, reordered(item)] as const)
    return Object.fromEntries(entries.toReversed())
  }

  it('passes an equal value with its fields in any order', ({ expect }) => {
    fc.assert(
      fc.property(aValue, anEvaluator, (value, evaluator) => {
        const judgment = judgeOne(value, reordered(value), evaluator)
        expect(judgment).toMatchObject({ outcome: 'passed', difference: [], share: 1 })
      }),
      { numRuns: 500 },
    )
  })

  it('is the same if the expected and actual values are swapped', ({ expect }) => {
    fc.assert(
      fc.property(aValue, aValue, anEvaluator, (left, right, evaluator) => {
        const [there, back] = [judgeOne(left, right, evaluator), judgeOne(right, left, evaluator)]
        expect(there.outcome === 'passed').toBe(back.outcome === 'passed')
        expect(there.share).toBe(back.share)
        expect(there.difference.length).toBe(back.difference.length)
      }),
      { numRuns: 1000 },
    )
  })

  it('passes an output if and only if all of it agrees', ({ expect }) => {
    fc.assert(
      fc.property(aValue, aValue, anEvaluator, (expected, actual, evaluator) => {
        const { outcome, difference, fields, share } = judgeOne(expected, actual, evaluator)
        expect(outcome === 'passed').toBe(share === 1)
        expect(outcome === 'passed').toBe(difference.length === 0)
        expect(outcome === 'passed').toBe(fields.every(({ agrees }) => agrees))
        if (evaluator.type === 'exact') {
          const isSame = JSON.stringify(sorted(expected)) === JSON.stringify(sorted(actual))
          expect(outcome === 'passed').toBe(isSame)
        }
      }),
      { numRuns: 1000 },
    )
  })

  it('gets no worse with an additional expected value', ({ expect }) => {
    const rank = { failed: 0, unjudged: 1, passed: 2 }
    fc.assert(
      fc.property(aValue, fc.array(aValue, { minLength: 1, maxLength: 3 }), aValue, (actual, expected, added) => {
        const outcomes = [expected, [...expected, added], [added, ...expected]].map(
          values => rank[judge(actual, values, { evaluator: {} }).outcome],
        )
        expect(outcomes[1]).toBeGreaterThanOrEqual(outcomes[0] ?? 0)
        expect(outcomes[2]).toBe(outcomes[1])
      }),
      { numRuns: 500 },
    )
  })
})

const sorted = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isJsonObject(value)) return value
  return Object.entries(value)
    .map(([field, item]): Json => [field, sorted(item)])
    .sort((left, right) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1))
    .concat(['object'])
}

describe('a tolerance', () => {
  it.for([
    [1, 1.01, 0.01, true],
    [1, 1.011, 0.01, false],
    [0.1 + 0.2, 0.3, 0, true],
    [0.3, 0.301, 0, false],
    [100.1, 100, 0.1, true],
    [1e9 + 0.1, 1e9, 0.1, true],
    [-0.05, 0.05, 0.1, true],
    [5, 7, 2, true],
    [5, 8, 2, false],
    [2 ** 53, 2 ** 53 - 1, 0, false],
    [1e308, -1e308, 1e308, false],
    [0, 5e-324, 0, false],
  ] as const)('includes its bound: %d and %d within %d', ([left, right, tolerance, expected], { expect }) => {
    expect(isWithin(tolerance, left, right)).toBe(expected)
    expect(isWithin(tolerance, right, left)).toBe(expected)
  })

  it('includes decimal fractions at its bound, but not one digit beyond it', ({ expect }) => {
    fc.assert(
      fc.property(fc.integer({ min: -1e6, max: 1e6 }), fc.nat(1e6), fc.integer({ min: 1, max: 6 }), (a, t, digits) => {
        const [left, right, tolerance] = [a, a + t, t].map(value => value / 10 ** digits)
        expect(isWithin(tolerance ?? 0, left ?? 0, right ?? 0)).toBe(true)
        expect(isWithin(tolerance ?? 0, left ?? 0, (a + t + 1) / 10 ** digits)).toBe(false)
      }),
      { numRuns: 1000 },
    )
  })
})
