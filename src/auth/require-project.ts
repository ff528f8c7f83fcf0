import { otherProject } from '../http/errors.ts'
import type { Caller } from './authenticate.ts'

/** Lets a caller pass to a project that its key serves. 403 for another one. */
export function requireProject({ project }: Caller, projectKey: number): void {
  if (project && project.key !== projectKey) throw otherProject()
}
