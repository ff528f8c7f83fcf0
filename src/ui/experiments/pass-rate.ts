import type { Experiments } from '../api/wire.ts'
import { share } from '../parts/format.ts'

type Rate = Pick<Experiments['experiments'][number], 'passRate' | 'interval'>

/** A pass rate as a percentage, or '–' if nothing is judged. */
export const passRate = ({ passRate }: Pick<Rate, 'passRate'>): string => (passRate === null ? '–' : share(passRate, 1))

/** A pass rate's interval: `71% to 94%`. */
export const intervalOf = ({ interval }: Pick<Rate, 'interval'>): string | null =>
  interval && `${share(interval.low, 1)} to ${share(interval.high, 1)}`
