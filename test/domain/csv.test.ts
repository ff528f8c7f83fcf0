import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import { csvRow, jsonCell, textCell } from '../../src/domain/csv.ts'
import { parseCsv } from '../support/csv.ts'

describe('csvRow', () => {
  it('quotes cells with commas, quotes, and line breaks', ({ expect }) => {
    expect(csvRow(['a', '', 'b,c', 'say "hi"', 'two\nlines', 'é😀', ' x '])).toBe(
      'a,,"b,c","say ""hi""","two\nlines",é😀, x \r\n',
    )
  })

  it('can be read back', () => {
    const cell = fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[",\r\n ']{0,9}$/))
    const rows = fc.array(fc.array(cell, { minLength: 1 }))
    fc.assert(
      fc.property(rows, rows => {
        const read = parseCsv(rows.map(csvRow).join(''))
        if (JSON.stringify(read) !== JSON.stringify(rows)) throw new Error(`read ${JSON.stringify(read)}`)
      }),
    )
  })
})

describe('a cell', () => {
  it.for(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1'])('never contains a formula: %j', (text, { expect }) => {
    expect(textCell(text)).toBe(`'${text}`)
    expect(jsonCell(JSON.stringify(text))).toBe(`'${text}`)
  })

  it.for([
    ['-5', '-5'],
    ['1.5e+30', '1.5e+30'],
    ['true', 'true'],
    ['null', ''],
    ['""', ''],
    ['"a=1"', 'a=1'],
    ['{"a":"=1"}', '{"a":"=1"}'],
    ['[1,"-2"]', '[1,"-2"]'],
    ['"null"', 'null'],
  ] as const)('shows %s as %j', ([json, cell], { expect }) => {
    expect(jsonCell(json)).toBe(cell)
  })
})
