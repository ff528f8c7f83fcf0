import { and, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { LOW_CONFIDENCE, SAMPLING_FACTORS, SAMPLING_RANKS } from '../../domain/review-policy.ts'
import { stepNames } from '../schema/accounts.ts'
import { attributionJobs, attributions } from '../schema/attribution.ts'
import { reviewPolicies, reviewPolicySteps } from '../schema/review-policies.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { existsShallow, shallow } from './depth.ts'
import { isNegativeTo } from './ratings.ts'
import { isStep } from './step-names.ts'
import type { Viewer } from './store.ts'
import { ifAnyBlind, isAnswerShown } from './veil.ts'

/* SQL conditions that apply a project's review policy to the statement's current rows of `spans` and `traces`. */

/** A number written into the SQL text, because a statement can have at most 100 parameters. */
const literal = (value: number): SQL => sql.raw(String(value))

/** Computes the same rank as `samplingRank` in `domain/review-policy.ts`. */
export function samplingRank(spanId: SQLWrapper): SQL<number> {
  const ranks = literal(SAMPLING_RANKS)
  // SQLite can parse hexadecimal digits only as JSON. Apart from its hyphens, an id has no other characters, so this
  // can't fail.
  const digits = (index: number) =>
    sql`('0x' || substr(replace(${spanId}, '-', ''), ${literal(8 * index + 1)}, 8) ->> '$')`
  let rank = sql`0`
  for (const [index, factor] of SAMPLING_FACTORS.add.entries()) {
    rank = sql`((${rank} + ${digits(index)}) * ${literal(factor)} % ${ranks})`
  }
  for (const [index, bits] of SAMPLING_FACTORS.multiply.entries()) {
    rank = sql`(${rank} * (${digits(index)} | ${literal(bits)}) % ${ranks})`
  }
  return sql<number>`${rank}`
}

/**
 * How a step's outputs are reviewed according to the project's policy. `stepId` may be any of the step's names. If
 * `project` is a key and the project has no policy, the whole statement needs only one lookup for this.
 */
export function policyOf(project: number | SQLWrapper, stepId: SQLWrapper) {
  const projectKey = typeof project === 'number' ? literal(project) : project
  const any =
    typeof project === 'number'
      ? sql`true`
      : sql`exists (select 1 from ${reviewPolicies} where ${reviewPolicies.projectKey} > 0)`
  const hasPolicy = sql`(${any} and exists (
    select 1 from ${reviewPolicies} where ${reviewPolicies.projectKey} = ${projectKey}))`
  const hasNames = sql`exists (select 1 from ${stepNames} where ${stepNames.projectKey} = ${projectKey})`
  const value = (column: string, otherwise: number) => {
    const own = (isOwn: SQL) =>
      sql`(select own.${sql.raw(column)} from ${reviewPolicySteps} own where own.project_key = ${projectKey} and ${isOwn})`
    const byName = sql`iif(${hasNames}, ${own(isStep(projectKey, sql`own.step_id`, stepId))}, ${own(sql`own.step_id = ${stepId}`)})`
    return sql<number>`iif(${hasPolicy}, coalesce(${byName}, ${own(sql`own.step_id = ''`)}), ${literal(otherwise)})`
  }
  return { sample: value('sample', 1), reviewers: value('reviewers', 1), isBlind: value('is_blind', 0) }
}

const ofOwner = policyOf(sql`owner.project_key`, spans.stepId)
const inOwnProject = (value: SQL) => sql<number>`(
  select ${value} from ${traces} owner where owner.key = ${spans.traceKey})`

/**
 * How many people review the current span according to its step's current policy. As long as no project has a policy,
 * each statement needs only one lookup for this.
 */
export const policyReviewers = sql<number>`iif(exists (select 1 from ${reviewPolicies} where ${reviewPolicies.projectKey} > 0),
  ${inOwnProject(ofOwner.reviewers)}, 1)`

/**
 * Whether the policy of the current span's step is blind, even if the span has already been decided. As long as no
 * project has a blind policy, each statement needs only one lookup for this.
 */
export const hasBlindPolicy = ifAnyBlind(inOwnProject(ofOwner.isBlind))

/** Whether a span is in the sample of its step's current policy. */
const isSampled = (projectKey: number, sample: SQL = policyOf(projectKey, spans.stepId).sample): SQL =>
  sql`(${samplingRank(spans.id)} < ${sample} * ${literal(SAMPLING_RANKS)})`

/**
 * Whether the viewer is supposed to review the current span according to the project's policy: it's in the sample, a
 * rule adds it, or somebody has voted on it. True if there's no policy. Under a blind policy, only what the viewer can
 * see counts. A write that makes this true for a span must run `reopenTraces`, because the queue skips traces from
 * which the policy selects nothing.
 */
export function isPicked(projectKey: number, viewer: Viewer): SQL {
  const { sample, isBlind } = policyOf(projectKey, spans.stepId)
  const has = (condition: SQL) => sql`exists (
    select 1 from ${reviewPolicies} where ${reviewPolicies.projectKey} = ${literal(projectKey)} and ${condition})`
  const isVotedOn = sql`${spans.voteNumber} > 0`
  const isUnsure = and(isOfUnsureAnswer, isAnswerShown(viewer)) ?? isOfUnsureAnswer
  const always = sql`(${viewer.isBlind ? sql`${isVotedOn} and not ${shallow(isBlind)}` : isVotedOn}
    or ${has(sql`${reviewPolicies.alwaysError} = 1`)} and ${hasFailed}
    or ${has(sql`${reviewPolicies.alwaysLowConfidence} = 1`)} and ${shallow(isUnsure)}
    or ${has(sql`${reviewPolicies.alwaysNegative} = 1`)} and ${shallow(isNegativeTo(viewer))})`
  return sql`(not ${has(sql`true`)} or ${shallow(isSampled(projectKey, sample))} or ${shallow(always)} and ${shallow(sql`${sample} > 0`)})`
}

/** Whether the span or its trace's root ended in an error. */
const hasFailed = sql`(${spans.status} is 'error' or ${existsShallow(sql`select 1 from ${spans} root
  where root.id = ${traces.rootSpanId} and root.trace_key = ${traces.key} and root.status = 'error'`)})`

/** Whether the engine's latest answer on the trace has low confidence and blames either this span or no span. */
const isOfUnsureAnswer = sql`exists (
  select 1 from ${attributionJobs} cross join ${attributions}
  where ${attributionJobs.traceKey} = ${traces.key} and ${attributions.traceKey} = ${traces.key}
    and ${attributions.number} = ${attributionJobs.attributionNumber}
    and ${attributions.confidence} < ${literal(LOW_CONFIDENCE)} and coalesce(${attributions.spanId}, ${spans.id}) = ${spans.id})`
