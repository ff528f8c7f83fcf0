import fc from 'fast-check'
import { describe, it } from 'vitest'
import { Budget, TooCostly } from '../../src/domain/json-schema/budget.ts'
import { compilePattern, PatternFault } from '../../src/domain/json-schema/pattern.ts'
import { OutputChecks, outputCheck, schemaErrors } from '../../src/domain/output-schema.ts'
import { atOnce } from '../../src/domain/turns.ts'
import {
  MAX_JSON_DEPTH,
  MAX_OBSERVATION_BYTES,
  MAX_PATTERN_LOOKS,
  MAX_PATTERN_STATES,
  MAX_SCHEMA_APPLICATIONS,
  MAX_SCHEMA_CHAIN,
} from '../../src/limits.ts'

const check = (schema: unknown, value: unknown) => outputCheck(JSON.stringify(schema))(JSON.stringify(value), 'output')
const DRAFT_4 = 'http://json-schema.org/draft-04/schema#'
const DRAFT_7 = 'http://json-schema.org/draft-07/schema#'
const DRAFT_2019 = 'https://json-schema.org/draft/2019-09/schema'

/** `count` schemas, each of which refers to the next through some keyword. */
const chainOf = (count: number, next: (reference: object) => object) => ({
  $ref: '#/$defs/a0',
  $defs: Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `a${index}`,
      index === count - 1 ? {} : next({ $ref: `#/$defs/a${index + 1}` }),
    ]),
  ),
})

