/** At most this much of each pause counts as time spent reviewing. */
const PAUSE_MS = 5 * 60_000
/** In a shorter time, a few quick decisions would suggest an unrealistic pace. */
const MIN_ACTIVE_MS = 10 * 60_000

/** Decisions per hour in a sitting, from their times in milliseconds. Null for the first ten minutes of work. */
export function perHour(startedAt: number, decidedAt: readonly number[]): number | null {
  const times = [startedAt, ...decidedAt]
  const active = times.slice(1).reduce((sum, at, index) => sum + Math.min(at - (times[index] ?? at), PAUSE_MS), 0)
  return active < MIN_ACTIVE_MS ? null : Math.round((decidedAt.length * 3_600_000) / active)
}
