import type { Caller } from '../auth/authenticate.ts'
import { badRequest, notFound, otherProject } from '../http/errors.ts'
import { findProject, type PlacedProject } from '../store/accounts/projects.ts'
import type { Store } from '../store/core/store.ts'

/** The header that selects the project, for a key that can access all projects. */
export const PROJECT_HEADER = 'x-project-slug'

/** The project of an ingestion call: the key's own, or the one in `x-project-slug`. */
export async function ingestProject({
  caller,
  store,
  headers,
}: {
  caller: Caller
  store: Store
  headers: Headers
}): Promise<PlacedProject> {
  const slug = headers.get(PROJECT_HEADER)
  if (caller.project) {
    if (slug !== null && slug !== caller.project.slug) throw otherProject()
    return caller.project
  }
  if (slug === null) {
    throw badRequest('is required if the key can access all projects in its organization', PROJECT_HEADER)
  }
  const project = await findProject(store, { slug })
  if (!project) throw notFound('Project not found')
  return project
}
