import type { JsonObject } from '../domain/json.ts'
import { type ModelUse, tokenUsage, validCost } from '../domain/model-use.ts'
import { numberOf } from './reading/attribute-values.ts'

/** What a model call's metadata says about the call. The caller has truncated the names. */
export const modelUseOf = (said: {
  model?: string | undefined
  provider?: string | undefined
  usage?: JsonObject | undefined
  cost?: JsonObject | undefined
}): ModelUse => ({
  model: said.model?.toWellFormed() ?? null,
  provider: said.provider?.toWellFormed() ?? null,
  usage: tokenUsage({
    input: numberOf(said.usage?.input_tokens),
    output: numberOf(said.usage?.output_tokens),
    total: numberOf(said.usage?.total_tokens),
    cached: numberOf(said.usage?.cache_read_tokens),
    reasoning: numberOf(said.usage?.reasoning_tokens),
  }),
  costUsd: validCost(said.cost && dollarsOf(said.cost)),
})

/** The total, or the sum of its parts, which instrumentations call input and output, or prompt and completion. */
function dollarsOf(cost: JsonObject): number | undefined {
  const total = numberOf(cost.total)
  if (total !== undefined) return total
  const parts = [cost.input ?? cost.prompt, cost.output ?? cost.completion].map(numberOf)
  return parts.every(part => part === undefined) ? undefined : (parts[0] ?? 0) + (parts[1] ?? 0)
}
