import type { Caller } from '../auth/authenticate.ts'
import { newId } from '../domain/ids.ts'
import type { OutputChecks } from '../domain/output-schema.ts'
import { hashOutput, isSameOutput, type ReviewOutcome } from '../domain/review-state.ts'
import { inFormOf } from '../domain/shared-text.ts'
import { utf8Length } from '../domain/text.ts'
import { inTurns } from '../domain/turns.ts'
import { isoTime } from '../http/atoms.ts'
import { changedSince, heldByOther, noPlaceLeft, unprocessable, unprocessableFields } from '../http/errors.ts'
import { type Act, actorOf } from '../store/accounts/audit.ts'
import type { Viewer } from '../store/core/store.ts'
import type { ReviewDraft, ReviewSubject } from '../store/reviews/reviews.ts'
import type { VoteDraft } from '../store/reviews/votes.ts'
import type { FoldedSpan } from '../store/spans/fold-spans.ts'
import { isDecided, isStanding, isVeiled, latestVotes } from '../store/spans/vote-rows.ts'
import { type FoundValue, lengthOf, type StoredValue } from '../store/traces/payloads.ts'
import type { Directed, ReviewRequest } from './direct.ts'

const NO_OUTPUT = 'The span has no output to accept'
const NULL_APPROVED = 'null means unreviewed; to undo a review, send the decision `reset`'
const UNCHECKED =
  "The approved output can't be checked against the step's outputSchema; set `force` to approve it anyway"
export const SCHEMA_MISMATCH =
  "The approved output doesn't match the step's outputSchema; set `force` to approve it anyway"

/**
 * The effect of an imported decision: `added`, or none, because the span already has it (`repeated`) or has another
 * decision that isn't older (`outdated`).
 */
export type ImportResult = 'added' | 'repeated' | 'outdated'

/** A request that's valid for its span. */
export interface Judged extends Directed {
  /** The decision. Undefined if the request is a vote that leaves the span undecided. */
  draft: Omit<ReviewDraft, 'entries' | 'isUnsettled' | 'vote'> | undefined
  /** The vote that the request casts, if several people review the span. */
  vote: Omit<VoteDraft, 'approved'> | undefined
  /** The reviewer's own approved output, which needs to be stored. */
  correction: { folder: number; json: string } | undefined
  /** The JSON of the decision's approved output, if it isn't the span's output. */
  corrected: string | undefined
  /** False if it repeats the same reviewer's last decision or vote, for example because the request was sent twice. */
  isNew: boolean
  /** Undefined if the decision isn't imported. */
  importResult: ImportResult | undefined
}

/** Who makes a decision, and when. */
const decisionBy = (act: Act, { imported }: ReviewRequest): { userId: string; at: number } =>
  imported ?? { userId: actorOf(act) ?? '', at: act.at }

/**
 * The approved output to read from R2, if it's needed to check whether a request repeats the last decision. Only an
 * output of the same length can be equal, so this never reads more than was sent.
 */
export function comparedValues(act: Act, request: ReviewRequest, { span }: ReviewSubject): FoundValue[] {
  const { approved } = span
  if (request.decision !== 'correct' || !approved || approved.ref === null || !matchesLastDecision(act, request, span))
    return []
  return lengthOf(approved) === utf8Length(request.approvedOutput ?? '') ? [approved] : []
}

/** The values that a request is checked against: the span's output, and the values from `comparedValues`. */
export interface Values {
  output: string
  compared: ReadonlyMap<FoundValue, string>
  /** The output of the root that shares the span's text. */
  rootOutput: string | undefined
}

/**
 * Checks a request against a span with these values. 409 if somebody else holds the span, 412 if the span has changed,
 * 422 if the request is impossible.
 */
export async function judge(
  { act, caller, store }: { act: Act; caller: Pick<Caller, 'isAdjudicator'>; store: Viewer },
  directed: Directed,
  { output, compared, rootOutput }: Values,
  checks: OutputChecks,
): Promise<Judged> {
  const { request, subject, revision } = directed
  const { span, voting } = subject
  const { state, approved, correction } = await verdictOn(request, subject, output)
  const { userId, at } = decisionBy(act, request)
  const isVotedOn = !isDecided(span) && latestVotes(span, span.votes ?? []).some(isStanding)
  const isAdjudicated = caller.isAdjudicator && !request.imported && state !== null && isVotedOn
  const draft: NonNullable<Judged['draft']> = {
    id: newId(),
    projectKey: subject.trace.projectKey,
    traceKey: span.row.traceKey,
    spanId: span.row.id,
    numberBefore: span.row.reviewNumber,
    voteNumberBefore: span.row.voteNumber,
    idBefore: span.decision?.id ?? null,
    decision: state === 'accepted' ? 'accept' : request.decision,
    state,
    outputRevision: span.outputRevision,
    outputHash: await hashOutput(output),
    approved,
    comment: request.comment,
    errorType: request.errorType,
    canBeShared: canBeShared(correction?.json, { output, rootOutput }),
    takesOver: request.takeOver,
    userId,
    createdAt: at,
    importedAt: request.imported ? act.at : null,
    basis: isAdjudicated ? 'adjudication' : null,
    endsVoting: span.row.voteNumber > 0 || voting.reviewers > 1,
  }
  const approvedJson = span.approved && compared.get(span.approved)
  const isRepetition = await isRepeated(act, request, span, {
    draft,
    correction: correction?.json,
    compared: approvedJson,
  })
  const importResult = request.imported && importResultOf(request.imported.at, span, isRepetition)
  // A second reset isn't a repetition if votes were cast after the first one, because it ends that round of votes.
  const isNew = importResult ? importResult === 'added' : !isRepetition || isVotedOn
  if (isNew) {
    requireFree(store, act, request, span)
    if (!matches(request.ifMatch, revision)) throw changedSince()
    if (state !== null && !request.force) await checkOutput(subject, request, correction?.json ?? output, checks)
  }
  return {
    ...directed,
    draft,
    vote: undefined,
    correction: isNew ? correction : undefined,
    corrected: correction?.json,
    isNew,
    importResult,
  }
}

