import { describe, it } from 'vitest'
import { MAX_QUEUE_BATCH } from '../../src/limits.ts'
import { storedJob, withMessages } from '../support/attribution.ts'
import { event, resultsOf } from '../support/batch.ts'
import { countingBindings, failingAt, wrapBindings } from '../support/bindings.ts'
import { aFeedback, aTrace } from '../support/builders.ts'
import { stored } from '../support/database.ts'
import { newOrg, type Org } from '../support/org.ts'
import { newReviewed } from '../support/reviews.ts'

/** Creates a tenant, and sets its project's autoAttribute. */
async function newProject(autoAttribute: boolean): Promise<Org> {
  const org = await newOrg()
  const { status, body } = await org.owner.patch(`/api/projects/${org.project.id}`, { autoAttribute })
  if (status !== 200 || body.autoAttribute !== autoAttribute) throw new Error(`unexpected status ${status}`)
  return org
}

async function traceOf(org: Org) {
  const trace = aTrace()
  const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
  const traceKey = Number(await stored.prepare('select key from traces where id = ?').bind(id).first('key'))
  return { trace_id: trace.trace_id, id, traceKey }
}

describe('a project with autoAttribute', () => {
  it.for([
    ['negative feedback', { rating: 'negative' }, true],
    ['a low rating', { rating: 0.2 }, true],
    ['a correction', { correction: { answer: 'No' } }, true],
    ['a correction with a good rating', { rating: 'positive', correction: { answer: 'No' } }, true],
    ['positive feedback', { rating: 'positive' }, false],
    ['a neutral rating', { rating: 0.5 }, false],
    ['a comment alone', { comment: 'Hm' }, false],
  ] as const)('after %s', async ([, fields, isAnalyzed], { expect }) => {
    const org = await newProject(true)
    const { trace_id, traceKey } = await traceOf(org)
    const { bindings, attributions } = withMessages()
    const response = await org.bearer(bindings).post('/api/v1/feedback', { trace_id, ...fields })
    expect(response.status).toBe(201)
    expect((await storedJob(traceKey)).job?.status).toBe(isAnalyzed ? 'pending' : undefined)
    expect(attributions().map(({ traceKey }) => traceKey)).toEqual(isAnalyzed ? [traceKey] : [])
  })

  it('analyzes feedback that arrives after a result, even if nobody requests it', async ({ expect }) => {
    const org = await newProject(true)
    const { trace_id, traceKey } = await traceOf(org)
    const result = () => org.ingest.get(`/api/v1/traces/${trace_id}/attribution`)
    for (const results of [1, 2]) {
      await org.ingest.post('/api/v1/feedback', { trace_id, rating: 'negative' })
      await expect.poll(async () => (await storedJob(traceKey)).results, { timeout: 10_000 }).toBe(results)
      expect((await result()).status).toBe(200)
    }
  })

  it('starts one analysis per trace in a batch of feedback, and sends few queue messages for many traces', async ({
    expect,
  }) => {
    const org = await newProject(true)
    const traces = Array.from({ length: MAX_QUEUE_BATCH + 1 }, () => aTrace())
    await resultsOf(
      org,
      traces.map(trace => event('trace', trace)),
    )
    const { bindings, attributions } = withMessages()
    const events = traces.flatMap(({ trace_id }) => [
      event('feedback', aFeedback({ trace_id })),
      event('feedback', aFeedback({ trace_id, rating: 'positive' })),
      event('feedback', aFeedback({ trace_id, correction: { answer: 'No' } })),
    ])
    await resultsOf(org, events, bindings)
    expect(attributions()).toHaveLength(traces.length)
    expect(new Set(attributions().map(({ traceKey }) => traceKey)).size).toBe(traces.length)
    const counting = countingBindings()
    await resultsOf(org, events, counting.bindings)
    expect(counting.counts.queueSends).toBe(2)
  })

  it('starts an analysis after a reviewer’s correction, but not after an acceptance', async ({ expect }) => {
    const org = await newProject(true)
    for (const [decision, isAnalyzed] of [
      [{ decision: 'accept' }, false],
      [{ decision: 'correct', approvedOutput: 'No' }, true],
      // A value equal to the output corrects nothing.
      [{ decision: 'correct', approvedOutput: 'Yes' }, false],
    ] as const) {
      const { spanId, id } = await newReviewed('Yes', org)
      const { bindings, attributions } = withMessages()
      expect((await org.bearer(bindings).put(`/api/spans/${spanId}/review`, decision)).status).toBe(200)
      const traceKey = Number(await stored.prepare('select key from traces where id = ?').bind(id).first('key'))
      expect((await storedJob(traceKey)).job?.status).toBe(isAnalyzed ? 'pending' : undefined)
      expect(attributions()).toHaveLength(isAnalyzed ? 1 : 0)
    }
  })

  it('starts one analysis for all corrections on a trace in one call', async ({ expect }) => {
    const org = await newProject(true)
    const { spanId, step } = await newReviewed('Yes', org)
    const span_id = crypto.randomUUID()
    await step({ span_id })
    const { bindings, attributions } = withMessages()
    const reviews = [spanId, span_id].map(spanId => ({ spanId, decision: 'correct', approvedOutput: 'No' }))
    expect((await org.bearer(bindings).post('/api/reviews', { reviews })).status).toBe(207)
    expect(attributions()).toHaveLength(1)
  })

  it('starts one analysis even if the database’s response is lost', async ({ expect }) => {
    const org = await newProject(true)
    const { trace_id, traceKey } = await traceOf(org)
    await org.bearer().get('/api/v1/traces/search?a=1')
    const lossy = wrapBindings(failingAt(1, 'D1_ERROR: Network connection lost.', 'after'))
    const { bindings, attributions } = withMessages(lossy)
    const fields = { trace_id, feedback_id: 'mine', rating: 'negative' }
    expect((await org.bearer(bindings).post('/api/v1/feedback', fields)).status).toBe(201)
    expect(attributions()).toHaveLength(1)
    expect((await storedJob(traceKey)).job?.status).toBe('pending')
  })

  it('writes two extra rows per feedback in the same round trip', async ({ expect }) => {
    for (const [autoAttribute, rowsWritten] of [
      // The feedback, the trace, and an index entry for each. With autoAttribute, also the job and its index entry.
      [true, 6],
      [false, 4],
    ] as const) {
      const org = await newProject(autoAttribute)
      const { trace_id } = await traceOf(org)
      const { bindings, counts } = countingBindings()
      await org.bearer(bindings).post('/api/v1/feedback', { trace_id, rating: 'negative' })
      expect(counts).toMatchObject({ d1RoundTrips: 1, rowsWritten, queueSends: autoAttribute ? 1 : 0 })
    }
  })

  it('stops analyzing automatically if autoAttribute is switched off', async ({ expect }) => {
    const org = await newProject(true)
    await org.owner.patch(`/api/projects/${org.project.id}`, { autoAttribute: false })
    const { trace_id, traceKey } = await traceOf(org)
    await org.ingest.post('/api/v1/feedback', { trace_id, rating: 'negative' })
    expect((await storedJob(traceKey)).job).toBeUndefined()
    const rejected = await org.owner.patch(`/api/projects/${org.project.id}`, { autoAttribute: 'yes' })
    expect(rejected.status).toBe(400)
  })
})
