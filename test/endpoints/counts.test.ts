import { describe, it } from 'vitest'
import { type Counts, countingBindings } from '../support/bindings.ts'
import { aFeedback, anObservation, aTrace } from '../support/builders.ts'
import { client, newOrg, type Org } from '../support/org.ts'

const NOTHING: Counts = { d1RoundTrips: 0, rowsWritten: 0, r2Calls: 0, limiterCalls: 0, queueSends: 0 }

/** What a warm request costs: the isolate knows the key and the project. */
async function costOf(org: Org, method: 'get' | 'post' | 'delete', path: string, body?: object): Promise<Counts> {
  const { bindings, counts } = countingBindings()
  const answer = await org.bearer(bindings)[method](path, body)
  if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}`)
  return counts
}

const large = 'x'.repeat(20_000)

describe('the cost of', () => {
  it('a trace is 4 rows and one per searchable field, in one round trip', async ({ expect }) => {
    const org = await newOrg()
    await org.ingest.post('/api/v1/traces', aTrace())
    for (const [metadata, fields] of [
      [{}, 0],
      [{ a: 1, b: { c: true }, tags: ['x', 'y'] }, 4],
    ] as const) {
      expect(await costOf(org, 'post', '/api/v1/traces', aTrace({ metadata }))).toEqual({
        ...NOTHING,
        d1RoundTrips: 1,
        rowsWritten: 4 + fields,
        limiterCalls: 1,
      })
    }
  })

  it('a completion with the same metadata is one round trip and one row', async ({ expect }) => {
    const org = await newOrg()
    const trace = aTrace()
    await org.ingest.post('/api/v1/traces', trace)
    const completed = { ...trace, status: 'completed', duration_ms: 5 }
    const cost = { ...NOTHING, d1RoundTrips: 1, rowsWritten: 1, limiterCalls: 1 }
    expect(await costOf(org, 'post', '/api/v1/traces', completed)).toEqual(cost)
    expect(await costOf(org, 'post', '/api/v1/traces', completed)).toEqual({ ...cost, rowsWritten: 0 })
  })

  it('a completion that changes metadata writes only the fields that changed', async ({ expect }) => {
    const org = await newOrg()
    const trace = aTrace({ metadata: { a: 1, b: 2, c: 3 } })
    await org.ingest.post('/api/v1/traces', trace)
    const completed = { ...trace, status: 'completed', metadata: { a: 1, b: 'changed' } }
    // One trace row, one field out, one field in.
    expect(await costOf(org, 'post', '/api/v1/traces', completed)).toEqual({
      ...NOTHING,
      d1RoundTrips: 2,
      rowsWritten: 3,
      limiterCalls: 1,
    })
  })

  it.for([
    ['an input', { type: 'input' }, 1, 0],
    ['a state', { type: 'state', key: 'config' }, 1, 0],
    ['an output, which marks its span as reviewable', { type: 'output' }, 2, 0],
    ['a large input', { type: 'input', data: large }, 1, 1],
  ] as const)('%s', async ([, fields, rowsWritten, r2Calls], { expect }) => {
    const org = await newOrg()
    const { trace_id } = aTrace()
    await org.ingest.post('/api/v1/traces', aTrace({ trace_id }))
    const cost = { ...NOTHING, d1RoundTrips: 1 + r2Calls, rowsWritten, r2Calls, limiterCalls: 1 }
    expect(await costOf(org, 'post', '/api/v1/observations', anObservation({ trace_id, ...fields }))).toEqual(cost)
  })

  it('a second output is one row: its span is marked', async ({ expect }) => {
    const org = await newOrg()
    const { trace_id } = aTrace()
    await org.ingest.post('/api/v1/traces', aTrace({ trace_id }))
    await org.ingest.post('/api/v1/observations', anObservation({ trace_id }))
    const { rowsWritten } = await costOf(org, 'post', '/api/v1/observations', anObservation({ trace_id }))
    expect(rowsWritten).toBe(1)
  })

  it('feedback is one round trip', async ({ expect }) => {
    const org = await newOrg()
    const { trace_id } = aTrace()
    await org.ingest.post('/api/v1/traces', aTrace({ trace_id }))
    const { d1RoundTrips, rowsWritten } = await costOf(org, 'post', '/api/v1/feedback', aFeedback({ trace_id }))
    // The record, its index by trace, and the trace's updatedAt.
    expect({ d1RoundTrips, rowsWritten }).toEqual({ d1RoundTrips: 1, rowsWritten: 3 })
  })

  it('reading: one round trip for a search, a list and a detail, and the reads of large values', async ({ expect }) => {
    const org = await newOrg()
    const trace = aTrace()
    const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
    await org.ingest.post('/api/v1/observations', anObservation({ trace_id: trace.trace_id, data: large }))
    const read = { ...NOTHING, d1RoundTrips: 1 }
    expect(await costOf(org, 'get', '/api/v1/traces/search?group_id=session-1')).toEqual({ ...read, limiterCalls: 1 })
    await org.bearer().get('/api/traces?projectSlug=support')
    expect(await costOf(org, 'get', '/api/traces?projectSlug=support')).toEqual(read)
    expect(await costOf(org, 'get', `/api/traces/${id}`)).toEqual({ ...read, r2Calls: 1 })
  })

  it('a deletion is one round trip and one message', async ({ expect }) => {
    const org = await newOrg()
    const { id } = (await org.ingest.post('/api/v1/traces', aTrace())).body
    const cost = await costOf(org, 'delete', `/api/traces/${id}`)
    expect(cost).toMatchObject({ d1RoundTrips: 1, queueSends: 1, r2Calls: 0 })
  })

  it('a cold key is one look-up more', async ({ expect }) => {
    const org = await newOrg()
    const { bindings, counts } = countingBindings()
    await org.bearer(bindings).post('/api/v1/traces', aTrace())
    expect(counts.d1RoundTrips).toBe(2)
  })

  it('a request over its limit is no D1 query', async ({ expect }) => {
    const org = await newOrg()
    const key = await org.keyFor({ rateLimitPerMinute: 1 })
    await client({ 'x-api-key': key }).post('/api/v1/traces', aTrace())
    const { bindings, counts } = countingBindings()
    expect((await client({ 'x-api-key': key }, bindings).post('/api/v1/traces', aTrace())).status).toBe(429)
    expect(counts).toEqual({ ...NOTHING, limiterCalls: 1 })
  })
})
