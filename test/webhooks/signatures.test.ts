import { Webhook } from 'standardwebhooks'
import { afterEach, describe, it, vi } from 'vitest'
import { WEBHOOK_SECRET_OVERLAP_MS } from '../../src/limits.ts'
import { newHooked, type Received, receive } from '../support/webhooks.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** What the Standard Webhooks library returns for a delivery: its payload, or undefined if the signature is wrong. */
function verified(secret: string, { body, headers }: Pick<Received, 'body' | 'headers'>): unknown {
  try {
    return new Webhook(secret).verify(body, headers)
  } catch {
    return undefined
  }
}

describe('the signature of a delivery', () => {
  it('is accepted by the Standard Webhooks library, but only if nothing was changed', async ({ expect }) => {
    const { webhook, test, send } = await newHooked()
    const id = await test()
    const received = receive()
    await send()
    const [delivery] = received
    if (!delivery) throw new Error('Nothing was delivered')
    expect(verified(webhook.secret, delivery)).toEqual({
      type: 'webhook.test',
      timestamp: expect.any(String),
      data: expect.objectContaining({ projectSlug: 'support', sequence: expect.any(Number) }),
    })
    expect(delivery.headers).toMatchObject({
      'webhook-id': id,
      'content-type': 'application/json',
      'user-agent': 'Countersign-Webhooks',
    })
    const { headers, body } = delivery
    const changed: Record<string, Pick<Received, 'body' | 'headers'>> = {
      'another body': { headers, body: body.replace('support', 'Support') },
      'a body with more whitespace': { headers, body: `${body} ` },
      'another id': { body, headers: { ...headers, 'webhook-id': crypto.randomUUID() } },
      'another time': {
        body,
        headers: { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) },
      },
    }
    for (const [name, tampered] of Object.entries(changed)) {
      expect([name, verified(webhook.secret, tampered)]).toEqual([name, undefined])
    }
    expect(verified(`whsec_${btoa('another secret of 24 bytes')}`, delivery)).toBeUndefined()
  })

  it('is new for each attempt, so a late attempt is still valid', async ({ expect }) => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const { webhook, test, send, deliveries } = await newHooked()
    await test()
    const received = receive(() => new Response(null, { status: received.length === 1 ? 500 : 200 }))
    await send()
    vi.setSystemTime(Date.parse((await deliveries())[0].nextAttemptAt) + 3_600_000)
    await send()
    const [first, second] = received
    if (!first || !second) throw new Error('There was no second attempt')
    // The library refuses signatures that are older than five minutes.
    expect(verified(webhook.secret, first)).toBeUndefined()
    expect(verified(webhook.secret, second)).toEqual(JSON.parse(first.body))
    expect(second.headers['webhook-id']).toBe(first.headers['webhook-id'])
  })

  it('is made with both secrets for 24 hours after a rotation, and then with the new one', async ({ expect }) => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const { manager, webhook, path, test, send, read } = await newHooked()
    const received = receive()
    /** For each secret, whether it verifies the next delivery. */
    const verifiedBy = async (...secrets: string[]) => {
      await test()
      await send()
      const last = received.at(-1)
      return secrets.map(secret => last !== undefined && verified(secret, last) !== undefined)
    }
    const rotate = async (): Promise<string> => (await manager.post(`${path}/rotate-secret`)).body.secret
    const first: string = webhook.secret
    const second = await rotate()
    expect(await verifiedBy(first, second)).toEqual([true, true])
    vi.setSystemTime(Date.now() + WEBHOOK_SECRET_OVERLAP_MS - 1)
    expect(await verifiedBy(first, second)).toEqual([true, true])
    vi.setSystemTime(Date.now() + 1)
    expect(await verifiedBy(first, second)).toEqual([false, true])
    expect((await read()).previousSecretUntil).toBeNull()
    // After the second rotation within 24 hours, the oldest secret stops working immediately.
    const third = await rotate()
    const fourth = await rotate()
    expect(await verifiedBy(first, second, third, fourth)).toEqual([false, false, true, true])
  })
})
