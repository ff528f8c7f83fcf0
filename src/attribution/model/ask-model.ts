import type { FinishReason, LanguageModel } from 'ai'
import { MAX_ANSWER_TOKENS } from '../../limits.ts'
import { EngineError } from '../engine.ts'
import type { answerSchema } from './answer.ts'
import { providerError } from './provider-error.ts'

interface Question {
  model: LanguageModel
  instructions: string
  question: string
  /** What the answer is held to, where the provider enforces it. */
  schema: ReturnType<typeof answerSchema>
  signal: AbortSignal
  /** How long the answer may take. */
  callMs: number
}

/** Tokens, where the provider says so. */
export interface Usage {
  inputTokens: number | undefined
  outputTokens: number | undefined
}

/** A model's answer as JSON; or, with a fault, why there is none to be read: a clause. */
interface Answer {
  value: unknown
  fault: string | undefined
  usage: Usage
}

/**
 * Asks a model once; trying again is the queue's.
 *
 * @throws {EngineError} Where the provider answered with an error, not at all, or too late.
 */
export async function askModel({ signal, callMs, ...asked }: Question): Promise<Answer> {
  signal.throwIfAborted()
  const tooLate = AbortSignal.timeout(callMs)
  const ended = AbortSignal.any([signal, tooLate])
  try {
    return await Promise.race([generate(asked, ended), rejection(ended)])
  } catch (error) {
    signal.throwIfAborted()
    if (tooLate.aborted) throw new EngineError(`The model did not answer within ${callMs / 1000} s`, { isFinal: false })
    throw await safeError(error)
  }
}

/** Rejects once the signal is aborted: not every provider looks at it. */
const rejection = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })

async function generate(
  { model, instructions, question, schema }: Omit<Question, 'signal' | 'callMs'>,
  abortSignal: AbortSignal,
): Promise<Answer> {
  const { generateText, jsonSchema, NoObjectGeneratedError, NoOutputGeneratedError, Output } = await loadSdk()
  try {
    const result = await generateText({
      model,
      instructions,
      prompt: question,
      output: Output.object({ schema: jsonSchema(schema), name: 'attribution' }),
      maxOutputTokens: MAX_ANSWER_TOKENS,
      maxRetries: 0,
      abortSignal,
    })
    const { usage, finishReason } = result
    if (result.text === '') return { value: undefined, fault: faultOf(finishReason), usage }
    return { value: result.output, fault: undefined, usage }
  } catch (error) {
    if (NoObjectGeneratedError.isInstance(error)) {
      return { value: undefined, fault: faultOf(error.finishReason), usage: error.usage ?? UNKNOWN }
    }
    // What reading the output throws where it is null.
    if (NoOutputGeneratedError.isInstance(error)) return { value: undefined, fault: faultOf('stop'), usage: UNKNOWN }
    throw error
  }
}

const UNKNOWN: Usage = { inputTokens: undefined, outputTokens: undefined }

/** Why an answer is no JSON, as far as the provider says. */
function faultOf(reason: FinishReason | undefined): string {
  if (reason === 'content-filter') return 'it was refused or filtered'
  if (reason === 'length') return `it did not end within ${MAX_ANSWER_TOKENS} tokens`
  return 'it was no JSON object'
}

/** Loads the SDK when a model is first asked, and keeps it from writing warnings into the log, which is JSON. */
async function loadSdk() {
  globalThis.AI_SDK_LOG_WARNINGS = false
  return import('./model-sdk.ts')
}

/** What may be told of an error: the status of a provider's answer, and nothing of what it said. */
async function safeError(error: unknown): Promise<EngineError> {
  const { APICallError } = await loadSdk()
  if (APICallError.isInstance(error)) return providerError(error.statusCode, error.responseHeaders)
  const name = error instanceof Error ? error.name : 'an error'
  return new EngineError(`The model's provider could not be asked (${name})`, { isFinal: false })
}
