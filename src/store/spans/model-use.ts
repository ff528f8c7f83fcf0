import { sql } from 'drizzle-orm'
import type { ModelUse, TokenUsage } from '../../domain/model-use.ts'
import { ofTrace } from '../core/reviewable.ts'
import { spans } from '../schema/spans.ts'

/** The columns of a `ModelUse`. */
export const MODEL_USE = ['model', 'provider', 'usage', 'costUsd'] as const

export const modelUseRow = ({ usage, ...use }: ModelUse) => ({ ...use, usage: usage && JSON.stringify(usage) })

const sumOf = (field: keyof TokenUsage) => sql`'${sql.raw(field)}', sum(${spans.usage} ->> '${sql.raw(field)}')`

const ofCurrentTrace = sql`from ${spans} where ${ofTrace}`

/** The sums over the current trace's spans: a `TokenUsage` whose fields are null if no span has them, and dollars. */
export const modelUseSums = {
  usage: sql<string>`(select json_object(${sql.join(
    (['inputTokens', 'outputTokens', 'totalTokens', 'cachedTokens', 'reasoningTokens'] as const).map(sumOf),
    sql`, `,
  )}) ${ofCurrentTrace} and ${spans.usage} is not null)`.as('usage'),
  costUsd: sql<number | null>`(select sum(${spans.costUsd}) ${ofCurrentTrace})`.as('costUsd'),
}

/** The summed usage. Null if no span has any. */
export function summedUsage(sums: string): TokenUsage | null {
  const summed: Record<keyof TokenUsage, number | null> = JSON.parse(sums)
  const { inputTokens, outputTokens, totalTokens, cachedTokens, reasoningTokens } = summed
  if (inputTokens === null || outputTokens === null || totalTokens === null) return null
  return {
    inputTokens,
    outputTokens,
    totalTokens,
    ...(cachedTokens !== null && { cachedTokens }),
    ...(reasoningTokens !== null && { reasoningTokens }),
  }
}
