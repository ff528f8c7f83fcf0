import { and, asc, eq, isNotNull, sql } from 'drizzle-orm'
import { newId } from '../../domain/ids.ts'
import { PURGE_ROWS } from '../../limits.ts'
import type { Store } from '../core/store.ts'
import { experimentResults, experiments, resultJudgments } from '../schema/experiments.ts'
import { deleteValues } from './payloads.ts'

/*
 * Experiments' results are deleted with their traces. A finished experiment keeps its counts, which contain no personal
 * data, and records how many results were deleted.
 */

/** Deletes some of a trace's results with their outputs. Returns whether there may be more. */
export async function deleteResults(store: Store, traceKey: number): Promise<boolean> {
  const { database } = store
  const ofTrace = eq(experimentResults.traceKey, traceKey)
  const [large] = await database
    .select({ experimentKey: experimentResults.experimentKey, itemId: experimentResults.itemId })
    .from(experimentResults)
    .where(and(ofTrace, isNotNull(experimentResults.outputRef)))
    .limit(1)
  // Delete one folder at a time, with its objects first, so that another run still finds the folder until they're gone.
  if (large) {
    while (await deleteValues(store, `experiments/${large.experimentKey}/${large.itemId}`));
  }
  const isPiece = large
    ? and(eq(experimentResults.experimentKey, large.experimentKey), eq(experimentResults.itemId, large.itemId))
    : sql`(${PRIMARY_KEY}) in (select ${PRIMARY_KEY} from ${experimentResults} where ${ofTrace}
        order by ${asc(experimentResults.experimentKey)}, ${asc(experimentResults.itemId)} limit ${PURGE_ROWS})`
  const [, , { meta }] = await database.batch([
    // Update the counts in the same batch, so that another run doesn't subtract anything twice.
    database
      .update(experiments)
      .set({
        results: sql`${experiments.results} - scanned.results`,
        outputs: sql`${experiments.outputs} - scanned.outputs`,
        removed: sql`${experiments.removed} + scanned.results`,
        // Makes requests that are counting the results start over.
        revision: newId(),
      })
      .from(sql`(
        select ${experimentResults.experimentKey} as experiment_key, count(*) as results,
          sum(${experimentResults.outcome} <> 'error') as outputs
        from ${experimentResults} where ${isPiece} group by ${experimentResults.experimentKey}) as scanned`)
      .where(
        and(eq(experiments.organizationKey, store.organization.key), sql`${experiments.key} = scanned.experiment_key`),
      ),
    database
      .delete(resultJudgments)
      .where(sql`(${JUDGMENT_KEY}) in (select ${PRIMARY_KEY} from ${experimentResults} where ${isPiece})`),
    database.delete(experimentResults).where(isPiece),
  ])
  return large ? true : meta.changes === PURGE_ROWS
}

/**
 * Deletes some of a project's experiments, or some of one experiment's results and outputs. Returns whether there may
 * be more.
 */
export async function deleteExperiments(store: Store, projectKey: number): Promise<boolean> {
  const { database } = store
  const [experiment] = await database
    .select({ key: experiments.key })
    .from(experiments)
    .where(and(eq(experiments.projectKey, projectKey), eq(experiments.organizationKey, store.organization.key)))
    .limit(1)
  if (!experiment) return false
  if (await deleteValues(store, `experiments/${experiment.key}`)) return true
  const ofExperiment = eq(experimentResults.experimentKey, experiment.key)
  await database.batch([
    database.delete(resultJudgments).where(
      sql`(${JUDGMENT_KEY}) in (select ${JUDGMENT_KEY} from ${resultJudgments}
          where ${resultJudgments.experimentKey} = ${experiment.key} limit ${PURGE_ROWS})`,
    ),
    database
      .delete(experimentResults)
      .where(
        sql`(${PRIMARY_KEY}) in (select ${PRIMARY_KEY} from ${experimentResults} where ${ofExperiment} limit ${PURGE_ROWS})`,
      ),
    database
      .delete(experiments)
      .where(
        and(
          eq(experiments.key, experiment.key),
          sql`not exists (select 1 from ${experimentResults} where ${ofExperiment})`,
          sql`not exists (select 1 from ${resultJudgments} where ${resultJudgments.experimentKey} = ${experiment.key})`,
        ),
      ),
  ])
  return true
}

const PRIMARY_KEY = sql`${experimentResults.experimentKey}, ${experimentResults.itemId}`
const JUDGMENT_KEY = sql`${resultJudgments.experimentKey}, ${resultJudgments.itemId}`
