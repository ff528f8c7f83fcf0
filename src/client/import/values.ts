/** A value as parsed from JSON. */
export type Value = string | number | boolean | null | Value[] | Fields
export interface Fields {
  [name: string]: Value | undefined
}

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The text, unless it's empty or something else. */
export const textOf = (value: Value | undefined): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** A number, even if it's written as a string, as decimals are. */
export function numberOf(value: Value | undefined): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

/** An object, even if it's written as JSON text. */
export function fieldsOf(value: Value | undefined): Fields | undefined {
  const parsed = typeof value === 'string' ? parsedText(value) : value
  return isFields(parsed) ? parsed : undefined
}

export const textsOf = (value: Value | undefined): string[] =>
  Array.isArray(value) ? value.filter(item => typeof item === 'string') : []

/** Parses a string that's the JSON of an object, a list, or a string. Returns any other string as it is. */
export function parsedText(text: string): Value {
  if (!/^\s*[[{"]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** A value in the form of a telemetry attribute: text as it is, and everything else as JSON. */
export const asText = (value: Value): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Whether a field has nothing to keep. */
export const isEmpty = (value: Value | undefined): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0)

const TIME = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2})(?:[.,](\d{1,9}))?\d*\s*(Z|[+-]\d{2}(?::?\d{2})?)?$/i

/** A time in nanoseconds since 1970. */
export type Nanoseconds = bigint

/**
 * Reads a time: ISO 8601, in UTC unless it names another zone, or a number of seconds, milliseconds, microseconds, or
 * nanoseconds since 1970, distinguished by their size. Undefined if it isn't a time, or is before 1970.
 */
export function timeOf(value: Value | undefined): Nanoseconds | undefined {
  if (typeof value === 'number') return timeOfNumber(value)
  const text = textOf(value)?.trim()
  if (text === undefined) return undefined
  if (/^\d{9,19}(?:\.\d+)?$/.test(text)) return timeOfNumber(Number(text))
  const [, day, time, fraction = '', zone = 'Z'] = TIME.exec(text) ?? []
  // Date.parse accepts February 30 and returns a day in March.
  if (day === undefined || new Date(`${day}T00:00Z`).toJSON()?.slice(0, 10) !== day) return undefined
  const seconds = Date.parse(
    `${day}T${time}${zone.replace(/^([+-]\d{2}):?(\d{2})?$/, (_, hours, minutes = '00') => `${hours}:${minutes}`)}`,
  )
  return seconds >= 0 ? BigInt(seconds) * 1_000_000n + BigInt(fraction.padEnd(9, '0')) : undefined
}

function timeOfNumber(number: number): Nanoseconds | undefined {
  if (!(number >= 0 && number < 1e20)) return undefined
  // 1e11 seconds and 1e20 nanoseconds are in the year 5138; 1e11 milliseconds were in 1973.
  const scale = number < 1e11 ? 1e9 : number < 1e14 ? 1e6 : number < 1e17 ? 1e3 : 1
  const whole = Math.trunc(number)
  return BigInt(whole) * BigInt(scale) + BigInt(Math.round((number - whole) * scale))
}

/** A time in the service's format, which ends with milliseconds. Anything smaller is dropped. */
export const isoTime = (time: Nanoseconds): string => new Date(Number(time / 1_000_000n)).toISOString()
