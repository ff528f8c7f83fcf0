import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { DatasetPart } from '../../domain/dataset-version.ts'
import { datasetUuid } from '../../domain/ids.ts'
import { type Act, recordAct } from '../accounts/audit.ts'
import { isExistingProject, type Project, requireExisting } from '../accounts/projects.ts'
import { readPlain } from '../core/database.ts'
import { selectFor } from '../core/rows.ts'
import { isStep, readStepId } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { projects, stepNames } from '../schema/accounts.ts'
import { datasetSettings, datasets } from '../schema/datasets.ts'
import { NO_ITEMS } from './entries.ts'

/** A step's dataset. */
export interface Dataset {
  id: string
  projectKey: number
  projectId: string
  /** The step's current name. */
  stepId: string
  /** Its stored steps, each with the number of its last entry. */
  parts: DatasetPart[]
  accepted: number
  corrected: number
  imported: number
  excluded: number
  removed: number
  updatedAt: number
  /** An `Evaluator` as JSON. Null: the default one. */
  evaluator: string | null
}

/** The rows that one dataset consists of, with `projects` and the project's id. */
const memberFields = {
  projectKey: sql<number>`${datasets.projectKey}`.as('projectKey'),
  projectId: sql<string>`${projects.id}`.as('projectId'),
  shownStepId: readStepId(datasets.projectKey, datasets.stepId).as('shownStepId'),
  stepId: sql<string>`${datasets.stepId}`.as('stepId'),
  sequence: sql<number>`${datasets.sequence}`.as('sequence'),
  accepted: sql<number>`${datasets.accepted}`.as('accepted'),
  corrected: sql<number>`${datasets.corrected}`.as('corrected'),
  imported: sql<number>`${datasets.imported}`.as('imported'),
  excluded: sql<number>`${datasets.excluded}`.as('excluded'),
  removed: sql<number>`${datasets.removed}`.as('removed'),
  updatedAt: sql<number>`${datasets.updatedAt}`.as('updatedAt'),
  evaluator: sql<string | null>`(
    select ${datasetSettings.evaluator} from ${datasetSettings}
    where ${datasetSettings.projectKey} = ${datasets.projectKey}
      and ${isStep(datasets.projectKey, datasetSettings.stepId, datasets.stepId)} limit 1)`.as('evaluator'),
}

type Member = {
  [Field in keyof typeof memberFields]: (typeof memberFields)[Field] extends SQL.Aliased<infer Value> ? Value : never
}

async function toDataset(members: readonly [Member, ...Member[]]): Promise<Dataset> {
  const [{ projectKey, projectId, shownStepId, evaluator }] = members
  const sum = (field: 'accepted' | 'corrected' | 'imported' | 'excluded' | 'removed') =>
    members.reduce((total, member) => total + member[field], 0)
  return {
    id: await datasetUuid(projectId, shownStepId),
    projectKey,
    projectId,
    stepId: shownStepId,
    parts: members.map(({ stepId, sequence }) => ({ stepId, sequence })),
    accepted: sum('accepted'),
    corrected: sum('corrected'),
    imported: sum('imported'),
    excluded: sum('excluded'),
    removed: sum('removed'),
    updatedAt: Math.max(...members.map(({ updatedAt }) => updatedAt)),
    evaluator,
  }
}

/**
 * Finds a dataset by its id, or by the id that it had under another name of its step. Undefined if the organization has
 * none.
 */
export async function findDataset(store: Store, id: string): Promise<Dataset | undefined> {
  const { database, organization } = store
  const named = sql`(
    select own.project_key as project_key, own.step_id as step_id from ${datasets} own where own.id = ${id}
    union all
    select renamed.project_key, renamed.new_name from ${stepNames} renamed where renamed.dataset_id = ${id}) as named`
  const [members] = await readPlain(database, [
    database
      .select(memberFields)
      .from(named)
      .crossJoin(datasets)
      .crossJoin(projects)
      .where(
        and(
          eq(datasets.organizationKey, organization.key),
          sql`${datasets.projectKey} = named.project_key`,
          isStep(sql`named.project_key`, datasets.stepId, sql`named.step_id`),
          sql`${projects.key} = ${datasets.projectKey} and ${projects.deletedAt} is null`,
        ),
      ),
  ])
  return ofMembers(members)
}

/** Rows may repeat if the id is known under several names. */
function ofMembers(members: readonly Member[]): Promise<Dataset> | undefined {
  const [first, ...more] = new Map(members.map(member => [member.stepId, member])).values()
  return first && toDataset([first, ...more.toSorted((left, right) => (left.stepId < right.stepId ? -1 : 1))])
}

