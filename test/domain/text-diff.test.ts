import fc from 'fast-check'
import { describe, it } from 'vitest'
import { diffLines, type LineChange } from '../../src/domain/text-diff.ts'
import { MAX_CONTENT_BYTES, MAX_DIFF_EDITS } from '../../src/limits.ts'

/** The text before or after a diff: the diff's lines, except those with the given op. */
const without = (op: LineChange['op'], lines: readonly LineChange[]): string =>
  lines
    .filter(line => line.op !== op)
    .map(({ text }) => text)
    .join('\n')

/** Only a few different lines, so that the strings have much in common. */
const aText = fc.array(fc.constantFrom('', 'a', 'b', 'c\r', 'ä 😀'), { maxLength: 30 }).map(lines => lines.join('\n'))

const numbered = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`)

const ops = (lines: readonly LineChange[]): string =>
  lines.map(({ op }) => ({ same: '=', remove: '-', add: '+' })[op]).join('')

describe('the diff between two strings', () => {
  it('turns the first into the second, and back', ({ expect }) => {
    fc.assert(
      fc.property(aText, aText, (before, after) => {
        const { lines } = diffLines(before, after)
        expect(without('add', lines)).toBe(before)
        expect(without('remove', lines)).toBe(after)
      }),
      { numRuns: 2000 },
    )
  })

  it('lists removals before additions, and only equal lines as equal', ({ expect }) => {
    fc.assert(
      fc.property(aText, aText, (before, after) => {
        const shown = ops(diffLines(before, after).lines)
        expect(shown).not.toContain('+-')
        expect(/^=*$/.test(shown)).toBe(before === after)
      }),
      { numRuns: 500 },
    )
  })

  it.for([
    ['a changed line', 'a\nb\nc', 'a\nx\nc', '=-+='],
    ['an added line', 'a\nc', 'a\nb\nc', '=+='],
    ['a removed line', 'a\nb\nc', 'a\nc', '=-='],
    ['two places', 'a\nb\nc\nd\ne', 'a\nx\nc\ny\nz\ne', '=-+=-++='],
    ['a trailing newline', 'a', 'a\n', '=+'],
    ['different newlines', 'a\nb', 'a\r\nb', '-+='],
    ['a moved line', 'a\nb\nc\nd', 'b\nc\nd\na', '-===+'],
    ['a repeated line', 'a\na', 'a\na\na', '==+'],
    ['nothing in common', 'a\nb', 'c', '--+'],
  ] as const)('shows %s', ([, before, after, expected], { expect }) => {
    expect(ops(diffLines(before, after).lines)).toBe(expected)
  })

  it('replaces everything between the first and the last difference if too much differs', ({ expect }) => {
    const [old, fresh] = [numbered('a', MAX_DIFF_EDITS), numbered('b', MAX_DIFF_EDITS)]
    const shared = ['shared']
    const { lines, isMinimal } = diffLines(
      ['first', ...old, ...shared, ...old, 'last'].join('\n'),
      ['first', ...fresh, ...shared, ...fresh, 'last'].join('\n'),
    )
    const differing = 2 * MAX_DIFF_EDITS + 1
    expect(ops(lines)).toBe(`=${'-'.repeat(differing)}${'+'.repeat(differing)}=`)
    expect(isMinimal).toBe(false)
  })

  const most = MAX_CONTENT_BYTES / 2 - 10_000
  const middle = (count: number) => Array.from({ length: count }, () => 'x')
  it.for<[string, string[], string[]]>([
    ['short lines that all differ', numbered('a', 40_000), numbered('b', 40_000)],
    ['empty lines', ['a', ...Array(most).fill(''), 'b'], ['c', ...Array(most).fill(''), 'd']],
    [
      'lines that match along many diagonals',
      [...numbered('a', 900), ...middle(100_000), ...numbered('b', 900)],
      [...numbered('c', 900), ...middle(100_000), ...numbered('d', 900)],
    ],
    [
      'two lines in any order',
      numbered('', 100_000).map(number => ((Math.imul(Number(number), 2_654_435_761) >>> 16) % 2 === 0 ? 'a' : 'b')),
      numbered('', 100_000).map(number => ((Math.imul(Number(number), 1_597_334_677) >>> 16) % 2 === 0 ? 'a' : 'b')),
    ],
  ])('is fast even for the longest strings: %s', ([, before, after], { expect }) => {
    const { lines } = diffLines(before.join('\n'), after.join('\n'))
    expect(without('add', lines) === before.join('\n')).toBe(true)
    expect(without('remove', lines) === after.join('\n')).toBe(true)
  })
})
