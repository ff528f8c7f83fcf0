import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { PROJECT_ID } from '../api/story.ts'
import { Uuid } from '../http/atoms.ts'
import { findReviewPolicy } from '../store/accounts/review-policies.ts'
import { reviewPolicy } from './examples.ts'
import { selectedProject } from './project.ts'
import { ReviewPolicy, toReviewPolicy } from './review-policy-wire.ts'

export const getReviewPolicy = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/projects/{projectId}/review-policy',
  summary: "Get a project's review policy",
  description: 'Without a policy, the queue offers every output to one reviewer.',
  scope: 'read',
  params: v.object({ projectId: Uuid }),
  responses: { 200: ReviewPolicy },
  example: {
    params: { projectId: PROJECT_ID },
    answers: { 200: reviewPolicy },
  },
}).handle(async context => {
  const project = await selectedProject(context, context.params)
  return { status: 200, body: toReviewPolicy(await findReviewPolicy(context.store, project)) }
})
