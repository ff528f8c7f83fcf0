import { infiniteQueryOptions, keepPreviousData } from '@tanstack/react-query'
import { call, pathWith } from '../api/client.ts'
import type { SpanList } from '../api/wire.ts'

const PAGE_SIZE = 50

/** A project's spans. `filters` come from `queryOf`. */
export const spansQuery = (project: string | undefined, filters: string) =>
  infiniteQueryOptions({
    queryKey: ['spans', project, filters],
    queryFn: ({ pageParam, signal }) => {
      const page = { projectSlug: project, limit: PAGE_SIZE, payloads: 'preview', cursor: pageParam }
      const path = pathWith('/api/spans', page)
      return call<SpanList>(filters === '' ? path : `${path}&${filters}`, { signal })
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
    enabled: project !== undefined,
  })
