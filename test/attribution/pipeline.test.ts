import { env } from 'cloudflare:workers'
import { describe, it, vi } from 'vitest'
import type { Env } from '../../src/env.ts'
import { runJob } from '../../src/jobs/consumer.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import {
  ATTRIBUTION_LEASE_MS,
  ATTRIBUTION_RENEW_MS,
  MAX_ATTRIBUTION_ATTEMPTS,
  RESEND_AFTER_MS,
} from '../../src/limits.ts'
import { deliver, newDisputed, withMessages, withoutQueue } from '../support/attribution.ts'
import { countingBindings, wrapBindings } from '../support/bindings.ts'
import { copyNow, stored as rows } from '../support/database.ts'
import { client, send } from '../support/org.ts'
import { newReviewed } from '../support/reviews.ts'

const LARGE = 'x'.repeat(20_000)

/** A deployment whose R2 fails, so reads of large values fail. */
const withoutValues = (): Env =>
  wrapBindings(async (binding, call) => {
    if (binding === 'PAYLOADS') throw new Error('get: Reduce your concurrent request rate for the same object. (10058)')
    return call()
  })

/** A deployment whose R2 reads wait until they are released. `reached` resolves once one of them is waiting. */
function held() {
  let release = () => {}
  let arrive = () => {}
  const gate = new Promise<void>(resolve => {
    release = resolve
  })
  const reached = new Promise<void>(resolve => {
    arrive = resolve
  })
  const bindings = wrapBindings(async (binding, call) => {
    if (binding === 'PAYLOADS') {
      arrive()
      await gate
    }
    return call()
  })
  return { bindings, reached, release: () => release() }
}

/** A disputed trace whose analysis has to read R2. */
async function newLarge() {
  const disputed = await newDisputed()
  await disputed.observe({ data: LARGE })
  return disputed
}

/** Marks a job as having failed once. */
const setTried = (traceKey: number) =>
  rows.prepare('update attribution_jobs set attempts = 1 where trace_key = ?').bind(traceKey).run()

