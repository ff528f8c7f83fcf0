import type { Attribution, AttributionCost, ErrorType } from '../domain/attribution.ts'
import type { Env } from '../env.ts'
import type { Finding } from './evidence.ts'
import { attributeByRules } from './rules.ts'
import type { Subject } from './subject.ts'

/** What an engine may know of the job that it works for. */
export interface EngineContext {
  /** Aborts when somebody else has the job: what comes of this run is not stored any more. */
  signal: AbortSignal
  /** Holds the job for longer, which happens by itself every 20 seconds; false where it is lost. */
  renew: () => Promise<boolean>
}

/** An engine's answer and what it took. */
export interface EngineAnswer {
  attribution: Attribution
  cost: AttributionCost
}

/** Names the cause of a disagreement, one of `types`, which are those that the project has enabled. */
export type Engine = (
  subject: Subject,
  findings: readonly Finding[],
  types: readonly ErrorType[],
  context: EngineContext,
) => Promise<EngineAnswer>

/** Why there is no answer, in words that anybody may read: nothing of the trace, no key. Other errors are shown as a failure alone. */
export class EngineError extends Error {
  /** Whether another attempt would fail as well. */
  readonly isFinal: boolean

  constructor(reason: string, { isFinal, cause }: { isFinal: boolean; cause?: unknown }) {
    super(reason, { cause })
    this.name = 'EngineError'
    this.isFinal = isFinal
  }
}

/** The engine that the deployment is configured for. A setting that cannot be met is an error, never another engine. */
export function engineOf({ ATTRIBUTION_MODEL: model }: Env, switchedOff: ReadonlySet<string>): Engine {
  if (model) throw new EngineError('ATTRIBUTION_MODEL names a model, which this release cannot ask', { isFinal: true })
  return async (subject, findings) => {
    const start = Date.now()
    const attribution = attributeByRules(subject, [...findings], switchedOff)
    const durationMs = Date.now() - start
    return { attribution, cost: { durationMs, inputTokens: null, outputTokens: null, costUsd: null } }
  }
}
