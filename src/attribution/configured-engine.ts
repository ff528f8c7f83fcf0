import type { Env } from '../env.ts'
import { type Engine, EngineError } from './engine.ts'
import { modelEngine } from './model/engine.ts'
import { attributeByRules } from './rules/engine.ts'
import { TAXONOMY } from './taxonomy.ts'

/** The engine that the deployment is configured for. A setting that cannot be met is an error of its run, never another engine. */
export const engineOf = (env: Env): Engine => modelEngine(env) ?? rulesEngine

/** Asks the rules, which know the built-in error types alone. */
const rulesEngine: Engine = async (subject, findings, types) => {
  const enabled = new Set(types.map(({ errorType }) => errorType))
  const known = TAXONOMY.map(({ errorType }) => errorType)
  const switchedOff = new Set<string>(known.filter(errorType => !enabled.has(errorType)))
  if (switchedOff.size === known.length) {
    throw new EngineError("The rules know none of the project's error types: switch a built-in one on", {
      isFinal: true,
    })
  }
  const start = Date.now()
  const attribution = attributeByRules(subject, findings, switchedOff)
  const durationMs = Date.now() - start
  return { attribution, cost: { durationMs, inputTokens: null, outputTokens: null, costUsd: null } }
}