describe('a JSON schema', () => {
  it.for<[schema: unknown, kept: unknown[], broken: unknown[]]>([
    [true, [1, null], []],
    [{ not: true }, [], [1, {}]],
    [{ type: 'integer' }, [1, 1.0, -0], [1.5, '1', null, true]],
    [{ type: ['string', 'null'] }, ['', null], [0, {}, []]],
    [{ type: 'object' }, [{}], [[], null]],
    [{ enum: [1, 'a', null, { a: [1] }] }, [1, 'a', null, { a: [1] }], [2, { a: [2] }, { a: [1], b: 1 }, [1]]],
    [{ const: { b: 1, a: [] } }, [{ a: [], b: 1 }], [{ a: [] }, 1]],
    [{ multipleOf: 0.1 }, [0.3, 1.1, 1e300, 'x'], [0.35]],
    [{ minimum: 1, exclusiveMaximum: 2 }, [1, 1.9], [0.9, 2]],
    [{ $schema: DRAFT_4, minimum: 1, exclusiveMinimum: true }, [1.1], [1]],
    [{ minLength: 2, maxLength: 3 }, ['😀😀', 'abc', 1], ['😀', 'abcd', '😀😀😀😀']],
    [{ pattern: '^\\p{Lu}' }, ['Äx', 1], ['äx']],
    [{ format: 'email' }, ['ada@example.com', 1], ['ada']],
    [{ format: 'date-time' }, ['2026-11-21T09:30:00Z'], ['2026-02-30T09:30:00Z']],
    [{ required: ['toString'] }, [{ toString: 1 }, []], [{}]],
    [{ properties: { a: { type: 'number' } }, additionalProperties: false }, [{ a: 1 }], [{ a: '' }, { b: 1 }]],
    [{ patternProperties: { '^x-': false } }, [{ a: 1 }], [{ 'x-a': 1 }]],
    [{ propertyNames: { maxLength: 1 } }, [{ a: 1 }], [{ ab: 1 }]],
    [{ minProperties: 1, maxProperties: 1 }, [{ a: 1 }], [{}, { a: 1, b: 1 }]],
    [{ dependentRequired: { a: ['b'] } }, [{ b: 1 }, { a: 1, b: 1 }], [{ a: 1 }]],
    [{ dependencies: { a: { required: ['b'] } } }, [{ b: 1 }], [{ a: 1 }]],
    [{ prefixItems: [{ type: 'string' }], items: { type: 'number' } }, [['a', 1], ['a'], []], [[1], ['a', 'b']]],
    [{ items: [{ type: 'string' }], additionalItems: false }, [['a'], []], [['a', 1]]],
    [
      { contains: { const: 1 }, minContains: 2, maxContains: 3 },
      [
        [1, 1],
        [1, 1, 1, 2],
      ],
      [[1], [1, 1, 1, 1]],
    ],
    [
      { uniqueItems: true },
      [[1, '1', [1], '[1]', { a: 1 }]],
      [
        [1, 1.0],
        [
          { a: 1, b: 2 },
          { b: 2, a: 1 },
        ],
        ['x', 'x'],
      ],
    ],
    [{ anyOf: [{ type: 'string' }, { minimum: 5 }] }, ['a', 5], [4]],
    [{ oneOf: [{ multipleOf: 2 }, { multipleOf: 3 }] }, [2, 3], [6, 1]],
    [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, [1], [3]],
    // biome-ignore lint/suspicious/noThenProperty: `then` is a JSON Schema keyword, not a promise
    [{ if: { type: 'string' }, then: { minLength: 1 }, else: { minimum: 1 } }, ['a', 1], ['', 0]],
    [{ $defs: { 'a/b': { type: 'null' } }, $ref: '#/$defs/a~1b', type: 'null' }, [null], [1]],
    [{ $schema: DRAFT_7, definitions: { a: {} }, $ref: '#/definitions/a', type: 'null' }, [1], []],
    [{ items: { $ref: '#' }, type: 'array' }, [[[], [[]]]], [[1]]],
    [{ $defs: { a: { $anchor: 'here', type: 'null' } }, $ref: '#here' }, [null], [1]],
    [
      {
        allOf: [{ properties: { a: true } }],
        anyOf: [{ required: ['b'], properties: { b: true } }, true],
        unevaluatedProperties: false,
      },
      [{ a: 1 }, { a: 1, b: 1 }],
      [{ c: 1 }],
    ],
    [{ prefixItems: [true], contains: { const: 1 }, unevaluatedItems: false }, [[5, 1]], [[5, 2, 1]]],
    [
      { $schema: DRAFT_2019, $recursiveAnchor: true, type: 'object', additionalProperties: { $recursiveRef: '#' } },
      [{ a: { b: {} } }],
      [{ a: { b: 1 } }],
    ],
    [{ title: 3, answer: 'string', description: [] }, [1], []],
  ])('%j accepts only values that satisfy it', ([schema, kept, broken], { expect }) => {
    expect(schemaErrors(JSON.parse(JSON.stringify(schema)))).toEqual([])
    for (const value of kept) expect(check(schema, value), JSON.stringify(value)).toEqual({ faults: [] })
    for (const value of broken) expect(check(schema, value), JSON.stringify(value)).not.toEqual({ faults: [] })
  })

  it('reports the innermost faults of every alternative that fails', ({ expect }) => {
    const schema = {
      properties: { a: { anyOf: [{ type: 'string' }, { properties: { b: { minimum: 1 } }, required: ['c'] }] } },
    }
    expect(check(schema, { a: { b: 0 } })).toEqual({
      faults: [
        { path: 'output.a', message: 'Instance type "object" is invalid. Expected "string".' },
        { path: 'output.a.c', message: 'is required' },
        { path: 'output.a.b', message: '0 is less than 1.' },
      ],
    })
  })

  it.for<[schema: unknown, path: string]>([
    [{ type: 'any' }, 'type'],
    [{ properties: { a: { type: ['string', 'text'] } } }, 'properties.a.type'],
    [{ properties: { a: { required: true } } }, 'properties.a.required'],
    [{ properties: ['a'] }, 'properties'],
    [{ items: { properties: { a: 'string' } } }, 'items.properties.a'],
    [{ $ref: '#/$defs/none' }, '$ref'],
    [{ $ref: 'https://example.com/other.json' }, '$ref'],
    [{ allOf: [{}, { $ref: '#nowhere' }] }, 'allOf.1.$ref'],
    [{ $ref: '#' }, ''],
    [{ $defs: { a: { anyOf: [{ $ref: '#/$defs/b' }] }, b: { not: { $ref: '#/$defs/a' } } } }, '$defs.a'],
    [{ enum: 3 }, 'enum'],
    [{ anyOf: [] }, 'anyOf'],
    [{ minLength: -1 }, 'minLength'],
    [{ maxItems: '3' }, 'maxItems'],
    [{ multipleOf: 0 }, 'multipleOf'],
    [{ exclusiveMinimum: true }, 'exclusiveMinimum'],
    [{ uniqueItems: 'yes' }, 'uniqueItems'],
    [{ pattern: '(' }, 'pattern'],
    [{ pattern: 3 }, 'pattern'],
    [{ pattern: '(a)\\1' }, 'pattern'],
    [{ pattern: `a{${MAX_PATTERN_STATES}}` }, 'pattern'],
    [{ pattern: '(?=a)'.repeat(MAX_PATTERN_LOOKS + 1) }, 'pattern'],
    [{ patternProperties: { '[': {} } }, 'patternProperties.['],
    [{ additionalProperties: null }, 'additionalProperties'],
    [{ dependentRequired: { a: 'b' } }, 'dependentRequired'],
    [{ $schema: 'http://json-schema.org/draft-03/schema#' }, '$schema'],
    [{ $schema: 7 }, '$schema'],
    [chainOf(MAX_SCHEMA_CHAIN + 2, reference => reference), '$defs.a1'],
    [chainOf(20, reference => ({ allOf: [reference, reference] })), '$defs.a7'],
    [{ anyOf: Array.from({ length: MAX_SCHEMA_APPLICATIONS }, () => ({})) }, ''],
  ])('%j is reported with the path of its fault', ([schema, path], { expect }) => {
    expect(schemaErrors(JSON.parse(JSON.stringify(schema))).map(error => error.path)).toContain(path)
  })

  it('fails only for values that reach its invalid part', ({ expect }) => {
    const schema = { properties: { a: { pattern: '(' }, b: { type: 'string' } } }
    expect(check(schema, { b: 1 })).toMatchObject({ faults: [{ path: 'output.b' }] })
    expect(check(schema, { a: '' })).toEqual({
      unchecked: "the step's outputSchema is invalid (properties.a.pattern is not a regular expression)",
    })
  })

  it('applies to stored values at any depth', ({ expect }) => {
    const deep = (inner: string) =>
      JSON.parse(`${'['.repeat(MAX_JSON_DEPTH - 1)}${inner}${']'.repeat(MAX_JSON_DEPTH - 1)}`)
    const schema = {
      $defs: { tree: { anyOf: [{ type: 'string' }, { type: 'array', items: { allOf: [{ $ref: '#/$defs/tree' }] } }] } },
      $ref: '#/$defs/tree',
    }
    expect(check(schema, deep('""'))).toEqual({ faults: [] })
    expect(check(schema, deep('1'))).not.toEqual({ faults: [] })
  })
})

