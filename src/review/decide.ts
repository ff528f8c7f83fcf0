import { OutputChecks } from '../domain/output-schema.ts'
import type { PayloadMode } from '../domain/span.ts'
import { type ApiError, logFault, unavailable } from '../http/errors.ts'
import { STORE_DEADLINE_MS } from '../limits.ts'
import { attributionMessages } from '../store/attribution/requests.ts'
import { Deadline } from '../store/core/deadline.ts'
import { openStore, type Store } from '../store/core/store.ts'
import { followWatches } from '../store/experiments/rollback.ts'
import { addReviews, type ReviewDraft } from '../store/reviews/reviews.ts'
import type { FoldedSpan } from '../store/spans/fold-spans.ts'
import { withTrace } from '../store/spans/located-spans.ts'
import { readSharedSuggestions, sharedReviewOf, withSharedReview } from '../store/spans/shared-review.ts'
import { type SpanDetail, showSpans } from '../store/spans/span-detail.ts'
import type { Suggestion } from '../store/spans/suggestions.ts'
import { placeUnder, type StoredValue, showValues } from '../store/traces/payloads.ts'
import type { ReviewRequest } from './direct.ts'
import { type Decided, entriesOf, itemsOf } from './items.ts'
import { comparedValue, type Judged, judge } from './judge.ts'
import { formsOf, inRounds, judgeAll, type Outcomes, type ReviewedSpan, readRound, type Scope } from './rounds.ts'

const NOTHING_ADDED: Awaited<ReturnType<typeof addReviews>> = { added: new Map(), toAttribute: new Set() }

/**
 * Applies decisions to spans, each to the span's current state. If somebody else decides on a span or claims it in the
 * meantime, the decision is checked again. Without such conflicts, this takes two D1 round trips, however many spans
 * there are. Each request must be on a different span. Returns the span after each request, or the request's error: 413
 * for requests that are left after `MAX_JUDGED_BYTES` of outputs were read.
 */
export async function decideAll(
  scope: Scope,
  requests: readonly ReviewRequest[],
  mode: PayloadMode,
): Promise<(ReviewedSpan | ApiError)[]> {
  const checks = new OutputChecks()
  return inRounds(requests, open => decideRound(scope, open, mode, checks))
}

/**
 * Runs one round of decisions. Skips requests whose span somebody else decided on or claimed in the meantime, and
 * requests whose outputs don't fit into memory with the others. `bytes` counts the outputs that were read.
 */
async function decideRound(scope: Scope, pending: readonly ReviewRequest[], mode: PayloadMode, checks: OutputChecks) {
  const { store, act, enqueue, runtime } = scope
  const round = await readRound(store, pending)
  const outcomes: Outcomes = new Map()
  const judged = await judgeAll(scope, round, outcomes, {
    comparedValue: ({ request, subject }) => comparedValue(act, request, subject),
    judge: (to, values) => judge(act, to, values, checks),
  })
  const placed = await placeUnder(
    store,
    judged.flatMap(({ correction }) => correction ?? []),
  )
  const decisions = judged
    .filter(({ isNew }) => isNew)
    .map(each => ({ ...each, approved: (each.correction && placed.get(each.correction)) ?? each.draft.approved }))
  const drafts = await withEntries(store, decisions, round.outputs)
  const { added, toAttribute } = drafts.length === 0 ? NOTHING_ADDED : await addReviews(store, act, drafts)
  enqueue(...attributionMessages(store, toAttribute))
  const versionIds = decisions.flatMap(({ draft, subject }) =>
    added.has(draft.id) && draft.importedAt === null ? (subject.span.row.promptVersionId ?? []) : [],
  )
  if (versionIds.length > 0) runtime.waitUntil(follow(scope, new Set(versionIds)))
  const draftOf = new Map(drafts.map(draft => [draft.id, draft]))
  const decided = judged
    .filter(({ draft, isNew }) => !isNew || added.has(draft.id))
    .map(({ asked, root, subject, draft, importResult }) => {
      const isStale = added.get(draft.id)?.isStale ?? false
      const span = afterDecision(subject.span, draftOf.get(draft.id), isStale)
      return { asked, root, subject, span, importResult }
    })
  const shown = await showSpans(
    store,
    decided.map(({ root, span }) => root?.span ?? span),
    mode,
  )
  const suggestions = await readSharedSuggestions(
    store,
    decided.map(({ root, subject, span }) => ({ reviewed: span, forms: formsOf(root, subject, round) })),
    mode,
  )
  // The trace is being deleted. A retried request gets its 404.
  if (!shown || !suggestions) throw unavailable(1, new Error('an object of the reviewed span is gone'))
  for (const [index, { asked, root, subject, span, importResult }] of decided.entries()) {
    const detail = shown[index]
    if (!detail) continue
    const shared = { span, suggestions: suggestions.get(span) ?? [] }
    const shownSpan = root ? await showShared(store, detail, shared, asked, mode) : detail
    outcomes.set(asked, { ...withTrace(shownSpan, subject.trace), import: importResult })
  }
  return { outcomes, bytes: round.bytes }
}

