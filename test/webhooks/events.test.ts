import { afterEach, describe, expect, it, vi } from 'vitest'
import type { EventType } from '../../src/domain/webhook.ts'
import { runJob } from '../../src/jobs/consumer.ts'
import { deliver, newDisputed, withMessages } from '../support/attribution.ts'
import { event, resultsOf } from '../support/batch.ts'
import { aFeedback, anObservation, aTrace } from '../support/builders.ts'
import { jobPlace, stored } from '../support/database.ts'
import { client, newOrg, type Org, REVIEWER_EMAIL } from '../support/org.ts'
import { newReviewed } from '../support/reviews.ts'
import { anExportedSpan, exportSpans } from '../support/telemetry.ts'
import { ACCEPT, correct, newVoted } from '../support/voting.ts'
import { newSending, receive, recordedEvents, sendNow, sent, subscribe, withoutQueue } from '../support/webhooks.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/**
 * A tenant with a webhook, and a client whose key this isolate hasn't cached, so that the isolate finds out about the
 * webhook.
 */
async function newWatched(events: readonly EventType[], fields: object = {}) {
  const { org, webhook } = await newSending(events, fields)
  return { org, webhook, fresh: org.bearer() }
}

async function newSpan({ ingest, owner }: Org) {
  const trace = aTrace()
  const { id } = (await ingest.post('/api/v1/traces', trace)).body
  await ingest.post('/api/v1/observations', anObservation({ trace_id: trace.trace_id, data: 'secret output' }))
  const { spans } = (await owner.get(`/api/traces/${id}`)).body
  return { id, traceId: trace.trace_id, spanId: spans[0].id, stepId: trace.name }
}

/** Purges these deleted traces. */
async function purge(ids: readonly string[]) {
  const { results } = await stored
    .prepare(
      'select organization_key as organizationKey, key as traceKey from traces where id in (select value from json_each(?))',
    )
    .bind(JSON.stringify(ids))
    .all<{ organizationKey: number; traceKey: number }>()
  for (const trace of results) {
    await runJob({ kind: 'purge_trace', ...trace, ...(await jobPlace(trace.traceKey)) }, withoutQueue())
  }
  expect(results).toHaveLength(ids.length)
}

