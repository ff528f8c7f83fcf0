import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { DatasetPart } from '../../domain/dataset-version.ts'
import { datasetUuid } from '../../domain/ids.ts'
import { type Act, recordAct } from '../accounts/audit.ts'
import { isExistingProject, type Project, requireExisting } from '../accounts/projects.ts'
import { mergePages, placeOrder } from '../core/across.ts'
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
  /** Its stored steps in each database, sorted by step id, each with the number of its last entry. */
  parts: DatasetPart[]
  accepted: number
  corrected: number
  imported: number
  excluded: number
  removed: number
  updatedAt: number
  /** An `Evaluator` as JSON. Null means the default evaluator. */
  evaluator: string | null
}

/** The fields of the rows that make up a dataset. A query for them must join `projects`. */
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

type MemberRow = {
  [Field in keyof typeof memberFields]: (typeof memberFields)[Field] extends SQL.Aliased<infer Value> ? Value : never
}

interface Member extends MemberRow {
  /** The number of its database. */
  shard: number
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
    parts: members.map(({ shard, stepId, sequence }) => ({ shard, stepId, sequence })),
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
 * no such dataset.
 */
export async function findDataset(store: Store, id: string): Promise<Dataset | undefined> {
  const findBy = async (id: string) => ofMembers(await findInAll(store, each => findMembers(each, id)))
  const dataset = await findBy(id)
  // The dataset's earlier id is only in databases that have items from before its step was renamed.
  const isEarlier = dataset !== undefined && dataset.id !== id
  return isEarlier && store.databases.length > 1 ? findBy(dataset.id) : dataset
}

/** Finds a dataset's members in each database that may have some. */
async function findInAll(store: Store, find: (store: Store) => Promise<MemberRow[]>): Promise<Member[]> {
  const found = await Promise.all(
    store.databases.map(async each => (await find(each)).map(row => ({ ...row, shard: each.shard }))),
  )
  return found.flat()
}

async function findMembers({ database, organization }: Store, id: string): Promise<MemberRow[]> {
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
  return members
}

/** `members` may contain duplicates if the id matches several names of the step. */
function ofMembers(members: readonly Member[]): Promise<Dataset> | undefined {
  const compare = placeOrder('ascending')
  const unique = new Map(members.map(member => [`${member.shard} ${member.stepId}`, member]))
  const [first, ...more] = [...unique.values()].toSorted((left, right) =>
    compare([left.stepId, left.shard], [right.stepId, right.shard]),
  )
  return first && toDataset([first, ...more])
}

/** Returns a page of a project's datasets, sorted by their first stored steps, and the place of the next page. */
export async function listDatasets(
  store: Store,
  project: Project,
  page: { limit: number; after: string },
): Promise<{ items: Dataset[]; nextPlace: [string] | null }> {
  const pages = await Promise.all(store.databases.map(each => listIn(each, project, page)))
  const { items, nextPlace } = await joinPages(store, project, pages, page)
  return { items: await Promise.all(items.flatMap(({ members }) => ofMembers(members) ?? [])), nextPlace }
}

/** A dataset's members. `first` is the first of their stored steps. */
interface Grouped {
  first: string
  members: Member[]
}

interface GroupedPage {
  items: Grouped[]
  nextPlace: [string] | null
}

/**
 * Merges one page of datasets from each database. A dataset may have a different first step in each database, so this
 * begins by reading all members of the datasets on these pages.
 */
async function joinPages(
  store: Store,
  project: Project,
  pages: readonly GroupedPage[],
  { limit, after }: { limit: number; after: string },
): Promise<GroupedPage> {
  const [only] = pages
  if (only && pages.length === 1) return only
  const listed = pages.flatMap(({ items }) => items.flatMap(({ members }) => members))
  const stepIds = [...new Set(listed.map(({ shownStepId }) => shownStepId))]
  const all = await findInAll(store, each => findOfSteps(each, project, stepIds))
  const groups = [...Map.groupBy(all, ({ shownStepId }) => shownStepId).values()].map(members => ({
    first: members.map(({ stepId }) => stepId).toSorted()[0] ?? '',
    members,
  }))
  // The other datasets were on an earlier page, because they have an earlier step in another database.
  const items = groups.filter(({ first }) => first > after)
  const ends = pages.map(({ nextPlace }) => ({ items: [], nextPlace }))
  return mergePages<Grouped, [string]>([...ends, { items, nextPlace: null }], {
    limit,
    placeOf: ({ first }) => [first],
    compare: placeOrder('ascending'),
  })
}

/** A page of a project's datasets in one database, with their members there. */
async function listIn(
  store: Store,
  project: Project,
  { limit, after }: { limit: number; after: string },
): Promise<GroupedPage> {
  const { database, shard } = store
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
  const items = groups.slice(0, limit).map(([first, members]) => ({
    first,
    members: members.map(member => ({ ...member, shard })),
  }))
  const last = items.at(-1)
  return { items, nextPlace: groups.length > limit && last ? [last.first] : null }
}

/** The evaluator, as JSON, of a dataset that has none stored. */
export const DEFAULT_EVALUATOR = '{}'

/** Creates a step's dataset if the step has none, so that examples can be imported. Returns the dataset. */
export async function addDataset(store: Store, act: Act, project: Project, stepId: string): Promise<Dataset> {
  const existing = store.databases.length > 1 ? await findByStep(store, project, stepId) : undefined
  if (existing) return existing
  const { database, organization } = store.control
  const id = await datasetUuid(project.id, stepId)
  const isMissing = sql`${isExistingProject(store, project)} and not exists (
    select 1 from ${datasets}
    where ${datasets.projectKey} = ${project.key} and ${isStep(project.key, datasets.stepId, stepId)})`
  await database.batch([
    recordAct(
      store.control,
      act,
      { action: 'dataset.create', targetId: id, projectKey: project.key, afterId: id },
      isMissing,
    ),
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
  throw new Error('a dataset was gone right after it was created')
}

/** Finds a step's dataset by any of the step's names. */
const findByStep = async (store: Store, project: Project, stepId: string): Promise<Dataset | undefined> =>
  ofMembers(await findInAll(store, each => findOfSteps(each, project, [stepId])))

/** The members of the datasets of these steps, by any of the steps' names. */
async function findOfSteps(store: Store, project: Project, stepIds: readonly string[]): Promise<MemberRow[]> {
  const [members] = await readPlain(store.database, [
    store.database
      .select(memberFields)
      .from(sql`json_each(${JSON.stringify(stepIds)}) as item`)
      .crossJoin(datasets)
      .crossJoin(projects)
      .where(
        and(
          sql`${datasets.projectKey} = ${project.key} and ${projects.key} = ${project.key}`,
          isExistingProject(store, project),
          isStep(project.key, datasets.stepId, sql`item.value`),
        ),
      ),
  ])
  return members
}

/**
 * Sets how a dataset's outputs are compared. Setting the same evaluator again isn't audited. The default evaluator
 * isn't stored, so a step that goes back to it can be merged with a step that has its own evaluator.
 */
export async function setEvaluator(store: Store, act: Act, dataset: Dataset, evaluator: string): Promise<void> {
  const { projectKey, stepId, parts } = dataset
  // The evaluator stays with the dataset if the step gets its old name back.
  const ownStepId = parts.some(part => part.stepId === stepId) ? stepId : (parts[0]?.stepId ?? stepId)
  const isSet = sql`${datasetSettings.projectKey} = ${projectKey} and ${isStep(projectKey, datasetSettings.stepId, stepId)}`
  const isOwn = sql`exists (
    select 1 from ${projects} where ${projects.key} = ${projectKey} and ${projects.deletedAt} is null
      and ${projects.organizationKey} = ${store.organization.key})`
  const { control } = store
  await control.database.batch([
    recordAct(
      control,
      act,
      { action: 'dataset.set_evaluator', targetId: dataset.id, projectKey },
      sql`${isOwn} and ${evaluator} <> coalesce((
        select ${datasetSettings.evaluator} from ${datasetSettings} where ${isSet} limit 1), ${DEFAULT_EVALUATOR})`,
    ),
    control.database.delete(datasetSettings).where(sql`${isSet} and ${isOwn}`),
    control.database
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
