import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { PROJECT_ID } from '../api/story.ts'
import { text, Uuid } from '../http/atoms.ts'
import { MAX_NAME_LENGTH } from '../limits.ts'
import { findGuideline } from '../store/texts/guidelines.ts'
import { guideline } from './examples.ts'
import { selectedProject } from './project.ts'
import { Guideline, toGuideline } from './text-wire.ts'

/** A step can be found by any of its names. */
export const guidelineParams = v.object({ projectId: Uuid, stepId: text(1, MAX_NAME_LENGTH) })

export const getGuideline = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/projects/{projectId}/guidelines/{stepId}',
  summary: "Get a step's guideline for reviewers",
  scope: ['read', 'review'],
  params: guidelineParams,
  responses: { 200: Guideline },
  example: {
    params: { projectId: PROJECT_ID, stepId: 'generate-answer' },
    answers: { 200: guideline },
  },
}).handle(async context => {
  const { params, store } = context
  const project = await selectedProject(context, { projectId: params.projectId })
  return { status: 200, body: toGuideline(await findGuideline(store, project, params.stepId)) }
})
