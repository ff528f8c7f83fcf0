import { env } from 'cloudflare:workers'
import { describe, it, vi } from 'vitest'
import type { Job } from '../../src/env.ts'
import { classifyFault } from '../../src/store/core/faults.ts'
import { failing, wrapBindings } from '../support/bindings.ts'
import { aFeedback, anObservation, aTrace } from '../support/builders.ts'
import { newOrg } from '../support/org.ts'

const LOST = 'D1_ERROR: Network connection lost.'
const OVERLOADED = 'D1_ERROR: D1 DB is overloaded. Requests queued for too long.'

describe('a D1 fault', () => {
  it.for([
    ['Network connection lost', { retry: true, retryAfterSeconds: 2 }],
    ['D1 DB reset because its code was updated', { retry: true, retryAfterSeconds: 2 }],
    ['Internal error in D1 DB storage caused object to be reset.', { retry: true, retryAfterSeconds: 2 }],
    ['Cannot resolve D1 DB due to transient issue on remote node.', { retry: true, retryAfterSeconds: 2 }],
    [
      'D1 DB storage operation exceeded timeout which caused object to be reset.',
      { retry: false, retryAfterSeconds: 5 },
    ],
    ['no such table: traces: SQLITE_ERROR', { retry: false, retryAfterSeconds: 5 }],
    ['an unknown message', { retry: false, retryAfterSeconds: 2 }],
    ['UNIQUE constraint failed: spans.id', undefined],
    ['too many SQL variables at offset 200: SQLITE_ERROR', undefined],
    ['D1 DB exceeded its CPU time limit and was reset.', undefined],
  ] as const)('%s', ([message, expected], { expect }) => {
    expect(classifyFault(new Error(`D1_ERROR: ${message}`))).toEqual(expected)
  })

  it.for(['D1_ERROR: D1 DB is overloaded. Too many requests queued.', 'put: Reduce your request rate. (10058)'])(
    'gives clients different retry times: %s',
    (message, { expect }) => {
      const faults = Array.from({ length: 100 }, () => classifyFault(new Error(message)))
      expect(faults.every(fault => fault?.retry === false)).toBe(true)
      const seconds = new Set(faults.map(fault => fault?.retryAfterSeconds))
      expect([...seconds].toSorted()).toEqual([1, 2, 3, 4, 5])
    },
  )

  it('does not affect a request if it is transient, whether it occurs before or after the commit', async ({
    expect,
  }) => {
    for (const when of ['before', 'after'] as const) {
      const org = await newOrg()
      const flaky = () => org.bearer(wrapBindings(failing('DB', LOST, 1, when)))
      const trace = aTrace()
      const created = await flaky().post('/api/v1/traces', trace)
      expect(created.status).toBe(202)
      expect(
        (await flaky().post('/api/v1/observations', anObservation({ trace_id: trace.trace_id, type: 'input' }))).status,
      ).toBe(201)
      expect((await flaky().post('/api/v1/feedback', aFeedback({ trace_id: trace.trace_id }))).status).toBeLessThan(300)
      const changed = { ...trace, status: 'completed', metadata: { group_id: 'session-2' } }
      expect((await flaky().post('/api/v1/traces', changed)).status).toBe(202)
      expect((await org.owner.post('/api/projects', { slug: `p-${when}`, name: 'P' })).status).toBe(201)
      const read = (await org.read.get(`/api/traces/${created.body.id}`)).body
      expect(read).toMatchObject({ status: 'completed', metadata: { group_id: 'session-2' }, feedbackCount: 1 })
      expect(read.spans[0].input).toEqual({ answer: 'Yes' })
      expect((await org.ingest.get('/api/v1/traces/search?group_id=session-2')).body.count).toBe(1)
      expect((await org.ingest.get('/api/v1/traces/search?group_id=session-1')).body.count).toBe(0)
    }
  })

  it('does not lose a deletion’s job if the response is lost', async ({ expect }) => {
    const org = await newOrg()
    const { id } = (await org.ingest.post('/api/v1/traces', aTrace())).body
    let isSent = false
    const bindings = wrapBindings(failing('DB', LOST, 1, 'after'))
    const queue = { ...env.JOBS, send: async () => (isSent = true) } as unknown as Queue<Job>
    const response = await org.bearer({ ...bindings, JOBS: queue }).delete(`/api/traces/${id}`)
    expect(response).toMatchObject({ status: 200, body: { id } })
    expect(isSent).toBe(true)
  })

  it('does not cause a retried deletion to delete a re-created trace', async ({ expect }) => {
    const org = await newOrg()
    const trace = aTrace()
    const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
    let isFirst = true
    const bindings = wrapBindings(async (binding, call) => {
      const result = await call()
      if (binding !== 'DB' || !isFirst) return result
      isFirst = false
      await org.ingest.post('/api/v1/traces', trace)
      throw new Error(LOST)
    })
    expect((await org.bearer(bindings).delete(`/api/traces/${id}`)).status).toBe(200)
    expect((await org.read.get(`/api/traces/${id}`)).status).toBe(200)
  })

  it('does not report created feedback as updated if the response is lost', async ({ expect }) => {
    const org = await newOrg()
    const { trace_id } = aTrace()
    await org.ingest.post('/api/v1/traces', aTrace({ trace_id }))
    const flaky = org.bearer(wrapBindings(failing('DB', LOST, 1, 'after')))
    expect((await flaky.post('/api/v1/feedback', aFeedback({ trace_id }))).status).toBe(201)
  })

  it('gives a 503 with Retry-After if it lasts, never a 500, a 401, or a 404', async ({ expect }) => {
    const org = await newOrg()
    const trace = aTrace()
    const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
    const { trace_id } = trace
    for (const message of [LOST, OVERLOADED]) {
      const down = org.bearer(wrapBindings(failing('DB', message, Number.POSITIVE_INFINITY)))
      const responses = [
        await down.post('/api/v1/traces', trace),
        await down.post('/api/v1/observations', anObservation({ trace_id })),
        await down.post('/api/v1/feedback', aFeedback({ trace_id })),
        await down.get('/api/v1/traces/search?name=a'),
        await down.get('/api/traces?projectSlug=support'),
        await down.get(`/api/traces/${id}`),
        await down.delete(`/api/traces/${id}`),
        await down.get('/api/api-keys'),
      ]
      for (const { status, headers, body } of responses) {
        expect(status).toBe(503)
        expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
        expect(JSON.stringify(body)).not.toContain('D1')
      }
    }
  })

  it('gives a 500 that reveals nothing if it is a bug, and logs no payload or key', async ({ expect }) => {
    const org = await newOrg()
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    const broken = org.bearer(wrapBindings(failing('DB', 'D1_ERROR: UNIQUE constraint failed: traces.key', 9)))
    const response = await broken.post('/api/v1/traces', aTrace({ name: 'PAYLOAD', metadata: { a: 'PAYLOAD' } }))
    expect(response).toMatchObject({ status: 500, body: { error: 'Internal error', code: 'internal' } })
    const lines = log.mock.calls.flat().join('\n')
    log.mockRestore()
    expect(JSON.parse(lines)).toMatchObject({ event: 'request_failed', requestId: response.body.requestId })
    expect(lines).toContain('UNIQUE constraint failed')
    for (const secret of ['PAYLOAD', org.projectKey]) {
      expect(lines).not.toContain(secret)
      expect(JSON.stringify(response.body)).not.toContain(secret)
    }
  })

  it('gives a 503 within the client’s deadline if D1 never responds', async ({ expect }) => {
    const org = await newOrg()
    const hanging = org.bearer(wrapBindings((binding, call) => (binding === 'DB' ? new Promise(() => {}) : call())))
    const answer = await Promise.race([hanging.post('/api/v1/traces', aTrace()), scheduler.wait(5000)])
    expect(answer?.status).toBe(503)
  })
})

describe('a queue fault', () => {
  it('does not prevent the deletion of a trace', async ({ expect }) => {
    const org = await newOrg()
    const { id } = (await org.ingest.post('/api/v1/traces', aTrace())).body
    const down = org.bearer(wrapBindings(failing('JOBS', 'Queue is overloaded. Please back off.', 9)))
    expect((await down.delete(`/api/traces/${id}`)).status).toBe(200)
    expect((await org.read.get(`/api/traces/${id}`)).status).toBe(404)
  })
})
