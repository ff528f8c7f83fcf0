import { describe, it } from 'vitest'
import { aFeedback, anObservation, aTrace, timeAfter } from './support/builders.ts'
import { newOrg } from './support/org.ts'

describe('a pipeline run', () => {
  it('is ingested, found, and read back', async ({ expect }) => {
    const org = await newOrg()
    const trace = aTrace()
    const { trace_id } = trace
    const created = await org.ingest.post('/api/v1/traces', trace)
    expect(created.status).toBe(202)
    expect(created.body).toMatchObject({ status: 'accepted', trace_id })
    const chunks = Array.from({ length: 500 }, (_, index) => ({
      index,
      text: `chunk ${index} of the handbook, ünïcode ✓`,
    }))
    for (const observation of [
      { type: 'input', data: { question: 'Refund?' } },
      { type: 'input', data: { language: 'en' }, timestamp: timeAfter(1) },
      { type: 'state', key: 'retrieved_chunks', data: chunks },
      { type: 'output', data: { answer: 'Within 30 days' } },
    ]) {
      const response = await org.ingest.post('/api/v1/observations', anObservation({ trace_id, ...observation }))
      expect(response.status).toBe(201)
    }
    expect((await org.ingest.post('/api/v1/traces', { ...trace, status: 'completed', duration_ms: 1200 })).status).toBe(
      202,
    )
    const rated = await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id }))
    expect(rated.status).toBe(201)
    const found = await org.ingest.get('/api/v1/traces/search?customer.tier=gold&status=completed')
    expect(found.body).toMatchObject({ count: 1, traces: [{ trace_id, status: 'completed' }] })
    const listed = await org.read.get('/api/traces?projectSlug=support')
    expect(listed.body.traces).toMatchObject([
      { id: created.body.id, spanCount: 1, feedbackCount: 1, durationMs: 1200 },
    ])
    const read = await org.read.get(`/api/traces/${created.body.id}`)
    expect(read.body.spans).toMatchObject([
      {
        stepId: 'support-answer',
        input: { question: 'Refund?', language: 'en' },
        output: { answer: 'Within 30 days' },
        state: { retrieved_chunks: chunks },
        approvedOutput: null,
      },
    ])
    expect((await org.owner.delete(`/api/traces/${created.body.id}`)).body).toEqual({ id: created.body.id })
    expect((await org.read.get(`/api/traces/${created.body.id}`)).status).toBe(404)
  })
})
