import { newId } from '../domain/ids.ts'
import type { OutputChecks } from '../domain/output-schema.ts'
import { type Decision, hashOutput, isSameOutput, type ReviewOutcome } from '../domain/review-state.ts'
import { utf8Length } from '../domain/text.ts'
import { inTurns } from '../domain/turns.ts'
import { isoTime } from '../http/atoms.ts'
import { changedSince, heldByOther, unprocessable, unprocessableFields } from '../http/errors.ts'
import { type Act, actorOf } from '../store/accounts/audit.ts'
import type { ReviewDraft, ReviewSubject } from '../store/reviews/reviews.ts'
import type { FoldedSpan } from '../store/spans/fold-spans.ts'
import { revisionOf } from '../store/spans/span-detail.ts'
import { type FoundValue, lengthOf, type StoredValue } from '../store/traces/payloads.ts'

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
  /** Whether to decide although somebody else holds the span. */
  takeOver: boolean
  /** The `etag`s of which the span must have one; undefined: it may have any. */
  ifMatch: string | undefined
}

const NO_OUTPUT = 'The span has no output to accept'
const NULL_APPROVED = 'null means unreviewed: use the decision reset'
const UNCHECKED = "The approved output can't be checked by the step's outputSchema; `force` approves it nevertheless"
export const BREAKS_SCHEMA = "The approved output breaks the step's outputSchema; `force` approves it nevertheless"

/** A request that its span allows. */
export interface Judged {
  request: ReviewRequest
  subject: ReviewSubject
  draft: ReviewDraft
  /** An approved output of the reviewer's own, which needs a place. */
  correction: { traceKey: number; json: string } | undefined
  /** False where the last decision is the same one, by the same reviewer: a request that was sent again. */
  isNew: boolean
}

/**
 * The approved output in R2 that must be read to tell whether a request is the last one over again. What is equal is equally
 * long: so what is read is no more than what was sent.
 */
export function comparedValue(act: Act, request: ReviewRequest, { span }: ReviewSubject): FoundValue | undefined {
  const { approved } = span
  if (request.decision !== 'correct' || !approved || approved.ref === null || !isByTheSame(act, request, span)) return
  return lengthOf(approved) === utf8Length(request.approvedOutput ?? '') ? approved : undefined
}

/** What a request is judged by: the span's output, and what `comparedValue` names. */
interface Values {
  output: string
  approved: string | undefined
}

/** What a request comes to on a span with these values. 409 where somebody else holds the span, 412 where the span is another one by now, 422 where it cannot be. */
export async function judge(
  act: Act,
  request: ReviewRequest,
  subject: ReviewSubject,
  { output, approved: compared }: Values,
  checks: OutputChecks,
): Promise<Judged> {
  const { span } = subject
  const { state, approved, correction } = await verdictOn(request, subject, output)
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
    takesOver: request.takeOver,
  }
  const isNew = !(await isRepeated(act, request, span, { draft, correction: correction?.json, compared }))
  if (isNew) {
    requireFree(act, request, span)
    if (!matches(request.ifMatch, span)) throw changedSince()
    if (state !== null && !request.force) await checkOutput(subject, request, correction?.json ?? output, checks)
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

async function verdictOn(
  { decision, approvedOutput }: ReviewRequest,
  { span }: ReviewSubject,
  output: string,
): Promise<Verdict> {
  if (decision === 'reset') return { state: null, approved: null, correction: undefined }
  // Cut where it was read beside too much else.
  const accepted = span.output && (span.output.ref === null ? { text: output, ref: null } : span.output)
  if (decision === 'accept') {
    if (!accepted || output === 'null') throw unprocessable(NO_OUTPUT, 'decision')
    return { state: 'accepted', approved: accepted, correction: undefined }
  }
  const json = approvedOutput ?? 'null'
  if (json === 'null') throw unprocessable(NULL_APPROVED, 'approvedOutput')
  if (accepted && (await isSameOutput(json, output)))
    return { state: 'accepted', approved: accepted, correction: undefined }
  return { state: 'corrected', approved: null, correction: { traceKey: span.row.traceKey, json } }
}

/** 409 with who holds a span and until when, unless the request takes it over. */
function requireFree(act: Act, { takeOver }: ReviewRequest, { row: { claimedBy, claimedUntil } }: FoldedSpan): void {
  const isHeld = claimedBy !== null && claimedBy !== actorOf(act) && (claimedUntil ?? 0) > act.at
  if (isHeld && !takeOver) throw heldByOther({ heldBy: claimedBy, until: isoTime(claimedUntil ?? 0) })
}

/**
 * Whether a decision is the last one over again, on an equal output and with an equal value, however it is spelled: it counts
 * once. Another comment or error type makes it another one; no comment takes none back.
 */
async function isRepeated(
  act: Act,
  request: ReviewRequest,
  span: FoldedSpan,
  { draft, correction, compared }: { draft: ReviewDraft; correction: string | undefined; compared: string | undefined },
): Promise<boolean> {
  const { decision: last, approved } = span
  const isSame =
    last?.decision === draft.decision && last.outputHash === draft.outputHash && isByTheSame(act, request, span)
  if (!isSame || correction === undefined) return isSame
  if (!approved || approved.isCut) return false
  const text = approved.ref === null ? approved.text : compared
  return text !== undefined && isSameOutput(text, correction)
}

/** Whether the last decision is by the same reviewer and says the same of an output that has not changed. */
const isByTheSame = (act: Act, { comment, errorType }: ReviewRequest, { row, decision: last }: FoldedSpan): boolean =>
  last?.userId === actorOf(act) &&
  row.isStale === 0 &&
  (comment === null || last.comment === comment) &&
  last.errorType === errorType

/** Whether `If-Match` lets a request pass (RFC 9110, section 13.1.1). A proxy that compresses an answer marks its tag as weak. */
function matches(ifMatch: string | undefined, span: FoldedSpan): boolean {
  if (ifMatch === undefined) return true
  const tags = ifMatch.split(',').map(tag => tag.trim().replace(/^W\//, ''))
  return tags.some(tag => tag === '*' || tag.replace(/^"(.*)"$/, '$1') === revisionOf(span))
}

/** 422 with the paths where an approved output breaks the schema of its step, or with why that can't be said. */
async function checkOutput(
  { outputSchema }: ReviewSubject,
  { decision }: ReviewRequest,
  json: string,
  checks: OutputChecks,
): Promise<void> {
  if (outputSchema === null) return
  const field = decision === 'accept' ? 'output' : 'approvedOutput'
  const result = await inTurns(checks.check(outputSchema, json, field))
  if ('unchecked' in result)
    throw unprocessableFields(UNCHECKED, [{ path: field, message: `cannot be checked: ${result.unchecked}` }])
  if (result.faults.length > 0) throw unprocessableFields(BREAKS_SCHEMA, result.faults)
}
