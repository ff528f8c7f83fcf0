import { ces, dan, deu, eng, fin, fra, ita, nld, nob, pol, por, spa, swe, tur } from 'stopword'
import type { Json } from '../../domain/json.ts'
import { spend } from '../effort.ts'
import { textsIn } from '../evidence/sources.ts'
import { plain } from '../text/terms.ts'

const LANGUAGES = Object.entries({ eng, deu, fra, spa, ita, nld, pol, por, swe, ces, tur, dan, nob, fin }).map(
  ([language, words]) => [language, new Set(words.map(plain))] as const,
)

/**
 * The language of a value's texts as a three-letter code (`deu`), judging by function words. Undefined if there are too
 * few.
 */
export function languageOf(value: Json): string | undefined {
  const words = textsIn(value)
    .join(' ')
    .split(/[^\p{L}']+/u)
    .map(plain)
  if (words.length < 5) return undefined
  spend(5 * words.length)
  const counts = LANGUAGES.map(([language, known]) => [language, words.filter(word => known.has(word)).length] as const)
  const [first, second] = counts.toSorted(([, left], [, right]) => right - left)
  return first && second && first[1] >= 3 && first[1] > second[1] * 1.3 ? first[0] : undefined
}
