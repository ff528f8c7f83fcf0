import { enqueueEvents } from '../api/queue.ts'
import { OutputChecks } from '../domain/output-schema.ts'
import type { PayloadMode } from '../domain/span.ts'
import { type ApiError, logFault, unavailable } from '../http/errors.ts'
import { STORE_DEADLINE_MS } from '../limits.ts'
import { type Act, actorOf } from '../store/accounts/audit.ts'
import { attributionMessages } from '../store/attribution/requests.ts'
import { withoutClaims } from '../store/core/claims.ts'
import { Deadline } from '../store/core/deadline.ts'
import { openStore, type Store } from '../store/core/store.ts'
import { followWatches } from '../store/experiments/rollback.ts'
import { addReviews, type ReviewDraft } from '../store/reviews/reviews.ts'
import { addVotes, type VoteDraft } from '../store/reviews/votes.ts'
import type { FoldedSpan } from '../store/spans/fold-spans.ts'
import { withTrace } from '../store/spans/located-spans.ts'
import {
  NO_OPINIONS,
  type Opinions,
  readSharedOpinions,
  sharedReviewOf,
  withSharedReview,
} from '../store/spans/shared-review.ts'
import { type SpanDetail, showSpans } from '../store/spans/span-detail.ts'
import type { VoteRow } from '../store/spans/vote-rows.ts'
import { placeUnder, type StoredValue, showValues } from '../store/traces/payloads.ts'
import type { ReviewRequest } from './direct.ts'
import { type Decided, entriesOf, itemsOf } from './items.ts'
import { comparedValues, type Judged, judge } from './judge.ts'
import { formsOf, inRounds, judgeAll, type Outcomes, type ReviewedSpan, readRound, type Scope } from './rounds.ts'
import { isVote, judgeVote, valuesToCompare } from './vote.ts'

const NOTHING_CAST: ReadonlySet<string> = new Set()

const NOTHING_ADDED: Awaited<ReturnType<typeof addReviews>> = { added: new Map(), toAttribute: new Set() }

/**
 * Applies decisions to spans, each to the span's current state. If somebody else decides on a span or claims it in the
 * meantime, the decision is checked again. If there are no such conflicts, this takes two D1 round trips, regardless of
 * the number of spans. Each request must be on a different span. Returns the span after each request, or the request's
 * error: 413 for requests that are left after `MAX_JUDGED_BYTES` of outputs were read.
 */
export async function decideAll(
  scope: Scope,
  requests: readonly ReviewRequest[],
  mode: PayloadMode,
): Promise<(ReviewedSpan | ApiError)[]> {
  const checks = new OutputChecks()
  return inRounds(scope, requests, (shard, open) => decideRound(shard, open, mode, checks))
}

/**
 * Runs one round of decisions. Skips requests if somebody else has decided on the span or claimed it in the meantime,
 * and requests whose outputs don't fit into memory with the others. `bytes` counts the outputs that were read.
 */
async function decideRound(scope: Scope, pending: readonly ReviewRequest[], mode: PayloadMode, checks: OutputChecks) {
  const { store, act, caller, enqueue, runtime } = scope
  const round = await readRound(scope, pending)
  const outcomes: Outcomes = new Map()
  const judged = await judgeAll(scope, round, outcomes, {
    comparedValues: to => (isVote(caller, to) ? valuesToCompare(act, to) : comparedValues(act, to.request, to.subject)),
    judge: (to, values) => (isVote(caller, to) ? judgeVote(act, to, values, checks) : judge(scope, to, values, checks)),
  })
  const placed = await placeUnder(
    store,
    judged.flatMap(({ correction }) => correction ?? []),
  )
  const news = judged.filter(({ isNew }) => isNew).map(each => withValues(each, placed))
  const drafts = await withEntries(
    store,
    news.flatMap(({ draft, ...each }) => (draft ? { ...each, draft } : [])),
    round.outputs,
  )
  const open = news.flatMap(({ draft, vote }) => (vote && !draft ? vote : []))
  const [{ added, toAttribute }, cast] = await Promise.all([
    drafts.length === 0 ? NOTHING_ADDED : addReviews(store, act, drafts),
    open.length === 0 ? NOTHING_CAST : addVotes(store, act, open),
  ])
  enqueue(...attributionMessages(store, toAttribute))
  const versionIds = news.flatMap(({ draft, subject }) =>
    draft && added.has(draft.id) && draft.importedAt === null ? (subject.span.row.promptVersionId ?? []) : [],
  )
  if (versionIds.length > 0) runtime.waitUntil(follow(scope, new Set(versionIds)))
  const newOf = new Map(news.map(each => [each.asked, each]))
  const decided = judged
    .filter(({ draft, vote, isNew }) => !isNew || (draft ? added.has(draft.id) : cast.has(vote?.id ?? '')))
    .map(({ asked, root, subject, importResult }) => {
      const written = newOf.get(asked)
      const voted = written?.vote ? afterVote(subject.span, written.vote, act) : subject.span
      const draft = written?.draft
      const span = draft ? afterDecision(voted, draft, added.get(draft.id)?.isStale ?? false) : voted
      return { asked, root, subject, span, importResult }
    })
  const shown = await showSpans(
    store,
    decided.map(({ root, span }) => root?.span ?? span),
    mode,
  )
  const opinions = await readSharedOpinions(
    store,
    decided.map(({ root, subject, span }) => ({ reviewed: span, forms: formsOf(root, subject, round) })),
    mode,
  )
  // The trace is being deleted, so a retry will get a 404.
  if (!shown || !opinions) throw unavailable(1, new Error("the reviewed span's stored object is missing"))
  for (const [index, { asked, root, subject, span, importResult }] of decided.entries()) {
    const detail = shown[index]
    if (!detail) continue
    const shared = { span, opinions: opinions.get(span) ?? NO_OPINIONS }
    const shownSpan = root ? await showShared(store, detail, shared, asked, mode) : detail
    outcomes.set(asked, { ...withTrace(shownSpan, subject.trace), import: importResult })
  }
  return { outcomes, bytes: round.bytes }
}

