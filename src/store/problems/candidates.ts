import { and, eq, sql } from 'drizzle-orm'
import { hasExistingProject } from '../accounts/projects.ts'
import { named, readPlain } from '../core/database.ts'
import { isOneOf } from '../core/rows.ts'
import { readStepId } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { versionNumber } from '../insights/version-number.ts'
import { textVersions, versionedTexts } from '../schema/texts.ts'

/** A version of a prompt that may be linked to a problem. */
export interface Candidate {
  versionId: string
  promptId: string
  /** The current name of the prompt's step. */
  stepId: string
  number: number
  note: string | null
  isActive: boolean
}

/** Finds versions of a project's prompts by their ids. Versions of deleted prompts are missing. */
export async function findCandidates(
  store: Store,
  projectKey: number,
  versionIds: readonly string[],
): Promise<Map<string, Candidate>> {
  if (versionIds.length === 0) return new Map()
  const [rows] = await readPlain(store.database, [
    store.database
      .select({
        ...named({ versionId: textVersions.id, promptId: versionedTexts.id, note: textVersions.note }),
        stepId: readStepId(versionedTexts.projectKey, versionedTexts.name).as('stepId'),
        number: sql<number>`${versionNumber}`.as('number'),
        isActive: sql<number>`${textVersions.isActive}`.as('isActive'),
      })
      .from(textVersions)
      .innerJoin(versionedTexts, eq(versionedTexts.key, textVersions.textKey))
      .where(
        and(
          isOneOf(textVersions.id, versionIds),
          eq(versionedTexts.organizationKey, store.organization.key),
          eq(versionedTexts.projectKey, projectKey),
          eq(versionedTexts.kind, 'prompt'),
          hasExistingProject(store, versionedTexts.projectKey),
        ),
      ),
  ])
  return new Map(rows.map(({ isActive, ...row }) => [row.versionId, { ...row, isActive: isActive === 1 }]))
}
