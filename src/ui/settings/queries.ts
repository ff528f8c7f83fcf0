import { infiniteQueryOptions, keepPreviousData, queryOptions, skipToken } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { errorTypesQuery } from '../api/error-types.ts'
import type { ApiKeys, AuditLog, Projects, StepNames, Users } from '../api/wire.ts'
import type { AuditFilters } from './audit-filters.ts'

const PAGE = 100

/** A list from the management API, page by page. */
const pagesOf = <Answer extends { nextCursor: string | null }>(
  path: string,
  query: Readonly<Record<string, string | null>> = {},
) =>
  infiniteQueryOptions({
    queryKey: ['settings', path, query],
    queryFn: ({ pageParam, signal }) =>
      call<Answer>(path, { query: { ...query, limit: PAGE, cursor: pageParam }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
  })

export const projectsQuery = pagesOf<Projects>('/api/projects')
export const apiKeysQuery = pagesOf<ApiKeys>('/api/api-keys')
export const usersQuery = pagesOf<Users>('/api/users')
export const auditLogQuery = (filters: AuditFilters) => pagesOf<AuditLog>('/api/audit-log', { ...filters })

/** A project's current error types, for editing. */
export const changeableErrorTypesQuery = (projectSlug: string | undefined) =>
  queryOptions({ ...errorTypesQuery(projectSlug), staleTime: 10_000, placeholderData: keepPreviousData })

export const fetchStepNames = async (projectId: string, signal?: AbortSignal): Promise<StepNames> =>
  (await call<{ names: StepNames }>(`/api/projects/${projectId}/step-names`, { ...(signal && { signal }) })).names

/** A project's renamed steps. */
export const stepNamesQuery = (projectId: string | undefined) =>
  queryOptions({
    queryKey: ['step-names', projectId],
    queryFn: projectId === undefined ? skipToken : ({ signal }) => fetchStepNames(projectId, signal),
  })
