import { and, eq, gte, lt, ne, type SQL, sql } from 'drizzle-orm'
import { MAX_INSIGHT_ROWS } from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import { actorName } from '../accounts/users.ts'
import { named, readPlain } from '../core/database.ts'
import { readStepId } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { answerDays, countedDays, outputDays, reviewDays } from '../schema/counts.ts'
import { textVersions, versionedTexts } from '../schema/texts.ts'
import { versionNumber } from './version-number.ts'

/** A range of UTC days, counted from 1970. `from` is inclusive, `to` exclusive. */
export interface DayRange {
  from: number
  to: number
}

/** The number of decisions in force. */
export interface Decided {
  accepted: number
  corrected: number
}

const inRange = (
  table: typeof reviewDays | typeof answerDays | typeof outputDays | typeof countedDays,
  { key }: Project,
  { from, to }: DayRange,
) => and(eq(table.projectKey, key), gte(table.day, from), lt(table.day, to))

/* Renamed steps are counted under their new names. */
const outputStep = readStepId(outputDays.projectKey, outputDays.stepId)
const reviewStep = readStepId(reviewDays.projectKey, reviewDays.stepId)
const decidedStep = readStepId(sql`scanned.project_key`, sql`scanned.step_id`)
const answerStep = readStepId(answerDays.projectKey, answerDays.stepId)

const accepted = sql<number>`sum(${reviewDays.accepted})`.as('accepted')
const corrected = sql<number>`sum(${reviewDays.corrected})`.as('corrected')
/** Skips rows whose counts have dropped to zero. They're never deleted. */
const isAny = sql`sum(${reviewDays.accepted} + ${reviewDays.corrected}) > 0`

/**
 * A project's counts for a range of days. Each list has at most `MAX_INSIGHT_ROWS` rows. Outputs are counted by the day
 * of their trace, everything else by the day of the decision or answer. Takes one round trip, whose cost doesn't depend
 * on the number of traces.
 */
export async function readInsights(store: Store, project: Project, days: DayRange) {
  const { database } = store
  const decidedOn = inRange(reviewDays, project, days)
  const { day, promptVersionId, userId, errorType } = reviewDays
  // The index has the rows in this order, so only the groups are sorted by their new names.
  const decidedByStoredStep = database
    .select({ projectKey: reviewDays.projectKey, day, stepId: reviewDays.stepId, promptVersionId, accepted, corrected })
    .from(reviewDays)
    .where(decidedOn)
    .groupBy(day, reviewDays.stepId, promptVersionId)
    .having(isAny)
    .limit(MAX_INSIGHT_ROWS)
    .as('scanned')
  const scannedIds = (column: typeof userId | typeof promptVersionId, condition?: SQL) =>
    sql`(select distinct ${column} as id from ${reviewDays} where ${and(decidedOn, condition)}) as scanned`
  const [outputs, [counted], steps, decisions, reviewers, names, versions, namedTypes, answers] = await readPlain(
    database,
    [
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
          at: sql<number | null>`coalesce(
            min(iif(${countedDays.isChanged} = 1, ${countedDays.countedAt}, null)), max(${countedDays.countedAt}))`.as(
            'at',
          ),
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
          name: sql<string | null>`${actorName(store, sql`scanned.id`)}`.as('name'),
        })
        .from(scannedIds(userId))
        .limit(MAX_INSIGHT_ROWS),
      database
        .select({
          id: sql<string>`${textVersions.id}`.as('id'),
          promptId: sql<string>`${versionedTexts.id}`.as('promptId'),
          stepId: readStepId(versionedTexts.projectKey, versionedTexts.name).as('stepId'),
          number: sql<number>`${versionNumber}`.as('number'),
          isActive: sql<number>`${textVersions.isActive}`.as('isActive'),
        })
        .from(scannedIds(promptVersionId, ne(promptVersionId, '')))
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
    ],
  )
  return {
    outputs,
    countedAt: counted?.at ?? null,
    steps,
    decisions,
    reviewers,
    names,
    versions: versions.map(({ isActive, ...version }) => ({ ...version, isActive: isActive === 1 })),
    namedTypes,
    answers,
  }
}

/**
 * The query for the number of decisions in force on spans that used each version of a text. Pass its results to
 * `decidedByVersion`.
 */
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
        // The first condition must match the partial index literally. The plus keeps SQLite from using the primary key
        // instead, which would scan the whole project.
        sql`${reviewDays.promptVersionId} <> ''`,
        sql`+${reviewDays.projectKey} = ${versionedTexts.projectKey}`,
      ),
    )
    .groupBy(reviewDays.promptVersionId)