describe('a check of hostile schemas and values', () => {
  const listOf = (unit: string) => {
    const count = Math.floor((MAX_OBSERVATION_BYTES - 2) / (unit.length + 1))
    return `[${Array.from({ length: count }, () => unit).join()}]`
  }
  const distinct = (make: (index: number) => string, count: number) =>
    `[${Array.from({ length: count }, (_, index) => make(index)).join()}]`
  const wide = `{${Array.from({ length: 300_000 }, (_, index) => `"b${index}":1`).join()}}`
  const UNCHECKED = { unchecked: 'checking it takes more operations than one request may use' }

  it.for<[name: string, schema: unknown, json: () => string]>([
    ['very many objects', {}, () => listOf('{}')],
    ['unique lists', { uniqueItems: true }, () => distinct(index => `[${index}]`, 500_000)],
    ['unique numbers', { uniqueItems: true }, () => distinct(String, 600_000)],
    [
      'unique lists at every level',
      JSON.parse(`${'{"uniqueItems":true,"items":'.repeat(60)}{}${'}'.repeat(60)}`),
      () => `${'['.repeat(60)}${distinct(index => `"${index}"`, 300_000)}${']'.repeat(60)}`,
    ],
    [
      'a field that many subschemas check',
      { allOf: Array.from({ length: 2000 }, () => ({ additionalProperties: true })) },
      () => wide,
    ],
    [
      'fields that many subschemas record',
      { anyOf: Array.from({ length: 2000 }, () => ({ additionalProperties: true })), unevaluatedProperties: false },
      () => wide,
    ],
    [
      'text that many subschemas measure',
      { allOf: Array.from({ length: 2000 }, () => ({ maxLength: 1 })) },
      () => JSON.stringify('a'.repeat(MAX_OBSERVATION_BYTES - 2)),
    ],
    ['a pattern with many states', { pattern: '(a|b)*a(a|b){300}x' }, () => JSON.stringify(pseudoRandom(1_000_000))],
    [
      'long enum values',
      { items: { enum: [JSON.parse(wide.slice(0, 50_000).replace(/,[^,]*$/, '}'))] } },
      () => distinct(() => '{"a":1}', 200_000),
    ],
    ['a tiny divisor', { items: { multipleOf: 1e-300 } }, () => listOf('1e300')],
    [
      'formats that compile a regular expression',
      { items: { format: 'regex' } },
      () => distinct(index => `"a${index}"`, 300_000),
    ],
  ])('stops at the limit and reports it: %s', ([, schema, json], { expect }) => {
    expect(outputCheck(JSON.stringify(schema))(json(), 'output')).toEqual(UNCHECKED)
  })

  it.for<[name: string, schema: unknown, json: () => string]>([
    [
      '20,000 unique objects',
      { uniqueItems: true },
      () => distinct(index => `{"id":${index},"name":"n${index}"}`, 20_000),
    ],
    ['nested quantifiers', { not: { pattern: '^(a+)+$' } }, () => JSON.stringify(`${'a'.repeat(1_000_000)}!`)],
    [
      'overlapping quantifiers',
      { not: { pattern: '^(a|a|aa)*\\d*\\d*\\d*$' } },
      () => JSON.stringify(`${'a'.repeat(1_000_000)}!`),
    ],
    [
      'a string with the maximum length',
      { type: 'string', minLength: 1 },
      () => JSON.stringify('a'.repeat(MAX_OBSERVATION_BYTES - 2)),
    ],
    ['an embedding', { items: { type: 'number' } }, () => distinct(index => `${index / 1e6}`, 100_000)],
  ])('completes for values that only look hostile: %s', ([, schema, json], { expect }) => {
    expect(outputCheck(JSON.stringify(schema))(json(), 'output')).toEqual({ faults: [] })
  })

  it('counts all values in a request toward one limit', ({ expect }) => {
    const checks = new OutputChecks()
    const value = distinct(String, 100_000)
    const results = Array.from({ length: 40 }, (_, index) =>
      atOnce(checks.check(JSON.stringify({ title: String(index), type: 'array' }), value, 'output')),
    )
    expect(results[0]).toEqual({ faults: [] })
    expect(results.at(-1)).toEqual(UNCHECKED)
  })
})

