import type { Caller } from '../auth/authenticate.ts'
import { Enumerated } from '../domain/enumerated.ts'
import type { Evaluator } from '../domain/evaluator.ts'
import { newId } from '../domain/ids.ts'
import { judge as judgeOutput } from '../domain/outcome.ts'
import type { OutputChecks } from '../domain/output-schema.ts'
import { hashOutput } from '../domain/review-state.ts'
import { turnsByLength } from '../domain/turns.ts'
import { type Ballot, dependsOnValues, votingState } from '../domain/voting.ts'
import { isoTime } from '../http/atoms.ts'
import { changedSince, heldByOther, noPlaceLeft, unavailable, unprocessable } from '../http/errors.ts'
import { type Act, actorOf } from '../store/accounts/audit.ts'
import type { ReviewSubject } from '../store/reviews/reviews.ts'
import {
  byTime,
  isDecided,
  isStanding,
  latestVotes,
  type StandingVote,
  type VoteRow,
} from '../store/spans/vote-rows.ts'
import type { FoundValue } from '../store/traces/payloads.ts'
import type { Directed, ReviewRequest } from './direct.ts'
import { canBeShared, checkOutput, type Judged, matches, type Values, verdictOn } from './judge.ts'

/*
 * If a step needs several reviewers, a person's request on an undecided span is a vote. If a vote completes a round and
 * all the round's votes agree, the first voter's decision becomes the span's.
 */

const noForm = (spanId: string) =>
  `This root shares its review with a span below it, which several people review, and the correction can't be converted to that span's form; correct ${spanId} instead`

/** Whether a request is a vote. An adjudicator's decision or an imported one isn't a vote. */
export function isVote(caller: Caller, { request, subject, formless }: Directed): boolean {
  if (request.imported || caller.isAdjudicator) return false
  // A root is reviewed in the same way as the span with its text, even if a correction applies only to the root.
  return isOpen(formless ?? subject) && (!formless || isOpen(subject))
}

/** Whether several people review a span that isn't decided yet. */
const isOpen = ({ span, voting }: ReviewSubject): boolean => voting.reviewers > 1 && !isDecided(span)

/** Other people's votes on a span, and the reviewer's own vote, which may be withdrawn. */
function votesOn({ span }: ReviewSubject, act: Act): { own: VoteRow | undefined; others: StandingVote[] } {
  const votes = latestVotes(span, span.votes ?? [])
  const isOwn = ({ userId }: VoteRow) => userId === actorOf(act)
  return { own: votes.find(isOwn), others: votes.filter(vote => !isOwn(vote)).filter(isStanding) }
}

/** The corrections in R2 that need to be read to see whether all votes agree, if a vote may be the last one. */
export function valuesToCompare(act: Act, { request, subject }: Directed): FoundValue[] {
  const { others } = votesOn(subject, act)
  if (request.decision !== 'correct' || others.length + 1 < subject.voting.reviewers || !dependsOnValues(others))
    return []
  return others.flatMap(({ value }) => (value && value.ref !== null ? value : []))
}

/** A vote of the round, with its correction as JSON if it was read. */
interface Cast extends Ballot {
  id: string
  createdAt: number
  row: StandingVote | undefined
  json: string | undefined
}

/**
 * Checks a vote like a decision. 409 if all votes are in, or if others have claimed the remaining places. A reviewer
 * may always change their own vote.
 */
