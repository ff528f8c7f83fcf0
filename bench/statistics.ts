/** The value below which this share of all values lies. `quantile(values, 0.5)` is the median. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  const place = (sorted.length - 1) * share
  const below = sorted[Math.floor(place)] ?? Number.NaN
  const above = sorted[Math.ceil(place)] ?? Number.NaN
  return below + (above - below) * (place - Math.floor(place))
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)

/** The range of the middle half of the values. */
export const spreadOf = (values: readonly number[]): [low: number, high: number] => [
  quantile(values, 0.25),
  quantile(values, 0.75),
]
