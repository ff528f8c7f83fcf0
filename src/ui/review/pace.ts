/** Pauses longer than this aren't added to the time spent reviewing. */
const PAUSE_MS = 5 * 60_000
const MIN_ACTIVE_MS = 60_000

/** Decisions per hour in a sitting, from their times in milliseconds; null before the first. */
export function perHour(startedAt: number, decidedAt: readonly number[]): number | null {
  if (decidedAt.length === 0) return null
  const times = [startedAt, ...decidedAt]
  const active = times.slice(1).reduce((sum, at, index) => sum + Math.min(at - (times[index] ?? at), PAUSE_MS), 0)
  return Math.round((decidedAt.length * 3_600_000) / Math.max(active, MIN_ACTIVE_MS))
}
