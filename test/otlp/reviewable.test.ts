import { describe, it } from 'vitest'
import { TIME } from '../support/builders.ts'
import { exportSpans, newRun } from '../support/telemetry.ts'

const AGENT = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'support' }
const HTTP = { 'http.request.method': 'POST' }
const rootId = '00000000000000aa'
const childId = '00000000000000bb'

describe('spans that support other steps', () => {
  const CHAIN = { 'openinference.span.kind': 'CHAIN' }
  const RETRIEVER = { 'openinference.span.kind': 'RETRIEVER' }
  const LLM = { 'openinference.span.kind': 'LLM' }

  it.for([
    ['a chain', CHAIN, 0],
    ['a retriever', RETRIEVER, 0],
    ['an embedding', { 'openinference.span.kind': 'EMBEDDING' }, 0],
    ['a model call', LLM, 1],
    ['a tool', { 'openinference.span.kind': 'TOOL' }, 1],
    ['an agent', { 'openinference.span.kind': 'AGENT' }, 1],
    ['a chain that the pipeline names', { ...CHAIN, 'countersign.step_id': 'extract' }, 1],
    ['a span of unknown kind that the pipeline names', { 'countersign.step_id': 'extract' }, 1],
  ] as const)(
    'are queued below the root only if people review that kind: %s',
    async ([, attributes, remaining], { expect }) => {
      const { org, span } = await newRun()
      await exportSpans(org, [
        span({ spanId: rootId, attributes: CHAIN }),
        span({ spanId: childId, parentSpanId: rootId, attributes: { ...attributes, 'output.value': 'yes' } }),
      ])
      expect((await org.owner.get('/api/review-queue?projectSlug=support')).body).toMatchObject({ remaining })
      const { body } = await org.owner.get('/api/review-queue?projectSlug=support&kind=all')
      expect(body).toMatchObject({ remaining: 1 })
    },
  )

  it('are queued if they are the root, even if the root arrives last, but not once another span is the root', async ({
    expect,
  }) => {
    const { org, span, uuidOf, read } = await newRun()
    const queued = async () =>
      (await org.owner.get('/api/review-queue?projectSlug=support')).body.spans.map(({ id }: { id: string }) => id)
    const child = { spanId: childId, parentSpanId: rootId, start: 20 }
    await exportSpans(org, [span({ ...child, attributes: { ...LLM, 'output.value': 'part' } })])
    expect(await queued()).toEqual([await uuidOf(childId)])
    await org.owner.put(`/api/spans/${await uuidOf(childId)}/review`, { decision: 'accept' })
    expect((await read()).reviewState).toBe('accepted')
    const root = { spanId: rootId, start: 10, attributes: { ...CHAIN, 'output.value': 'whole' } }
    await exportSpans(org, [span(root)])
    expect(await queued()).toEqual([await uuidOf(rootId)])
    expect((await read()).reviewState).toBe('mixed')
    // An earlier span without a parent becomes the root instead.
    await exportSpans(org, [span({ spanId: '00000000000000cc', start: 0, attributes: { ...CHAIN } })])
    expect(await queued()).toEqual([])
    expect((await read()).reviewState).toBe('accepted')
  })

  it('are queued once a client sends them through the API', async ({ expect }) => {
    const { org, trace_id, span, uuidOf } = await newRun()
    await exportSpans(org, [
      span({ spanId: rootId, attributes: CHAIN }),
      span({ spanId: childId, parentSpanId: rootId, attributes: { ...RETRIEVER, 'output.value': '[]' } }),
    ])
    const span_id = await uuidOf(childId)
    await org.ingest.post('/api/v1/spans', { trace_id, span_id, timestamp: TIME, step_id: 'search' })
    expect((await org.owner.get('/api/review-queue?projectSlug=support')).body).toMatchObject({
      remaining: 1,
      spans: [{ id: span_id }],
    })
  })
})

describe('spans outside an AI pipeline', () => {
  it('are listed in their trace, but a trace with nothing else is listed only with kind=all', async ({ expect }) => {
    const { org, id, span, uuidOf, read } = await newRun()
    await exportSpans(org, [
      span({ spanId: childId, parentSpanId: rootId, attributes: { ...HTTP, 'output.value': 'ok' } }),
    ])
    const listed = async (query = '') => (await org.read.get(`/api/traces?projectSlug=support${query}`)).body.traces
    const queued = async (query = '') => (await org.owner.get(`/api/review-queue?projectSlug=support${query}`)).body
    expect((await read()).spans).toHaveLength(1)
    expect(await listed()).toEqual([])
    expect(await listed('&kind=all')).toMatchObject([{ id }])
    expect(await queued()).toMatchObject({ spans: [], remaining: 0 })
    expect(await queued('&kind=all')).toMatchObject({ spans: [{ id: await uuidOf(childId) }], remaining: 1 })
    await exportSpans(org, [span({ spanId: rootId, attributes: { ...AGENT, 'output.value': 'yes' } })])
    expect(await listed()).toMatchObject([{ id }])
    expect(await queued()).toMatchObject({ spans: [{ id: await uuidOf(rootId) }], remaining: 1 })
    await org.owner.put(`/api/spans/${await uuidOf(rootId)}/review`, { decision: 'accept' })
    expect((await read()).reviewState).toBe('accepted')
    expect(await queued()).toMatchObject({ spans: [], remaining: 0 })
    expect(await queued('&kind=all')).toMatchObject({ remaining: 1 })
  })

  it('can be claimed if the queue offers them', async ({ expect }) => {
    const { org, span, uuidOf } = await newRun()
    await exportSpans(org, [
      span({ spanId: childId, parentSpanId: rootId, attributes: { ...HTTP, 'output.value': 'ok' } }),
    ])
    const [queued] = (await org.owner.get('/api/review-queue?projectSlug=support&kind=all')).body.spans
    expect(queued.id).toBe(await uuidOf(childId))
    const { body } = await org.owner.post('/api/review-queue/claim', { spanIds: [queued.id] })
    expect(body).toEqual({ claimed: [queued.id], refused: [] })
  })

  it.for([
    ['a span', '/api/v1/spans', { step_id: 'mine', output: 'mine' }],
    ['an observation', '/api/v1/observations', { type: 'output', data: 'mine' }],
  ] as const)('have their trace listed and queued once a client sends it %s', async ([, path, fields], { expect }) => {
    const { org, trace_id, id, span } = await newRun()
    await exportSpans(org, [span({ spanId: childId, parentSpanId: rootId, attributes: HTTP })])
    const span_id = path.endsWith('spans') ? crypto.randomUUID() : undefined
    expect((await org.ingest.post(path, { trace_id, span_id, timestamp: TIME, ...fields })).status).toBeLessThan(300)
    await exportSpans(org, [span({ parentSpanId: rootId, attributes: HTTP })])
    expect((await org.read.get('/api/traces?projectSlug=support')).body.traces).toMatchObject([{ id }])
    expect((await org.owner.get('/api/review-queue?projectSlug=support')).body).toMatchObject({
      remaining: 1,
      spans: [{ output: 'mine' }],
    })
  })

  it('have their trace listed once it has feedback', async ({ expect }) => {
    const { org, trace_id, id, span } = await newRun()
    await exportSpans(org, [span({ attributes: HTTP })])
    await org.ingest.post('/api/v1/feedback', { trace_id, comment: 'Slow' })
    expect((await org.read.get('/api/traces?projectSlug=support')).body.traces).toMatchObject([{ id }])
  })
})