describe('events', () => {
  it('report each decision once, without values', async () => {
    const { org, fresh } = await newWatched(['span.reviewed'])
    const span = await newSpan(org)
    const decision = { decision: 'correct', approvedOutput: 'secret correction', comment: 'secret comment' }
    expect((await fresh.put(`/api/spans/${span.spanId}/review`, decision)).status).toBe(200)
    // Making the same decision again isn't an event.
    await fresh.put(`/api/spans/${span.spanId}/review`, decision)
    const received = receive()
    await sendNow(org)
    expect(received.map(({ event }) => event).toSorted((a, b) => b.type.localeCompare(a.type))).toMatchObject([
      {
        type: 'span.reviewed',
        data: {
          spanId: span.spanId,
          stepId: span.stepId,
          trace: { id: span.id, traceId: span.traceId },
          decision: 'correct',
          state: 'corrected',
          by: expect.any(String),
        },
      },
    ])
    expect(JSON.stringify(received)).not.toContain('secret')
  })

  it('are recorded only if a webhook subscribes to them', async () => {
    const { org, webhook, fresh } = await newWatched(['span.disputed'])
    const span = await newSpan(org)
    await fresh.put(`/api/spans/${span.spanId}/review`, { decision: 'accept' })
    const received = receive()
    await sendNow(org)
    expect(received).toEqual([])
    expect((await org.owner.get(`/api/webhooks/${webhook.id}/deliveries`)).body.deliveries).toEqual([])
  })

  it('report a dispute once, even if a voter changes their vote in the same millisecond', async () => {
    const org = await newOrg()
    await subscribe(org)
    const { ada, ben, spanId, vote } = await newVoted('Yes', { reviewers: 2 }, org)
    vi.useFakeTimers({ toFake: ['Date'] })
    for (const [by, body] of [
      [ada, ACCEPT],
      [ben, correct('No')],
      [ben, correct('Maybe')],
    ] as const) {
      expect((await vote(by, body)).status).toBe(200)
    }
    const reported = (await recordedEvents(org)).filter(({ type }) => type === 'span.disputed')
    expect(reported.map(({ subject_id }) => subject_id)).toEqual([spanId])
  })

  it('of imported reviews are not sent', async () => {
    const { org, fresh } = await newWatched(['span.reviewed'])
    const { spanId } = await newSpan(org)
    await org.owner.post('/api/users', { email: REVIEWER_EMAIL, name: 'Ada' })
    const imported = {
      spanId,
      decision: 'accept',
      source: 'import',
      by: REVIEWER_EMAIL,
      at: '2026-11-01T12:00:00.000Z',
    }
    expect((await fresh.post('/api/reviews', { reviews: [imported] })).body.results).toMatchObject([{ status: 200 }])
    const received = receive()
    await sendNow(org)
    expect(received).toEqual([])
  })

  it('report each deletion of a trace once, even after its purge', async () => {
    const { org, fresh } = await newWatched(['span.reviewed', 'trace.deleted'])
    const [one, two] = [await newSpan(org), await newSpan(org)]
    await fresh.put(`/api/spans/${two.spanId}/review`, { decision: 'accept' })
    expect((await fresh.delete(`/api/traces/${one.id}`)).status).toBe(200)
    expect((await fresh.delete(`/api/traces/${one.id}`)).status).toBe(404)
    expect((await fresh.post('/api/traces/delete', { ids: [one.id, two.id, two.id] })).status).toBe(207)
    await purge([one.id, two.id])
    const received = receive()
    await sendNow(org)
    expect(received.map(({ event }) => [event.type, event.data.trace, event.data.projectSlug])).toEqual(
      [one, two].map(({ id, traceId }) => ['trace.deleted', { id, traceId }, 'support']),
    )
  })

  it('from any project go to webhooks that cover every project', async () => {
    const { org, webhook } = await newWatched(['trace.deleted'], { projectSlug: undefined, format: 'slack' })
    await org.owner.post('/api/projects', { slug: 'sales', name: 'Sales' })
    await org.owner.post('/api/webhooks', {
      url: 'https://hooks.example.com/own',
      events: ['trace.deleted'],
      projectSlug: 'support',
    })
    const sales = org.clientOf(await org.keyFor({ projectSlug: 'sales' }))
    const trace = aTrace()
    const other = (await sales.post('/api/v1/traces', trace)).body.id
    const { id } = await newSpan(org)
    const whole = client({ 'x-api-key': await org.keyFor({ projectSlug: undefined }) }, withoutQueue())
    await whole.post('/api/traces/delete', { ids: [id, other] })
    const received = receive()
    await sendNow(org)
    await sendNow(
      org,
      withoutQueue(),
      (await org.owner.get('/api/projects')).body.projects.find(({ slug }: { slug: string }) => slug === 'sales').id,
    )
    expect(received.map(({ url }) => url)).toEqual([webhook.url, 'https://hooks.example.com/own', webhook.url])
    expect(received.at(-1)?.event).toMatchObject({ text: 'Trace deleted' })
    expect(received.at(-1)?.body).toContain(trace.trace_id)
    expect(received.at(-1)?.body).not.toContain(`/traces/${other}`)
  })

  it('report each activation of a prompt once, and a new prompt', async () => {
    const { org, fresh } = await newWatched(['prompt.activated'])
    const created = (await fresh.post('/api/prompts', { projectSlug: 'support', stepId: 'answer', content: 'secret' }))
      .body
    const path = `/api/prompts/${created.id}`
    const first = (await org.owner.get(path)).body.versions[0].id
    const second = (await fresh.post(`${path}/versions`, { content: 'secret two', activate: true })).body.id
    for (const versionId of [second, first, first]) {
      expect((await fresh.put(`${path}/active-version`, { versionId })).status).toBe(200)
    }
    const received = receive()
    await sendNow(org)
    expect(received.map(({ event: { data } }) => [data.stepId, data.versionId, data.previousVersionId])).toEqual([
      ['answer', first, null],
      ['answer', second, first],
      ['answer', first, second],
    ])
    expect(received.map(({ body }) => body).join()).not.toContain('secret')
  })
})

