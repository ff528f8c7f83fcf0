import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { call, pathWith } from '../api/client.ts'
import type { GroupList, TraceList, TurnList } from '../api/wire.ts'
import { metadataLeaves } from '../traces/metadata-leaves.ts'

const GROUPS_PER_PAGE = 50
const TURNS_PER_PAGE = 20

/** A project's conversations, or other groups of traces with the same value at a metadata path. */
export const groupsQuery = (project: string | undefined, key: string) =>
  infiniteQueryOptions({
    queryKey: ['groups', project, key],
    queryFn: ({ pageParam, signal }) =>
      call<GroupList>('/api/groups', {
        query: { projectSlug: project, key, limit: GROUPS_PER_PAGE, cursor: pageParam },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
    enabled: project !== undefined,
  })

export type TurnOrder = 'oldest' | 'newest'

/** A conversation, loaded page by page. */
export const turnsQuery = (project: string | undefined, key: string, value: string, order: TurnOrder) =>
  infiniteQueryOptions({
    queryKey: ['turns', project, key, value, order],
    queryFn: ({ pageParam, signal }) => {
      const page = { projectSlug: project, key, order, limit: TURNS_PER_PAGE, cursor: pageParam }
      // An empty value also identifies a group, but `pathWith` would leave it out.
      return call<TurnList>(`${pathWith('/api/groups/turns', page)}&value=${encodeURIComponent(value)}`, { signal })
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    enabled: project !== undefined,
  })

const SAMPLED_TRACES = 20
const SHOWN_PATHS = 30

/** The metadata paths in the newest traces, offered as keys. */
export const metadataPathsQuery = (project: string | undefined) =>
  queryOptions({
    queryKey: ['metadata-paths', project],
    queryFn: ({ signal }) =>
      call<TraceList>('/api/traces', { query: { projectSlug: project, limit: SAMPLED_TRACES }, signal }),
    select: ({ traces }) => [
      ...new Set(
        traces.flatMap(({ metadata }) => metadataLeaves(metadata, SHOWN_PATHS).map(({ path }) => path)).toSorted(),
      ),
    ],
    staleTime: 60_000,
    enabled: project !== undefined,
  })
