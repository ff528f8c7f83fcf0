import * as v from 'valibot'
import type { Caller } from '../auth/authenticate.ts'
import { badRequest, forbidden, notFound } from '../http/errors.ts'
import { projectExists } from '../store/ownership.ts'
import { findProject, type Project } from '../store/projects.ts'
import type { Registry, Store } from '../store/store.ts'

/** The query parameters by which every list names its project: exactly one of them. */
export const projectSelector = {
  projectSlug: v.optional(v.pipe(v.string(), v.metadata({ description: 'This or projectId is required' }))),
  projectId: v.optional(v.pipe(v.string(), v.metadata({ description: 'This or projectSlug is required' }))),
}

/**
 * The project that a list's query selects. 400 for none or both; 404 for one that is not there; 403 for another
 * organization's, or one that the key does not serve.
 */
export async function selectedProject(
  { caller, store, registry }: { caller: Caller; store: Store; registry: Registry },
  { projectSlug, projectId }: { projectSlug?: string | undefined; projectId?: string | undefined },
): Promise<Project> {
  if (projectSlug !== undefined && projectId !== undefined) {
    throw badRequest('projectSlug and projectId exclude each other', 'projectId')
  }
  const selector =
    projectSlug !== undefined
      ? { slug: projectSlug }
      : projectId !== undefined
        ? { id: projectId.toLowerCase() }
        : undefined
  if (!selector) throw badRequest('projectSlug or projectId is required')
  const project = await findProject(store, selector)
  if (!project) {
    throw 'id' in selector && (await projectExists(registry, selector.id)) ? forbidden() : notFound()
  }
  if (caller.project && caller.project.key !== project.key) throw forbidden('This key is for another project')
  return project
}