const pseudoRandom = (length: number): string => {
  let state = 1
  return Array.from({ length }, () => {
    state = (state * 48_271) % 2_147_483_647
    return state % 2 === 0 ? 'a' : 'b'
  }).join('')
}

describe('a pattern', () => {
  const compile = (source: string) => compilePattern(source, () => undefined)

  /** Regular expressions with only a few characters, so that some of them match. */
  const { alternatives } = fc.letrec<{ alternatives: string; sequence: string; term: string }>(tie => ({
    alternatives: fc.array(tie('sequence'), { minLength: 1, maxLength: 2 }).map(items => items.join('|')),
    sequence: fc.array(tie('term'), { maxLength: 4 }).map(items => items.join('')),
    term: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc
        .tuple(
          fc.constantFrom(
            'a',
            'b',
            '.',
            '[ab]',
            '[^a]',
            '\\w',
            '\\W',
            '\\d',
            '[\\]a]',
            '\\x61',
            '\\u{62}',
            'é',
            '\\p{L}',
          ),
          fc.constantFrom('', '', '*', '+', '?', '{2}', '{1,3}', '{2,}', '*?', '{0}'),
        )
        .map(([atom, quantifier]) => atom + quantifier),
      fc.constantFrom('^', '$', '\\b', '\\B'),
      fc
        .tuple(fc.constantFrom('', '?:'), tie('alternatives'), fc.constantFrom('', '*', '+', '{2}', '??'))
        .map(([kind, inner, quantifier]) => `(${kind}${inner})${quantifier}`),
      fc
        .tuple(fc.constantFrom('?=', '?!', '?<=', '?<!'), tie('alternatives'))
        .map(([kind, inner]) => `(${kind}${inner})`),
    ),
  }))

  it('matches what the built-in engine matches', ({ expect }) => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '1', ' ', 'é', ']'), maxLength: 8 })
    fc.assert(
      fc.property(alternatives, fc.array(text, { minLength: 5 }), (source, texts) => {
        fc.pre((source.match(/\(\?<?[=!]/g) ?? []).length <= MAX_PATTERN_LOOKS)
        const pattern = compile(source)
        for (const each of texts)
          expect(pattern.test(each, new Budget()), each).toBe(new RegExp(source, 'u').test(each))
      }),
      { numRuns: 2000 },
    )
  })

  it.for([
    ['😀', '^.$', true],
    ['😀', '^..$', false],
    ['a😀b', 'a[😀]b', true],
    ['😀', '\\ud83d\\ude00', true],
    ['\\ud83d', '^\\ud83d$', true],
    ['x😀', '(?<=😀)$', true],
    ['not blank', '^(?!\\s*$).+', true],
    [' \\n', '^(?!\\s*$).+', false],
    ['Secret1!', '^(?=.*\\d)(?=.*[A-Z]).{8,}$', true],
    ['2026-11-21', '^(?<year>\\d{4})-(?<month>\\d{2})', true],
    ['a-b.c', '^[\\w.-]+$', true],
  ] as const)('matches whole characters, not surrogates: %s by %s', ([text, source, matches], { expect }) => {
    const whole: string = JSON.parse(`"${text}"`)
    expect(compile(source).test(whole, new Budget())).toBe(matches)
    expect(new RegExp(source, 'u').test(whole)).toBe(matches)
  })

  it.for(['(?i:a)', '(a)\\1', '(?<n>a)\\k<n>', '(', 'a**', '\\-', `${'('.repeat(200)}${')'.repeat(200)}`])(
    'is rejected if it cannot run in bounded time: %s',
    (source, { expect }) => {
      expect(() => compile(source)).toThrow(PatternFault)
    },
  )

  it('takes a number of operations proportional to the string’s length', ({ expect }) => {
    const budget = new Budget()
    expect(compile('^(?:a|aa|a*)*$').test('a'.repeat(1_000_000), budget)).toBe(true)
    expect(() => budget.spend(3_000_000)).not.toThrow()
    expect(() => budget.spend(1_000_000)).toThrow(TooCostly)
  })
})
