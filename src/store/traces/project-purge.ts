import { and, asc, eq, getTableName, inArray, isNotNull, isNull, lte, type SQL, sql } from 'drizzle-orm'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'
import { newRevision } from '../../domain/ids.ts'
import {
  DELETION_SETTLE_MS,
  PROJECT_PURGE_TRACES,
  PROJECT_PURGE_VERSIONS,
  PURGE_ROWS,
  RESEND_AFTER_MS,
} from '../../limits.ts'
import type { Store, UnscopedStore } from '../core/store.ts'
import { apiKeys, modelCalls, projects, savedViews, stepNames } from '../schema/accounts.ts'
import { projectErrorTypes } from '../schema/attribution.ts'
import { answerDays, countedDays, outputDays, reviewDays, useDays } from '../schema/counts.ts'
import { datasetEntries, datasetRemovals, datasetSettings, datasets } from '../schema/datasets.ts'
import { gates } from '../schema/experiments.ts'
import { HOMES, type Home } from '../schema/homes.ts'
import { modelJobs } from '../schema/model-jobs.ts'
import { problemDays, problemIds, problems } from '../schema/problems.ts'
import { promptSuggestions } from '../schema/prompt-suggestions.ts'
import { reviewPolicies, reviewPolicySteps } from '../schema/review-policies.ts'
import { guidelines, textActivations, textVersions, versionedTexts, watchLooks } from '../schema/texts.ts'
import { traces } from '../schema/traces.ts'
import { webhooks } from '../schema/webhooks.ts'
import { deleteEvents } from '../webhooks/cleanup.ts'
import { deleteValues } from './payloads.ts'
import { deleteExperiments } from './purged-results.ts'

/*
 * A deletion first marks the project's row, which hides the project. A job then deletes the project's traces, which are
 * purged like any others, and everything else in the project. The job runs again once no isolate can still have the
 * project in its cache, to remove data that was written in the meantime.
 */

/**
 * Takes up to `limit` deleted projects whose purge is due. Postpones each purge, so that a project is taken again only
 * if nobody finishes its purge.
 */
export async function takeDueProjects({ database }: UnscopedStore, now: number, limit: number) {
  const due = database
    .select({ key: projects.key })
    .from(projects)
    .where(and(isNotNull(projects.purgeDueAt), lte(projects.purgeDueAt, now)))
    .orderBy(asc(projects.purgeDueAt))
    .limit(limit)
  return database
    .update(projects)
    .set({ purgeDueAt: now + RESEND_AFTER_MS })
    .where(inArray(projects.key, due))
    .returning({ organizationKey: projects.organizationKey, projectKey: projects.key })
}

/**
 * Deletes a project's data in up to `steps` bounded statements for each database. `onTraces` receives the keys of the
 * deleted traces and the database that they must be purged from. Returns whether the purge is done for now. If not, the
 * job is sent again. Safe to run twice or concurrently, because each step deletes only rows that still exist, and only
 * if the project is deleted.
 */
export async function purgeProject(
  store: Store,
  projectKey: number,
  {
    now,
    steps,
    onTraces,
  }: { now: number; steps: number; onTraces: (traceKeys: number[], shard: number) => Promise<void> },
): Promise<boolean> {
  const { organization, databases, shards } = store
  const { database } = store.control
  const isDeleted = and(
    eq(projects.organizationKey, organization.key),
    eq(projects.key, projectKey),
    isNotNull(projects.purgeDueAt),
  )
  // Keep cron from resending the job during this run.
  const [project] = await database
    .update(projects)
    .set({ purgeDueAt: now + RESEND_AFTER_MS })
    .where(isDeleted)
    .returning({ deletedAt: projects.deletedAt })
  if (!project || project.deletedAt === null) return true
  let stepsLeft = steps * databases.length
  const parts = [
    ...shards.map(shard => async () => {
      const traceKeys = await deleteTraces(shard, projectKey, now)
      if (traceKeys.length > 0) await onTraces(traceKeys, shard.shard)
      return traceKeys.length === PROJECT_PURGE_TRACES
    }),
    () => deleteValues(store, `imports/${projectKey}`),
    () => deleteExperiments(store.control, projectKey),
    ...databases.map(each => () => deleteEvents(each, sql`project_key = ${projectKey}`)),
    ...deletions(projectKey).flatMap(({ table, limit, statement }) =>
      databasesOf(store, table).map(each => async () => {
        const { meta } = await each.database.run(statement)
        return meta.changes === limit
      }),
    ),
  ]
  for (const part of parts) {
    do if (stepsLeft-- === 0) return false
    while (await part())
  }
  const settledAt = project.deletedAt + DELETION_SETTLE_MS
  await database
    .update(projects)
    .set({ purgeDueAt: now < settledAt ? settledAt : null })
    .where(isDeleted)
  return true
}

