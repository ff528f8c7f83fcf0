import { afterEach, describe, it, vi } from 'vitest'
import { CountersignError, type Fetch, type TraceItem } from '../../src/client/index.ts'
import { traceUuid } from '../../src/domain/ids.ts'
import { newOrg } from '../support/org.ts'
import { errorResponse, jsonResponse, newClient, newPrompt, newWorkerClient, workerFetch } from './service.ts'

afterEach(() => {
  vi.useRealTimers()
})

async function all(list: AsyncIterable<TraceItem>): Promise<string[]> {
  const names: string[] = []
  for await (const { name } of list) names.push(name)
  return names
}

describe('a list of traces', () => {
  it('covers all pages, newest first, with any filter', async ({ expect }) => {
    const { countersign } = newWorkerClient(await newOrg())
    const at = (minute: number) => new Date(Date.UTC(2026, 10, 21, 9, minute))
    for (let minute = 0; minute < 5; minute++) {
      const metadata = { 'customer.tier': minute % 2 ? 'gold' : 'free', turns: minute }
      const trace = countersign.startTrace(`run-${minute}`, { metadata, timestamp: at(minute) })
      await trace.span('step', () => 'output')
      if (minute < 3) trace.complete()
      if (minute === 1) trace.feedback({ rating: 'negative' })
    }
    await countersign.flush()
    const list = countersign.traces.list
    expect(await all(countersign.traces.list())).toEqual(['run-4', 'run-3', 'run-2', 'run-1', 'run-0'])
    expect(await all(countersign.traces.list({ pageSize: 2 }))).toEqual(['run-4', 'run-3', 'run-2', 'run-1', 'run-0'])
    const filtered = (filters: Parameters<typeof list>[0]) => all(countersign.traces.list({ pageSize: 1, ...filters }))
    expect(await filtered({ status: 'running' })).toEqual(['run-4', 'run-3'])
    expect(await filtered({ from: at(1), to: at(3).toISOString() })).toEqual(['run-2', 'run-1'])
    expect(await filtered({ metadata: { 'customer.tier': 'gold' } })).toEqual(['run-3', 'run-1'])
    expect(await filtered({ metadata: { turns: 4 }, review: 'unreviewed', name: 'run-4' })).toEqual(['run-4'])
    expect(await filtered({ hasFeedback: true, rating: 'negative', stepId: 'step' })).toEqual(['run-1'])
    expect(await filtered({ hasFeedback: false, status: 'completed' })).toEqual(['run-2', 'run-0'])
  })

  it('fetches a page only when it is needed', async ({ expect }) => {
    const item = { name: 'run' }
    const { countersign, sent } = newClient(() => jsonResponse(200, { traces: [item, item], nextCursor: 'next' }))
    for await (const _ of countersign.traces.list()) break
    expect(sent).toHaveLength(1)
  })

  it('sends the project’s slug, or its id if there is no slug', async ({ expect }) => {
    const org = await newOrg()
    const byId = newWorkerClient(org, { projectSlug: undefined })
    expect(await all(byId.countersign.traces.list())).toEqual([])
    const unnamed = newWorkerClient(org, { projectSlug: undefined, projectId: undefined })
    await expect(all(unnamed.countersign.traces.list())).rejects.toMatchObject({
      status: 400,
      message: 'projectSlug or projectId is required',
    })
  })
})

describe('one trace', () => {
  it('can be read by either of its ids, in full or as a preview', async ({ expect }) => {
    const org = await newOrg()
    const { countersign } = newWorkerClient(org)
    const trace = countersign.startTrace('run')
    trace.observe('output', 'x'.repeat(1000))
    await countersign.flush()
    const read = await countersign.traces.get(trace.id)
    expect(read.id).toBe(await traceUuid(org.project.id, trace.id))
    expect(await countersign.traces.get(read.id)).toEqual(read)
    const preview = await countersign.traces.get(read.id, { payloads: 'preview' })
    expect(preview.spans[0]?.truncated).toEqual(['output'])
  })

  it('can be read by its trace_id if the project’s slug or id is given', async ({ expect }) => {
    const org = await newOrg()
    const { countersign } = newWorkerClient(org)
    const sent = countersign.startTrace('sent')
    await countersign.flush()
    for (const options of [{ projectSlug: undefined }, { projectId: undefined }]) {
      const { traceId } = await newWorkerClient(org, options).countersign.traces.get(sent.id)
      expect(traceId).toBe(sent.id)
    }
    const unnamed = newWorkerClient(org, { projectSlug: undefined, projectId: undefined })
    await expect(unnamed.countersign.traces.get(sent.id)).rejects.toMatchObject({ status: 400 })
  })

  it('has its spans read page by page', async ({ expect }) => {
    const { countersign } = newWorkerClient(await newOrg())
    const trace = countersign.startTrace('run')
    for (let index = 0; index < 5; index++) await trace.span(`step-${index}`, () => index)
    await countersign.flush()
    const steps: string[] = []
    for await (const { stepId } of countersign.traces.spansOf(trace.id, { pageSize: 2 })) steps.push(stepId)
    expect(steps[0]).toBe('run')
    expect(steps.slice(1).toSorted()).toEqual(['step-0', 'step-1', 'step-2', 'step-3', 'step-4'])
    const first = await countersign.traces.get(trace.id, { spanLimit: 4 })
    const { spans } = await countersign.traces.get(trace.id, { spanCursor: first.nextSpanCursor ?? '' })
    expect([first.spans.length, spans.length]).toEqual([4, 2])
  })
})

