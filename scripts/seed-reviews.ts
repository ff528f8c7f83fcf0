import * as v from 'valibot'
import { rootSpanUuid } from '../src/domain/ids.ts'
import { MAX_REVIEWS } from '../src/limits.ts'
import { call } from './call.ts'
import { type DemoPlace, type DemoProject, REVIEWERS } from './demo/index.ts'
import { ADJUDICATOR } from './demo/votes.ts'

/** The keys of the demo's reviewers, by email. */
export type ReviewerKeys = ReadonlyMap<string, string>

const Users = v.object({ users: v.array(v.object({ id: v.string(), email: v.string() })) })
const WithKey = v.object({ key: v.string() })
const Results = v.object({ results: v.array(v.object({ status: v.number(), body: v.unknown() })) })

/**
 * Creates the reviewers, and for each reviewer a key that acts for them. The keys expire within an hour, because they
 * aren't saved.
 */
export async function makeReviewers(url: string, owner: string): Promise<ReviewerKeys> {
  const expiresAt = new Date(Date.now() + HOUR_MS).toISOString()
  const keys = new Map<string, string>()
  for (const reviewer of REVIEWERS) {
    const fields = { scopes: ['read', 'review'], expiresAt }
    keys.set(reviewer.email, await makeKeyFor(url, owner, reviewer, fields))
  }
  return keys
}

/** Creates the key that opens the app. It acts for the first reviewer, and has every scope that the demo needs. */
export const makeReviewerKey = (url: string, owner: string): Promise<string> =>
  makeKeyFor(url, owner, REVIEWERS[0], { scopes: ['ingest', 'read', 'review', 'manage'] })

/** Creates a key that acts for a reviewer. If the reviewer doesn't exist yet, creates the reviewer first. */
async function makeKeyFor(
  url: string,
  owner: string,
  reviewer: { name: string; email: string },
  fields: object,
): Promise<string> {
  const isAdjudicator = reviewer.email === ADJUDICATOR
  await call(url, owner, 'POST', '/api/users', { ...reviewer, ...(isAdjudicator && { adjudicator: true }) })
  const { users } = v.parse(Users, await call(url, owner, 'GET', '/api/users?limit=200'))
  const user = users.find(({ email }) => email === reviewer.email)
  if (!user) throw new Error(`The demo has no user ${reviewer.email}`)
  const request = { name: `Demo: ${reviewer.name}`, userId: user.id, ...fields }
  return v.parse(WithKey, await call(url, owner, 'POST', '/api/api-keys', request)).key
}

const HOUR_MS = 3_600_000

/** Where to seed reviews, with which keys, and the offset of the reviews' times from those in the demo's tables. */
interface ReviewTarget {
  /** The key is an owner's key, which may import reviews. */
  project: { id: string; key: string }
  reviewerKeys: ReviewerKeys
  laterBy: number
}

/**
 * Imports a project's reviews with their reviewers and times. Posts comments, and reviews without a time, in their
 * reviewers' names. Leaves anything from an earlier run as it is.
 */
export async function seedReviews(
  url: string,
  { project, reviewerKeys, laterBy }: ReviewTarget,
  { reviews, comments }: DemoProject,
): Promise<void> {
  const keyOf = (reviewer: string): string => reviewerKeys.get(reviewer) ?? ''
  const spanIdOf = async ({ traceId, spanId }: DemoPlace) => spanId ?? (await rootSpanUuid(project.id, traceId))
  const decided = await Promise.all(
    reviews.map(async ({ decisions, ...place }) => ({ decisions, spanId: await spanIdOf(place) })),
  )
  // A call takes one decision per span, so second decisions need another call.
  const turns = Math.max(0, ...decided.map(({ decisions }) => decisions.length))
  for (let turn = 0; turn < turns; turn++) {
    const rows = decided.flatMap(({ spanId, decisions }) => {
      const { reviewer, at = null, ...body } = decisions[turn] ?? {}
      return at === null
        ? []
        : [{ spanId, ...body, source: 'import', by: reviewer, at: new Date(at + laterBy).toISOString() }]
    })
    await postReviews(url, project.key, rows)
  }
  const current = decided.flatMap(({ spanId, decisions }) =>
    decisions.flatMap(({ at, ...decision }) => (at === null ? [{ spanId, ...decision }] : [])),
  )
  for (const [reviewer, own] of Map.groupBy(current, each => each.reviewer)) {
    await postReviews(
      url,
      keyOf(reviewer),
      own.map(({ reviewer: _, ...body }) => body),
    )
  }
  for (const { reviewer, id, content, ...place } of comments) {
    await call(url, keyOf(reviewer), 'POST', `/api/spans/${await spanIdOf(place)}/feedback`, { id, content })
  }
}

const Spans = v.object({
  spans: v.array(v.object({ id: v.string(), review: v.object({ state: v.string() }) })),
})

/**
 * Sets a project's review policy, and posts its votes and the decisions on them in their reviewers' names. Skips spans
 * that an earlier run decided on, because a vote on one of them would be a new decision.
 */
export async function seedVotes(
  url: string,
  { project, reviewerKeys }: Omit<ReviewTarget, 'laterBy'>,
  { slug, policy, votes }: DemoProject,
): Promise<void> {
  await call(url, project.key, 'PUT', `/api/projects/${project.id}/review-policy`, policy)
  const list = `/api/spans?projectSlug=${slug}&review=unreviewed&limit=200&stepId=`
  const open = new Set<string>()
  for (const stepId of new Set(votes.map(vote => vote.stepId))) {
    const { spans } = v.parse(Spans, await call(url, project.key, 'GET', list + stepId))
    for (const { id } of spans) open.add(id)
  }
  for (const [reviewer, own] of Map.groupBy(votes, each => each.reviewer)) {
    const rows = own.flatMap(({ spanId, traceId: _, stepId: __, reviewer: ___, ...body }) =>
      open.has(spanId) ? [{ spanId, ...body }] : [],
    )
    await postReviews(url, reviewerKeys.get(reviewer) ?? '', rows)
  }
}

/** Posts reviews. Throws if one is rejected. */
async function postReviews(url: string, key: string, reviews: object[]): Promise<void> {
  for (let from = 0; from < reviews.length; from += MAX_REVIEWS) {
    const body = { reviews: reviews.slice(from, from + MAX_REVIEWS) }
    const { results } = v.parse(Results, await call(url, key, 'POST', '/api/reviews', body))
    const refused = results.find(({ status }) => status !== 200)
    if (refused) throw new Error(`A review in the demo was rejected: ${JSON.stringify(refused)}`)
  }
}
