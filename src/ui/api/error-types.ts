import { queryOptions } from '@tanstack/react-query'
import { call } from './client.ts'
import type { ErrorTypes } from './wire.ts'

/** A project's error types: built-in and custom. */
export const errorTypesQuery = (projectSlug: string | undefined) =>
  queryOptions({
    queryKey: ['error-types', projectSlug],
    // One page has room for all the error types that a project can have.
    queryFn: ({ signal }) => call<ErrorTypes>('/api/error-types', { query: { projectSlug, limit: 200 }, signal }),
    enabled: projectSlug !== undefined,
    staleTime: 5 * 60_000,
  })
