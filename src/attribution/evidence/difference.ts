import { isJsonObject, type Json } from '../../domain/json.ts'
import { MAX_PART_EFFORT } from '../../limits.ts'
import { attempt, spend } from '../effort.ts'
import { canonical, isEqual } from '../text/canonical.ts'
import { type Fact, isSameFact, letters, NO_TERMS, type Terms, termsOf, termsOfValue } from '../text/terms.ts'

/** A place where the approved output differs from the output. */
export interface Change {
  /** `items[2].qty`, or '' for the whole output. */
  path: string
  /** Undefined if the value was added. */
  before: Json | undefined
  /** Undefined if the value was removed. */
  after: Json | undefined
}

/** How an output differs from its approved version. The order of items in a list makes no difference. */
export interface Difference {
  /** Changes in meaning. Changes that only affect the format are in `formatChanges`. */
  changes: Change[]
  /** Changes that keep the meaning but use another format. */
  formatChanges: Change[]
  /** Terms in the changes that only the output has. */
  lost: Terms
  /** Terms in the changes that only the approved output has. */
  gained: Terms
  /** Whether the outputs are too large to compare. If so, the whole output is one change, and its terms are unknown. */
  isTooLarge: boolean
}

/** Compares an output with its approved version, value by value. Paths are relative to the output: `items[2].qty`. */
export const differenceOf = (output: Json, approved: Json): Difference =>
  attempt(MAX_PART_EFFORT, () => compare(output, approved)) ?? wholeDifference(output, approved)

const wholeDifference = (output: Json, approved: Json): Difference => ({
  changes: [{ path: '', before: output, after: approved }],
  formatChanges: [],
  lost: NO_TERMS,
  gained: NO_TERMS,
  isTooLarge: true,
})

function compare(output: Json, approved: Json): Difference {
  const all = [...changesAt('', output, approved)]
  const inFormat = new Set(all.filter(({ before, after }) => isSameMeaning(before, after)))
  const changes = all.filter(change => !inFormat.has(change))
  const before = termsOfChanges(changes, 'before')
  const after = termsOfChanges(changes, 'after')
  return {
    changes,
    formatChanges: [...inFormat],
    lost: without(before, after),
    gained: without(after, before),
    isTooLarge: false,
  }
}

function termsOfChanges(changes: readonly Change[], side: 'before' | 'after'): Terms {
  return termsOfValue(changes.flatMap(change => change[side] ?? []))
}

/** The terms that `others` doesn't contain, or contains less often. */
export function without(terms: Terms, others: Terms): Terms {
  spend(2 * (terms.facts.length + terms.words.size + others.facts.length))
  const facts = factsWithout(terms.facts, others.facts)
  const words = [...terms.words].flatMap(([stem, word]) => {
    const count = word.count - (others.words.get(stem)?.count ?? 0)
    return count > 0 ? [[stem, { ...word, count }] as const] : []
  })
  return { facts, words: new Map(words) }
}

/** Removes each fact in `others` from `facts` once. Facts match if they share a reading. */
function factsWithout(facts: readonly Fact[], others: readonly Fact[]): Fact[] {
  // The indexes of the facts with each reading, last one first.
  const places = new Map<string, number[]>()
  for (const [index, { readings }] of [...others.entries()].reverse()) {
    for (const reading of readings) {
      const indexes = places.get(reading)
      if (indexes) indexes.push(index)
      else places.set(reading, [index])
    }
  }
  const taken = new Set<number>()
  return facts.filter(({ readings }) => {
    const free = readings.flatMap(reading => {
      const indexes = places.get(reading) ?? []
      while (taken.has(indexes.at(-1) ?? -1)) indexes.pop()
      return indexes.at(-1) ?? []
    })
    if (free.length === 0) return true
    taken.add(Math.min(...free))
    return false
  })
}

/** Dice's coefficient of two sets of stems and facts: 1 if they're equal, 0 if they have nothing in common. */
export function similarity(left: Terms, right: Terms): number {
  const [keysOfLeft, keysOfRight] = [keysOf(left), keysOf(right)]
  const size = keysOfLeft.size + keysOfRight.size
  if (size === 0) return 1
  const [fewer, more] = keysOfLeft.size < keysOfRight.size ? [keysOfLeft, keysOfRight] : [keysOfRight, keysOfLeft]
  spend(1 + fewer.size)
  let both = 0
  for (const key of fewer) if (more.has(key)) both++
  return (2 * both) / size
}

