import { newOrg, type Org } from './org.ts'
import { newReviewed, reviewerOf } from './reviews.ts'

/** Sets the review policy for all steps in the project `support`. */
export const setPolicy = (org: Org, fields: { reviewers?: number; blind?: boolean; sample?: number }) =>
  org.owner.put(`/api/projects/${org.project.id}/review-policy`, { default: { reviewers: 2, ...fields } })

/** Creates an adjudicator with a reviewer's key. */
export async function adjudicatorOf(org: Org) {
  const by = await reviewerOf(org)
  await org.owner.patch(`/api/users/${by.userId}`, { adjudicator: true })
  return by
}

/** Creates a trace whose root has an output. Two people have to review the output unless the policy says otherwise. */
export async function newVoted(output: unknown, policy: Parameters<typeof setPolicy>[1] = {}, tenant?: Org) {
  const org = tenant ?? (await newOrg())
  await setPolicy(org, policy)
  const fixture = await newReviewed(output, org)
  const [ada, ben, cleo] = [await reviewerOf(org), await reviewerOf(org), await reviewerOf(org)]
  type Reviewer = typeof ada
  const on = (spanId: string) => (by: Reviewer, body: object, headers?: Record<string, string>) =>
    by.client.put(`/api/spans/${spanId}/review`, body, headers)
  return { ...fixture, org, ada, ben, cleo, vote: on(fixture.spanId), on }
}

export const correct = (approvedOutput: unknown, fields: object = {}) => ({
  decision: 'correct',
  approvedOutput,
  ...fields,
})
export const ACCEPT = { decision: 'accept' }
export const RESET = { decision: 'reset' }