/** Updates the watches of these versions after the response. If that fails, cron does it later. */
async function follow({ store, act, runtime }: Scope, versionIds: ReadonlySet<string>) {
  const { env, requestId } = runtime
  try {
    const own = openStore(env, store.organization, new Deadline(STORE_DEADLINE_MS))
    await followWatches(own, { versionIds: [...versionIds] }, { at: act.at, requestId })
    enqueueEvents(own, runtime)
  } catch (error) {
    logFault('watch_failed', { requestId }, error)
  }
}

/** Adds the stored values to a decision and a vote. */
function withValues({ draft, vote, ...each }: Judged, placed: ReadonlyMap<object, StoredValue>) {
  const own = (each.correction && placed.get(each.correction)) ?? null
  return {
    ...each,
    draft: draft && { ...draft, approved: draft.approved ?? own },
    vote: vote && { ...vote, approved: own },
  }
}

type Decision = Omit<ReturnType<typeof withValues>, 'draft'> & { draft: NonNullable<Judged['draft']> }

/**
 * Adds the changes that decisions make to datasets. Cron makes the changes that can't be built from the values that
 * were read.
 */
async function withEntries(
  store: Store,
  decisions: readonly Decision[],
  outputs: ReadonlyMap<FoldedSpan, string>,
): Promise<ReviewDraft[]> {
  const decided = decisions.map(({ draft, subject, root, sharingRoot = root, corrected }): Decided => {
    const isReviewedHere = sharingRoot?.shared?.spanId === draft.spanId
    return {
      review: { ...draft, decidedAt: draft.createdAt },
      subject,
      approved: draft.approved,
      correction: corrected,
      root: isReviewedHere ? sharingRoot : undefined,
      isShared: draft.canBeShared,
    }
  })
  const items = decided.map(each => itemsOf(each, outputs))
  const entries = await entriesOf(store, items.flat(), outputs)
  return decisions.map(({ draft, vote, subject: { item }, root, sharingRoot = root }, index) => {
    // An earlier correction separated the root from the span, and this decision makes them a pair again.
    const isResumed = sharingRoot !== undefined && !sharingRoot.shared && draft.canBeShared
    const isMoved = item.decidedStepId !== null && item.decidedStepId !== item.stepId
    // A root that had the span's text may still have the previous decision's item.
    const isKeptElsewhere = draft.numberBefore > 0 && decided[index]?.root === undefined
    const count = items[index]?.length ?? 0
    const made = entries.splice(0, count).filter(entry => entry !== undefined)
    return {
      ...draft,
      vote,
      entries: made,
      isUnsettled: made.length < count || isResumed || isMoved || isKeptElsewhere,
    }
  })
}

/** Shows a root with the decision on the span that it's reviewed with. The request's correction has the root's form. */
async function showShared(
  store: Store,
  root: SpanDetail,
  { span, opinions }: { span: FoldedSpan; opinions: Opinions },
  { approvedOutput }: ReviewRequest,
  mode: PayloadMode,
): Promise<SpanDetail> {
  const approved = { text: approvedOutput ?? 'null', ref: null, folder: span.row.traceKey }
  const shown = await showValues(store, [approved], mode)
  const review = sharedReviewOf(store, span, mode)
  return withSharedReview(root, review, { approved: shown?.get(approved), ...opinions }, mode)
}

/** The span after a vote. */
function afterVote(span: FoldedSpan, vote: VoteDraft, act: Act): FoldedSpan {
  const { row, votes = [] } = span
  const { approved, id, round, outputRevision, decision, approvedHash, comment, errorType, reviewers } = vote
  const userId = actorOf(act) ?? ''
  const cast: VoteRow = {
    traceKey: vote.traceKey,
    spanId: vote.spanId,
    round,
    outputRevision,
    userId,
    id,
    decision,
    approvedHash,
    comment,
    errorType,
    createdAt: act.at,
    reviewers,
    isCut: 0,
    value: approved ? { ...approved, folder: vote.traceKey } : undefined,
  }
  const claims = withoutClaims(row, ({ heldBy }) => heldBy === userId || vote.placesLeft === 0)
  return {
    ...span,
    row: { ...row, ...claims, voteNumber: row.voteNumber + 1 },
    votes: [...votes.filter(other => other.id !== vote.idBefore), cast],
  }
}

/** The span after a decision. */
function afterDecision(span: FoldedSpan, draft: NonNullable<Judged['draft']>, isStale: boolean): FoldedSpan {
  const { traceKey, spanId, approved } = draft
  return {
    ...span,
    row: {
      ...span.row,
      reviewNumber: draft.numberBefore + 1,
      isStale: Number(isStale),
      ...withoutClaims(span.row, () => true),
    },
    approved: approved ? { ...approved, folder: traceKey } : undefined,
    decision: {
      id: draft.id,
      traceKey,
      spanId,
      number: draft.numberBefore + 1,
      decision: draft.decision,
      state: draft.state,
      userId: draft.userId,
      createdAt: draft.createdAt,
      outputRevision: draft.outputRevision,
      outputHash: draft.outputHash,
      approved: approved?.text ?? null,
      approvedRef: approved?.ref ?? null,
      comment: draft.comment,
      errorType: draft.errorType,
      basis: draft.basis,
      isCut: 0,
    },
  }
}
