import type { Runtime } from '../env.ts'
import type { Deadline } from '../store/core/deadline.ts'

/** A request to authenticate, and what the lookup may use. */
export interface Lookup extends Runtime {
  request: Request
  deadline: Deadline
  /** Milliseconds since 1970. */
  now: number
}
