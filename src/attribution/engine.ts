import type { Attribution, AttributionCost, ErrorType } from '../domain/attribution.ts'
import type { Subject } from '../domain/subject.ts'
import type { Finding } from './finding.ts'

/** What an engine can find out about its job, and what it can do to it. */
export interface EngineContext {
  /** Aborts when another run takes over the job. This run's result is then discarded. */
  signal: AbortSignal
  /**
   * Extends the lease on the job, which also happens automatically every 20 seconds. Returns false if another run has
   * taken over the job.
   */
  renew: () => Promise<boolean>
  /**
   * Counts a model call. Call this before each one.
   *
   * @throws {ModelLimitError} If the project has used up its calls for the day.
   */
  reserveCall: () => Promise<void>
}

/** An engine's answer and what it cost. */
export interface EngineAnswer {
  attribution: Attribution
  /** The version of the rules, or of the question for a model, so that a change doesn't inherit the old one's record. */
  version: string
  cost: AttributionCost
}

/**
 * Names the cause of a disagreement as one of `types`, the project's enabled error types.
 *
 * @throws {EngineError} If the engine can't answer. If `signal` is aborted, its reason is thrown unchanged.
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
  /** How long to wait before another attempt, if the provider says. */
  retryAfterSeconds?: number | undefined
}

/**
 * Why an engine couldn't answer. The message is safe to store, log, and show: it never contains a key, a payload, or
 * text from a provider or model. There is no `cause` either, because a provider's error contains the request and may
 * quote the key. For errors of any other class, callers only learn that one occurred.
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

/** The project has used up its model calls for the day. The job waits rather than failing. */
export class ModelLimitError extends Error {
  /** The end of the day, in milliseconds since 1970. */
  readonly until: number

  constructor(until: number) {
    super("The project has used up today's model calls")
    this.name = 'ModelLimitError'
    this.until = until
  }
}