/** Cached by terms, because each item is compared with many others. Terms must not be mutated. */
const keysOfTerms = new WeakMap<Terms, ReadonlySet<string>>()

function keysOf(terms: Terms): ReadonlySet<string> {
  const known = keysOfTerms.get(terms)
  if (known) return known
  const { facts, words } = terms
  spend(2 * (facts.length + words.size))
  const keys = new Set([...words.keys(), ...facts.flatMap(({ readings }) => readings[0] ?? [])])
  keysOfTerms.set(terms, keys)
  return keys
}

function* changesAt(path: string, before: Json, after: Json): Generator<Change> {
  if (before === after) return
  if (Array.isArray(before) && Array.isArray(after)) return yield* changesOfItems(path, before, after)
  if (!isJsonObject(before) || !isJsonObject(after)) return yield { path, before, after }
  const at = (field: string) => (path === '' ? field : `${path}.${field}`)
  for (const [field, value] of Object.entries(before)) {
    const counterpart = Object.hasOwn(after, field) ? after[field] : undefined
    if (counterpart === undefined) yield { path: at(field), before: value, after: undefined }
    else yield* changesAt(at(field), value, counterpart)
  }
  for (const [field, value] of Object.entries(after)) {
    if (!Object.hasOwn(before, field)) yield { path: at(field), before: undefined, after: value }
  }
}

/**
 * Items that are in both lists aren't changes, wherever they are. The remaining items are compared in order.
 */
function* changesOfItems(path: string, before: readonly Json[], after: readonly Json[]): Generator<Change> {
  const counts = new Map<string, number>()
  for (const item of after) counts.set(canonical(item), (counts.get(canonical(item)) ?? 0) + 1)
  const lost = before.filter(item => {
    const count = counts.get(canonical(item)) ?? 0
    counts.set(canonical(item), count - 1)
    return count <= 0
  })
  const gained = [...after.entries()].filter(([, item]) => {
    const count = counts.get(canonical(item)) ?? 0
    counts.set(canonical(item), count - 1)
    return count > 0
  })
  for (const item of lost) {
    const [index, counterpart] = gained.shift() ?? []
    if (counterpart === undefined) yield { path: `${path}[${before.indexOf(item)}]`, before: item, after: undefined }
    else yield* changesAt(`${path}[${index}]`, item, counterpart)
  }
  for (const [index, item] of gained) yield { path: `${path}[${index}]`, before: undefined, after: item }
}

/** Whether two values mean the same thing, regardless of format. */
export function isSameMeaning(before: Json | undefined, after: Json | undefined): boolean {
  if (before === undefined || after === undefined) return isNothing(before) && isNothing(after)
  if (isNothing(before) || isNothing(after)) return isNothing(before) && isNothing(after)
  if (typeof before === 'object' || typeof after === 'object') return isEqual(before, after)
  const [left, right] = [String(before), String(after)]
  if (letters(left) === letters(right)) return true
  // In a full sentence, any word can change the meaning.
  if (left.length > 60 || right.length > 60 || typeof before === 'boolean' || typeof after === 'boolean') return false
  const [terms, others] = [termsOf(left), termsOf(right)]
  const isEachSame = terms.facts.every((fact, index) => {
    const other = others.facts[index]
    return other !== undefined && isSameFact(fact, other)
  })
  const isSaidAlike = without(terms, others).words.size + without(others, terms).words.size === 0
  return terms.facts.length > 0 && terms.facts.length === others.facts.length && isEachSame && isSaidAlike
}

/** Whether a value is empty: null, blank, or a word that means "nothing". */
export const isNothing = (value: Json | undefined): boolean =>
  value === undefined ||
  value === null ||
  (typeof value === 'string' && /^(|n\/?a|null|none|unknown|-+)$/iu.test(value.trim())) ||
  (typeof value === 'object' && Object.values(value).every(isNothing))
