import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { PROJECT_ID } from '../api/story.ts'
import { described, text } from '../http/atoms.ts'
import { MAX_GUIDELINE_LENGTH } from '../limits.ts'
import { guideline } from '../read/examples.ts'
import { guidelineParams } from '../read/guidelines.ts'
import { selectedProject } from '../read/project.ts'
import { Guideline, toGuideline } from '../read/text-wire.ts'
import { saveGuideline } from '../store/texts/guidelines.ts'

export const putGuideline = endpoint({
  family: 'manage',
  method: 'PUT',
  path: '/api/projects/{projectId}/guidelines/{stepId}',
  summary: "Set a step's guideline for reviewers",
  description:
    "Reviewers see the guideline next to each of the step's outputs. If you rename the step, its guideline moves with it.",
  scope: 'manage',
  params: guidelineParams,
  body: v.strictObject({
    text: described(text(0, MAX_GUIDELINE_LENGTH), 'Markdown. Empty text removes the guideline.'),
  }),
  responses: { 200: Guideline },
  example: {
    params: { projectId: PROJECT_ID, stepId: 'generate-answer' },
    body: { text: guideline.text },
    answers: { 200: guideline },
  },
}).handle(async context => {
  const { params, body, store, act } = context
  const project = await selectedProject(context, { projectId: params.projectId })
  return { status: 200, body: toGuideline(await saveGuideline(store, act, project, params.stepId, body.text)) }
})
