import { type SQL, sql } from 'drizzle-orm'
import type { ModelUse, TokenUsage } from '../../domain/model-use.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'

/** What a trace's model calls used in total. A field is null if no call has a value for it. */
export interface TraceUse extends Pick<ModelUse, 'usage' | 'costUsd'> {
  /**
   * The model that wrote the most output tokens. If there's a tie, the one with the most calls, then the first by name.
   */
  model: string | null
}

/**
 * The condition of the index `spans_by_model_use`. Queries must use exactly this condition and only the index's
 * columns, so that SQLite doesn't read the rows, whose values may be large.
 */
export const isModelCall = (span: 'call' | 'below' | 'spans') =>
  sql.raw(`(${span}.model is not null or ${span}.usage is not null or ${span}.cost_usd is not null)`)

/**
 * A value computed over the calls that name `call` as their parent. Null if there are no such calls. The index stores
 * them side by side.
 */
const below = (call: 'call' | 'used' | 'spans', value: string) => sql`(
  select ${sql.raw(value)} from ${spans} as below
  where ${sql.raw(`below.trace_key = ${call}.trace_key and below.parent_id = ${call}.id and below.id <> ${call}.id`)} and ${isModelCall('below')})`

/** Whether a call's token counts are exactly the sums of those of the calls that name it as their parent. */
export const isRepeated = (call: 'call' | 'spans') =>
  sql`coalesce(${below(
    call,
    `(sum(below.usage ->> 'inputTokens'), sum(below.usage ->> 'outputTokens'))
    = (${call}.usage ->> 'inputTokens', ${call}.usage ->> 'outputTokens')`,
  )}, 0)`

/** Whether any call that names this one as its parent has a cost. */
export const hasCostBelow = (call: 'used' | 'spans') => sql`${below(call, 'sum(below.cost_usd)')} is not null`

/**
 * The spans with a model, usage, or cost in the traces that `inTraces` selects by `call.trace_key`. The columns are
 * `trace_key`, `id`, `model`, `usage`, and `cost_usd`.
 *
 * Nothing is counted twice: if `isRepeated` is true of a call, its own usage is null, and so is its cost if any of the
 * calls that name it as their parent has a cost. This happens if an agent reports a total, or if two instrumentations
 * record the same call.
 */
const modelCalls = (inTraces: SQL) => sql`
  select used.trace_key, used.id, used.model,
    iif(used.is_repeated, null, used.usage) as usage,
    iif(used.is_repeated and ${hasCostBelow('used')}, null, used.cost_usd) as cost_usd
  from (
    select call.trace_key, call.id, call.model, call.usage, call.cost_usd, ${isRepeated('call')} as is_repeated
    from ${spans} as call
    where ${inTraces} and ${isModelCall('call')}
    -- The limit keeps SQLite from inlining this query, which would look for the calls below for each use of the result.
    limit -1) as used`

const TOKENS = [
  'inputTokens',
  'outputTokens',
  'totalTokens',
  'cachedTokens',
  'reasoningTokens',
] as const satisfies (keyof TokenUsage)[]

const eachToken = (write: (field: string) => string) => sql.raw(TOKENS.map(write).join(', '))

/** The current trace's `TraceUse` as JSON, computed in one pass. `readTraceUse` parses it. */
export const traceUse = sql<string>`(
  select json_object(
    -- SQLite takes the model from the row with the lowest place.
    'model', by_model.model, 'place', min(by_model.place), 'costUsd', sum(by_model.cost_usd),
    ${eachToken(field => `'${field}', sum(by_model.${field})`)})
  from (
    select used.model, sum(used.cost_usd) as cost_usd, ${eachToken(field => `sum(used.usage ->> '${field}') as ${field}`)},
      row_number() over (
        order by used.model is null, sum(used.usage ->> 'outputTokens') desc, count(*) desc, used.model) as place
    from (${modelCalls(sql`call.trace_key = ${traces.key}`)} limit -1) as used
    group by used.model) as by_model)`.as('traceUse')

/** The total cost of the current trace's model calls. */
export const traceCost = sql`(
  select sum(used.cost_usd) from (${modelCalls(sql`call.trace_key = ${traces.key}`)}) as used)`

/** Parses the value of `traceUse`. */
export function readTraceUse(json: string): TraceUse {
  const summed: Record<keyof TokenUsage | 'costUsd', number | null> & Pick<TraceUse, 'model'> = JSON.parse(json)
  const { model, inputTokens, outputTokens, totalTokens, cachedTokens, reasoningTokens, costUsd } = summed
  if (inputTokens === null || outputTokens === null || totalTokens === null) return { model, usage: null, costUsd }
  return {
    model,
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
