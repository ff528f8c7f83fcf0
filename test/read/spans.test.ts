import { describe, it } from 'vitest'
import { rootSpanUuid } from '../../src/domain/ids.ts'
import { INLINE_BYTES } from '../../src/limits.ts'
import { countingBindings } from '../support/bindings.ts'
import { timeAfter } from '../support/builders.ts'
import { isSharded } from '../support/database.ts'
import { newOrg } from '../support/org.ts'
import { newTrace } from '../support/trace.ts'

const uuid = () => crypto.randomUUID()
const large = (text: string) => `${'x'.repeat(2 * INLINE_BYTES)} ${text}`

describe('a single span', () => {
  it('has the same fields as in its trace, and a reference to the trace', async ({ expect }) => {
    const { org, trace_id, id, step, observe, read, spanOf } = await newTrace()
    const [parent, child] = [uuid(), uuid()]
    await step({ span_id: parent, input: { a: large('in') }, output: undefined, metadata: { m: 1 }, duration_ms: 9 })
    await step({ span_id: child, parent_span_id: parent, status: 'error', timestamp: timeAfter(1) })
    await observe({ span_id: parent, type: 'input', data: { b: large('observed') } })
    await observe({ span_id: parent, type: 'state', key: '__proto__', data: large('state') })
    await observe({ span_id: parent, type: 'output', data: large('out') })
    await observe({ type: 'output', data: 'the root’s' })
    const { spans } = await read()
    expect(spans.map((span: { id: string }) => span.id)).toEqual([
      await rootSpanUuid(org.project.id, trace_id),
      parent,
      child,
    ])
    for (const span of spans) {
      expect(await spanOf(span.id)).toEqual({ ...span, trace: { id, traceId: trace_id, name: 'support-answer' } })
      expect(await spanOf(span.id.toUpperCase())).toMatchObject({ id: span.id })
    }
    expect(spans[1]).toMatchObject({
      input: { a: large('in'), b: large('observed') },
      output: large('out'),
      approvedOutput: null,
      review: { state: 'unreviewed', by: null, at: null, stale: false, comment: null, errorType: null },
      truncated: [],
    })
    expect(Object.entries(spans[1].state)).toEqual([['__proto__', large('state')]])
  })

  it('has all fields, even if the client sent none of the optional ones', async ({ expect }) => {
    const { trace_id, id, read, span, spanOf } = await newTrace()
    const root = await span()
    expect(await spanOf(root.id)).toEqual({
      id: root.id,
      parentSpanId: null,
      stepId: 'support-answer',
      status: null,
      durationMs: null,
      model: null,
      provider: null,
      usage: null,
      costUsd: null,
      input: null,
      output: null,
      approvedOutput: null,
      state: {},
      promptVersionId: null,
      metadata: {},
      review: {
        state: 'unreviewed',
        by: null,
        at: null,
        stale: false,
        comment: null,
        errorType: null,
        basis: null,
        reviewedBy: null,
      },
      claim: null,
      assignees: [],
      suggestions: [],
      votes: [],
      isDisputed: false,
      reviewers: 1,
      etag: expect.stringMatching(/^".+"$/),
      truncated: [],
      createdAt: root.createdAt,
      receivedAt: (await read()).receivedAt,
      trace: { id, traceId: trace_id, name: 'support-answer' },
    })
  })

  it.skipIf(isSharded)('takes one round trip, plus the reads of its own large values', async ({ expect }) => {
    const { org, step, observe } = await newTrace()
    const span_id = uuid()
    await step({ span_id, input: large('in'), output: large('out') })
    await observe({ span_id, type: 'state', key: 'a', data: large('a') })
    await observe({ type: 'output', data: large('of another span') })
    await org.bearer().get('/api/projects')
    const { bindings, counts } = countingBindings()
    expect((await org.bearer(bindings).get(`/api/spans/${span_id}`)).body).toMatchObject({
      input: large('in'),
      output: large('out'),
      state: { a: large('a') },
    })
    // The span's input and output share an object.
    expect(counts).toMatchObject({ d1RoundTrips: 1, r2Calls: 2, rowsWritten: 0 })
  })

  it.for(['nope', '1', '00000000-0000-0000-0000-00000000000g'])(
    'returns a 404 for the id %s, which is not a UUID',
    async (id, { expect }) => {
      const org = await newOrg()
      expect((await org.read.get(`/api/spans/${id}`)).status).toBe(404)
    },
  )

  it('returns a 404 if it is unknown or its trace is deleted, and a 403 if it belongs to someone else', async ({
    expect,
  }) => {
    const { org, id, step } = await newTrace()
    const span_id = uuid()
    await step({ span_id })
    const stranger = await newOrg()
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const other = org.clientOf(await org.keyFor({ projectSlug: 'other' }))
    const path = `/api/spans/${span_id}`
    const statuses = async () => [
      (await org.read.get(path)).status,
      (await org.ingest.get(path)).status,
      (await other.get(path)).status,
      (await stranger.read.get(path)).status,
    ]
    expect(await statuses()).toEqual([200, 200, 403, 403])
    expect((await org.read.get(`/api/spans/${uuid()}`)).status).toBe(404)
    await org.owner.delete(`/api/traces/${id}`)
    expect(await statuses()).toEqual([404, 404, 404, 404])
  })

  it('does not exist while only observations and feedback refer to it', async ({ expect }) => {
    const { org, observe, give, step } = await newTrace()
    const span_id = uuid()
    await observe({ span_id })
    await give({ span_id })
    expect((await org.read.get(`/api/spans/${span_id}`)).status).toBe(404)
    await step({ span_id })
    expect((await org.read.get(`/api/spans/${span_id}`)).status).toBe(200)
  })

  it('accepts no parameters', async ({ expect }) => {
    const { org, span } = await newTrace()
    expect((await org.read.get(`/api/spans/${(await span()).id}?payloads=preview`)).status).toBe(400)
  })
})