describe('a request for an attribution', () => {
  it('returns the queue consumer’s result, which can be read later', async ({ expect }) => {
    const { ask, result, trace_id } = await newDisputed()
    const response = await ask()
    expect(response).toMatchObject({
      status: 200,
      body: { trace_id, engine: 'rules', override: null, usage: null, confidence: expect.any(Number) },
    })
    const { trace_id: _, engine_answer, override, duration_ms, usage, ...engineAnswer } = response.body
    expect(engine_answer).toEqual(engineAnswer)
    expect((await result()).body).toEqual(response.body)
  })

  it.for([
    ['an id that does not begin with trace_', 'run_1', 400, /^trace_id: must be trace_/],
    ['an unknown trace', 'trace_none', 404, /^Trace not found$/],
  ] as const)('rejects %s', async ([, id, status, message], { expect }) => {
    const { org } = await newDisputed()
    for (const response of [
      await org.ingest.post(`/api/v1/traces/${id}/attribute`),
      await org.ingest.get(`/api/v1/traces/${id}/attribution`),
    ]) {
      expect(response.status).toBe(status)
      expect(response.body.error).toMatch(message)
    }
  })

  it('rejects a force parameter that is neither true nor false', async ({ expect }) => {
    const { ask } = await newDisputed()
    expect((await ask(env, '?force=yes')).status).toBe(400)
  })

  it.for([
    ['a comment', 'post', 'feedback', { content: 'Why?' }, 200],
    ['a correction', 'put', 'review', { decision: 'correct', approvedOutput: 'No' }, 200],
    ['an acceptance', 'put', 'review', { decision: 'accept' }, 422],
    ['an acceptance with a comment', 'put', 'review', { decision: 'accept', comment: 'Just so' }, 200],
  ] as const)(
    'considers a reviewer’s feedback and decisions: %s',
    async ([, method, call, body, status], { expect }) => {
      const { org, trace_id, spanId } = await newReviewed('Yes')
      await org.owner[method](`/api/spans/${spanId}/${call}`, body)
      const response = await org.ingest.post(`/api/v1/traces/${trace_id}/attribute`)
      expect(response.status).toBe(status)
      if (status === 422) expect(response.body.error).toBe('The trace has no feedback to analyze')
    },
  )

  it('must come first, because until then the result is a 404', async ({ expect }) => {
    const { result } = await newDisputed()
    expect(await result()).toMatchObject({
      status: 404,
      body: { error: expect.stringContaining('No attribution was requested for this trace') },
    })
  })

  it('returns the stored result in one round trip and writes no rows if nothing is new', async ({ expect }) => {
    const { ask, org, trace_id, stored } = await newDisputed()
    const first = await ask()
    const { bindings, counts } = countingBindings()
    const again = await org.bearer(bindings).post(`/api/v1/traces/${trace_id}/attribute`)
    expect(again.body).toEqual(first.body)
    expect(counts).toEqual({ d1RoundTrips: 1, rowsWritten: 0, r2Calls: 0, limiterCalls: 0, queueSends: 0 })
    expect((await stored()).results).toBe(1)
  })

  it.for([
    ['a rating of 0.5', { rating: 0.5 }, 200],
    ['a rating of 0', { rating: 0 }, 200],
    ['a negative rating', { rating: 'negative' }, 200],
    ['a comment', { comment: 'Hm.' }, 200],
    ['a correction', { correction: { answer: 'No' } }, 200],
    ['praise', { rating: 'positive' }, 422],
    ['a rating above 0.5', { rating: 0.51 }, 422],
    ['nothing at all', {}, 422],
    ['an empty comment', { comment: '' }, 422],
  ] as const)('decides whether feedback is a disagreement: only %s', async ([, feedback, status], { expect }) => {
    const { ask, stored } = await newDisputed(feedback)
    const response = await ask()
    expect(response.status).toBe(status)
    if (status === 422) expect(await stored()).toEqual({ job: undefined, results: 0 })
  })

  it('fails if positive feedback replaces the negative feedback before the run', async ({ expect }) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { askAsync, give, result, job } = await newDisputed({ feedback_id: 'mine', rating: 'negative' })
    await askAsync(withMessages().bindings)
    await give({ feedback_id: 'mine', rating: 'positive' })
    await runJob(job, env)
    expect(await result()).toMatchObject({ status: 502, body: { error: 'The trace has no feedback to analyze' } })
    vi.restoreAllMocks()
  })

  it('can be forced only by managers', async ({ expect }) => {
    const { org, trace_id, stored } = await newDisputed()
    const pipeline = client({ authorization: `Bearer ${await org.keyFor({ scopes: ['ingest', 'read', 'review'] })}` })
    const path = `/api/v1/traces/${trace_id}/attribute`
    expect(await pipeline.post(`${path}?force=true`)).toMatchObject({
      status: 403,
      body: { details: [{ message: expect.stringContaining('manage') }] },
    })
    expect((await stored()).job).toBeUndefined()
    expect((await pipeline.post(`${path}?force=false`)).status).toBe(200)
  })

  it('runs again if forced', async ({ expect }) => {
    const { ask, stored } = await newDisputed()
    for (const [query, results] of [
      ['', 1],
      ['?force=false', 1],
      ['?force=true', 2],
      ['', 2],
    ] as const) {
      expect((await ask(env, query)).status).toBe(200)
      expect((await stored()).results, query).toBe(results)
    }
  })

  it.for([
    ['feedback', ({ give }) => give({ comment: 'Still wrong' })],
    ['changed feedback', ({ give }) => give({ feedback_id: 'mine', comment: 'Twice that' })],
    ['an observation', ({ observe }) => observe({ data: 'late' })],
    ['a span', ({ step }) => step({})],
    [
      'a comment',
      async ({ org, span }) => org.owner.post(`/api/spans/${(await span()).id}/feedback`, { content: '?' }),
    ],
    ['a decision', async ({ org, span }) => org.owner.put(`/api/spans/${(await span()).id}/review`, ACCEPT)],
    ['metadata', ({ org, trace_id }) => org.ingest.post('/api/v1/traces', { ...COMPLETED, trace_id })],
  ] satisfies [string, (disputed: Awaited<ReturnType<typeof newDisputed>>) => Promise<unknown>][])(
    'runs again after %s',
    async ([, change], { expect }) => {
      const disputed = await newDisputed({ feedback_id: 'mine', rating: 'negative' })
      await disputed.observe({})
      await disputed.ask()
      await change(disputed)
      expect((await disputed.ask()).status).toBe(200)
      expect((await disputed.stored()).results).toBe(2)
    },
  )

  it('shares one result with concurrent requests', async ({ expect }) => {
    for (const bindings of [env, withoutQueue()]) {
      const { ask, stored } = await newDisputed()
      const responses = await Promise.all([ask(bindings), ask(bindings), ask(bindings)])
      expect(responses.map(({ status }) => status)).toEqual([200, 200, 200])
      expect(new Set(responses.map(({ body }) => JSON.stringify(body))).size).toBe(1)
      expect((await stored()).results).toBe(1)
    }
  })

  it('returns the URL of the result immediately if it does not wait', async ({ expect }) => {
    const { askAsync, result, job, trace_id, stored } = await newDisputed()
    const { bindings, attributions } = withMessages()
    const response = await askAsync(bindings)
    expect(response).toMatchObject({ status: 202, body: { status: 'pending', trace_id } })
    expect(response.headers.get('location')).toBe(`/api/v1/traces/${trace_id}/attribution`)
    expect(attributions()).toEqual([job])
    const pending = await result()
    expect(pending).toMatchObject({ status: 202, body: { status: 'pending', trace_id } })
    expect(await stored()).toMatchObject({ job: { attempts: 0 }, results: 0 })
    await runJob(job, env)
    expect((await result()).status).toBe(200)
    expect((await askAsync(bindings)).status).toBe(200)
  })

  it('runs the job itself immediately if the queue is missing or fails', async ({ expect }) => {
    const refusing = { send: () => Promise.reject(new Error('Too Many Requests')) } as unknown as Env['JOBS']
    vi.spyOn(console, 'error').mockImplementation(() => {})
    for (const bindings of [withoutQueue(), { ...env, ...(refusing && { JOBS: refusing }) }]) {
      const { ask, stored } = await newDisputed()
      expect((await ask(bindings)).status).toBe(200)
      expect(await stored()).toMatchObject({ job: { status: 'done' }, results: 1 })
    }
    vi.restoreAllMocks()
  })

  it('runs the job itself if no consumer picks it up', { timeout: 15_000 }, async ({ expect }) => {
    const { ask, stored } = await newDisputed()
    const { bindings, attributions } = withMessages()
    expect((await ask(bindings)).status).toBe(200)
    expect(attributions()).toHaveLength(1)
    expect((await stored()).results).toBe(1)
  })

  it('ends when its client goes away', async ({ expect }) => {
    const { org, trace_id, stored } = await newDisputed()
    const { bindings } = withMessages()
    const aborted = AbortSignal.abort()
    const impatient = client({ authorization: `Bearer ${org.projectKey}` }, bindings, (request, bindings) =>
      send(new Request(request, { signal: aborted }), bindings),
    )
    const response = await impatient.post(`/api/v1/traces/${trace_id}/attribute`)
    expect(response.status).toBe(202)
    expect((await stored()).results).toBe(0)
  })

  it('runs the analysis again if it arrives with new feedback during a run', async ({ expect }) => {
    const { askAsync, give, result, job, stored } = await newLarge()
    const { bindings: withoutConsumer, attributions } = withMessages()
    await askAsync(withoutConsumer)
    const { bindings, reached, release } = held()
    const { bindings: handing, attributions: handedOn } = withMessages(bindings)
    const run = runJob(job, handing)
    await reached
    await give({ comment: 'One more thing' })
    await askAsync(withoutConsumer)
    release()
    await run
    expect(attributions()).toHaveLength(2)
    expect(handedOn()).toEqual([job])
    expect(await stored()).toMatchObject({ job: { status: 'pending' }, results: 1 })
    expect((await result()).status).toBe(202)
    await runJob(job, env)
    expect(await stored()).toMatchObject({ job: { status: 'done' }, results: 2 })
  })

  it('creates no second result if it arrives during a run without new feedback', async ({ expect }) => {
    const { askAsync, job, stored } = await newLarge()
    const { bindings: withoutConsumer } = withMessages()
    await askAsync(withoutConsumer)
    const { bindings, reached, release } = held()
    const run = runJob(job, withMessages(bindings).bindings)
    await reached
    await askAsync(withoutConsumer)
    release()
    await run
    await runJob(job, env)
    expect(await stored()).toMatchObject({ job: { status: 'done' }, results: 1 })
  })
})

