import { nounFor } from '../../domain/counted.ts'

/** A number of things with a regular plural: `1 item`, `12 items`. */
export const counted = (count: number, one: string): string => `${count} ${nounFor(count, one)}`