describe('an error', () => {
  it('contains the service’s message', async ({ expect }) => {
    const { countersign } = newWorkerClient(await newOrg())
    const error = await countersign.spans.get(crypto.randomUUID()).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(CountersignError)
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({
      name: 'CountersignError',
      status: 404,
      code: 'not_found',
      message: 'Not found',
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
    const { countersign: stranger } = newWorkerClient(await newOrg(), { apiKey: 'cs_nobody' })
    await expect(stranger.search({ group_id: 'a' })).rejects.toMatchObject({ status: 401, code: 'not_authenticated' })
  })

  it.for([
    ['a page from a different server', () => new Response('<html>'), { status: 200, code: 'invalid_answer' }],
    ['JSON from a different server', () => jsonResponse(200, { hello: 1 }), { status: 200, code: 'invalid_answer' }],
    [
      'an error from a different server',
      () => jsonResponse(400, { error: { toString: 1 }, code: 7 }),
      { status: 400, code: 'unknown' },
    ],
    ['an error page', () => new Response('<html>', { status: 404 }), { status: 404, code: 'unknown' }],
  ] as const)('is thrown on %s', async ([, reply, expected], { expect }) => {
    const { countersign } = newClient(reply)
    await expect(countersign.search({ name: 'run' })).rejects.toMatchObject(expected)
    await expect(countersign.prompts.active('step')).rejects.toMatchObject(expected)
    await expect(countersign.spans.get('id')).rejects.toMatchObject(expected)
  })

  it.for([
    ['429', () => errorResponse(429, 'rate_limited'), { status: 429, code: 'rate_limited', requestId: 'r' }],
    ['503', () => errorResponse(503, 'unavailable'), { status: 503, code: 'unavailable' }],
    [
      'no answer',
      () => Promise.reject(new TypeError('Refused')),
      { status: 0, code: 'unreachable', message: 'Refused' },
    ],
    ['silence', () => new Promise<Response>(() => {}), { status: 0, code: 'timed_out' }],
  ] as const)('is thrown after three attempts on %s', async ([, reply, expected], { expect }) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
    const { countersign, sent } = newClient(reply)
    const thrown = expect(countersign.search({ name: 'run' })).rejects.toMatchObject(expected)
    await vi.advanceTimersByTimeAsync(25_000)
    await thrown
    expect(sent).toHaveLength(3)
  })

  it('is thrown immediately if Retry-After is too long or an attribution has failed permanently', async ({
    expect,
  }) => {
    const limited = newClient(() => errorResponse(429, 'rate_limited', { 'retry-after': '62' }))
    await expect(limited.countersign.search({ name: 'run' })).rejects.toMatchObject({ status: 429 })
    expect(limited.sent).toHaveLength(1)
    const failed = newClient(() => errorResponse(502, 'failed'))
    await expect(failed.countersign.attribute('trace_a')).rejects.toMatchObject({ status: 502, code: 'failed' })
    expect(failed.sent).toHaveLength(1)
  })
})

describe('an attribution', () => {
  it('is polled until it is available', async ({ expect }) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
    const pending = jsonResponse(202, { status: 'pending', trace_id: 'trace_a' })
    const { countersign, sent } = newClient((_, nth) =>
      nth < 3 ? pending.clone() : jsonResponse(200, { trace_id: 'trace_a', error_type: 'outdated_reference' }),
    )
    const attribution = countersign.attribute('trace_a', { force: true })
    await vi.advanceTimersByTimeAsync(2000)
    expect(await attribution).toMatchObject({ error_type: 'outdated_reference' })
    expect(sent.map(({ path }) => path)).toEqual([
      '/api/v1/traces/trace_a/attribute?force=true',
      '/api/v1/traces/trace_a/attribute',
      '/api/v1/traces/trace_a/attribute',
    ])
  })

  it('is abandoned if it takes too long', async ({ expect }) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
    const { countersign } = newClient(() => jsonResponse(202, { status: 'pending', trace_id: 'trace_a' }))
    const thrown = expect(countersign.attribute('trace_a', { waitMs: 5000 })).rejects.toMatchObject({ code: 'pending' })
    await vi.advanceTimersByTimeAsync(5000)
    await thrown
  })
})

