import { env } from 'cloudflare:workers'
import { afterEach, describe, it, vi } from 'vitest'
import type { Job } from '../../src/env.ts'
import { INLINE_BYTES, KEY_FRESH_MS, KEY_STALE_MS } from '../../src/limits.ts'
import { classifyFault } from '../../src/store/faults.ts'
import { type Intercept, wrapBindings } from '../support/bindings.ts'
import { aFeedback, anObservation, aTrace, timeAfter } from '../support/builders.ts'
import { newOrg } from '../support/org.ts'

const LOST = 'D1_ERROR: Network connection lost.'
const OVERLOADED = 'D1_ERROR: D1 DB is overloaded. Requests queued for too long.'

/** Fails the first `times` calls of a binding, before or after they took effect. */
function failing(binding: string, message: string, times: number, when: 'before' | 'after' = 'before'): Intercept {
  let left = times
  return async (called, call) => {
    if (called !== binding || left-- <= 0) return call()
    if (when === 'after') await call()
    throw new Error(message)
  }
}

describe('a fault of D1', () => {
  it.for([
    ['Network connection lost', { retry: true, retryAfterSeconds: 2 }],
    ['D1 DB reset because its code was updated', { retry: true, retryAfterSeconds: 2 }],
    ['Internal error in D1 DB storage caused object to be reset.', { retry: true, retryAfterSeconds: 2 }],
    ['Cannot resolve D1 DB due to transient issue on remote node.', { retry: true, retryAfterSeconds: 2 }],
    [
      'D1 DB storage operation exceeded timeout which caused object to be reset.',
      { retry: false, retryAfterSeconds: 5 },
    ],
    ['D1 DB is overloaded. Too many requests queued.', { retry: false, retryAfterSeconds: 5 }],
    ['no such table: traces: SQLITE_ERROR', { retry: false, retryAfterSeconds: 5 }],
    ['something that nobody has seen yet', { retry: false, retryAfterSeconds: 2 }],
    ['UNIQUE constraint failed: spans.id', undefined],
    ['too many SQL variables at offset 200: SQLITE_ERROR', undefined],
    ['D1 DB exceeded its CPU time limit and was reset.', undefined],
  ] as const)('%s', ([message, expected], { expect }) => {
    expect(classifyFault(new Error(`D1_ERROR: ${message}`))).toEqual(expected)
  })

  it('that passes is not seen, and has one effect, whether it struck before or after the commit', async ({
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

  it('that hides the reply to a deletion does not undo it, nor lose its job', async ({ expect }) => {
    const org = await newOrg()
    const { id } = (await org.ingest.post('/api/v1/traces', aTrace())).body
    let isSent = false
    const bindings = wrapBindings(failing('DB', LOST, 1, 'after'))
    const queue = { ...env.JOBS, send: async () => (isSent = true) } as unknown as Queue<Job>
    const answer = await org.bearer({ ...bindings, JOBS: queue }).delete(`/api/traces/${id}`)
    expect(answer).toMatchObject({ status: 200, body: { id } })
    expect(isSent).toBe(true)
  })

  it('that hides the reply to a deletion spares the trace that was created anew before it is tried again', async ({
    expect,
  }) => {
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

  it('that hides the reply to feedback leaves it created, not updated', async ({ expect }) => {
    const org = await newOrg()
    const { trace_id } = aTrace()
    await org.ingest.post('/api/v1/traces', aTrace({ trace_id }))
    const flaky = org.bearer(wrapBindings(failing('DB', LOST, 1, 'after')))
    expect((await flaky.post('/api/v1/feedback', aFeedback({ trace_id }))).status).toBe(201)
  })

  it('that stays is a 503 with Retry-After, never a 500, a 401 or a 404', async ({ expect }) => {
    const org = await newOrg()
    const trace = aTrace()
    const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
    const { trace_id } = trace
    for (const message of [LOST, OVERLOADED]) {
      const down = org.bearer(wrapBindings(failing('DB', message, Number.POSITIVE_INFINITY)))
      const answers = [
        await down.post('/api/v1/traces', trace),
        await down.post('/api/v1/observations', anObservation({ trace_id })),
        await down.post('/api/v1/feedback', aFeedback({ trace_id })),
        await down.get('/api/v1/traces/search?name=a'),
        await down.get('/api/traces?projectSlug=support'),
        await down.get(`/api/traces/${id}`),
        await down.delete(`/api/traces/${id}`),
        await down.get('/api/api-keys'),
      ]
      for (const { status, headers, body } of answers) {
        expect(status).toBe(503)
        expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
        expect(JSON.stringify(body)).not.toContain('D1')
      }
    }
  })

  it('that is a mistake of ours is a 500 that says nothing, and a log line without payload or key', async ({
    expect,
  }) => {
    const org = await newOrg()
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    const broken = org.bearer(wrapBindings(failing('DB', 'D1_ERROR: UNIQUE constraint failed: traces.key', 9)))
    const answer = await broken.post('/api/v1/traces', aTrace({ name: 'PAYLOAD', metadata: { a: 'PAYLOAD' } }))
    expect(answer).toMatchObject({ status: 500, body: { error: 'Internal error', code: 'internal' } })
    const lines = log.mock.calls.flat().join('\n')
    log.mockRestore()
    expect(JSON.parse(lines)).toMatchObject({ event: 'request_failed', requestId: answer.body.requestId })
    expect(lines).toContain('UNIQUE constraint failed')
    for (const secret of ['PAYLOAD', org.projectKey]) {
      expect(lines).not.toContain(secret)
      expect(JSON.stringify(answer.body)).not.toContain(secret)
    }
  })

  it('that never answers is a 503 within the client’s patience', async ({ expect }) => {
    const org = await newOrg()
    const hanging = org.bearer(wrapBindings((binding, call) => (binding === 'DB' ? new Promise(() => {}) : call())))
    const answer = await Promise.race([hanging.post('/api/v1/traces', aTrace()), scheduler.wait(5000)])
    expect(answer?.status).toBe(503)
  })
})

describe('a key while D1 is silent', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it('goes on for 10 minutes if it was seen, else waits with a 503', async ({ expect }) => {
    const org = await newOrg()
    await org.bearer().get('/api/traces?projectSlug=support')
    const unseen = await org.keyFor({})
    let isDown = false
    // Only the look-up of the key fails: it is the first call of a request.
    const bindings = wrapBindings(async (binding, call) => {
      if (isDown && binding === 'DB') {
        isDown = false
        throw new Error(OVERLOADED)
      }
      return call()
    })
    const list = (key: string) => {
      isDown = true
      return org.clientOf(key, bindings).get('/api/traces?projectSlug=support')
    }
    expect((await list(unseen)).status).toBe(503)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + KEY_FRESH_MS + 1 })
    expect((await list(org.projectKey)).status).toBe(200)
    vi.setSystemTime(Date.now() + KEY_STALE_MS)
    expect((await list(org.projectKey)).status).toBe(503)
  })
})

describe('a key while D1 is slow', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it('is looked up all the same, so that a revoked one is soon refused', async ({ expect }) => {
    const org = await newOrg()
    await org.bearer().get('/api/traces?projectSlug=support')
    await env.DB.prepare('update api_keys set revoked_at = 1 where prefix = ? and project_key is not null')
      .bind(org.projectKey.slice(0, 8))
      .run()
    let isFirst = true
    const slow = wrapBindings(async (binding, call) => {
      if (binding === 'DB' && isFirst) {
        isFirst = false
        await scheduler.wait(700)
      }
      return call()
    })
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + KEY_FRESH_MS + 1 })
    expect((await org.clientOf(org.projectKey, slow).get('/api/traces?projectSlug=support')).status).toBe(200)
    expect((await org.bearer().get('/api/traces?projectSlug=support')).status).toBe(401)
  })
})

