import type { Caller } from '../auth/authenticate.ts'
import type { Lookup } from '../auth/lookup.ts'
import type { Deadline } from '../store/core/deadline.ts'
import type { Contract } from './contract.ts'

/** How one kind of client authenticates, sends requests, and receives responses. `serve` defines the order. */
export interface Protocol<Answer> {
  /** How long a request may wait for D1 and R2. */
  deadline: () => Deadline
  /** Identifies the caller. Throws the same errors as `authenticate`. */
  authenticate: (lookup: Lookup) => Promise<Caller>
  /** Reads the body for the contract's schema. */
  readBody: (request: Request, contract: Contract) => unknown
  /** The response for a handler's result. */
  success: (answer: Answer, request: Request, contract: Contract, requestId: string) => Response | Promise<Response>
  /** The response for a thrown error. Logs every fault. */
  failure: (error: unknown, request: Request, requestId: string) => Response
}
