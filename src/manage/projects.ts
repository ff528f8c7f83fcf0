import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { PROJECT_ID } from '../api/story.ts'
import { requireProject, requireWholeOrganization } from '../auth/require-project.ts'
import { newId } from '../domain/ids.ts'
import { firstEpochs } from '../domain/shards.ts'
import { Slug, Uuid, wholeNumber } from '../http/atoms.ts'
import { firstOf, NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { badRequest, conflict, notFound } from '../http/errors.ts'
import { MAX_RETENTION_DAYS } from '../limits.ts'
import { selectedProject } from '../read/project.ts'
import { findShardsOfNewProject } from '../store/accounts/placement.ts'
import {
  addProject,
  findProject,
  listProjects as readProjects,
  deleteProject as removeProject,
  updateProject as saveProject,
} from '../store/accounts/projects.ts'
import { boundShards } from '../store/core/store.ts'
import { project } from './examples.ts'
import { Name, Project, toProject } from './wire.ts'

const RetentionDays = v.pipe(
  v.nullable(wholeNumber(1, MAX_RETENTION_DAYS)),
  v.metadata({
    description: 'How many days to keep traces. Older traces are deleted within an hour. Null keeps all traces.',
  }),
)

const TAKEN = 'A project with this slug already exists'

export const listProjects = endpoint({
  family: 'manage',
  method: 'GET',
  path: '/api/projects',
  summary: "List the organization's projects, oldest first",
  description: 'A key limited to one project gets only that project.',
  scope: 'manage',
  query: v.strictObject(pageParameters),
  responses: { 200: v.object({ projects: v.array(Project), nextCursor: NextCursor }) },
  example: {
    answers: { 200: { projects: [project], nextCursor: null } },
  },
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
  family: 'manage',
  method: 'POST',
  path: '/api/projects',
  summary: 'Create a project',
  scope: 'manage',
  body: v.strictObject({ slug: Slug, name: Name }),
  errors: { 409: TAKEN },
  responses: { 201: Project },
  example: {
    body: { slug: 'support', name: 'Customer support' },
    answers: { 201: project },
  },
}).handle(async ({ body: { slug, name }, caller, store, act, now, runtime }) => {
  requireWholeOrganization(caller)
  const project = await addProject(store, act, {
    id: newId(),
    slug,
    name,
    createdAt: now,
    epochs: boundShards(runtime.env).length === 0 ? null : firstEpochs(await findShardsOfNewProject(store)),
  })
  if (!project) throw conflict(TAKEN, 'slug')
  return { status: 201, body: toProject(project) }
})

export const updateProject = endpoint({
  family: 'manage',
  method: 'PATCH',
  path: '/api/projects/{projectId}',
  summary: 'Update a project',
  description: 'Omitted fields stay unchanged.',
  scope: 'manage',
  params: v.object({ projectId: Uuid }),
  body: v.strictObject({
    name: v.optional(Name),
    retentionDays: v.optional(RetentionDays),
    retainReviewed: v.optional(
      v.pipe(
        v.boolean(),
        v.metadata({ description: 'Whether to keep traces that have a reviewed span, even past retentionDays' }),
      ),
    ),
    autoAttribute: v.optional(
      v.pipe(
        v.boolean(),
        v.metadata({ description: 'Whether to analyze negative feedback and corrections automatically' }),
      ),
    ),
  }),
  responses: { 200: Project },
  example: {
    params: { projectId: PROJECT_ID },
    body: { retentionDays: 90 },
    answers: { 200: { ...project, retentionDays: 90 } },
  },
}).handle(async ({ params: { projectId }, body, caller, store, act, unscoped }) => {
  await selectedProject({ caller, store, unscoped }, { projectId })
  const project = await saveProject(store, act, projectId, body)
  if (!project) throw notFound()
  return { status: 200, body: toProject(project) }
})

export const deleteProject = endpoint({
  family: 'manage',
  method: 'DELETE',
  path: '/api/projects/{projectId}',
  summary: 'Delete a project',
  description:
    'Deletes the project and its traces, reviews, prompts, knowledge docs, counts, and keys. The project is hidden immediately, purged within minutes, and cannot be restored. Its slug can be used again.',
  scope: 'manage',
  params: v.object({ projectId: Uuid }),
  body: v.strictObject({ confirm: v.pipe(v.string(), v.metadata({ description: "The project's slug" })) }),
  responses: { 200: v.object({ id: Uuid }) },
  example: {
    params: { projectId: PROJECT_ID },
    body: { confirm: project.slug },
    answers: { 200: { id: project.id } },
  },
}).handle(async ({ params: { projectId }, body: { confirm }, caller, store, act, enqueue }) => {
  const project = await findProject(store, { id: projectId })
  if (!project) throw notFound()
  requireProject(caller, project.key)
  if (confirm !== project.slug) throw badRequest("must be the project's slug", 'confirm')
  if (!(await removeProject(store, act, project))) throw notFound()
  enqueue({ kind: 'purge_project', organizationKey: store.organization.key, projectKey: project.key })
  return { status: 200, body: { id: projectId } }
})
