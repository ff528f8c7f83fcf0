import type { Json } from '../../domain/json.ts'
import { spend } from '../effort.ts'
import { numbersOf, plain } from '../text/terms.ts'
import {
  ABOVE,
  AT_LEAST,
  BELOW,
  FROM_TO,
  LENGTH,
  NUMBER_WORDS,
  PROHIBITION,
  RULE_NAMES,
  UNITS_OF_LENGTH,
} from '../text/vocabulary.ts'
import { isNothing } from './difference.ts'
import type { Scene } from './scene.ts'
import { locationOf, textsIn } from './sources.ts'

/** Text that says what an output should be, or a sentence in it, and where it is. */
export interface Passage {
  text: string
  spanId: string | null
  path: string
}

/** The prompts, and any rules that the run received in its state. */
export function guidelinesOf({ prompts, visible }: Scene): Passage[] {
  const given = visible.filter(({ path, kind }) => kind === 'state' && RULE_NAMES.test(path))
  return [...prompts, ...given].map(source => ({ text: wordingOf(source.value).join('\n'), ...locationOf(source) }))
}

/** Splits passages into sentences and lines, each with its passage's place. */
export const sentencesOf = (passages: readonly Passage[]): Passage[] =>
  passages.flatMap(passage => sentencesIn(passage.text).map(text => ({ ...passage, text })))

function sentencesIn(text: string): string[] {
  spend(2 * text.length)
  return text.split(/(?<=[.!?。！？])\s+|\n+|(?<=[。！？])/u).filter(sentence => /\p{L}/u.test(sentence))
}

/** Whether a sentence forbids something or restricts the output to something. */
export function forbids({ text }: Passage): boolean {
  spend(text.length)
  return PROHIBITION.test(text)
}

/** The texts in a value. Empty if the value is. */
export const wordingOf = (value: Json | undefined): string[] => (isNothing(value) ? [] : textsIn(value))

/** An upper limit on length. */
interface Limit {
  /** The original text. */
  text: string
  /** In the unit that `count` uses. */
  most: number
  count: (text: string) => number
}

/** Measures a string in each unit that prompts use for limits. */
const COUNTS: Readonly<Record<keyof typeof UNITS_OF_LENGTH, (text: string) => number>> = {
  words: text => text.trim().split(/\s+/u).length,
  characters: text => [...text].length,
  sentences: text => text.split(/(?<![.!?。！？])[.!?。！？]+(?:\s|$)/u).filter(part => /\p{L}/u.test(part)).length,
  lines: text => text.split('\n').filter(line => line.trim() !== '').length,
}

const counting = (count: (text: string) => number) => (text: string) => {
  spend(text.length)
  return count(text)
}

const UNITS = ['words', 'characters', 'sentences', 'lines'] as const

/** The upper limits on length that a passage mentions. */
export function limitsIn(text: string): Limit[] {
  spend(2 * text.length)
  const sentences = sentencesIn(text).filter(sentence => !AT_LEAST.test(sentence))
  return sentences.flatMap(sentence =>
    [...sentence.matchAll(LENGTH)].flatMap(([whole, first = '', last, word = '']) => {
      const unit = UNITS.find(candidate => UNITS_OF_LENGTH[candidate].test(word))
      const most = last ? Number(last) : /^\d+$/.test(first) ? numbersOf(first)[0] : NUMBER_WORDS.get(plain(first))
      return unit && most ? [{ text: whole, most, count: counting(COUNTS[unit]) }] : []
    }),
  )
}

/** A range that includes both ends. */
export interface Bounds {
  readonly from: number
  readonly to: number
}

/** The range of numbers that a sentence gives. Undefined if it gives none. */
export function boundsIn(sentence: string): Bounds | undefined {
  spend(3 * sentence.length)
  const numberOf = (text: string | undefined) => (text === undefined ? Number.NaN : (numbersOf(text)[0] ?? Number.NaN))
  const [, from, to] = FROM_TO.exec(sentence) ?? []
  if (from && to) return { from: numberOf(from), to: numberOf(to) }
  const above = ABOVE.exec(sentence)
  if (above) return { from: numberOf(above[1] ?? above[2]), to: Number.POSITIVE_INFINITY }
  const below = BELOW.exec(sentence)
  return below ? { from: Number.NEGATIVE_INFINITY, to: numberOf(below[1]) } : undefined
}
