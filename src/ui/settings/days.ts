/*
 * Days in the reader's time zone (`YYYY-MM-DD`), and the times (ISO 8601, UTC) when they begin and end.
 */

/** The day that contains a time. */
export function dayOf(time: string): string {
  const date = new Date(time)
  const part = (value: number) => String(value).padStart(2, '0')
  return `${date.getFullYear()}-${part(date.getMonth() + 1)}-${part(date.getDate())}`
}

/** When a day begins. */
export const startOfDay = (day: string): string => new Date(`${day}T00:00:00`).toISOString()

/** The last millisecond of a day. */
export const endOfDay = (day: string): string => new Date(`${day}T23:59:59.999`).toISOString()

/** When the next day begins. */
export const nextDay = (day: string): string => new Date(Date.parse(endOfDay(day)) + 1).toISOString()

/** The day that ends at a time. */
export const previousDay = (time: string): string => dayOf(new Date(Date.parse(time) - 1).toISOString())
