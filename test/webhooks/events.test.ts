import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { EventType } from '../../src/domain/webhook.ts'
import { runJob } from '../../src/jobs/consumer.ts'
import { anObservation, aTrace } from '../support/builders.ts'
import { client, newOrg, type Org, REVIEWER_EMAIL } from '../support/org.ts'
import { receive, sendNow, withoutQueue } from '../support/webhooks.ts'

afterEach(() => vi.restoreAllMocks())

/** A tenant with a webhook, and a client that this isolate hasn't seen before, so it knows about the webhook. */
async function newWatched(events: readonly EventType[], fields: object = {}) {
  const org = await newOrg()
  const webhook = { projectSlug: 'support', url: 'https://hooks.example.com/in', events, ...fields }
  const { body } = await org.owner.post('/api/webhooks', webhook)
  const fresh = client({ 'x-api-key': await org.keyFor({}) }, withoutQueue())
  return { org, webhook: body, fresh }
}

async function newSpan({ ingest, owner }: Org) {
  const trace = aTrace()
  const { id } = (await ingest.post('/api/v1/traces', trace)).body
  await ingest.post('/api/v1/observations', anObservation({ trace_id: trace.trace_id, data: 'secret output' }))
  const { spans } = (await owner.get(`/api/traces/${id}`)).body
  return { id, traceId: trace.trace_id, spanId: spans[0].id, stepId: trace.name }
}

/** Deletes everything under deleted traces. */
async function purge(ids: readonly string[]) {
  const { results } = await env.DB.prepare(
    'select organization_key as organizationKey, key as traceKey from traces where id in (select value from json_each(?))',
  )
    .bind(JSON.stringify(ids))
    .all<{ organizationKey: number; traceKey: number }>()
  for (const trace of results) await runJob({ kind: 'purge_trace', ...trace }, withoutQueue())
  expect(results).toHaveLength(ids.length)
}

describe('events', () => {
  it('report each decision once, without values', async () => {
    const { org, fresh } = await newWatched(['span.reviewed'])
    const span = await newSpan(org)
    const decision = { decision: 'correct', approvedOutput: 'secret correction', comment: 'secret comment' }
    expect((await fresh.put(`/api/spans/${span.spanId}/review`, decision)).status).toBe(200)
    // The same decision again is none.
    await fresh.put(`/api/spans/${span.spanId}/review`, decision)
    const received = receive()
    await sendNow(org)
    expect(received.map(({ event }) => event).toSorted((a, b) => b.type.localeCompare(a.type))).toMatchObject([
      {
        type: 'span.reviewed',
        data: {
          spanId: span.spanId,
          stepId: span.stepId,
          trace: { id: span.id, traceId: span.traceId },
          decision: 'correct',
          state: 'corrected',
          by: expect.any(String),
        },
      },
    ])
    expect(JSON.stringify(received)).not.toContain('secret')
  })

  it('are recorded only if somebody asks for them', async () => {
    const { org, webhook, fresh } = await newWatched(['span.disputed'])
    const span = await newSpan(org)
    await fresh.put(`/api/spans/${span.spanId}/review`, { decision: 'accept' })
    const received = receive()
    await sendNow(org)
    expect(received).toEqual([])
    expect((await org.owner.get(`/api/webhooks/${webhook.id}/deliveries`)).body.deliveries).toEqual([])
  })

  it('of imported reviews are not sent', async () => {
    const { org, fresh } = await newWatched(['span.reviewed'])
    const { spanId } = await newSpan(org)
    await org.owner.post('/api/users', { email: REVIEWER_EMAIL, name: 'Ada' })
    const imported = {
      spanId,
      decision: 'accept',
      source: 'import',
      by: REVIEWER_EMAIL,
      at: '2026-11-01T12:00:00.000Z',
    }
    expect((await fresh.post('/api/reviews', { reviews: [imported] })).body.results).toMatchObject([{ status: 200 }])
    const received = receive()
    await sendNow(org)
    expect(received).toEqual([])
  })

  it('report each deletion of a trace once, even after its purge', async () => {
    const { org, fresh } = await newWatched(['span.reviewed', 'trace.deleted'])
    const [one, two] = [await newSpan(org), await newSpan(org)]
    await fresh.put(`/api/spans/${two.spanId}/review`, { decision: 'accept' })
    expect((await fresh.delete(`/api/traces/${one.id}`)).status).toBe(200)
    expect((await fresh.delete(`/api/traces/${one.id}`)).status).toBe(404)
    expect((await fresh.post('/api/traces/delete', { ids: [one.id, two.id, two.id] })).status).toBe(207)
    await purge([one.id, two.id])
    const received = receive()
    await sendNow(org)
    expect(received.map(({ event }) => [event.type, event.data.trace, event.data.projectSlug])).toEqual(
      [one, two].map(({ id, traceId }) => ['trace.deleted', { id, traceId }, 'support']),
    )
  })

  it('of every project go to webhooks for every project', async () => {
    const { org, webhook } = await newWatched(['trace.deleted'], { projectSlug: undefined, format: 'slack' })
    await org.owner.post('/api/projects', { slug: 'sales', name: 'Sales' })
    await org.owner.post('/api/webhooks', {
      url: 'https://hooks.example.com/own',
      events: ['trace.deleted'],
      projectSlug: 'support',
    })
    const sales = org.clientOf(await org.keyFor({ projectSlug: 'sales' }))
    const trace = aTrace()
    const other = (await sales.post('/api/v1/traces', trace)).body.id
    const { id } = await newSpan(org)
    const whole = client({ 'x-api-key': await org.keyFor({ projectSlug: undefined }) }, withoutQueue())
    await whole.post('/api/traces/delete', { ids: [id, other] })
    const received = receive()
    await sendNow(org)
    await sendNow(
      org,
      withoutQueue(),
      (await org.owner.get('/api/projects')).body.projects.find(({ slug }: { slug: string }) => slug === 'sales').id,
    )
    expect(received.map(({ url }) => url)).toEqual([webhook.url, 'https://hooks.example.com/own', webhook.url])
    expect(received.at(-1)?.event).toMatchObject({ text: 'Trace deleted' })
    expect(received.at(-1)?.body).toContain(trace.trace_id)
    expect(received.at(-1)?.body).not.toContain(`/traces/${other}`)
  })

  it('report each activation of a prompt once, and a new prompt', async () => {
    const { org, fresh } = await newWatched(['prompt.activated'])
    const created = (await fresh.post('/api/prompts', { projectSlug: 'support', stepId: 'answer', content: 'secret' }))
      .body
    const path = `/api/prompts/${created.id}`
    const first = (await org.owner.get(path)).body.versions[0].id
    const second = (await fresh.post(`${path}/versions`, { content: 'secret two', activate: true })).body.id
    for (const versionId of [second, first, first]) {
      expect((await fresh.put(`${path}/active-version`, { versionId })).status).toBe(200)
    }
    const received = receive()
    await sendNow(org)
    expect(received.map(({ event: { data } }) => [data.stepId, data.versionId, data.previousVersionId])).toEqual([
      ['answer', first, null],
      ['answer', second, first],
      ['answer', first, second],
    ])
    expect(received.map(({ body }) => body).join()).not.toContain('secret')
  })
})
