import { and, type SQL, sql } from 'drizzle-orm'
import type { Gate } from '../../domain/gate.ts'
import { gateUuid, newRevision } from '../../domain/ids.ts'
import { type Act, recordAct } from '../accounts/audit.ts'
import { isExistingProject, type Project, requireExisting } from '../accounts/projects.ts'
import { named, readPlain } from '../core/database.ts'
import { selectFor } from '../core/rows.ts'
import { isStep, readStepId } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { DEFAULT_EVALUATOR } from '../datasets/datasets.ts'
import { requestModelJob } from '../model-jobs/jobs.ts'
import { datasetSettings } from '../schema/datasets.ts'
import { experiments, gates } from '../schema/experiments.ts'
import { textVersions, versionedTexts } from '../schema/texts.ts'
import { isNamed, type Permit } from '../texts/versioned-texts.ts'

/** What a gate requires, and whether the service reactivates the previous version if a new version does worse. */
export interface GateSettings extends Gate {
  autoRollback: boolean
}

/** A step's gate. */
export interface GateRecord extends GateSettings {
  id: string
  /** The step's current name. */
  stepId: string
  updatedAt: number
}

/** A step in a project, by any of its names. */
export interface Step {
  projectKey: number
  stepId: string | SQL
}

/** Whether a row of `gates` is the gate of a step. */
export const isGateOf = ({ projectKey, stepId }: Step): SQL =>
  sql`(${gates.projectKey} = ${projectKey} and ${isStep(projectKey, gates.stepId, sql`${stepId}`)})`

/** Whether a step has no gate. */
export const hasNoGate = (step: Step): SQL => sql`not exists (select 1 from ${gates} where ${isGateOf(step)})`

/**
 * Allows a step's first version to become active if there's no gate, or if the request gives a reason to override it.
 */
export const permitFirst = (step: Step, override: string | undefined): Permit =>
  override === undefined
    ? { holds: hasNoGate(step), reason: null }
    : { holds: sql`true`, reason: sql`iif(${hasNoGate(step)}, null, ${override})` }

/** The step that a prompt belongs to. */
export const stepOfPrompt = ({ id, projectKey }: { id: string; projectKey: number }): Step => ({
  projectKey,
  stepId: sql`(select prompt.name from ${versionedTexts} as prompt where prompt.id = ${id})`,
})

/** Sets a step's gate and returns it. Setting the same gate again changes nothing. */
export async function saveGate(
  store: Store,
  act: Act,
  project: Project,
  stepId: string,
  gate: GateSettings,
): Promise<GateRecord> {
  const { database } = store
  // Uses the name of the step's prompt, so that the gate and the prompt stay together if the step gets its old name
  // back.
  const [prompt] = await database
    .select(named({ name: versionedTexts.name }))
    .from(versionedTexts)
    .where(isNamed(project, 'prompt', stepId))
  const ownName = prompt?.name ?? stepId
  const id = await gateUuid(project.id, ownName)
  const isThis = isGateOf({ projectKey: project.key, stepId })
  const isSame = sql`(${gates.minItems} = ${gate.minItems} and ${gates.minPassRate} is ${gate.minPassRate}
    and ${gates.maxRegressed} is ${gate.maxRegressed} and ${gates.maxUnjudged} is ${gate.maxUnjudged}
    and ${gates.maxAgeDays} is ${gate.maxAgeDays} and ${gates.split} = ${gate.split}
    and ${gates.allowJudge} = ${Number(gate.allowJudge)}
    and ${gates.autoRollback} = ${Number(gate.autoRollback)})`
  const isExisting = isExistingProject(store, project)
  const hasThis = sql`exists (select 1 from ${gates} where ${isThis})`
  const changed = { ...gate, updatedAt: act.at, revision: newRevision() }
  const targetId = sql`coalesce((select ${gates.id} from ${gates} where ${isThis}), ${id})`
  const [, , , [saved]] = await database.batch([
    recordAct(
      store,
      act,
      { action: 'gate.set', targetId, projectKey: project.key, afterId: targetId },
      sql`${isExisting} and not exists (select 1 from ${gates} where ${isThis} and ${isSame})`,
    ),
    // The row keeps the step name under which the gate was set, just as a prompt's row keeps its name.
    database
      .update(gates)
      .set(changed)
      .where(and(isThis, sql`not ${isSame}`, isExisting)),
    database
      .insert(gates)
      .select(
        selectFor(
          gates,
          {
            ...changed,
            allowJudge: Number(gate.allowJudge),
            autoRollback: Number(gate.autoRollback),
            projectKey: project.key,
            stepId: ownName,
            id,
          },
          sql`where ${isExisting} and not ${hasThis}`,
        ),
      )
      .onConflictDoNothing(),
    selectGate(store, { projectKey: project.key, stepId }),
  ])
  if (saved) return toRecord(saved)
  await requireExisting(store, project)
  throw new Error('a gate was gone right after it was set')
}

