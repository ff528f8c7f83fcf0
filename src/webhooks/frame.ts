import type { Caller } from '../auth/authenticate.ts'
import { requireProject, requireWholeOrganization } from '../auth/require-project.ts'
import { conflict, forbidden, notFound } from '../http/errors.ts'
import { isForeignWebhook } from '../store/accounts/ownership.ts'
import type { Store, UnscopedStore } from '../store/core/store.ts'
import { type Delivery, findDelivery } from '../store/webhooks/deliveries.ts'
import { findWebhook, type WebhookRecord } from '../store/webhooks/webhooks.ts'

interface Context {
  caller: Caller
  store: Store
  unscoped: UnscopedStore
}

/** Returns a webhook. 404 if there is none, 403 if the key is for another organization or project. */
export async function requireWebhook({ caller, store, unscoped }: Context, id: string): Promise<WebhookRecord> {
  const found = await findWebhook(store, id)
  if (!found) throw (await isForeignWebhook(unscoped, store.organization, id)) ? forbidden() : notFound()
  requireProjectOf(caller, found)
  return found
}

/** 403 if the caller's key is for a single project, and the webhook isn't that project's own. */
export function requireProjectOf(caller: Caller, { projectKey }: Pick<WebhookRecord, 'projectKey'>): void {
  if (projectKey === null) requireWholeOrganization(caller)
  else requireProject(caller, projectKey)
}

/** Returns a webhook's delivery. 404 if it has none with this ID. */
export async function requireDelivery(store: Store, webhook: WebhookRecord, id: string): Promise<Delivery> {
  const delivery = await findDelivery(store, webhook, id)
  if (!delivery) throw notFound('Delivery not found')
  return delivery
}

/** 409 because nothing is sent to a disabled webhook. */
export function requireEnabled({ isEnabled }: WebhookRecord): void {
  if (!isEnabled) throw conflict(DISABLED, 'webhookId')
}

export const DISABLED = 'This webhook is disabled; enable it first'

/** 409 because somebody else changed a webhook at the same time. */
export const CHANGED = 'Somebody else changed this webhook at the same time; read it again'
export const changedMeanwhile = () => conflict(CHANGED, 'webhookId')
