import { queryOptions } from '@tanstack/react-query'
import { call } from './client.ts'
import type { ErrorTypes } from './wire.ts'

/** What a disagreement may come from, in a project: the built-in types and its own. */
export const errorTypesQuery = (projectSlug: string | undefined) =>
  queryOptions({
    queryKey: ['error-types', projectSlug],
    queryFn: ({ signal }) => call<ErrorTypes>('/api/error-types', { query: { projectSlug }, signal }),
    enabled: projectSlug !== undefined,
    staleTime: 5 * 60_000,
  })