/** Finds a step's gate. */
export async function findGate(store: Store, step: Step): Promise<GateRecord | undefined> {
  const [[gate]] = await readPlain(store.database, [selectGate(store, step)])
  return gate && toRecord(gate)
}

/** Deletes a gate. */
export async function deleteGate(store: Store, act: Act, project: Project, { id, stepId }: GateRecord): Promise<void> {
  const isThis = isGateOf({ projectKey: project.key, stepId })
  await store.database.batch([
    recordAct(
      store,
      act,
      { action: 'gate.delete', targetId: id, projectKey: project.key, beforeId: id },
      sql`exists (select 1 from ${gates} where ${isThis})`,
    ),
    store.database.delete(gates).where(isThis),
  ])
}

const selectGate = ({ database }: Store, step: Step) =>
  database
    .select({
      ...named({
        id: gates.id,
        minItems: gates.minItems,
        minPassRate: gates.minPassRate,
        maxRegressed: gates.maxRegressed,
        maxUnjudged: gates.maxUnjudged,
        maxAgeDays: gates.maxAgeDays,
        split: gates.split,
        updatedAt: gates.updatedAt,
      }),
      // D1 returns flags as numbers.
      allowJudge: sql<number>`${gates.allowJudge}`.as('allowJudge'),
      autoRollback: sql<number>`${gates.autoRollback}`.as('autoRollback'),
      stepId: readStepId(gates.projectKey, gates.stepId).as('stepId'),
    })
    .from(gates)
    .where(isGateOf(step))

const toRecord = (gate: Awaited<ReturnType<typeof selectGate>>[number]): GateRecord => ({
  ...gate,
  allowJudge: gate.allowJudge === 1,
  autoRollback: gate.autoRollback === 1,
})

/** Everything that a gate's decision on a version depends on. */
export interface GateBasis {
  gate: GateRecord | undefined
  /** The experiment that the gate uses, and the revision of its results. Null if there is none. */
  experiment: { id: string; revision: string } | null
  /** Whether the gate and its experiment are still the same. If the step has no gate, true until it gets one. */
  holds: SQL
}

/** Reads everything that a gate's decision on a version depends on, at a single point in time. */
export async function findGateBasis(store: Store, step: Step, versionId: string): Promise<GateBasis> {
  const basis = basisOf(store, step, versionId)
  const [[gate], [row]] = await readPlain(store.database, [
    selectGate(store, step),
    store.database.select({ basis: sql<string | null>`${basis}`.as('basis') }).from(sql`(select 1)`),
  ])
  const text = row?.basis ?? null
  const [, experiment = null]: [string, GateBasis['experiment']?] = text === null ? [''] : JSON.parse(text)
  return { gate: gate && toRecord(gate), experiment, holds: sql`(${basis} is ${text})` }
}

/** The gate's revision and its experiment, as JSON. Null if the step has no gate. */
function basisOf(store: Store, step: Step, versionId: string): SQL {
  const { projectKey } = step
  const experiment = countedExperiment(
    store,
    { projectKey, stepId: gates.stepId.getSQL() },
    versionId,
    gates.split.getSQL(),
    sql`json_object('id', ${experiments.id}, 'revision', ${experiments.revision})`,
  )
  return sql`(select json_array(${gates.revision}, json(${experiment})) from ${gates} where ${isGateOf(step)})`
}

