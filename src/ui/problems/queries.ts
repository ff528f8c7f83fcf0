import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import type { ProblemList, SpanList } from '../api/wire.ts'
import type { TimeRange } from '../insights/window.ts'
import type { ProblemState } from './states.tsx'

const PAGE_SIZE = 100
const MAX_PAGE = 200
/** Examples per request. They have previews of their values. */
const EXAMPLES = 25

/** A project's problems in a period, the one that spoils most outputs first. */
export const problemsQuery = (project: string | undefined, { from, to }: TimeRange, state: ProblemState | null) =>
  infiniteQueryOptions({
    queryKey: ['problems', project, from, to, state],
    queryFn: ({ pageParam, signal }) =>
      call<ProblemList>('/api/problems', {
        query: { projectSlug: project, from, to, state, limit: PAGE_SIZE, cursor: pageParam },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
    enabled: project !== undefined,
  })

/** A problem in a period; null if it has spoiled no output in it. */
export const problemQuery = (project: string | undefined, id: string, { from, to }: TimeRange) =>
  queryOptions({
    queryKey: ['problem', project, id, from, to],
    queryFn: async ({ signal }) => {
      let cursor: string | null = null
      do {
        const query = { projectSlug: project, from, to, limit: MAX_PAGE, cursor }
        const page: ProblemList = await call<ProblemList>('/api/problems', { query, signal })
        const found = page.problems.find(problem => problem.id === id)
        if (found) return found
        cursor = page.nextCursor
      } while (cursor !== null)
      return null
    },
    enabled: project !== undefined,
  })

/** The outputs that a problem has spoiled in a period, newest decision first. */
export const examplesQuery = (project: string | undefined, problemId: string, { from, to }: TimeRange) =>
  infiniteQueryOptions({
    queryKey: ['problem-examples', project, problemId, from, to],
    queryFn: ({ pageParam, signal }) =>
      call<SpanList>('/api/spans', {
        query: {
          projectSlug: project,
          problemId,
          reviewedFrom: from,
          reviewedTo: to,
          payloads: 'preview',
          limit: EXAMPLES,
          cursor: pageParam,
        },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    enabled: project !== undefined,
    // Examples must not move while somebody reads them.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })

export type Example = SpanList['spans'][number]
