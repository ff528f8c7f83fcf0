/** The project, by its slug or its id. */
export interface Selector {
  projectSlug?: string | undefined
  projectId?: string | undefined
}

/** The query parameter that identifies a list's project. The service requires exactly one. */
export const projectOf = ({ projectSlug, projectId }: Selector): Selector =>
  projectSlug === undefined ? { projectId } : { projectSlug }

type Parameter = string | number | boolean | Date | undefined

/** A query string with the parameters that have a value. */
export function parametersOf(parameters: Readonly<{ [name: string]: Parameter }>): URLSearchParams {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) query.set(name, value instanceof Date ? value.toISOString() : String(value))
  }
  return query
}
