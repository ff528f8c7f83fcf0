import { describe, it } from 'vitest'
import { snippetIn, snippetInJson, soughtText, stringsIn } from '../../src/domain/text-search.ts'
import { MAX_SOUGHT_LENGTH, SNIPPET_LENGTH } from '../../src/limits.ts'

const find = (value: unknown, text: string) => snippetInJson(JSON.stringify(value), soughtText(text))

describe('text is found', () => {
  it.for([
    ['in a string', 'The warranty is void.', 'warranty'],
    ['in another case', 'WARRANTY', 'wArRaNtY'],
    ['with accents in another case', 'ÉCOLE', 'école'],
    ['in Greek, with either small sigma', 'ΟΔΟΣ', 'οδος'],
    ['in Cyrillic', 'ГАРАНТИЯ', 'гарантия'],
    ['with a capital sharp s', 'STRAẞE', 'straße'],
    ['in a script beyond 16 bits', '𐐀𐐁𐐂', '𐐨𐐩𐐪'],
    ['with the sign for Kelvin', '300 \u212aelvin', 'kelvin'],
    ['with a dotted capital I as written', 'İSTANBUL', 'İstanbul'],
    ['with characters that are wildcards in other languages', 'costs 5.00% (a_b)', '5.00% (A_B)'],
    ['with quotes', 'He said "yes" twice', '"YES"'],
    ['with a backslash', 'C:\\temp\\file', '\\TEMP\\'],
    ['across lines', 'one\ntwo', 'one\ntwo'],
    ['after an escape', 'tab\tthen warranty', 'warranty'],
    ['among control characters', 'a\u0001warranty', 'warranty'],
    ['in a deep leaf', { a: [{ b: ['x', { c: 'warranty' }] }] }, 'warranty'],
    ['in a key', { warranty_terms: 1 }, 'warranty'],
    ['in JSON inside a string', JSON.stringify({ text: 'warranty' }), '{"text":"warr'],
  ] as const)('%s', ([, value, text], { expect }) => {
    expect(find(value, text)).toBeDefined()
  })

  it.for([
    ['in a number', { a: 12345 }, '234'],
    ['in a literal', { a: true, b: null }, 'true'],
    ['across a key and its value', { one: 'two' }, 'one":"two'],
    ['across items', ['one', 'two'], 'onetwo'],
    ['with a wildcard', 'warranty', 'w%y'],
    ['by half of a character', '😀', '\ud83d\ud83d\ud83d'],
    ['in the escapes of JSON', 'line\nbreak', '\\nb'],
    ['in an escaped character code', '\u0001', 'u0001'],
  ] as const)('but not %s', ([, value, text], { expect }) => {
    expect(find(value, text)).toBeUndefined()
  })

  it('in JSON that escapes more characters than it needs to', ({ expect }) => {
    expect(snippetInJson('{"caf\\u00e9":1}', soughtText('café'))).toBe('café')
    expect(snippetInJson('"a\\/b"', soughtText('a/b'))).toBe('a/b')
  })
})

describe('the strings of JSON that is cut off', () => {
  const value = { 'k"ey': ['one\\', 'tw"o', 'thr\u0001ee', '😀'], n: 1, end: 'x' }
  const json = JSON.stringify(value)

  it('are those of the whole value, except for the last one, which is cut off', ({ expect }) => {
    const whole = [...stringsIn(json)]
    expect(whole).toEqual(['k"ey', 'one\\', 'tw"o', 'thr\u0001ee', '😀', 'n', 'end', 'x'])
    for (let length = 0; length < json.length; length++) {
      const cut = [...stringsIn(json.slice(0, length))]
      const last = cut.pop() ?? ''
      expect(cut).toEqual(whole.slice(0, cut.length))
      expect(whole[cut.length]?.startsWith(last)).toBe(true)
    }
  })
})

describe('a snippet', () => {
  const around = (before: string, after: string, text = 'warranty') =>
    snippetIn(before + text + after, soughtText(text))

  it('shows a short string in full', ({ expect }) => {
    expect(around('The ', ' is void.')).toBe('The warranty is void.')
  })

  it.for([
    ['the beginning', '', 'x'.repeat(500)],
    ['the end', 'x'.repeat(500), ''],
    ['the middle', 'x'.repeat(500), 'y'.repeat(500)],
  ] as const)(
    'of a long string has the maximum length at %s, and shows where it is cut',
    ([, before, after], { expect }) => {
      const snippet = around(before, after) ?? ''
      expect(snippet).toContain('warranty')
      expect(snippet.replaceAll('…', '')).toHaveLength(SNIPPET_LENGTH)
      expect([snippet.startsWith('…'), snippet.endsWith('…')]).toEqual([before !== '', after !== ''])
    },
  )

  it.for(['😀', '👩‍👩‍👧‍👦', 'e\u0301', '🇩🇪'])('never splits %s', (character, { expect }) => {
    for (let shift = 0; shift < 12; shift++) {
      const snippet = around(' '.repeat(shift) + character.repeat(99), character.repeat(99)) ?? ''
      expect(snippet.isWellFormed()).toBe(true)
      const [left = '', right = ''] = snippet.replaceAll('…', '').trim().split('warranty')
      expect(left.replaceAll(character, '')).toBe('')
      expect(right.replaceAll(character, '')).toBe('')
    }
  })

  it('shows a long match in full, and a character with a thousand accents in part', ({ expect }) => {
    const text = 'word '.repeat(MAX_SOUGHT_LENGTH / 5)
    expect(around('a'.repeat(500), 'b'.repeat(500), text)).toContain(text)
    const accents = '\u0301'.repeat(1000)
    const snippet = around(`e${accents}`, `e${accents}`) ?? ''
    expect(snippet).toContain('\u0301warranty')
    expect(snippet.length).toBeLessThan(SNIPPET_LENGTH + 3)
  })
})
