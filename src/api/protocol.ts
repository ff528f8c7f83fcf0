import type { Caller } from '../auth/authenticate.ts'
import type { Lookup } from '../auth/lookup.ts'
import type { Deadline } from '../store/core/deadline.ts'
import type { Contract } from './contract.ts'

/** How one kind of client shows its key, and how its requests are read and answered. `serve` keeps the order. */
export interface Protocol<Answer> {
  /** How long a request may wait for D1 and R2. */
  deadline: () => Deadline
  /** Who is calling. Errors: those of `authenticate`. */
  authenticate: (lookup: Lookup) => Promise<Caller>
  /** The body, as the contract's schema takes it. */
  readBody: (request: Request, contract: Contract) => unknown
  /** The response to what the handler returned. */
  success: (answer: Answer, request: Request, contract: Contract) => Response | Promise<Response>
  /** The response to whatever was thrown. Logs every fault. */
  failure: (error: unknown, request: Request, requestId: string) => Response
}
