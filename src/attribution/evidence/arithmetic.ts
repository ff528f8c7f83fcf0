import { isJsonObject, type Json } from '../../domain/json.ts'
import { spend } from '../effort.ts'
import { numbersOf, termsOf } from '../text/terms.ts'

/** How many numbers to search for relations. Among more numbers, pairs would match by chance. */
const MAX_NUMBERS = 60

/** Smaller integers are the result of some pair of numbers in most texts. */
const LEAST_RESULT = 30

/** How many numbers of a column to add up, and how many operands to try in pairs. */
const MAX_COLUMN = 500
const MAX_OPERANDS = 100

/** The numbers in a value, including numbers inside strings. */
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
    } else if (typeof item === 'object' && item !== null) for (const part of Object.values(item)) visit(part)
  }
  visit(value)
  return numbers
}

/** The columns of numbers in a value: one field across a list's items, or consecutive lines of text. */
export function columnsIn(value: Json): number[][] {
  spend(1)
  if (Array.isArray(value)) {
    const numbers = value.filter(item => typeof item === 'number')
    const records = value.filter(isJsonObject)
    const fields = new Set(records.flatMap(record => Object.keys(record)))
    const columns = [...fields].map(field => records.flatMap(record => numbersIn(record[field] ?? null).slice(0, 1)))
    return [numbers, ...columns, ...value.flatMap(columnsIn)].filter(isColumn)
  }
  if (isJsonObject(value)) {
    const own = Object.values(value).filter(item => typeof item === 'number')
    return [own, ...Object.values(value).flatMap(columnsIn)].filter(isColumn)
  }
  if (typeof value !== 'string') return []
  spend(value.length)
  // The last number of each line.
  const lines = value.split(/\n|;/, MAX_COLUMN).flatMap(line => line.match(/\d[\d.,'’]*\d|\d/gu)?.at(-1) ?? [])
  const column = lines.flatMap(text => numbersOf(text)[0] ?? [])
  return isColumn(column) ? [column] : []
}

/** A longer column is data and not a sum to check. */
const isColumn = (column: readonly number[]): boolean => column.length > 1 && column.length <= MAX_COLUMN

/**
 * How a number follows from others in one arithmetic step, such as `12 × 8.5`. Undefined if it doesn't, or if the
 * number is too small for a match to mean anything.
 */
export function derive(
  number: number,
  numbers: readonly number[],
  columns: readonly (readonly number[])[],
): string | undefined {
  if (Math.abs(number) < 10 && Number.isInteger(number)) return undefined
  for (const column of columns) {
    const sum = sumIn(number, column)
    if (sum) return sum
  }
  if (Math.abs(number) < LEAST_RESULT && Number.isInteger(number)) return undefined
  const distinct = [...new Set(numbers)]
    .filter(value => value !== number && value !== 0 && Math.abs(value) !== 1)
    .slice(0, MAX_NUMBERS)
  spend(numbers.length + 4 * distinct.length ** 2)
  for (const left of distinct) {
    for (const right of distinct) {
      if (left === right) continue
      for (const [sign, of] of Object.entries(OPERATIONS)) {
        if (isClose(of(left, right), number)) return `${left} ${sign} ${right}`
      }
    }
  }
  return undefined
}

/** Consecutive numbers of a column that add up to a number, as text. */
function sumIn(number: number, column: readonly number[]): string | undefined {
  spend(column.length ** 2 / 20)
  for (let start = 0; start < column.length; start++) {
    let sum = column[start] ?? 0
    for (let end = start + 1; end < column.length; end++) {
      sum += column[end] ?? 0
      if (isClose(sum, number)) return `the sum of ${column.slice(start, end + 1).join(' + ')}`
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
  'as a percentage of': (left, right) => (100 * left) / right,
  '% of': (left, right) => (left < 3 ? Number.NaN : (left * right) / 100),
  'and, in percent on top,': (left, right) => left * (1 + right / 100),
  'less, in percent,': (left, right) => left * (1 - right / 100),
}

const isClose = (left: number, right: number): boolean =>
  Number.isFinite(left) && Math.abs(left - right) <= Math.max(0.005, Math.abs(right) * 1e-6)

/** An operand of a computation, and the value it would need for the wanted result. */
interface Implied {
  operand: number
  implied: number
}

/** The operands of each one-step computation of `result`, each with the value that would give `wanted` instead. */
export function impliedOperand(result: number, wanted: number, numbers: readonly number[]): Implied[] {
  const first = numbers.slice(0, MAX_OPERANDS)
  spend(first.length ** 2 / 2)
  return first.flatMap((left, index) =>
    first.flatMap((right, other) => {
      if (index === other) return []
      if (isClose(left * right, result)) return [{ operand: left, implied: rounded(wanted / right) }]
      if (isClose(left + right, result)) return [{ operand: left, implied: rounded(wanted - right) }]
      if (isClose(left - right, result)) return [{ operand: left, implied: rounded(wanted + right) }]
      return []
    }),
  )
}

const rounded = (number: number): number => Math.round(number * 1e6) / 1e6
