const DAY_MS = 86_400_000

/** The windows that may be looked at, in days. */
export const WINDOWS = [7, 30, 90] as const

export type WindowDays = (typeof WINDOWS)[number]

/** From a time on and before another one; ISO 8601, UTC. */
export interface TimeRange {
  from: string
  to: string
}

/** The window that `?days=` names; 30 days where it names none of them. */
export const windowNamed = (text: string | null): WindowDays => WINDOWS.find(days => String(days) === text) ?? 30

/** The whole days of UTC that end with a moment's own, and as many before them. The moment is in milliseconds. */
export function windowsAt(moment: number, days: WindowDays): { current: TimeRange; before: TimeRange } {
  const end = (Math.floor(moment / DAY_MS) + 1) * DAY_MS
  const isoAt = (daysBefore: number) => new Date(end - daysBefore * DAY_MS).toISOString()
  return { current: { from: isoAt(days), to: isoAt(0) }, before: { from: isoAt(2 * days), to: isoAt(days) } }
}

/** Days that are shown as one point or bar. */
export interface Bucket {
  /** The first day, `YYYY-MM-DD`. */
  from: string
  /** How many days of the window it has: the first week of a window may be cut. */
  days: number
}

/** A window longer than this is shown by weeks. */
const MAX_SINGLE_DAYS = 31
const WEEK = 7

/** A window's days, or weeks that end with its last day, oldest first. */
export function bucketsOf({ from, to }: TimeRange): Bucket[] {
  const first = Date.parse(from)
  const total = Math.round((Date.parse(to) - first) / DAY_MS)
  const size = total > MAX_SINGLE_DAYS ? WEEK : 1
  const cut = total % size
  return Array.from({ length: Math.ceil(total / size) }, (_, index) => {
    const start = cut === 0 ? index * size : Math.max(0, index * size - (size - cut))
    return { from: dayAt(first + start * DAY_MS), days: index === 0 && cut > 0 ? cut : size }
  })
}

/** The place among buckets of the one that has a day; -1 for a day before all of them. */
export const bucketIndex = (buckets: readonly Bucket[], day: string): number =>
  buckets.findLastIndex(({ from }) => from <= day)

const dayAt = (time: number): string => new Date(time).toISOString().slice(0, 10)

const shortDay = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' })

/** A day (`YYYY-MM-DD` or ISO 8601) as people write it, without its year. */
export const dayName = (day: string): string => shortDay.format(new Date(day))

/** A bucket as it is called beside its numbers. */
export const bucketName = ({ from, days }: Bucket): string =>
  days === 1 ? dayName(from) : shortDay.formatRange(new Date(from), new Date(Date.parse(from) + (days - 1) * DAY_MS))

/** The first and last day of a range. */
export const rangeName = ({ from, to }: TimeRange): string =>
  shortDay.formatRange(new Date(from), new Date(Date.parse(to) - DAY_MS))
