import { JobError } from '../domain/job-error.ts'
import type { Env } from '../env.ts'
import type { Engine } from './engine.ts'
import { modelEngine } from './model/engine.ts'
import { attributeByRules } from './rules/engine.ts'
import { TAXONOMY } from './taxonomy.ts'
import { RULES_VERSION } from './versions.ts'

/**
 * The engine that the deployment's settings select. An invalid setting fails the run instead of falling back to a
 * different engine.
 */
export const engineOf = (env: Env): Engine => modelEngine(env) ?? rulesEngine

/** Runs the rules, which can only choose built-in error types. */
const rulesEngine: Engine = async (subject, findings, types) => {
  const enabled = new Set(types.map(({ errorType }) => errorType))
  const known = TAXONOMY.map(({ errorType }) => errorType)
  const switchedOff = new Set<string>(known.filter(errorType => !enabled.has(errorType)))
  if (switchedOff.size === known.length) {
    throw new JobError("The rules can't choose any of the project's enabled error types: enable a built-in one", {
      isFinal: true,
    })
  }
  const start = Date.now()
  const attribution = attributeByRules(subject, findings, switchedOff)
  const durationMs = Date.now() - start
  return {
    attribution,
    version: RULES_VERSION,
    cost: { durationMs, inputTokens: null, outputTokens: null, costUsd: null },
  }
}
