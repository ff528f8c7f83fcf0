import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  CONCURRENT_DELIVERIES,
  MAX_WEBHOOK_REST_MS,
  MIN_WEBHOOK_REST_MS,
  WEBHOOK_DEAD_AFTER_MS,
  WEBHOOK_RETRY_JITTER,
  WEBHOOK_RETRY_SECONDS,
} from '../../src/limits.ts'
import { newHooked, receive } from '../support/webhooks.ts'

/* Uses a simulated clock to check when deliveries are attempted and when the attempts stop. */

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const ATTEMPTS = WEBHOOK_RETRY_SECONDS.length + 1
const DAY_MS = 86_400_000

/** A webhook, and a clock that advances only if a test says so. */
async function newTimed() {
  vi.useFakeTimers({ toFake: ['Date'] })
  const hooked = await newHooked()
  const { test, send, deliveries } = hooked
  /** Sends a test event, and returns its delivery. */
  const sendTest = async () => {
    const id = await test()
    await send()
    return (await deliveries()).find((each: { id: string }) => each.id === id)
  }
  /** Waits for the next attempt at the newest delivery, and then returns the delivery. */
  const retry = async () => {
    const [{ nextAttemptAt }] = await deliveries()
    vi.setSystemTime(Date.parse(nextAttemptAt))
    await send()
    return (await deliveries())[0]
  }
  return { ...hooked, sendTest, retry }
}

const pass = (ms: number) => vi.setSystemTime(Date.now() + ms)

/** A receiver that returns a status until a test changes it. */
function receiveWith(status: number) {
  const receiver = { status }
  const received = receive(() => new Response(null, { status: receiver.status }))
  return Object.assign(receiver, { received })
}

describe('a delivery', () => {
  it.for([200, 201, 202, 204, 206, 299])('succeeds if the receiver returns %d', async (status, { expect }) => {
    const { sendTest, send } = await newTimed()
    const { received } = receiveWith(status)
    expect(await sendTest()).toMatchObject({
      state: 'delivered',
      attempts: 1,
      nextAttemptAt: null,
      attempt: { status, error: null, answer: null },
    })
    pass(DAY_MS)
    await send()
    expect(received).toHaveLength(1)
  })

  it.for([
    [301, 'Redirects are not followed'],
    [302, 'Redirects are not followed'],
    [303, 'Redirects are not followed'],
    [304, 'Redirects are not followed'],
    [307, 'Redirects are not followed'],
    [308, 'Redirects are not followed'],
    [400, 'The receiver returned 400'],
    [401, 'The receiver returned 401'],
    [404, 'The receiver returned 404'],
    [410, 'The receiver returned 410'],
    [429, 'The receiver returned 429'],
    [500, 'The receiver returned 500'],
    [503, 'The receiver returned 503'],
  ] as const)('fails if the receiver returns %d', async ([status, error], { expect }) => {
    const { sendTest } = await newTimed()
    const { received } = receiveWith(status)
    expect(await sendTest()).toMatchObject({ state: 'pending', attempts: 1, attempt: { status, error } })
    expect(received).toHaveLength(1)
  })

  it('is attempted ten times over three days, and then fails', async () => {
    const { sendTest, retry, send, deliveries, read } = await newTimed()
    const { received } = receiveWith(400)
    const startedAt = Date.now()
    for (let delivery = await sendTest(); delivery.state === 'pending'; delivery = await retry()) {
      const { attempts, attempt, nextAttemptAt } = delivery
      expect(received).toHaveLength(attempts)
      const wait = Date.parse(nextAttemptAt) - Date.parse(attempt.at)
      const planned = (WEBHOOK_RETRY_SECONDS[attempts - 1] ?? 0) * 1000
      expect(wait).toBeGreaterThanOrEqual(planned)
      expect(wait).toBeLessThanOrEqual(planned * (1 + WEBHOOK_RETRY_JITTER))
      // Nothing is sent before the wait is over.
      vi.setSystemTime(Date.parse(nextAttemptAt) - 1)
      await send()
      expect(received).toHaveLength(attempts)
    }
    expect((await deliveries())[0]).toMatchObject({ state: 'failed', attempts: 10, nextAttemptAt: null })
    expect(received).toHaveLength(10)
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect(new Set(received.map(({ body }) => body)).size).toBe(1)
    const days = (Date.now() - startedAt) / DAY_MS
    expect(days).toBeGreaterThan(2.9)
    expect(days).toBeLessThan(3.5)
    pass(DAY_MS)
    await send()
    expect(received).toHaveLength(10)
    // One failed delivery is no reason to switch the webhook off.
    expect((await read()).enabled).toBe(true)
  })

  it('succeeds on its last attempt, so the receiver no longer counts as failing', async () => {
    const { sendTest, retry, read } = await newTimed()
    const receiver = receiveWith(400)
    let delivery = await sendTest()
    expect((await read()).failingSince).toBe(delivery.attempt.at)
    while (delivery.attempts < ATTEMPTS - 1) delivery = await retry()
    receiver.status = 204
    expect(await retry()).toMatchObject({ state: 'delivered', attempts: ATTEMPTS, attempt: { error: null } })
    expect((await read()).failingSince).toBeNull()
  })
})

