import type { Runtime } from '../env.ts'
import type { Deadline } from '../store/core/deadline.ts'

/** A request whose sender is looked up, and what the look-up may use. */
export interface Lookup extends Runtime {
  request: Request
  deadline: Deadline
  /** Milliseconds since 1970. */
  now: number
}
