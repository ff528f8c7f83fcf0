import type { AttributionCost } from '../../domain/attribution.ts'
import { inTurns } from '../../domain/turns.ts'
import type { Env } from '../../env.ts'
import { MODEL_CALL_MS } from '../../limits.ts'
import { type Engine, type EngineAnswer, EngineError } from '../engine.ts'
import { QUESTION_VERSION } from '../versions.ts'
import { answerSchema, readAnswer } from './answer.ts'
import { askModel, type Usage } from './ask-model.ts'
import { writePrompt } from './prompt.ts'
import { type ModelSettings, modelSettings, type Prices } from './provider.ts'

/**
 * Returns the engine for the configured model, or undefined if none is configured. `callMs` limits each call. An error
 * is final if a setting is malformed, the provider rejects the request as invalid, or the model's answer is invalid
 * twice.
 */
export function modelEngine(env: Env, callMs = MODEL_CALL_MS): Engine | undefined {
  const name = env.ATTRIBUTION_MODEL?.trim()
  if (!name) return undefined
  // Read the settings during the run: a mistake in them is then the run's error.
  return async (...question) => attributeByModel(modelSettings(name, env), callMs, ...question)
}

/** Model calls per run. The second call says what was wrong with the first answer. */
const MAX_QUESTIONS = 2

async function attributeByModel(
  { name, open, prices }: ModelSettings,
  callMs: number,
  ...[subject, findings, types, { signal, renew, reserveCall }]: Parameters<Engine>
): Promise<EngineAnswer> {
  const startedAt = Date.now()
  const model = await open()
  const { instructions, material } = await inTurns(writePrompt(subject, findings, types))
  const schema = answerSchema(types, subject)
  const usages: Usage[] = []
  let fault = ''
  while (usages.length < MAX_QUESTIONS) {
    if (fault && !(await renew())) throw new EngineError('Another run took over the job', { isFinal: false })
    const question = fault ? `${material}\n${askAgain(fault)}` : material
    await reserveCall()
    const answer = await askModel({ model, instructions, question, schema, signal, callMs })
    usages.push(answer.usage)
    const reading = answer.fault ? { fault: answer.fault } : readAnswer(answer.value, subject, types)
    if ('attribution' in reading) {
      const attribution = { ...reading.attribution, engine: name }
      return {
        attribution,
        version: QUESTION_VERSION,
        cost: { durationMs: Date.now() - startedAt, ...costOf(usages, prices) },
      }
    }
    fault = reading.fault
  }
  throw new EngineError(`The model's answer was invalid twice: ${fault}`, { isFinal: true })
}

/**
 * Doesn't repeat the answer, which may contain text injected through the trace. Such text must stay inside the fence.
 */
const askAgain = (fault: string): string =>
  `You have already answered this, and the answer was rejected: ${fault}. Answer again, following the instructions.`

/**
 * The total cost of the calls. A value is null if the provider didn't report it for every call, or if no price is set.
 */
function costOf(usages: readonly Usage[], prices: Prices | null): Omit<AttributionCost, 'durationMs'> {
  const inputTokens = sum(usages.map(({ inputTokens }) => inputTokens))
  const outputTokens = sum(usages.map(({ outputTokens }) => outputTokens))
  const isPriced = prices !== null && inputTokens !== null && outputTokens !== null
  const costUsd = isPriced ? (inputTokens * prices.input + outputTokens * prices.output) / 1_000_000 : null
  return { inputTokens, outputTokens, costUsd }
}

const sum = (counts: readonly (number | undefined)[]): number | null =>
  counts.reduce<number | null>((all, count) => (all === null || count === undefined ? null : all + count), 0)
