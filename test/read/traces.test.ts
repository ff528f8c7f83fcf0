import { describe, it } from 'vitest'
import { event, resultsOf } from '../support/batch.ts'
import { aSpan, aTrace, TIME, timeAfter } from '../support/builders.ts'
import { stored } from '../support/database.ts'
import { client, newOrg, type Org } from '../support/org.ts'
import { aHexSpanId, anExport, anExportedSpan } from '../support/telemetry.ts'

/** Reads every page of the trace list and returns the ids on each page. */
async function pagesOf(org: Org, limit: number): Promise<string[][]> {
  const pages: string[][] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const page: { body: { traces: { id: string }[]; nextCursor: string | null } } = await org.read.get(
      `/api/traces?projectSlug=support&limit=${limit}${cursor && `&cursor=${cursor}`}`,
    )
    pages.push(page.body.traces.map(({ id }) => id))
    cursor = page.body.nextCursor
  }
  return pages
}

describe('the trace list', () => {
  it('needs exactly one project selector', async ({ expect }) => {
    const org = await newOrg()
    const response = await org.read.get('/api/traces')
    expect(response.status).toBe(400)
    expect(response.body.error).toBe('projectSlug or projectId is required')
    expect((await org.read.get(`/api/traces?projectSlug=support&projectId=${org.project.id}`)).status).toBe(400)
    expect((await org.read.get(`/api/traces?projectId=${org.project.id.toUpperCase()}`)).status).toBe(200)
    expect((await org.read.get('/api/traces?projectSlug=nope')).status).toBe(404)
    expect((await org.read.get('/api/traces?projectSlug=')).status).toBe(400)
    expect((await org.read.get(`/api/traces?projectId=${crypto.randomUUID()}`)).status).toBe(404)
  })

  it('is sorted by client time, newest first, and then by id, without gaps or duplicates at any page size', async ({
    expect,
  }) => {
    const org = await newOrg()
    const ids: [time: string, id: string][] = []
    for (let index = 0; index < 11; index++) {
      // Several traces have the same time.
      const timestamp = timeAfter(index >> 2)
      const { id } = (await org.ingest.post('/api/v1/traces', aTrace({ timestamp }))).body
      ids.push([timestamp, id])
    }
    const newestFirst = ids.sort((a, b) => (a.join() < b.join() ? 1 : -1)).map(([, id]) => id)
    for (const limit of [1, 3, 11, 200]) expect((await pagesOf(org, limit)).flat()).toEqual(newestFirst)
    expect(await pagesOf(org, 11)).toHaveLength(1)
  })

  it('keeps a cursor’s place when newer traces arrive', async ({ expect }) => {
    const org = await newOrg()
    for (let index = 0; index < 4; index++)
      await org.ingest.post('/api/v1/traces', aTrace({ timestamp: timeAfter(index) }))
    const all = (await pagesOf(org, 200)).flat()
    const first = await org.read.get('/api/traces?projectSlug=support&limit=2')
    await org.ingest.post('/api/v1/traces', aTrace({ timestamp: timeAfter(99) }))
    const second = await org.read.get(`/api/traces?projectSlug=support&limit=2&cursor=${first.body.nextCursor}`)
    expect(second.body.traces.map(({ id }: { id: string }) => id)).toEqual(all.slice(2))
  })

  it('summarizes each trace', async ({ expect }) => {
    const org = await newOrg()
    const trace = aTrace({ status: 'completed', duration_ms: 42 })
    const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
    const { traces, nextCursor } = (await org.read.get('/api/traces?projectSlug=support')).body
    expect(nextCursor).toBeNull()
    expect(traces).toEqual([
      {
        id,
        traceId: trace.trace_id,
        name: trace.name,
        status: 'completed',
        metadata: trace.metadata,
        durationMs: 42,
        createdAt: TIME,
        updatedAt: expect.stringMatching(/Z$/),
        receivedAt: expect.any(String),
        spanCount: 1,
        reviewedCount: 0,
        staleCount: 0,
        feedbackCount: 0,
        model: null,
        usage: null,
        costUsd: null,
        reviewState: 'unreviewed',
        inputPreview: null,
        outputPreview: null,
        errorType: null,
        errorTypeBy: null,
      },
    ])
  })
})

