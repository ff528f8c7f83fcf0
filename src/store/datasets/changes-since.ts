import { sql } from 'drizzle-orm'
import type { DatasetPart } from '../../domain/dataset-version.ts'
import type { Store } from '../core/store.ts'
import { datasetEntries } from '../schema/datasets.ts'
import type { Dataset } from './datasets.ts'

/**
 * How many of a dataset's items were excluded, or moved to another split, after a version was written. Reads the log
 * only if something has changed since then.
 */
export async function countChangesSince(
  store: Store,
  { projectKey, parts }: Dataset,
  version: readonly DatasetPart[],
): Promise<{ excluded: number; moved: number }> {
  const sums = { excluded: 0, moved: 0 }
  for (const { shard, stepId, sequence } of parts) {
    const since = version.find(part => part.shard === shard && part.stepId === stepId)?.sequence ?? 0
    if (since === sequence) continue
    const [row] = await store.in(shard).database.all<{ excluded: number; moved: number }>(sql`
      select count(distinct iif(change = 'exclusion' and is_excluded, trace_key || ' ' || item_id, null)) as excluded,
        count(distinct iif(change = 'split', trace_key || ' ' || item_id, null)) as moved
      from ${datasetEntries}
      where project_key = ${projectKey} and step_id = ${stepId} and sequence > ${since}`)
    sums.excluded += row?.excluded ?? 0
    sums.moved += row?.moved ?? 0
  }
  return sums
}
