import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, expect, it, vi } from 'vitest'
import { inShard } from '../../src/env.ts'
import { runJob } from '../../src/jobs/consumer.ts'
import { databaseOf } from '../../src/store/core/store.ts'
import {
  alone,
  bindings,
  enterEpoch,
  newTenant,
  ONE,
  prepareTwoDatabases,
  type Tenant,
  TWO,
  walk,
  without,
  write,
} from '../support/two-databases.ts'
import { receive } from '../support/webhooks.ts'

beforeAll(prepareTwoDatabases)
afterEach(() => {
  vi.restoreAllMocks()
})

/** Sends the events of both databases now. */
async function send({ org }: Tenant): Promise<void> {
  const keys = await env.DB.prepare(
    'select organization_key as organizationKey, key as projectKey from projects where id = ?',
  )
    .bind(org.project.id)
    .first<{ organizationKey: number; projectKey: number }>()
  if (!keys) throw new Error('the project is gone')
  for (const shard of [ONE, TWO]) await runJob({ kind: 'send_events', ...keys, ...inShard(shard) }, alone(bindings))
}

it('deliveries from two databases are in one list, and each can be replayed', async () => {
  const tenant = await newTenant([ONE])
  const draft = { projectSlug: 'support', url: 'https://hooks.example.com/in', events: ['span.reviewed'] }
  const { body: webhook } = await tenant.api.post('/api/webhooks', draft)
  const path = `/api/webhooks/${webhook.id}/deliveries`
  // Entering an epoch creates new keys. When the isolate reads them, it finds out about the webhook.
  await enterEpoch(tenant, [ONE])
  const inOne = [await write(tenant), await write(tenant)]
  await enterEpoch(tenant, [TWO])
  const inTwo = [await write(tenant), await write(tenant)]
  const key = await tenant.org.keyFor({ projectSlug: undefined })
  const api = tenant.org.clientOf(key, alone(bindings))
  for (const { spanId } of [inOne[0], inTwo[0], inOne[1], inTwo[1]].flatMap(each => each ?? [])) {
    expect((await api.put(`/api/spans/${spanId}/review`, { decision: 'accept' })).status).toBe(200)
  }
  const received = receive()
  await send(tenant)
  const sent = received.toSorted((one, other) => other.event.timestamp.localeCompare(one.event.timestamp))
  const ids = sent.map(({ headers }) => headers['webhook-id'])
  expect(new Set(ids).size).toBe(4)
  for (const limit of [1, 3, 200]) {
    const listed = await walk(api, `${path}?state=delivered`, 'deliveries', limit)
    expect(listed.map(({ id }) => id)).toEqual(ids)
  }
  const events = await databaseOf(bindings, TWO)
    .prepare('select id from webhook_events order by sequence desc')
    .all<{ id: string }>()
  const [replayed] = events.results.map(({ id }) => id)
  const replay = () => api.post(`${path}/${replayed}/replay`)
  expect(await replay()).toMatchObject({ status: 202, body: { id: replayed, state: 'pending', attempts: 0 } })
  await send(tenant)
  expect(received.slice(4).map(({ headers }) => headers['webhook-id'])).toEqual([replayed])
  expect((await api.get(path)).body.deliveries[0]).toMatchObject({ id: replayed, state: 'delivered', attempts: 1 })
  const silent = tenant.org.clientOf(key, alone(without(TWO)))
  const { headers, body } = await silent.get(path)
  expect([headers.get('x-missing-shards'), body.deliveries.length]).toEqual([String(TWO), 2])
  expect((await silent.post(`${path}/${replayed}/replay`)).status).toBe(503)
})