/**
 * A value of the experiment that a gate with this split uses to decide on a version. The experiment is on the dataset
 * of `step`.
 */
function countedExperiment(store: Store, step: Step, versionId: string, split: SQL, value: SQL): SQL {
  const { projectKey, stepId } = step
  const ofStep = (column: typeof experiments.stepId | typeof datasetSettings.stepId) =>
    isStep(projectKey, column, sql`${stepId}`)
  const evaluator = sql`coalesce((
    select ${datasetSettings.evaluator} from ${datasetSettings}
    where ${datasetSettings.projectKey} = ${projectKey} and ${ofStep(datasetSettings.stepId)} limit 1), ${DEFAULT_EVALUATOR})`
  return sql`(
    select ${value} from ${experiments}
    where ${experiments.organizationKey} = ${store.organization.key} and ${experiments.projectKey} = ${projectKey}
      and ${experiments.promptVersionId} = ${versionId} and ${experiments.state} = 'finished'
      and ${mayCount(split)}
      and ${ofStep(experiments.stepId)} and ${experiments.evaluator} = ${evaluator}
    order by ${experiments.finishedAt} desc, ${experiments.key} desc limit 1)`
}

/** The id of the experiment that a gate with this split uses. Undefined if there is none. */
export async function findCountedExperiment(
  store: Store,
  step: Step,
  versionId: string,
  split: string,
): Promise<string | undefined> {
  const found = countedExperiment(store, step, versionId, sql`${split}`, experiments.id.getSQL())
  const [row] = await store.database.select({ id: sql<string | null>`${found}`.as('id') }).from(sql`(select 1)`)
  return row?.id ?? undefined
}

/** Whether an experiment's items allow it to count toward a gate with this split. */
// The gate counts no items in other splits, so an experiment on another split proves nothing about the version.
const mayCount = (split: SQL): SQL =>
  sql`${experiments.isVersionNamed} = 0 and ${experiments.sample} is null and ${experiments.includesStale} = 0
  and ${experiments.itemId} is null and ${experiments.baselineId} is null and (${experiments.split} is null or ${experiments.split} = ${split})`

/**
 * Requests a model's judgments of an experiment that has just finished, if a gate may count them. Run this in the batch
 * that stores the experiment's tally, before the statement that stores it.
 */
export const requestJudgments = (
  store: Store,
  { key, id, projectKey, revision }: Pick<typeof experiments.$inferSelect, 'key' | 'id' | 'projectKey' | 'revision'>,
  now: number,
) =>
  requestModelJob(
    store,
    { projectKey, kind: 'judge_results', subject: id },
    {
      now,
      when: sql`exists (select 1 from ${experiments} cross join ${gates}
        where ${experiments.key} = ${key} and ${experiments.revision} = ${revision} and ${experiments.tally} is null
          and ${experiments.state} = 'finished' and ${experiments.promptVersionId} is not null
          and ${gates.projectKey} = ${projectKey} and ${gates.allowJudge} = 1
          and ${isStep(projectKey, gates.stepId, experiments.stepId)} and ${mayCount(gates.split.getSQL())})`,
    },
  )

/** The active version of a step's prompt. Null if it has no prompt. */
export async function findActiveVersion(store: Store, { projectKey, stepId }: Step): Promise<string | null> {
  const [[row]] = await readPlain(store.database, [
    store.database
      .select(named({ id: textVersions.id }))
      .from(versionedTexts)
      .innerJoin(textVersions, sql`${textVersions.textKey} = ${versionedTexts.key} and ${textVersions.isActive} = 1`)
      .where(
        sql`${versionedTexts.organizationKey} = ${store.organization.key} and ${versionedTexts.projectKey} = ${projectKey}
          and ${versionedTexts.kind} = 'prompt' and ${isStep(projectKey, versionedTexts.name, sql`${stepId}`)}`,
      ),
  ])
  return row?.id ?? null
}
