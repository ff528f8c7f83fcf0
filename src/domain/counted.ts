/** A count for an English sentence: `1,234`. */
export const formatCount = (count: number): string => count.toLocaleString('en')

/** A number of things with a regular plural: `1 value`, `1,234 values`. */
export const counted = (count: number, one: string): string => `${formatCount(count)} ${one}${count === 1 ? '' : 's'}`