describe('feedback', () => {
  it('is reported once, without its comment, however it arrives', async () => {
    const { org } = await newSending(['feedback.created'])
    const { trace_id, spanId, step, id } = await newReviewed('Yes', org)
    const stepId = 'find'
    const other = crypto.randomUUID()
    await step({ span_id: other, step_id: stepId })
    const judged = aFeedback({ trace_id, feedback_id: 'a', rating: 0.2, name: 'helpfulness', comment: 'secret' })
    const labeller = { email: 'user@example.com', name: 'User' }
    await org.ingest.post('/api/v1/feedback', { ...judged, span_id: other, labeller })
    await org.ingest.post('/api/v1/feedback', judged)
    await org.ingest.post('/api/v1/feedback', { trace_id, feedback_id: 'a', comment: 'secret addition' })
    await resultsOf(org, [
      event('feedback', { trace_id, feedback_id: 'b', correction: { a: 'secret' } }),
      event('feedback', { trace_id, feedback_id: 'b', correction: { a: 'secret' } }),
    ])
    await org.owner.post(`/api/spans/${spanId}/feedback`, { content: 'secret', rating: 'negative' })
    await org.owner.put(`/api/spans/${spanId}/review`, { decision: 'accept', comment: 'secret reason' })
    const [first, ...others] = await sent(org)
    const { feedback } = (await org.read.get(`/api/traces/${id}`)).body
    expect(first?.event).toEqual({
      type: 'feedback.created',
      timestamp: expect.any(String),
      data: {
        sequence: expect.any(Number),
        at: expect.any(String),
        projectId: org.project.id,
        projectSlug: 'support',
        trace: { id, traceId: trace_id },
        feedbackId: feedback[0].id,
        spanId: other,
        stepId,
        source: 'api',
        name: 'helpfulness',
        rating: 0.2,
        hasComment: true,
        hasCorrection: false,
        by: feedback[0].userId,
      },
    })
    expect(others.map(({ event: { data } }) => data)).toMatchObject([
      { spanId, source: 'api', rating: null, hasComment: false, hasCorrection: true },
      { spanId, source: 'review', rating: 'negative', hasComment: true },
      { spanId, source: 'review', rating: null, hasComment: true },
    ])
    expect(JSON.stringify([first, ...others])).not.toContain('secret')
    expect(feedback).toHaveLength(4)
  })

  it('in telemetry is reported once', async () => {
    const { org } = await newSending(['feedback.created'])
    const annotation = (field: string) => `annotations.0.annotation.${field}`
    const attributes = {
      'openinference.span.kind': 'LLM',
      [annotation('name')]: 'quality',
      [annotation('annotator_kind')]: 'HUMAN',
      [annotation('label')]: 'incorrect',
      [annotation('identifier')]: 'ada',
    }
    const span = anExportedSpan({ attributes })
    for (const _ of [1, 2]) await exportSpans(org, [span])
    expect((await sent(org)).map(({ event }) => event.data)).toMatchObject([
      { name: 'quality', rating: 'negative', source: 'api' },
    ])
  })

  it("that's imported, suggested, or deleted before it's sent isn't reported", async () => {
    const { org } = await newSending(['feedback.created', 'span.reviewed'])
    const { trace_id, spanId } = await newReviewed('Yes', org)
    await org.owner.post('/api/users', { email: REVIEWER_EMAIL, name: 'Ada' })
    await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id, source: 'import' }))
    const by = { by: REVIEWER_EMAIL, at: '2026-11-01T12:00:00.000Z', source: 'import' }
    const imported = { spanId, decision: 'accept', comment: 'Fine', ...by }
    expect((await org.owner.post('/api/reviews', { reviews: [imported] })).body.results).toMatchObject([
      { status: 200 },
    ])
    const agent = org.clientOf(await org.keyFor({ actsAs: 'agent', scopes: ['read', 'review'] }))
    const suggestion = { ...correct('No'), comment: 'Wrong' }
    expect((await agent.put(`/api/spans/${spanId}/review`, suggestion)).status).toBe(200)
    await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id, feedback_id: 'gone' }))
    await org.ingest.delete('/api/v1/feedback/gone')
    const other = await newReviewed('Yes', org)
    await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id: other.trace_id }))
    await org.owner.delete(`/api/traces/${other.id}`)
    expect(await sent(org)).toEqual([])
  })

  it('reaches every webhook that subscribes to it, and no other organization or project', async () => {
    const { org } = await newSending(['feedback.created'])
    const [stranger, whole] = [await newSending(['feedback.created']), 'https://hooks.example.com/whole']
    await org.owner.post('/api/projects', { slug: 'sales', name: 'Sales' })
    for (const draft of [
      { projectSlug: 'sales', url: 'https://hooks.example.com/sales', events: ['feedback.created'] },
      { projectSlug: 'support', url: 'https://hooks.example.com/other', events: ['trace.deleted'] },
      { url: whole, events: ['feedback.created'] },
    ]) {
      expect((await org.owner.post('/api/webhooks', draft)).status).toBe(201)
    }
    const { trace_id } = await newReviewed('Yes', org)
    await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id }))
    const urls = [...(await sent(org)), ...(await sent(org, null)), ...(await sent(stranger.org))].map(({ url }) => url)
    expect(urls.toSorted()).toEqual(['https://hooks.example.com/in', whole])
  })

  it('by reviewers under a blind policy is reported only after the output is decided', async () => {
    const { org } = await newSending(['feedback.created', 'span.reviewed'])
    const { ada, ben, vote, spanId, trace_id } = await newVoted('Yes', { blind: true }, org)
    expect((await ada.client.post(`/api/spans/${spanId}/feedback`, { content: 'Hm' })).status).toBe(201)
    await vote(ada, { ...correct('No'), comment: 'secret' })
    await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id }))
    expect((await sent(org)).map(({ event: { data } }) => data.source)).toEqual(['api'])
    await vote(ben, { ...correct('No'), comment: 'secret' })
    const [decision, ...comments] = (await sent(org)).map(({ event }) => event)
    expect(decision).toMatchObject({ type: 'span.reviewed', data: { basis: 'votes' } })
    expect(comments.map(({ type, data }) => [type, data.source, data.by]).toSorted()).toEqual(
      [ada, ben].map(({ userId }) => ['feedback.created', 'review', userId]).toSorted(),
    )
  })
})

