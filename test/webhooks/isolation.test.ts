import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Env, Job } from '../../src/env.ts'
import { consume } from '../../src/jobs/consumer.ts'
import { CONCURRENT_DELIVERIES, WEBHOOK_RUN_LEASE_MS, WEBHOOK_TIMEOUT_MS } from '../../src/limits.ts'
import { aTrace } from '../support/builders.ts'
import { jobPlace, stored } from '../support/database.ts'
import { newHooked, type Received, receive, withoutQueue } from '../support/webhooks.ts'

/* What a slow or dead receiver costs everybody else. */

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** Bindings whose queues only record their messages. */
function recordingQueues() {
  const jobs: Job[] = []
  const events: [Job, QueueSendOptions | undefined][] = []
  const bindings: Env = {
    ...env,
    JOBS: { send: async (job: Job) => void jobs.push(job) } as unknown as Queue<Job>,
    EVENTS: {
      send: async (job: Job, options?: QueueSendOptions) => void events.push([job, options]),
    } as unknown as Queue<Job>,
  }
  return { bindings, jobs, events }
}

/** A receiver on its own host. */
const newReceiver = (fields: object = {}) => {
  const host = `${crypto.randomUUID()}.example.com`
  const isTo = ({ url }: Received) => url.includes(host)
  return newHooked({ url: `https://${host}/in`, ...fields }).then(hooked => ({ ...hooked, isTo }))
}

describe('a receiver that hangs', () => {
  it('keeps one run waiting, however many messages ask for a run, and delays nobody else', async () => {
    const [hung, other] = [await newReceiver(), await newReceiver()]
    let letGo: (response: Response) => void = () => {}
    const answered = new Promise<Response>(resolve => {
      letGo = resolve
    })
    const received = receive(got => (hung.isTo(got) ? answered.then(each => each.clone()) : new Response('ok')))
    for (let count = 0; count < 3 * CONCURRENT_DELIVERIES; count++) await hung.test()
    const waiting = hung.send()
    await expect.poll(() => received.length).toBe(CONCURRENT_DELIVERIES)

    // Its other messages find that a run is already in progress.
    for (let count = 0; count < 5; count++) await hung.send()
    expect(received).toHaveLength(CONCURRENT_DELIVERIES)
    // Meanwhile, other organizations' deliveries go out, and other jobs run.
    for (let count = 0; count < 3; count++) await other.test()
    await other.send()
    expect(received.filter(other.isTo)).toHaveLength(3)
    const deleted = await newDeletedTrace(other)
    await consume(messageOf(deleted.job), withoutQueue())
    expect(await deleted.isGone()).toBe(true)
    expect(received.filter(hung.isTo)).toHaveLength(CONCURRENT_DELIVERIES)

    letGo(new Response('ok'))
    await waiting
    await hung.send()
    expect((await hung.deliveries()).map(({ state }: { state: string }) => state)).toEqual(
      Array(3 * CONCURRENT_DELIVERIES).fill('delivered'),
    )
    expect(received.filter(hung.isTo)).toHaveLength(3 * CONCURRENT_DELIVERIES)
  })

  it('ends a run after the first attempts, and the other deliveries wait for the next turn', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const slow = await newReceiver()
    const count = 2 * CONCURRENT_DELIVERIES + 1
    for (let each = 0; each < count; each++) await slow.test()
    const { bindings, events } = recordingQueues()
    const received = receive(() => {
      vi.setSystemTime(Date.now() + WEBHOOK_TIMEOUT_MS - 1)
      return new Response('ok')
    })
    for (let turns = 1; received.length < count; turns++) {
      await slow.send(bindings)
      expect(received.length).toBeLessThanOrEqual(turns * CONCURRENT_DELIVERIES)
      expect(received.length).toBeGreaterThanOrEqual(turns)
      // The run has queued a message for the next turn.
      if (received.length < count) expect(events.at(-1)).toMatchObject([{ kind: 'send_events' }, { delaySeconds: 0 }])
    }
    expect(new Set((await slow.deliveries()).map(({ attempts }: { attempts: number }) => attempts))).toEqual(
      new Set([1]),
    )
  })

  it('gets another run if its run dies', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const hooked = await newReceiver()
    await hooked.test()
    await stored
      .prepare('update webhooks set busy_until = ? where id = ?')
      .bind(Date.now() + WEBHOOK_RUN_LEASE_MS, hooked.webhook.id)
      .run()
    const received = receive()
    await hooked.send()
    expect(received).toEqual([])
    vi.setSystemTime(Date.now() + WEBHOOK_RUN_LEASE_MS)
    await hooked.send()
    expect(received).toHaveLength(1)
  })
})

it('events have their own queue, or share the queue for jobs', async () => {
  const { bindings, jobs, events } = recordingQueues()
  await (await newHooked({}, bindings)).test()
  expect([jobs, events.map(([{ kind }]) => kind)]).toEqual([[], ['send_events']])
  const { EVENTS: _, ...shared } = bindings
  await (await newHooked({}, shared)).test()
  expect(jobs.map(({ kind }) => kind)).toEqual(['send_events'])
})

const messageOf = (body: Job): MessageBatch<Job> => ({
  queue: 'countersign-jobs',
  messages: [{ id: 'one', timestamp: new Date(), attempts: 1, body, ack() {}, retry() {} }],
  ackAll() {},
  retryAll() {},
  metadata: { metrics: { backlogCount: 1, backlogBytes: 1 } },
})

async function newDeletedTrace({ org }: { org: Awaited<ReturnType<typeof newHooked>>['org'] }) {
  const { id } = (await org.ingest.post('/api/v1/traces', aTrace())).body
  await org.bearer(withoutQueue()).delete(`/api/traces/${id}`)
  const row = await stored.prepare('select key, organization_key from traces where id = ?').bind(id).first()
  const [traceKey, organizationKey] = [Number(row?.key), Number(row?.organization_key)]
  const job: Job = { kind: 'purge_trace', organizationKey, traceKey, ...(await jobPlace(traceKey)) }
  const isGone = async () =>
    (await stored.prepare('select 1 from traces where key = ?').bind(traceKey).first()) === null
  return { job, isGone }
}
