import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson, canonicalPieces, type Json } from '../../src/domain/json.ts'
import { hashOutput, isSameOutput } from '../../src/domain/review-state.ts'

/** The value with the fields of each object in the opposite order, as far as JavaScript allows. */
function reversed(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(reversed)
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([field, item]) => [field, reversed(item)]),
  )
}

const json = () => fc.jsonValue().map(value => JSON.parse(JSON.stringify(value)) as Json)

describe('canonical JSON', () => {
  it.for<[Json, string]>([
    [null, 'null'],
    [[], '[]'],
    [{}, '{}'],
    [[[], {}, [[]]], '[[],{},[[]]]'],
    [{ b: [1, 'x"', true], a: { d: null, c: -1.5 } }, '{"a":{"c":-1.5,"d":null},"b":[1,"x\\"",true]}'],
    [JSON.parse('{"b":1,"__proto__":{"a":1e21}}'), '{"__proto__":{"a":1e+21},"b":1}'],
  ])('is %j', ([value, text]) => expect(canonicalJson(value)).toBe(text))

  it('parses to the original value and ignores field order', () =>
    fc.assert(
      fc.property(json(), value => {
        expect(JSON.parse(canonicalJson(value))).toEqual(value)
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value))
      }),
    ))

  it('is written in chunks on demand if it is long', () => {
    const value = Array.from({ length: 100_000 }, (_, index) => ({ b: index, a: [] }))
    let visited = 0
    const pieces = canonicalPieces(value, () => visited++)
    const [first] = pieces
    expect(first?.length).toBeLessThan(70_000)
    expect(visited).toBeLessThan(20_000)
    expect([...canonicalPieces(value)].join('')).toBe(canonicalJson(value))
  })
})

describe('the hash of an output', () => {
  it('is the same for equal values, even long ones', async () => {
    const value = Array.from({ length: 20_000 }, (_, index) => ({ b: index, a: 'x' }))
    const [left, right] = [JSON.stringify(value), JSON.stringify(reversed(value))]
    expect(left).not.toBe(right)
    expect(await hashOutput(left)).toBe(await hashOutput(right))
    expect(await isSameOutput(left, right)).toBe(true)
    expect(await isSameOutput(left, left.replace('"x"', '"y"'))).toBe(false)
  })
})
