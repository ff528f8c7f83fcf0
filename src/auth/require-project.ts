import { forbidden, notFound, otherProject } from '../http/errors.ts'
import type { Caller } from './authenticate.ts'

/** Lets a caller pass to a project that its key serves. 403 for another one. */
export function requireProject({ project }: Caller, projectKey: number): void {
  if (project && project.key !== projectKey) throw otherProject()
}

/** Lets a caller pass whose key serves every project. 403 for a project's key. */
export function requireWholeOrganization({ project }: Caller): void {
  if (project) throw forbidden('This key is for one project only')
}

/**
 * What was found for a caller, of a project that its key serves. Where nothing was found: 403 for what is another
 * organization's, which is asked only then, else 404.
 */
export async function requireFound<Found extends { projectKey: number }>(
  caller: Caller,
  found: Found | undefined,
  isForeign: () => Promise<boolean>,
): Promise<Found> {
  if (!found) throw (await isForeign()) ? forbidden() : notFound()
  requireProject(caller, found.projectKey)
  return found
}
