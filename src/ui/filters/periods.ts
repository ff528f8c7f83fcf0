/*
 * Ranges of time, in words and in date fields. Minutes are in the reader's time zone. Days are in UTC, as in the API.
 */

export type PeriodUnit = 'minute' | 'day'

/** ISO 8601, UTC. `to` is exclusive. Null or '' means no limit. */
export interface Period {
  from: string | null
  to: string | null
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const minutes = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const days = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' })

const isTime = (text: string | null): text is string => text !== null && !Number.isNaN(Date.parse(text))

/** A time on the last UTC day before another time. */
const lastDayBefore = (time: string): string => new Date(Date.parse(time) - 1).toISOString()

/** A period as a filter shows it. A time that can't be parsed is shown unchanged. */
export function periodWords({ from, to }: Period, unit: PeriodUnit): string {
  const words = (time: string) => (isTime(time) ? (unit === 'day' ? days : minutes).format(new Date(time)) : time)
  if (!to) return `since ${words(from ?? '')}`
  const end = unit === 'day' && isTime(to) ? words(lastDayBefore(to)) : words(to)
  if (!from) return `${unit === 'day' ? 'until' : 'before'} ${end}`
  return words(from) === end ? end : `${words(from)} – ${end}`
}

/** The values of a period's two date fields; '' if there's no limit. The last day is part of the period. */
export function fieldsOf({ from, to }: Period, unit: PeriodUnit): { from: string; to: string } {
  if (unit === 'day') {
    return { from: isTime(from) ? from.slice(0, 10) : '', to: isTime(to) ? lastDayBefore(to).slice(0, 10) : '' }
  }
  return { from: isTime(from) ? localMinute(from) : '', to: isTime(to) ? localMinute(to) : '' }
}

/** The period in two date fields. */
export function periodOf(fields: { from: string; to: string }, unit: PeriodUnit): Period {
  const timeOf = (text: string, moreMs = 0) =>
    text === '' ? null : new Date(Date.parse(unit === 'day' ? `${text}T00:00:00Z` : text) + moreMs).toISOString()
  return { from: timeOf(fields.from), to: timeOf(fields.to, unit === 'day' ? DAY_MS : 0) }
}

/** Whether a period ends before it begins. */
export const isBackward = ({ from, to }: Period): boolean => from !== null && to !== null && from >= to

/** A time in the reader's time zone, in the format that a minute field expects. */
function localMinute(time: string): string {
  const date = new Date(time)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** The periods offered as shortcuts. They all end now. */
export function recentPeriods(unit: PeriodUnit, now: number): { label: string; period: Period }[] {
  const since = (label: string, ms: number) => ({ label, period: { from: new Date(ms).toISOString(), to: null } })
  if (unit === 'day') {
    const today = Math.floor(now / DAY_MS) * DAY_MS
    return [since('Today', today), since('Last 7 days', today - 6 * DAY_MS), since('Last 30 days', today - 29 * DAY_MS)]
  }
  const minute = Math.floor(now / 60_000) * 60_000
  return [
    since('Last hour', minute - HOUR_MS),
    since('Last 24 hours', minute - DAY_MS),
    since('Last 7 days', minute - 7 * DAY_MS),
    since('Last 30 days', minute - 30 * DAY_MS),
  ]
}
