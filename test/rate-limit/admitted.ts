/** The largest number of times within any 60 seconds. The times must be sorted. */
export function mostInAnyMinute(times: readonly number[]): number {
  let most = 0
  let first = 0
  for (const [index, time] of times.entries()) {
    while ((times[first] ?? time) <= time - 60_000) first++
    most = Math.max(most, index - first + 1)
  }
  return most
}

/**
 * The times at which an exact limiter admits a request if its tokens return after `windowMs`. The times must be sorted.
 */
export function greedy(limit: number, times: readonly number[], windowMs: number): number[] {
  const admitted: number[] = []
  for (const time of times) {
    if (admitted.length < limit || (admitted.at(-limit) ?? 0) <= time - windowMs) admitted.push(time)
  }
  return admitted
}
