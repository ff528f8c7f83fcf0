import { afterEach, describe, expect, inject, it, vi } from 'vitest'
import { KEPT_ANSWER_BYTES, WEBHOOK_TIMEOUT_MS } from '../../src/limits.ts'
import type { ReceiverReport } from '../support/receiver-report.ts'
import { newHooked, receive, withoutQueue } from '../support/webhooks.ts'

/* What receivers return, over real HTTP. */

afterEach(() => vi.restoreAllMocks())

/** A webhook for the tests' receiver, which behaves as `behavior` says, and the delivery of a test event. */
async function deliverTo(behavior: string, settings: { ALLOW_LOCAL_WEBHOOKS?: string } = {}) {
  const session = `${inject('webhookReceiver')}/${crypto.randomUUID()}`
  const bindings = { ...withoutQueue(), ALLOW_LOCAL_WEBHOOKS: '1' }
  const hooked = await newHooked({ url: `${session}/${behavior}` }, bindings)
  await hooked.test()
  await hooked.send({ ...bindings, ...settings })
  const report = async (): Promise<ReceiverReport> => (await fetch(session)).json()
  return { ...hooked, delivery: (await hooked.deliveries())[0], report }
}

describe("a receiver's response", () => {
  it.for([
    ['empty', ''],
    ['multibyte', `${'x'.repeat(1022)}�`],
    ['binary', '\0���A'],
    ['compressed', 'Out of memory'],
    ['bomb', 'x'.repeat(KEPT_ANSWER_BYTES)],
  ] as const)('is kept, up to 1 KiB, if it is %s', async ([behavior, answer], { expect }) => {
    const { delivery } = await deliverTo(behavior)
    expect(delivery).toMatchObject({
      state: 'pending',
      attempt: { status: 500, error: 'The receiver returned 500', answer },
    })
  })

  it.for([
    ['endless', 500, 'pending', 'x'.repeat(KEPT_ANSWER_BYTES)],
    ['huge', 500, 'pending', 'x'.repeat(KEPT_ANSWER_BYTES)],
    ['endless-ok', 200, 'delivered', null],
  ] as const)('is not read to its end if it is %s', async ([behavior, status, state, answer], { expect }) => {
    const { delivery, report } = await deliverTo(behavior)
    expect(delivery).toMatchObject({ state, attempt: { status, answer } })
    await expect.poll(report, { timeout: 20_000 }).toMatchObject({ isClosed: true })
  })

  it("isn't followed if it is a redirect", async ({ expect }) => {
    const { delivery, report } = await deliverTo('redirect')
    expect(delivery).toMatchObject({
      state: 'pending',
      attempt: { status: 302, error: 'Redirects are not followed', answer: 'Moved' },
    })
    expect((await report()).paths).toEqual([expect.stringMatching(/\/redirect$/)])
  })

  it('is missing if the receiver hangs up', async ({ expect }) => {
    const { delivery } = await deliverTo('hangs-up')
    expect(delivery).toMatchObject({
      state: 'pending',
      attempt: { status: null, error: 'Could not connect', answer: null },
    })
  })
})

describe('a delivery', () => {
  it("isn't attempted if the deployment no longer allows its URL", async () => {
    const { delivery, report } = await deliverTo('ok', { ALLOW_LOCAL_WEBHOOKS: '' })
    expect(delivery).toMatchObject({
      state: 'pending',
      attempt: { status: null, error: 'The URL must begin with https://', answer: null },
    })
    expect((await report()).paths).toEqual([])
  })

  it('times out after ten seconds', async () => {
    const timeouts: number[] = []
    const controller = new AbortController()
    vi.spyOn(AbortSignal, 'timeout').mockImplementation(ms => {
      timeouts.push(ms)
      return controller.signal
    })
    const { test, send, deliveries } = await newHooked()
    await test()
    receive(() => {
      controller.abort()
      throw new Error('aborted')
    })
    await send()
    expect(timeouts).toEqual([WEBHOOK_TIMEOUT_MS])
    expect((await deliveries())[0]).toMatchObject({
      state: 'pending',
      attempt: { status: null, error: 'No response within 10 s', answer: null },
    })
  })
})
