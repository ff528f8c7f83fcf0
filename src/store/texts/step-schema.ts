import { and, eq, sql } from 'drizzle-orm'
import { hasExistingProject } from '../accounts/projects.ts'
import { readPlain } from '../core/database.ts'
import { isStep } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { textVersions, versionedTexts } from '../schema/texts.ts'

/** The `outputSchema` of a step's active prompt version, as JSON. Null if it has none. */
export async function findActiveSchema(
  store: Store,
  { projectKey, stepId }: { projectKey: number; stepId: string },
): Promise<string | null> {
  const [[active]] = await readPlain(store.database, [
    store.database
      .select({ schema: sql<string | null>`${textVersions.outputSchema}`.as('schema') })
      .from(versionedTexts)
      .innerJoin(textVersions, eq(textVersions.textKey, versionedTexts.key))
      .where(
        and(
          eq(versionedTexts.organizationKey, store.organization.key),
          eq(versionedTexts.projectKey, projectKey),
          hasExistingProject(store, versionedTexts.projectKey),
          eq(versionedTexts.kind, 'prompt'),
          isStep(projectKey, versionedTexts.name, stepId),
          sql`${textVersions.isActive} = 1`,
        ),
      ),
  ])
  return active?.schema ?? null
}