/**
 * Whether an approved output can be written in the form of the root with the same text. If `corrected` is undefined,
 * the approved output is the span's output.
 */
export const canBeShared = (
  corrected: string | undefined,
  { output, rootOutput }: Pick<Values, 'output' | 'rootOutput'>,
): boolean =>
  rootOutput === undefined ||
  corrected === undefined ||
  inFormOf(corrected, { from: output, to: rootOutput }) !== undefined

/**
 * An imported decision never replaces one that isn't older. Importing the same rows again, in any order, therefore
 * changes nothing.
 */
function importResultOf(at: number, { decision: last }: FoldedSpan, isRepetition: boolean): ImportResult {
  if (!last || last.createdAt < at) return 'added'
  return isRepetition && last.createdAt === at ? 'repeated' : 'outdated'
}

/** The state in which a decision leaves a span. */
interface Verdict {
  state: ReviewOutcome | null
  /** The approved output, if the span already has this value. */
  approved: StoredValue | null
  correction: { folder: number; json: string } | undefined
}

/** Determines the state in which a decision leaves a span. 422 if the request is impossible. */
export async function verdictOn(
  { decision, approvedOutput }: ReviewRequest,
  { span }: ReviewSubject,
  output: string,
): Promise<Verdict> {
  if (decision === 'reset') return { state: null, approved: null, correction: undefined }
  // The text may have been truncated because it was read together with large values.
  const accepted = span.output && (span.output.ref === null ? { text: output, ref: null } : span.output)
  if (decision === 'accept') {
    if (!accepted || output === 'null') throw unprocessable(NO_OUTPUT, 'decision')
    return { state: 'accepted', approved: accepted, correction: undefined }
  }
  const json = approvedOutput ?? 'null'
  if (json === 'null') throw unprocessable(NULL_APPROVED, 'approvedOutput')
  if (accepted && (await isSameOutput(json, output)))
    return { state: 'accepted', approved: accepted, correction: undefined }
  return { state: 'corrected', approved: null, correction: { folder: span.row.traceKey, json } }
}

/**
 * 409 with the holder and end of another reviewer's claim, unless the request takes the span over. Under a blind
 * policy, the error says nothing about the claim.
 */
function requireFree(viewer: Viewer, act: Act, { takeOver }: ReviewRequest, span: FoldedSpan): void {
  const { claimedBy, claimedUntil } = span.row
  const isHeld = claimedBy !== null && claimedBy !== actorOf(act) && (claimedUntil ?? 0) > act.at
  if (!isHeld || takeOver) return
  throw isVeiled(viewer, span) ? noPlaceLeft() : heldByOther({ heldBy: claimedBy, until: isoTime(claimedUntil ?? 0) })
}

/**
 * Whether a decision repeats the last one, on an equal output and with an equal value, however they're serialized. A
 * repeated decision is recorded only once. A different comment or error type makes it a new decision; omitting the
 * comment doesn't.
 */
async function isRepeated(
  act: Act,
  request: ReviewRequest,
  span: FoldedSpan,
  {
    draft,
    correction,
    compared,
  }: { draft: NonNullable<Judged['draft']>; correction: string | undefined; compared: string | undefined },
): Promise<boolean> {
  const { decision: last, approved } = span
  const isSame =
    last?.decision === draft.decision && last.outputHash === draft.outputHash && matchesLastDecision(act, request, span)
  if (!isSame || correction === undefined) return isSame
  if (!approved || approved.isCut) return false
  const text = approved.ref === null ? approved.text : compared
  return text !== undefined && isSameOutput(text, correction)
}

/**
 * Whether the same reviewer made the last decision, with the same comment and type, and the output hasn't changed
 * since.
 */
const matchesLastDecision = (act: Act, request: ReviewRequest, { row, decision: last }: FoldedSpan): boolean =>
  last?.userId === decisionBy(act, request).userId &&
  row.isStale === 0 &&
  (request.comment === null || last.comment === request.comment) &&
  last.errorType === request.errorType

/**
 * Whether `If-Match` permits a request (RFC 9110, section 13.1.1). Weak tags also match, because a compressing proxy
 * marks tags as weak.
 */
export function matches(ifMatch: string | undefined, revision: string): boolean {
  if (ifMatch === undefined) return true
  const tags = ifMatch.split(',').map(tag => tag.trim().replace(/^W\//, ''))
  return tags.some(tag => tag === '*' || tag.replace(/^"(.*)"$/, '$1') === revision)
}

/**
 * 422 with the paths where an approved output violates its step's schema, or with the reason why it can't be checked.
 */
export async function checkOutput(
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
  if (result.faults.length > 0) throw unprocessableFields(SCHEMA_MISMATCH, result.faults)
}
