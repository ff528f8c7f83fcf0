import { infiniteQueryOptions, keepPreviousData, queryOptions, skipToken } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { errorTypesQuery } from '../api/error-types.ts'
import type {
  ApiKeys,
  AuditLog,
  Deliveries,
  Delivery,
  Projects,
  StepNames,
  Users,
  Webhook,
  Webhooks,
} from '../api/wire.ts'
import type { AuditFilters } from './audit-filters.ts'

const PAGE = 100
const DELIVERIES_PAGE = 50
const FOLLOW_WEBHOOK_MS = 15_000
const FOLLOW_DELIVERY_MS = 2_000
/** Longer than a delivery's lease, because a delivery that's being attempted is due again when its lease ends. */
const DUE_SOON_MS = 150_000

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

export const webhooksQuery = pagesOf<Webhooks>('/api/webhooks')

/** A webhook, refetched regularly because the service may disable a failing webhook while the page is open. */
export const webhookQuery = (id: string) =>
  queryOptions({
    queryKey: ['webhook', id],
    queryFn: ({ signal }) => call<Webhook>(`/api/webhooks/${id}`, { signal }),
    refetchInterval: FOLLOW_WEBHOOK_MS,
  })

/** A webhook's deliveries, newest first, refetched while an attempt at one of them is under way or due soon. */
export const deliveriesQuery = (id: string, state: Delivery['state'] | null) =>
  infiniteQueryOptions({
    queryKey: ['webhook', id, 'deliveries', state],
    queryFn: ({ pageParam, signal }) =>
      call<Deliveries>(`/api/webhooks/${id}/deliveries`, {
        query: { state, limit: DELIVERIES_PAGE, cursor: pageParam },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data } }) =>
      data?.pages.some(({ deliveries }) => deliveries.some(isDueSoon)) ? FOLLOW_DELIVERY_MS : false,
  })

const isDueSoon = ({ nextAttemptAt }: Delivery): boolean =>
  nextAttemptAt !== null && Date.parse(nextAttemptAt) < Date.now() + DUE_SOON_MS
