import fc from 'fast-check'
import { describe, it } from 'vitest'
import type { Json } from '../../src/domain/json.ts'
import { utf8Length } from '../../src/domain/text.ts'
import { MIN_VALUE_BYTES } from '../../src/limits.ts'
import { fitted, lengthOf, valueAt } from '../../src/mcp/fitted.ts'
import { safeValue } from '../../src/mcp/safe-text.ts'

const bytesOf = (value: Json) => utf8Length(JSON.stringify(value))
const json = fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' }) as fc.Arbitrary<Json>

/** Reads a whole value through answers of limited size, as an agent would. */
function readAll(root: Json, maxBytes: number, path = '', start = 0): Json {
  const value = valueAt(root, path)
  if (value === undefined) throw new Error(`There is nothing at ${path}`)
  const shown = fitted(value, maxBytes, { path, start })
  const own = shown.shortened.find(place => place.path === path)
  const rest = own && readAll(root, maxBytes, path, own.continuesAt)
  if (typeof shown.value === 'string') {
    return own ? `${shown.value.slice(0, -1)}${String(rest)}` : shown.value
  }
  const whole: Json = structuredClone(shown.value)
  for (const place of shown.shortened) {
    const [, token] = place.path.slice(path.length).split('/')
    if (token === undefined || whole === null || typeof whole !== 'object') continue
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~')
    const part = readAll(root, maxBytes, `${path}/${token}`)
    if (Array.isArray(whole)) whole[Number(name) - start] = part
    else Object.defineProperty(whole, name, { value: part, enumerable: true, configurable: true, writable: true })
  }
  if (Array.isArray(whole)) return [...whole, ...(Array.isArray(rest) ? rest : [])]
  return typeof whole === 'object' && whole !== null && rest !== undefined && typeof rest === 'object'
    ? Object.fromEntries([...Object.entries(whole), ...Object.entries(rest ?? {})])
    : whole
}

describe('a shortened value', () => {
  it('never exceeds its limit, and isn’t shortened if it fits', ({ expect }) => {
    fc.assert(
      fc.property(json, fc.integer({ min: MIN_VALUE_BYTES, max: 2000 }), (value, maxBytes) => {
        const { value: shown, shortened } = fitted(value, maxBytes)
        expect(bytesOf(shown)).toBeLessThanOrEqual(maxBytes)
        if (bytesOf(value) <= maxBytes) expect([shown, shortened]).toEqual([value, []])
        else expect(shortened).not.toEqual([])
      }),
    )
  })

  it('can be read to its end', ({ expect }) => {
    const names = fc.string({ unit: 'binary', maxLength: 8 })
    const texts = fc.string({ unit: 'binary', maxLength: 300 })
    const values = fc.letrec<{ value: Json }>(tie => ({
      value: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        fc.oneof(texts, fc.integer(), fc.constant(null)),
        fc.array(tie('value'), { maxLength: 12 }),
        fc.dictionary(names, tie('value'), { maxKeys: 12 }),
      ),
    })).value
    fc.assert(
      fc.property(values, fc.integer({ min: 2 * MIN_VALUE_BYTES, max: 800 }), (value, maxBytes) => {
        expect(readAll(value, maxBytes)).toEqual(value)
      }),
    )
  })

  it.for([
    ['long text', { long: 'x'.repeat(10_000), id: 'short' }, 200, [['/long', 'characters', 10_000]]],
    ['many items', { items: Array.from({ length: 1000 }, (_, index) => index) }, 200, [['/items', 'items', 1000]]],
    ['names with slashes', { 'a/b~c': 'x'.repeat(1000) }, 200, [['/a~1b~0c', 'characters', 1000]]],
  ] as const)('lists what it shortened: %s', ([, value, maxBytes, expected], { expect }) => {
    const { shortened } = fitted(structuredClone(value) as unknown as Json, maxBytes)
    expect(shortened.map(({ path, unit, total }) => [path, unit, total])).toEqual(expected)
  })

  it('keeps short values next to long ones', ({ expect }) => {
    const { value } = fitted({ spans: ['x'.repeat(5000), 'y'], nextCursor: 'c'.repeat(100) }, 500)
    expect(value).toMatchObject({ spans: [expect.any(String), 'y'], nextCursor: 'c'.repeat(100) })
  })

  it('never ends in the middle of a character', ({ expect }) => {
    for (let maxBytes = MIN_VALUE_BYTES; maxBytes < MIN_VALUE_BYTES + 8; maxBytes++) {
      expect(String(fitted('😀'.repeat(100), maxBytes).value).isWellFormed()).toBe(true)
    }
  })
})

describe('a place in a value', () => {
  it.for([
    ['', { a: [1] }],
    ['/a/0', 1],
    ['/a/1', undefined],
    ['/a/00', undefined],
    ['/a/length', undefined],
    ['/toString', undefined],
    ['/__proto__', undefined],
    ['a', undefined],
  ] as const)('%s', ([pointer, expected], { expect }) => {
    expect(valueAt({ a: [1] }, pointer)).toEqual(expected)
  })

  it('has a length', ({ expect }) => {
    expect([lengthOf('abc'), lengthOf([1, 2]), lengthOf({ a: 1 }), lengthOf(7)]).toEqual([3, 2, 1, 0])
  })
})

describe('safe text', () => {
  it.for([
    ['text-direction marks', 'a\u202eb\u2066', 'a[U+202E]b[U+2066]'],
    ['zero-width spaces', 'a\u200bb\ufeff', 'a[U+200B]b[U+FEFF]'],
    ['tags', '\u{e0041}\u{e007f}', '[U+E0041][U+E007F]'],
    ['hidden data in variation selectors', 'a\u{e0100}', 'a[U+E0100]'],
    ['control characters', '\u001b[31m\u0000\u0085', '[U+001B][31m[U+0000][U+0085]'],
    ['line separators', 'a\u2028b', 'a[U+2028]b'],
    ['ordinary text, with line breaks', 'a\n\tb\r\nc é 漢', 'a\n\tb\r\nc é 漢'],
    ['the joiners of scripts and emoji', 'می\u200cخواهم 👩\u200d💻 ❤\ufe0f', 'می\u200cخواهم 👩\u200d💻 ❤\ufe0f'],
  ] as const)('shows %s', ([, text, shown], { expect }) => {
    expect(safeValue({ [text]: [text] })).toEqual({ [shown]: [shown] })
  })
})
