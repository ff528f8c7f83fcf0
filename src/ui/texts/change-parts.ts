import type { TextChange } from '../../domain/suggestion.ts'

/** A change, with the rest of the lines that it's in. */
export interface ChangeParts {
  lead: string
  removed: string
  added: string
  tail: string
}

/** How much of a long line to show around a change. */
const MAX_CONTEXT = 240

/**
 * Splits a change into the words that it removes and adds, and the rest of the lines that it's in. `base` is the old
 * prompt.
 */
export function partsOf(base: string, { start, before, after }: TextChange): ChangeParts {
  const [old, fresh] = [wordsOf(before), wordsOf(after)]
  const shorter = Math.min(old.length, fresh.length)
  const begin = countWhile(shorter, index => old[index] === fresh[index])
  const end = countWhile(shorter - begin, index => old.at(-1 - index) === fresh.at(-1 - index))
  const middleOf = (words: string[]) => words.slice(begin, words.length - end).join('')
  const left = base.slice(0, start) + old.slice(0, begin).join('')
  const right = old.slice(old.length - end).join('') + base.slice(start + before.length)
  return {
    lead: shortenedStart(left.slice(left.lastIndexOf('\n') + 1)),
    removed: middleOf(old),
    added: middleOf(fresh),
    tail: shortenedEnd(right.split('\n', 1)[0] ?? ''),
  }
}

/** Words, and each character between them. */
const wordsOf = (text: string): string[] => text.match(/[\p{L}\p{N}\p{M}_]+|./gsu) ?? []

const shortenedStart = (text: string): string =>
  text.length > MAX_CONTEXT ? `…${text.slice(-MAX_CONTEXT).toWellFormed()}` : text
const shortenedEnd = (text: string): string =>
  text.length > MAX_CONTEXT ? `${text.slice(0, MAX_CONTEXT).toWellFormed()}…` : text

/** How many consecutive numbers pass the test, starting with 0 and stopping before `limit`. */
function countWhile(limit: number, holds: (index: number) => boolean): number {
  let count = 0
  while (count < limit && holds(count)) count++
  return count
}
