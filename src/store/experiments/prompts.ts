import { and, eq, sql } from 'drizzle-orm'
import { hasExistingProject } from '../accounts/projects.ts'
import { readPlain } from '../core/database.ts'
import { isStep } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { textVersions, versionedTexts } from '../schema/texts.ts'

/**
 * The id of a step's prompt version (the active one if `versionId` is null), and the version's `outputSchema` as JSON
 * or null. Undefined if the step has no such version.
 */
export async function findStepVersion(
  store: Store,
  { projectKey, stepId }: { projectKey: number; stepId: string },
  versionId: string | null,
): Promise<{ id: string; schema: string | null } | undefined> {
  const [[row]] = await readPlain(store.database, [
    store.database
      .select({
        id: sql<string>`${textVersions.id}`.as('id'),
        schema: sql<string | null>`${textVersions.outputSchema}`.as('schema'),
      })
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

/** The text of a prompt version. Undefined if it has been deleted. */
export async function findPromptText(store: Store, projectKey: number, versionId: string): Promise<string | undefined> {
  const [[row]] = await readPlain(store.database, [
    store.database
      .select({ content: sql<string>`${textVersions.content}`.as('content') })
      .from(textVersions)
      .innerJoin(versionedTexts, eq(versionedTexts.key, textVersions.textKey))
      .where(
        and(
          eq(textVersions.id, versionId),
          eq(versionedTexts.organizationKey, store.organization.key),
          eq(versionedTexts.projectKey, projectKey),
          eq(versionedTexts.kind, 'prompt'),
        ),
      ),
  ])
  return row?.content
}
