import { and, eq, gte, isNotNull, lt, type SQL, sql } from 'drizzle-orm'
import { DAY_MS } from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import { readShards } from '../core/across.ts'
import { isStep } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { isAnswerShown } from '../core/veil.ts'
import { attributionJobs, attributions } from '../schema/attribution.ts'
import { answerDays, isAnyAnswerExpired } from '../schema/counts.ts'
import { traces } from '../schema/traces.ts'
import { unpurgedTraces } from './live.ts'

/* Finds traces by the engine's latest answer, with the step recorded in that answer. Insights count these answers. */

/** A filter on a trace's latest answer. If none of these fields is set, the filter doesn't apply. */
export interface AnswerFilter {
  engineErrorType?: string | undefined
  /** The step that the blamed span had at the time of the answer, by its old or new name. */
  engineStepId?: string | undefined
  /** Whether the answer blames a span. */
  engineHasStep?: boolean | undefined
  /** The UTC days of the answers, counted from 1970. `engineTo` is exclusive. */
  engineFrom?: number | undefined
  engineTo?: number | undefined
}

/** Whether a filter has a condition on answers. */
export const asksForAnswer = (filter: AnswerFilter): boolean =>
  [filter.engineErrorType, filter.engineStepId, filter.engineHasStep, filter.engineFrom, filter.engineTo].some(
    field => field !== undefined,
  )

/** Whether the latest answer on a trace is counted and matches the filter. `trace` is the trace's key. */
const hasAnswer = (project: Project, filter: AnswerFilter, trace: SQL): SQL => sql`exists (
  select 1 from ${attributionJobs} cross join ${attributions}
  where ${attributionJobs.traceKey} = ${trace} and ${attributions.traceKey} = ${trace}
    and ${attributions.number} = ${attributionJobs.attributionNumber}
    and ${and(
      isNotNull(attributions.stepId),
      isRecorded(project, filter, attributions),
      filter.engineFrom === undefined ? undefined : gte(attributions.createdAt, filter.engineFrom * DAY_MS),
      filter.engineTo === undefined ? undefined : lt(attributions.createdAt, filter.engineTo * DAY_MS),
    )})`

/** Whether an answer, or a row that counts answers, has the filter's error type and step. */
const isRecorded = (
  { key }: Project,
  { engineErrorType, engineStepId, engineHasStep }: AnswerFilter,
  recorded: typeof attributions | typeof answerDays,
): SQL | undefined =>
  and(
    engineErrorType === undefined ? undefined : eq(recorded.errorType, engineErrorType),
    engineStepId === undefined
      ? undefined
      : sql`(${recorded.stepId} <> '' and ${isStep(key, recorded.stepId, engineStepId)})`,
    engineHasStep === undefined ? undefined : sql`(${recorded.stepId} <> '') = ${engineHasStep ? 1 : 0}`,
  )

/**
 * Like `hasAnswer`, for the current trace, if the viewer may see its answer. Undefined if the filter has no condition
 * on answers.
 */
export const isAnswered = (store: Store, project: Project, filter: AnswerFilter): SQL | undefined =>
  asksForAnswer(filter) ? and(hasAnswer(project, filter, sql`${traces.key}`), isAnswerShown(store)) : undefined

/**
 * The number of answers that are counted but can't be listed, because their traces have expired or are about to be
 * purged. (A purge updates the counts.) Considers at most 5,000 of these traces.
 */
export async function countGoneAnswers(store: Store, project: Project, filter: AnswerFilter): Promise<number> {
  const counts = await readShards(store, shard => countIn(shard, project, filter))
  return counts.reduce((sum, count) => sum + count, 0)
}

async function countIn(store: Store, project: Project, filter: AnswerFilter): Promise<number> {
  const isExpired = and(
    eq(answerDays.projectKey, project.key),
    isAnyAnswerExpired,
    filter.engineFrom === undefined ? undefined : gte(answerDays.day, filter.engineFrom),
    filter.engineTo === undefined ? undefined : lt(answerDays.day, filter.engineTo),
    isRecorded(project, filter, answerDays),
  )
  const leaving = sql`(
    select count(*) from ${unpurgedTraces(store)}
    where unpurged.project_key = ${project.key} and ${hasAnswer(project, filter, sql`unpurged.key`)})`
  const expired = sql`(
    select coalesce(sum(${answerDays.expired}), 0) as expired from ${answerDays} where ${isExpired}) as scanned`
  // The query is nested for the same reason as in `readStepId`.
  const [row] = await store.database
    .select({ count: sql<number>`scanned.expired + ${leaving}`.as('count') })
    .from(expired)
  return row?.count ?? 0
}
