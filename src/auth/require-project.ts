import { forbidden, notFound, otherProject } from '../http/errors.ts'
import type { Caller } from './authenticate.ts'

/** Checks that a caller may use a project. 403 if its key is for a different one. */
export function requireProject({ project }: Caller, projectKey: number): void {
  if (project && project.key !== projectKey) throw otherProject()
}

/** Checks that a caller may use every project. 403 if its key is for one project. */
export function requireWholeOrganization({ project }: Caller): void {
  if (project) throw forbidden('This key is for one project only')
}

/**
 * Returns the resource if the caller may use its project. If it wasn't found, throws a 403 if it belongs to another
 * organization (checked only then), and otherwise a 404.
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
