import type { Caller } from '../auth/authenticate.ts'
import { requireProject } from '../auth/require-project.ts'
import { OutputChecks } from '../domain/output-schema.ts'
import type { PayloadMode } from '../domain/span.ts'
import type { Job } from '../env.ts'
import { ApiError, forbidden, notFound, unavailable, unprocessable } from '../http/errors.ts'
import { attributionJobsOf } from '../store/attributions.ts'
import { type Act, actorOf } from '../store/audit.ts'
import { type LocatedSpan, locate } from '../store/located-spans.ts'
import { foreignSpans } from '../store/ownership.ts'
import { countFitting, placeUnder } from '../store/payloads.ts'
import {
  addReviews,
  findReviewSubjects,
  type ReviewDraft,
  type ReviewSubjects,
  wholeOutputs,
} from '../store/reviews.ts'
import { type FoldedSpan, showSpans } from '../store/span-detail.ts'
import type { Registry, Store } from '../store/store.ts'
import { type Judged, judge, type ReviewRequest } from './judge.ts'

/** Why a reviewer cannot name an error type. */
const UNNAMEABLE = {
  unknown: 'There is no such error type',
  switched_off: 'This error type is switched off in the project',
}

const NOTHING_ADDED = { added: new Set<string>(), toAttribute: new Set<number>() }

const NO_VALUE = { text: '', ref: null }

interface Scope {
  caller: Caller
  store: Store
  registry: Registry
  act: Act
  enqueue: (...jobs: Job[]) => Promise<boolean>
}

/**
 * Decides on spans, each on what is there at that moment: where somebody else decides on a span meanwhile, it is looked at
 * again. Two D1 round trips where nobody does, however many spans, as long as their outputs fit into memory together.
 * Returns for each request the span as it is after it, or the error that it came to.
 */
export async function decideAll(
  scope: Scope,
  requests: readonly ReviewRequest[],
  mode: PayloadMode,
): Promise<(LocatedSpan | ApiError)[]> {
  const outcomes = new Map<ReviewRequest, LocatedSpan | ApiError>()
  const checks = new OutputChecks()
  for (let open = requests; open.length > 0; open = open.filter(request => !outcomes.has(request))) {
    // One request a span: of several, each is decided on what the one before left.
    const round = [...new Map(open.toReversed().map(request => [request.spanId, request])).values()]
    for (const [request, outcome] of await decideRound(scope, round, mode, checks)) outcomes.set(request, outcome)
  }
  return requests.map(request => outcomes.get(request) ?? notFound())
}

/**
 * The same for requests on different spans. Those are missing on whose span somebody else decided meanwhile, and those
 * whose outputs are too much to be held beside the others.
 */
async function decideRound(scope: Scope, asked: readonly ReviewRequest[], mode: PayloadMode, checks: OutputChecks) {
  const { store, act, enqueue } = scope
  const spanIds = asked.map(({ spanId }) => spanId)
  const namedTypes = asked.flatMap(({ errorType }) => errorType ?? [])
  const found = await findReviewSubjects(store, spanIds, namedTypes)
  const spanOf = ({ spanId }: ReviewRequest) => found.subjects.get(spanId)?.span
  const requests = asked.slice(0, countFitting(asked.map(request => spanOf(request)?.output ?? NO_VALUE)))
  const outputs = await wholeOutputs(
    store,
    requests.flatMap(request => spanOf(request) ?? []),
  )
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
  enqueue(...attributionJobsOf(store, toAttribute))
  const draftOf = new Map(drafts.map(draft => [draft.id, draft]))
  const decided = judged.filter(({ draft, isNew }) => !isNew || added.has(draft.id))
  const spans = decided.map(({ subject, draft }) => afterDecision(subject.span, draftOf.get(draft.id), act))
  const shown = await showSpans(store, spans, mode)
  // Its trace is being deleted: sent again, the request is told so.
  if (!shown) throw unavailable(1, new Error('an object of a span under review is gone'))
  for (const [index, { request, subject }] of decided.entries()) {
    const detail = shown[index]
    if (detail) outcomes.set(request, locate(detail, subject.trace))
  }
  return outcomes
}

/** Judges requests; the errors of those that their spans do not allow go to `outcomes`. */
async function judgeAll(
  scope: Scope,
  requests: readonly ReviewRequest[],
  { subjects, errorTypeState }: ReviewSubjects,
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
  const { caller, store, registry } = scope
  const missing = requests.map(({ spanId }) => spanId).filter(spanId => !subjects.has(spanId))
  const foreign = missing.length === 0 ? new Set() : await foreignSpans(registry, store.organization, missing)
  const judged = await Promise.all(
    requests.map(async request => {
      try {
        const subject = subjects.get(request.spanId)
        if (!subject) throw foreign.has(request.spanId) ? forbidden() : notFound()
        requireProject(caller, subject.trace.projectKey)
        const output = outputs.get(subject.span)
        if (output === undefined) throw unavailable(1, new Error('an object of a span under review is gone'))
        const typeState = request.errorType && errorTypeState(subject.trace.projectKey, request.errorType)
        if (typeState && typeState !== 'enabled') throw unprocessable(UNNAMEABLE[typeState], 'errorType')
        return [await judge(scope, request, subject, output, checks)]
      } catch (error) {
        if (!(error instanceof ApiError) || error.status === 503) throw error
        outcomes.set(request, error)
        return []
      }
    }),
  )
  return judged.flat()
}

/** A span as it is after a decision, or without one as it is. */
function afterDecision(span: FoldedSpan, draft: ReviewDraft | undefined, act: Act): FoldedSpan {
  if (!draft) return span
  const { traceKey, spanId, approved } = draft
  return {
    ...span,
    row: { ...span.row, reviewNumber: draft.numberBefore + 1 },
    approved: approved ? { ...approved, traceKey } : undefined,
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
