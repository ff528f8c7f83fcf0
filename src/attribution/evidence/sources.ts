import { isJsonObject, type Json } from '../../domain/json.ts'
import type { Step } from '../../domain/subject.ts'
import { spend } from '../effort.ts'
import { type Fact, type Terms, termsOfValue } from '../text/terms.ts'

/** A value that an output may be based on. */
export interface Source {
  kind: 'input' | 'state' | 'retrieved' | 'output' | 'prompt' | 'doc' | 'metadata'
  /** Null for a knowledge doc. */
  step: Step | null
  /** A JSON path in the step, or `knowledgeDocs.<slug>`. */
  path: string
  value: Json
  terms: Terms
  /** The readings of all facts in `terms`. */
  readings: ReadonlySet<string>
}

/** The slug of a knowledge doc. */
export const slugOf = ({ path }: Source): string => path.replace(/^knowledgeDocs\./, '')

/** Reads a value into a source. `path` is a JSON path in the step, or in the knowledge base if `step` is null. */
export function sourceOf(kind: Source['kind'], step: Step | null, path: string, value: Json): Source {
  const terms = termsOfValue(value)
  return { kind, step, path, value, terms, readings: readingsOf(terms.facts) }
}

/** The place of a finding about a source. */
export const locationOf = ({ step, path }: Source): { spanId: string | null; path: string } => ({
  spanId: step?.spanId ?? null,
  path,
})

/** The possible readings of facts. A date also has a reading without its year. */
function readingsOf(facts: readonly Fact[]): Set<string> {
  spend(2 * facts.length)
  const readings = facts.flatMap(fact => fact.readings)
  return new Set([...readings, ...readings.flatMap(reading => (isDay(reading) ? [`m:${reading.slice(7)}`] : []))])
}

const isDay = (reading: string): boolean => /^d:\d{4}-\d{2}-\d{2}$/.test(reading)

/** Whether a source with these readings contains a fact. A date also matches the same day and month without a year. */
const hasFact = ({ readings }: Fact, known: ReadonlySet<string>): boolean =>
  readings.some(
    reading =>
      known.has(reading) ||
      (isDay(reading) && known.has(`y:${reading.slice(7)}`)) ||
      (reading.startsWith('y:') && known.has(`m:${reading.slice(2)}`)),
  )

/** The first source that contains a fact. */
export const findFact = (fact: Fact, sources: readonly Source[]): Source | undefined =>
  findCounting(sources, ({ readings }) => hasFact(fact, readings))

/** The first source that contains a word with this stem. */
export const findWord = (stem: string, sources: readonly Source[]): Source | undefined =>
  findCounting(sources, ({ terms }) => terms.words.has(stem))

function findCounting(sources: readonly Source[], isFound: (source: Source) => boolean): Source | undefined {
  const index = sources.findIndex(isFound)
  spend(1 + (index < 0 ? sources.length : index))
  return sources[index]
}

/** How much of a set of terms the sources contain, by weight. Facts and names weigh more than other words. */
export interface Support {
  /** The share that was found, 0 to 1. 0 if there was nothing to search for. */
  found: number
  /** The total weight of the terms. A single number weighs 2. */
  weight: number
  /** The first term that was found, with its source. */
  at: { text: string; source: Source } | undefined
  /** The first term that wasn't found. */
  missing: string | undefined
}

/** Measures how much of the terms the sources contain. */
export function supportOf(terms: Terms, sources: readonly Source[], wordWeight = 0.5): Support {
  let [found, weight] = [0, 0]
  let at: Support['at']
  let missing: string | undefined
  const look = (text: string, value: number, source: Source | undefined) => {
    weight += value
    if (value === 0) return
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

/** Many texts contain a one- or two-digit number by chance. */
const weightOf = ({ readings }: Fact): number => (/^n:\d\d?$/.test(readings[0] ?? '') ? 0.7 : 2)

type Scalar = string | number | boolean | null

/** A value and each value within it, with their paths. */
export function* partsOf(value: Json, path: string): Generator<[path: string, part: Json]> {
  spend(1)
  yield [path, value]
  if (Array.isArray(value)) for (const [index, item] of value.entries()) yield* partsOf(item, `${path}[${index}]`)
  else if (isJsonObject(value))
    for (const [field, item] of Object.entries(value)) yield* partsOf(item, `${path}.${field}`)
}

/** Each scalar in a value, with its path. */
export function* leavesOf(value: Json, path: string): Generator<[path: string, leaf: Scalar]> {
  for (const [place, part] of partsOf(value, path)) {
    if (typeof part !== 'object' || part === null) yield [place, part]
  }
}

/** The field at the end of a path. If the path ends in a list item, the list's field. */
export const fieldOf = (path: string): string => LAST_FIELD.exec(path)?.[1] ?? path

// The lookbehind makes a match start at the beginning of a name. Otherwise, each letter of each name would be tried as
// a beginning.
const LAST_FIELD = /(?<![^.[\]])([^.[\]]+)(?:\[\d+\])?$/u

/** Quotes a value for a note: on one line, in quotation marks, and truncated to 80 characters. */
export function quote(value: Json | undefined): string {
  const text = (typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')).replace(/\s+/gu, ' ').trim()
  return `"${text.length > 80 ? `${text.slice(0, 77)}...` : text}"`
}
