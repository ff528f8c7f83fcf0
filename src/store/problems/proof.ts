import { and, eq, sql } from 'drizzle-orm'
import { readPlain } from '../core/database.ts'
import { isOneOf } from '../core/rows.ts'
import { isStep } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { isAnswerShown } from '../core/veil.ts'
import type { ExperimentRecord } from '../experiments/experiments.ts'
import { experimentResults, experiments } from '../schema/experiments.ts'
import { problemCases, problems } from '../schema/problems.ts'
import { traces } from '../schema/traces.ts'
import { isOf } from './problem-changes.ts'
import type { ProblemInProject } from './problem-ids.ts'

/** How many of a problem's items an experiment has in a split, and how many of them it fixed. */
export interface ProofCounts {
  items: number
  fixed: number
}

/** Whether a row of `experiment_results` is for a problem's item: production was wrong about it, and it's a case. */
const isItemOf = ({ projectKey, stepId, errorType, docSlug }: ProblemInProject) =>
  and(
    eq(experimentResults.wasRight, false),
    eq(problemCases.traceKey, experimentResults.traceKey),
    eq(problemCases.spanId, experimentResults.itemId),
    eq(problemCases.projectKey, projectKey),
    isStep(projectKey, problemCases.stepId, stepId),
    eq(problemCases.errorType, errorType),
    eq(problemCases.docSlug, docSlug),
  )

/** Finds which of an experiment's items belong to a problem, as far as the viewer may see them, by id. */
export async function findProblemItems(
  store: Store,
  { key }: ExperimentRecord,
  problem: ProblemInProject,
  itemIds: readonly string[],
): Promise<Set<string>> {
  if (itemIds.length === 0) return new Set()
  const isShown = isAnswerShown(store)
  const rows = await store.database
    .select({ itemId: sql<string>`${experimentResults.itemId}`.as('item_id') })
    .from(experimentResults)
    .crossJoin(problemCases)
    .where(
      and(
        eq(experimentResults.experimentKey, key),
        isOneOf(experimentResults.itemId, itemIds),
        isItemOf(problem),
        isShown && sql`exists (select 1 from ${traces} where ${traces.key} = ${problemCases.traceKey} and ${isShown})`,
      ),
    )
  return new Set(rows.map(({ itemId }) => itemId))
}

/**
 * Counts a problem's items among an experiment's results, and how many results the experiment has lost. Reads the results
 * of one split. Undefined if there is no such experiment.
 */
export async function countFixed(
  { database, organization }: Store,
  problem: ProblemInProject,
  { experimentId, split }: { experimentId: string; split: string },
): Promise<(ProofCounts & { removed: number }) | undefined> {
  const counts = sql<string>`(
    select json_array(count(*), coalesce(sum(${experimentResults.change} = 'fixed'), 0))
    from ${experimentResults} cross join ${problemCases}
    where ${and(
      eq(experimentResults.experimentKey, experiments.key),
      eq(experimentResults.split, split),
      isItemOf(problem),
    )})`
  const [[row]] = await readPlain(database, [
    database
      .select({
        removed: sql<number>`${experiments.removed}`.as('removed'),
        counts: sql<string>`${counts}`.as('counts'),
      })
      .from(experiments)
      .where(and(eq(experiments.id, experimentId), eq(experiments.organizationKey, organization.key))),
  ])
  if (!row) return undefined
  const [items, fixed]: [number, number] = JSON.parse(row.counts)
  return { items, fixed, removed: row.removed }
}

/** Counts a problem's cases after a time and up to another, at most `limit`. */
export async function countCases(
  { database }: Store,
  { projectKey, stepId, errorType, docSlug }: ProblemInProject,
  { after, until, limit }: { after: number; until: number; limit: number },
): Promise<number> {
  const found = await database
    .select({ at: problemCases.at })
    .from(problemCases)
    .where(
      and(
        eq(problemCases.projectKey, projectKey),
        isStep(projectKey, problemCases.stepId, stepId),
        eq(problemCases.errorType, errorType),
        eq(problemCases.docSlug, docSlug),
        sql`${problemCases.at} > ${after} and ${problemCases.at} <= ${until}`,
      ),
    )
    .limit(limit)
  return found.length
}

/**
 * Keeps the result of a candidate's experiment, so that deleting traces doesn't change it. Does nothing if somebody has
 * changed the problem since.
 */
export async function saveProof(
  { database }: Store,
  problem: ProblemInProject & { revision: string },
  proof: string,
): Promise<void> {
  await database
    .update(problems)
    .set({ proof })
    .where(and(isOf(problem), eq(problems.revision, problem.revision)))
}
