import { and, eq, type SQL, sql } from 'drizzle-orm'
import { newRevision } from '../../domain/ids.ts'
import { type Act, recordAct } from '../accounts/audit.ts'
import { hasExistingProject } from '../accounts/projects.ts'
import { named } from '../core/database.ts'
import { selectFor } from '../core/rows.ts'
import { isStep } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { problems } from '../schema/problems.ts'
import type { FoundProblem, ProblemInProject } from './problem-ids.ts'
import type { ProblemDecision } from './problem-list.ts'

/** Whether a row is a problem's, under any name of its step. */
export const isOf = ({ projectKey, stepId, errorType, docSlug }: ProblemInProject): SQL | undefined =>
  and(
    eq(problems.projectKey, projectKey),
    isStep(projectKey, problems.stepId, stepId),
    eq(problems.errorType, errorType),
    eq(problems.docSlug, docSlug),
  )

/**
 * Saves what people decided about a problem, in place of `before`. Returns whether it did: if not, somebody else has
 * changed the problem since, or its project is deleted.
 */
export async function saveProblem(
  store: Store,
  act: Act,
  problem: FoundProblem,
  before: ProblemDecision,
  after: Omit<ProblemDecision, 'revision'>,
): Promise<boolean> {
  const { database } = store
  const { id, projectKey, stepId, errorType, docSlug } = problem
  const last = (column: typeof problems.revision | typeof problems.updatedAt) =>
    sql`(select ${column} from ${problems} where ${isOf(problem)} order by ${problems.updatedAt} desc limit 1)`
  const holds = and(
    sql`coalesce(${last(problems.revision)}, '') = ${before.revision}`,
    hasExistingProject(store, sql`${projectKey}`),
  )
  const revision = newRevision()
  const changed = {
    ...after,
    isDismissed: Number(after.isDismissed),
    // The last change counts if a renamed step has several rows.
    updatedAt: sql`max(${act.at}, coalesce(${last(problems.updatedAt)} + 1, 0))`,
    revision,
  }
  const [, , [saved]] = await database.batch([
    recordAct(
      store,
      act,
      {
        action: 'problem.change',
        targetId: id,
        projectKey,
        beforeId: before.candidateVersionId,
        afterId: after.candidateVersionId,
      },
      sql`${holds}`,
    ),
    database
      .insert(problems)
      .select(selectFor(problems, { ...changed, projectKey, stepId, errorType, docSlug }, sql`where ${holds}`))
      .onConflictDoUpdate({
        target: [problems.projectKey, problems.stepId, problems.errorType, problems.docSlug],
        set: {
          isDismissed: sql`excluded.is_dismissed`,
          note: sql`excluded.note`,
          assigneeId: sql`excluded.assignee_id`,
          candidateVersionId: sql`excluded.candidate_version_id`,
          candidateAt: sql`excluded.candidate_at`,
          proof: sql`excluded.proof`,
          updatedAt: sql`excluded.updated_at`,
          revision: sql`excluded.revision`,
        },
      }),
    database
      .select(named({ revision: problems.revision }))
      .from(problems)
      .where(and(isOf(problem), eq(problems.revision, revision))),
  ])
  return saved !== undefined
}
