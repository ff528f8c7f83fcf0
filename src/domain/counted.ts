/** A count for an English sentence: `1,234`. */
export const formatCount = (count: number): string => count.toLocaleString('en')

/** The form of a regular noun that follows a number: `trace` for 1, else `traces`. */
export const nounFor = (count: number, one: string): string => (count === 1 ? one : `${one}s`)

/** A number of things with a regular plural: `1 value`, `1,234 values`. */
export const counted = (count: number, one: string): string => `${formatCount(count)} ${nounFor(count, one)}`
