import { share } from '../parts/format.ts'

/** The 95% interval of a share, in words. */
export const intervalName = ({ low, high }: { low: number; high: number }): string =>
  `${share(low, 1)} to ${share(high, 1)}`
