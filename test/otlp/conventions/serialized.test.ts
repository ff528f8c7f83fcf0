import { describe, it } from 'vitest'
import type { Json } from '../../../src/domain/json.ts'
import { parsed, unflatten } from '../../../src/otlp/reading/serialized.ts'

describe('a serialized value', () => {
  it.for<[string, Json, Json]>([
    ['an object', '{"a":1}', { a: 1 }],
    ['a value serialized twice', '"{\\"a\\":1}"', { a: 1 }],
    [
      'a value serialized three times, which stays serialized once',
      JSON.stringify(JSON.stringify('{"a":1}')),
      '{"a":1}',
    ],
    ['quoted text', '"refund"', 'refund'],
    ['a number, which may be intended as text', '42', '42'],
    ['a word', 'true', 'true'],
    ['text that only starts like JSON', '[see above] {', '[see above] {'],
    ['a number that overflows', '{"a":1e400}', '{"a":1e400}'],
    ['no text', 7, 7],
  ])('is parsed: %s', ([, value, expected], { expect }) => {
    expect(parsed(value)).toEqual(expected)
  })

  it('remains text if it is nested too deeply', ({ expect }) => {
    const deep = '['.repeat(129) + ']'.repeat(129)
    expect(parsed(deep)).toBe(deep)
    expect(parsed('['.repeat(128) + ']'.repeat(128))).toBeInstanceOf(Array)
    const far = '['.repeat(1_000_000)
    expect(parsed(far)).toBe(far)
  })
})

describe('keys with indices', () => {
  it.for<[string, [string, Json][], Json | undefined]>([
    ['nothing', [], undefined],
    [
      'list items in numeric order',
      [
        ['10', 'c'],
        ['2', 'b'],
        ['1', 'a'],
      ],
      ['a', 'b', 'c'],
    ],
    [
      'objects in a list',
      [
        ['1.role', 'b'],
        ['0.role', 'a'],
        ['0.text', 't'],
      ],
      [{ role: 'a', text: 't' }, { role: 'b' }],
    ],
    [
      'very large indices',
      [
        ['999999999999999999999.a', 2],
        ['0.a', 1],
      ],
      [{ a: 1 }, { a: 2 }],
    ],
    [
      'names between indices',
      [
        ['0', 'a'],
        ['x', 'b'],
      ],
      { '0': 'a', x: 'b' },
    ],
    [
      'nulls',
      [
        ['0.a', null],
        ['1.a', 1],
      ],
      [{ a: 1 }],
    ],
    [
      'a key that is a prefix of others',
      [
        ['a', 1],
        ['a.b', 2],
      ],
      { a: { '': 1, b: 2 } },
    ],
    [
      'the same keys in the opposite order',
      [
        ['a.b', 2],
        ['a', 1],
      ],
      { a: { '': 1, b: 2 } },
    ],
  ])('become a value from %s', ([, entries, expected], { expect }) => {
    expect(unflatten(entries)).toEqual(expected)
  })

  it('never modify a prototype', ({ expect }) => {
    const value = unflatten([
      ['__proto__.polluted', 1],
      ['constructor.prototype.polluted', 2],
    ])
    expect(JSON.stringify(value)).toBe('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":2}}}')
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
  })

  it('are never nested too deeply, even with many dots', ({ expect }) => {
    const value = unflatten([['a.'.repeat(100_000), 1]])
    expect(JSON.stringify(value).match(/\{/g)?.length).toBeLessThan(100)
  })
})
