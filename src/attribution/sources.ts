import { isJsonObject, type Json } from '../domain/json.ts'
import type { Step } from './subject.ts'
import { type Fact, type Terms, termsOfValue } from './terms.ts'

/** A text or value that an output may rest on. */
export interface Source {
  kind: 'input' | 'state' | 'retrieved' | 'output' | 'prompt' | 'doc' | 'metadata'
  /** Null: a knowledge doc. */
  step: Step | null
  /** A JSON path from the step. */
  path: string
  value: Json
  terms: Terms
  readings: ReadonlySet<string>
}

export const slugOf = ({ path }: Source): string => path.replace(/^knowledgeDocs\./, '')

export function sourceOf(kind: Source['kind'], step: Step | null, path: string, value: Json): Source {
  const terms = termsOfValue(value)
  return { kind, step, path, value, terms, readings: readingsOf(terms) }
}

/** What a source's facts may mean; a date stands for its day in any year, too. */
export function readingsOf({ facts }: Terms): Set<string> {
  const readings = facts.flatMap(fact => fact.readings)
  return new Set([...readings, ...readings.flatMap(reading => (isDay(reading) ? [`m:${reading.slice(7)}`] : []))])
}

const isDay = (reading: string): boolean => /^d:\d{4}-\d{2}-\d{2}$/.test(reading)

/** Whether a source's readings have a fact. Of two dates, one may leave out the year. */
export const hasFact = ({ readings }: Fact, known: ReadonlySet<string>): boolean =>
  readings.some(
    reading =>
      known.has(reading) ||
      (isDay(reading) && known.has(`y:${reading.slice(7)}`)) ||
      (reading.startsWith('y:') && known.has(`m:${reading.slice(2)}`)),
  )

/** The first source that has a fact. */
export const findFact = (fact: Fact, sources: readonly Source[]): Source | undefined =>
  sources.find(({ readings }) => hasFact(fact, readings))

export const findWord = (stem: string, sources: readonly Source[]): Source | undefined =>
  sources.find(({ terms }) => terms.words.has(stem))

/** How much of some terms stands in sources, by weight: facts and names say more than words. */
export interface Support {
  /** 0 to 1; 0 where there is nothing to look for. */
  found: number
  /** What there was to look for: a number alone weighs 2. */
  weight: number
  /** The first of what was found, and where. */
  at: { text: string; source: Source } | undefined
  /** The first of what was not. */
  missing: string | undefined
}

/** How much of some terms stands in sources. */
export function supportOf(terms: Terms, sources: readonly Source[], wordWeight = 0.5): Support {
  let [found, weight] = [0, 0]
  let at: Support['at']
  let missing: string | undefined
  const look = (text: string, value: number, source: Source | undefined) => {
    weight += value
    if (source) {
      found += value
      at ??= { text, source }
    } else missing ??= text
  }
  for (const fact of terms.facts) look(fact.text, weightOf(fact), findFact(fact, sources))
  for (const [stem, { text, isName }] of terms.words) {
    look(text, isName ? Math.max(1, wordWeight) : wordWeight, findWord(stem, sources))
  }
  return { found: weight === 0 ? 0 : found / weight, weight, at, missing }
}

/** A small whole number stands in many places by chance. */
const weightOf = ({ readings }: Fact): number => (/^n:\d$/.test(readings[0] ?? '') ? 0.7 : 2)

/** Each scalar in a value with its path. */
export function* leavesOf(
  value: Json,
  path: string,
): Generator<[path: string, leaf: string | number | boolean | null]> {
  if (Array.isArray(value)) for (const [index, item] of value.entries()) yield* leavesOf(item, `${path}[${index}]`)
  else if (isJsonObject(value))
    for (const [field, item] of Object.entries(value)) yield* leavesOf(item, `${path}.${field}`)
  else yield [path, value]
}

/** A text, short enough to be quoted in a note. */
export function quote(value: Json | undefined): string {
  const text = (typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')).replace(/\s+/gu, ' ').trim()
  return `"${text.length > 80 ? `${text.slice(0, 77)}...` : text}"`
}