describe('an analysis', () => {
  it('is reported for each of its answers', async () => {
    const { org } = await newSending(['attribution.finished'])
    const { ask, give, id, trace_id } = await newDisputed(undefined, org)
    expect((await ask(withoutQueue())).status).toBe(200)
    // Nothing has changed since the first analysis.
    await ask(withoutQueue())
    const { body } = await ask(withoutQueue(), '?force=true')
    await give({ feedback_id: 'b', comment: 'Wrong again' })
    await ask(withoutQueue())
    const received = await sent(org)
    expect(received).toHaveLength(3)
    expect(received[1]?.event.data).toEqual({
      sequence: expect.any(Number),
      at: body.created_at,
      projectId: org.project.id,
      projectSlug: 'support',
      trace: { id, traceId: trace_id },
      status: 'done',
      attributionId: expect.any(String),
      spanId: body.span_id,
      stepId: expect.toSatisfy(stepId => stepId === null || typeof stepId === 'string'),
      errorType: body.error_type,
      confidence: body.confidence,
      docSlug: body.doc_slug,
      engine: body.engine,
      failure: null,
      by: null,
    })
  })

  it('that fails permanently is reported once', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { org } = await newSending(['attribution.finished'])
    const { askAsync, job, traceKey } = await newDisputed(undefined, org)
    await askAsync(withoutQueue())
    await stored.prepare('update attribution_jobs set attempts = 1 where trace_key = ?').bind(traceKey).run()
    for (const _ of [1, 2]) await deliver(job, withoutQueue(), { queue: 'x-dead' })
    // If its feedback is deleted, there's nothing to analyze.
    const other = await newDisputed({ feedback_id: 'gone', rating: 'negative' }, org)
    await other.askAsync(withoutQueue())
    await org.ingest.delete('/api/v1/feedback/gone')
    await deliver(other.job, withoutQueue())
    const cut = await newDisputed(undefined, org)
    await cut.askAsync(withoutQueue())
    await stored.prepare('update attribution_jobs set attempts = 100 where trace_key = ?').bind(cut.traceKey).run()
    await deliver(cut.job, withoutQueue())
    const failures = (await sent(org)).map(({ event: { data } }) => [data.status, data.failure, data.errorType])
    // Events for traces in several databases arrive in any order.
    expect(failures.toSorted()).toEqual([
      ['failed', 'The analysis failed on every attempt', null],
      ['failed', 'The analysis was interrupted on every attempt', null],
      ['failed', 'The trace has no feedback to analyze', null],
    ])
  })

  it('sends its event immediately, wherever it runs', async () => {
    const { org } = await newSending(['attribution.finished'])
    const { askAsync, job } = await newDisputed(undefined, org)
    const { bindings, sent: jobs } = withMessages()
    await askAsync(bindings)
    await deliver(job, bindings)
    expect(jobs.map(({ kind }) => kind)).toEqual(['attribute_trace', 'send_events'])
  })

  it('is not reported for a trace with outputs that blind reviewers have yet to judge', async () => {
    const { org } = await newSending(['attribution.finished'])
    const { ada, ben, vote, trace_id } = await newVoted('Yes', { blind: true }, org)
    await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id }))
    const pipeline = org.clientOf(await org.keyFor({ scopes: ['ingest'] }))
    const ask = () => pipeline.post(`/api/v1/traces/${trace_id}/attribute`)
    expect((await ask()).status).toBe(200)
    expect(await sent(org)).toEqual([])
    for (const by of [ada, ben]) await vote(by, correct('No'))
    expect((await ask()).status).toBe(200)
    expect((await sent(org)).map(({ event }) => event.data)).toMatchObject([{ status: 'done' }])
  })
})
