import type { FinishReason, JSONSchema7, LanguageModel } from 'ai'
import { JobError } from '../domain/job-error.ts'
import { MAX_ANSWER_TOKENS } from '../limits.ts'
import { loadSdk } from './load-sdk.ts'
import type { ModelSettings, Prices } from './provider.ts'
import { providerError, unanswered } from './provider-error.ts'

/** A question to a model, and how to read the answer. */
export interface Question<Answer> {
  /**
   * The task, for the system message. Must contain no text from a trace. Null if the material already contains the
   * task.
   */
  instructions: string | null
  /** The data that the task is about. */
  material: string
  /** A name for the answer. */
  name: string
  /** The schema of the answer, for providers that enforce it. Null if the answer is text. */
  schema: JSONSchema7 | null
  /** Whether the schema is in the strict subset that OpenAI can enforce. Default: true. */
  isStrict?: boolean
  /**
   * Reads an answer. Must check everything that the schema requires, because not every provider enforces it. A fault is
   * a clause that says why the answer is invalid. It must not quote the answer.
   */
  read: (value: unknown) => Promise<{ answer: Answer } | { fault: string }>
}

/** Limits on asking. */
export interface Asking {
  /** Aborts the call. */
  signal: AbortSignal
  /** The time limit for each call, in milliseconds. */
  callMs: number
  /** Runs before each call, and may prevent it by throwing. */
  reserveCall: () => Promise<void>
  /** Runs after each call that got an answer, valid or not. */
  settleCall?: (usage: Usage) => void
}

/**
 * A model's answer. The token counts are null if the provider didn't report them for every call. `costUsd` is then
 * null, too, as it is if no prices are set.
 */
export interface Asked<Answer> {
  answer: Answer
  cost: { inputTokens: number | null; outputTokens: number | null; costUsd: number | null }
}

/** The second call says what was wrong with the first answer. */
const MAX_CALLS = 2

/**
 * Asks a model, and asks once more if its answer is invalid. The queue handles all other retries.
 *
 * @throws {JobError} If the provider returns an error or doesn't answer in time, or if both answers are invalid. If
 *   `signal` is aborted, its reason is thrown unchanged.
 */
export async function ask<Answer>(
  { open, prices }: ModelSettings,
  { read, ...question }: Question<Answer>,
  { reserveCall, settleCall, ...limits }: Asking,
): Promise<Asked<Answer>> {
  const model = await open()
  const usages: Usage[] = []
  let fault = ''
  while (usages.length < MAX_CALLS) {
    const material = fault ? `${question.material}\n${askAgain(fault)}` : question.material
    await reserveCall()
    const reply = await call(model, { ...question, material }, limits)
    settleCall?.(reply.usage)
    usages.push(reply.usage)
    const reading = 'fault' in reply ? reply : await read(reply.value)
    if ('answer' in reading) return { answer: reading.answer, cost: costOf(usages, prices) }
    fault = reading.fault
  }
  throw new JobError(`The model's answer was invalid twice: ${fault}`, { isFinal: true })
}

/** Doesn't repeat the answer, which may contain text injected through a trace. Such text must stay in the material. */
const askAgain = (fault: string): string =>
  `You have already answered this, and the answer was rejected: ${fault}. Answer again, following the instructions.`

/** Token counts, if the provider reports them. */
export interface Usage {
  inputTokens: number | undefined
  outputTokens: number | undefined
}

const UNKNOWN: Usage = { inputTokens: undefined, outputTokens: undefined }

/** The tokens that calls used, and what they cost. */
export function costOf(usages: readonly Usage[], prices: Prices | null): Asked<never>['cost'] {
  const inputTokens = sum(usages.map(({ inputTokens }) => inputTokens))
  const outputTokens = sum(usages.map(({ outputTokens }) => outputTokens))
  const isPriced = prices !== null && inputTokens !== null && outputTokens !== null
  const costUsd = isPriced ? (inputTokens * prices.input + outputTokens * prices.output) / 1_000_000 : null
  return { inputTokens, outputTokens, costUsd }
}

const sum = (counts: readonly (number | undefined)[]): number | null =>
  counts.reduce<number | null>((all, count) => (all === null || count === undefined ? null : all + count), 0)

/** The answer as JSON, or why it can't be read. */
type Reply = { value: unknown; usage: Usage } | { fault: string; usage: Usage }
type Text = Omit<Question<never>, 'read'>

async function call(
  model: LanguageModel,
  question: Text,
  { signal, callMs }: Pick<Asking, 'signal' | 'callMs'>,
): Promise<Reply> {
  signal.throwIfAborted()
  const tooLate = AbortSignal.timeout(callMs)
  const ended = AbortSignal.any([signal, tooLate])
  try {
    return await Promise.race([generate(model, question, ended), rejection(ended)])
  } catch (error) {
    signal.throwIfAborted()
    if (tooLate.aborted) throw unanswered(`The model didn't answer within ${callMs / 1000} seconds`)
    throw await safeError(error)
  }
}

/** Rejects when the signal aborts, because not every provider honors it. */
const rejection = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })

async function generate(
  model: LanguageModel,
  { instructions, material, name, schema, isStrict = true }: Text,
  abortSignal: AbortSignal,
): Promise<Reply> {
  const { generateText, jsonSchema, NoObjectGeneratedError, NoOutputGeneratedError, Output } = await loadSdk()
  try {
    const asked = {
      model,
      ...(instructions !== null && { instructions }),
      prompt: material,
      maxOutputTokens: MAX_ANSWER_TOKENS,
      maxRetries: 0,
      abortSignal,
    }
    if (schema === null) {
      const { text, usage, finishReason } = await generateText(asked)
      const isWhole = text !== '' && finishReason !== 'length' && finishReason !== 'content-filter'
      return isWhole ? { value: text, usage } : { fault: faultOf(finishReason, 'it was empty'), usage }
    }
    const result = await generateText({
      ...asked,
      output: Output.object({ schema: jsonSchema(schema), name }),
      ...(!isStrict && { providerOptions: { openai: { strictJsonSchema: false } } }),
    })
    const { text, usage, finishReason } = result
    if (text === '') return { fault: faultOf(finishReason), usage }
    // This is a getter that throws if the text isn't JSON.
    return { value: result.output, usage }
  } catch (error) {
    if (NoObjectGeneratedError.isInstance(error))
      return { fault: faultOf(error.finishReason), usage: error.usage ?? UNKNOWN }
    // The SDK throws this when the output is null.
    if (NoOutputGeneratedError.isInstance(error)) return { fault: faultOf('stop'), usage: UNKNOWN }
    throw error
  }
}

/** Explains why an answer can't be used, based on the provider's finish reason. */
function faultOf(reason: FinishReason | undefined, otherwise = "it wasn't a JSON object"): string {
  if (reason === 'content-filter') return 'it was refused or filtered'
  if (reason === 'length') return `it was longer than ${MAX_ANSWER_TOKENS} tokens`
  return otherwise
}

/** Reduces an error to the part that's safe to show: the status of the provider's response, never its body. */
async function safeError(error: unknown): Promise<JobError> {
  const { APICallError } = await loadSdk()
  if (APICallError.isInstance(error)) return providerError(error.statusCode, error.responseHeaders)
  const name = error instanceof Error ? error.name : 'an error'
  return unanswered(`Calling the model's provider failed (${name})`)
}
