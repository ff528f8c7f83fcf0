import { isJsonObject, type Json } from '../../domain/json.ts'
import { spend } from '../effort.ts'
import { termsOf } from '../text/terms.ts'
import names from './field-names.json' with { type: 'json' }

/** How many related numbers to combine in pairs, and how many to add up. Longer lists are treated as data. */
const MAX_OPERANDS = 60
const MAX_SUMMANDS = 500

/**
 * A match shows that somebody computed a number only if at most this many combinations are expected to match by chance.
 */
const MAX_BY_CHANCE = 0.2

/** Fields whose numbers a run never computes from other numbers, such as an id, a score, or a version. */
const UNCOUNTED: ReadonlySet<string> = new Set(names.uncounted)

/** Whether the last word of a field's name says that runs don't calculate with it: `chunk_score`, `topK`. */
export const isUncounted = (field: string): boolean =>
  UNCOUNTED.has(
    field
      .replace(/(?<=\p{Ll})(?=\p{Lu})/gu, '_')
      .match(/[\p{L}]+(?=[^\p{L}]*$)/u)?.[0]
      .toLowerCase() ?? '',
  )

/** The numbers in a value that runs calculate with, including numbers inside strings. */
export function numbersIn(value: Json): number[] {
  const numbers: number[] = []
  const visit = (item: Json): void => {
    spend(1)
    if (typeof item === 'number') numbers.push(item)
    else if (typeof item === 'string') {
      const { facts } = termsOf(item)
      spend(facts.length)
      for (const { kind, readings } of facts) {
        if (kind === 'number') numbers.push(...readings.map(reading => Number(reading.slice(2))))
      }
    } else if (Array.isArray(item)) for (const part of item) visit(part)
    else if (item !== null && typeof item === 'object') {
      for (const [field, part] of Object.entries(item)) if (!isUncounted(field)) visit(part)
    }
  }
  visit(value)
  return numbers
}

/** Numbers that belong together: in a record, in one field across a list, in a line, or at the end of each line. */
export function* groupsIn(value: Json): Generator<number[]> {
  spend(1)
  if (typeof value === 'string') {
    spend(value.length)
    const lines = value.split(/\n|;|(?<=[.!?])\s/u).map(numbersIn)
    yield* lines
    yield lines.flatMap(numbers => numbers.at(-1) ?? [])
  } else if (typeof value === 'object' && value !== null) {
    const parts = Object.entries(value).filter(([field]) => Array.isArray(value) || !isUncounted(field))
    yield parts.flatMap(([, part]) => (typeof part === 'object' ? [] : numbersIn(part)))
    const records = Array.isArray(value) ? value.filter(isJsonObject) : []
    const fields = new Set(records.flatMap(record => Object.keys(record)).filter(field => !isUncounted(field)))
    for (const field of fields) yield records.flatMap(record => numbersIn(record[field] ?? null).slice(0, 1))
    for (const [, part] of parts) yield* groupsIn(part)
  }
}

/**
 * How a number follows in one step from numbers that belong together, such as `12 × 8.5`. Undefined if it doesn't, or
 * if there are so many combinations that one might match by chance.
 */
export function derive(number: number, groups: readonly (readonly number[])[]): string | undefined {
  const distinct = new Map<string, readonly number[]>()
  for (const group of groups) {
    spend(1 + group.length)
    const operands = group.filter(value => value !== number && value !== 0 && Math.abs(value) !== 1)
    if (operands.length > 1 && operands.length <= MAX_SUMMANDS) distinct.set(operands.join(), operands)
  }
  const places = Math.max(...[number, ...[...distinct.values()].flat()].map(placesOf))
  // This is how many different numbers of that size and precision there are.
  let possible = MAX_BY_CHANCE * Math.abs(number) * 10 ** places
  for (const { length } of distinct.values()) possible -= length <= MAX_OPERANDS ? 4 * length ** 2 : length ** 2 / 2
  if (possible < 0) return undefined
  for (const group of distinct.values()) {
    const found = sumIn(number, group) ?? pairIn(number, group)
    if (found) return found
  }
  return undefined
}

/** How many decimals a number has. */
const placesOf = (number: number): number => String(number).split('.')[1]?.length ?? 0

/** A sum of at least three consecutive numbers that equals `number`, as text. */
function sumIn(number: number, group: readonly number[]): string | undefined {
  spend(group.length ** 2 / 20)
  for (let start = 0; start < group.length - 2; start++) {
    let sum = group[start] ?? 0
    for (let end = start + 1; end < group.length; end++) {
      sum += group[end] ?? 0
      if (end > start + 1 && isClose(sum, number)) return `the sum of ${group.slice(start, end + 1).join(' + ')}`
    }
  }
  return undefined
}

/** A calculation with two numbers whose result is `number`, as text. */
function pairIn(number: number, group: readonly number[]): string | undefined {
  if (group.length > MAX_OPERANDS) return undefined
  spend(4 * group.length ** 2)
  for (const [index, left] of group.entries()) {
    for (const [other, right] of group.entries()) {
      if (index === other) continue
      for (const [sign, of] of Object.entries(OPERATIONS)) {
        if (isClose(of(left, right), number)) return `${left} ${sign} ${right}`
      }
    }
  }
  return undefined
}

/** The operations by sign. */
const OPERATIONS: Readonly<Record<string, (left: number, right: number) => number>> = {
  '×': (left, right) => left * right,
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '/': (left, right) => left / right,
  '% of': (left, right) => (left * right) / 100,
}

const isClose = (left: number, right: number): boolean =>
  Number.isFinite(left) && Math.abs(left - right) <= Math.max(0.005, Math.abs(right) * 1e-6)
