import { and, eq, isNull, sql } from 'drizzle-orm'
import { Unanswered } from '../../domain/failures.ts'
import { problemUuid } from '../../domain/ids.ts'
import type { ProblemKey } from '../../domain/problem.ts'
import { MAX_NAMING_ROUNDS, NAMED_PROBLEMS } from '../../limits.ts'
import { readPlain } from '../core/database.ts'
import { rowSet, selectFor } from '../core/rows.ts'
import { readStepId } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { projects, stepNames } from '../schema/accounts.ts'
import { problemIds } from '../schema/problems.ts'

/*
 * A problem's id is derived from its step, error type, and doc, but SQLite can't compute it. So requests compute it
 * when they list a problem, or when somebody requests an id that isn't stored yet.
 */

export interface ProblemInProject extends ProblemKey {
  projectKey: number
}

/** A problem that was found by its id. */
export interface FoundProblem extends ProblemInProject {
  id: string
  projectId: string
}

const KEYS = rowSet(['projectKey', 'stepId', 'errorType', 'docSlug', 'id'])

/** Finds a problem by its id. If the problem's step was renamed, the ids under its old and new names both work. */
export async function findProblem(store: Store, id: string): Promise<FoundProblem | undefined> {
  for (let round = 0; round < MAX_NAMING_ROUNDS; round++) {
    const [found] = (await Promise.all(store.shards.map(shard => selectProblem(shard, id)))).flatMap(each => each ?? [])
    if (found) return { ...found, id: await problemUuid(found.projectId, found) }
    const named = await Promise.all(store.shards.map(nameProblems))
    if (!named.some(Boolean)) return undefined
  }
  throw new Unanswered(1, new Error('the ids of new problems are not known yet'))
}

async function selectProblem(
  { database, organization }: Store,
  id: string,
): Promise<Omit<FoundProblem, 'id'> | undefined> {
  const [[found]] = await readPlain(database, [
    database
      .select({
        projectKey: sql<number>`${projects.key}`.as('projectKey'),
        projectId: sql<string>`${projects.id}`.as('projectId'),
        stepId: readStepId(problemIds.projectKey, problemIds.stepId).as('stepId'),
        errorType: sql<string>`${problemIds.errorType}`.as('errorType'),
        docSlug: sql<string>`${problemIds.docSlug}`.as('docSlug'),
      })
      .from(problemIds)
      .innerJoin(projects, eq(projects.key, problemIds.projectKey))
      .where(and(eq(problemIds.id, id), eq(projects.organizationKey, organization.key), isNull(projects.deletedAt))),
  ])
  return found
}

/** Stores missing ids of some of the organization's problems in one database. Returns whether any were missing. */
async function nameProblems(store: Store): Promise<boolean> {
  const { database, organization } = store
  const [, unnamed] = await database.batch([
    addRenamed(store),
    database
      .select({
        projectKey: problemIds.projectKey,
        projectId: projects.id,
        stepId: problemIds.stepId,
        errorType: problemIds.errorType,
        docSlug: problemIds.docSlug,
      })
      .from(projects)
      .crossJoin(problemIds)
      .where(
        and(
          eq(projects.organizationKey, organization.key),
          isNull(projects.deletedAt),
          eq(problemIds.projectKey, projects.key),
          isNull(problemIds.id),
        ),
      )
      .limit(NAMED_PROBLEMS),
  ])
  await saveIdsIn(
    store,
    await Promise.all(
      unnamed.map(async problem => ({ ...problem, id: await problemUuid(problem.projectId, problem) })),
    ),
  )
  return unnamed.length > 0
}

/** The statement that adds the problems of renamed steps under their new names, which have other ids. */
const addRenamed = ({ database, organization }: Store) =>
  database
    .insert(problemIds)
    .select(
      selectFor(
        problemIds,
        {
          projectKey: stepNames.projectKey,
          stepId: stepNames.newName,
          errorType: sql`named.error_type`,
          docSlug: sql`named.doc_slug`,
          id: null,
        },
        sql`from ${projects} cross join ${stepNames} cross join ${problemIds} named
          where ${projects.organizationKey} = ${organization.key} and ${projects.deletedAt} is null
            and ${stepNames.projectKey} = ${projects.key} and named.project_key = ${projects.key}
            and named.step_id = ${stepNames.oldName}`,
      ),
    )
    .onConflictDoNothing()

/** Stores the ids of problems, which must come from `problemUuid`. A problem's id needs to be in only one database. */
export async function saveIds(
  store: Store,
  named: readonly (ProblemKey & { projectKey: number; id: string })[],
): Promise<void> {
  const [first = store] = store.shards
  await saveIdsIn(first, named)
}

async function saveIdsIn(
  { database }: Store,
  named: readonly (ProblemKey & { projectKey: number; id: string })[],
): Promise<void> {
  if (named.length === 0) return
  const { row } = KEYS
  const { projectKey, stepId, errorType, docSlug } = problemIds
  await database
    .insert(problemIds)
    .select(selectFor(problemIds, row, sql`from ${KEYS.from(KEYS.encodeAll(named))} where true`))
    .onConflictDoUpdate({ target: [projectKey, stepId, errorType, docSlug], set: { id: sql`excluded.id` } })
}
