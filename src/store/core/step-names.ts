import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { stepNames } from '../schema/accounts.ts'
import { spans } from '../schema/spans.ts'
import { versionedTexts } from '../schema/texts.ts'
import { traces } from '../schema/traces.ts'

/*
 * A project can rename its steps. Rows keep the step ids that pipelines send, and queries apply the new names, so a
 * rename applies to both older and newer rows and can be undone. Use `readStepId` to show a step or to group by steps,
 * and use `isStep` to compare steps. Arguments are columns of the statement, or values.
 */

/**
 * The step id that responses show for a stored step id: the step's new name, if the project has renamed it. As long as
 * no project has renamed a step, this looks up no rows.
 */
export const readStepId = (projectKey: SQLWrapper, stepId: SQLWrapper): SQL<string> => {
  const shown = sql<string>`iif(exists (select 1 from ${stepNames} where ${stepNames.projectKey} > 0), coalesce(
    (select renamed.new_name from ${stepNames} renamed
     where renamed.project_key = ${projectKey} and renamed.old_name = ${stepId}), ${stepId}), ${stepId})`
  // The query is nested, because drizzle omits the table's name from columns in a query on a single table.
  return sql<string>`${shown}`
}

/**
 * Whether a stored step id belongs to the same step as another step id, stored or given. It does if both now have the
 * same name, so a step's old and new names find the same rows.
 */
export const isStep = (projectKey: SQLWrapper | number, column: SQLWrapper, stepId: SQLWrapper | string): SQL =>
  sql`${column} in ${storedStepIds(projectKey, stepId)}`

/**
 * The query for the stored step ids that belong to the same step as a given one. It may return an id more than once.
 */
export const storedStepIds = (projectKey: SQLWrapper | number, stepId: SQLWrapper | string): SQL => sql`(
    with scanned (project_key, step_id) as (select ${projectKey}, ${stepId})
    select scanned.step_id from scanned
    union all select own.new_name from scanned cross join ${stepNames} own
      where own.project_key = scanned.project_key and own.old_name = scanned.step_id
    union all select other.old_name from scanned cross join ${stepNames} other
      where other.project_key = scanned.project_key and other.new_name = coalesce(
        (select own.new_name from ${stepNames} own
         where own.project_key = scanned.project_key and own.old_name = scanned.step_id), scanned.step_id))`

/**
 * The key of the prompt for a step, by any of its names. Null if the step has none. Unlike `isStep`, it only seeks in
 * indexes, so it can run for every span in an export.
 */
export const promptOfStep = (projectKey: SQLWrapper, stepId: SQLWrapper): SQL => {
  const isPrompt = (name: SQLWrapper) =>
    sql`named.project_key = ${projectKey} and named.kind = 'prompt' and named.name = ${name}`
  const ownName = sql`${stepNames} own where own.project_key = ${projectKey} and own.old_name = ${stepId}`
  return sql`coalesce(
    (select named.key from ${versionedTexts} named where ${isPrompt(stepId)}),
    iif(exists (select 1 from ${stepNames} where ${stepNames.projectKey} = ${projectKey}), coalesce(
      (select named.key from ${versionedTexts} named where ${isPrompt(sql`(select own.new_name from ${ownName})`)}),
      (select named.key from ${stepNames} other cross join ${versionedTexts} named
        where other.project_key = ${projectKey} and other.new_name = coalesce((select own.new_name from ${ownName}), ${stepId})
          and ${isPrompt(sql`other.old_name`)} limit 1)), null))`
}

/** The step id that responses show for a row of `spans`. */
export const shownSpanStep = readStepId(
  sql`(select own.project_key from ${traces} own where own.key = ${spans.traceKey})`,
  spans.stepId,
)
