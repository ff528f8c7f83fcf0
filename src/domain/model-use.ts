import { MAX_COST_USD, MAX_TOKENS } from '../limits.ts'

/** The tokens of a model call, or their sums over several calls. */
export interface TokenUsage {
  inputTokens: number
  outputTokens: number
  totalTokens: number
  /** The input tokens that the provider read from its cache. */
  cachedTokens?: number
  /** The output tokens that the model spent on reasoning. */
  reasoningTokens?: number
}

/** The model that a span called, and what the call used. Null if unknown. */
export interface ModelUse {
  model: string | null
  provider: string | null
  usage: TokenUsage | null
  /** US dollars. */
  costUsd: number | null
}

/** Token counts as a client or an instrumentation reported them. */
export interface ReportedTokens {
  input?: number | null | undefined
  output?: number | null | undefined
  total?: number | null | undefined
  cached?: number | null | undefined
  reasoning?: number | null | undefined
}

/**
 * The usage that these counts add up to, or null if they don't say how many tokens there were. A count that isn't a
 * whole number from 0 to `MAX_TOKENS` is ignored. Input and output add up to the total, so any two of the three
 * determine the third. If only one is given, all tokens are output tokens if it's the output, and input tokens
 * otherwise.
 */
export function tokenUsage(reported: ReportedTokens): TokenUsage | null {
  const [input, output, total, cachedTokens, reasoningTokens] = [
    reported.input,
    reported.output,
    reported.total,
    reported.cached,
    reported.reasoning,
  ].map(validCount)
  if (input === undefined && output === undefined && total === undefined) return null
  const inputTokens = input ?? Math.max(0, (total ?? 0) - (output ?? 0))
  const outputTokens = output ?? Math.max(0, (total ?? 0) - inputTokens)
  return {
    inputTokens,
    outputTokens,
    totalTokens: total ?? inputTokens + outputTokens,
    ...(cachedTokens !== undefined && { cachedTokens }),
    ...(reasoningTokens !== undefined && { reasoningTokens }),
  }
}

const validCount = (count: number | null | undefined): number | undefined =>
  typeof count === 'number' && Number.isInteger(count) && count >= 0 && count <= MAX_TOKENS ? count : undefined

/** A cost from 0 to `MAX_COST_USD` dollars, or null. */
export const validCost = (cost: number | undefined): number | null =>
  cost !== undefined && cost >= 0 && cost <= MAX_COST_USD ? cost : null
