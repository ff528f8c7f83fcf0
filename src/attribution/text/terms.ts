import { ces, dan, deu, eng, fin, fra, hun, ita, nld, nob, pol, por, ron, rus, spa, swe, tur } from 'stopword'
import type { Json } from '../../domain/json.ts'
import { MAX_TEXT_FACTS } from '../../limits.ts'
import { spend } from '../effort.ts'

/**
 * The facts and words in a string. Comparing them works regardless of language, case, punctuation, and the format of
 * numbers and dates.
 */
export interface Terms {
  facts: Fact[]
  /** Keyed by stem. */
  words: Map<string, Word>
}

/** The terms of an empty text. */
export const NO_TERMS: Terms = { facts: [], words: new Map() }

/** Whether there are any terms to compare. */
export const hasTerms = ({ facts, words }: Terms): boolean => words.size + facts.length > 0

/** Whether two facts may mean the same thing. */
export const isSameFact = (left: Fact, right: Fact): boolean =>
  left.readings.some(reading => right.readings.includes(reading))

/** A number, date, time, address, or identifier. */
export interface Fact {
  /** The original text. */
  text: string
  kind: 'number' | 'date' | 'time' | 'address' | 'identifier'
  /** Its possible meanings: `1.234` is one number in English and another in German. */
  readings: string[]
}

/** The words that share a stem. */
interface Word {
  /** The form that occurs first in the text. */
  text: string
  /** Whether it's capitalized anywhere except at the start of a sentence. */
  isName: boolean
  count: number
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: matches all of ASCII
const ASCII = /^[\x00-\x7f]*$/

const STOP_WORDS = new Set(
  [ces, dan, deu, eng, fin, fra, hun, ita, nld, nob, pol, por, ron, rus, spa, swe, tur].flat().map(plain),
)

/**
 * Words with the same first five letters are treated as the same word. In retrieval studies, this language-neutral
 * truncation worked as well as stemmers (Can et al. 2008, doi 10.1002/asi.20750; McNamee and Mayfield 2004).
 */
const STEM_LENGTH = 5

/** The maximum share of names among a string's words. If there are more, capitals don't indicate names. */
const MAX_NAME_SHARE = 0.35

/** Scripts that don't separate words with spaces, or that attach endings to words. */
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}]/u

