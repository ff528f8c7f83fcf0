import { describe, expect, it } from 'vitest'
import { differenceOf } from '../../src/attribution/evidence/difference.ts'
import { applyCorrection } from '../../src/attribution/evidence/dispute.ts'

describe('two values', () => {
  it.for([
    ['a date in a different format', { due: '03/04/2026' }, { due: '2026-04-03' }],
    ['a number as a string', { total: '1 336,00' }, { total: 1336 }],
    ['other capitals and punctuation', { queue: 'Billing-Team' }, { queue: 'billing team' }],
  ] as const)('differ only in format: %s', ([, output, approved]) => {
    const { changes, formatChanges } = differenceOf(output as never, approved as never)
    expect({ changes, hasFormatChanges: formatChanges.length > 0 }).toEqual({ changes: [], hasFormatChanges: true })
  })

  it.for([
    ['a number', { total: 4310 }, { total: 1310 }],
    ['a unit', { paid: '1336 EUR' }, { paid: '1336 USD' }],
    ['an extra word', { paid: '1336 EUR' }, { paid: 'not 1336 EUR' }],
    [
      'a whole sentence in which one word differs',
      'Je aanvraag voor een nieuwe afvalcontainer is vandaag goedgekeurd.',
      'Uw aanvraag voor een nieuwe afvalcontainer is vandaag goedgekeurd.',
    ],
    ['true for false', { covered: false }, { covered: true }],
  ] as const)('differ in meaning: %s', ([, output, approved]) => {
    expect(differenceOf(output as never, approved as never).changes).toHaveLength(1)
  })

  it('don’t differ if only the order of their items differs', () => {
    expect(differenceOf(['a', 'b'], ['b', 'a'])).toMatchObject({ changes: [], formatChanges: [] })
  })

  it('differ in a replaced word that still occurs elsewhere', () => {
    const { lost, gained } = differenceOf(
      'We asked for a chair for Ben and a meal for Ben.',
      'We asked for a chair for Ruth and a meal for Ben.',
    )
    expect([[...lost.words.keys()], [...gained.words.keys()]]).toEqual([['ben'], ['ruth']])
  })

  it('differ in the list item that changed, even if the items moved', () => {
    const { changes } = differenceOf(
      {
        items: [
          { art: '4711', qty: 2 },
          { art: '4715', qty: 1 },
        ],
      },
      {
        items: [
          { art: '4715', qty: 1 },
          { art: '4711', qty: 3 },
        ],
      },
    )
    expect(changes).toEqual([{ path: 'items[1].qty', before: 2, after: 3 }])
  })
})

describe('a correction', () => {
  it.for([
    ['of one field keeps the others', { a: 1, b: 2 }, { b: 3 }, { a: 1, b: 3 }],
    [
      'changes a nested field',
      { case: { date: null, place: 'x' } },
      { date: '2026-01-17' },
      { case: { date: '2026-01-17', place: 'x' } },
    ],
    ['of plain text may use any field name', 'It is 12.', { answer: 'It is 24.' }, 'It is 24.'],
    [
      'adds a field to an object',
      { summary: 's', tasks: [] },
      { risks: ['r'] },
      { summary: 's', tasks: [], risks: ['r'] },
    ],
    ['replaces a missing output', null, { queue: 'billing', level: 2 }, { queue: 'billing', level: 2 }],
  ] as const)('%s', ([, output, correction, expected]) => {
    expect(applyCorrection(output as never, correction as never)).toEqual(expected)
  })
})
