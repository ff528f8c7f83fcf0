import { and, eq, sql } from 'drizzle-orm'
import { readPlain } from '../core/database.ts'
import { rowSet } from '../core/rows.ts'
import { isStep } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { isAnswerShown } from '../core/veil.ts'
import type { ItemHead } from '../datasets/items.ts'
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

/** Whether a row of `problem_cases` is a case of a problem. */
const isCaseOf = ({ projectKey, stepId, errorType, docSlug }: ProblemInProject) =>
  and(
    eq(problemCases.projectKey, projectKey),
    isStep(projectKey, problemCases.stepId, stepId),
    eq(problemCases.errorType, errorType),
    eq(problemCases.docSlug, docSlug),
  )

/** The items that a query looks for among the cases. `isFixed` is 1 or 0. */
const ITEMS = rowSet(['itemId', 'traceKey', 'isFixed'])

/** The cases of a problem among `items`, which are encoded as `ITEMS`. */
const casesAmong = (items: string, problem: ProblemInProject) => sql`
  from ${ITEMS.from(items)} cross join ${problemCases}
  where ${problemCases.traceKey} = ${ITEMS.row.traceKey} and ${problemCases.spanId} = ${ITEMS.row.itemId}
    and ${isCaseOf(problem)}`

/**
 * Finds which items are cases of a problem, and returns their ids. Leaves out cases that are hidden from the viewer.
 */
export async function findProblemItems(
  store: Store,
  problem: ProblemInProject,
  heads: readonly ItemHead[],
): Promise<Set<string>> {
  if (heads.length === 0) return new Set()
  const items = ITEMS.encodeAll(heads.map(({ id, place: [, traceKey] }) => ({ itemId: id, traceKey, isFixed: 0 })))
  const shown = isAnswerShown(store)
  const isShown =
    shown && sql`exists (select 1 from ${traces} where ${traces.key} = ${problemCases.traceKey} and ${shown})`
  const found = await Promise.all(
    store.shards.map(({ database }) =>
      database.all<{ itemId: string }>(
        sql`select ${ITEMS.row.itemId} as itemId ${casesAmong(items, problem)} ${isShown ? sql`and ${isShown}` : sql``}`,
      ),
    ),
  )
  return new Set(found.flat().map(({ itemId }) => itemId))
}

/**
 * Counts an experiment's results on a problem's items, and how many results the experiment has lost. Reads only the
 * results in one split. Undefined if there is no such experiment.
 */
export async function countFixed(
  store: Store,
  problem: ProblemInProject,
  { experimentId, split }: { experimentId: string; split: string },
): Promise<(ProofCounts & { removed: number }) | undefined> {
  const { database, organization } = store.control
  // This is a single value, so that it can be passed unchanged to the next query as its parameter. It's never too
  // large, because an experiment has at most `MAX_EXPERIMENT_ITEMS` items.
  const wrong = sql<string>`(
    select json_group_array(json_array(
      ${experimentResults.itemId}, ${experimentResults.traceKey}, ${experimentResults.change} is 'fixed'))
    from ${experimentResults}
    where ${experimentResults.experimentKey} = ${experiments.key} and ${experimentResults.split} = ${split}
      and ${experimentResults.wasRight} = 0)`
  const [[row]] = await readPlain(database, [
    database
      .select({
        removed: sql<number>`${experiments.removed}`.as('removed'),
        wrong: sql<string>`${wrong}`.as('wrong'),
      })
      .from(experiments)
      .where(and(eq(experiments.id, experimentId), eq(experiments.organizationKey, organization.key))),
  ])
  if (!row) return undefined
  const counts = await Promise.all(
    store.shards.map(shard =>
      shard.database.all<ProofCounts>(sql`
        select count(*) as items, coalesce(sum(${ITEMS.row.isFixed}), 0) as fixed ${casesAmong(row.wrong, problem)}`),
    ),
  )
  const sum = (field: keyof ProofCounts) => counts.flat().reduce((total, each) => total + each[field], 0)
  return { items: sum('items'), fixed: sum('fixed'), removed: row.removed }
}

/**
 * Counts a problem's cases after the time `after`, up to and including the time `until`. Counts at most `limit` cases.
 */
export async function countCases(
  store: Store,
  problem: ProblemInProject,
  { after, until, limit }: { after: number; until: number; limit: number },
): Promise<number> {
  const found = await Promise.all(
    store.shards.map(({ database }) =>
      database
        .select({ at: problemCases.at })
        .from(problemCases)
        .where(and(isCaseOf(problem), sql`${problemCases.at} > ${after} and ${problemCases.at} <= ${until}`))
        .limit(limit),
    ),
  )
  return Math.min(limit, found.flat().length)
}

/**
 * Stores the result of a candidate's experiment, so that deleting traces later doesn't change it. Does nothing if
 * somebody has changed the problem since then.
 */
export async function saveProof(
  { control: { database } }: Store,
  problem: ProblemInProject & { revision: string },
  proof: string,
): Promise<void> {
  await database
    .update(problems)
    .set({ proof })
    .where(and(isOf(problem), eq(problems.revision, problem.revision)))
}
