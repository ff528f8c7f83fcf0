import { and, asc, eq, type SQL, sql } from 'drizzle-orm'
import { newRevision } from '../../domain/ids.ts'
import { ALWAYS_RULES, NO_POLICY, type ReviewPolicy } from '../../domain/review-policy.ts'
import { readPlain } from '../core/database.ts'
import { rowSet, selectFor } from '../core/rows.ts'
import { readStepId } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { stepNames } from '../schema/accounts.ts'
import { reviewPolicies, reviewPolicySteps } from '../schema/review-policies.ts'
import { type Act, recordAct } from './audit.ts'
import { isExistingProject, type Project, requireExisting } from './projects.ts'

/** A project's policy, with the current names of its steps. */
export interface PolicyRecord extends ReviewPolicy {
  /** Null if it was never set. */
  updatedAt: number | null
}

/** The name in `review_policy_steps` for all other steps. No step can have this name. */
const OTHER_STEPS = ''

const STEPS = rowSet(['stepId', 'sample', 'reviewers', 'isBlind'])

/** Finds a project's policy. */
export async function findReviewPolicy(store: Store, project: Project): Promise<PolicyRecord> {
  const [[policy], steps] = await readPlain(store.database, selectPolicy(store, project))
  return toRecord(policy, steps)
}

/**
 * Sets a project's policy and returns it. Saving an equal policy changes nothing. If several names in the policy now
 * belong to the same step, changes nothing and returns the groups of such names. Takes one round trip.
 */
export async function saveReviewPolicy(
  store: Store,
  act: Act,
  project: Project,
  { default: other, steps, always }: ReviewPolicy,
): Promise<{ policy: PolicyRecord; clashing: string[][] }> {
  const { database } = store
  const { key: projectKey } = project
  const { row } = STEPS
  const given = STEPS.from(
    STEPS.encodeAll(
      [[OTHER_STEPS, other] as const, ...steps].map(([stepId, { sample, reviewers, isBlind }]) => {
        return { stepId, sample, reviewers, isBlind: Number(isBlind) }
      }),
    ),
  )
  const name = readStepId(sql`${projectKey}`, row.stepId)
  const ofProject = eq(reviewPolicySteps.projectKey, projectKey)
  const storedName = readStepId(sql`${projectKey}`, sql`stored.step_id`)
  const stored = sql`${reviewPolicySteps} stored where stored.project_key = ${projectKey}`
  const values = sql`${row.sample}, ${row.reviewers}, ${row.isBlind}`
  const rules = {
    alwaysNegative: flag(always.includes('negative')),
    alwaysError: flag(always.includes('error')),
    alwaysLowConfidence: flag(always.includes('low_confidence')),
  }
  const differs = sql`(not exists (
      select 1 from ${reviewPolicies} where ${reviewPolicies.projectKey} = ${projectKey}
        and ${reviewPolicies.alwaysNegative} = ${rules.alwaysNegative} and ${reviewPolicies.alwaysError} = ${rules.alwaysError}
        and ${reviewPolicies.alwaysLowConfidence} = ${rules.alwaysLowConfidence})
    or (select count(*) from ${stored}) <> ${steps.size + 1}
    or exists (select 1 from ${stored} and (${storedName}, stored.sample, stored.reviewers, stored.is_blind) not in (
      select ${name}, ${values} from ${given})))`
  const mayChange = sql`(${isExistingProject(store, project)} and not exists (
    select 1 from ${given} group by ${name} having count(*) > 1))`
  const [names, , , , , [policy], shown] = await database.batch([
    database.select({ stepId: sql<string>`${row.stepId}`.as('stepId'), name: name.as('name') }).from(given),
    recordAct(
      store,
      act,
      { action: 'review_policy.set', targetId: project.id, projectKey },
      sql`${mayChange} and ${differs}`,
    ),
    database
      .insert(reviewPolicies)
      .select(
        selectFor(
          reviewPolicies,
          { ...rules, projectKey, updatedAt: act.at, ...newPass(act.at) },
          sql`where ${mayChange} and ${differs}`,
        ),
      )
      .onConflictDoUpdate({
        target: reviewPolicies.projectKey,
        set: { ...rules, updatedAt: act.at, ...newPass(act.at) },
      }),
    // A row keeps the name under which the policy was set or, for a renamed step, the name that pipelines send. So the
    // step keeps the policy if it gets its old name back.
    database
      .insert(reviewPolicySteps)
      .select(
        selectFor(
          reviewPolicySteps,
          {
            projectKey,
            stepId: sql`coalesce((select stored.step_id from ${stored} and ${storedName} = ${name}), (
              select min(${stepNames.oldName}) from ${stepNames}
              where ${stepNames.projectKey} = ${projectKey} and ${stepNames.newName} = ${row.stepId}
              having count(*) = 1), ${row.stepId})`,
            sample: row.sample,
            reviewers: row.reviewers,
            isBlind: row.isBlind,
          },
          sql`from ${given} where ${mayChange}`,
        ),
      )
      .onConflictDoUpdate({
        target: [reviewPolicySteps.projectKey, reviewPolicySteps.stepId],
        set: { sample: sql`excluded.sample`, reviewers: sql`excluded.reviewers`, isBlind: sql`excluded.is_blind` },
        setWhere: sql`(excluded.sample, excluded.reviewers, excluded.is_blind)
          <> (${reviewPolicySteps.sample}, ${reviewPolicySteps.reviewers}, ${reviewPolicySteps.isBlind})`,
      }),
    database
      .delete(reviewPolicySteps)
      .where(
        and(
          ofProject,
          mayChange,
          sql`${readStepId(reviewPolicySteps.projectKey, reviewPolicySteps.stepId)} not in (select ${name} from ${given})`,
        ),
      ),
    ...selectPolicy(store, project),
  ])
  const namesakes = Map.groupBy(names, step => step.name)
  const clashing = [...namesakes.values()].filter(({ length }) => length > 1)
  if (!policy && clashing.length === 0) await requireExisting(store, project)
  return { policy: toRecord(policy, shown), clashing: clashing.map(group => group.map(({ stepId }) => stepId)) }
}

