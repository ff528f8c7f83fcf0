import fc from 'fast-check'
import { describe, it } from 'vitest'
import type { Json } from '../../src/domain/json.ts'
import { parseBeginning } from '../../src/domain/json-beginning.ts'

describe('the beginning of a JSON text', () => {
  it.for([
    ['"How long is', 'How long is'],
    ['"a \\"quoted\\" wo', 'a "quoted" wo'],
    ['"a half escape \\', 'a half escape '],
    ['"a half escape \\u00e', 'a half escape '],
    ['{"question":"How lo', { question: 'How lo' }],
    ['{"question":"How long?","loca', { question: 'How long?' }],
    ['{"question":"How long?","locale":', { question: 'How long?' }],
    ['{"question":"How long?","isNew":tr', { question: 'How long?' }],
    [
      '[{"role":"user","content":[{"type":"text","text":"Hi',
      [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
    ],
    ['["a, b]", {', ['a, b]', {}]],
    ['{"a":{"b":[]},', { a: { b: [] } }],
    ['{', {}],
    ['{"count":1', {}],
    ['[{},-3', [{}]],
    ['tru', undefined],
    ['', undefined],
  ] as const)('reads %s', ([json, value], { expect }) => {
    expect(parseBeginning(json)).toEqual({ value, isWhole: false })
  })

  it('is read as part of its value, wherever it was cut off', ({ expect }) => {
    fc.assert(
      // A number by itself is never cut, because it's short.
      fc.property(
        fc.json().filter(json => !/^[-\d]/.test(json)),
        fc.nat(),
        (json, nat) => {
          const value: Json = JSON.parse(json)
          const end = nat % (json.length + 1)
          const beginning = parseBeginning(json.slice(0, end))
          if (end === json.length) expect(beginning).toEqual({ value, isWhole: true })
          else if (beginning.value !== undefined) expect(isBeginningOf(beginning.value, value)).toBe(true)
          if (end > 0 && /^["[{]/.test(json)) expect(beginning.value).toBeDefined()
        },
      ),
    )
  })
})

/** Whether each part of the beginning equals the corresponding part of the value, or is the beginning of that part. */
function isBeginningOf(beginning: Json, value: Json): boolean {
  if (typeof beginning !== 'object' || beginning === null) return String(value).startsWith(String(beginning))
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(beginning).every(([field, item]) => {
    const inner = Object.entries(value).find(([name]) => name === field)
    return inner !== undefined && isBeginningOf(item, inner[1])
  })
}
