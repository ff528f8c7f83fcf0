import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { reviewPolicySteps } from '../schema/review-policies.ts'
import { feedback } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { existsShallow, shallow } from './depth.ts'
import { isReviewedWithOther, isUnreviewed, isUnreviewedStep, ofTrace, sharesTextWith } from './reviewable.ts'
import { readStepId } from './step-names.ts'
import { mayHaveTraces, type Store, type Viewer } from './store.ts'

/*
 * SQL conditions for what a blind review policy hides. Under such a policy, a span with an output is veiled until it's
 * decided. A viewer whom the policy applies to can't see other reviewers' votes, comments, and claims on a veiled span,
 * or an engine's answer on its trace. For other viewers, the conditions are undefined, so nothing is hidden.
 */

/** A condition that's evaluated only if some project has a blind policy. Each statement checks that only once. */
export const ifAnyBlind = (condition: SQL, otherwise: SQL = sql`0`): SQL => sql`iif(exists (
  select 1 from ${reviewPolicySteps} where ${reviewPolicySteps.projectKey} > 0 and ${reviewPolicySteps.isBlind} = 1
), ${condition}, ${otherwise})`

const isBlindProject = (projectKey: SQLWrapper): SQL =>
  existsShallow(sql`
  select 1 from ${reviewPolicySteps} where ${reviewPolicySteps.projectKey} = ${projectKey} and ${reviewPolicySteps.isBlind} = 1`)

/**
 * Whether a step's policy is blind. Scans the project's few policies instead of looking up one of them as `policyOf`
 * does, because that expression would be too deep for the conditions below.
 */
const isBlindStep = (projectKey: SQLWrapper, stepId: SQLWrapper): SQL => sql`exists (
  select 1 from (
    select policy.is_blind from ${reviewPolicySteps} as policy
    where policy.project_key = ${projectKey}
      and ${readStepId(projectKey, sql`policy.step_id`)} in (${readStepId(projectKey, stepId)}, '')
    order by policy.step_id desc limit 1) as scanned
  where scanned.is_blind = 1)`

const projectOfSpan = sql`(select own.project_key from ${traces} own where own.key = ${spans.traceKey})`

/** Whether a span that shares the current root's text is undecided and its step's policy is blind. */
const isSharedTextVeiled = existsShallow(sql`
  select 1 from ${spans} sharing where ${sharesTextWith('spans', 'sharing')}
    and (sharing.review_state is null or sharing.is_stale = 1)
    and ${isBlindStep(projectOfSpan, sql`sharing.step_id`)}`)

/**
 * Whether the current span is veiled. A root that's reviewed with another span is veiled for as long as that span is.
 */
const isVeiled = sql`(${isBlindProject(projectOfSpan)} and ${shallow(isUnreviewed)}
  and iif(${shallow(isReviewedWithOther)}, ${isSharedTextVeiled}, ${shallow(isBlindStep(projectOfSpan, spans.stepId))}))`

/** Like `isVeiled`, but evaluated only if some project has a blind policy. */
export const isSpanVeiled = ifAnyBlind(isVeiled)

/** Whether the current trace has a veiled span to review. `needsReview` is 0 if the trace has no spans to review. */
const hasVeiledSpan = sql`(${isBlindProject(traces.projectKey)} and ${traces.needsReview} <> 0 and ${existsShallow(sql`
  select 1 from ${spans} where ${ofTrace} and ${isUnreviewedStep} and ${isBlindStep(traces.projectKey, spans.stepId)}`)})`

/** Whether an engine's answer on the current trace is veiled, because the trace has a veiled span. */
export const isAnswerVeiled = ifAnyBlind(hasVeiledSpan)

/** Whether an engine's answer on the current trace is hidden from the viewer. Undefined if it's never hidden. */
export const isAnswerHidden = ({ isBlind }: Viewer): SQL | undefined => (isBlind ? isAnswerVeiled : undefined)

/** The opposite of `isAnswerHidden`. */
export const isAnswerShown = (viewer: Viewer): SQL | undefined => not(isAnswerHidden(viewer))

/** Whether the current row of `feedback` is on a veiled span. */
export const isOnVeiledSpan = ifAnyBlind(
  existsShallow(sql`
    select 1 from ${traces} cross join ${spans} where ${traces.key} = ${feedback.traceKey}
      and ${spans.traceKey} = ${traces.key} and ${spans.id} = coalesce(${feedback.spanId}, ${traces.rootSpanId})
      and ${isVeiled}`),
)

/** The viewer's id as a literal, because lists with many filters are close to a statement's limit of 100 parameters. */
const idOf = ({ viewerId }: Viewer): SQL => sql.raw(`'${(viewerId ?? '').replaceAll("'", "''")}'`)

/** Whether the viewer may see the current row of `feedback`. Undefined if the viewer may see every row. */
export const isCommentShown = (viewer: Viewer): SQL | undefined =>
  viewer.isBlind
    ? sql`(${feedback.source} <> 'review' or ${feedback.userId} = ${idOf(viewer)} or not ${isOnVeiledSpan})`
    : undefined

/** The columns of an entry in the audit log. */
type Entry = Readonly<Record<'action' | 'targetId' | 'projectKey' | 'keyId' | 'userId', SQLWrapper>>

/**
 * Whether the viewer may see an entry in the audit log. Undefined if the viewer may see all entries. The entries about
 * a deleted comment don't record its span, so in a project with a blind policy, a viewer sees only the entries that
 * they caused themselves.
 */
export const isEntryShown = (store: Store, entry: Entry): SQL | undefined => {
  const { isBlind, organization } = store
  const { action, targetId, projectKey, keyId, userId } = entry
  // If all traces are in other databases, so are the entries about them.
  const hasTraces = mayHaveTraces(store)
  const isVoteHidden = existsShallow(sql`
    select 1 from ${spans} cross join ${traces} where ${spans.id} = ${targetId} and ${traces.key} = ${spans.traceKey}
      and ${traces.organizationKey} = ${organization.key} and ${isVeiled}`)
  const isCommentSeen = existsShallow(sql`
    select 1 from ${feedback} where ${feedback.id} = ${targetId} and not ${isOnVeiledSpan}`)
  return isBlind
    ? ifAnyBlind(
        sql`(coalesce(${userId}, ${keyId}) = ${idOf(store)} or not ${isBlindProject(projectKey)} or case
          when ${action} = 'review.vote' then ${hasTraces ? sql`not ${isVoteHidden}` : sql`0`}
          when ${action} like 'comment.%' then ${hasTraces ? isCommentSeen : sql`0`} else 1 end)`,
        sql`1`,
      )
    : undefined
}

const not = (condition: SQL | undefined): SQL | undefined => condition && sql`not ${condition}`
