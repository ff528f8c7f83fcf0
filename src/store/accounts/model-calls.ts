import { and, eq, sql } from 'drizzle-orm'
import { DAY_MS } from '../../limits.ts'
import { selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { modelCalls, projects } from '../schema/accounts.ts'
import type { Project } from './projects.ts'

/**
 * Counts a model call before it's made, unless the project has used up `limit` for this UTC day. Returns whether the
 * call may be made. This is a single conditional write, so concurrent calls can't exceed `limit`. If the reply is lost,
 * the call still counts.
 */
export async function reserveModelCall(
  { control: { database }, organization }: Store,
  projectKey: number,
  { now, limit }: { now: number; limit: number },
): Promise<boolean> {
  const day = Math.floor(now / DAY_MS)
  const isNewDay = sql`excluded.day > ${modelCalls.day}`
  const rows = await database
    .insert(modelCalls)
    .select(
      selectFor(
        modelCalls,
        { projectKey: projects.key, day, calls: 1 },
        sql`from ${projects}
          where ${projects.key} = ${projectKey} and ${projects.organizationKey} = ${organization.key}
            and ${projects.deletedAt} is null and ${limit} >= 1`,
      ),
    )
    .onConflictDoUpdate({
      target: modelCalls.projectKey,
      set: {
        calls: sql`iif(${isNewDay}, 1, ${modelCalls.calls} + 1)`,
        // If the clock lags, the call is added to the later day.
        day: sql`max(excluded.day, ${modelCalls.day})`,
      },
      setWhere: sql`${isNewDay} or ${modelCalls.calls} < ${limit}`,
    })
    .returning({ calls: modelCalls.calls })
  return rows.length > 0
}

/** How many model calls a project has made on this UTC day. */
export async function countModelCalls(
  { control: { database } }: Store,
  { key }: Project,
  now: number,
): Promise<number> {
  const [row] = await database
    .select({ calls: modelCalls.calls })
    .from(modelCalls)
    .where(and(eq(modelCalls.projectKey, key), eq(modelCalls.day, Math.floor(now / DAY_MS))))
  return row?.calls ?? 0
}