/** Follows the watches of versions after the response. If that fails, cron does it. */
async function follow({ store, act, runtime: { env, requestId } }: Scope, versionIds: ReadonlySet<string>) {
  try {
    const own = openStore(env, store.organization, new Deadline(STORE_DEADLINE_MS))
    await followWatches(own, { versionIds: [...versionIds] }, { at: act.at, requestId })
  } catch (error) {
    logFault('watch_failed', { requestId }, error)
  }
}

/** Adds the decisions' changes to datasets. Leaves to cron what can't be built from the values that were read. */
async function withEntries(
  store: Store,
  decisions: readonly (Judged & { approved: StoredValue | null })[],
  outputs: ReadonlyMap<FoldedSpan, string>,
): Promise<ReviewDraft[]> {
  const decided = decisions.map(({ draft, subject, root, sharingRoot = root, correction, approved }): Decided => {
    const isReviewedHere = sharingRoot?.shared?.spanId === draft.spanId
    return {
      review: { ...draft, decidedAt: draft.createdAt },
      subject,
      approved,
      correction: correction?.json,
      root: isReviewedHere ? sharingRoot : undefined,
      isShared: draft.canBeShared,
    }
  })
  const items = decided.map(each => itemsOf(each, outputs))
  const entries = await entriesOf(store, items.flat(), outputs)
  return decisions.map(({ draft, subject: { item }, root, sharingRoot = root, approved }, index) => {
    // A correction ended the pair earlier, and this decision resumes it.
    const isResumed = sharingRoot !== undefined && !sharingRoot.shared && draft.canBeShared
    const isMoved = item.decidedStepId !== null && item.decidedStepId !== item.stepId
    // A root that had the span's text may have kept the item of the decision before.
    const isKeptElsewhere = draft.numberBefore > 0 && decided[index]?.root === undefined
    const count = items[index]?.length ?? 0
    const made = entries.splice(0, count).filter(entry => entry !== undefined)
    return {
      ...draft,
      approved,
      entries: made,
      isUnsettled: made.length < count || isResumed || isMoved || isKeptElsewhere,
    }
  })
}

/** Shows a root with the decision on the span that it's reviewed with. The request has the correction in its form. */
async function showShared(
  store: Store,
  root: SpanDetail,
  { span, suggestions }: { span: FoldedSpan; suggestions: readonly Suggestion[] },
  { approvedOutput }: ReviewRequest,
  mode: PayloadMode,
): Promise<SpanDetail> {
  const approved = { text: approvedOutput ?? 'null', ref: null, folder: span.row.traceKey }
  const shown = await showValues(store, [approved], mode)
  return withSharedReview(
    root,
    sharedReviewOf(store, span, mode),
    { approved: shown?.get(approved), suggestions },
    mode,
  )
}

/** The span after a decision, or unchanged without one. */
function afterDecision(span: FoldedSpan, draft: ReviewDraft | undefined, isStale: boolean): FoldedSpan {
  if (!draft) return span
  const { traceKey, spanId, approved } = draft
  return {
    ...span,
    row: {
      ...span.row,
      reviewNumber: draft.numberBefore + 1,
      isStale: Number(isStale),
      claimedBy: null,
      claimedUntil: null,
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
