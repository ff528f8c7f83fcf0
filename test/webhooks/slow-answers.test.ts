import { createExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { answer } from '../../src/app.ts'
import { MAX_RETRY_AFTER_MS, UNREADABLE_PAUSE_MS, WEBHOOK_DEAD_AFTER_MS } from '../../src/limits.ts'
import { stored } from '../support/database.ts'
import { client } from '../support/org.ts'
import { newHooked, receive, withoutQueue } from '../support/webhooks.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const HOUR_MS = 3_600_000
const inMs = (ms: number): string => new Date(Date.now() + ms).toUTCString()

/** The Retry-After header of a receiver's response, and how long it delays the next attempt. */
const RETRY_AFTER: Record<string, [header: () => string, wait: number]> = {
  'in seconds': [() => '1800', HOUR_MS / 2],
  'as a date': [() => inMs(HOUR_MS / 2), HOUR_MS / 2],
  'with more seconds than the longest wait': [() => '86400', MAX_RETRY_AFTER_MS],
  'as a date too far in the future': [() => inMs(24 * HOUR_MS), MAX_RETRY_AFTER_MS],
  'as a date in the past': [() => inMs(-HOUR_MS), 0],
  'that makes no sense': [() => 'soon', 0],
  'that is negative': [() => '-5', 0],
}

it.for(Object.entries(RETRY_AFTER))('schedules the next attempt after a Retry-After %s', async ([, [header, wait]]) => {
  vi.useFakeTimers({ toFake: ['Date'], now: Math.ceil(Date.now() / 1000) * 1000 })
  const { test, send, deliveries } = await newHooked()
  await test()
  receive(() => new Response(null, { status: 503, headers: { 'retry-after': header() } }))
  await send()
  const [{ nextAttemptAt }] = await deliveries()
  const waited = Date.parse(nextAttemptAt) - Date.now()
  expect(waited).toBeGreaterThanOrEqual(Math.max(wait, 60_000))
  expect(waited).toBeLessThanOrEqual(Math.max(wait, 66_000))
})

describe('a response whose body breaks off', () => {
  it.for([
    [500, 'pending', 'The receiver returned 500', 'Bad ga'],
    [200, 'delivered', null, null],
  ] as const)('is still judged by its status, %d', async ([status, state, error, answer], { expect }) => {
    const { test, send, deliveries } = await newHooked()
    await test()
    receive(() => {
      let isBegun = false
      const body = new ReadableStream({
        pull(controller) {
          if (isBegun) controller.error(new DOMException('timed out', 'TimeoutError'))
          else controller.enqueue(new TextEncoder().encode('Bad ga'))
          isBegun = true
        },
      })
      return new Response(body, { status })
    })
    await send()
    expect((await deliveries())[0]).toMatchObject({ state, attempt: { status, error, answer } })
  })
})

describe('events for a webhook whose data cannot be decrypted', () => {
  it.for(['', 'short', 'a different key for the tests'])('wait while WEBHOOK_KEY is "%s"', async (key, { expect }) => {
    const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
    vi.useFakeTimers({ toFake: ['Date'] })
    const { test, send, deliveries, read, webhook } = await newHooked()
    await test()
    const received = receive()
    await send({ ...withoutQueue(), WEBHOOK_KEY: key })
    expect(logged.mock.calls.join()).toContain('WEBHOOK_KEY')
    expect((await deliveries())[0]).toMatchObject({ state: 'pending', attempts: 0 })
    const failingSince = new Date().toISOString()
    expect(await read()).toMatchObject({ enabled: true, failingSince })
    // Cron leaves the webhook alone for a while, so that it doesn't delay other webhooks.
    const dueAt = await stored.prepare('select due_at from webhooks where id = ?').bind(webhook.id).first('due_at')
    expect(dueAt).toBe(Date.now() + UNREADABLE_PAUSE_MS)
    vi.setSystemTime(Date.now() + UNREADABLE_PAUSE_MS)
    await send()
    expect(received).toHaveLength(1)
    expect((await deliveries())[0]).toMatchObject({ state: 'delivered', attempts: 1 })
    expect((await read()).failingSince).toBeNull()
  })

  it('disable the webhook after five days', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    vi.useFakeTimers({ toFake: ['Date'] })
    const { test, send, read } = await newHooked()
    await test()
    const bare = { ...withoutQueue(), WEBHOOK_KEY: '' }
    for (const wait of [0, WEBHOOK_DEAD_AFTER_MS - 1, 1]) {
      expect((await read()).enabled).toBe(true)
      vi.setSystemTime(Date.now() + wait)
      await send(bare)
    }
    expect(await read()).toMatchObject({ enabled: false, disabledReason: 'failing' })
  })

  it('go out again, signed with a new secret, once its URL is set', async () => {
    const { org, path, webhook } = await newHooked()
    const bindings = { ...withoutQueue(), WEBHOOK_KEY: 'a different key for the tests' }
    const manager = client({ 'x-api-key': org.ownerKey }, bindings)
    const other = (
      await manager.post('/api/webhooks', { url: 'https://other.example.com/', events: ['trace.deleted'] })
    ).body
    expect((await manager.get('/api/webhooks')).body.webhooks).toMatchObject([
      { id: webhook.id, isReadable: false, url: '', events: ['span.reviewed'] },
      { id: other.id, isReadable: true, url: other.url },
    ])
    expect(await manager.post(`${path}/rotate-secret`)).toMatchObject({
      status: 409,
      body: { code: 'other_webhook_key', error: expect.stringContaining('set its URL') },
    })
    expect((await manager.patch(path, { description: 'Still unreadable' })).body).toMatchObject({ isReadable: false })
    expect((await manager.patch(path, { url: webhook.url })).body).toMatchObject({ isReadable: true, url: webhook.url })
    const { status, body } = await manager.post(`${path}/rotate-secret`)
    expect(status).toBe(201)
    expect(body.secret).not.toBe(webhook.secret)
  })
})

describe('a delivery to Countersign itself, at any of its domains', () => {
  it('is refused, and switches the webhook off', async () => {
    const { test, send, read, org } = await newHooked({ url: 'https://another-domain.example.com/api/projects' })
    await test()
    const received = receive(({ url, headers, body }) => {
      const request = new Request(url, { method: 'POST', headers: { ...headers, 'x-api-key': org.ownerKey }, body })
      return answer(request, env, createExecutionContext())
    })
    await send()
    expect(received).toHaveLength(1)
    expect(await read()).toMatchObject({ enabled: false, disabledReason: 'gone' })
    expect((await org.owner.get('/api/projects')).body.projects).toHaveLength(1)
  })
})
