import * as v from 'valibot'
import type { Caller } from '../auth/authenticate.ts'
import { requireProject } from '../auth/require-project.ts'
import { badRequest, forbidden, notFound } from '../http/errors.ts'
import { isForeignProject } from '../store/accounts/ownership.ts'
import { findProject, type Project } from '../store/accounts/projects.ts'
import type { Store, UnscopedStore } from '../store/core/store.ts'

/** The query parameters that select a list's project. Exactly one is required. */
export const projectSelector = {
  projectSlug: v.optional(v.pipe(v.string(), v.metadata({ description: 'Either this or projectId is required' }))),
  projectId: v.optional(
    v.pipe(v.string(), v.metadata({ description: 'Either this or projectSlug is required' }), v.toLowerCase()),
  ),
}

/**
 * The project that a list's query selects. 400 if the query has both parameters or neither; 404 if the project
 * doesn't exist; 403 if it belongs to another organization, or the key can't access it.
 */
export async function selectedProject(
  { caller, store, unscoped }: { caller: Caller; store: Store; unscoped: UnscopedStore },
  { projectSlug, projectId }: { projectSlug?: string | undefined; projectId?: string | undefined },
): Promise<Project> {
  if (projectSlug !== undefined && projectId !== undefined) {
    throw badRequest('must not be combined with projectSlug', 'projectId')
  }
  const project = await findSelected(store, projectSlug, projectId)
  if (!project) {
    const isForeign = projectId && (await isForeignProject(unscoped, store.organization, projectId))
    throw isForeign ? forbidden() : notFound()
  }
  requireProject(caller, project.key)
  return project
}

/** An empty selector is treated as missing, because scripts send one if a variable isn't set. */
function findSelected(store: Store, slug: string | undefined, id: string | undefined): Promise<Project | undefined> {
  if (slug) return findProject(store, { slug })
  if (id) return findProject(store, { id })
  throw badRequest('projectSlug or projectId is required')
}