describe('a trace', () => {
  it.for(['nope', '1', '%2F', '00000000-0000-0000-0000-00000000000g'])(
    'returns a 404 for the id %s, which is not a UUID',
    async (id, { expect }) => {
      const org = await newOrg()
      const response = await org.read.get(`/api/traces/${id}`)
      expect(response.status).toBe(404)
      expect(response.body.error).toBe('Not found')
    },
  )

  it('identifies its project, which its id does not reveal', async ({ expect }) => {
    const org = await newOrg()
    const { id } = (await org.ingest.post('/api/v1/traces', aTrace())).body
    const { body } = await org.owner.get('/api/projects')
    const project = body.projects.find(({ slug }: { slug: string }) => slug === 'support')
    expect((await org.owner.get(`/api/traces/${id}`)).body.project).toEqual({ id: project.id, slug: 'support' })
  })

  it('is found by its id even in uppercase', async ({ expect }) => {
    const org = await newOrg()
    const { id } = (await org.ingest.post('/api/v1/traces', aTrace())).body
    expect((await org.read.get(`/api/traces/${id.toUpperCase()}`)).body.id).toBe(id)
  })

  it('disappears from all responses once it is deleted, and its trace_id can be reused for a new, empty trace', async ({
    expect,
  }) => {
    const org = await newOrg()
    const trace = aTrace()
    const observe = (data: string) =>
      org.ingest.post('/api/v1/observations', { trace_id: trace.trace_id, type: 'output', data, timestamp: TIME })
    const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
    await observe('first life')
    await org.ingest.post('/api/v1/feedback', { trace_id: trace.trace_id, feedback_id: 'one', comment: 'first life' })

    expect(await org.owner.delete(`/api/traces/${id}`)).toMatchObject({ status: 200, body: { id } })
    expect((await org.owner.delete(`/api/traces/${id}`)).status).toBe(404)
    expect((await org.read.get(`/api/traces/${id}`)).status).toBe(404)
    expect((await org.read.get('/api/traces?projectSlug=support')).body.traces).toEqual([])
    expect((await org.ingest.get('/api/v1/traces/search?group_id=session-1')).body.count).toBe(0)
    expect((await observe('between')).status).toBe(404)
    expect((await org.ingest.post('/api/v1/feedback', { trace_id: trace.trace_id })).status).toBe(404)

    expect((await org.ingest.post('/api/v1/traces', trace)).body.id).toBe(id)
    expect((await org.read.get(`/api/traces/${id}`)).body).toMatchObject({
      feedback: [],
      spans: [{ input: null, output: null }],
    })
    await observe('second life')
    const again = await org.ingest.post('/api/v1/feedback', { trace_id: trace.trace_id, feedback_id: 'one', rating: 1 })
    expect(again.status).toBe(201)
    const read = (await org.read.get(`/api/traces/${id}`)).body
    expect(read.spans[0].output).toBe('second life')
    expect(read.feedback).toMatchObject([{ content: '', rating: 1 }])
    expect((await org.ingest.get('/api/v1/traces/search?group_id=session-1')).body.count).toBe(1)
  })

  it('can be deleted only with a key that has the manage scope for its project', async ({ expect }) => {
    const org = await newOrg()
    const { id } = (await org.ingest.post('/api/v1/traces', aTrace())).body
    const reader = client({ 'x-api-key': await org.keyFor({ scopes: ['ingest', 'read', 'review'] }) })
    expect((await reader.delete(`/api/traces/${id}`)).status).toBe(403)
    expect((await reader.get(`/api/traces/${id}`)).status).toBe(200)
    expect((await org.ingest.delete(`/api/traces/${id}`)).status).toBe(200)
  })
})

describe('a client’s trace_id', () => {
  const named = (id: string, query = '?projectSlug=support') => `/api/traces/${id}${query}`

  it('finds the trace in a search, in a list, and with GET /api/traces/{id}', async ({ expect }) => {
    const org = await newOrg()
    const trace = aTrace({ metadata: { group_id: 'g' } })
    const { trace_id } = trace
    const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
    await org.ingest.post('/api/v1/traces', aTrace())
    expect((await org.ingest.get('/api/v1/traces/search?group_id=g')).body.traces).toMatchObject([{ id, trace_id }])
    expect((await org.read.get(`/api/traces?projectSlug=support&traceId=${trace_id}`)).body).toMatchObject({
      traces: [{ id, traceId: trace_id }],
      nextCursor: null,
    })
    expect(
      (await org.read.get(`/api/traces?projectSlug=support&traceId=${trace_id}&status=completed`)).body.traces,
    ).toEqual([])
    expect(
      (await org.read.get(`/api/traces?projectSlug=support&traceId=${trace_id}&metadata.group_id=g`)).body.traces,
    ).toMatchObject([{ id }])
    const detail = (await org.read.get(named(id, ''))).body
    expect((await org.read.get(named(trace_id))).body).toEqual(detail)
    expect((await org.bearer().get(named(trace_id, `?projectId=${org.project.id}&payloads=preview`))).body.id).toBe(id)
    expect((await org.read.get(named(id, '?projectSlug=support'))).body).toEqual(detail)
  })

  it('needs a project, and finds nothing in another project', async ({ expect }) => {
    const [org, other] = [await newOrg(), await newOrg()]
    const { trace_id } = aTrace()
    const { id } = (await org.ingest.post('/api/v1/traces', aTrace({ trace_id }))).body
    await org.owner.post('/api/projects', { slug: 'second', name: 'Second' })
    for (const [path, status, client] of [
      [named(trace_id, ''), 400, org.read],
      [named(trace_id, ''), 400, org.bearer()],
      [named(trace_id, `?projectSlug=support&projectId=${org.project.id}`), 400, org.read],
      [named(trace_id, '?projectSlug=nope'), 404, org.read],
      [named(trace_id, '?projectSlug=second'), 404, org.read],
      [named(id, '?projectSlug=second'), 404, org.read],
      [named(trace_id, '?projectSlug=second'), 403, org.bearer()],
      [named('trace_unknown'), 404, org.read],
      [named('trace_'), 404, org.read],
      [named(trace_id), 404, other.read],
      [named(trace_id, `?projectId=${org.project.id}`), 403, other.read],
      ['/api/traces?projectSlug=support&traceId=nope', 400, org.read],
      ['/api/traces?projectSlug=second&traceId=trace_unknown', 200, org.read],
    ] as const) {
      expect((await client.get(path)).status, path).toBe(status)
    }
    await org.owner.delete(`/api/traces/${id}`)
    expect((await org.read.get(named(trace_id))).status).toBe(404)
    expect((await org.read.get(`/api/traces?projectSlug=support&traceId=${trace_id}`)).body.traces).toEqual([])
  })
})

