import { type SQL, sql } from 'drizzle-orm'
import { PURGED_ITEMS } from '../../limits.ts'
import { selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { projects } from '../schema/accounts.ts'
import { datasetEntries, datasetRemovals, datasets } from '../schema/datasets.ts'

/**
 * Deletes some of a deleted trace's dataset items from all versions of the datasets, and subtracts them from the
 * counts. Returns whether there may be more. Safe to run twice, because the second run no longer finds these items.
 */
export async function deleteItems(
  { database, organization }: Store,
  { projectKey, traceKey }: { projectKey: number; traceKey: number },
): Promise<boolean> {
  const ofProject = sql`${datasets.organizationKey} = ${organization.key} and ${datasets.projectKey} = ${projectKey}`
  const isKept = sql`exists (
    select 1 from ${projects} where ${projects.key} = ${projectKey} and ${projects.deletedAt} is null)`
  // A step may have been renamed since the decision, so this searches all of the project's datasets.
  const piece = sql`(
    select distinct entry.step_id as step_id, entry.item_id as item_id from ${datasets} cross join ${datasetEntries} entry
    where ${ofProject} and entry.project_key = ${projectKey} and entry.step_id = ${datasets.stepId}
      and entry.trace_key = ${traceKey}
    order by entry.step_id, entry.item_id limit ${PURGED_ITEMS})`
  const ofItem = (alias: string): SQL => {
    const entry = sql.raw(alias)
    return sql`(${entry}.project_key = ${projectKey} and ${entry}.step_id = chosen.step_id
      and ${entry}.trace_key = ${traceKey} and ${entry}.item_id = chosen.item_id)`
  }
  const count = (condition: SQL, name: string) => sql`sum(${condition}) as ${sql.raw(name)}`
  const counts = sql`(
    select chosen.step_id as step_id, ${count(sql`last.decision = 'accept'`, 'accepted')},
      ${count(sql`last.decision = 'correct'`, 'corrected')}, ${count(sql`last.decision is not null and last.is_excluded`, 'excluded')}
    from ${piece} as chosen cross join ${datasetEntries} as last
    where ${ofItem('last')} and last.sequence = (
      select max(entry.sequence) from ${datasetEntries} as entry where ${ofItem('entry')})
      and last.decision is not null
    group by chosen.step_id) as scanned`
  const [, , { meta }] = await database.batch([
    database
      .insert(datasetRemovals)
      .select(
        selectFor(
          datasetRemovals,
          {
            projectKey,
            stepId: sql`added.step_id`,
            added: sql`added.sequence`,
            ended: sql`(select min(ended.sequence) from ${datasetEntries} as ended
              where ${ofItem('ended')} and ended.sequence > added.sequence and ended.decision is null)`,
          },
          sql`from ${piece} as chosen cross join ${datasetEntries} as added
          where ${ofItem('added')} and added.decision is not null and (
            select before.decision from ${datasetEntries} as before
            where ${ofItem('before')} and before.sequence < added.sequence order by before.sequence desc limit 1) is null
            and ${isKept}`,
        ),
      )
      .onConflictDoNothing(),
    database
      .update(datasets)
      .set({
        accepted: sql`${datasets.accepted} - scanned.accepted`,
        corrected: sql`${datasets.corrected} - scanned.corrected`,
        excluded: sql`${datasets.excluded} - scanned.excluded`,
        removed: sql`${datasets.removed} + scanned.accepted + scanned.corrected`,
      })
      .from(counts)
      .where(sql`${ofProject} and ${datasets.stepId} = scanned.step_id`),
    database.delete(datasetEntries).where(
      sql`(project_key, step_id, trace_key, item_id, sequence) in (
        select entry.project_key, entry.step_id, entry.trace_key, entry.item_id, entry.sequence
        from ${piece} as chosen cross join ${datasetEntries} as entry where ${ofItem('entry')})`,
    ),
    database.delete(datasets).where(
      sql`${ofProject} and not ${isKept} and not exists (select 1 from ${datasetEntries} as entry
        where entry.project_key = ${datasets.projectKey} and entry.step_id = ${datasets.stepId})`,
    ),
  ])
  return meta.changes > 0
}
