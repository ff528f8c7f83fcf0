import type { Runtime } from '../env.ts'
import type { Patience } from '../store/core/patience.ts'

/** A request whose sender is looked up, and what the look-up may use. */
export interface Lookup extends Runtime {
  request: Request
  patience: Patience
  /** Milliseconds since 1970. */
  now: number
}
