import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import { findJsonFault, type Json } from '../../src/domain/json.ts'
import { utf8Length } from '../../src/domain/text.ts'
import { MAX_JSON_DEPTH, MAX_NAMED_TRUNCATIONS } from '../../src/limits.ts'
import { fitted } from '../../src/otlp/fit.ts'

const bytesOf = (value: Json): number => utf8Length(JSON.stringify(value))

const LONG = 'x'.repeat(2_000_000)

/** Lists nested to the given depth. */
const nested = (depth: number): Json => Array.from({ length: depth - 1 }).reduce<Json>(inner => [inner], [])

describe('a value that fits', () => {
  it.for<[string, Json, number]>([
    ['a small value', { a: [1, null, 'b'] }, 256],
    ['a value of exactly the maximum size', 'x'.repeat(254), 256],
    ['a value with multi-byte characters', 'é'.repeat(127), 256],
    ['a value with characters that JSON escapes', '\u0000'.repeat(42), 256],
    ['a value nested as deeply as allowed', nested(MAX_JSON_DEPTH), 1024],
  ])('stays unchanged: %s', ([, value, maxBytes], { expect }) => {
    const { value: same, cuts } = fitted(value, maxBytes)
    expect(same).toBe(value)
    expect(cuts).toEqual([])
  })
})

describe('a value that is too large', () => {
  it('is truncated if it is text, and gets a marker with its original size', ({ expect }) => {
    const { value, cuts } = fitted('x'.repeat(1000), 256)
    expect(value).toMatch(/^x{200,}… \[cut, 1002 bytes\]$/)
    expect(bytesOf(value)).toBeLessThanOrEqual(256)
    expect(bytesOf(value)).toBeGreaterThan(240)
    expect(cuts).toEqual([{ path: '', bytes: 1002 }])
  })

  it.for([
    ['quotes', '"', 2],
    ['line feeds', '\n', 2],
    ['control characters', '\u0001', 6],
    ['lone surrogates', '\udc00', 6],
    ['three-byte characters', '€', 3],
    ['one-byte characters', '~', 1],
  ] as const)('keeps as much of %s as fits', ([, character, width], { expect }) => {
    const { value } = fitted(character.repeat(2000), 1000)
    expect(bytesOf(value)).toBeLessThanOrEqual(1000)
    expect(bytesOf(value)).toBeGreaterThan(1000 - width)
  })

  it('loses its largest parts and keeps the small ones', ({ expect }) => {
    const large = { small: 'kept', list: ['kept', 'y'.repeat(5000)], large: 'x'.repeat(3000) }
    const { value, cuts } = fitted(large, 1024)
    expect(value).toEqual({
      small: 'kept',
      list: ['kept', expect.stringMatching(/^y+… \[cut, 5002 bytes\]$/)],
      large: expect.stringMatching(/^x+… \[cut, 3002 bytes\]$/),
    })
    expect(bytesOf(value)).toBeLessThanOrEqual(1024)
    expect(cuts).toEqual([
      { path: 'list.1', bytes: 5002 },
      { path: 'large', bytes: 3002 },
    ])
  })

  it('ends early if it has too many parts, and gives the number of missing parts', ({ expect }) => {
    const list = fitted(
      Array.from({ length: 10_000 }, (_, index) => index),
      512,
    )
    expect(list.cuts).toEqual([{ path: '', bytes: 48_891 }])
    expect(list.value).toBeInstanceOf(Array)
    const items = Array.isArray(list.value) ? list.value : []
    expect(items.slice(0, 3)).toEqual([0, 1, 2])
    expect(items.at(-1)).toBe(`… [cut, ${10_001 - items.length} more, 48891 bytes]`)

    const fields = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`field${index}`, 'value']))
    const object = fitted(fields, 1024).value
    expect(Object.keys(Object(object)).slice(0, 2)).toEqual(['field0', 'field1'])
    expect(Reflect.get(Object(object), '…')).toMatch(/^\[cut, \d+ more, \d+ bytes\]$/)
    expect(bytesOf(object)).toBeLessThanOrEqual(1024)
  })

  it('never splits a character', ({ expect }) => {
    for (let maxBytes = 256; maxBytes < 262; maxBytes++) {
      const { value } = fitted('😀'.repeat(200), maxBytes)
      expect(value).toMatch(/^(?:😀)+… \[cut, 802 bytes\]$/u)
    }
  })

  it('reports only a few truncations', ({ expect }) => {
    const { cuts } = fitted(
      Array.from({ length: 50 }, () => 'x'.repeat(1000)),
      10_000,
    )
    expect(cuts.length).toBe(MAX_NAMED_TRUNCATIONS)
  })
})

it('turns levels that are nested too deeply into text', ({ expect }) => {
  const { value, cuts } = fitted({ a: nested(MAX_JSON_DEPTH + 2) }, 4096)
  expect(findJsonFault(value)).toBeUndefined()
  expect(JSON.stringify(value)).toContain('"[[[]]]"')
  expect(cuts.length).toBe(1)
})

it('truncates any value until it fits, and leaves a value that already fits unchanged', ({ expect }) => {
  const value = fc.jsonValue({ maxDepth: 12, noUnicodeString: false }) as fc.Arbitrary<Json>
  const long = fc.oneof(fc.string({ maxLength: 400, unit: 'binary' }), fc.string({ unit: 'grapheme', maxLength: 400 }))
  const large: fc.Arbitrary<Json> = fc.oneof(
    value,
    fc.array(fc.oneof(long, value), { maxLength: 60 }),
    fc.dictionary(long, fc.oneof(long, value, fc.array(long))),
  )
  fc.assert(
    fc.property(large, fc.integer({ min: 256, max: 3000 }), (given, maxBytes) => {
      const { value: small, cuts } = fitted(given, maxBytes)
      expect(bytesOf(small)).toBeLessThanOrEqual(maxBytes)
      expect(findJsonFault(small)).toBeUndefined()
      expect(cuts.length > 0).toBe(JSON.stringify(small) !== JSON.stringify(given))
      expect(fitted(small, maxBytes)).toEqual({ value: small, cuts: [] })
    }),
    { numRuns: 500 },
  )
})

// This takes tenths of a second. Quadratic work would exceed the time limit.
it.for<[string, () => Json]>([
  ['many levels', () => Array.from({ length: MAX_JSON_DEPTH - 1 }).reduce<Json>(inner => ({ inner, pad: 'p' }), LONG)],
  ['many items', () => Array.from({ length: 500_000 }, (_, index) => index)],
  ['many fields', () => Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [index, LONG.slice(0, 9)]))],
])('truncates a value with %s in linear time', ([, make], { expect }) => {
  expect(bytesOf(fitted(make(), 64 * 1024).value)).toBeLessThanOrEqual(64 * 1024)
})
