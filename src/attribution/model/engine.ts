import type { AttributionCost } from '../../domain/attribution.ts'
import { inTurns } from '../../domain/turns.ts'
import type { Env } from '../../env.ts'
import { MODEL_CALL_MS } from '../../limits.ts'
import { type Engine, type EngineAnswer, EngineError } from '../engine.ts'
import { answerSchema, readAnswer } from './answer.ts'
import { askModel, type Usage } from './ask-model.ts'
import { writePrompt } from './prompt.ts'
import { type ModelSettings, modelSettings, type Prices } from './provider.ts'

/**
 * The engine of the configured model, or undefined if none is configured. `callMs` limits each call. An error is final
 * if a setting is malformed, the provider rejects the request as invalid, or the model answers outside the schema
 * twice.
 */
export function modelEngine(env: Env, callMs = MODEL_CALL_MS): Engine | undefined {
  const name = env.ATTRIBUTION_MODEL?.trim()
  if (!name) return undefined
  // Settings are read during the run, so that a mistake in them becomes the run's error.
  return async (...question) => attributeByModel(modelSettings(name, env), callMs, ...question)
}

/** Questions per run. The second one says what was wrong with the first answer. */
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
    if (fault && !(await renew())) throw new EngineError('Another run took the job over', { isFinal: false })
    const question = fault ? `${material}\n${askAgain(fault)}` : material
    await reserveCall()
    const answer = await askModel({ model, instructions, question, schema, signal, callMs })
    usages.push(answer.usage)
    const reading = answer.fault ? { fault: answer.fault } : readAnswer(answer.value, subject, types)
    if ('attribution' in reading) {
      const attribution = { ...reading.attribution, engine: name }
      return { attribution, cost: { durationMs: Date.now() - startedAt, ...costOf(usages, prices) } }
    }
    fault = reading.fault
  }
  throw new EngineError(`The model answered outside the schema twice: ${fault}`, { isFinal: true })
}

/** Doesn't repeat the answer: it may contain text injected through the trace, which must stay inside the fenced block. */
const askAgain = (fault: string): string =>
  `You have already answered this, and the answer was rejected: ${fault}. Answer again, following the instructions.`

/**
 * The total cost of the questions. A value is null if the provider doesn't report it for each, or if there is no price.
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
