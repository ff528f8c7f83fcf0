import type { Caller } from '../auth/authenticate.ts'
import { requireProject } from '../auth/require-project.ts'
import { OutputChecks } from '../domain/output-schema.ts'
import type { PayloadMode } from '../domain/span.ts'
import { turnsByLength } from '../domain/turns.ts'
import type { Job } from '../env.ts'
import { ApiError, forbidden, notFound, tooLarge, unavailable, unprocessable } from '../http/errors.ts'
import { MAX_JUDGED_BYTES, MAX_JUDGED_BYTES_AT_ONCE } from '../limits.ts'
import { type Act, actorOf } from '../store/accounts/audit.ts'
import { foreignSpans } from '../store/accounts/ownership.ts'
import { attributionMessages } from '../store/attribution/requests.ts'
import type { Store, UnscopedStore } from '../store/core/store.ts'
import { addReviews, findReviewSubjects, type ReviewDraft, type ReviewSubjects } from '../store/reviews/reviews.ts'
import type { FoldedSpan } from '../store/spans/fold-spans.ts'
import { type LocatedSpan, withTrace } from '../store/spans/located-spans.ts'
import { withSharedReview } from '../store/spans/shared-review.ts'
import { reviewOf, revisionOf, type SpanDetail, showSpans } from '../store/spans/span-detail.ts'
import { fetchOutputs } from '../store/spans/whole-outputs.ts'
import { countWithin, fetchValues, lengthOf, placeUnder, showValues } from '../store/traces/payloads.ts'
import { direct, partnerOf, type ReviewRequest, withPartners } from './direct.ts'
import { comparedValue, type Judged, judge } from './judge.ts'

/** Why a reviewer can't name an error type. */
const ERROR_TYPE_MESSAGES = {
  unknown: 'There is no such error type',
  disabled: 'This error type is disabled in this project',
}

const NOTHING_ADDED: Awaited<ReturnType<typeof addReviews>> = { added: new Map(), toAttribute: new Set() }

const TOO_MUCH_OUTPUT = `One call can review outputs of up to ${MAX_JUDGED_BYTES / 1024 ** 2} MiB in total; send the rest in another call`

interface Scope {
  caller: Caller
  store: Store
  unscoped: UnscopedStore
  act: Act
  enqueue: (...jobs: Job[]) => Promise<boolean>
}

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
): Promise<(LocatedSpan | ApiError)[]> {
  const outcomes = new Map<ReviewRequest, LocatedSpan | ApiError>()
  const checks = new OutputChecks()
  let open = requests
  let judgedBytes = 0
  while (open.length > 0 && judgedBytes < MAX_JUDGED_BYTES) {
    const round = await decideRound(scope, open, mode, checks)
    for (const [request, outcome] of round.outcomes) outcomes.set(request, outcome)
    judgedBytes += round.bytes
    open = open.filter(request => !outcomes.has(request))
  }
  return requests.map(request => outcomes.get(request) ?? tooLarge(TOO_MUCH_OUTPUT))
}

/**
 * Runs one round of decisions. Skips requests whose span somebody else decided on or claimed in the meantime, and
 * requests whose outputs don't fit into memory with the others. `bytes` counts the outputs that were read.
 */
async function decideRound(scope: Scope, pending: readonly ReviewRequest[], mode: PayloadMode, checks: OutputChecks) {
  const { store, act, enqueue } = scope
  const spanIds = pending.map(({ spanId }) => spanId)
  const namedTypes = pending.flatMap(({ errorType }) => errorType ?? [])
  const found = await withPartners(store, pending, await findReviewSubjects(store, spanIds, namedTypes))
  const spansOf = (request: ReviewRequest) =>
    [found.subjects.get(request.spanId), partnerOf(request, found)].flatMap(subject => subject?.span ?? [])
  const sizes = pending.map(request =>
    spansOf(request).reduce((sum, { output }) => sum + (output ? lengthOf(output) : 0), 0),
  )
  const requests = pending.slice(0, countWithin(sizes, MAX_JUDGED_BYTES_AT_ONCE))
  const outputs = await fetchOutputs(store, [...new Set(requests.flatMap(spansOf))])
  const outcomes = new Map<ReviewRequest, LocatedSpan | ApiError>()
  const judged = await judgeAll(scope, requests, found, { outputs, checks, outcomes })
  const placed = await placeUnder(
    store,
    judged.flatMap(({ correction }) => correction ?? []),
  )
  const drafts = judged
    .filter(({ isNew }) => isNew)
    .map(({ draft, correction }) => ({ ...draft, approved: (correction && placed.get(correction)) ?? draft.approved }))
  const { added, toAttribute } = drafts.length === 0 ? NOTHING_ADDED : await addReviews(store, act, drafts)
  enqueue(...attributionMessages(store, toAttribute))
  const draftOf = new Map(drafts.map(draft => [draft.id, draft]))
  const decided = judged
    .filter(({ draft, isNew }) => !isNew || added.has(draft.id))
    .map(({ asked, root, subject, draft }) => {
      const isStale = added.get(draft.id)?.isStale ?? false
      return { asked, root, subject, span: afterDecision(subject.span, draftOf.get(draft.id), isStale, act) }
    })
  const shown = await showSpans(
    store,
    decided.map(({ root, span }) => root?.span ?? span),
    mode,
  )
  // The trace is being deleted. A retried request gets its 404.
  if (!shown) throw unavailable(1, new Error('an object of the reviewed span is gone'))
  for (const [index, { asked, root, subject, span }] of decided.entries()) {
    const detail = shown[index]
    if (!detail) continue
    const shownSpan = root ? await showShared(store, detail, span, asked, mode) : detail
    outcomes.set(asked, withTrace(shownSpan, subject.trace))
  }
  const bytes = sizes.slice(0, requests.length).reduce((sum, size) => sum + size, 0)
  return { outcomes, bytes }
}

