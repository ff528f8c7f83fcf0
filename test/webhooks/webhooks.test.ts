import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Job } from '../../src/env.ts'
import { stored } from '../support/database.ts'
import { client, newOrg, type Org } from '../support/org.ts'
import { receive, sendNow, withoutQueue } from '../support/webhooks.ts'

const URL = 'https://hooks.example.com/in'
const draft = { projectSlug: 'support', url: URL, events: ['span.reviewed'] }

afterEach(() => vi.restoreAllMocks())

const create = async (org: Org, fields: object = {}) => org.owner.post('/api/webhooks', { ...draft, ...fields })

describe('a webhook', () => {
  it('shows its secret only when it is created', async () => {
    const org = await newOrg()
    const created = await create(org)
    expect(created).toMatchObject({
      status: 201,
      body: { url: URL, secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/), enabled: true },
    })
    const { secret: _, ...shown } = created.body
    expect((await org.owner.get('/api/webhooks?projectSlug=support')).body).toEqual({
      webhooks: [shown],
      nextCursor: null,
    })
    expect((await org.owner.get(`/api/webhooks/${shown.id}`)).body).toEqual(shown)
  })

  it('is created only once per id', async () => {
    const org = await newOrg()
    const id = crypto.randomUUID()
    const first = await create(org, { id })
    expect(await create(org, { id })).toMatchObject({ status: 201, body: first.body })
    expect((await create(org, { id, description: 'Another' })).status).toBe(409)
    const other = await newOrg()
    expect((await create(other, { id })).status).toBe(201)
  })

  it('can be created up to ten times in a project', async () => {
    const org = await newOrg()
    const created = await Promise.all(Array.from({ length: 11 }, () => create(org)))
    expect(created.map(({ status }) => status).toSorted()).toEqual([...Array(10).fill(201), 422])
    expect((await create(org, { projectSlug: undefined })).status).toBe(201)
  })

  it("keeps its URL and secrets encrypted, and can't be read with a different key", async () => {
    const org = await newOrg()
    const { body } = await create(org, { url: 'https://hooks.slack.com/services/T0/B0/token' })
    const row = await stored.prepare('select * from webhooks where id = ?').bind(body.id).first()
    expect(JSON.stringify(row)).not.toMatch(/slack|token|whsec/)
    const other = client({ 'x-api-key': org.ownerKey }, { ...env, WEBHOOK_KEY: 'a different key for the tests' })
    expect((await other.get(`/api/webhooks/${body.id}`)).body).toMatchObject({ url: '', isReadable: false })
    expect((await other.delete(`/api/webhooks/${body.id}`)).status).toBe(200)
  })

  it("doesn't stop other webhooks from getting events if it can't be read", async () => {
    const org = await newOrg()
    const other = client({ 'x-api-key': org.ownerKey }, { ...env, WEBHOOK_KEY: 'a different key for the tests' })
    const unreadable = await other.post('/api/webhooks', { ...draft, url: 'https://unreadable.example.com' })
    const readable = await create(org)
    const received = receive()
    const jobs: unknown[] = []
    const send = async (...sent: unknown[]) => void jobs.push(sent)
    const bindings = { ...env, EVENTS: { send } as unknown as Queue<Job> }
    for (const { body } of [unreadable, readable]) {
      await client({ 'x-api-key': org.ownerKey }, withoutQueue()).post(`/api/webhooks/${body.id}/test`)
    }
    await sendNow(org, bindings)
    expect(received.map(({ url }) => url)).toEqual([readable.body.url])
    expect(jobs).toEqual([])
  })

  it('needs a WEBHOOK_KEY, and says how to set it', async () => {
    const org = await newOrg()
    const bare = client({ 'x-api-key': org.ownerKey }, { ...env, WEBHOOK_KEY: '' })
    const { status, body } = await bare.post('/api/webhooks', draft)
    expect({ status, code: body.code }).toEqual({ status: 409, code: 'no_webhook_key' })
    expect(body.error).toContain('npx wrangler secret put WEBHOOK_KEY')
  })

  it('can be managed only with a key for its project or for all projects', async () => {
    const org = await newOrg()
    await org.owner.post('/api/projects', { slug: 'sales', name: 'Sales' })
    const sales = org.clientOf(await org.keyFor({ projectSlug: 'sales' }))
    const [own, whole] = [await create(org), await create(org, { projectSlug: undefined })]
    expect((await sales.post('/api/webhooks', { ...draft, projectSlug: undefined })).status).toBe(403)
    expect((await sales.post('/api/webhooks', draft)).status).toBe(403)
    for (const { body } of [own, whole]) {
      expect((await sales.get(`/api/webhooks/${body.id}`)).status).toBe(403)
      expect((await sales.delete(`/api/webhooks/${body.id}`)).status).toBe(403)
    }
    const idsFor = async (caller: typeof sales, query = '') =>
      (await caller.get(`/api/webhooks${query}`)).body.webhooks.map(({ id }: { id: string }) => id)
    expect(await idsFor(sales)).toEqual([])
    expect(await idsFor(org.bearer())).toEqual([own.body.id])
    expect(await idsFor(org.owner)).toEqual([own.body.id, whole.body.id])
    expect(await idsFor(org.owner, '?projectSlug=sales')).toEqual([whole.body.id])
  })

  it('is changed, disabled, enabled, and deleted, with entries in the audit log', async () => {
    const org = await newOrg()
    const { id } = (await create(org)).body
    const path = `/api/webhooks/${id}`
    const changes = {
      url: 'https://other.example.com',
      events: ['span.disputed'],
      format: 'slack',
    }
    expect((await org.owner.patch(path, changes)).body).toMatchObject(changes)
    expect((await org.owner.patch(path, changes)).status).toBe(200)
    expect((await org.owner.patch(path, { enabled: false })).body).toMatchObject({
      enabled: false,
      disabledReason: 'manager',
      disabledAt: expect.any(String),
    })
    expect((await org.owner.post(`${path}/test`)).status).toBe(409)
    expect((await org.owner.patch(path, { enabled: true })).body).toMatchObject({ enabled: true, disabledReason: null })
    expect((await org.owner.delete(path)).status).toBe(200)
    expect((await org.owner.get(path)).status).toBe(404)
    const { entries } = (await org.owner.get(`/api/audit-log?targetId=${id}`)).body
    expect(entries.map(({ action }: { action: string }) => action)).toEqual([
      'webhook.delete',
      'webhook.change',
      'webhook.change',
      'webhook.change',
      'webhook.create',
    ])
  })

  it('gets a test event', async () => {
    const org = await newOrg()
    const { id } = (await create(org)).body
    const tester = client({ 'x-api-key': org.ownerKey }, withoutQueue())
    const tested = await tester.post(`/api/webhooks/${id}/test`)
    expect(tested).toMatchObject({ status: 202, body: { type: 'webhook.test', state: 'pending', attempts: 0 } })
    const received = receive()
    await sendNow(org)
    expect(received).toMatchObject([{ url: URL, event: { type: 'webhook.test', data: { projectSlug: 'support' } } }])
    const { deliveries } = (await org.owner.get(`/api/webhooks/${id}/deliveries`)).body
    expect(deliveries).toMatchObject([
      { id: tested.body.id, state: 'delivered', attempts: 1, attempt: { status: 200, error: null, answer: null } },
    ])
    expect(received[0]?.headers['webhook-id']).toBe(tested.body.id)
    await tester.post(`/api/webhooks/${id}/deliveries/${tested.body.id}/replay`)
    await sendNow(org)
    expect(received.map(({ headers }) => headers['webhook-id'])).toEqual([tested.body.id, tested.body.id])
  })
})