describe('a receiver', () => {
  it.for([429, 500, 503])('rests after it returns %d, longer after each failure', async (status, { expect }) => {
    const { test, send } = await newTimed()
    const { received } = receiveWith(status)
    for (let count = 0; count < 6 * CONCURRENT_DELIVERIES; count++) await test()
    await send()
    const passRest = async (rest: number) => {
      const before = received.length
      pass(rest - 1)
      await send()
      expect(received).toHaveLength(before)
      pass(1)
      await send()
      expect(received.length).toBeGreaterThan(before)
      return before
    }
    for (let rest = MIN_WEBHOOK_REST_MS; rest < MAX_WEBHOOK_REST_MS; rest *= 2) {
      const before = await passRest(rest)
      expect(received.length).toBeLessThanOrEqual(before + CONCURRENT_DELIVERIES)
    }
    // From now on, it rests for the maximum time.
    for (const _ of [1, 2]) await passRest(MAX_WEBHOOK_REST_MS)
  })

  it('gets everything that waited as soon as it recovers', async () => {
    const { test, send, deliveries } = await newTimed()
    const receiver = receiveWith(503)
    const ids = await Promise.all(Array.from({ length: 12 }, test))
    await send()
    expect(receiver.received.length).toBeLessThanOrEqual(CONCURRENT_DELIVERIES)
    receiver.status = 200
    pass(MIN_WEBHOOK_REST_MS)
    await send()
    pass(2 * (WEBHOOK_RETRY_SECONDS[0] ?? 0) * 1000)
    await send()
    expect((await deliveries()).map(({ id, state }: { id: string; state: string }) => [id, state]).toSorted()).toEqual(
      ids.map(id => [id, 'delivered']).toSorted(),
    )
  })

  it("doesn't rest after it refuses one event", async () => {
    const { sendTest, test, send } = await newTimed()
    const receiver = receiveWith(400)
    await sendTest()
    receiver.status = 200
    await test()
    await send()
    expect(receiver.received).toHaveLength(2)
  })

  it('gets a test event even while it rests', async () => {
    const { sendTest } = await newTimed()
    const receiver = receiveWith(503)
    await sendTest()
    receiver.status = 200
    expect(await sendTest()).toMatchObject({ state: 'delivered' })
  })

  it('that returns 410 is switched off until somebody enables it', async () => {
    const { manager, path, test, replay, send, read, deliveries, auditLog } = await newTimed()
    const receiver = receiveWith(410)
    const [first] = [await test(), await test()]
    await send()
    expect(await read()).toMatchObject({
      enabled: false,
      disabledReason: 'gone',
      disabledAt: new Date().toISOString(),
    })
    const seen = receiver.received.length
    pass(DAY_MS)
    await send()
    expect(receiver.received).toHaveLength(seen)
    expect((await manager.post(`${path}/test`)).status).toBe(409)
    expect((await replay(first)).status).toBe(409)
    const switchOff = { action: 'webhook.switch_off', reason: 'gone', actor: { keyId: null, userId: null } }
    expect(await auditLog()).toContainEqual(expect.objectContaining(switchOff))

    receiver.status = 200
    expect((await manager.patch(path, { enabled: true })).body).toMatchObject({
      enabled: true,
      disabledAt: null,
      disabledReason: null,
      failingSince: null,
    })
    await send()
    expect((await deliveries()).map(({ state }: { state: string }) => state)).toEqual(['delivered', 'delivered'])
  })

  it('that fails for five days is switched off until somebody enables it', async () => {
    const { manager, path, sendTest, send, read, deliveries, auditLog } = await newTimed()
    const receiver = receiveWith(500)
    await sendTest()
    const failingSince = new Date().toISOString()
    // Send just before five days have passed, and again when they have.
    pass(WEBHOOK_DEAD_AFTER_MS - 1)
    await sendTest()
    expect(await read()).toMatchObject({ enabled: true, failingSince })
    pass(1)
    await sendTest()
    expect(await read()).toMatchObject({ enabled: false, disabledReason: 'failing' })
    const switchOff = { action: 'webhook.switch_off', reason: 'failing', actor: { keyId: null, userId: null } }
    expect(await auditLog()).toContainEqual(expect.objectContaining(switchOff))

    receiver.status = 200
    await manager.patch(path, { enabled: true })
    pass(WEBHOOK_DEAD_AFTER_MS)
    await send()
    const states = (await deliveries()).map(({ state }: { state: string }) => state)
    expect(new Set(states)).toEqual(new Set(['delivered']))
    expect(await read()).toMatchObject({ enabled: true, failingSince: null })
  })

  it('that works now and then is not switched off', async () => {
    const { sendTest, read } = await newTimed()
    const receiver = receiveWith(500)
    await sendTest()
    pass(WEBHOOK_DEAD_AFTER_MS - 1)
    receiver.status = 200
    await sendTest()
    receiver.status = 500
    pass(1)
    await sendTest()
    pass(WEBHOOK_DEAD_AFTER_MS - 1)
    await sendTest()
    expect((await read()).enabled).toBe(true)
  })
})

