import type { FinishReason, LanguageModel } from 'ai'
import { MAX_ANSWER_TOKENS } from '../../limits.ts'
import { EngineError } from '../engine.ts'
import type { answerSchema } from './answer.ts'
import { providerError } from './provider-error.ts'

interface Question {
  model: LanguageModel
  instructions: string
  question: string
  /** The schema of the answer, for providers that enforce it. */
  schema: ReturnType<typeof answerSchema>
  signal: AbortSignal
  /** The time limit for the answer, in milliseconds. */
  callMs: number
}

/** Token counts, if the provider reports them. */
export interface Usage {
  inputTokens: number | undefined
  outputTokens: number | undefined
}

/** A model's answer as JSON, or a clause that says why it can't be read. */
interface Answer {
  value: unknown
  fault: string | undefined
  usage: Usage
}

/**
 * Calls a model once. The queue handles retries.
 *
 * @throws {EngineError} If the provider returns an error or doesn't answer in time.
 */
export async function askModel({ signal, callMs, ...asked }: Question): Promise<Answer> {
  signal.throwIfAborted()
  const tooLate = AbortSignal.timeout(callMs)
  const ended = AbortSignal.any([signal, tooLate])
  try {
    return await Promise.race([generate(asked, ended), rejection(ended)])
  } catch (error) {
    signal.throwIfAborted()
    if (tooLate.aborted)
      throw new EngineError(`The model didn't answer within ${callMs / 1000} seconds`, { isFinal: false })
    throw await safeError(error)
  }
}

/** Rejects when the signal aborts, because not every provider honors it. */
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
    // The SDK throws this when the output is null.
    if (NoOutputGeneratedError.isInstance(error)) return { value: undefined, fault: faultOf('stop'), usage: UNKNOWN }
    throw error
  }
}

const UNKNOWN: Usage = { inputTokens: undefined, outputTokens: undefined }

/** Explains why an answer isn't JSON, based on the provider's finish reason. */
function faultOf(reason: FinishReason | undefined): string {
  if (reason === 'content-filter') return 'it was refused or filtered'
  if (reason === 'length') return `it was longer than ${MAX_ANSWER_TOKENS} tokens`
  return "it wasn't a JSON object"
}

/** Loads the SDK on first use and turns off its warnings, which would break the JSON log. */
async function loadSdk() {
  globalThis.AI_SDK_LOG_WARNINGS = false
  return import('./model-sdk.ts')
}

/** Reduces an error to the part that's safe to show: the status of the provider's response, never its body. */
async function safeError(error: unknown): Promise<EngineError> {
  const { APICallError } = await loadSdk()
  if (APICallError.isInstance(error)) return providerError(error.statusCode, error.responseHeaders)
  const name = error instanceof Error ? error.name : 'an error'
  return new EngineError(`Calling the model's provider failed (${name})`, { isFinal: false })
}
