import { sql } from 'drizzle-orm'
import type { ModelUse, TokenUsage } from '../../domain/model-use.ts'
import { ofTrace } from '../core/reviewable.ts'
import { spans } from '../schema/spans.ts'

/** The columns of a `ModelUse`. */
export const MODEL_USE = ['model', 'provider', 'usage', 'costUsd'] as const

export const modelUseRow = ({ usage, ...use }: ModelUse) => ({ ...use, usage: usage && JSON.stringify(usage) })

/** What a trace's spans used together. Null if no span has any. */
export type SummedUse = Pick<ModelUse, 'usage' | 'costUsd'>

const sumOf = (field: keyof TokenUsage) => sql`'${sql.raw(field)}', sum(${spans.usage} ->> '${sql.raw(field)}')`

/** The sums over the current trace's spans as JSON, in one pass: the fields of a `TokenUsage`, and `costUsd`. */
export const modelUseSums = sql<string>`(
  select json_object(${sql.join(
    (['inputTokens', 'outputTokens', 'totalTokens', 'cachedTokens', 'reasoningTokens'] as const).map(sumOf),
    sql`, `,
  )}, 'costUsd', sum(${spans.costUsd})) from ${spans} where ${ofTrace})`.as('modelUseSums')

/** Reads the value of `modelUseSums`. */
export function summedUse(sums: string): SummedUse {
  const summed: Record<keyof TokenUsage | 'costUsd', number | null> = JSON.parse(sums)
  const { inputTokens, outputTokens, totalTokens, cachedTokens, reasoningTokens, costUsd } = summed
  if (inputTokens === null || outputTokens === null || totalTokens === null) return { usage: null, costUsd }
  return {
    usage: {
      inputTokens,
      outputTokens,
      totalTokens,
      ...(cachedTokens !== null && { cachedTokens }),
      ...(reasoningTokens !== null && { reasoningTokens }),
    },
    costUsd,
  }
}
