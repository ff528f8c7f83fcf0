import * as v from 'valibot'
import type { Caller } from '../auth/authenticate.ts'
import { requireProject } from '../auth/require-project.ts'
import { badRequest, forbidden, notFound } from '../http/errors.ts'
import { isForeignProject } from '../store/accounts/ownership.ts'
import { findProject, type Project } from '../store/accounts/projects.ts'
import type { Store, UnscopedStore } from '../store/core/store.ts'

/** The query parameters by which every list names its project: exactly one of them. */
export const projectSelector = {
  projectSlug: v.optional(v.pipe(v.string(), v.metadata({ description: 'This or projectId is required' }))),
  projectId: v.optional(
    v.pipe(v.string(), v.metadata({ description: 'This or projectSlug is required' }), v.toLowerCase()),
  ),
}

/**
 * The project that a list's query selects. 400 for none or both; 404 for one that is not there; 403 for another
 * organization's, or one that the key does not serve.
 */
export async function selectedProject(
  { caller, store, unscoped }: { caller: Caller; store: Store; unscoped: UnscopedStore },
  { projectSlug, projectId }: { projectSlug?: string | undefined; projectId?: string | undefined },
): Promise<Project> {
  if (projectSlug !== undefined && projectId !== undefined) {
    throw badRequest('projectSlug and projectId exclude each other', 'projectId')
  }
  const project = await findSelected(store, projectSlug, projectId)
  if (!project) {
    const isForeign = projectId && (await isForeignProject(unscoped, store.organization, projectId))
    throw isForeign ? forbidden() : notFound()
  }
  requireProject(caller, project.key)
  return project
}

/** An empty selector names nothing: scripts send one for a variable that isn't set. */
function findSelected(store: Store, slug: string | undefined, id: string | undefined): Promise<Project | undefined> {
  if (slug) return findProject(store, { slug })
  if (id) return findProject(store, { id })
  throw badRequest('projectSlug or projectId is required')
}