describe('the active prompt', () => {
  /** Creates a tenant with a prompt, and a client whose connection to the service can be cut. */
  async function promptOf(stepId: string, promptFreshMs = 0) {
    const org = await newOrg()
    const prompt = await newPrompt(org, stepId)
    const statuses: number[] = []
    const connection = { isOpen: true, attempts: 0 }
    const toWorker = workerFetch()
    const fetch: Fetch = async (url, init) => {
      connection.attempts++
      if (!connection.isOpen) throw new TypeError('Network connection lost')
      const response = await toWorker(url, init)
      statuses.push(response.status)
      return response
    }
    const { countersign } = newWorkerClient(org, { fetch, promptFreshMs })
    return { prompt, statuses, connection, active: () => countersign.prompts.active(stepId) }
  }

  it('is revalidated by ETag, and a new version is used once it is active', async ({ expect }) => {
    const { prompt, statuses, active } = await promptOf('step')
    const first = await active()
    expect(first).toMatchObject({ versionId: prompt.created.versionId, content: 'First', isStale: false })
    expect(await active()).toEqual(first)
    await prompt.addVersion('Second')
    expect(await active()).toMatchObject({ id: first.id, content: 'Second', isStale: false })
    expect(statuses).toEqual([200, 304, 200])
  })

  it('comes from the cache while it is fresh', async ({ expect }) => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const { prompt, statuses, active } = await promptOf('step', 10_000)
    const first = await active()
    first.content = 'Changed by the pipeline'
    first.outputSchema.type = 'object'
    await prompt.addVersion('Second')
    vi.setSystemTime(Date.now() + 9000)
    expect(await active()).toEqual({ ...first, content: 'First', outputSchema: {} })
    expect(statuses).toEqual([200])
    vi.setSystemTime(Date.now() + 1001)
    expect(await active()).toMatchObject({ content: 'Second' })
    expect(statuses).toEqual([200, 200])
  })

  it('is the last known version if a single attempt to refresh it fails', async ({ expect }) => {
    const { connection, statuses, active } = await promptOf('step')
    const first = await active()
    connection.isOpen = false
    expect(await active()).toEqual({ ...first, isStale: true })
    expect(await active()).toEqual({ ...first, isStale: true })
    expect(connection.attempts).toBe(3)
    connection.isOpen = true
    expect(await active()).toEqual(first)
    expect(statuses).toEqual([200, 304])
  })

  it('comes from the cache while a refresh is running', async ({ expect }) => {
    let release: (response: Response) => void = () => {}
    const prompt = { id: '1', stepId: 'step', versionId: '2', content: 'First', outputSchema: {} }
    const { countersign, sent } = newClient(
      (_, nth) =>
        nth === 1
          ? jsonResponse(200, { prompts: [prompt] }, { etag: '"1"' })
          : new Promise<Response>(resolve => (release = resolve)),
      { promptFreshMs: 0 },
    )
    await countersign.prompts.active('step')
    const asking = countersign.prompts.active('step')
    expect(await countersign.prompts.active('step')).toMatchObject({ content: 'First' })
    release(jsonResponse(200, { prompts: [{ ...prompt, content: 'Second' }] }, { etag: '"2"' }))
    expect(await asking).toMatchObject({ content: 'Second' })
    expect(sent.map(({ headers }) => headers.get('if-none-match'))).toEqual([null, '"1"'])
  })

  it('is an error if it was never loaded, or if it no longer exists', async ({ expect }) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const down = newClient(() => errorResponse(503, 'unavailable'))
    const thrown = expect(down.countersign.prompts.active('step')).rejects.toMatchObject({ status: 503 })
    await vi.advanceTimersByTimeAsync(6000)
    await thrown
    vi.useRealTimers()
    const { prompt, active } = await promptOf('step')
    await active()
    await prompt.remove()
    const none = { status: 404, code: 'prompt_not_found', message: expect.stringContaining('step') }
    await expect(active()).rejects.toMatchObject(none)
    await expect(active()).rejects.toMatchObject(none)
  })
})
