import { newId } from '../domain/ids.ts'
import { OutputChecks } from '../domain/output-schema.ts'
import { hashOutput } from '../domain/review-state.ts'
import type { PayloadMode } from '../domain/span.ts'
import { type ApiError, changedSince, unavailable, unprocessable } from '../http/errors.ts'
import { MAX_SUGGESTIONS } from '../limits.ts'
import type { Store } from '../store/core/store.ts'
import type { ReviewSubject } from '../store/reviews/reviews.ts'
import { addSuggestions, type SuggestionDraft } from '../store/reviews/suggestions.ts'
import type { FoldedSpan } from '../store/spans/fold-spans.ts'
import { type LocatedSpan, withTrace } from '../store/spans/located-spans.ts'
import {
  type Forms,
  NO_OPINIONS,
  type Opinions,
  readSharedOpinions,
  sharedReviewOf,
  showApproved,
  withSharedReview,
} from '../store/spans/shared-review.ts'
import { type SpanDetail, showSpans } from '../store/spans/span-detail.ts'
import { placeUnder } from '../store/traces/payloads.ts'
import type { Directed, ReviewRequest } from './direct.ts'
import { checkOutput, type Judged, matches, verdictOn } from './judge.ts'
import { formsOf, inRounds, judgeAll, type Outcomes, readRound, type Scope } from './rounds.ts'

const FULL = `The span already has the maximum number of suggestions, from ${MAX_SUGGESTIONS} agents`

/** A suggestion that's valid for its span. */
interface JudgedSuggestion extends Directed {
  draft: Omit<SuggestionDraft, 'approved'>
  /** The correction, which needs to be stored. */
  correction: Judged['correction']
}

/**
 * Stores an agent's decisions as suggestions. They're validated like decisions, but change nothing about the review: a
 * person decides. Claims don't matter. Each request must be on a different span. Returns the span after each request,
 * or the request's error: 413 in the same cases as for decisions, and 422 if too many agents have suggested a decision
 * on the span.
 */
export async function suggestAll(
  scope: Scope,
  requests: readonly ReviewRequest[],
  mode: PayloadMode,
): Promise<(LocatedSpan | ApiError)[]> {
  const checks = new OutputChecks()
  return inRounds(scope, requests, (shard, open) => suggestRound(shard, open, mode, checks))
}

/** Runs one round of suggestions. Skips requests whose span has changed since it was read. */
async function suggestRound(scope: Scope, pending: readonly ReviewRequest[], mode: PayloadMode, checks: OutputChecks) {
  const { store, act } = scope
  const round = await readRound(scope, pending)
  const outcomes: Outcomes = new Map()
  const judged = await judgeAll(scope, round, outcomes, {
    comparedValues: () => [],
    judge: (to, { output }) => judgeSuggestion(to, output, checks),
  })
  const placed = await placeUnder(
    store,
    judged.flatMap(({ correction }) => correction ?? []),
  )
  const drafts = judged.map(({ draft, correction }) => ({
    ...draft,
    approved: (correction && placed.get(correction)) ?? null,
  }))
  const stored = await addSuggestions(store, act, drafts)
  for (const { asked, draft } of judged) {
    if (stored.get(draft.id) === 'full') outcomes.set(asked, unprocessable(FULL, ''))
  }
  const suggested = judged
    .filter(({ draft }) => stored.get(draft.id) === 'stored')
    .map(({ asked, root, subject }) => {
      const named = root ?? subject
      const reviewed = round.found.subjects.get(named.shared?.spanId ?? '')
      // Only the span that the suggestion is stored on has changed.
      const spanOf = (each: ReviewSubject) => (each === subject ? withSuggestions(each.span) : each.span)
      const forms = formsOf(named, reviewed, round)
      return { asked, trace: subject.trace, named: spanOf(named), reviewed: reviewed && spanOf(reviewed), forms }
    })
  const shown = await showSpans(
    store,
    suggested.map(({ named }) => named),
    mode,
  )
  const shared = await readSharedOpinions(store, suggested, mode)
  // The trace is being deleted, so a retry will get a 404.
  if (!shown || !shared) throw unavailable(1, new Error("the span's stored object is missing"))
  for (const [index, { asked, trace, reviewed, forms }] of suggested.entries()) {
    const detail = shown[index]
    if (!detail) continue
    const isShared = reviewed && forms
    const shownSpan = isShared
      ? await showRoot(store, detail, { reviewed, forms, opinions: shared.get(reviewed) ?? NO_OPINIONS }, mode)
      : detail
    outcomes.set(asked, withTrace(shownSpan, trace))
  }
  return { outcomes, bytes: round.bytes }
}

/** Checks a suggestion as `judge` checks a decision. */
async function judgeSuggestion(directed: Directed, output: string, checks: OutputChecks): Promise<JudgedSuggestion> {
  const { request, subject, revision } = directed
  const { span } = subject
  const { state, correction } = await verdictOn(request, subject, output)
  if (!matches(request.ifMatch, revision)) throw changedSince()
  if (state !== null && !request.force) await checkOutput(subject, request, correction?.json ?? output, checks)
  const draft = {
    id: newId(),
    traceKey: span.row.traceKey,
    spanId: span.row.id,
    reviewNumber: span.row.reviewNumber,
    outputRevision: span.outputRevision,
    decision: state === 'accepted' ? ('accept' as const) : request.decision,
    approvedHash: correction ? await hashOutput(correction.json) : null,
    comment: request.comment,
    errorType: request.errorType,
  }
  return { ...directed, draft, correction }
}

/** The span after a suggestion. */
const withSuggestions = (span: FoldedSpan): FoldedSpan => ({ ...span, row: { ...span.row, hasSuggestions: 1 } })

/** Shows a root with the review of the span that it's reviewed with, and with the suggestions and votes on it. */
async function showRoot(
  store: Store,
  root: SpanDetail,
  { reviewed, forms, opinions }: { reviewed: FoldedSpan; forms: Forms; opinions: Opinions },
  mode: PayloadMode,
): Promise<SpanDetail> {
  const shared = sharedReviewOf(store, reviewed, mode)
  const approved = shared.review?.state === 'corrected' ? await showApproved(store, reviewed, forms, mode) : undefined
  return withSharedReview(root, shared, { approved, ...opinions }, mode)
}
