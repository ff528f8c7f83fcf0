import type { LanguageModel } from 'ai'
import { JobError } from '../domain/job-error.ts'
import type { Env } from '../env.ts'
import { modelNotConfigured } from '../http/errors.ts'
import { loadSdk } from './load-sdk.ts'
import { misconfigured } from './provider-error.ts'

/** US dollars per million tokens. */
export interface Prices {
  input: number
  output: number
}

/** A deployment's model settings, validated. */
export interface ModelSettings {
  /** `ATTRIBUTION_MODEL`. Results give this name as their engine. */
  name: string
  /** Loads the provider's code, which a deployment without a model never runs. */
  open: () => Promise<LanguageModel>
  prices: Prices | null
}

/** Checks a provider's settings and returns a function that opens its model. */
type Provider = (model: string, env: Env) => ModelSettings['open']

const PROVIDERS: ReadonlyMap<string, Provider> = new Map([
  ['workers-ai', workersAi],
  ['openai', openAiCompatible],
  ['anthropic', anthropic],
])

const OPENAI_URL = 'https://api.openai.com/v1'

/** The model to use if a deployment binds Workers AI but doesn't name a model. */
const WORKERS_AI_MODEL = 'workers-ai/@cf/meta/llama-3.3-70b-instruct-fp8-fast'

/** The name of the configured model: `ATTRIBUTION_MODEL`, or else a Workers AI model, if Workers AI is bound. */
export const configuredModel = ({ ATTRIBUTION_MODEL, AI }: Env): string | undefined =>
  setting(ATTRIBUTION_MODEL) ?? (AI ? WORKERS_AI_MODEL : undefined)

const NO_MODEL =
  'No model is configured. To use Workers AI, run npm run deploy -- --workers-ai. To use OpenAI, Anthropic, or a compatible service, set ATTRIBUTION_MODEL and ATTRIBUTION_API_KEY as docs/configuration.md describes.'

/**
 * The settings of the configured model, for a job that needs one.
 *
 * @throws {JobError} Final if no model is configured, or if its settings are invalid.
 */
export function jobModel(env: Env): ModelSettings {
  const name = configuredModel(env)
  if (name === undefined) throw misconfigured(NO_MODEL)
  return modelSettings(name, env)
}

/**
 * The settings of the configured model, for a request that needs one.
 *
 * @throws {ApiError} 409 if no model is configured, or if its settings are invalid.
 */
export function requireModel(env: Env): ModelSettings {
  try {
    return jobModel(env)
  } catch (error) {
    throw error instanceof JobError ? modelNotConfigured(error.message) : error
  }
}

/**
 * Reads the settings of the configured model.
 *
 * @throws {JobError} Final if a setting is malformed or missing.
 */
export function modelSettings(name: string, env: Env): ModelSettings {
  const [, provider = '', model = ''] = /^([^/]+)\/(\S+)$/.exec(name) ?? []
  const opening = PROVIDERS.get(provider)
  if (!opening) {
    const known = [...PROVIDERS.keys()].map(each => `${each}/<model>`)
    throw misconfigured(`ATTRIBUTION_MODEL must be one of ${known.join(', ')}`)
  }
  return { name, open: opening(model, env), prices: readPrices(env) }
}

function workersAi(model: string, { AI }: Env): ModelSettings['open'] {
  if (!model.startsWith('@')) throw misconfigured('ATTRIBUTION_MODEL must be workers-ai/@cf/... for Workers AI')
  if (!AI) {
    throw misconfigured('For Workers AI, ATTRIBUTION_MODEL needs the AI binding: npm run deploy -- --workers-ai')
  }
  return async () => {
    const { createWorkersAI } = await loadSdk()
    return createWorkersAI({ binding: AI })(model)
  }
}

function openAiCompatible(model: string, env: Env): ModelSettings['open'] {
  const baseURL = readBaseUrl(env)
  const apiKey = setting(env.ATTRIBUTION_API_KEY)
  if (!baseURL && !apiKey) throw misconfigured('ATTRIBUTION_MODEL needs ATTRIBUTION_API_KEY for OpenAI')
  return async () => {
    const { createOpenAICompatible } = await loadSdk()
    const provider = createOpenAICompatible({
      name: 'openai',
      baseURL: baseURL ?? OPENAI_URL,
      supportsStructuredOutputs: true,
      fetch: fetchWithoutRedirects,
      ...(apiKey && { apiKey }),
      // OpenAI's newer models reject the old parameter name, and other providers support only the old one.
      ...(!baseURL && { transformRequestBody: renameAnswerLimit }),
    })
    return provider(model)
  }
}

const renameAnswerLimit = ({ max_tokens, ...body }: Record<string, unknown>) => ({
  ...body,
  max_completion_tokens: max_tokens,
})

function anthropic(model: string, env: Env): ModelSettings['open'] {
  const baseURL = readBaseUrl(env)
  const apiKey = setting(env.ATTRIBUTION_API_KEY)
  if (!apiKey) throw misconfigured('ATTRIBUTION_MODEL needs ATTRIBUTION_API_KEY for Anthropic')
  return async () => {
    const { createAnthropic } = await loadSdk()
    return createAnthropic({ apiKey, fetch: fetchWithoutRedirects, ...(baseURL && { baseURL }) })(model)
  }
}

/**
 * A fetch that doesn't follow redirects. A redirect could send the trace and the key, which may be in any header, to
 * another host.
 */
const fetchWithoutRedirects: typeof fetch = (input, init) => fetch(input, { ...init, redirect: 'manual' })

function readBaseUrl(env: Env): string | undefined {
  const text = setting(env.ATTRIBUTION_BASE_URL)
  if (!text) return undefined
  const url = URL.parse(text)
  const isUsable = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search
  if (!isUsable) throw misconfigured('ATTRIBUTION_BASE_URL must be a URL such as https://llm.example.com/v1')
  return text
}

function readPrices(env: Env): Prices | null {
  const input = setting(env.ATTRIBUTION_INPUT_PRICE)
  const output = setting(env.ATTRIBUTION_OUTPUT_PRICE)
  if (!input && !output) return null
  const prices = { input: Number(input), output: Number(output) }
  const isPrice = (price: number, text: string | undefined) => text && Number.isFinite(price) && price >= 0
  if (isPrice(prices.input, input) && isPrice(prices.output, output)) return prices
  throw misconfigured(
    'ATTRIBUTION_INPUT_PRICE and ATTRIBUTION_OUTPUT_PRICE must both be US dollars per million tokens, such as 0.15',
  )
}

/** A setting without surrounding whitespace, which files and terminals may add. Undefined if empty. */
const setting = (text: string | undefined): string | undefined => text?.trim() || undefined