/**
 * The statement that makes the queue look at everything again, because the names of a project's steps may have changed.
 */
export const applyPolicyAgain = ({ database }: Store, { key }: Project, at: number, condition: SQL) =>
  database
    .update(reviewPolicies)
    .set(newPass(at))
    .where(and(eq(reviewPolicies.projectKey, key), condition))

/** A pass that begins with the traces that are currently left out. */
const newPass = (at: number) => ({
  revision: newRevision(),
  passDueAt: at,
  isPassOverLeftOut: sql`1`,
  passTimestamp: Number.MAX_SAFE_INTEGER,
  passTraceId: '',
})

const flag = (isSet: boolean): SQL => sql.raw(String(Number(isSet)))

const selectPolicy = ({ database }: Store, { key }: Project) =>
  [
    database
      .select({
        updatedAt: sql<number>`${reviewPolicies.updatedAt}`.as('updatedAt'),
        negative: sql<number>`${reviewPolicies.alwaysNegative}`.as('negative'),
        error: sql<number>`${reviewPolicies.alwaysError}`.as('error'),
        low_confidence: sql<number>`${reviewPolicies.alwaysLowConfidence}`.as('low_confidence'),
      })
      .from(reviewPolicies)
      .where(eq(reviewPolicies.projectKey, key)),
    database
      .select({
        stepId: readStepId(reviewPolicySteps.projectKey, reviewPolicySteps.stepId).as('stepId'),
        sample: sql<number>`${reviewPolicySteps.sample}`.as('sample'),
        reviewers: sql<number>`${reviewPolicySteps.reviewers}`.as('reviewers'),
        isBlind: sql<number>`${reviewPolicySteps.isBlind}`.as('isBlind'),
      })
      .from(reviewPolicySteps)
      .where(eq(reviewPolicySteps.projectKey, key))
      .orderBy(asc(reviewPolicySteps.stepId)),
  ] as const

type Selected<Index extends 0 | 1> = Awaited<ReturnType<typeof selectPolicy>[Index]>

function toRecord(policy: Selected<0>[number] | undefined, rows: Selected<1>): PolicyRecord {
  if (!policy) return { ...NO_POLICY, updatedAt: null }
  const steps = new Map(rows.map(({ stepId, isBlind, ...step }) => [stepId, { ...step, isBlind: isBlind === 1 }]))
  const other = steps.get(OTHER_STEPS) ?? NO_POLICY.default
  steps.delete(OTHER_STEPS)
  const always = ALWAYS_RULES.filter(rule => policy[rule] === 1)
  return { default: other, steps, always, updatedAt: policy.updatedAt }
}
