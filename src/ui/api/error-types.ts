import { queryOptions } from '@tanstack/react-query'
import { call } from './client.ts'
import type { ErrorTypes } from './wire.ts'

/** What a disagreement may come from, in a project: the built-in types and its own. */
export const errorTypesQuery = (projectSlug: string | undefined) =>
  queryOptions({
    queryKey: ['error-types', projectSlug],
    // A page that holds as many as a project may have.
    queryFn: ({ signal }) => call<ErrorTypes>('/api/error-types', { query: { projectSlug, limit: 200 }, signal }),
    enabled: projectSlug !== undefined,
    staleTime: 5 * 60_000,
  })
