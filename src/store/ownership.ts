import { and, eq, isNull } from 'drizzle-orm'
import { projects, traces } from './schema.ts'
import type { Registry } from './store.ts'

/*
 * The one exception to "every query is bound to an organization": whether what a bound store did not find exists at all.
 * Asked only after a miss, and only a yes or no comes out; the read interface answers 403 or 404 by it.
 */

/** Whether any organization has a trace with this id. */
export async function traceExists({ database }: Registry, id: string): Promise<boolean> {
  const rows = await database
    .select({ key: traces.key })
    .from(traces)
    .where(and(eq(traces.id, id), isNull(traces.deletedAt)))
  return rows.length > 0
}

/** Whether any organization has a project with this id. */
export async function projectExists({ database }: Registry, id: string): Promise<boolean> {
  const rows = await database.select({ key: projects.key }).from(projects).where(eq(projects.id, id))
  return rows.length > 0
}
