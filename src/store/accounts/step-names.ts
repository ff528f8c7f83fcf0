import { and, eq, type SQL, sql } from 'drizzle-orm'
import { Gone } from '../../domain/failures.ts'
import { datasetUuid } from '../../domain/ids.ts'
import type { StepNames } from '../../domain/step-names.ts'
import { rowSet, selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { stepNames } from '../schema/accounts.ts'
import { datasetSettings } from '../schema/datasets.ts'
import { gates } from '../schema/experiments.ts'
import { reviewPolicies, reviewPolicySteps } from '../schema/review-policies.ts'
import { guidelines, versionedTexts } from '../schema/texts.ts'
import { type Act, recordAct } from './audit.ts'
import { isExistingProject, type Project } from './projects.ts'
import { applyPolicyAgain } from './review-policies.ts'

/** A project's renamed steps. */
export const listStepNames = async (store: Store, project: Project): Promise<StepNames> =>
  toStepNames(await selectStepNames(store, project))

/** The statement that reads a project's renamed steps. */
export const selectStepNames = ({ database }: Store, { key }: Project) =>
  database
    .select({ oldName: stepNames.oldName, newName: stepNames.newName })
    .from(stepNames)
    .where(eq(stepNames.projectKey, key))
    .orderBy(stepNames.oldName)

export const toStepNames = (rows: readonly { oldName: string; newName: string }[]): StepNames =>
  new Map(rows.map(({ oldName, newName }) => [oldName, newName]))

/**
 * Whether a project has a gate, an evaluator, or a review policy. Renaming steps could detach these from their steps.
 */
export async function hasPersonsSettings({ database }: Store, { key }: Project): Promise<boolean> {
  const [row] = await database
    .select({
      isFound: sql<number>`exists (select 1 from ${gates} where ${gates.projectKey} = ${key})
        or exists (select 1 from ${datasetSettings} where ${datasetSettings.projectKey} = ${key})
        or exists (select 1 from ${reviewPolicies} where ${reviewPolicies.projectKey} = ${key})`.as('is_found'),
    })
    .from(sql`(select 1)`)
  return row?.isFound === 1
}

/** The kinds of things that a step can have only one of. */
export type OnePerStep = 'prompt' | 'gate' | 'evaluator' | 'guideline' | 'policy'

/** Something that would share its step's name with another thing of its kind. */
export interface Clash {
  kind: OnePerStep
  /** The name it was created under. */
  name: string
  /** The name that both would have. */
  newName: string
}

const NAMES = rowSet(['oldName', 'newName', 'datasetId'])

/**
 * Replaces a project's renamed steps. If a step would then have several prompts, gates, evaluators, guidelines, or
 * review policies, changes nothing and returns the conflicts. Saving the same names again changes nothing. Takes one
 * round trip.
 */
export async function saveStepNames(store: Store, act: Act, project: Project, names: StepNames): Promise<Clash[]> {
  const { database } = store
  const { row } = NAMES
  const rows = await Promise.all(
    [...names].map(async ([oldName, newName]) => ({
      oldName,
      newName,
      datasetId: await datasetUuid(project.id, newName),
    })),
  )
  const given = NAMES.from(NAMES.encodeAll(rows))
  const clashing = clashesIn(project, names)
  const mayChange = and(isExistingProject(store, project), sql`not exists (select 1 from ${clashing})`)
  const ofProject = eq(stepNames.projectKey, project.key)
  const isDropped = sql`(${stepNames.oldName}, ${stepNames.newName}) not in (select ${row.oldName}, ${row.newName} from ${given})`
  const differs = sql`(exists (select 1 from ${stepNames} where ${ofProject} and ${isDropped})
    or (select count(*) from ${stepNames} where ${ofProject}) <> ${names.size})`
  const [clashes, [existing]] = await database.batch([
    database
      .select({
        kind: sql<OnePerStep>`clashing.kind`.as('kind'),
        name: sql<string>`clashing.name`.as('name'),
        newName: sql<string>`clashing.new_name`.as('new_name'),
      })
      .from(clashing),
    database
      .select({ isFound: sql<number>`${isExistingProject(store, project)}`.as('is_found') })
      .from(sql`(select 1)`),
    // Record the act while the old names are still stored, because saving the same names again isn't audited.
    recordAct(
      store,
      act,
      { action: 'step_names.change', targetId: project.id, projectKey: project.key },
      sql`${mayChange} and ${differs}`,
    ),
    applyPolicyAgain(store, project, act.at, sql`${mayChange} and ${differs}`),
    database.delete(stepNames).where(and(ofProject, isDropped, mayChange)),
    database
      .insert(stepNames)
      .select(selectFor(stepNames, { ...row, projectKey: project.key }, sql`from ${given} where ${mayChange}`))
      .onConflictDoNothing(),
  ])
  if (!existing?.isFound) throw new Gone()
  return clashes
}

const MEMBERS = rowSet(['name', 'newName'])

/** The conflicts that these new names would cause. */
function clashesIn({ key }: Project, names: StepNames): SQL {
  const newNames = new Set(names.values())
  const members = [...names, ...[...newNames].map(newName => [newName, newName] as const)]
  const { row } = MEMBERS
  const owned = sql`(
    select 'prompt' as kind, ${versionedTexts.name} as name from ${versionedTexts}
    where ${versionedTexts.projectKey} = ${key} and ${versionedTexts.kind} = 'prompt'
    union all select 'gate', ${gates.stepId} from ${gates} where ${gates.projectKey} = ${key}
    union all select 'evaluator', ${datasetSettings.stepId} from ${datasetSettings}
    where ${datasetSettings.projectKey} = ${key}
    union all select 'guideline', ${guidelines.stepId} from ${guidelines}
    where ${guidelines.projectKey} = ${key} and ${guidelines.text} <> ''
    union all select 'policy', ${reviewPolicySteps.stepId} from ${reviewPolicySteps}
    where ${reviewPolicySteps.projectKey} = ${key}) as owned`
  const found = sql`from ${MEMBERS.from(MEMBERS.encodeAll(members.map(([name, newName]) => ({ name, newName }))))}
    cross join ${owned} where owned.name = ${row.name}`
  return sql`(select owned.kind as kind, ${row.name} as name, ${row.newName} as new_name ${found}
    and (owned.kind, ${row.newName}) in (
      select owned.kind, ${row.newName} ${found} group by owned.kind, ${row.newName} having count(*) > 1)) as clashing`
}
