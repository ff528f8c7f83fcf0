import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { PROJECT_ID } from '../api/story.ts'
import { described, Uuid } from '../http/atoms.ts'
import { listStepNames } from '../store/accounts/step-names.ts'
import { selectedProject } from './project.ts'

/** A project's renamed steps. */
export const StepNames = v.object({
  names: described(v.record(v.string(), v.string()), 'The new name of each renamed step, by its old name'),
})

export const getStepNames = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/projects/{projectId}/step-names',
  summary: "Get a project's renamed steps",
  scope: 'read',
  params: v.object({ projectId: Uuid }),
  responses: { 200: StepNames },
  example: {
    params: { projectId: PROJECT_ID },
    answers: { 200: { names: { 'generate-answer': 'answer' } } },
  },
}).handle(async context => {
  const project = await selectedProject(context, context.params)
  return { status: 200, body: { names: Object.fromEntries(await listStepNames(context.store, project)) } }
})