const ACCEPT = { decision: 'accept' }
const COMPLETED = { name: 'x', timestamp: '2026-11-20T10:00:00.000Z', status: 'completed', metadata: { new: 1 } }

describe('the override', () => {
  it('takes precedence over the engine’s answer, which is still returned', async ({ expect }) => {
    const { ask, result, observe, span, org } = await newDisputed()
    await observe({ data: 'Yes' })
    const { body: before } = await ask()
    const { id: span_id } = await span()
    const review = (body: object) => org.owner.put(`/api/spans/${span_id}/review`, body)
    await review({ decision: 'accept', errorType: 'reviewer_mistake', comment: 'Asked wrongly' })
    const { body } = await result()
    expect(body.engine_answer).toEqual(before.engine_answer)
    // The engine's reasoning doesn't appear with the reviewer's type.
    expect(body).toMatchObject({
      error_type_category: 'Human Error',
      reasoning: 'Asked wrongly',
      confidence: null,
      alternatives: [],
      span_id,
      evidence: [{ span_id, path: 'review', note: expect.stringContaining(body.error_type_name) }],
      created_at: body.override.created_at,
    })
    expect(body.override).toMatchObject({ span_id, comment: 'Asked wrongly', created_at: expect.any(String) })
    expect(body).toMatchObject({ error_type: 'reviewer_mistake', override: { error_type: 'reviewer_mistake' } })
    expect(body.error_type_name).toBe(body.override.error_type_name)
    expect(before.error_type).not.toBe('reviewer_mistake')
    // Only the last decision on each span counts.
    await review({ decision: 'accept' })
    expect((await result()).body).toMatchObject({ override: null, error_type: before.error_type })
  })

  it('uses the project’s name for a custom type', async ({ expect }) => {
    const { ask, result, observe, span, org, traceKey } = await newDisputed()
    await observe({ data: 'Yes' })
    await ask()
    const id = crypto.randomUUID()
    await env.DB.prepare(
      `insert into project_error_types select key, 'wrong_unit', ?, 'Wrong unit', 'AI Error', 'A unit is wrong.', 0, 0
       from projects where id = ?`,
    )
      .bind(id, org.project.id)
      .run()
    await copyNow()
    await org.owner.put(`/api/spans/${(await span()).id}/review`, { decision: 'accept', errorType: 'reasoning_error' })
    await rows.prepare("update reviews set error_type = 'wrong_unit' where trace_key = ?").bind(traceKey).run()
    expect((await result()).body).toMatchObject({
      error_type: 'wrong_unit',
      error_type_id: id,
      error_type_name: 'Wrong unit',
    })
  })
})

