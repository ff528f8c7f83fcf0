import { describe, it } from 'vitest'
import { exportedSpanUuid, feedbackUuid, rootSpanUuid } from '../../src/domain/ids.ts'
import { INLINE_BYTES } from '../../src/limits.ts'
import { event, resultsOf, statusesOf } from '../support/batch.ts'
import { aFeedback, anObservation, aSpan, aTrace, timeAfter } from '../support/builders.ts'
import { aTraceBeside, stored } from '../support/database.ts'
import { client, newOrg, type Org } from '../support/org.ts'
import { aHexTraceId, anExport, anExportedSpan } from '../support/telemetry.ts'
import { newTrace } from '../support/trace.ts'

const uuid = () => crypto.randomUUID()

/** The calls that can refer to a span, how to send each of them, and how to read back the span that it refers to. */
const KINDS = {
  feedback: {
    path: '/api/v1/feedback',
    body: (fields: object) => aFeedback(fields),
    shown: async ({ org, id }: Place) => (await org.read.get(`/api/traces/${id}`)).body.feedback[0]?.spanId,
  },
  observation: {
    path: '/api/v1/observations',
    body: (fields: object) => anObservation(fields),
    shown: async ({ org, trace_id }: Place) =>
      (await org.ingest.get(`/api/v1/traces/${trace_id}/observations`)).body.observations[0]?.span_id,
  },
  'large observation': {
    path: '/api/v1/observations',
    body: (fields: object) => anObservation({ data: 'x'.repeat(2 * INLINE_BYTES), ...fields }),
    shown: async ({ org, trace_id }: Place) =>
      (await org.ingest.get(`/api/v1/traces/${trace_id}/observations`)).body.observations[0]?.span_id,
  },
} as const

interface Place {
  org: Org
  id: string
  trace_id: string
}

async function twoTraces() {
  const first = await newTrace()
  const other = await aTraceBeside(first.id, first.org.project)
  const { id } = (await first.org.ingest.post('/api/v1/traces', other)).body
  return { ...first, other: { org: first.org, id, trace_id: other.trace_id } }
}

const KIND_NAMES = ['feedback', 'observation', 'large observation'] as const

