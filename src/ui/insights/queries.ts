import { queryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import type { ApiKeys, Insights, TraceList } from '../api/wire.ts'
import type { TimeRange } from './window.ts'

/** How often a project that has next to nothing is looked at again. */
const WATCH_MS = 4_000

/** What came of a project's outputs in a time. While another window of it is on its way, the last one stays. */
export const insightsQuery = (projectSlug: string, { from, to }: TimeRange) =>
  queryOptions({
    queryKey: ['insights', projectSlug, from, to],
    queryFn: ({ signal }) => call<Insights>('/api/insights', { query: { projectSlug, from, to }, signal }),
    placeholderData: (last, query) => (query?.queryKey[1] === projectSlug ? last : undefined),
  })

/** Whether a project is at its beginning: it has no trace, or one that nobody reviewed. */
export const isBeginning = ({ traces, nextCursor }: TraceList): boolean =>
  nextCursor === null && traces.every(({ reviewedCount }) => reviewedCount === 0)

/** The newest trace of a project, asked for again and again as long as the project is at its beginning. */
export const newestTraceQuery = (projectSlug: string) =>
  queryOptions({
    queryKey: ['insights-newest-trace', projectSlug],
    queryFn: ({ signal }) => call<TraceList>('/api/traces', { query: { projectSlug, limit: 1 }, signal }),
    refetchInterval: ({ state: { data } }) => data !== undefined && isBeginning(data) && WATCH_MS,
  })

/** The organization's keys, for whoever may list them, looked at again and again. */
export const watchedKeysQuery = (isAllowed: boolean) =>
  queryOptions({
    queryKey: ['insights-api-keys'],
    queryFn: ({ signal }) => call<ApiKeys>('/api/api-keys', { query: { limit: 200 }, signal }),
    enabled: isAllowed,
    refetchInterval: WATCH_MS,
  })
