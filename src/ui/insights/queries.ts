import { queryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import type { ApiKeys, Insights, TraceList } from '../api/wire.ts'
import type { TimeRange } from './window.ts'

/** How often to poll a new project. */
const WATCH_MS = 4_000

/** A project's insights for a period. The previous period stays on the page until the next one is loaded. */
export const insightsQuery = (projectSlug: string, { from, to }: TimeRange) =>
  queryOptions({
    queryKey: ['insights', projectSlug, from, to],
    queryFn: ({ signal }) => call<Insights>('/api/insights', { query: { projectSlug, from, to }, signal }),
    placeholderData: (last, query) => (query?.queryKey[1] === projectSlug ? last : undefined),
  })

/** Whether a project is new: it has no traces, or just one, which nobody has reviewed. */
export const isNewProject = ({ traces, nextCursor }: TraceList): boolean =>
  nextCursor === null && traces.every(({ reviewedCount }) => reviewedCount === 0)

/** A project's newest trace, polled while the project is new. */
export const newestTraceQuery = (projectSlug: string) =>
  queryOptions({
    queryKey: ['insights-newest-trace', projectSlug],
    queryFn: ({ signal }) => call<TraceList>('/api/traces', { query: { projectSlug, limit: 1 }, signal }),
    refetchInterval: ({ state: { data } }) => data !== undefined && isNewProject(data) && WATCH_MS,
  })

/** The organization's keys, polled if the user may list them. */
export const watchedKeysQuery = (isAllowed: boolean) =>
  queryOptions({
    queryKey: ['insights-api-keys'],
    queryFn: ({ signal }) => call<ApiKeys>('/api/api-keys', { query: { limit: 200 }, signal }),
    enabled: isAllowed,
    refetchInterval: WATCH_MS,
  })
