import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { WEBHOOK_ID } from '../api/story.ts'
import { sha256Hex } from '../domain/hash.ts'
import { newId } from '../domain/ids.ts'
import { canonicalJson } from '../domain/json.ts'
import { findUrlFault } from '../domain/webhook-url.ts'
import type { Env } from '../env.ts'
import { described, text, Uuid } from '../http/atoms.ts'
import { firstOf, NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { badRequest, conflict, forbidden, notFound, unprocessable } from '../http/errors.ts'
import {
  MAX_WEBHOOK_DESCRIPTION_LENGTH,
  MAX_WEBHOOK_URL_LENGTH,
  MAX_WEBHOOKS,
  WEBHOOK_SECRET_OVERLAP_MS,
} from '../limits.ts'
import { selectedProject } from '../read/project.ts'
import {
  addWebhook,
  findWebhook,
  listWebhooks as readWebhooks,
  deleteWebhook as removeWebhook,
  replaceSecret,
  updateWebhook as saveWebhook,
  type WebhookRecord,
} from '../store/webhooks/webhooks.ts'
import { newWebhook, webhook } from './examples.ts'
import { CHANGED, changedMeanwhile, requireProjectOf, requireWebhook } from './frame.ts'
import { makeWebhookSecret, seal, unseal, unsealIfPossible, webhookKeyOf } from './secrets.ts'
import { Events, Format, IncludeValues, toWebhook, toWebhookWithUrl, Webhook, WebhookWithSecret } from './wire.ts'

const TAKEN = 'Another webhook has this ID'
const TOO_MANY = `A project can have at most ${MAX_WEBHOOKS} webhooks`
const OWN_PROJECT = 'This key can only create webhooks for its own project; name it in projectSlug'
const NO_KEY = 'The deployment has no WEBHOOK_KEY, or one that is too short (code no_webhook_key)'
const OTHER_KEY = `${NO_KEY} / It has one that differs from this webhook's (code other_webhook_key)`

const Url = described(
  v.pipe(text(1, MAX_WEBHOOK_URL_LENGTH), v.url('must be a URL')),
  "Where to send events: an https URL with a public host name that isn't this service's own",
)
const optionalProject = {
  projectSlug: v.optional(described(v.string(), "Only webhooks that send this project's events")),
  projectId: v.optional(
    described(v.pipe(v.string(), v.toLowerCase()), 'Only webhooks that send the events of the project with this ID'),
  ),
}

const Description = text(0, MAX_WEBHOOK_DESCRIPTION_LENGTH)

export const createWebhook = endpoint({
  family: 'webhook',
  method: 'POST',
  path: '/api/webhooks',
  summary: 'Create a webhook',
  description: `Sends a project's events, or those of every project, to a URL, signed according to [Standard Webhooks](https://www.standardwebhooks.com). The response has the signing secret, which no other response shows. It can take up to 30 seconds before the first events are recorded. A project can have ${MAX_WEBHOOKS} webhooks, and the organization can have the same number of webhooks that cover every project.`,
  scope: 'manage',
  body: v.strictObject({
    id: v.optional(
      described(
        Uuid,
        'An ID that you choose, so you can repeat the request without creating another webhook. The same request gets the same response. Default: a random ID.',
      ),
    ),
    projectSlug: v.optional(
      described(
        v.string(),
        "The project to send events from. A project's key must name its own project. Default: every project.",
      ),
    ),
    url: Url,
    events: Events,
    format: v.optional(Format, 'json'),
    includeValues: v.optional(IncludeValues, false),
    description: v.optional(Description, ''),
  }),
  location: 201,
  errors: { 404: 'Not found', 409: `${TAKEN} / ${OTHER_KEY}`, 422: TOO_MANY },
  responses: { 201: WebhookWithSecret },
  example: {
    body: {
      id: WEBHOOK_ID,
      projectSlug: 'support',
      url: webhook.url,
      events: [...webhook.events],
      description: webhook.description,
    },
    answers: { 201: newWebhook },
  },
}).handle(async context => {
  const { body, caller, store, act, now, request, runtime } = context
  const key = await webhookKeyOf(runtime.env)
  if (body.projectSlug === undefined && caller.project) throw forbidden(OWN_PROJECT)
  const project = body.projectSlug === undefined ? null : await selectedProject(context, body)
  const { id = newId(), ...asked } = body
  requireUrl(asked.url, request, runtime.env)
  const requestHash = await sha256Hex(canonicalJson({ ...asked, projectSlug: asked.projectSlug ?? null }))
  const answer = async (record: WebhookRecord) => {
    if (record.requestHash !== requestHash || record.projectKey !== (project?.key ?? null)) throw conflict(TAKEN, 'id')
    const sealed = await unseal(key, record.id, record.sealed)
    const shown = { ...toWebhookWithUrl(record, sealed, now), secret: sealed.secret }
    return { status: 201, body: shown, location: `/api/webhooks/${record.id}` } as const
  }
  const known = body.id === undefined ? undefined : await findWebhook(store, id)
  if (known) return answer(known)
  const { url, events, format, includeValues: includesValues, description } = asked
  const record = await addWebhook(store, act, project, {
    id,
    requestHash,
    sealed: await seal(key, id, { url, secret: makeWebhookSecret(), oldSecret: null }),
    events,
    format,
    includesValues,
    description,
    origin: new URL(request.url).origin,
    createdAt: now,
  })
  if (!record) throw unprocessable(TOO_MANY, 'projectSlug')
  return answer(record)
})

export const listWebhooks = endpoint({
  family: 'webhook',
  method: 'GET',
  path: '/api/webhooks',
  summary: 'List the webhooks, oldest first',
  description:
    "Lists the organization's webhooks or, if you select a project, those that send its events. A key for one project sees that project's own webhooks.",
  scope: 'manage',
  query: v.strictObject({ ...optionalProject, ...pageParameters }),
  errors: { 404: 'Not found', 409: NO_KEY },
  responses: { 200: v.object({ webhooks: v.array(Webhook), nextCursor: NextCursor }) },
  example: {
    query: { projectSlug: 'support' },
    answers: { 200: { webhooks: [webhook], nextCursor: null } },
  },
}).handle(async context => {
  const { query, caller, store, now, runtime } = context
  const key = await webhookKeyOf(runtime.env)
  const isSelected = query.projectSlug !== undefined || query.projectId !== undefined
  const project = isSelected ? await selectedProject(context, query) : caller.project
  const filter = { project, isOwnOnly: caller.project !== null }
  const { items, nextCursor } = await pageOf({
    list: ['webhooks', store.organization.id, project?.id ?? '', String(filter.isOwnOnly)],
    query,
    place: ['number'],
    read: async (limit, after) => {
      const page = { limit: limit + 1, after: after?.[0] ?? 0 }
      return firstOf(await readWebhooks(store, filter, page), limit, ({ key }) => [key])
    },
  })
  const shown = await Promise.all(items.map(record => toWebhook(key, record, now)))
  return { status: 200, body: { webhooks: shown, nextCursor } }
})

export const getWebhook = endpoint({
  family: 'webhook',
  method: 'GET',
  path: '/api/webhooks/{webhookId}',
  summary: 'Get a webhook',
  scope: 'manage',
  params: v.object({ webhookId: Uuid }),
  errors: { 409: NO_KEY },
  responses: { 200: Webhook },
  example: { params: { webhookId: WEBHOOK_ID }, answers: { 200: webhook } },
}).handle(async context => {
  const { params, now, runtime } = context
  const key = await webhookKeyOf(runtime.env)
  return { status: 200, body: await toWebhook(key, await requireWebhook(context, params.webhookId), now) }
})

export const updateWebhook = endpoint({
  family: 'webhook',
  method: 'PATCH',
  path: '/api/webhooks/{webhookId}',
  summary: 'Change a webhook',
  description:
    'Omitted fields stay unchanged. A disabled webhook records no events. If you enable it again, pending deliveries resume. Changes to `events` take up to 30 seconds to take effect.',
  scope: 'manage',
  params: v.object({ webhookId: Uuid }),
  body: v.strictObject({
    url: v.optional(Url),
    events: v.optional(Events),
    format: v.optional(Format),
    includeValues: v.optional(IncludeValues),
    description: v.optional(Description),
    enabled: v.optional(v.boolean()),
  }),
  errors: { 409: `${CHANGED} / ${NO_KEY}` },
  responses: { 200: Webhook },
  example: {
    params: { webhookId: WEBHOOK_ID },
    body: { events: ['span.reviewed', 'span.disputed'], enabled: true },
    answers: { 200: webhook },
  },
}).handle(async context => {
  const { params, body, store, act, now, request, runtime } = context
  const key = await webhookKeyOf(runtime.env)
  const before = await requireWebhook(context, params.webhookId)
  const { url, enabled, includeValues: includesValues, ...changes } = body
  if (url !== undefined) requireUrl(url, request, runtime.env)
  const sealed = await unsealIfPossible(key, before.id, before.sealed)
  const isMoved = url !== undefined && url !== sealed?.url
  // A secret that can't be read is lost, and a new one takes its place. No response shows the new secret, so managers
  // have to replace it afterward.
  const secrets = sealed ?? { secret: makeWebhookSecret(), oldSecret: null }
  const after = await saveWebhook(store, act, before, {
    ...changes,
    includesValues,
    sealed: isMoved ? await seal(key, before.id, { ...secrets, url }) : undefined,
    isEnabled: enabled,
    origin: new URL(request.url).origin,
  })
  if (!after) throw changedMeanwhile()
  return { status: 200, body: await toWebhook(key, after, now) }
})

export const deleteWebhook = endpoint({
  family: 'webhook',
  method: 'DELETE',
  path: '/api/webhooks/{webhookId}',
  summary: 'Delete a webhook',
  description:
    'Nothing more is sent to the webhook, except for deliveries that are already in progress. Its deliveries are deleted: most of them right away, the rest within an hour or so.',
  scope: 'manage',
  params: v.object({ webhookId: Uuid }),
  responses: { 200: v.object({ id: Uuid }) },
  example: { params: { webhookId: WEBHOOK_ID }, answers: { 200: { id: WEBHOOK_ID } } },
}).handle(async ({ params: { webhookId }, caller, store, act }) => {
  const record = await findWebhook(store, webhookId)
  if (!record) throw notFound()
  requireProjectOf(caller, record)
  await removeWebhook(store, act, record)
  return { status: 200, body: { id: webhookId } }
})

export const rotateWebhookSecret = endpoint({
  family: 'webhook',
  method: 'POST',
  path: '/api/webhooks/{webhookId}/rotate-secret',
  summary: "Replace a webhook's secret",
  description:
    'For 24 hours, deliveries are signed with both secrets, so you have time to switch over. A secret older than the one being replaced stops working immediately. If the response is lost, rotate again.',
  scope: 'manage',
  params: v.object({ webhookId: Uuid }),
  errors: { 409: `${CHANGED} / ${OTHER_KEY}` },
  responses: { 201: WebhookWithSecret },
  example: { params: { webhookId: WEBHOOK_ID }, answers: { 201: newWebhook } },
}).handle(async context => {
  const { params, store, act, now, runtime } = context
  const key = await webhookKeyOf(runtime.env)
  const before = await requireWebhook(context, params.webhookId)
  const { url, secret: oldSecret } = await unseal(key, before.id, before.sealed)
  const next = { url, secret: makeWebhookSecret(), oldSecret }
  const after = await replaceSecret(store, act, before, {
    sealed: await seal(key, before.id, next),
    oldSecretUntil: now + WEBHOOK_SECRET_OVERLAP_MS,
  })
  if (!after) throw changedMeanwhile()
  return { status: 201, body: { ...toWebhookWithUrl(after, next, now), secret: next.secret } }
})

/** 400 for a URL that events can't be sent to. */
function requireUrl(url: string, { url: ownUrl }: Request, { ALLOW_LOCAL_WEBHOOKS }: Env): void {
  const fault = findUrlFault(url, { ownHost: new URL(ownUrl).host, allowsLocal: ALLOW_LOCAL_WEBHOOKS === '1' })
  if (fault) throw badRequest(fault, 'url')
}