describe.for(KIND_NAMES)('%s that refers to a span', kindName => {
  const { path, body, shown } = KINDS[kindName]
  const type = path.endsWith('feedback') ? 'feedback' : 'observation'

  it('shows the root until the span arrives, and then shows the span', async ({ expect }) => {
    const { org, id, trace_id, step } = await newTrace()
    const root = await rootSpanUuid(org.project.id, trace_id)
    const span_id = uuid()
    expect((await org.ingest.post(path, body({ trace_id, span_id }))).status).toBe(201)
    expect(await shown({ org, id, trace_id })).toBe(root)
    await step({ span_id })
    expect(await shown({ org, id, trace_id })).toBe(span_id)
  })

  it('gets a 409 for a span in another trace until that trace is deleted', async ({ expect }) => {
    const { org, id, trace_id, other } = await twoTraces()
    const span_id = uuid()
    await org.ingest.post('/api/v1/spans', aSpan({ trace_id: other.trace_id, span_id }))
    const rejected = await org.ingest.post(path, body({ trace_id, span_id }))
    expect(rejected).toMatchObject({ status: 409, body: { details: [{ path: 'span_id' }] } })
    const [inBatch] = await resultsOf(org, [event(type, body({ trace_id, span_id }))])
    expect(inBatch).toMatchObject({ status: 409, body: { details: [{ path: 'events.0.body.span_id' }] } })
    expect(await shown({ org, id, trace_id })).toBeUndefined()
    await org.owner.delete(`/api/traces/${other.id}`)
    expect((await org.ingest.post(path, body({ trace_id, span_id }))).status).toBe(201)
    expect(await shown({ org, id, trace_id })).toBe(await rootSpanUuid(org.project.id, trace_id))
  })

  it('gets a 409 for the root of another trace, but may refer to its own trace’s root', async ({ expect }) => {
    const { org, id, trace_id, other } = await twoTraces()
    const rootOf = (traceId: string) => rootSpanUuid(org.project.id, traceId)
    const name = async (span_id: string) => (await org.ingest.post(path, body({ trace_id, span_id }))).status
    expect(await name(await rootOf(other.trace_id))).toBe(409)
    expect(await name(await rootOf(trace_id))).toBe(201)
    expect(await shown({ org, id, trace_id })).toBe(await rootOf(trace_id))
  })

  it('keeps its trace if another trace claims the span, and may be sent again', async ({ expect }) => {
    const { org, id, trace_id, other, step } = await twoTraces()
    const ids = { span_id: uuid(), ...(type === 'feedback' ? { feedback_id: 'mine' } : { observation_id: uuid() }) }
    const { span_id } = ids
    const first = await org.ingest.post(path, body({ trace_id, ...ids }))
    await org.ingest.post('/api/v1/spans', aSpan({ trace_id: other.trace_id, span_id }))
    expect(await shown({ org, id, trace_id })).toBe(await rootSpanUuid(org.project.id, trace_id))
    const again = await org.ingest.post(path, body({ trace_id, ...ids }))
    expect(again.body).toEqual(first.body)
    expect(again.status).toBeLessThan(300)
    await org.owner.delete(`/api/traces/${other.id}`)
    await step({ span_id })
    expect(await shown({ org, id, trace_id })).toBe(span_id)
  })

  it('may come before or after the span in a batch, and a 409 does not affect other events', async ({ expect }) => {
    const { org, id, trace_id, other } = await twoTraces()
    const [mine, theirs] = [uuid(), uuid()]
    const statuses = await statusesOf(org, [
      event(type, body({ trace_id, span_id: mine })),
      event('span', aSpan({ trace_id, span_id: mine })),
      event('span', aSpan({ trace_id: other.trace_id, span_id: theirs })),
      event(type, body({ trace_id, span_id: theirs })),
      event(type, body({ trace_id: aTrace().trace_id, span_id: theirs })),
      event(type, body({ trace_id: other.trace_id, span_id: theirs })),
    ])
    expect(statuses).toEqual([201, 202, 202, 409, 404, 201])
    expect(await shown({ org, id, trace_id })).toBe(mine)
    expect(await shown(other)).toBe(theirs)
  })

  it.for(['span', 'root'] as const)(
    'keeps its effect in a batch if a later event adds the %s to another trace',
    async (what, { expect }) => {
      const { org, id, trace_id } = await newTrace()
      const other = await aTraceBeside(id, org.project)
      const span_id = what === 'span' ? uuid() : await rootSpanUuid(org.project.id, other.trace_id)
      const gives =
        what === 'span' ? event('span', aSpan({ trace_id: other.trace_id, span_id })) : event('trace', other)
      if (what === 'span') await org.ingest.post('/api/v1/traces', other)
      const statuses = await statusesOf(org, [
        event(type, body({ trace_id, span_id })),
        gives,
        event(type, body({ trace_id, span_id })),
      ])
      expect(statuses).toEqual([201, 202, 409])
      expect(await shown({ org, id, trace_id })).toBe(await rootSpanUuid(org.project.id, trace_id))
    },
  )

  it('uses the first valid span if its own id is repeated in a batch', async ({ expect }) => {
    const { org, id, trace_id, other, step } = await twoTraces()
    const [mine, theirs] = [uuid(), uuid()]
    await step({ span_id: mine })
    await org.ingest.post('/api/v1/spans', aSpan({ trace_id: other.trace_id, span_id: theirs }))
    const sameId = { trace_id, [`${type}_id`]: uuid() }
    const statuses = await statusesOf(org, [
      event(type, body({ ...sameId, span_id: theirs })),
      event(type, body({ ...sameId, span_id: mine })),
      event(type, body({ ...sameId, span_id: theirs })),
    ])
    // An observation keeps its first body, so the last event changes nothing. For feedback, it would change the span.
    expect(statuses).toEqual(type === 'observation' ? [409, 201, 201] : [409, 201, 409])
    expect(await shown({ org, id, trace_id })).toBe(mine)
  })

  it('may have a span id that another organization uses', async ({ expect }) => {
    const [{ trace_id: theirs, org: stranger }, { org, trace_id }] = [await newTrace(), await newTrace()]
    const span_id = uuid()
    await stranger.ingest.post('/api/v1/spans', aSpan({ trace_id: theirs, span_id }))
    expect((await org.ingest.post(path, body({ trace_id, span_id }))).status).toBe(201)
  })

  it('shows an existing span if a telemetry trace’s own root never arrived', async ({ expect }) => {
    const org = await newOrg()
    const exported = anExportedSpan({
      parentSpanId: 'ffffffffffffffff',
      attributes: { 'gen_ai.operation.name': 'chat' },
    })
    await org.ingest.post('/v1/traces', anExport([exported]))
    const trace_id = `trace_${exported.traceId}`
    const span_id = await exportedSpanUuid(org.project.id, exported.traceId, 'aaaaaaaaaaaaaaaa')
    expect((await org.ingest.post(path, body({ trace_id, span_id }))).status).toBe(201)
    const { traces } = (await org.read.get('/api/traces?projectSlug=support')).body
    const { spans, feedback } = (await org.read.get(`/api/traces/${traces[0].id}`)).body
    for (const { spanId } of feedback) expect(spans.map(({ id }: { id: string }) => id)).toContain(spanId)
    const late = anExportedSpan({
      traceId: exported.traceId,
      spanId: 'aaaaaaaaaaaaaaaa',
      parentSpanId: exported.spanId,
    })
    await org.ingest.post('/v1/traces', anExport([late]))
    expect(await shown({ org, id: traces[0].id, trace_id })).toBe(span_id)
  })
})

