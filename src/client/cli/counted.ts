/** The form of a regular noun that follows a number: `item` for 1, else `items`. */
export const nounFor = (count: number, one: string): string => (count === 1 ? one : `${one}s`)

/** A number of things with a regular plural: `1 item`, `12 items`. */
export const counted = (count: number, one: string): string => `${count} ${nounFor(count, one)}`