describe('a job', () => {
  it('is sent again by cron if its message was lost, or run by cron if there is no queue', async ({ expect }) => {
    const { askAsync, job, stored } = await newDisputed()
    await askAsync(withMessages().bindings)
    const now = Date.now()
    const early = withMessages()
    await sweep(early.bindings, now)
    expect(early.attributions()).not.toContainEqual(job)
    for (const at of [now + RESEND_AFTER_MS + 1000, now + 2 * RESEND_AFTER_MS + 2000]) {
      const { bindings, attributions } = withMessages()
      await sweep(bindings, at)
      await sweep(bindings, at)
      expect(attributions().filter(({ traceKey }) => traceKey === job.traceKey)).toEqual([job])
    }
    for (let run = 0; run < 20; run++) await sweep(withoutQueue(), now + 4 * RESEND_AFTER_MS)
    expect(await stored()).toMatchObject({ job: { status: 'done', due_at: null }, results: 1 })
  })

  it('is retried after growing delays if it fails, and finally fails permanently', async ({ expect }) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { ask, askAsync, result, job, stored } = await newLarge()
    await askAsync(withMessages().bindings)
    for (let attempts = 1; attempts < MAX_ATTRIBUTION_ATTEMPTS; attempts++) {
      const delivered = await deliver(job, withoutValues(), { attempts })
      expect(delivered).toEqual({ isTaken: false, retriedAfter: 2 ** attempts })
      expect((await stored()).job).toMatchObject({ status: 'pending', attempts, lease_token: null })
      expect((await result()).status).toBe(202)
    }
    expect(await deliver(job, withoutValues(), { attempts: 6 })).toMatchObject({ isTaken: true })
    expect(await stored()).toMatchObject({ job: { status: 'failed', due_at: null }, results: 0 })
    expect(await result()).toMatchObject({
      status: 502,
      body: { error: "The database or object storage didn't respond", code: 'failed' },
    })
    // It can be requested again.
    expect((await ask()).status).toBe(200)
    vi.restoreAllMocks()
  })

  it('fails if the queue gives up on it, and starts over if requested again', async ({ expect }) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { ask, askAsync, result, job, stored, traceKey } = await newDisputed()
    await askAsync(withMessages().bindings)
    await setTried(traceKey)
    expect(await deliver(job, env, { queue: 'of-any-name-dead' })).toMatchObject({ isTaken: true })
    expect(await result()).toMatchObject({ status: 502, body: { error: 'The analysis failed on every attempt' } })
    expect((await askAsync(withMessages().bindings)).status).toBe(202)
    // A late message fails neither a job that hasn't been tried yet nor a finished one.
    await deliver(job, env, { queue: 'of-any-name-dead' })
    expect(await stored()).toMatchObject({ job: { status: 'pending', attempts: 0 } })
    expect((await ask()).status).toBe(200)
    await deliver(job, env, { queue: 'of-any-name-dead' })
    expect(await stored()).toMatchObject({ job: { status: 'done' }, results: 1 })
    vi.restoreAllMocks()
  })

  it('fails immediately and says why if its engine is unavailable', async ({ expect }) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { ask, result, stored } = await newDisputed()
    const response = await ask({ ...withoutQueue(), ATTRIBUTION_MODEL: 'nobody/nothing' })
    expect(response).toMatchObject({ status: 502, body: { error: expect.stringContaining('ATTRIBUTION_MODEL') } })
    expect((await result()).body.error).toBe(response.body.error)
    expect((await stored()).job).toMatchObject({ status: 'failed', attempts: 1 })
    vi.restoreAllMocks()
  })

  it('returns a 503 if it fails during its request, and a retry returns the result', async ({ expect }) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { ask, stored } = await newLarge()
    expect((await ask(withoutQueue(withoutValues()))).status).toBe(503)
    expect((await stored()).job).toMatchObject({ status: 'pending', attempts: 1, lease_token: null })
    expect((await ask()).status).toBe(200)
    vi.restoreAllMocks()
  })

  it('fails immediately if nothing is left to analyze', async ({ expect }) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { org, trace_id, spanId } = await newReviewed('Yes')
    const { id: commentId } = (await org.owner.post(`/api/spans/${spanId}/feedback`, { content: 'Why?' })).body
    const { bindings, sent } = withMessages()
    await org.bearer(bindings).post(`/api/v1/traces/${trace_id}/attribute`, undefined, { prefer: 'respond-async' })
    await org.owner.delete(`/api/feedback/${commentId}`)
    for (const job of sent) await runJob(job, env)
    expect(await org.ingest.get(`/api/v1/traces/${trace_id}/attribution`)).toMatchObject({
      status: 502,
      body: { error: 'The trace has no feedback to analyze' },
    })
    vi.restoreAllMocks()
  })

  it('runs once, even if it is delivered twice or late', async ({ expect }) => {
    const { askAsync, job, stored } = await newDisputed()
    await askAsync(withMessages().bindings)
    expect(await Promise.all([deliver(job), deliver(job), deliver(job)])).toMatchObject(
      Array.from({ length: 3 }, () => ({ isTaken: true })),
    )
    await deliver(job)
    expect(await stored()).toMatchObject({ job: { status: 'done' }, results: 1 })
  })

  it('does nothing if nobody requested it or another organization owns the trace', async ({ expect }) => {
    const { askAsync, job, stored } = await newDisputed()
    expect(await deliver(job)).toMatchObject({ isTaken: true })
    expect(await stored()).toEqual({ job: undefined, results: 0 })
    await askAsync(withMessages().bindings)
    await deliver({ ...job, organizationKey: job.organizationKey + 1 })
    const other = await newDisputed()
    await deliver({ ...job, organizationKey: other.job.organizationKey })
    await deliver({ ...job, organizationKey: other.job.organizationKey }, env, { queue: 'x-dead' })
    expect(await stored()).toMatchObject({ job: { status: 'pending', attempts: 0 }, results: 0 })
  })

  it('can be claimed again after its worker died and its lease ended', async ({ expect }) => {
    const { askAsync, job, stored, traceKey } = await newDisputed()
    await askAsync(withMessages().bindings)
    const leasedUntil = (until: number) =>
      rows
        .prepare(
          "update attribution_jobs set lease_token = 'dead', lease_until = ?1, due_at = ?1, attempts = 1 where trace_key = ?2",
        )
        .bind(until, traceKey)
        .run()
    await leasedUntil(Date.now() + ATTRIBUTION_LEASE_MS)
    await deliver(job)
    expect(await stored()).toMatchObject({ job: { lease_token: 'dead', attempts: 1 }, results: 0 })
    await leasedUntil(Date.now() - 1)
    const { bindings, attributions } = withMessages()
    await sweep(bindings, Date.now())
    expect(attributions()).toContainEqual(job)
    await deliver(job)
    expect(await stored()).toMatchObject({ job: { status: 'done', lease_token: null }, results: 1 })
  })

  it('fails permanently if its worker dies on every attempt', async ({ expect }) => {
    const { askAsync, job, stored, result, traceKey } = await newDisputed()
    await askAsync(withMessages().bindings)
    await rows
      .prepare("update attribution_jobs set lease_token = 'dead', lease_until = 1, attempts = ? where trace_key = ?")
      .bind(MAX_ATTRIBUTION_ATTEMPTS, traceKey)
      .run()
    await deliver(job)
    expect(await stored()).toMatchObject({ job: { status: 'failed', due_at: null, lease_token: null }, results: 0 })
    expect(await result()).toMatchObject({
      status: 502,
      body: { error: 'The analysis was interrupted on every attempt' },
    })
  })

  it('accepts only the lease holder’s result, not one from a worker that lost the lease', async ({ expect }) => {
    const { askAsync, job, stored, traceKey } = await newLarge()
    await askAsync(withMessages().bindings)
    const { bindings, reached, release } = held()
    const late = runJob(job, bindings)
    await reached
    await rows.prepare('update attribution_jobs set lease_until = 1 where trace_key = ?').bind(traceKey).run()
    await runJob(job, env)
    const after = await stored()
    expect(after).toMatchObject({ job: { status: 'done' }, results: 1 })
    release()
    await late
    expect(await stored()).toEqual(after)
  })

  it('keeps its lease as long as the work continues', async ({ expect }) => {
    const { askAsync, job, stored } = await newLarge()
    await askAsync(withMessages().bindings)
    const { bindings, reached, release } = held()
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] })
    const start = Date.now()
    const run = runJob(job, bindings)
    await reached
    for (let renewals = 1; renewals <= 5; renewals++) {
      vi.advanceTimersByTime(ATTRIBUTION_RENEW_MS)
      const until = start + renewals * ATTRIBUTION_RENEW_MS + ATTRIBUTION_LEASE_MS
      await expect.poll(async () => Number((await stored()).job?.lease_until)).toBeGreaterThanOrEqual(until)
    }
    // Nobody else can claim the job, even long after the first lease would have ended.
    await runJob(job, env)
    expect(await stored()).toMatchObject({ job: { status: 'pending', attempts: 1 }, results: 0 })
    release()
    await run
    vi.useRealTimers()
    expect(await stored()).toMatchObject({ job: { status: 'done' }, results: 1 })
  })

  it('does nothing if its trace is already deleted, and is deleted with the trace', async ({ expect }) => {
    const { askAsync, org, id, job, stored } = await newDisputed()
    await askAsync(withMessages().bindings)
    await org.bearer(withMessages().bindings).delete(`/api/traces/${id}`)
    expect(await deliver(job)).toMatchObject({ isTaken: true })
    expect(await stored()).toMatchObject({ job: { attempts: 0 }, results: 0 })
    await runJob({ ...job, kind: 'purge_trace' }, env)
    expect(await stored()).toEqual({ job: undefined, results: 0 })
    expect(await deliver(job)).toMatchObject({ isTaken: true })
  })

  it('leaves nothing behind if its trace is deleted during the run', async ({ expect }) => {
    const { askAsync, org, id, job, stored, trace_id, give } = await newLarge()
    await askAsync(withMessages().bindings)
    const { bindings, reached, release } = held()
    const run = runJob(job, bindings)
    await reached
    await org.bearer(withMessages().bindings).delete(`/api/traces/${id}`)
    // A new trace with the same id doesn't inherit anything.
    await org.ingest.post('/api/v1/traces', { ...COMPLETED, trace_id })
    await give({ rating: 'negative' })
    release()
    await run
    expect((await stored()).results).toBe(0)
    expect((await org.ingest.get(`/api/v1/traces/${trace_id}/attribution`)).status).toBe(404)
    await runJob({ ...job, kind: 'purge_trace' }, env)
    expect(await stored()).toEqual({ job: undefined, results: 0 })
  })

  it('leaves nothing behind if its trace is deleted and purged during the run', async ({ expect }) => {
    const { askAsync, org, id, job, stored } = await newDisputed()
    await askAsync(withMessages().bindings)
    let isHeld = false
    const bindings = wrapBindings(async (binding, call) => {
      // This is the first call after the claim. It and later calls find no trace, or only part of it.
      if (binding === 'DB' && !isHeld && (await stored()).job?.lease_token) {
        isHeld = true
        await org.bearer(withMessages().bindings).delete(`/api/traces/${id}`)
        await runJob({ ...job, kind: 'purge_trace' }, env)
      }
      return call()
    })
    await runJob(job, bindings)
    expect(isHeld).toBe(true)
    expect(await stored()).toEqual({ job: undefined, results: 0 })
  })

  it('loses its results when its trace is purged', async ({ expect }) => {
    const { ask, org, id, job, stored, result } = await newDisputed()
    await ask()
    await org.bearer(withMessages().bindings).delete(`/api/traces/${id}`)
    expect((await result()).status).toBe(404)
    await runJob({ ...job, kind: 'purge_trace' }, env)
    expect(await stored()).toEqual({ job: undefined, results: 0 })
  })

  it('returns a 404 if its trace is deleted during the request', async ({ expect }) => {
    const { ask, org, id, stored } = await newDisputed()
    const waiting = ask(withMessages().bindings)
    await expect.poll(async () => (await stored()).job).toBeDefined()
    await org.bearer(withMessages().bindings).delete(`/api/traces/${id}`)
    expect(await waiting).toMatchObject({ status: 404, body: { error: 'Trace not found' } })
  })

  it('returns a 502 if it fails permanently during the request', async ({ expect }) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { ask, job, stored, traceKey } = await newDisputed()
    const waiting = ask(withMessages().bindings)
    await expect.poll(async () => (await stored()).job).toBeDefined()
    await setTried(traceKey)
    await deliver(job, env, { queue: 'x-dead' })
    expect(await waiting).toMatchObject({ status: 502, body: { error: 'The analysis failed on every attempt' } })
    vi.restoreAllMocks()
  })
})