describe('a predictable id', () => {
  it('cannot be taken by another project from a telemetry span', async ({ expect }) => {
    const { org, other, projectTwo } = await twoProjects()
    const [traceId, spanId] = [aHexTraceId(), 'bbbbbbbbbbbbbbbb']
    const span_id = await exportedSpanUuid(org.project.id, traceId, spanId)
    expect(
      (await projectTwo.post('/api/v1/spans', aSpan({ trace_id: other, span_id, step_id: 'squatter' }))).status,
    ).toBe(202)
    const exported = anExportedSpan({ traceId, spanId, name: 'real', attributes: { 'countersign.step_id': 'real' } })
    expect((await org.ingest.post('/v1/traces', anExport([exported]))).body).toEqual({})
    expect((await org.read.get(`/api/spans/${span_id}`)).body).toMatchObject({
      stepId: 'real',
      trace: { traceId: `trace_${traceId}` },
    })
    const enriched = aSpan({ trace_id: `trace_${traceId}`, span_id, step_id: 'real', status: 'ok' })
    expect((await org.ingest.post('/api/v1/spans', enriched)).status).toBe(202)
    const feedback = aFeedback({ trace_id: `trace_${traceId}`, span_id })
    expect((await org.ingest.post('/api/v1/feedback', feedback)).status).toBe(201)
  })

  it('cannot be taken by another project from a root span', async ({ expect }) => {
    const { org, other, projectTwo } = await twoProjects()
    const trace = aTrace({ name: 'real' })
    const span_id = await rootSpanUuid(org.project.id, trace.trace_id)
    await projectTwo.post('/api/v1/spans', aSpan({ trace_id: other, span_id, step_id: 'squatter' }))
    expect((await org.ingest.post('/api/v1/traces', trace)).status).toBe(202)
    expect((await org.read.get(`/api/spans/${span_id}`)).body.stepId).toBe('real')
    const ids = { trace_id: trace.trace_id, span_id }
    expect((await org.ingest.post('/api/v1/spans', aSpan(ids))).status).toBe(202)
    expect((await org.ingest.post('/api/v1/feedback', aFeedback(ids))).status).toBe(201)
    expect((await org.ingest.post('/api/v1/observations', anObservation(ids))).status).toBe(201)
  })

  it('is rejected for a comment', async ({ expect }) => {
    const { org, trace_id, give, step } = await newTrace()
    const span_id = uuid()
    await step({ span_id })
    const id = await feedbackUuid(org.project.id, 'ticket-1')
    const comment = await org.owner.post(`/api/spans/${span_id}/feedback`, { content: 'Squatter', id })
    expect(comment).toMatchObject({ status: 400, body: { details: [{ path: 'id' }] } })
    expect((await give({ feedback_id: 'ticket-1', comment: 'real' })).status).toBe(201)
    expect((await statusesOf(org, [event('feedback', aFeedback({ trace_id, feedback_id: 'ticket-1' }))]))[0]).toBe(200)
  })

  it('does not block other traces if an old comment has it, and never overwrites the comment', async ({ expect }) => {
    const { org, id: traceUuid, trace_id, give, read, other } = await twoTraces()
    const { feedback_id } = (await give({ comment: 'Once a comment' })).body
    await stored
      .prepare("update feedback set source = 'review' where id = ?")
      .bind(await feedbackUuid(org.project.id, feedback_id))
      .run()
    expect(await give({ feedback_id, comment: 'overwritten' })).toMatchObject({
      status: 409,
      body: { details: [{ path: 'feedback_id' }] },
    })
    expect((await org.ingest.delete(`/api/v1/feedback/${feedback_id}`)).status).toBe(404)
    expect((await read()).feedback).toMatchObject([{ content: 'Once a comment', source: 'review' }])
    const elsewhere = aFeedback({ trace_id: other.trace_id, feedback_id })
    expect((await org.ingest.post('/api/v1/feedback', elsewhere)).status).toBe(201)
    expect([traceUuid, trace_id]).toHaveLength(2)
  })
})

async function twoProjects() {
  const org = await newOrg()
  await org.owner.post('/api/projects', { slug: 'second', name: 'Second' })
  const projectTwo = client({ 'x-api-key': await org.keyFor({ projectSlug: 'second' }) })
  const trace = aTrace({ timestamp: timeAfter(1) })
  await projectTwo.post('/api/v1/traces', trace)
  return { org, projectTwo, other: trace.trace_id }
}
