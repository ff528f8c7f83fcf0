import { queryOptions } from '@tanstack/react-query'
import { call } from './client.ts'
import type { ConfiguredModel } from './wire.ts'

/** The configured model, or why there is none. */
export const modelQuery = (projectSlug: string | undefined) =>
  queryOptions({
    queryKey: ['model', projectSlug],
    queryFn: ({ signal }) => call<ConfiguredModel>('/api/model', { query: { projectSlug }, signal }),
    enabled: projectSlug !== undefined,
  })
