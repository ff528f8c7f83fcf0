import type { Caller } from '../auth/authenticate.ts'
import { requireProject } from '../auth/require-project.ts'
import { newId } from '../domain/ids.ts'
import { canonicalJson, type Json } from '../domain/json.ts'
import { type Decision, hashOutput, type ReviewOutcome } from '../domain/review-state.ts'
import type { PayloadMode } from '../domain/span.ts'
import {
  ApiError,
  changedSince,
  forbidden,
  notFound,
  unavailable,
  unprocessable,
  unprocessableFields,
} from '../http/errors.ts'
import type { Act } from '../store/audit.ts'
import { foreignSpans } from '../store/ownership.ts'
import { fetchValues, placeUnder, type StoredValue } from '../store/payloads.ts'
import {
  addReviews,
  findReviewSubjects,
  type ReviewDraft,
  type ReviewSubject,
  type ReviewSubjects,
  wholeOutputs,
} from '../store/reviews.ts'
import { type FoldedSpan, type LocatedSpan, locate, revisionOf, showSpans } from '../store/span-detail.ts'
import type { Registry, Store } from '../store/store.ts'
import { type OutputCheck, outputCheck } from './output-schema.ts'

/** A reviewer's decision on a span. */
export interface ReviewRequest {
  spanId: string
  decision: Decision
  /** JSON; for `correct` alone. */
  approvedOutput: string | undefined
  comment: string | null
  errorType: string | null
  /** Whether the output's schema may be broken. */
  force: boolean
  /** The `etag`s of which the span must have one; undefined: it may have any. */
  ifMatch: string | undefined
}

interface Scope {
  caller: Caller
  store: Store
  registry: Registry
  act: Act
}

export const NO_OUTPUT = 'The span has no output to accept'
export const NULL_APPROVED = 'null means unreviewed: use the decision reset'
export const UNKNOWN_ERROR_TYPE = 'There is no such error type'
export const BREAKS_SCHEMA = "The approved output breaks the step's outputSchema; `force` approves it nevertheless"

/**
 * Decides on spans, each on what is there at that moment: where somebody else decides on a span meanwhile, it is looked at
 * again. Two D1 round trips where nobody does, however many spans. Returns for each request the span as it is after it, or
 * the error that it came to.
 */
export async function decideAll(
  scope: Scope,
  requests: readonly ReviewRequest[],
  mode: PayloadMode,
): Promise<(LocatedSpan | ApiError)[]> {
  const outcomes = new Map<ReviewRequest, LocatedSpan | ApiError>()
  for (let open = requests; open.length > 0; open = open.filter(request => !outcomes.has(request))) {
    // One request a span: of several, each is decided on what the one before left.
    const round = [...new Map(open.toReversed().map(request => [request.spanId, request])).values()]
    for (const [request, outcome] of await decideRound(scope, round, mode)) outcomes.set(request, outcome)
  }
  return requests.map(request => outcomes.get(request) ?? notFound())
}

