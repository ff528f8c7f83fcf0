import type { Attribution, AttributionCost, ErrorType } from '../domain/attribution.ts'
import type { Subject } from '../domain/subject.ts'
import type { Finding } from './finding.ts'

/** What an engine may know of the job that it works for. */
export interface EngineContext {
  /** Aborts when somebody else has the job: what comes of this run is not stored any more. */
  signal: AbortSignal
  /** Holds the job for longer, which happens by itself every 20 seconds; false where it is lost. */
  renew: () => Promise<boolean>
  /**
   * Counts a call of a model, before each one.
   *
   * @throws {ModelLimitError} Where the project's calls of the day are used up.
   */
  reserveCall: () => Promise<void>
}

/** An engine's answer and what it took. */
export interface EngineAnswer {
  attribution: Attribution
  cost: AttributionCost
}

/**
 * Names the cause of a disagreement, one of `types`, which are those that the project has enabled.
 *
 * @throws {EngineError} Where it has no answer. What `signal` was aborted with is thrown as it is.
 */
export type Engine = (
  subject: Subject,
  findings: readonly Finding[],
  types: readonly ErrorType[],
  context: EngineContext,
) => Promise<EngineAnswer>

interface EngineErrorOptions {
  /** Whether the same would come of another attempt. */
  isFinal: boolean
  /** When another attempt may succeed, where a provider says so. */
  retryAfterSeconds?: number | undefined
}

/**
 * Why there is no answer. The message is fit to be stored, logged and shown: it holds no key, no payload and nothing that a
 * provider or a model said. It has no cause for the same reason: a provider's error holds the request, and may quote the
 * key. Of other errors nothing is shown but that there was one.
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

/** The project's calls of a model are used up for the day: the job waits, and has not failed. */
export class ModelLimitError extends Error {
  /** The end of the day, in milliseconds since 1970. */
  readonly until: number

  constructor(until: number) {
    super("The project's model calls of the day are used up")
    this.name = 'ModelLimitError'
    this.until = until
  }
}