/** A page of a project's datasets, sorted by each one's first stored step, and the place of the next page. */
export async function listDatasets(
  store: Store,
  project: Project,
  { limit, after }: { limit: number; after: string },
): Promise<{ items: Dataset[]; nextPlace: [string] | null }> {
  const { database } = store
  const listed = sql`(
    select first.step_id as step_id from ${datasets} as first
    where first.project_key = ${project.key} and first.step_id > ${after} and not exists (
      select 1 from ${datasets} as earlier
      where earlier.project_key = ${project.key} and earlier.step_id < first.step_id
        and ${isStep(project.key, sql`earlier.step_id`, sql`first.step_id`)})
    order by first.project_key, first.step_id limit ${limit + 1}) as listed`
  const [rows] = await readPlain(database, [
    database
      .select({ ...memberFields, first: sql<string>`listed.step_id`.as('first') })
      .from(listed)
      .crossJoin(datasets)
      .crossJoin(projects)
      .where(
        and(
          sql`${datasets.projectKey} = ${project.key} and ${projects.key} = ${project.key}`,
          isExistingProject(store, project),
          isStep(project.key, datasets.stepId, sql`listed.step_id`),
        ),
      ),
  ])
  const groups = [...Map.groupBy(rows, ({ first }) => first)].sort(([left], [right]) => (left < right ? -1 : 1))
  const shown = groups.slice(0, limit)
  const items = await Promise.all(shown.flatMap(([, members]) => ofMembers(members) ?? []))
  const last = shown.at(-1)
  return { items, nextPlace: groups.length > limit && last ? [last[0]] : null }
}

/** The evaluator of a dataset without a stored one, as JSON. */
export const DEFAULT_EVALUATOR = '{}'

/** Creates a step's dataset, if it has none, so that examples can be imported. Returns it. */
export async function addDataset(store: Store, act: Act, project: Project, stepId: string): Promise<Dataset> {
  const { database, organization } = store
  const id = await datasetUuid(project.id, stepId)
  const isMissing = sql`${isExistingProject(store, project)} and not exists (
    select 1 from ${datasets}
    where ${datasets.projectKey} = ${project.key} and ${isStep(project.key, datasets.stepId, stepId)})`
  await database.batch([
    recordAct(store, act, { action: 'dataset.create', targetId: id, projectKey: project.key, afterId: id }, isMissing),
    database
      .insert(datasets)
      .select(
        selectFor(
          datasets,
          {
            projectKey: project.key,
            stepId,
            organizationKey: organization.key,
            id,
            ...NO_ITEMS,
            updatedAt: act.at,
          },
          sql`where ${isMissing}`,
        ),
      )
      .onConflictDoNothing(),
  ])
  const dataset = await findByStep(store, project, stepId)
  if (dataset) return dataset
  await requireExisting(store, project)
  throw new Error('a dataset is gone right after its creation')
}

/** Finds a step's dataset, by any of the step's names. */
async function findByStep(store: Store, project: Project, stepId: string): Promise<Dataset | undefined> {
  const [members] = await readPlain(store.database, [
    store.database
      .select(memberFields)
      .from(datasets)
      .crossJoin(projects)
      .where(
        and(
          sql`${datasets.projectKey} = ${project.key} and ${projects.key} = ${project.key}`,
          isExistingProject(store, project),
          isStep(project.key, datasets.stepId, stepId),
        ),
      ),
  ])
  return ofMembers(members)
}

/**
 * Sets how a dataset's outputs are compared. Setting the same evaluator again isn't audited. The default one isn't
 * stored, so a step that goes back to the default can be merged with a step that has its own evaluator.
 */
export async function setEvaluator(store: Store, act: Act, dataset: Dataset, evaluator: string): Promise<void> {
  const { projectKey, stepId, parts } = dataset
  // The evaluator stays with the dataset if the step gets its old name back.
  const ownStepId = parts.some(part => part.stepId === stepId) ? stepId : (parts[0]?.stepId ?? stepId)
  const isSet = sql`${datasetSettings.projectKey} = ${projectKey} and ${isStep(projectKey, datasetSettings.stepId, stepId)}`
  const isOwn = sql`exists (
    select 1 from ${projects} where ${projects.key} = ${projectKey} and ${projects.deletedAt} is null
      and ${projects.organizationKey} = ${store.organization.key})`
  await store.database.batch([
    recordAct(
      store,
      act,
      { action: 'dataset.set_evaluator', targetId: dataset.id, projectKey },
      sql`${isOwn} and ${evaluator} <> coalesce((
        select ${datasetSettings.evaluator} from ${datasetSettings} where ${isSet} limit 1), ${DEFAULT_EVALUATOR})`,
    ),
    store.database.delete(datasetSettings).where(sql`${isSet} and ${isOwn}`),
    store.database
      .insert(datasetSettings)
      .select(
        selectFor(
          datasetSettings,
          { projectKey, stepId: ownStepId, evaluator },
          sql`where ${isOwn} and ${evaluator} <> ${DEFAULT_EVALUATOR}`,
        ),
      ),
  ])
}