/** The same for requests on different spans; those are missing on whose span somebody else decided meanwhile. */
async function decideRound(scope: Scope, requests: readonly ReviewRequest[], mode: PayloadMode) {
  const { store, act } = scope
  const spanIds = requests.map(({ spanId }) => spanId)
  const namedTypes = requests.flatMap(({ errorType }) => errorType ?? [])
  const found = await findReviewSubjects(store, spanIds, namedTypes)
  const outputs = await wholeOutputs(
    store,
    [...found.subjects.values()].map(({ span }) => span),
  )
  const outcomes = new Map<ReviewRequest, LocatedSpan | ApiError>()
  const judged = await judgeAll(scope, requests, found, outputs, outcomes)
  const placed = await placeUnder(
    store,
    judged.flatMap(({ correction }) => correction ?? []),
  )
  const drafts = judged
    .filter(({ isNew }) => isNew)
    .map(({ draft, correction }) => ({ ...draft, approved: (correction && placed.get(correction)) ?? draft.approved }))
  const added = drafts.length === 0 ? new Set<string>() : await addReviews(store, act, drafts)
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

/** A request that its span allows. */
interface Judged {
  request: ReviewRequest
  subject: ReviewSubject
  draft: ReviewDraft
  /** An approved output of the reviewer's own, which needs a place. */
  correction: { traceKey: number; json: string } | undefined
  /** False where the last decision is the same one, by the same reviewer: a request that was sent again. */
  isNew: boolean
}

/** Judges requests; the errors of those that their spans do not allow go to `outcomes`. */
async function judgeAll(
  scope: Scope,
  requests: readonly ReviewRequest[],
  { subjects, errorTypes }: ReviewSubjects,
  outputs: ReadonlyMap<FoldedSpan, string>,
  outcomes: Map<ReviewRequest, LocatedSpan | ApiError>,
): Promise<Judged[]> {
  const { caller, store, registry } = scope
  const missing = requests.map(({ spanId }) => spanId).filter(spanId => !subjects.has(spanId))
  const foreign = missing.length === 0 ? new Set() : await foreignSpans(registry, store.organization, missing)
  const checks = new Map<string, OutputCheck>()
  const judged: Judged[] = []
  for (const request of requests) {
    try {
      const subject = subjects.get(request.spanId)
      if (!subject) throw foreign.has(request.spanId) ? forbidden() : notFound()
      requireProject(caller, subject.trace.projectKey)
      const output = outputs.get(subject.span)
      if (output === undefined) throw unavailable(1, new Error('an object of a span under review is gone'))
      if (request.errorType !== null && !errorTypes.has(request.errorType)) {
        throw unprocessable(UNKNOWN_ERROR_TYPE, 'errorType')
      }
      judged.push(await judge(scope, request, subject, output, checks))
    } catch (error) {
      if (!(error instanceof ApiError) || error.status === 503) throw error
      outcomes.set(request, error)
    }
  }
  return judged
}

/** What a request comes to on a span with this output. 412 where the span is another one by now, 422 where it cannot be. */
async function judge(
  { store, act }: Scope,
  request: ReviewRequest,
  subject: ReviewSubject,
  output: string,
  checks: Map<string, OutputCheck>,
): Promise<Judged> {
  const { span } = subject
  const { state, approved, correction } = verdictOn(request, subject, output)
  const draft: ReviewDraft = {
    id: newId(),
    traceKey: span.row.traceKey,
    spanId: span.row.id,
    numberBefore: span.row.reviewNumber,
    idBefore: span.decision?.id ?? null,
    decision: state === 'accepted' ? 'accept' : request.decision,
    state,
    outputRevision: span.outputRevision,
    outputHash: await hashOutput(output),
    approved,
    comment: request.comment,
    errorType: request.errorType,
  }
  const isNew = !(await isRepeated(store, act, span, draft, correction?.json))
  if (isNew) {
    if (!matches(request.ifMatch, span)) throw changedSince()
    if (state !== null && !request.force) checkOutput(subject, request, correction?.json ?? output, checks)
  }
  return { request, subject, draft, correction: isNew ? correction : undefined, isNew }
}

/** What a decision leaves a span as. */
interface Verdict {
  state: ReviewOutcome | null
  /** The approved output, where it is what the span has already. */
  approved: StoredValue | null
  correction: { traceKey: number; json: string } | undefined
}

function verdictOn({ decision, approvedOutput }: ReviewRequest, { span }: ReviewSubject, output: string): Verdict {
  if (decision === 'reset') return { state: null, approved: null, correction: undefined }
  // Cut where it was read beside too much else.
  const accepted = span.output && (span.output.ref === null ? { text: output, ref: null } : span.output)
  if (decision === 'accept') {
    if (!accepted || output === 'null') throw unprocessable(NO_OUTPUT, 'decision')
    return { state: 'accepted', approved: accepted, correction: undefined }
  }
  const json = approvedOutput ?? 'null'
  if (json === 'null') throw unprocessable(NULL_APPROVED, 'approvedOutput')
  if (accepted && isSameJson(json, output)) return { state: 'accepted', approved: accepted, correction: undefined }
  return { state: 'corrected', approved: null, correction: { traceKey: span.row.traceKey, json } }
}

/** Whether two JSON texts, both as `JSON.stringify` writes them, have the same value. */
const isSameJson = (left: string, right: string): boolean =>
  left === right ||
  (left.length === right.length && canonicalJson(JSON.parse(left)) === canonicalJson(JSON.parse(right)))

/** Whether a decision is the last one over again, so that a request whose answer was lost leaves one entry in the history. */
async function isRepeated(
  store: Store,
  act: Act,
  { decision: last, approved }: FoldedSpan,
  draft: ReviewDraft,
  correction: string | undefined,
): Promise<boolean> {
  const isSame =
    last?.decision === draft.decision &&
    last.userId === (act.userId ?? act.keyId) &&
    last.outputRevision === draft.outputRevision &&
    last.comment === draft.comment &&
    last.errorType === draft.errorType
  if (!isSame || correction === undefined) return isSame
  if (!approved || approved.isCut) return false
  const text = approved.ref === null ? approved.text : (await fetchValues(store, [approved])).get(approved)
  return text === correction
}

/** Whether `If-Match` lets a request pass (RFC 9110, section 13.1.1). A proxy that compresses an answer marks its tag as weak. */
function matches(ifMatch: string | undefined, span: FoldedSpan): boolean {
  if (ifMatch === undefined) return true
  const tags = ifMatch.split(',').map(tag => tag.trim().replace(/^W\//, ''))
  return tags.some(tag => tag === '*' || tag.replace(/^"(.*)"$/, '$1') === revisionOf(span))
}

/** 422 with the paths where an approved output breaks the schema of its step. */
function checkOutput(
  { outputSchema }: ReviewSubject,
  { decision }: ReviewRequest,
  json: string,
  checks: Map<string, OutputCheck>,
): void {
  if (outputSchema === null) return
  const check = checks.get(outputSchema) ?? outputCheck(outputSchema)
  checks.set(outputSchema, check)
  const value: Json = JSON.parse(json)
  const faults = check(value, decision === 'accept' ? 'output' : 'approvedOutput')
  if (faults.length > 0) throw unprocessableFields(BREAKS_SCHEMA, faults)
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
      userId: act.userId ?? act.keyId ?? '',
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
