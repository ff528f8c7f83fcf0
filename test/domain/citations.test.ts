import { describe, it } from 'vitest'
import { citationsIn } from '../../src/domain/citations.ts'

const NAMES = ['warranty', 'returns-2', 'loyalty#1', 'faq.md', 'Loyalty program', '1', '2']
const isName = (name: string): boolean => NAMES.includes(name)

describe('citations in text', () => {
  it.for([
    ['in brackets', '24 months [warranty, 2]; see 【1】 and (returns-2).', ['warranty', '2', '1', 'returns-2']],
    ['in a list', 'sources: warranty; Loyalty program.', ['warranty', 'Loyalty program']],
    ['in code', 'see `warranty`', ['warranty']],
    ['as the whole text', ' warranty\n', ['warranty']],
    [
      'by names that are not ordinary words',
      '“returns-2”, **loyalty#1**: faq.md!',
      ['returns-2', 'loyalty#1', 'faq.md'],
    ],
    ['once each', 'Source: returns-2 [returns-2]', ['returns-2', 'returns-2']],
    ['not as a word', 'The warranty of the Loyalty program.', []],
    ['not as part of a name', 'returns-20, my-returns-2, faq.mdx', []],
    ['not as a count', '2 of them (2), `2`; sources: 2', []],
    ['not in another case', '[Warranty]', []],
    ['not across lines', '[warranty\n]', []],
  ] as const)('are found %s', ([, text, names], { expect }) => {
    const found = citationsIn(text, isName)
    expect(found.map(({ name }) => name)).toEqual(names)
    expect(found.map(({ start, end }) => text.slice(start, end))).toEqual(names)
  })

  it('are found in long or hostile text', ({ expect }) => {
    for (const piece of ['a', '[', '(a', 'source ', 'docs:', '`', '-', '1,', '[a']) {
      const text = piece.repeat(300_000)
      expect(citationsIn(`${text} \n[warranty]`, isName).at(-1)?.name).toBe('warranty')
    }
  })
})
