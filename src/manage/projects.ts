import * as v from 'valibot'
import { requireFound, requireWholeOrganization } from '../auth/require-project.ts'
import { newId } from '../domain/ids.ts'
import { Slug, Uuid } from '../http/atoms.ts'
import { firstOf, NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { endpoint } from '../http/endpoint.ts'
import { conflict, notFound } from '../http/errors.ts'
import { isForeignProject } from '../store/ownership.ts'
import { addProject, findProject, listProjects as readProjects, updateProject } from '../store/projects.ts'
import { Name, Project, toProject } from './wire.ts'

const TAKEN = 'A project with this slug exists'

export const listProjects = endpoint({
  method: 'GET',
  path: '/api/projects',
  summary: "List the organization's projects, oldest first; with a project's key, that one",
  scope: 'manage',
  query: v.strictObject(pageParameters),
  responses: { 200: v.object({ projects: v.array(Project), nextCursor: NextCursor }) },
}).handle(async ({ query, caller, store }) => {
  const { items, nextCursor } = await pageOf({
    list: ['projects', store.organization.id],
    query,
    place: ['number'],
    read: async (limit, after) => {
      const page = { limit: limit + 1, after: after?.[0] ?? 0 }
      return firstOf(await readProjects(store, caller.project, page), limit, ({ key }) => [key])
    },
  })
  return { status: 200, body: { projects: items.map(toProject), nextCursor } }
})

export const createProject = endpoint({
  method: 'POST',
  path: '/api/projects',
  summary: 'Create a project',
  scope: 'manage',
  body: v.strictObject({ slug: Slug, name: Name }),
  errors: { 409: TAKEN },
  responses: { 201: Project },
}).handle(async ({ body: { slug, name }, caller, store, act, now }) => {
  requireWholeOrganization(caller)
  const project = await addProject(store, act, { id: newId(), slug, name, createdAt: now })
  if (!project) throw conflict(TAKEN, 'slug')
  return { status: 201, body: toProject(project) }
})

export const changeProject = endpoint({
  method: 'PATCH',
  path: '/api/projects/{projectId}',
  summary: 'Change a project; what is not sent stays',
  scope: 'manage',
  params: v.object({ projectId: Uuid }),
  body: v.strictObject({ name: v.optional(Name) }),
  responses: { 200: Project },
}).handle(async ({ params: { projectId }, body: { name }, caller, store, act, registry }) => {
  const isForeign = () => isForeignProject(registry, store.organization, projectId)
  const found = await findProject(store, { id: projectId })
  await requireFound(caller, found && { projectKey: found.key }, isForeign)
  const project = await updateProject(store, act, projectId, name === undefined ? {} : { name })
  if (!project) throw notFound()
  return { status: 200, body: toProject(project) }
})