export async function judgeVote(act: Act, directed: Directed, values: Values, checks: OutputChecks): Promise<Judged> {
  const { request, subject, formless, revision } = directed
  if (formless) throw unprocessable(noForm(formless.span.row.id), 'approvedOutput')
  const { span, voting } = subject
  const { own, others } = votesOn(subject, act)
  const { state, approved, correction } = await verdictOn(request, subject, values.output)
  const decision = state === 'accepted' ? 'accept' : request.decision
  const approvedHash = correction ? await hashOutput(correction.json) : null
  const unchanged = { ...directed, draft: undefined, vote: undefined, correction: undefined, corrected: undefined }
  if (isRepeated(request, { decision, approvedHash }, own))
    return { ...unchanged, isNew: false, importResult: undefined }
  const isChange = own !== undefined && isStanding(own)
  if (!isChange) requirePlace(act, request, subject, others.length)
  if (!matches(request.ifMatch, revision)) throw changedSince()
  if (decision !== 'reset' && !request.force)
    await checkOutput(subject, request, correction?.json ?? values.output, checks)
  const cast: Cast[] = others.map(row => ({ ...row, row, json: jsonOf(row.value, values) }))
  const id = newId()
  if (decision !== 'reset')
    cast.push({ id, createdAt: act.at, decision, approvedHash, row: undefined, json: correction?.json })
  // Another vote may have been stored first, although its request began later.
  cast.sort(byTime)
  const outcome = await votingState(cast, voting.reviewers, comparison(subject))
  const vote: NonNullable<Judged['vote']> = {
    id,
    projectKey: subject.trace.projectKey,
    traceKey: span.row.traceKey,
    spanId: span.row.id,
    round: span.row.reviewNumber,
    voteNumberBefore: span.row.voteNumber,
    idBefore: own?.id ?? null,
    outputRevision: span.outputRevision,
    outputHash: await hashOutput(values.output),
    decision,
    approvedHash,
    comment: request.comment,
    errorType: request.errorType,
    reviewers: voting.reviewers,
    isBlind: voting.isBlind,
    isSampled: voting.isSampled,
    takesOver: isChange || request.takeOver,
    others: others.length,
    placesLeft: voting.reviewers - cast.length,
    isDisputed: outcome === 'disputed',
  }
  const judged = { ...directed, vote, correction, isNew: true, importResult: undefined }
  const [first] = cast
  if (outcome !== 'decided' || !first) return { ...judged, draft: undefined, corrected: undefined }
  const firstNamed = (field: 'comment' | 'errorType') =>
    cast.map(({ row }) => (row ?? request)[field]).find(named => named !== null) ?? null
  const isCorrected = first.decision === 'correct'
  // If the first vote's value wasn't read, it's equal to this request's correction.
  const corrected = isCorrected ? (first.json ?? correction?.json) : undefined
  const draft: Judged['draft'] = {
    id: newId(),
    projectKey: vote.projectKey,
    traceKey: vote.traceKey,
    spanId: vote.spanId,
    numberBefore: vote.round,
    voteNumberBefore: vote.voteNumberBefore,
    idBefore: span.decision?.id ?? null,
    decision: first.decision,
    state: isCorrected ? 'corrected' : 'accepted',
    outputRevision: vote.outputRevision,
    outputHash: vote.outputHash,
    approved: isCorrected ? (first.row?.value ?? null) : approved,
    comment: firstNamed('comment'),
    errorType: firstNamed('errorType'),
    canBeShared: canBeShared(corrected, values),
    takesOver: vote.takesOver,
    userId: first.row?.userId ?? actorOf(act) ?? '',
    createdAt: cast.at(-1)?.createdAt ?? act.at,
    importedAt: null,
    basis: 'votes',
    endsVoting: true,
  }
  return { ...judged, draft, corrected }
}

/** Whether a vote repeats the reviewer's own vote. A withdrawal is a repetition if there is nothing to withdraw. */
function isRepeated(
  { comment, errorType }: ReviewRequest,
  { decision, approvedHash }: { decision: VoteRow['decision']; approvedHash: string | null },
  own: VoteRow | undefined,
): boolean {
  if (decision === 'reset') return !own || !isStanding(own)
  return (
    own?.decision === decision &&
    own.approvedHash === approvedHash &&
    (comment === null || own.comment === comment) &&
    own.errorType === errorType
  )
}

/**
 * 409 if the span already has enough other reviewers. Under a blind policy, the error says nothing about them.
 */
function requirePlace(act: Act, { takeOver }: ReviewRequest, { voting }: ReviewSubject, others: number): void {
  const { reviewers, isBlind } = voting
  const claims = voting.claims.filter(({ heldBy }) => heldBy !== actorOf(act))
  if (others + claims.length < reviewers || (takeOver && others < reviewers)) return
  const [first] = claims.toSorted((left, right) => left.until - right.until)
  if (isBlind || !first || others >= reviewers) throw noPlaceLeft()
  throw heldByOther({ heldBy: first.heldBy, until: isoTime(first.until) })
}

const jsonOf = (value: FoundValue | undefined, { compared }: Values): string | undefined =>
  value && (value.ref === null ? value.text : compared.get(value))

/** Returns a function that compares two corrections according to the step's evaluator. */
function comparison({ voting, outputSchema }: ReviewSubject) {
  const evaluator: Evaluator = JSON.parse(voting.evaluator ?? '{}')
  const giveTurns = turnsByLength()
  let schema: Enumerated | undefined
  return async ({ json: left }: Cast, { json: right }: Cast): Promise<boolean> => {
    if (left === undefined || right === undefined)
      throw unavailable(1, new Error("the vote's stored object is missing"))
    await giveTurns(left.length + right.length)
    if (outputSchema !== null) schema ??= Enumerated.by(JSON.parse(outputSchema))
    return judgeOutput(JSON.parse(left), [JSON.parse(right)], { evaluator, schema }).outcome === 'passed'
  }
}