// The lookbehind makes a match start at the beginning of a run. Trying each letter would take quadratic time.
const ADDRESS = /(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+|https?:\/\/[^\s"'<>)\]]+/gu
const ISO_DATE = /(?<!\d)(\d{4})[-./](\d{1,2})[-./](\d{1,2})(?!\d)/gu
const EAST_ASIAN_DATE = /(?:(令和|\d{2})?(\d{1,2})\s*[年년]\s*)?(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日일]/gu
const SHORT_DATE = /(?<![\d./-])(\d{1,2})([-./])(\d{1,2})\2(\d{4}|\d{2})(?![\d])/gu
const DAY_OF_MONTH =
  /(?<![\d\p{L}.,])(\d{1,2})(?:\.|st|nd|rd|th|er|º|ª|:e)?\s+(?:de\s+|of\s+|d')?(\p{L}{3,})\.?(?:,?\s+(?:de\s+|del\s+)?(\d{4}))?/gu
// Starts at the digit and looks back, because a pattern that starts with a word would be tried at every letter.
const MONTH_DAY = /(?<=(\p{L}{3,15})\.?\s)(\d{1,2})(?:st|nd|rd|th)?(?![\d\p{L}:.])(?:,?\s+(\d{4}))?/gu
const MONTH_YEAR = /(?<=(\p{L}{3,15})\.?\s(?:de\s|del\s)?)((?:19|20)\d{2})(?!\d)/gu
const TIME = /(?<!\d)(\d{1,2}):(\d{2})(?::(\d{2}))?(?!\d)/gu
const TOKEN = /[\p{L}\p{N}]+(?:[-_/#][\p{L}\p{N}]+)*/gu
const WITH_DIGIT = /\d/
const WITH_LETTER = /\p{L}/u
/** `25kg`, `81-year-old`: a number with a unit. */
const NUMBER_WITH_UNIT = /^\d+(?:\p{L}{1,3}|(?:-\p{Ll}{3,})+)$/u
/** Text such as `88-1203`, which is never a number. */
const NUMERIC_IDENTIFIER = /(?<![\d.,])\d{2,}(?:[-/]\d{2,})+(?!\d)/gu
const NUMBER = /(?<!\d)\d{1,3}(?:[\s\u00a0\u202f]\d{3})+(?!\d)(?:[.,]\d+)?|\d(?:[\d.,'’]*\d)?/gu
const WORD = /\p{L}[\p{L}\p{M}ー]*/gu

/** The terms found while `remembering` runs, cached because most texts are needed several times. */
let remembered: Map<string, Terms> | undefined

/** Runs a synchronous computation that reuses the terms in `texts` and adds new ones. */
export function remembering<Result>(texts: Map<string, Terms>, run: () => Result): Result {
  const before = remembered
  remembered = texts
  try {
    return run()
  } finally {
    remembered = before
  }
}

/** The terms in a string. The result is shared and must not be mutated. */
export function termsOf(text: string): Terms {
  spend(1)
  const known = remembered?.get(text)
  if (known) return known
  const terms = readTerms(text)
  remembered?.set(text, terms)
  return terms
}

function readTerms(text: string): Terms {
  const normalized = text.normalize('NFKC')
  spend(2 * normalized.length)
  const facts: Fact[] = []
  const words = wordsOf(takeFacts(normalized, facts))
  spend(STEPS_PER_TERM * (facts.length + words.size))
  return { facts, words }
}

/** The cost of a fact or word, expressed in characters read. Covers its time and about 150 bytes of memory. */
const STEPS_PER_TERM = 10

/** Cached terms by value. Values must not be mutated. */
const termsOfValues = new WeakMap<object, Terms>()

/**
 * The terms of a JSON value's strings and numbers, without field names. The result is shared and must not be mutated.
 */
export function termsOfValue(value: Json): Terms {
  spend(1)
  if (typeof value === 'string') return termsOf(value)
  if (typeof value === 'number') return { facts: [numberFact(value)], words: NO_TERMS.words }
  if (typeof value !== 'object' || value === null) return NO_TERMS
  const known = termsOfValues.get(value)
  if (known) return known
  const terms: Terms = { facts: [], words: new Map() }
  const visit = (item: Json): void => {
    if (typeof item === 'string') addTerms(terms, termsOf(item))
    else if (typeof item === 'number') terms.facts.push(numberFact(item))
    else if (typeof item === 'object' && item !== null) for (const part of Object.values(item)) visit(part)
  }
  visit(value)
  termsOfValues.set(value, terms)
  return terms
}

function addTerms(to: Terms, more: Terms): void {
  spend(more.facts.length + 2 * more.words.size)
  // Push one at a time, because a call can't take a hundred thousand arguments.
  for (const fact of more.facts) to.facts.push(fact)
  for (const [stem, word] of more.words) {
    const known = to.words.get(stem)
    to.words.set(
      stem,
      known ? { ...known, isName: known.isName || word.isName, count: known.count + word.count } : word,
    )
  }
}

/** A number as a fact. Uses the absolute value, because texts often leave out the sign. */
const numberFact = (value: number): Fact => ({
  text: String(value),
  kind: 'number',
  readings: [`n:${Math.abs(value)}`],
})

/** Strips case, accents, and compatibility forms. */
export function plain(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase()
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
}

/** Letters and digits only, without case and accents. */
export function letters(text: string): string {
  spend(1 + text.length)
  return plain(text).replace(/[^\p{L}\p{N}]/gu, '')
}

/** Extracts facts from a string. Longer forms come first; otherwise a date's year would also be read as a number. */
function takeFacts(text: string, facts: Fact[]): string {
  const take = (pattern: RegExp, read: (groups: string[], whole: string) => Fact | undefined) => {
    text = text.replace(pattern, (whole: string, ...groups: string[]) => {
      const fact = read(groups, whole)
      if (!fact) return whole
      if (facts.length < MAX_TEXT_FACTS) facts.push(fact)
      return ' . '
    })
  }
  if (text.includes('@') || text.includes('://')) {
    take(ADDRESS, (_, text) => ({ text, kind: 'address', readings: [`a:${plain(text).replace(/[.,/]+$/, '')}`] }))
  }
  if (!WITH_DIGIT.test(text)) return text
  take(ISO_DATE, ([year, month, day], whole) => dateFact(whole, [[year, month, day]]))
  if (/[月월]/u.test(text))
    take(EAST_ASIAN_DATE, ([era, year, month, day], whole) => {
      // The first year of the Reiwa era was 2019.
      const full = year === undefined ? undefined : era === '令和' ? String(2018 + Number(year)) : `${era ?? ''}${year}`
      return dateFact(whole, [[full, month, day]])
    })
  take(SHORT_DATE, ([first, separator, second, year = ''], whole) => {
    const full = year.length === 2 ? `20${year}` : year
    const dayFirst = [full, second, first] as const
    return dateFact(whole, separator === '.' ? [dayFirst] : [dayFirst, [full, first, second]])
  })
  take(DAY_OF_MONTH, ([day, month = '', year], whole) => dateFact(whole, [[year, monthOf(month), day]]))
  take(MONTH_DAY, ([month = '', day, year], whole) => dateFact(whole, [[year, monthOf(month), day]]))
  take(MONTH_YEAR, ([month = '', year], whole) => {
    const number = monthOf(month)
    return number ? { text: whole, kind: 'date', readings: [`d:${year}-${two(number)}`] } : undefined
  })
  take(TIME, ([hour = '', minute, second], whole) => {
    const seconds = second === undefined || second === '00' ? '' : `:${second}`
    return { text: whole, kind: 'time', readings: [`t:${two(hour)}:${minute}${seconds}`] }
  })
  take(TOKEN, (_, whole) => (isIdentifier(whole) ? identifierFact(whole) : undefined))
  take(NUMERIC_IDENTIFIER, (_, whole) => identifierFact(whole))
  take(NUMBER, (_, whole) => ({ text: whole, kind: 'number', readings: numbersOf(whole).map(value => `n:${value}`) }))
  return text
}

/** A token with both letters and digits, except a number with its unit. */
const isIdentifier = (token: string): boolean =>
  WITH_DIGIT.test(token) && WITH_LETTER.test(token) && !NUMBER_WITH_UNIT.test(token)

const identifierFact = (text: string): Fact => ({ text, kind: 'identifier', readings: [`i:${letters(text)}`] })

const two = (number: string): string => number.padStart(2, '0')

/**
 * Builds a date from its possible parts. If there's no year, dates are compared by month and day only. Undefined if no
 * reading is a date.
 */
function dateFact(
  text: string,
  candidates: readonly (readonly [year: string | undefined, month: string | undefined, day: string | undefined])[],
): Fact | undefined {
  const readings = candidates.flatMap(([year, month = '', day = '']) =>
    Number(month) >= 1 && Number(month) <= 12 && Number(day) >= 1 && Number(day) <= 31
      ? [year ? `d:${year}-${two(month)}-${two(day)}` : `y:${two(month)}-${two(day)}`]
      : [],
  )
  return readings.length > 0 ? { text, kind: 'date', readings: [...new Set(readings)] } : undefined
}

/**
 * The possible values of a number. If a number has one period or comma, followed by three digits, that mark may
 * separate either thousands or decimals.
 */
function numbersOf(text: string): number[] {
  const digits = text.replace(/['’\s\u00a0\u202f]/gu, '')
  const [, whole = digits, separator, decimals = ''] = /^(.*)([.,])(\d+)$/u.exec(digits) ?? []
  const strip = (part: string) => part.replace(/[.,]/gu, '')
  if (!separator) return [Number(digits)]
  const asDecimal = Number(`${strip(whole)}.${decimals}`)
  const asThousands = Number(strip(digits))
  const isRepeated = whole.includes(separator)
  if (isRepeated) return [asThousands]
  if (decimals.length === 3 && /^\d{1,3}$/.test(whole) && whole !== '0') return [asThousands, asDecimal]
  return [asDecimal]
}

const LOCALES = 'en de fr es it nl pt pl cs sv da nb fi tr ro hu ru uk el hr sk ca'.split(' ')
let months: Map<string, string> | undefined

/** The number of the month with this long or short name in any of the languages. */
function monthOf(name: string): string | undefined {
  months ??= monthNames()
  return months.get(plain(name))
}

function monthNames(): Map<string, string> {
  const names = new Map<string, string>()
  for (const locale of LOCALES) {
    // Next to a day, many languages put the month in a different grammatical case.
    const forms = [{ month: 'long' }, { month: 'short' }, { month: 'long', day: 'numeric' }] as const
    for (const form of forms) {
      const format = new Intl.DateTimeFormat(locale, { ...form, timeZone: 'UTC' })
      for (let number = 0; number < 12; number++) {
        const part = format.formatToParts(Date.UTC(2026, number, 1)).find(({ type }) => type === 'month')
        const name = plain(part?.value ?? '').replace(/\.$/, '')
        if (/^\p{L}{3,}$/u.test(name) && !names.has(name)) names.set(name, String(number + 1))
      }
    }
  }
  return names
}

/**
 * The words in a run of letters without spaces: pairs of Chinese characters or Katakana, and the first two syllables of
 * Korean words. Hiragana is skipped, because it's mostly endings and particles.
 */
function unspacedWords(run: string): { stem: string; text: string }[] {
  const parts = run.match(/\p{sc=Han}+|[\p{sc=Katakana}ー]{2,}|\p{sc=Hangul}{2,}|\p{sc=Thai}{3,}/gu) ?? []
  return parts.flatMap(part => {
    if (/\p{sc=Hangul}/u.test(part)) return [{ stem: part.slice(0, 2), text: part }]
    return [...part.slice(0, -1)].map((_, index) => ({ stem: part.slice(index, index + 2), text: part }))
  })
}

function wordsOf(text: string): Map<string, Word> {
  const words = new Map<string, Word>()
  const add = (stem: string, text: string, isName: boolean) => {
    const known = words.get(stem)
    words.set(stem, {
      text: known?.text ?? text,
      isName: isName || known?.isName === true,
      count: (known?.count ?? 0) + 1,
    })
  }
  let end = 0
  for (const match of text.matchAll(WORD)) {
    const [word] = match
    const before = text.slice(end, match.index)
    const beginsSentence = match.index === 0 || /[.!?:;\n•"“„(]|^\s*-/u.test(before)
    end = match.index + word.length
    if (UNSPACED.test(word)) {
      for (const part of unspacedWords(word)) add(part.stem, part.text, false)
      continue
    }
    const key = plain(word)
    const isName = !beginsSentence && /^\p{Lu}\p{Ll}/u.test(word)
    // A name may be a stop word in another language.
    if (key.length < 2 || (STOP_WORDS.has(key) && !isName)) continue
    add(key.slice(0, STEM_LENGTH), word, isName || (!beginsSentence && /^\p{Lu}/u.test(word)))
  }
  // If every noun is capitalized, as in German, capitals don't indicate names.
  const names = [...words.values()].filter(({ isName }) => isName)
  if (names.length > 3 && names.length > words.size * MAX_NAME_SHARE) for (const word of names) word.isName = false
  return words
}
