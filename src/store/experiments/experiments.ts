import { and, countDistinct, desc, eq, getTableColumns, isNull, lt, type SQL, sql } from 'drizzle-orm'
import { type ExperimentState, SILENCE_MS } from '../../domain/experiment.ts'
import { newKeys } from '../../domain/ids.ts'
import type { StoredTally } from '../../domain/tally.ts'
import { hasExistingProject, isExistingProject, type Project, requireExisting } from '../accounts/projects.ts'
import { runLast } from '../core/database.ts'
import { selectFor } from '../core/rows.ts'
import { isStep, readStepId } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { cancelModelJob, requestModelJob } from '../model-jobs/jobs.ts'
import { projects } from '../schema/accounts.ts'
import { experimentResults, experiments } from '../schema/experiments.ts'
import { recordEnd } from './experiment-events.ts'
import { requestJudgments } from './gates.ts'

type Row = typeof experiments.$inferSelect

/** An experiment as stored, with its step's current name. */
export interface ExperimentRecord extends Row {
  projectId: string
}

/** The fields of a new experiment. */
export type ExperimentDraft = Omit<
  Row,
  | 'key'
  | 'organizationKey'
  | 'projectKey'
  | 'state'
  | 'activeAt'
  | 'finishedAt'
  | 'results'
  | 'outputs'
  | 'removed'
  | 'tally'
  | 'revision'
  | 'endReason'
  | 'runPlace'
  | 'runNanoUsd'
>

/** The job in which the model runs an experiment. */
export const runOf = (id: string) => ({ kind: 'run_experiment', subject: id }) as const

/**
 * Creates an experiment, unless the organization has one with this id. Returns the experiment with this id, so that a
 * repeated request gets the same experiment. Returns `taken` if the id belongs to an experiment in a deleted project
 * that hasn't been purged yet.
 */
export async function addExperiment(
  store: Store,
  project: Project,
  draft: ExperimentDraft,
): Promise<ExperimentRecord | 'taken'> {
  const { database, organization } = store
  for (;;) {
    const [key = 0] = newKeys(draft.createdAt, 1)
    const insertion = database
      .insert(experiments)
      .select(
        selectFor(
          experiments,
          {
            ...draft,
            key,
            organizationKey: organization.key,
            projectKey: project.key,
            isVersionNamed: Number(draft.isVersionNamed),
            includesStale: Number(draft.includesStale),
            state: 'running',
            activeAt: draft.createdAt,
            finishedAt: null,
            results: 0,
            outputs: 0,
            removed: 0,
            tally: null,
            revision: '',
            endReason: null,
            runPlace: null,
            runNanoUsd: null,
          },
          sql`where ${isExistingProject(store, project)}`,
        ),
      )
      .onConflictDoNothing()
    if (draft.runner === 'client') await insertion
    else {
      const isNew = sql`exists (select 1 from ${experiments} where ${and(eq(experiments.key, key), eq(experiments.id, draft.id))})`
      const job = { ...runOf(draft.id), projectKey: project.key }
      await database.batch([insertion, requestModelJob(store, job, { now: draft.createdAt, when: isNew })])
    }
    const experiment = await findExperiment(store, draft.id)
    if (experiment) return experiment
    await requireExisting(store, project)
    const isTaken = and(eq(experiments.id, draft.id), eq(experiments.organizationKey, organization.key))
    if ((await database.$count(experiments, isTaken)) > 0) return 'taken'
    // Another experiment got the same key in the same millisecond.
  }
}

/** Finds an experiment by its id. */
export async function findExperiment(store: Store, id: string): Promise<ExperimentRecord | undefined> {
  const [row] = await selectExperiments(store, eq(experiments.id, id))
  return row
}

/** A page of a project's experiments, newest first. */
export const listExperiments = (
  store: Store,
  project: Project,
  filter: { stepId?: string | undefined; promptVersionId?: string | undefined; state?: ExperimentState | undefined },
  { limit, before, now }: { limit: number; before: number | undefined; now: number },
): Promise<ExperimentRecord[]> =>
  selectExperiments(
    store,
    eq(experiments.projectKey, project.key),
    filter.stepId === undefined ? undefined : isStep(project.key, experiments.stepId, filter.stepId),
    filter.promptVersionId === undefined ? undefined : eq(experiments.promptVersionId, filter.promptVersionId),
    filter.state && isInState(filter.state, now),
    before === undefined ? undefined : lt(experiments.key, before),
  )
    .orderBy(desc(experiments.key))
    .limit(limit)

