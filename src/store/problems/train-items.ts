import { sql } from 'drizzle-orm'
import { MAX_SUGGESTION_CASES, MAX_SUGGESTION_EXAMPLES, MAX_SUGGESTION_STEPS } from '../../limits.ts'
import { rowSet } from '../core/rows.ts'
import { storedStepIds } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { findHeads, type ItemHead } from '../datasets/items.ts'
import { problemCases } from '../schema/problems.ts'
import { reviews } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import type { FoundProblem } from './problem-ids.ts'

/** Prompts may be based only on examples from this split. */
const TRAIN = 'train'

/**
 * The corrected outputs that a suggestion may be based on, newest first, and how many of the problem's outputs were
 * examined.
 */
export interface TrainItems {
  heads: ItemHead[]
  /** The number of corrected outputs that were examined. */
  cases: number
}

/**
 * Finds a problem's newest corrected outputs that are `train` items of their steps' datasets. Leaves out excluded and
 * stale items.
 */
export async function findTrainItems(store: Store, problem: FoundProblem): Promise<TrainItems> {
  const found = await Promise.all(store.shards.map(shard => findCases(shard, problem)))
  const cases = found
    .flat()
    .toSorted((one, other) => other.at - one.at)
    .slice(0, MAX_SUGGESTION_CASES)
  const steps = [...new Set(cases.map(({ stepId }) => stepId))].slice(0, MAX_SUGGESTION_STEPS)
  const parts = store.shards.flatMap(({ shard }) =>
    steps.map(stepId => ({ shard, stepId, sequence: Number.MAX_SAFE_INTEGER })),
  )
  const ids = cases.map(({ spanId }) => spanId)
  const items = await findHeads(store, problem, parts, ids)
  const heads = ids.flatMap(id => items.get(id) ?? [])
  const usable = heads.filter(
    ({ split, decision, isExcluded, isStale, isStaleNow }) =>
      split === TRAIN && decision === 'correct' && !isExcluded && !isStale && !isStaleNow,
  )
  return { heads: usable.slice(0, MAX_SUGGESTION_EXAMPLES), cases: cases.length }
}

/**
 * A problem's newest corrected outputs in one database. Reads only the newest cases of each of its step's stored ids.
 */
async function findCases(
  { database }: Store,
  { projectKey, stepId, errorType, docSlug }: FoundProblem,
): Promise<{ spanId: string; stepId: string; at: number }[]> {
  const newest = sql`
    select ${problemCases.spanId} as span_id, ${spans.stepId} as step_id, ${problemCases.at} as at
    from ${problemCases} cross join ${spans}
    where ${problemCases.projectKey} = ${projectKey} and ${problemCases.stepId} = scanned.step_id
      and ${problemCases.errorType} = ${errorType} and ${problemCases.docSlug} = ${docSlug} and ${problemCases.spanId} <> ''
      and ${spans.id} = ${problemCases.spanId} and ${spans.traceKey} = ${problemCases.traceKey}
      and ${spans.reviewState} = 'corrected'
    order by ${problemCases.at} desc limit ${MAX_SUGGESTION_CASES}`
  const found = await database.all<{ cases: string }>(sql`
    select (
      select json_group_array(json_object('spanId', span_id, 'stepId', step_id, 'at', at)) from (${newest})) as cases
    from (select distinct step_id from ${storedStepIds(projectKey, stepId)}) as scanned`)
  return found.flatMap(({ cases }) => JSON.parse(cases))
}

const PLACES = rowSet(['spanId', 'traceKey'])

/** The comments that came with the current decisions on these spans, by span id. */
export async function findDecisionComments(store: Store, heads: readonly ItemHead[]): Promise<Map<string, string>> {
  const groups = [...Map.groupBy(heads, ({ shard }) => shard)]
  const rows = await Promise.all(groups.map(([shard, some]) => findComments(store.in(shard), some)))
  return new Map(rows.flat().map(({ spanId, comment }) => [spanId, comment]))
}

function findComments({ database }: Store, heads: readonly ItemHead[]): Promise<{ spanId: string; comment: string }[]> {
  const { row } = PLACES
  const places = heads.map(({ id, place: [, traceKey] }) => ({ spanId: id, traceKey }))
  return database.all<{ spanId: string; comment: string }>(sql`
    select ${reviews.spanId} as spanId, ${reviews.comment} as comment
    from ${PLACES.from(PLACES.encodeAll(places))} cross join ${spans} cross join ${reviews}
    where ${spans.id} = ${row.spanId} and ${spans.traceKey} = ${row.traceKey} and ${reviews.traceKey} = ${spans.traceKey}
      and ${reviews.spanId} = ${spans.id} and ${reviews.number} = ${spans.reviewNumber}
      and ${reviews.comment} is not null`)
}
