import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { PROJECT_ID } from '../api/story.ts'
import { requireFound } from '../auth/require-project.ts'
import { described, Uuid } from '../http/atoms.ts'
import { isForeignProject } from '../store/accounts/ownership.ts'
import { findProject } from '../store/accounts/projects.ts'
import { listStepNames } from '../store/accounts/step-names.ts'

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
}).handle(async ({ params: { projectId }, caller, store, unscoped }) => {
  const found = await findProject(store, { id: projectId })
  const isForeign = () => isForeignProject(unscoped, store.organization, projectId)
  const project = await requireFound(caller, found && { ...found, projectKey: found.key }, isForeign)
  return { status: 200, body: { names: Object.fromEntries(await listStepNames(store, project)) } }
})
