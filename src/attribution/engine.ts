import type { Attribution, AttributionCost, ErrorType } from '../domain/attribution.ts'
import type { Subject } from '../domain/subject.ts'
import type { Finding } from './finding.ts'

/** What connects a run to its job. */
export interface EngineContext {
  /** Aborts when another run takes over the job. This run's result is then discarded. */
  signal: AbortSignal
  /**
   * Extends the lease on the job and counts a model call. Call this before each model call.
   *
   * @throws {ModelLimitError} If the project has used up its calls for the day. If another run has taken over the job,
   *   `signal.reason` is thrown.
   */
  reserveCall: () => Promise<void>
}

/** An engine's answer and what it cost. */
export interface EngineAnswer {
  attribution: Attribution
  /**
   * The version of the rules, or of the question for a model. A new version doesn't inherit the old one's track record.
   */
  version: string
  cost: AttributionCost
}

/**
 * Attributes a disagreement to one of `types`, the project's enabled error types.
 *
 * @throws {JobError} If the engine can't answer. If `signal` is aborted, its reason is thrown unchanged.
 */
export type Engine = (
  subject: Subject,
  findings: readonly Finding[],
  types: readonly ErrorType[],
  context: EngineContext,
) => Promise<EngineAnswer>
