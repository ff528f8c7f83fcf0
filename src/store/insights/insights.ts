import { and, eq, gte, lt, ne, type SQL, sql } from 'drizzle-orm'
import { sumHistograms } from '../../domain/duration-histogram.ts'
import { type StepUse, sumUse } from '../../domain/step-use.ts'
import { MAX_INSIGHT_ROWS } from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import { findActorNames, userName } from '../accounts/users.ts'
import { readShards, sumOf, sumRows } from '../core/across.ts'
import { named, readPlain } from '../core/database.ts'
import { readStepId } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { answerDays, countedDays, outputDays, reviewDays, useDays } from '../schema/counts.ts'
import { textVersions, versionedTexts } from '../schema/texts.ts'
import { versionNumber } from './version-number.ts'

/** A range of UTC days, counted from 1970. `from` is inclusive, and `to` is exclusive. */
export interface DayRange {
  from: number
  to: number
}

/** The number of current decisions. */
export interface Decided {
  accepted: number
  corrected: number
}

const inRange = (
  table: typeof reviewDays | typeof answerDays | typeof outputDays | typeof countedDays | typeof useDays,
  { key }: Project,
  { from, to }: DayRange,
) => and(eq(table.projectKey, key), gte(table.day, from), lt(table.day, to))

/* Renamed steps are counted under their new names. */
const outputStep = readStepId(outputDays.projectKey, outputDays.stepId)
const reviewStep = readStepId(reviewDays.projectKey, reviewDays.stepId)
const decidedStep = readStepId(sql`scanned.project_key`, sql`scanned.step_id`)
const answerStep = readStepId(answerDays.projectKey, answerDays.stepId)
const useStep = readStepId(useDays.projectKey, useDays.stepId)

/** The sums over the rows of `scanned`. */
const usedSums = {
  inputTokens: sql<number | null>`sum(scanned.input_tokens)`.as('inputTokens'),
  outputTokens: sql<number | null>`sum(scanned.output_tokens)`.as('outputTokens'),
  costNanoUsd: sql<number | null>`sum(scanned.cost_nano_usd)`.as('costNanoUsd'),
}
const accepted = sql<number>`sum(${reviewDays.accepted})`.as('accepted')
const corrected = sql<number>`sum(${reviewDays.corrected})`.as('corrected')
/** Skips rows whose counts have dropped to zero. Such rows are never deleted. */
const isAny = sql`sum(${reviewDays.accepted} + ${reviewDays.corrected}) > 0`

type Insights = Awaited<ReturnType<typeof readDatabase>>

/**
 * A project's counts for a range of days. Each list has at most `MAX_INSIGHT_ROWS` rows. Outputs are counted by the day
 * of their trace, everything else by the day of the decision or answer. Takes one round trip, or two if an API key that
 * acts for no user has reviewed outputs. The cost doesn't depend on the number of traces.
 */
export async function readInsights(store: Store, project: Project, days: DayRange) {
  const sums = sumInsights(await readShards(store, shard => readDatabase(shard, project, days)))
  const names = new Map(sums.users.flatMap(({ id, name }) => (name === null ? [] : [[id, name] as const])))
  const others = [...new Set(sums.reviewers.map(({ userId }) => userId))].filter(id => !names.has(id))
  const keyNames = others.length === 0 ? [] : await findActorNames(store.control, others, { withEmails: true })
  return { ...sums, names: new Map([...names, ...keyNames]) }
}

/** Adds up the counts of several databases. */
function sumInsights(found: readonly Insights[]): Insights {
  const merge = <Row>(
    listOf: (insights: Insights) => readonly Row[],
    keyOf: (row: Row) => readonly (string | number)[],
    sum: (rows: readonly [Row, ...Row[]]) => Row = ([first]) => first,
  ) => sumRows(found.map(listOf), keyOf, sum).slice(0, MAX_INSIGHT_ROWS)
  return {
    outputs: merge(
      ({ outputs }) => outputs,
      ({ stepId }) => [stepId],
      sumOf('outputs', 'reviewed'),
    ),
    counted: found.flatMap(({ counted }) => counted),
    steps: merge(
      ({ steps }) => steps,
      ({ stepId }) => [stepId],
      sumOf('accepted', 'corrected'),
    ),
    decisions: merge(
      ({ decisions }) => decisions,
      ({ day, stepId, promptVersionId }) => [day, stepId, promptVersionId],
      sumOf('accepted', 'corrected'),
    ),
    reviewers: merge(
      ({ reviewers }) => reviewers,
      ({ userId, day }) => [userId, day],
      sumOf('reviewed'),
    ),
    users: merge(
      ({ users }) => users,
      ({ id }) => [id],
    ),
    versions: merge(
      ({ versions }) => versions,
      ({ id }) => [id],
    ),
    namedTypes: merge(
      ({ namedTypes }) => namedTypes,
      ({ errorType, stepId }) => [errorType, stepId],
      sumOf('count'),
    ),
    answers: merge(
      ({ answers }) => answers,
      ({ errorType, stepId }) => [errorType, stepId],
      sumOf('count'),
    ),
    used: merge(
      ({ used }) => used,
      ({ stepId, promptVersionId }) => [stepId, promptVersionId],
      addUse,
    ),
    usedByDay: merge(
      ({ usedByDay }) => usedByDay,
      ({ day, stepId, promptVersionId }) => [day, stepId, promptVersionId],
      addUse,
    ),
  }
}

