import { describe, it, vi } from 'vitest'
import { runJob } from '../../src/jobs/consumer.ts'
import { MAX_ATTRIBUTION_ATTEMPTS, RESEND_AFTER_MS } from '../../src/limits.ts'
import { deliver, newDisputed, withMessages, withoutQueue } from '../support/attribution.ts'
import { anAnswer, aProvider } from '../support/model.ts'
import type { Org } from '../support/org.ts'

/** A model's answer about the trace from `newDisputed`. Only the feedback has evidence. */
const ANSWER = anAnswer({
  quotes: [{ span_id: null, path: 'feedback.comment', quote: 'It is 24 months' }],
  span_id: null,
})
const PRICES = { ATTRIBUTION_INPUT_PRICE: '0.15', ATTRIBUTION_OUTPUT_PRICE: '0.6' }
const OWN_TYPE = { name: 'Late delivery', category: 'Human Error', rule: 'It came too late.' }

const setType = (org: Org, errorType: string, body: object) =>
  org.owner.put(`/api/projects/${org.project.id}/error-types/${errorType}`, body)

const SECRETS = /sk-the-secret|24 months/

describe('an attribution by a model', () => {
  it('sends the trace to the model and stores its answer as the result', async ({ expect }) => {
    const { ask, result, trace_id, org } = await newDisputed()
    await setType(org, 'late_delivery', OWN_TYPE)
    await setType(org, 'system_failure', { isEnabled: false })
    const { bindings, modelRequests } = await aProvider([{ answer: ANSWER }], PRICES)
    const response = await ask(withoutQueue(bindings))
    expect(response).toMatchObject({
      status: 200,
      body: {
        trace_id,
        error_type: 'context_misinterpretation',
        error_type_name: 'Context misinterpreted',
        confidence: 0.8,
        span_id: null,
        evidence: [{ path: 'feedback.comment', note: '“It is 24 months”' }],
        engine: 'openai/test-model',
        override: null,
        usage: { input_tokens: 1000, output_tokens: 100, cost_usd: (1000 * 0.15 + 100 * 0.6) / 1e6 },
      },
    })
    expect((await result()).body).toEqual(response.body)
    const requests = await modelRequests()
    expect(requests).toHaveLength(1)
    const sentBody = JSON.stringify(requests[0]?.body)
    // The model may name the project's own types, but not a disabled type.
    expect(sentBody).toContain('It came too late.')
    const { enum: types } = schemaOf(requests[0]?.body.response_format).properties.error_type
    expect(types).toContain('late_delivery')
    expect(types).not.toContain('system_failure')
    // The model sees the rules' findings.
    expect(sentBody).toMatch(/\\"kind\\":\\"finding\\"/)
  })

  it('can have a custom type', async ({ expect }) => {
    const { ask, org } = await newDisputed()
    await setType(org, 'late_delivery', OWN_TYPE)
    const { bindings } = await aProvider([{ answer: { ...ANSWER, error_type: 'late_delivery' } }])
    expect((await ask(withoutQueue(bindings))).body).toMatchObject({
      error_type: 'late_delivery',
      error_type_name: 'Late delivery',
      error_type_category: 'Human Error',
    })
  })

  it('is overruled by a reviewer', async ({ expect }) => {
    const { ask, result, observe, span, org } = await newDisputed()
    await observe({ data: 'Yes' })
    const { bindings } = await aProvider([{ answer: ANSWER }])
    await ask(withoutQueue(bindings))
    await org.owner.put(`/api/spans/${(await span()).id}/review`, {
      decision: 'accept',
      errorType: 'reviewer_mistake',
    })
    expect((await result()).body).toMatchObject({
      error_type: 'reviewer_mistake',
      override: { error_type: 'reviewer_mistake' },
      engine_answer: { error_type: 'context_misinterpretation' },
      engine: 'openai/test-model',
    })
  })

  it('is retried no sooner than a failing provider asks, and finally becomes a 502', async ({ expect }) => {
    const errors = vi.spyOn(console, 'error').mockImplementation(() => {})
    const { askAsync, result, job, stored } = await newDisputed()
    await askAsync(withMessages().bindings)
    const body = JSON.stringify({ error: { message: 'No more of sk-the-secret for "It is 24 months"' } })
    const { bindings, modelRequests } = await aProvider([
      { status: 429, headers: { 'retry-after': '900' }, body },
      { status: 503, headers: { 'retry-after': '1' }, body },
      { status: 500, body },
    ])
    const start = Date.now()
    for (const [attempts, retriedAfter] of [
      [1, 900],
      [2, 4],
      [3, 8],
      [4, 16],
      [5, 32],
    ] as const) {
      expect(await deliver(job, bindings, { attempts })).toEqual({ isTaken: false, retriedAfter })
      const { job: row, results } = await stored()
      expect({ row, results }).toMatchObject({ row: { status: 'pending', attempts, lease_token: null }, results: 0 })
      // Cron doesn't retry earlier either.
      expect(row?.due_at).toBeGreaterThanOrEqual(start + (attempts === 1 ? 900_000 : RESEND_AFTER_MS))
    }
    expect(await deliver(job, bindings, { attempts: MAX_ATTRIBUTION_ATTEMPTS })).toMatchObject({ isTaken: true })
    expect(await modelRequests()).toHaveLength(MAX_ATTRIBUTION_ATTEMPTS)
    expect(await result()).toMatchObject({ status: 502, body: { error: "The model's provider returned status 500" } })
    expect(JSON.stringify(errors.mock.calls)).not.toMatch(SECRETS)
    vi.restoreAllMocks()
  })

  it('gets its result once the provider recovers', async ({ expect }) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { askAsync, result, job } = await newDisputed()
    await askAsync(withMessages().bindings)
    const { bindings } = await aProvider([{ hangsUp: true }, { answer: ANSWER }])
    expect(await deliver(job, bindings)).toEqual({ isTaken: false, retriedAfter: 2 })
    expect((await result()).status).toBe(202)
    await runJob(job, bindings)
    expect((await result()).body).toMatchObject({ engine: 'openai/test-model' })
    vi.restoreAllMocks()
  })

  it.for([
    ['an invalid model name', [], { ATTRIBUTION_MODEL: 'gpt-5' }, /^ATTRIBUTION_MODEL must be one of/, 0],
    ['an invalid price', [], { ATTRIBUTION_INPUT_PRICE: 'cheap' }, /^ATTRIBUTION_INPUT_PRICE/, 0],
    ['two answers that violate the schema', [{ answer: 'It is 24 months' }], {}, /answer was invalid twice/, 2],
    ['a rejected request', [{ status: 400 }], {}, /^The model's provider returned status 400/, 1],
  ] as const)('fails without a retry on %s', async ([, replies, settings, reason, requests], { expect }) => {
    const errors = vi.spyOn(console, 'error').mockImplementation(() => {})
    const { ask, stored } = await newDisputed()
    const { bindings, modelRequests } = await aProvider(replies, settings)
    const response = await ask(withoutQueue(bindings))
    expect(response).toMatchObject({ status: 502, body: { error: expect.stringMatching(reason) } })
    expect(await stored()).toMatchObject({ job: { status: 'failed', attempts: 1 }, results: 0 })
    expect(await modelRequests()).toHaveLength(requests)
    expect(JSON.stringify([errors.mock.calls, response.body])).not.toMatch(SECRETS)
    vi.restoreAllMocks()
  })
})

describe('an attribution by the rules', () => {
  it('fails without a retry in a project that has only custom types', async ({ expect }) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { ask, org } = await newDisputed()
    await setType(org, 'late_delivery', OWN_TYPE)
    const { errorTypes } = (await org.read.get('/api/error-types')).body
    for (const { errorType, isBuiltIn } of errorTypes) {
      if (isBuiltIn) await setType(org, errorType, { isEnabled: false })
    }
    expect(await ask(withoutQueue())).toMatchObject({
      status: 502,
      body: { error: expect.stringMatching(/^The rules/) },
    })
    vi.restoreAllMocks()
  })
})

interface AskedSchema {
  properties: { error_type: { enum: string[] } }
}

const schemaOf = (format: unknown): AskedSchema =>
  (format as { json_schema: { schema: AskedSchema } }).json_schema.schema
