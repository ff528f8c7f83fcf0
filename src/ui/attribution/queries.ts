import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { call, pathWith } from '../api/client.ts'
import type { AttributionQuality, ComparedAnswers } from '../api/wire.ts'

const PAGE_SIZE = 50

/** What to compare: a period's reviews with all answers, or only with answers from the engine in the URL. */
export interface Comparison {
  from: string | null
  to: string | null
  engine: string | null
  engineVersion: string | null
}

/** How well engines agree with reviewers in a project. */
export const qualityQuery = (projectSlug: string, comparison: Comparison) =>
  queryOptions({
    queryKey: ['attribution-quality', projectSlug, comparison],
    queryFn: ({ signal }) =>
      call<AttributionQuality>('/api/attribution-quality', { query: { projectSlug, ...comparison }, signal }),
    placeholderData: (last, query) => (query?.queryKey[1] === projectSlug ? last : undefined),
  })

/** The compared answers, newest review first. `filters` are in the same form as in the URL. */
export const answersQuery = (projectSlug: string | undefined, filters: string) =>
  infiniteQueryOptions({
    queryKey: ['compared-answers', projectSlug, filters],
    queryFn: ({ pageParam, signal }) => {
      const path = pathWith('/api/attribution-quality/answers', { projectSlug, limit: PAGE_SIZE, cursor: pageParam })
      return call<ComparedAnswers>(filters === '' ? path : `${path}&${filters}`, { signal })
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
    enabled: projectSlug !== undefined,
  })
