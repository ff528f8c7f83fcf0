import type { Caller } from '../auth/authenticate.ts'
import { requireProject } from '../auth/require-project.ts'
import { turnsByLength } from '../domain/turns.ts'
import type { Job, Runtime } from '../env.ts'
import { ApiError, findApiError, forbidden, notFound, tooLarge, unavailable, unprocessable } from '../http/errors.ts'
import { MAX_JUDGED_BYTES, MAX_JUDGED_BYTES_AT_ONCE } from '../limits.ts'
import type { Act } from '../store/accounts/audit.ts'
import { foreignSpans } from '../store/accounts/ownership.ts'
import { changeSome } from '../store/core/across.ts'
import type { Store, UnscopedStore } from '../store/core/store.ts'
import { findReviewSubjects, type ReviewSubject, type ReviewSubjects } from '../store/reviews/reviews.ts'
import type { FoldedSpan } from '../store/spans/fold-spans.ts'
import type { LocatedSpan } from '../store/spans/located-spans.ts'
import type { Forms } from '../store/spans/shared-review.ts'
import { isVoteCut } from '../store/spans/vote-rows.ts'
import { fetchOutputs } from '../store/spans/whole-outputs.ts'
import { countWithin, type FoundValue, fetchValues, lengthOf } from '../store/traces/payloads.ts'
import { groupBySpan } from '../store/traces/placed.ts'
import { type Directed, direct, partnerOf, type ReviewRequest, withPartners } from './direct.ts'
import type { ImportResult, Values } from './judge.ts'

/* Reviews and suggestions are judged in rounds. Each round uses the spans as they are when it starts. */

/** Why a reviewer can't name an error type. */
const ERROR_TYPE_MESSAGES = {
  unknown: 'There is no such error type',
  disabled: 'This error type is disabled in this project',
}

const TOO_MUCH_OUTPUT = `One call can review outputs of up to ${MAX_JUDGED_BYTES / 1024 ** 2} MiB in total; send the rest in another call`

export interface Scope {
  caller: Caller
  store: Store
  unscoped: UnscopedStore
  act: Act
  enqueue: (...jobs: Job[]) => Promise<boolean>
  runtime: Runtime
}

/** A span after a request. `import` is only for imported decisions. */
export type ReviewedSpan = LocatedSpan & { import?: ImportResult | undefined }

/** The results of requests. */
export type Outcomes = Map<ReviewRequest, ReviewedSpan | ApiError>

/**
 * Runs rounds in one database after another until each request has an outcome. 413 for requests that are left after
 * `MAX_JUDGED_BYTES` of outputs were read.
 */
export async function inRounds(
  scope: Scope,
  requests: readonly ReviewRequest[],
  runRound: (scope: Scope, open: readonly ReviewRequest[]) => Promise<{ outcomes: Outcomes; bytes: number }>,
): Promise<(ReviewedSpan | ApiError)[]> {
  const outcomes: Outcomes = new Map()
  let judgedBytes = 0
  const runIn = async (store: Store, own: readonly ReviewRequest[]) => {
    let open = own
    while (open.length > 0 && judgedBytes < MAX_JUDGED_BYTES) {
      const round = await runRound({ ...scope, store }, open)
      for (const [request, outcome] of round.outcomes) outcomes.set(request, outcome)
      judgedBytes += round.bytes
      open = open.filter(request => !outcomes.has(request))
    }
  }
  // Only one database's outputs fit into memory at a time.
  let last: Promise<unknown> = Promise.resolve()
  await changeSome(
    await groupBySpan(scope.store, requests, ({ spanId }) => spanId),
    (store, own) => {
      const turn = last.then(() => runIn(store, own))
      last = turn.catch(() => {})
      return turn
    },
    (own, error) => {
      const failure = findApiError(error)
      for (const request of own) if (failure && !outcomes.has(request)) outcomes.set(request, failure)
    },
  )
  return requests.map(request => outcomes.get(request) ?? tooLarge(TOO_MUCH_OUTPUT))
}

/** What's needed to judge a round of requests. */
interface Round {
  found: ReviewSubjects
  /** The requests whose outputs fit into memory together. */
  requests: readonly ReviewRequest[]
  outputs: ReadonlyMap<FoldedSpan, string>
  /** The size of the outputs. */
  bytes: number
}

