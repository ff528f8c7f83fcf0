import { isJsonObject, type Json } from '../../domain/json.ts'
import { DAY_MS } from '../../limits.ts'
import { spend } from '../effort.ts'
import { numbersOf, termsOf } from '../text/terms.ts'

/** How many numbers to search for relations. Among more numbers, pairs would match by chance. */
const MAX_NUMBERS = 60

/** How many numbers of a column to add up, and how many dates, times, and operands to try in pairs. */
const MAX_COLUMN = 500
const MAX_DATES = 200
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
  columns: readonly (readonly number[])[] = [],
  factors: readonly number[] = [],
): string | undefined {
  if (Math.abs(number) < 10 && Number.isInteger(number)) return undefined
  for (const column of columns) {
    const sum = sumIn(number, column)
    if (sum) return sum
  }
  const together = sumOrProduct(number, numbers)
  if (together) return together
  const decimals = (String(number).split('.')[1] ?? '').length
  // Converted or divided amounts may be rounded up, down, or to the nearest integer.
  const isRounded = (value: number) =>
    Math.abs(number) >= 20 && !Number.isInteger(value * 10 ** decimals) && Math.abs(value - number) < 10 ** -decimals
  const distinct = [...new Set(numbers)].filter(value => value !== number && value !== 0).slice(0, MAX_NUMBERS)
  spend(numbers.length + 2 * distinct.length ** 2)
  for (const [index, left] of distinct.entries()) {
    for (const right of distinct.slice(index)) {
      const found = OPERATIONS.find(
        ({ of, isConversion }) =>
          isClose(of(left, right), number) ||
          (isConversion && (factors.includes(left) || factors.includes(right)) && isRounded(of(left, right))),
      )
      if (found && Math.abs(left) !== 1 && Math.abs(right) !== 1) return found.show(left, right)
    }
  }
  return undefined
}

/**
 * How a number follows from three numbers as a sum and difference, or, if there are only three or four numbers, as
 * their product.
 */
function sumOrProduct(number: number, numbers: readonly number[]): string | undefined {
  const distinct = [...new Set(numbers)].filter(value => value !== number && value !== 0)
  spend(numbers.length + Math.min(distinct.length, MAX_TERMS) ** 3 / 10)
  const few = distinct.filter(value => value !== 1)
  if (
    few.length >= 3 &&
    few.length <= 4 &&
    isClose(
      few.reduce((left, right) => left * right, 1),
      number,
    )
  ) {
    return few.join(' × ')
  }
  if (Math.abs(number) < 100 || distinct.length > MAX_TERMS) return undefined
  for (const first of distinct) {
    for (const second of distinct) {
      for (const third of distinct) {
        if (first > second && third !== first && third !== second && isClose(first - second + third, number)) {
          return `${first} - ${second} + ${third}`
        }
      }
    }
  }
  return undefined
}

/** How many numbers to search for triples. */
const MAX_TERMS = 12

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

const OPERATIONS: readonly {
  isConversion?: boolean
  of: (left: number, right: number) => number
  show: (left: number, right: number) => string
}[] = [
  { of: (left, right) => left * right, show: (left, right) => `${left} × ${right}`, isConversion: true },
  { of: (left, right) => left + right, show: (left, right) => `${left} + ${right}` },
  { of: (left, right) => left - right, show: (left, right) => `${left} - ${right}` },
  { of: (left, right) => right - left, show: (left, right) => `${right} - ${left}` },
  { of: (left, right) => left / right, show: (left, right) => `${left} / ${right}` },
  { of: (left, right) => right / left, show: (left, right) => `${right} / ${left}` },
  {
    of: (left, right) => (100 * left) / right,
    show: (left, right) => `${left} of ${right} as a percentage`,
    isConversion: true,
  },
  {
    of: (left, right) => (100 * right) / left,
    show: (left, right) => `${right} of ${left} as a percentage`,
    isConversion: true,
  },
  {
    of: (left, right) => (Math.min(left, right) < 3 ? Number.NaN : (left * right) / 100),
    show: (left, right) => `${left}% of ${right}`,
  },
  { of: (left, right) => left * (1 + right / 100), show: (left, right) => `${left} + ${right} %` },
  { of: (left, right) => right * (1 - left / 100), show: (left, right) => `${right} - ${left} %` },
]

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

/** The addends of a column whose sum or mean is `sum`, each with the value that would give `wanted` instead. */
export function impliedAddend(sum: number, wanted: number, column: readonly number[]): Implied[] {
  spend(column.length)
  const total = column.reduce((left, right) => left + right, 0)
  if (isClose(total / column.length, sum)) {
    return column.map(operand => ({ operand, implied: rounded(operand - (sum - wanted) * column.length) }))
  }
  return isClose(total, sum) ? column.map(operand => ({ operand, implied: rounded(operand - (sum - wanted)) })) : []
}

const rounded = (number: number): number => Math.round(number * 1e6) / 1e6

/** Explains a number as the days between two dates or as the minutes or hours between two times. */
export function deriveSpan(number: number, dates: readonly string[], times: readonly string[]): string | undefined {
  const days = dates.slice(0, MAX_DATES).map(date => ({ date, at: Date.parse(date) }))
  spend(2 * days.length + days.length ** 2 / 10)
  for (const [index, start] of days.entries()) {
    for (const end of days.slice(index + 1)) {
      if (Math.abs(end.at - start.at) === number * DAY_MS) return `the days from ${start.date} to ${end.date}`
    }
  }
  return deriveTimes(times, minutes => minutes > 0 && (minutes === number || minutes === number * 60))
}

/** Explains a time of day or a duration as the difference between two others. */
export function deriveTime(time: string, times: readonly string[]): string | undefined {
  const wanted = minutesOf(time)
  return deriveTimes(times, (minutes, start, end) => start !== end && Math.abs(minutes - wanted) < 1e-6)
}

/** The first two times of day whose difference satisfies `isWanted`. */
function deriveTimes(
  times: readonly string[],
  isWanted: (minutes: number, start: string, end: string) => boolean,
): string | undefined {
  const moments = times.slice(0, MAX_DATES).map(time => ({ time, at: minutesOf(time) }))
  spend(5 * moments.length + moments.length ** 2 / 10)
  for (const start of moments) {
    for (const end of moments) {
      const minutes = (end.at - start.at + DAY_MINUTES) % DAY_MINUTES
      if (isWanted(minutes, start.time, end.time)) return `the time from ${start.time} to ${end.time}`
    }
  }
  return undefined
}

const DAY_MINUTES = 24 * 60

const minutesOf = (time: string): number => {
  const [hours = 0, minutes = 0, seconds = 0] = time.split(':').map(Number)
  return Math.round((hours * 60 + minutes) * 60 + seconds) / 60
}

/** Explains a date as a number of days before or after another. Undefined if no number fits. */
export function deriveDate(date: string, dates: readonly string[], numbers: readonly number[]): string | undefined {
  const at = Date.parse(date)
  for (const start of dates.slice(0, MAX_DATES)) {
    const days = (at - Date.parse(start)) / DAY_MS
    spend(2 + numbers.length / 5)
    const number = numbers.find(value => value > 1 && (Math.abs(days) === value || Math.abs(days) === value * 7))
    if (number !== undefined) return `${start} and ${number} days`
  }
  return undefined
}
