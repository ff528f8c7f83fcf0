import type { Attribution, AttributionCost, ErrorType } from '../domain/attribution.ts'
import type { Subject } from '../domain/subject.ts'
import type { Finding } from './finding.ts'

/** The facts about its job that an engine may use. */
export interface EngineContext {
  /** Aborts when another run takes the job. The result of this run is then discarded. */
  signal: AbortSignal
  /**
   * Extends the lease on the job. This also happens automatically every 20 seconds. Returns false if the job is lost.
   */
  renew: () => Promise<boolean>
  /**
   * Counts a model call. Call this before each one.
   *
   * @throws {ModelLimitError} If the project has used up its calls for the day.
   */
  reserveCall: () => Promise<void>
}

/** An engine's answer and its cost. */
export interface EngineAnswer {
  attribution: Attribution
  cost: AttributionCost
}

/**
 * Names the cause of a disagreement: one of `types`, the error types that the project has enabled.
 *
 * @throws {EngineError} If it has no answer. The reason that `signal` was aborted with is thrown unchanged.
 */
export type Engine = (
  subject: Subject,
  findings: readonly Finding[],
  types: readonly ErrorType[],
  context: EngineContext,
) => Promise<EngineAnswer>

interface EngineErrorOptions {
  /** Whether another attempt would fail the same way. */
  isFinal: boolean
  /** When another attempt may succeed, if a provider says so. */
  retryAfterSeconds?: number | undefined
}

/**
 * Why there is no answer. The message is safe to store, log and show: it contains no key, no payload and nothing that a
 * provider or a model said. For the same reason it has no `cause`: a provider's error contains the request and may
 * quote the key. For any other error, only the fact that one occurred is shown.
 */
export class EngineError extends Error {
  readonly isFinal: boolean
  readonly retryAfterSeconds: number | undefined

  constructor(message: string, { isFinal, retryAfterSeconds }: EngineErrorOptions) {
    super(message)
    this.name = 'EngineError'
    this.isFinal = isFinal
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** The project has used up its model calls for the day. The job waits; it hasn't failed. */
export class ModelLimitError extends Error {
  /** The end of the day in milliseconds since 1970. */
  readonly until: number

  constructor(until: number) {
    super("The project has used up today's model calls")
    this.name = 'ModelLimitError'
    this.until = until
  }
}