/** Reads the spans of the next requests, with their outputs. */
export async function readRound({ store, act }: Scope, pending: readonly ReviewRequest[]): Promise<Round> {
  const spanIds = pending.map(({ spanId }) => spanId)
  const namedTypes = pending.flatMap(({ errorType }) => errorType ?? [])
  const named = await findReviewSubjects(store, spanIds, namedTypes, act.at)
  const found = await withPartners(store, pending, named, act.at)
  const spansOf = (request: ReviewRequest) =>
    [found.subjects.get(request.spanId), partnerOf(request, found)].flatMap(subject => subject?.span ?? [])
  const valuesOf = (request: ReviewRequest) =>
    spansOf(request).flatMap(({ output, votes = [] }) => [output, ...votes.map(({ value }) => value)])
  const sizes = pending.map(request => valuesOf(request).reduce((sum, value) => sum + (value ? lengthOf(value) : 0), 0))
  // The first request's votes are never truncated.
  const firstCut = pending.findIndex(request => spansOf(request).some(({ votes = [] }) => votes.some(isVoteCut)))
  const readable = firstCut > 0 ? pending.slice(0, firstCut) : pending
  const requests = readable.slice(0, countWithin(sizes, MAX_JUDGED_BYTES_AT_ONCE))
  const outputs = await fetchOutputs(store, [...new Set(requests.flatMap(spansOf))])
  const bytes = sizes.slice(0, requests.length).reduce((sum, size) => sum + size, 0)
  return { found, requests, outputs, bytes }
}

/** How to judge the requests of a round. */
interface Judging<Judged> {
  /** The values in R2 that a request is compared with. */
  comparedValues: (to: Directed) => readonly FoundValue[]
  judge: (to: Directed, values: Values) => Promise<Judged>
}

/**
 * Checks requests one after another, and lets other HTTP requests run in between. Adds the errors of individual
 * requests to `outcomes`.
 */
export async function judgeAll<Judged>(
  { caller, store, unscoped }: Scope,
  { requests, found, outputs }: Round,
  outcomes: Outcomes,
  { comparedValues, judge }: Judging<Judged>,
): Promise<Judged[]> {
  const { subjects, errorTypeState } = found
  const missing = requests.map(({ spanId }) => spanId).filter(spanId => !subjects.has(spanId))
  const foreign = missing.length === 0 ? new Set() : await foreignSpans(unscoped, store.organization, missing)
  const named = new Set(requests.map(({ spanId }) => spanId))
  const directed = requests.map(request => direct(request, found, outputs))
  const compared = await fetchValues(
    store,
    directed.flatMap(to => (to ? comparedValues(to) : [])),
  )
  const judged: Judged[] = []
  const giveTurns = turnsByLength()
  for (const [index, asked] of requests.entries()) {
    try {
      const to = directed[index]
      if (!to) throw foreign.has(asked.spanId) ? forbidden() : notFound()
      const { request, subject, root, sharingRoot } = to
      // The other request decides first. The next round checks this request against the result.
      if (root && named.has(request.spanId)) continue
      requireProject(caller, subject.trace.projectKey)
      const output = outputs.get(subject.span)
      if (output === undefined) throw unavailable(1, new Error("the reviewed span's stored object is missing"))
      const typeState = request.errorType && errorTypeState(subject.trace.projectKey, request.errorType)
      if (typeState && typeState !== 'enabled') throw unprocessable(ERROR_TYPE_MESSAGES[typeState], 'errorType')
      await giveTurns(output.length)
      const values = {
        output,
        compared,
        rootOutput: sharingRoot && outputs.get(sharingRoot.span),
      }
      judged.push(await judge(to, values))
    } catch (error) {
      if (!(error instanceof ApiError) || error.status === 503) throw error
      outcomes.set(asked, error)
    }
  }
  return judged
}

/** The forms of the outputs of a root and of the span that it's reviewed with, if there is one. */
export function formsOf(
  root: ReviewSubject | undefined,
  reviewed: ReviewSubject | undefined,
  { outputs }: Round,
): Forms | undefined {
  const [from, to] = [reviewed && outputs.get(reviewed.span), root && outputs.get(root.span)]
  return from === undefined || to === undefined ? undefined : { from, to }
}
