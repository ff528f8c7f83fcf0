import { call } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import { SESSION_KEY } from '../api/session.ts'
import type {
  Delivery,
  ErrorTypes,
  NewApiKey,
  Project,
  ReviewPolicy,
  Session,
  StepNames,
  Users,
  Webhook,
  WebhookWithSecret,
} from '../api/wire.ts'
import type { ApiKey } from './key-state.ts'
import { apiKeysQuery, fetchStepNames, projectsQuery, usersQuery, webhooksQuery } from './queries.ts'

export type Actor = Session['actsAs']
export type Scope = Session['scopes'][number]
export type ErrorType = ErrorTypes['errorTypes'][number]

/** The fields of a new key. Fields that are null aren't sent. */
export interface KeyDraft {
  name: string
  projectSlug: string | null
  scopes: Scope[]
  /** If null, the scopes determine who the key acts as. */
  actsAs: Actor | null
  userId: string | null
  expiresAt: string | null
  rateLimitPerMinute: number | null
}

export const createProject = (body: { slug: string; name: string }) =>
  call<Project>('/api/projects', { method: 'POST', body })

export const updateProject = (
  id: string,
  body: Partial<Pick<Project, 'name' | 'retentionDays' | 'retainReviewed' | 'autoAttribute'>>,
) => call<Project>(`/api/projects/${id}`, { method: 'PATCH', body })

export const deleteProject = (id: string, confirm: string) =>
  call<{ id: string }>(`/api/projects/${id}`, { method: 'DELETE', body: { confirm } })

export const createKey = ({ actsAs, ...body }: KeyDraft) =>
  call<NewApiKey>('/api/api-keys', { method: 'POST', body: { ...body, ...(actsAs && { actsAs }) } })

export const changeKey = (
  id: string,
  body: Partial<Pick<ApiKey, 'name' | 'scopes' | 'expiresAt' | 'rateLimitPerMinute'>>,
) => call<ApiKey>(`/api/api-keys/${id}`, { method: 'PATCH', body })

export const rotateKey = (id: string, graceSeconds: number) =>
  call<NewApiKey>(`/api/api-keys/${id}/rotate`, { method: 'POST', body: { graceSeconds } })

export const revokeKey = (id: string) => call<{ id: string }>(`/api/api-keys/${id}`, { method: 'DELETE' })

export const createUser = (body: { email: string; name: string }) =>
  call<Users['users'][number]>('/api/users', { method: 'POST', body })

export const updateUser = (id: string, body: { email?: string; name?: string; adjudicator?: boolean }) =>
  call<Users['users'][number]>(`/api/users/${id}`, { method: 'PATCH', body })

export const deleteUser = (id: string) => call<{ id: string }>(`/api/users/${id}`, { method: 'DELETE' })

export const putErrorType = (
  projectId: string,
  errorType: string,
  body: Partial<Pick<ErrorType, 'name' | 'category' | 'rule' | 'isEnabled'>>,
) => call<ErrorType>(`/api/projects/${projectId}/error-types/${encodeURIComponent(errorType)}`, { method: 'PUT', body })

/** Changes a project's renamed steps. Starts from the current names, which somebody else may have changed. */
export async function changeStepNames(projectId: string, change: (names: StepNames) => StepNames): Promise<void> {
  const names = change(await fetchStepNames(projectId))
  await call(`/api/projects/${projectId}/step-names`, { method: 'PUT', body: { names } })
}

export const putReviewPolicy = (projectId: string, body: Pick<ReviewPolicy, 'default' | 'steps' | 'always'>) =>
  call<ReviewPolicy>(`/api/projects/${projectId}/review-policy`, { method: 'PUT', body })

export const refreshReviewPolicy = () => queryClient.invalidateQueries({ queryKey: ['review-policy'] })

/** The fields of a new webhook. */
export interface WebhookDraft extends Pick<Webhook, 'url' | 'events' | 'format' | 'includeValues' | 'description'> {
  /** Makes it safe to retry after a lost response: a retry with the same ID doesn't create a second webhook. */
  id: string
  /** Null for every project. */
  projectSlug: string | null
}

export const createWebhook = ({ projectSlug, ...body }: WebhookDraft) =>
  call<WebhookWithSecret>('/api/webhooks', { method: 'POST', body: { ...body, ...(projectSlug && { projectSlug }) } })

export const updateWebhook = (
  id: string,
  body: Partial<Pick<Webhook, 'url' | 'events' | 'format' | 'includeValues' | 'description' | 'enabled'>>,
) => call<Webhook>(`/api/webhooks/${id}`, { method: 'PATCH', body })

export const deleteWebhook = (id: string) => call<{ id: string }>(`/api/webhooks/${id}`, { method: 'DELETE' })

export const rotateWebhookSecret = (id: string) =>
  call<WebhookWithSecret>(`/api/webhooks/${id}/rotate-secret`, { method: 'POST' })

export const testWebhook = (id: string) => call<Delivery>(`/api/webhooks/${id}/test`, { method: 'POST' })

export const replayDelivery = (webhookId: string, id: string) =>
  call<Delivery>(`/api/webhooks/${webhookId}/deliveries/${id}/replay`, { method: 'POST' })

/** Refetches a webhook and its deliveries. */
export const refreshWebhook = (id: string) => queryClient.invalidateQueries({ queryKey: ['webhook', id] })

/** Refetches the list of webhooks, and any webhook that's open. */
export const refreshWebhooks = () =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: webhooksQuery.queryKey }),
    queryClient.invalidateQueries({ queryKey: ['webhook'] }),
  ])

/** Drops a deleted webhook from the cache, and refetches the list. */
export function forgetWebhook(id: string) {
  queryClient.removeQueries({ queryKey: ['webhook', id] })
  return queryClient.invalidateQueries({ queryKey: webhooksQuery.queryKey })
}

/** Refetches everything, because any page may show steps. */
export const refreshSteps = () => queryClient.invalidateQueries()

/** Refetches projects wherever they are listed. */
export const refreshProjects = () =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: projectsQuery.queryKey }),
    queryClient.invalidateQueries({ queryKey: SESSION_KEY }),
  ])

export const refreshKeys = () => queryClient.invalidateQueries({ queryKey: apiKeysQuery.queryKey })

export const refreshUsers = () => queryClient.invalidateQueries({ queryKey: usersQuery.queryKey })

/** Refetches users, their names, and their keys. */
export const refreshPeople = () =>
  Promise.all([
    refreshUsers(),
    refreshKeys(),
    queryClient.invalidateQueries({ queryKey: SESSION_KEY }),
    queryClient.invalidateQueries({ queryKey: ['names'] }),
  ])

export const refreshErrorTypes = () => queryClient.invalidateQueries({ queryKey: ['error-types'] })
