import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import type { Problem, ProblemList, SpanList } from '../api/wire.ts'
import type { TimeRange } from '../insights/window.ts'
import type { ProblemState } from './states.tsx'

const PAGE_SIZE = 100
const FOLLOW_MS = 5_000
/** How many examples to request at a time. Their values are previews. */
const EXAMPLES = 25

/** A project's problems in a period. The problems with the most cases come first. */
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
    staleTime: 0,
  })

/** A problem, with its counts in a period. */
export const problemQuery = (project: string | undefined, id: string, { from, to }: TimeRange) =>
  queryOptions({
    queryKey: ['problem', project, id, from, to],
    queryFn: ({ signal }) => call<Problem>(`/api/problems/${encodeURIComponent(id)}`, { query: { from, to }, signal }),
    enabled: project !== undefined,
    // Experiments and reviews change a problem's state.
    staleTime: 0,
    refetchInterval: ({ state: { data } }) => (data && FOLLOWED.includes(data.state) ? FOLLOW_MS : false),
  })

/** The states that can change without an action on this page. */
const FOLLOWED: readonly ProblemState[] = ['fixing', 'live']

/** The outputs that a problem affected in a period, newest decision first. */
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
