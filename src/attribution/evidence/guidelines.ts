import type { Json } from '../../domain/json.ts'
import { spend } from '../effort.ts'
import { numbersOf, plain } from '../text/terms.ts'
import {
  ABOVE,
  AT_LEAST,
  BELOW,
  FORBIDS,
  FROM_TO,
  LENGTH,
  NAMES_RULES,
  NUMBER_WORDS,
  UNITS_OF_LENGTH,
} from '../text/vocabulary.ts'
import { isNothing } from './difference.ts'
import type { Scene } from './scene.ts'
import { locationOf, textsIn } from './sources.ts'

/** A text that says what an output should be, or one sentence of it, with its place. */
export interface Passage {
  text: string
  spanId: string | null
  path: string
}

/** The prompts, and rules that the run received in state or settings. */
export function guidelinesOf({ prompts, visible }: Scene): Passage[] {
  const given = visible.filter(({ path, kind }) => kind === 'state' && NAMES_RULES.test(path))
  return [...prompts, ...given].map(source => ({ text: wordingOf(source.value).join('\n'), ...locationOf(source) }))
}

/** The sentences and lines of passages, each with its passage's place. */
export const sentencesOf = (passages: readonly Passage[]): Passage[] =>
  passages.flatMap(passage => sentencesIn(passage.text).map(text => ({ ...passage, text })))

function sentencesIn(text: string): string[] {
  spend(2 * text.length)
  return text.split(/(?<=[.!?。！？])\s+|\n+|(?<=[。！？])/u).filter(sentence => /\p{L}/u.test(sentence))
}

/** Whether a sentence forbids something or restricts to something. */
export function forbids({ text }: Passage): boolean {
  spend(text.length)
  return FORBIDS.test(text)
}

/** The texts in a value, or none if the value is empty. */
export const wordingOf = (value: Json | undefined): string[] => (isNothing(value) ? [] : textsIn(value))

/** An upper limit of length. */
interface Limit {
  /** The original text. */
  text: string
  /** In the unit of `count`. */
  most: number
  count: (text: string) => number
}

/** The length of a text in each unit that prompts use for limits. */
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

/** The upper limits of length in a text. */
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

/** The range of numbers that a sentence gives, if any. */
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
