import { nounFor } from '../../domain/counted.ts'

const number = new Intl.NumberFormat(undefined)
const shortNumber = new Intl.NumberFormat(undefined, { notation: 'compact', maximumSignificantDigits: 3 })
const sum = new Intl.NumberFormat(undefined, { style: 'currency', currency: 'USD' })
const smallSum = new Intl.NumberFormat(undefined, { style: 'currency', currency: 'USD', maximumSignificantDigits: 2 })
const percent = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 0 })

/** A count in the reader's format. */
export const count = (value: number): string => number.format(value)

/** A number of things with a regular plural: `1 trace`, `12 traces`. */
export const counted = (value: number, one: string): string => `${count(value)} ${nounFor(value, one)}`

/** A number of items: `1 item`, `12 items`. */
export const itemCount = (value: number): string => counted(value, 'item')

/** A count with three significant digits: 448, 12.3K. */
export const shortCount = (value: number): string => shortNumber.format(value)

interface Usage {
  inputTokens: number
  outputTokens: number
  cachedTokens?: number | undefined
  reasoningTokens?: number | undefined
}

/** The parts of a token count: `412 input (256 cached), 36 output`. */
export function usageDetails({ inputTokens, cachedTokens, outputTokens, reasoningTokens }: Usage): string {
  const cached = cachedTokens === undefined ? '' : ` (${count(cachedTokens)} cached)`
  const reasoning = reasoningTokens === undefined ? '' : ` (${count(reasoningTokens)} reasoning)`
  return `${count(inputTokens)} input${cached}, ${count(outputTokens)} output${reasoning}`
}

/** US dollars in the reader's format: to the cent, or with two significant digits below one cent. */
export const dollars = (amount: number): string => (amount > 0 && amount < 0.01 ? smallSum : sum).format(amount)

/**
 * US dollars in a column. All amounts have as many decimals as the highest amount needs for three significant digits.
 */
export function dollarColumn(amounts: readonly number[]): (amount: number) => string {
  const highest = Math.max(0, ...amounts)
  const digits = highest === 0 ? 2 : Math.min(9, Math.max(2, 2 - Math.floor(Math.log10(highest))))
  const least = 10 ** -digits
  const format = new Intl.NumberFormat(undefined, { style: 'currency', currency: 'USD', minimumFractionDigits: digits })
  return amount => (amount > 0 && amount < least ? `<${format.format(least)}` : format.format(amount))
}

/** US dollars with two significant digits, as on an axis. */
export const roundDollars = (amount: number): string => (amount === 0 ? sum : smallSum).format(amount)

/** A share as a percentage, or '–' if the whole is 0. The result is 0% or 100% only if that's the exact value. */
export function share(part: number, whole: number): string {
  if (whole === 0) return '–'
  const ratio = part / whole
  if (ratio > 0 && ratio < 0.01) return `<${percent.format(0.01)}`
  if (ratio > 0.99 && ratio < 1) return `>${percent.format(0.99)}`
  return percent.format(ratio)
}

/** Milliseconds in readable units: `840 ms`, `1.2 s`, `3 min 5 s`, `2 h 10 min`. */
export function duration(milliseconds: number | null): string {
  if (milliseconds === null) return '–'
  // Longer durations would be rounded to 1,000 ms.
  if (milliseconds < 999.5) return `${Math.round(milliseconds)} ms`
  if (milliseconds < 59_950) return `${(milliseconds / 1_000).toFixed(1)} s`
  const seconds = Math.round(milliseconds / 1_000)
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`
}
