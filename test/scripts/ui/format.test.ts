import { describe, it } from 'vitest'
import { count, counted, dollarColumn, dollars, duration, share } from '../../../src/ui/parts/format.ts'

/** Removes separators, which depend on the locale that the tests run in. */
const digits = (text: string): string => text.replaceAll(/[^\d–<>-]/g, '')

describe('count', () => {
  it('shows every digit', ({ expect }) => {
    expect([0, 7, 1_234, 12_345_678].map(value => digits(count(value)))).toEqual(['0', '7', '1234', '12345678'])
  })
})

describe('counted', () => {
  it('uses the singular for one', ({ expect }) => {
    expect([0, 1, 2].map(value => counted(value, 'item'))).toEqual(['0 items', '1 item', '2 items'])
  })
})

describe('dollars', () => {
  it.for([
    [0, '0.00'],
    [1_234.5, '1,234.50'],
    [0.1, '0.10'],
    [0.0123, '0.01'],
    [0.00999, '0.01'],
    [0.0099, '0.0099'],
    [0.00018, '0.00018'],
  ] as const)('shows %s as $%s', ([amount, text], { expect }) => {
    expect(dollars(amount).replaceAll(/[^\d.,]/g, '')).toBe(text)
  })
})

describe('dollarColumn', () => {
  it.for([
    [
      [0.02031, 0.003, 0.0034, 0.000084, 0],
      ['0.0203', '0.0030', '0.0034', '<0.0001', '0.0000'],
    ],
    [
      [12.5, 0.4, 0.001],
      ['12.50', '0.40', '<0.01'],
    ],
    [
      [0.1, 0.09],
      ['0.100', '0.090'],
    ],
    [[0], ['0.00']],
  ] as const)('shows %s with the same number of decimals', ([amounts, texts], { expect }) => {
    const format = dollarColumn(amounts)
    expect(amounts.map(amount => format(amount).replaceAll(/[^\d.,<]/g, ''))).toEqual(texts)
  })
})

describe('share', () => {
  it('is a percentage without decimals', ({ expect }) => {
    expect(digits(share(1, 3))).toBe('33')
    expect(digits(share(2, 3))).toBe('67')
    expect(digits(share(0, 5))).toBe('0')
    expect(digits(share(5, 5))).toBe('100')
  })

  it("doesn't round to 0 or 100 percent", ({ expect }) => {
    expect(digits(share(999, 1_000))).toBe('>99')
    expect(digits(share(1, 1_000))).toBe('<1')
  })

  it('is a dash if the total is 0', ({ expect }) => {
    expect(share(0, 0)).toBe('–')
  })
})

describe('duration', () => {
  it.for([
    [null, '–'],
    [0, '0 ms'],
    [0.4, '0 ms'],
    [840, '840 ms'],
    [999, '999 ms'],
    [999.6, '1.0 s'],
    [1_000, '1.0 s'],
    [1_249, '1.2 s'],
    [59_949, '59.9 s'],
    [59_950, '1 min 0 s'],
    [60_000, '1 min 0 s'],
    [185_000, '3 min 5 s'],
    [3_599_499, '59 min 59 s'],
    [3_599_500, '1 h 0 min'],
    [7_800_000, '2 h 10 min'],
    [90_000_000, '25 h 0 min'],
  ] as [number | null, string][])('formats %j as %s', ([milliseconds, text], { expect }) => {
    expect(duration(milliseconds)).toBe(text)
  })
})
