import { queryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import type { SpanSources } from '../api/wire.ts'
import { SUPPLEMENT } from '../parts/settled.ts'

/** What a span's output is based on. Changes only when the trace or the step's guideline changes. */
export const sourcesQuery = (spanId: string) =>
  queryOptions({
    queryKey: ['sources', spanId],
    meta: SUPPLEMENT,
    queryFn: ({ signal }) => call<SpanSources>(`/api/spans/${spanId}/sources`, { signal }),
    staleTime: 10 * 60_000,
    gcTime: 10 * 60_000,
  })
