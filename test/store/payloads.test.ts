import { describe, it } from 'vitest'
import { INLINE_BYTES } from '../../src/limits.ts'
import { failing, wrapBindings } from '../support/bindings.ts'
import { anObservation, aTrace, timeAfter } from '../support/builders.ts'
import { newOrg } from '../support/org.ts'

describe('an R2 fault', () => {
  const large = 'x'.repeat(20_000)

  it('does not affect a request if it is transient', async ({ expect }) => {
    const org = await newOrg()
    const trace = aTrace()
    const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
    const flaky = () => org.bearer(wrapBindings(failing('PAYLOADS', 'internal error (10001)', 1)))
    const posted = await flaky().post('/api/v1/observations', anObservation({ trace_id: trace.trace_id, data: large }))
    expect(posted.status).toBe(201)
    expect((await flaky().get(`/api/traces/${id}`)).body.spans[0].output).toBe(large)
  })

  it('gives a 503 if it lasts, and leaves no row without its value', async ({ expect }) => {
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
  it('delays a read only once, even if it reads many values in parallel', async ({ expect }) => {
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

  it('does not delay a repeated observation if its cleanup never finishes', async ({ expect }) => {
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
