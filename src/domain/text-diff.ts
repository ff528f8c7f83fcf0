import { diffArrays } from 'diff'
import { MAX_DIFF_EDITS, MAX_DIFF_STEPS } from '../limits.ts'

/** A line of either text, without its newline. */
export interface LineChange {
  op: 'same' | 'add' | 'remove'
  text: string
}

/** The changes that turn one text into another. */
export interface TextDiff {
  lines: LineChange[]
  /** Whether this diff is minimal: no other diff removes and adds fewer lines. */
  isMinimal: boolean
}

/**
 * Compares two strings line by line. In order, the `same` and `remove` lines form the first string, and the `same` and
 * `add` lines form the second. Removed lines come before added ones. If the texts have too little in common to compare
 * in bounded time, everything between the first and the last difference is removed and added.
 */
export function diffLines(before: string, after: string): TextDiff {
  const [old, fresh] = [before.split('\n'), after.split('\n')]
  const shorter = Math.min(old.length, fresh.length)
  const begin = countWhile(shorter, index => old[index] === fresh[index])
  const end = countWhile(shorter - begin, index => old.at(-1 - index) === fresh.at(-1 - index))
  const middle = diffMiddle(old.slice(begin, old.length - end), fresh.slice(begin, fresh.length - end))
  const lines = [
    ...changes('same', old.slice(0, begin)),
    ...middle.lines,
    ...changes('same', old.slice(old.length - end)),
  ]
  return { lines, isMinimal: middle.isMinimal }
}

function diffMiddle(old: readonly string[], fresh: readonly string[]): TextDiff {
  // Compares numbers instead of lines, because comparing long equal lines is slow.
  const numbers = new Map<string, number>()
  const numberOf = (line: string): number => {
    const number = numbers.get(line) ?? numbers.size
    numbers.set(line, number)
    return number
  }
  const maxEditLength = Math.min(MAX_DIFF_EDITS, Math.floor(MAX_DIFF_STEPS / (old.length + fresh.length)))
  const parts = diffArrays(old.map(numberOf), fresh.map(numberOf), { maxEditLength })
  const isMinimal = parts !== undefined || old.length === 0 || fresh.length === 0
  if (!parts) return { lines: [...changes('remove', old), ...changes('add', fresh)], isMinimal }
  const pieces: LineChange[][] = []
  let [oldStart, oldEnd, freshStart, freshEnd] = [0, 0, 0, 0]
  for (const { count, added, removed } of [...parts, END]) {
    if (removed) oldEnd += count
    else if (added) freshEnd += count
    else {
      pieces.push(
        changes('remove', old.slice(oldStart, oldEnd)),
        changes('add', fresh.slice(freshStart, freshEnd)),
        changes('same', old.slice(oldEnd, oldEnd + count)),
      )
      oldStart = oldEnd += count
      freshStart = freshEnd += count
    }
  }
  return { lines: pieces.flat(), isMinimal }
}

/** An empty run of equal lines that marks the end of the last difference. */
const END = { count: 0, added: false, removed: false }

const changes = (op: LineChange['op'], lines: readonly string[]): LineChange[] => lines.map(text => ({ op, text }))

/** Counts how many numbers in a row, from 0 up to `limit`, pass the test. */
function countWhile(limit: number, holds: (index: number) => boolean): number {
  let count = 0
  while (count < limit && holds(count)) count++
  return count
}
