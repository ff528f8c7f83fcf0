import * as v from 'valibot'
import { rootSpanUuid } from '../src/domain/ids.ts'
import { MAX_REVIEWS } from '../src/limits.ts'
import { call } from './call.ts'
import { type DemoPlace, type DemoProject, REVIEWERS } from './demo/index.ts'

/** The keys of the demo's reviewers, by email. */
export type ReviewerKeys = ReadonlyMap<string, string>

const Users = v.object({ users: v.array(v.object({ id: v.string(), email: v.string() })) })
const OwnProject = v.object({ projects: v.tuple([v.object({ id: v.string() })]) })
const WithKey = v.object({ key: v.string() })
const Results = v.object({ results: v.array(v.object({ status: v.number(), body: v.unknown() })) })
const History = v.object({ reviews: v.array(v.unknown()) })

/**
 * Creates the reviewers, and a key for each that acts for them. The keys aren't kept, so they expire within an hour.
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

/** Creates a key that acts for a reviewer, and the reviewer if needed. */
async function makeKeyFor(
  url: string,
  owner: string,
  reviewer: { name: string; email: string },
  fields: object,
): Promise<string> {
  await call(url, owner, 'POST', '/api/users', reviewer)
  const { users } = v.parse(Users, await call(url, owner, 'GET', '/api/users?limit=200'))
  const user = users.find(({ email }) => email === reviewer.email)
  if (!user) throw new Error(`The demo has no user ${reviewer.email}`)
  const request = { name: `Demo: ${reviewer.name}`, userId: user.id, ...fields }
  return v.parse(WithKey, await call(url, owner, 'POST', '/api/api-keys', request)).key
}

const HOUR_MS = 3_600_000

/** Posts a project's reviews and comments, each in its reviewer's name. Anything from an earlier run is kept. */
export async function seedReviews(
  url: string,
  { projectKey, reviewerKeys }: { projectKey: string; reviewerKeys: ReviewerKeys },
  { reviews, comments }: DemoProject,
): Promise<void> {
  const keyOf = (reviewer: string): string => reviewerKeys.get(reviewer) ?? ''
  const spanIdOf = await spanIds(url, projectKey)
  const decided = await Promise.all(
    reviews.map(async ({ decisions, ...place }) => ({ decisions, spanId: await spanIdOf(place) })),
  )
  const single = decided.flatMap(({ spanId, decisions: [only, ...more] }) =>
    only && more.length === 0 ? [{ spanId, ...only }] : [],
  )
  for (const [reviewer, own] of Map.groupBy(single, each => each.reviewer)) {
    const bodies = own.map(({ reviewer: _, ...body }) => body)
    for (let from = 0; from < bodies.length; from += MAX_REVIEWS) {
      await postReviews(url, keyOf(reviewer), bodies.slice(from, from + MAX_REVIEWS))
    }
  }
  // Repeating a decision after another one would count again, so each is posted only if it continues the history.
  for (const { spanId, decisions } of decided.filter(({ decisions }) => decisions.length > 1)) {
    const path = `/api/spans/${spanId}/review`
    const { reviews } = v.parse(History, await call(url, projectKey, 'GET', `${path}s`))
    for (const { reviewer, ...body } of decisions.slice(reviews.length)) {
      await call(url, keyOf(reviewer), 'PUT', path, body)
    }
  }
  for (const { reviewer, id, content, ...place } of comments) {
    const spanId = await spanIdOf(place)
    await call(url, keyOf(reviewer), 'POST', `/api/spans/${spanId}/feedback`, { id, content })
  }
}

/** Returns a function that gives a span's id. A root span's id is derived from its project and trace. */
async function spanIds(url: string, projectKey: string) {
  const { projects } = v.parse(OwnProject, await call(url, projectKey, 'GET', '/api/projects'))
  return async ({ traceId, spanId }: DemoPlace) => spanId ?? (await rootSpanUuid(projects[0].id, traceId))
}

/** Posts reviews. Throws if one is rejected. */
async function postReviews(url: string, key: string, reviews: object[]): Promise<void> {
  const { results } = v.parse(Results, await call(url, key, 'POST', '/api/reviews', { reviews }))
  const refused = results.find(({ status }) => status !== 200)
  if (refused) throw new Error(`A review in the demo was rejected: ${JSON.stringify(refused)}`)
}