const addUse = <Use extends StepUse>(uses: readonly [Use, ...Use[]]): Use => ({
  ...uses[0],
  ...sumUse(uses),
  durations: sumHistograms(uses.map(({ durations }) => durations)),
})

/** One database's counts. */
async function readDatabase(store: Store, project: Project, days: DayRange) {
  const { database } = store
  const decidedOn = inRange(reviewDays, project, days)
  const usedOn = inRange(useDays, project, days)
  const { day, promptVersionId, userId, errorType } = reviewDays
  // The index already has the rows in this order, so only the groups need to be sorted by their new names.
  const decidedByStoredStep = database
    .select({ projectKey: reviewDays.projectKey, day, stepId: reviewDays.stepId, promptVersionId, accepted, corrected })
    .from(reviewDays)
    .where(decidedOn)
    .groupBy(day, reviewDays.stepId, promptVersionId)
    .having(isAny)
    .limit(MAX_INSIGHT_ROWS)
    .as('scanned')
  const userIds = sql`(select distinct ${userId} as id from ${reviewDays} where ${decidedOn}) as scanned`
  const versionIds = sql`(
    select distinct scanned.id from (
      select ${promptVersionId} as id from ${reviewDays} where ${decidedOn} and ${ne(promptVersionId, '')}
      union all
      select ${useDays.promptVersionId} from ${useDays} where ${usedOn} and ${ne(useDays.promptVersionId, '')}) as scanned) as scanned`
  const [outputs, counted, steps, decisions, reviewers, users, versions, namedTypes, answers, used, usedByDay] =
    await readPlain(database, [
      database
        .select({
          stepId: outputStep.as('stepId'),
          outputs: sql<number>`sum(${outputDays.outputs})`.as('outputs'),
          reviewed: sql<number>`sum(${outputDays.reviewed})`.as('reviewed'),
        })
        .from(outputDays)
        .where(inRange(outputDays, project, days))
        .groupBy(outputStep)
        .limit(MAX_INSIGHT_ROWS),
      database
        .select({
          changedAt: sql<number | null>`min(iif(${countedDays.isChanged} = 1, ${countedDays.countedAt}, null))`.as(
            'changedAt',
          ),
          countedAt: sql<number | null>`max(${countedDays.countedAt})`.as('countedAt'),
        })
        .from(countedDays)
        .where(inRange(countedDays, project, days)),
      database
        .select({ stepId: reviewStep.as('stepId'), accepted, corrected })
        .from(reviewDays)
        .where(decidedOn)
        .groupBy(reviewStep)
        .having(isAny)
        .limit(MAX_INSIGHT_ROWS),
      database
        .select({
          day: sql<number>`scanned.day`.as('day'),
          stepId: decidedStep.as('stepId'),
          promptVersionId: sql<string>`scanned.prompt_version_id`.as('promptVersionId'),
          accepted: sql<number>`sum(scanned.accepted)`.as('accepted'),
          corrected: sql<number>`sum(scanned.corrected)`.as('corrected'),
        })
        .from(decidedByStoredStep)
        .groupBy(sql`scanned.day`, decidedStep, sql`scanned.prompt_version_id`),
      database
        .select({
          ...named({ userId, day }),
          reviewed: sql<number>`sum(${reviewDays.accepted} + ${reviewDays.corrected})`.as('reviewed'),
        })
        .from(reviewDays)
        .where(decidedOn)
        .groupBy(userId, day)
        .having(isAny)
        .limit(MAX_INSIGHT_ROWS),
      database
        .select({
          id: sql<string>`scanned.id`.as('id'),
          name: sql<string | null>`${userName(store, sql`scanned.id`)}`.as('name'),
        })
        .from(userIds)
        .limit(MAX_INSIGHT_ROWS),
      database
        .select({
          id: sql<string>`${textVersions.id}`.as('id'),
          promptId: sql<string>`${versionedTexts.id}`.as('promptId'),
          stepId: readStepId(versionedTexts.projectKey, versionedTexts.name).as('stepId'),
          number: sql<number>`${versionNumber}`.as('number'),
          isActive: sql<number>`${textVersions.isActive}`.as('isActive'),
        })
        .from(versionIds)
        .crossJoin(textVersions)
        .crossJoin(versionedTexts)
        .where(
          and(
            eq(textVersions.id, sql`scanned.id`),
            eq(versionedTexts.key, textVersions.textKey),
            eq(versionedTexts.projectKey, project.key),
          ),
        )
        .limit(MAX_INSIGHT_ROWS),
      database
        .select({
          ...named({ errorType }),
          stepId: reviewStep.as('stepId'),
          count: sql<number>`sum(${reviewDays.accepted} + ${reviewDays.corrected})`.as('count'),
        })
        .from(reviewDays)
        .where(and(decidedOn, ne(errorType, '')))
        .groupBy(errorType, reviewStep)
        .having(isAny)
        .limit(MAX_INSIGHT_ROWS),
      database
        .select({
          ...named({ errorType: answerDays.errorType }),
          stepId: answerStep.as('stepId'),
          count: sql<number>`sum(${answerDays.answers})`.as('count'),
        })
        .from(answerDays)
        .where(inRange(answerDays, project, days))
        .groupBy(answerDays.errorType, answerStep)
        .having(sql`sum(${answerDays.answers}) > 0`)
        .limit(MAX_INSIGHT_ROWS),
      database
        .select({
          stepId: sql<string>`scanned.step_id`.as('stepId'),
          promptVersionId: sql<string>`scanned.version`.as('promptVersionId'),
          ...usedSums,
          durations: sql<string>`json_group_object(coalesce(scanned.bucket, ''), coalesce(scanned.timed, 0))`.as(
            'durations',
          ),
        })
        .from(
          // The sums are in the rows without a bucket, one per step and version.
          sql`(
            select ${useStep} as step_id, ${useDays.promptVersionId} as version, null as bucket, null as timed,
              sum(${useDays.inputTokens}) as input_tokens, sum(${useDays.outputTokens}) as output_tokens,
              sum(${useDays.costNanoUsd}) as cost_nano_usd
            from ${useDays} where ${usedOn} group by 1, 2
            union all
            select ${useStep}, ${useDays.promptVersionId}, item.key, sum(item.value), null, null, null
            from ${useDays} cross join json_each(${useDays.durations}) as item where ${usedOn} group by 1, 2, 3) as scanned`,
        )
        .groupBy(sql`scanned.step_id`, sql`scanned.version`)
        .limit(MAX_INSIGHT_ROWS),
      database
        .select({
          ...named({ day: useDays.day, promptVersionId: useDays.promptVersionId }),
          stepId: useStep.as('stepId'),
          inputTokens: sql<number | null>`sum(${useDays.inputTokens})`.as('inputTokens'),
          outputTokens: sql<number | null>`sum(${useDays.outputTokens})`.as('outputTokens'),
          costNanoUsd: sql<number | null>`sum(${useDays.costNanoUsd})`.as('costNanoUsd'),
          // After a step is renamed, a row may combine several stored steps.
          durations: sql<string>`json_group_array(json(${useDays.durations}))`.as('durations'),
        })
        .from(useDays)
        .where(usedOn)
        .groupBy(useDays.day, useStep, useDays.promptVersionId)
        .limit(MAX_INSIGHT_ROWS),
    ])
  return {
    outputs,
    counted,
    steps,
    decisions,
    reviewers,
    users,
    versions: versions.map(({ isActive, ...version }) => ({ ...version, isActive: isActive === 1 })),
    namedTypes,
    answers,
    used: used.map(({ durations, ...sums }): StepUse => {
      const { '': _, ...histogram } = JSON.parse(durations)
      return { ...sums, durations: histogram }
    }),
    usedByDay: usedByDay.map(({ durations, ...sums }): StepUse & { day: number } => ({
      ...sums,
      durations: sumHistograms(JSON.parse(durations)),
    })),
  }
}

/** The query that counts, for each version of a text, the current decisions in a database on spans that used it. */
export const versionDecisionsQuery = ({ database }: Store, ofText: SQL | undefined) =>
  database
    .select({ ...named({ versionId: reviewDays.promptVersionId }), accepted, corrected })
    .from(versionedTexts)
    .crossJoin(textVersions)
    .crossJoin(reviewDays)
    .where(
      and(
        ofText,
        eq(textVersions.textKey, versionedTexts.key),
        eq(reviewDays.promptVersionId, textVersions.id),
        // The first condition must match the partial index literally. The plus sign keeps SQLite from using the primary
        // key instead, because that would scan the whole project.
        sql`${reviewDays.promptVersionId} <> ''`,
        sql`+${reviewDays.projectKey} = ${versionedTexts.projectKey}`,
      ),
    )
    .groupBy(reviewDays.promptVersionId)