describe('a fault of R2', () => {
  const large = 'x'.repeat(20_000)

  it('that passes is not seen', async ({ expect }) => {
    const org = await newOrg()
    const trace = aTrace()
    const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
    const flaky = () => org.bearer(wrapBindings(failing('PAYLOADS', 'internal error (10001)', 1)))
    const posted = await flaky().post('/api/v1/observations', anObservation({ trace_id: trace.trace_id, data: large }))
    expect(posted.status).toBe(201)
    expect((await flaky().get(`/api/traces/${id}`)).body.spans[0].output).toBe(large)
  })

  it('that stays is a 503, and leaves no row that points nowhere', async ({ expect }) => {
    const org = await newOrg()
    const trace = aTrace()
    const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
    const down = org.bearer(wrapBindings(failing('PAYLOADS', 'internal error (10001)', Number.POSITIVE_INFINITY)))
    const observation = anObservation({ trace_id: trace.trace_id, data: large })
    expect((await down.post('/api/v1/observations', observation)).status).toBe(503)
    expect((await org.read.get(`/api/traces/${id}`)).body.spans[0].output).toBeNull()
    await org.ingest.post('/api/v1/observations', observation)
    expect((await down.get(`/api/traces/${id}`)).status).toBe(503)
  })
})

describe('slow storage', () => {
  it('is waited for once, however many values are read side by side', async ({ expect }) => {
    const org = await newOrg()
    const trace = aTrace()
    const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
    const values = Array.from({ length: 60 }, (_, index) => `${index} ${'x'.repeat(INLINE_BYTES)}`)
    for (const [index, data] of values.entries()) {
      const fields = { trace_id: trace.trace_id, type: 'input', data, timestamp: timeAfter(index) }
      await org.ingest.post('/api/v1/observations', anObservation(fields))
    }
    const slow = wrapBindings(async (binding, call) => {
      if (binding === 'PAYLOADS') await scheduler.wait(100)
      return call()
    })
    const read = await org.bearer(slow).get(`/api/traces/${id}`)
    expect(read.status).toBe(200)
    expect(read.body.spans[0].input).toEqual(values)
  })

  it('that never answers costs a repeated observation its clean-up, not its answer', async ({ expect }) => {
    const org = await newOrg()
    const trace = aTrace()
    await org.ingest.post('/api/v1/traces', trace)
    const observation = anObservation({
      trace_id: trace.trace_id,
      observation_id: crypto.randomUUID(),
      data: 'x'.repeat(INLINE_BYTES + 1),
    })
    await org.ingest.post('/api/v1/observations', observation)
    let calls = 0
    const hanging = wrapBindings((binding, call) =>
      binding === 'PAYLOADS' && ++calls > 1 ? new Promise(() => {}) : call(),
    )
    expect((await org.bearer(hanging).post('/api/v1/observations', observation)).status).toBe(201)
  })
})

describe('a fault of the queue', () => {
  it('does not keep a trace from being deleted', async ({ expect }) => {
    const org = await newOrg()
    const { id } = (await org.ingest.post('/api/v1/traces', aTrace())).body
    const down = org.bearer(wrapBindings(failing('JOBS', 'Queue is overloaded. Please back off.', 9)))
    expect((await down.delete(`/api/traces/${id}`)).status).toBe(200)
    expect((await org.read.get(`/api/traces/${id}`)).status).toBe(404)
  })
})
