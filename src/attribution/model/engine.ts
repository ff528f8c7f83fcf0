import { inTurns } from '../../domain/turns.ts'
import type { Env } from '../../env.ts'
import { MODEL_CALL_MS } from '../../limits.ts'
import { ask } from '../../model/ask.ts'
import { configuredModel, modelSettings } from '../../model/provider.ts'
import type { Engine } from '../engine.ts'
import { QUESTION_VERSION } from '../versions.ts'
import { answerSchema, readAnswer } from './answer.ts'
import { writeQuestion } from './question.ts'

/**
 * Returns the engine for the configured model, or undefined if none is configured. `callMs` limits each call. An error
 * is final if a setting is malformed, the provider rejects the request as invalid, or the model's answer is invalid
 * twice.
 */
export function modelEngine(env: Env, callMs = MODEL_CALL_MS): Engine | undefined {
  const engine = configuredModel(env)
  if (!engine) return undefined
  return async (subject, findings, types, context) => {
    const startedAt = Date.now()
    // Read the settings during the run, so that a mistake in them becomes the run's error.
    const settings = modelSettings(engine, env)
    const question = {
      ...(await inTurns(writeQuestion(subject, findings, types))),
      name: 'attribution',
      schema: answerSchema(types, subject),
      read: (value: unknown) => inTurns(readAnswer(value, subject, types)),
    }
    const { answer, cost } = await ask(settings, question, { ...context, callMs })
    return {
      attribution: { ...answer, engine },
      version: QUESTION_VERSION,
      cost: { durationMs: Date.now() - startedAt, ...cost },
    }
  }
}