it('records when the service received a trace and its spans, feedback, and observations', async ({ expect }) => {
  const org = await newOrg()
  const before = Date.now()
  const { trace_id } = aTrace()
  const { id } = (await org.ingest.post('/api/v1/traces', aTrace({ trace_id, timestamp: TIME }))).body
  const step = aSpan({ trace_id, timestamp: TIME })
  await org.ingest.post('/api/v1/spans', step)
  await org.ingest.post('/api/v1/feedback', { trace_id, rating: 'positive', timestamp: TIME })
  await org.ingest.post('/api/v1/observations', { trace_id, type: 'input', data: 1, timestamp: TIME })
  const isNow = (time: string) => Date.parse(time) >= before && Date.parse(time) <= Date.now()
  const trace = (await org.read.get(`/api/traces/${id}`)).body
  const [item] = (await org.read.get('/api/traces?projectSlug=support')).body.traces
  const { observations } = (await org.ingest.get(`/api/v1/traces/${trace_id}/observations`)).body
  expect(isNow(trace.receivedAt)).toBe(true)
  expect(item.receivedAt).toBe(trace.receivedAt)
  const [root, span] = trace.spans
  expect([root.createdAt, root.receivedAt]).toEqual([TIME, trace.receivedAt])
  expect([span.createdAt, isNow(span.receivedAt)]).toEqual([TIME, true])
  expect([trace.feedback[0].createdAt, isNow(trace.feedback[0].receivedAt)]).toEqual([TIME, true])
  expect([observations[0].timestamp, isNow(observations[0].received_at)]).toEqual([TIME, true])
  // A span that is sent again keeps its first receipt time.
  await org.ingest.post('/api/v1/spans', { ...step, output: 'Later' })
  const again = (await org.read.get(`/api/spans/${span.id}`)).body
  expect([again.output, again.receivedAt]).toEqual(['Later', span.receivedAt])
  // A span stored by the previous release has no receipt time.
  await stored.prepare('update spans set received_at = null where id = ?').bind(span.id).run()
  expect((await org.read.get(`/api/spans/${span.id}`)).body.receivedAt).toBeNull()
})

it('records when the service first received a telemetry span', async ({ expect }) => {
  const org = await newOrg()
  const before = Date.now()
  const traceId = crypto.randomUUID().replaceAll('-', '')
  const spanId = aHexSpanId()
  const send = (end: number) => org.ingest.post('/v1/traces', anExport([anExportedSpan({ traceId, spanId, end })]))
  const received = async () =>
    (await org.read.get(`/api/traces/trace_${traceId}?projectSlug=support`)).body.spans[0].receivedAt
  await send(10)
  const first = await received()
  expect(Date.parse(first)).toBeGreaterThanOrEqual(before)
  await send(20)
  expect(await received()).toBe(first)
})

it('ends a page of traces early if their metadata fills it', async ({ expect }) => {
  const org = await newOrg()
  const metadata = { a: 'x'.repeat(64 * 1024 - 20) }
  const count = 140
  await resultsOf(
    org,
    Array.from({ length: 120 }, (_, index) => event('trace', aTrace({ metadata, timestamp: timeAfter(index) }))),
  )
  await resultsOf(
    org,
    Array.from({ length: count - 120 }, (_, index) =>
      event('trace', aTrace({ metadata, timestamp: timeAfter(200 + index) })),
    ),
  )
  const pages = await pagesOf(org, 200)
  expect(new Set(pages.flat()).size).toBe(count)
  expect(pages.map(({ length }) => length)).toEqual([128, 12])
})
