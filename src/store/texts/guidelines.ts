import { and, eq, type SQL, sql } from 'drizzle-orm'
import { guidelineUuid } from '../../domain/ids.ts'
import { type Act, recordAct } from '../accounts/audit.ts'
import { isExistingProject, type Project, requireExisting } from '../accounts/projects.ts'
import { named } from '../core/database.ts'
import { selectFor } from '../core/rows.ts'
import { isStep } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { guidelines } from '../schema/texts.ts'

/** What reviewers need to know to judge a step's output. */
export interface GuidelineRecord {
  id: string
  /** Markdown. Empty if the step has none. */
  text: string
  /** Null if it was never set. */
  updatedAt: number | null
}

/**
 * Whether a row of `guidelines` belongs to a step. The row may have any of the step's names. If several steps were
 * renamed to the same name, each of them may have left a row. In that case, the row that has text belongs to the step.
 */
const isOfStep = (projectKey: number, stepId: string | SQL): SQL =>
  sql`(${guidelines.projectKey} = ${projectKey} and ${guidelines.stepId} = (
    select own.step_id from ${guidelines} own
    where own.project_key = ${projectKey} and ${isStep(projectKey, sql`own.step_id`, sql`${stepId}`)}
    order by own.text = '', own.step_id limit 1))`

/** Selects a step's guideline. */
export const selectGuideline = ({ database }: Store, projectKey: number, stepId: string | SQL) =>
  database
    .select(named({ id: guidelines.id, text: guidelines.text, updatedAt: guidelines.updatedAt }))
    .from(guidelines)
    .where(isOfStep(projectKey, stepId))

/** Finds a step's guideline. */
export async function findGuideline(store: Store, project: Project, stepId: string): Promise<GuidelineRecord> {
  const [found] = await selectGuideline(store, project.key, stepId)
  return found ?? { id: await guidelineUuid(project.id, stepId), text: '', updatedAt: null }
}

/** Sets a step's guideline and returns it. Setting the same text again changes nothing. */
export async function saveGuideline(
  store: Store,
  act: Act,
  project: Project,
  stepId: string,
  text: string,
): Promise<GuidelineRecord> {
  const { database } = store
  const id = await guidelineUuid(project.id, stepId)
  const isThis = isOfStep(project.key, stepId)
  const isExisting = isExistingProject(store, project)
  const has = (condition: SQL) => sql`exists (select 1 from ${guidelines} where ${isThis} and ${condition})`
  const isSame = sql`(${has(eq(guidelines.text, text))} or (${text} = '' and not ${has(sql`true`)}))`
  const targetId = sql`coalesce((select ${guidelines.id} from ${guidelines} where ${isThis}), ${id})`
  const [, , , [saved]] = await database.batch([
    recordAct(
      store,
      act,
      { action: 'guideline.set', targetId, projectKey: project.key, afterId: targetId },
      sql`${isExisting} and not ${isSame}`,
    ),
    database
      .update(guidelines)
      .set({ text, updatedAt: act.at })
      .where(and(isThis, sql`${guidelines.text} <> ${text}`, isExisting)),
    database
      .insert(guidelines)
      .select(
        selectFor(
          guidelines,
          { projectKey: project.key, stepId, id, text, updatedAt: act.at },
          sql`where ${isExisting} and ${text} <> '' and not ${has(sql`true`)}`,
        ),
      )
      .onConflictDoNothing(),
    selectGuideline(store, project.key, stepId),
  ])
  if (!saved) await requireExisting(store, project)
  return saved ?? { id, text: '', updatedAt: null }
}
