/*
 * A simulation of calls that wait for databases. Each database serves one call at a time, in the order in which calls
 * arrive, as D1 does.
 */

/** A call: when it arrives, which database it goes to, and how long that database works on it. */
export interface SimulatedCall {
  /** The time since the previous call, in units of the mean time between two calls. */
  gap: number
  database: number
  serviceMs: number
}

/** At most this share of calls may be slower than the limit, so the limit applies to the 99th percentile. */
const SLOW_SHARE = 0.01

/** Each step halves the range of possible rates. */
const STEPS = 20

/**
 * The highest rate, in calls per second, at which the 99th percentile of the time in a database, including waiting, is
 * within `limitMs`. Only the time between the calls depends on the rate, so the same calls always give the same result.
 */
export function highestRate(calls: readonly SimulatedCall[], databases: number, limitMs: number): number {
  const busyMs = calls.reduce((sum, { serviceMs }) => sum + serviceMs, 0)
  let low = 0
  // At a higher rate, the databases can't keep up, even if none is ever idle.
  let high = (1000 * databases * calls.length) / busyMs
  for (let step = 0; step < STEPS; step++) {
    const rate = (low + high) / 2
    if (slowShare(calls, databases, { rate, limitMs }) <= SLOW_SHARE) low = rate
    else high = rate
  }
  return low
}

/** The share of calls that take longer than the limit at the given rate. */
function slowShare(
  calls: readonly SimulatedCall[],
  databases: number,
  { rate, limitMs }: { rate: number; limitMs: number },
): number {
  const freeAt = new Float64Array(databases)
  let now = 0
  let slow = 0
  for (const { gap, database, serviceMs } of calls) {
    now += (gap * 1000) / rate
    const endsAt = Math.max(now, freeAt[database] ?? 0) + serviceMs
    freeAt[database] = endsAt
    if (endsAt - now > limitMs) slow++
  }
  return slow / calls.length
}
