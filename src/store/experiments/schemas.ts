import { and, eq, sql } from 'drizzle-orm'
import { hasExistingProject } from '../accounts/projects.ts'
import { readPlain } from '../core/database.ts'
import { isStep } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { textVersions, versionedTexts } from '../schema/texts.ts'

/**
 * The `outputSchema` of a step's prompt version, or of its active version if `versionId` is null, as JSON. `schema` is
 * null if the version has none. Undefined if the step has no such version.
 */
export async function findStepSchema(
  store: Store,
  { projectKey, stepId }: { projectKey: number; stepId: string },
  versionId: string | null,
): Promise<{ schema: string | null } | undefined> {
  const [[row]] = await readPlain(store.database, [
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
          versionId === null ? sql`${textVersions.isActive} = 1` : eq(textVersions.id, versionId),
        ),
      ),
  ])
  return row
}