function selectExperiments(store: Store, ...conditions: (SQL | undefined)[]) {
  const projectId = sql<string>`(select own.id from ${projects} own where own.key = ${experiments.projectKey})`
  return store.database
    .select({
      ...getTableColumns(experiments),
      stepId: readStepId(experiments.projectKey, experiments.stepId),
      // The query is nested, because drizzle omits the table's name from columns in a query on a single table.
      projectId: sql<string>`${projectId}`,
    })
    .from(experiments)
    .where(ofStore(store, ...conditions))
}

/** The condition of every query on experiments. */
export const ofStore = (store: Store, ...conditions: (SQL | undefined)[]) =>
  and(
    eq(experiments.organizationKey, store.organization.key),
    hasExistingProject(store, experiments.projectKey),
    ...conditions,
  )

/** Whether an experiment accepts results: it's running and hasn't failed. */
export const takesResults = (now: number): SQL =>
  sql`(${experiments.state} = 'running' and ${experiments.activeAt} >=
    iif(${experiments.runner} = 'client', ${now - SILENCE_MS.client}, ${now - SILENCE_MS.model}))`

const isInState = (state: ExperimentState, now: number): SQL =>
  state === 'running'
    ? takesResults(now)
    : state === 'failed'
      ? sql`(${experiments.state} = 'failed' or ${experiments.state} = 'running' and not ${takesResults(now)})`
      : eq(experiments.state, state)

/**
 * Ends an experiment that still accepts results, along with the model's run of it. Returns whether the experiment is
 * now in the given state. No result can change the tally from now on. The first request that needs the tally stores it.
 * If the service ends the experiment, `reason` says why. Otherwise, `by` says who ends it. If `isByRun` is true, the
 * run ends its own job.
 */
export async function endExperiment(
  store: Store,
  experiment: ExperimentRecord,
  {
    state,
    now,
    reason = null,
    by = null,
    isByRun = false,
  }: {
    state: Exclude<ExperimentState, 'running'>
    now: number
    reason?: string | null
    by?: string | null
    isByRun?: boolean
  },
): Promise<boolean> {
  const { database } = store
  const { key, id, runner } = experiment
  const isExperiment = ofStore(store, eq(experiments.key, key))
  const isEnding = and(isExperiment, takesResults(now))
  const ending = database.update(experiments).set({ state, finishedAt: now, endReason: reason }).where(isEnding)
  const events = recordEnd(store, experiment, isEnding, { state, now, reason, by })
  const jobs = runner === 'client' || isByRun ? [] : [cancelModelJob(store, runOf(id))]
  await runLast(database, [...events, ...jobs, ending.returning({ key: experiments.key })])
  const [row] = await database.select({ state: experiments.state }).from(experiments).where(isExperiment)
  return row?.state === state
}

/** The columns that count an experiment's current results. */
export function countedIn({ key }: Pick<ExperimentRecord, 'key'>) {
  const count = (condition?: SQL) =>
    sql`(select count(*) from ${experimentResults} where ${and(eq(experimentResults.experimentKey, key), condition)})`
  return { results: count(), outputs: count(sql`${experimentResults.outcome} <> 'error'`) }
}

/**
 * Stores the tally of an experiment that has ended, unless somebody has changed its results since it was read. If an
 * item of a finished experiment still has no result, the item was deleted. If a gate allows a model to judge unjudged
 * items, this also requests the judgments.
 */
export async function saveTally(store: Store, experiment: ExperimentRecord, tally: StoredTally): Promise<void> {
  const { key, revision } = experiment
  const counted = countedIn(experiment)
  const save = store.database
    .update(experiments)
    .set({
      tally: JSON.stringify(tally),
      ...counted,
      removed: sql`iif(${experiments.state} = 'finished', ${experiments.items} - ${counted.results}, ${experiments.removed})`,
    })
    .where(ofStore(store, eq(experiments.key, key), eq(experiments.revision, revision), isNull(experiments.tally)))
  if (tally.cells.some(({ outcome }) => outcome === 'unjudged')) {
    await store.database.batch([requestJudgments(store, experiment, experiment.finishedAt ?? 0), save])
  } else await save
}

/**
 * How many prompt versions were tried on a split of an experiment's dataset. A run without a version counts as one
 * version, and a run on a single item doesn't count.
 */
export async function countVersionsTried(
  store: Store,
  { projectKey, stepId, split }: ExperimentRecord,
): Promise<number> {
  const [row] = await store.database
    .select({ count: countDistinct(sql`coalesce(${experiments.promptVersionId}, ${experiments.id})`) })
    .from(experiments)
    .where(
      ofStore(
        store,
        eq(experiments.projectKey, projectKey),
        isStep(projectKey, experiments.stepId, stepId),
        sql`${experiments.split} is ${split} and ${experiments.itemId} is null`,
      ),
    )
  return row?.count ?? 0
}