describe('a replay', () => {
  it('sends a delivered event again, with the same id', async () => {
    const { sendTest, replay, send, deliveries, auditLog } = await newTimed()
    const { received } = receiveWith(200)
    const { id } = await sendTest()
    expect(await replay(id)).toMatchObject({ status: 202, body: { id, state: 'pending', attempts: 0 } })
    await send()
    expect((await deliveries())[0]).toMatchObject({ id, state: 'delivered', attempts: 1 })
    expect(received.map(({ headers, body }) => [headers['webhook-id'], body])).toEqual(
      Array(2).fill([id, received[0]?.body]),
    )
    expect(await auditLog()).toContainEqual(expect.objectContaining({ action: 'webhook.replay' }))
  })

  it('restarts the attempts at a failed delivery', async () => {
    const { sendTest, retry, replay, send, deliveries } = await newTimed()
    receiveWith(400)
    let delivery = await sendTest()
    while (delivery.state === 'pending') delivery = await retry()
    await replay(delivery.id)
    await send()
    const [again] = await deliveries()
    expect(again).toMatchObject({ state: 'pending', attempts: 1 })
    const firstWait = Date.parse(again.nextAttemptAt) - Date.now()
    expect(firstWait).toBeLessThanOrEqual((WEBHOOK_RETRY_SECONDS[0] ?? 0) * 1000 * (1 + WEBHOOK_RETRY_JITTER))
    expect(await retry()).toMatchObject({ state: 'pending', attempts: 2 })
  })

  it('attempts a pending delivery immediately, as its next attempt', async () => {
    const { sendTest, replay, send, deliveries } = await newTimed()
    receiveWith(503)
    const { id } = await sendTest()
    expect((await replay(id)).body).toMatchObject({ state: 'pending', attempts: 1 })
    await send()
    expect((await deliveries())[0]).toMatchObject({ state: 'pending', attempts: 2 })
  })

  it("finds only the webhook's own deliveries", async () => {
    const { org, manager, sendTest, replay } = await newTimed()
    receiveWith(200)
    const { id } = await sendTest()
    const draft = { url: 'https://hooks.example.com/other', events: ['trace.deleted'] }
    const other = (await manager.post('/api/webhooks', draft)).body
    expect((await replay(crypto.randomUUID())).status).toBe(404)
    expect((await org.owner.post(`/api/webhooks/${other.id}/deliveries/${id}/replay`)).status).toBe(404)
  })
})