/**
 * Checks requests one after another, and gives other HTTP requests turns in between. Errors of single requests go to
 * `outcomes`.
 */
async function judgeAll(
  scope: Scope,
  requests: readonly ReviewRequest[],
  found: ReviewSubjects,
  {
    outputs,
    checks,
    outcomes,
  }: {
    outputs: ReadonlyMap<FoldedSpan, string>
    checks: OutputChecks
    outcomes: Map<ReviewRequest, LocatedSpan | ApiError>
  },
): Promise<Judged[]> {
  const { caller, store, unscoped, act } = scope
  const { subjects, errorTypeState } = found
  const missing = requests.map(({ spanId }) => spanId).filter(spanId => !subjects.has(spanId))
  const foreign = missing.length === 0 ? new Set() : await foreignSpans(unscoped, store.organization, missing)
  const named = new Set(requests.map(({ spanId }) => spanId))
  const directed = requests.map(request => direct(request, found, outputs))
  const compared = await fetchValues(
    store,
    directed.flatMap(to => (to && comparedValue(act, to.request, to.subject)) ?? []),
  )
  const judged: Judged[] = []
  const giveTurns = turnsByLength()
  for (const [index, asked] of requests.entries()) {
    try {
      const to = directed[index]
      if (!to) throw foreign.has(asked.spanId) ? forbidden() : notFound()
      const { request, subject, root, sharingRoot } = to
      // The other request decides first. This one is checked against the result in the next round.
      if (root && named.has(request.spanId)) continue
      requireProject(caller, subject.trace.projectKey)
      const output = outputs.get(subject.span)
      if (output === undefined) throw unavailable(1, new Error('an object of the reviewed span is gone'))
      const typeState = request.errorType && errorTypeState(subject.trace.projectKey, request.errorType)
      if (typeState && typeState !== 'enabled') throw unprocessable(ERROR_TYPE_MESSAGES[typeState], 'errorType')
      await giveTurns(output.length)
      const { approved } = subject.span
      const values = {
        output,
        approved: approved && compared.get(approved),
        rootOutput: sharingRoot && outputs.get(sharingRoot.span),
      }
      judged.push(await judge(act, to, values, checks))
    } catch (error) {
      if (!(error instanceof ApiError) || error.status === 503) throw error
      outcomes.set(asked, error)
    }
  }
  return judged
}

/** Shows a root with the decision on the span that it's reviewed with. The request has the correction in its form. */
async function showShared(
  store: Store,
  root: SpanDetail,
  span: FoldedSpan,
  { approvedOutput }: ReviewRequest,
  mode: PayloadMode,
): Promise<SpanDetail> {
  const { id: spanId, traceKey } = span.row
  const approved = { text: approvedOutput ?? 'null', ref: null, folder: traceKey }
  const shown = await showValues(store, [approved], mode)
  const shared = { spanId, revision: revisionOf(span), review: reviewOf(span, mode) }
  return withSharedReview(root, shared, shown?.get(approved), mode)
}

/** The span after a decision, or unchanged without one. */
function afterDecision(span: FoldedSpan, draft: ReviewDraft | undefined, isStale: boolean, act: Act): FoldedSpan {
  if (!draft) return span
  const { traceKey, spanId, approved } = draft
  return {
    ...span,
    row: { ...span.row, reviewNumber: draft.numberBefore + 1, isStale: Number(isStale) },
    approved: approved ? { ...approved, folder: traceKey } : undefined,
    decision: {
      id: draft.id,
      traceKey,
      spanId,
      number: draft.numberBefore + 1,
      decision: draft.decision,
      state: draft.state,
      userId: actorOf(act) ?? '',
      createdAt: act.at,
      outputRevision: draft.outputRevision,
      outputHash: draft.outputHash,
      approved: approved?.text ?? null,
      approvedRef: approved?.ref ?? null,
      comment: draft.comment,
      errorType: draft.errorType,
      isCut: 0,
    },
  }
}
