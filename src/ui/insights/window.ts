const DAY_MS = 86_400_000

/** The periods to choose from, in days. */
export const WINDOWS = [7, 30, 90] as const

export type WindowDays = (typeof WINDOWS)[number]

/** A range of time, from `from` (inclusive) to `to` (exclusive); ISO 8601, UTC. */
export interface TimeRange {
  from: string
  to: string
}

/** The period in `?days=`. The default is 30 days. */
export const windowNamed = (text: string | null): WindowDays => WINDOWS.find(days => String(days) === text) ?? 30

/** The period that ends with the UTC day of `moment` (milliseconds since 1970), and the period before it. */
export function windowsAt(moment: number, days: WindowDays): { current: TimeRange; before: TimeRange } {
  const end = (Math.floor(moment / DAY_MS) + 1) * DAY_MS
  const isoAt = (daysBefore: number) => new Date(end - daysBefore * DAY_MS).toISOString()
  return { current: { from: isoAt(days), to: isoAt(0) }, before: { from: isoAt(2 * days), to: isoAt(days) } }
}

/** One or more days, shown as one point or bar. */
export interface Bucket {
  /** The first day, `YYYY-MM-DD`. */
  from: string
  /** The number of days. A period's first week may be partial. */
  days: number
}

/** Longer periods are shown by week. */
const MAX_SINGLE_DAYS = 31
const WEEK = 7

/** A period's days, or its weeks if it's long, oldest first. The last week ends on the period's last day. */
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

/** The end of a bucket (ISO 8601, UTC), exclusive. */
export const bucketEnd = ({ from, days }: Bucket): string => new Date(Date.parse(from) + days * DAY_MS).toISOString()

/** The index of the bucket that contains a day; -1 if the day is before the first bucket. */
export const bucketIndex = (buckets: readonly Bucket[], day: string): number =>
  buckets.findLastIndex(({ from }) => from <= day)

const dayAt = (time: number): string => new Date(time).toISOString().slice(0, 10)

const shortDay = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' })

/** A day (`YYYY-MM-DD` or ISO 8601) in the reader's format, without the year. */
export const dayName = (day: string): string => shortDay.format(new Date(day))

/** A bucket's label. */
export const bucketName = ({ from, days }: Bucket): string =>
  days === 1 ? dayName(from) : shortDay.formatRange(new Date(from), new Date(Date.parse(from) + (days - 1) * DAY_MS))

/** The first and last day of a range. */
export const rangeName = ({ from, to }: TimeRange): string =>
  shortDay.formatRange(new Date(from), new Date(Date.parse(to) - DAY_MS))