/**
 * Deletes some of a project's traces without adjusting counts, which are deleted with the project. Returns their keys.
 */
async function deleteTraces({ database, organization }: Store, projectKey: number, now: number): Promise<number[]> {
  const some = database
    .select({ key: traces.key })
    .from(traces)
    .where(and(isNull(traces.deletedAt), eq(traces.projectKey, projectKey)))
    .orderBy(asc(traces.timestamp), asc(traces.id))
    .limit(PROJECT_PURGE_TRACES)
  const deleted = await database
    .update(traces)
    .set({ deletedAt: now, purgeDueAt: now + RESEND_AFTER_MS, revision: newRevision() })
    .where(and(eq(traces.organizationKey, organization.key), inArray(traces.key, some)))
    .returning({ key: traces.key })
  return deleted.map(({ key }) => key)
}

const HOME_OF: ReadonlyMap<string, Home> = new Map(Object.entries(HOMES))

/**
 * The databases that may have a project's rows in a table. Leaves out copies, which are updated from the control
 * database.
 */
function databasesOf({ control, shards, databases }: Store, table: SQLiteTable): readonly Store[] {
  const home = HOME_OF.get(getTableName(table))
  return home === 'trace' ? shards : home === 'every' ? databases : [control]
}

/**
 * The statements that delete a project's data other than traces. Each deletes a limited number of rows. Children come
 * before their parents. The home of a statement's table determines which databases it runs in.
 */
function deletions(projectKey: number): { table: SQLiteTable; limit: number; statement: SQL }[] {
  const ofProject = sql`project_key = ${projectKey}`
  const ofTexts = sql`text_key in (
    select ${versionedTexts.key} from ${versionedTexts} where ${versionedTexts.projectKey} = ${projectKey})`
  const removal = (table: SQLiteTable, primaryKey: string, condition = ofProject, limit = PURGE_ROWS) => {
    const columns = sql.raw(primaryKey)
    const statement = sql`delete from ${table} where (${columns}) in (
      select ${columns} from ${table} where ${condition} limit ${limit})`
    return { table, limit, statement }
  }
  return [
    removal(watchLooks, 'text_key, activated_at, look', ofTexts),
    removal(promptSuggestions, 'project_key, problem_id, requested_at, version_id'),
    removal(textActivations, 'text_key, activated_at, version_key', ofTexts),
    removal(textVersions, 'key', ofTexts, PROJECT_PURGE_VERSIONS),
    removal(versionedTexts, 'key'),
    removal(projectErrorTypes, 'project_key, error_type'),
    removal(reviewDays, 'project_key, day, step_id, prompt_version_id, user_id, error_type'),
    removal(answerDays, 'project_key, day, step_id, error_type'),
    removal(problemDays, 'project_key, day, step_id, error_type, doc_slug'),
    removal(problemIds, 'project_key, step_id, error_type, doc_slug'),
    removal(problems, 'project_key, step_id, error_type, doc_slug'),
    removal(outputDays, 'project_key, day, step_id'),
    removal(useDays, 'project_key, day, step_id, prompt_version_id'),
    removal(countedDays, 'project_key, day'),
    removal(stepNames, 'project_key, old_name'),
    removal(savedViews, 'project_key, owner_id, page, name'),
    removal(datasetRemovals, 'project_key, step_id, added'),
    removal(datasetSettings, 'project_key, step_id'),
    removal(gates, 'project_key, step_id'),
    removal(guidelines, 'project_key, step_id'),
    removal(reviewPolicySteps, 'project_key, step_id'),
    removal(reviewPolicies, 'project_key'),
    // Only imported examples. A trace's items are deleted with the trace, and so is a dataset that still has some of
    // them.
    removal(
      datasetEntries,
      'project_key, step_id, trace_key, item_id, sequence',
      sql`${ofProject} and trace_key = 0`,
      PROJECT_PURGE_VERSIONS,
    ),
    removal(
      datasets,
      'project_key, step_id',
      sql`${ofProject} and not exists (select 1 from ${datasetEntries} entry
        where entry.project_key = ${datasets.projectKey} and entry.step_id = ${datasets.stepId})`,
    ),
    removal(
      webhooks,
      'key',
      sql`organization_key = (select ${projects.organizationKey} from ${projects} where ${projects.key} = ${projectKey})
        and ${ofProject}`,
    ),
    removal(modelJobs, 'organization_key, kind, subject'),
    removal(modelCalls, 'project_key'),
    removal(
      apiKeys,
      'key',
      sql`organization_key = (select ${projects.organizationKey} from ${projects} where ${projects.key} = ${projectKey})
        and ${ofProject}`,
    ),
  ]
}
