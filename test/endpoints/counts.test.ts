import { describe, it } from 'vitest'
import { runJob } from '../../src/jobs/consumer.ts'
import { INLINE_BYTES, MAX_BATCH_EVENTS, MAX_DELETED_TRACES } from '../../src/limits.ts'
import { newDisputed, withMessages } from '../support/attribution.ts'
import { event, resultsOf } from '../support/batch.ts'
import { type Counts, countingBindings } from '../support/bindings.ts'
import { aFeedback, anObservation, aSpan, aTrace, TIME } from '../support/builders.ts'
import { isSharded } from '../support/database.ts'
import { newBench } from '../support/experiments.ts'
import { client, newOrg, type Org } from '../support/org.ts'
import { addAnswer } from '../support/problems.ts'
import { newReviewed, reviewerOf } from '../support/reviews.ts'
import { page, signIn } from '../support/session.ts'
import { aHexSpanId, aHexTraceId, anExport, anExportedSpan, exportSpans } from '../support/telemetry.ts'
import { manyTraces } from '../support/traces.ts'
import { newVoted } from '../support/voting.ts'

const NOTHING: Counts = { d1RoundTrips: 0, rowsWritten: 0, r2Calls: 0, limiterCalls: 0, queueSends: 0 }

/** The cost of a request if the isolate has cached the key and the project. */
async function costOf(
  org: Org,
  method: 'get' | 'post' | 'put' | 'delete',
  path: string,
  body?: object,
): Promise<Counts> {
  const { bindings, counts } = countingBindings()
  const response = await org.bearer(bindings)[method](path, body)
  if (response.status >= 300) throw new Error(`${method} ${path} returned ${response.status}`)
  return counts
}

const large = 'x'.repeat(20_000)

// With several databases, requests take more calls, which run at the same time.
describe.skipIf(isSharded)('platform calls', () => {
  it.for([
    ['in one trace', 100, { attributes: { 'gen_ai.operation.name': 'execute_tool' } }, 0],
    ['in ten traces', 10, { attributes: { 'gen_ai.operation.name': 'execute_tool' } }, 0],
    ['that call a model', 10, {}, 1],
  ] as const)(
    'an export of 100 spans %s takes one read and one batch of writes: two rows per span, three per model call',
    async ([, spansATrace, fields, modelUse], { expect }) => {
      const org = await newOrg()
      await exportSpans(org, [anExportedSpan()])
      const traces = Array.from({ length: 100 / spansATrace }, () => {
        const [traceId, rootId] = [aHexTraceId(), aHexSpanId()]
        const children = Array.from({ length: spansATrace - 1 }, () =>
          anExportedSpan({ traceId, parentSpanId: rootId, ...fields }),
        )
        return [anExportedSpan({ traceId, spanId: rootId, ...fields }), ...children]
      })
      const exported = anExport(traces.flat(), {})
      // A root span takes one fewer row than other spans, and a trace without metadata takes five rows.
      const rowsWritten = (2 + modelUse) * 100 + traces.length * (5 - 1)
      const cost = { ...NOTHING, d1RoundTrips: 2 }
      expect(await costOf(org, 'post', '/v1/traces', exported)).toEqual({ ...cost, rowsWritten })
      expect(await costOf(org, 'post', '/v1/traces', exported)).toEqual({ ...cost, rowsWritten: 0 })
    },
  )

  it('an export with large values writes one object per trace', async ({ expect }) => {
    const org = await newOrg()
    await exportSpans(org, [anExportedSpan()])
    const traceId = aHexTraceId()
    const attributes = { 'gen_ai.operation.name': 'chat', 'input.value': large, 'output.value': large }
    const spans = Array.from({ length: 10 }, () => anExportedSpan({ traceId, attributes }))
    const { d1RoundTrips, r2Calls } = await costOf(org, 'post', '/v1/traces', anExport(spans))
    expect({ d1RoundTrips, r2Calls }).toEqual({ d1RoundTrips: 2, r2Calls: 1 })
  })

  it('a new trace takes one round trip, 7 rows, and a row per searchable field', async ({ expect }) => {
    const org = await newOrg()
    await org.ingest.post('/api/v1/traces', aTrace())
    for (const [metadata, fields] of [
      [{}, 0],
      [{ a: 1, b: { c: true }, tags: ['x', 'y'] }, 4],
    ] as const) {
      expect(await costOf(org, 'post', '/api/v1/traces', aTrace({ metadata }))).toEqual({
        ...NOTHING,
        d1RoundTrips: 1,
        rowsWritten: 7 + fields,
      })
    }
  })

  it('a completion with the same metadata takes one round trip and one row', async ({ expect }) => {
    const org = await newOrg()
    const trace = aTrace()
    await org.ingest.post('/api/v1/traces', trace)
    const completed = { ...trace, status: 'completed', duration_ms: 5 }
    const cost = { ...NOTHING, d1RoundTrips: 1, rowsWritten: 1 }
    expect(await costOf(org, 'post', '/api/v1/traces', completed)).toEqual(cost)
    expect(await costOf(org, 'post', '/api/v1/traces', completed)).toEqual({ ...cost, rowsWritten: 0 })
  })

  it('a completion that changes metadata writes only the fields that changed', async ({ expect }) => {
    const org = await newOrg()
    const trace = aTrace({ metadata: { a: 1, b: 2, c: 3 } })
    await org.ingest.post('/api/v1/traces', trace)
    const completed = { ...trace, status: 'completed', metadata: { a: 1, b: 'changed' } }
    // Writes the trace, deletes one field, and inserts one field.
    expect(await costOf(org, 'post', '/api/v1/traces', completed)).toEqual({
      ...NOTHING,
      d1RoundTrips: 2,
      rowsWritten: 3,
    })
  })

  it.for([
    ['an input', { type: 'input' }, 1, 0],
    ['a state', { type: 'state', key: 'config' }, 1, 0],
    ['an output, which marks its span as reviewable', { type: 'output' }, 2, 0],
    ['a large input', { type: 'input', data: large }, 1, 1],
  ] as const)('%s takes one round trip, or two with R2', async ([, fields, rowsWritten, r2Calls], { expect }) => {
    const org = await newOrg()
    const { trace_id } = aTrace()
    await org.ingest.post('/api/v1/traces', aTrace({ trace_id }))
    const cost = { ...NOTHING, d1RoundTrips: 1 + r2Calls, rowsWritten, r2Calls }
    expect(await costOf(org, 'post', '/api/v1/observations', anObservation({ trace_id, ...fields }))).toEqual(cost)
  })

  it("a second output writes two rows: its own and the span's, whose last output changes", async ({ expect }) => {
    const org = await newOrg()
    const { trace_id } = aTrace()
    await org.ingest.post('/api/v1/traces', aTrace({ trace_id }))
    await org.ingest.post('/api/v1/observations', anObservation({ trace_id }))
    const { rowsWritten } = await costOf(org, 'post', '/api/v1/observations', anObservation({ trace_id }))
    expect(rowsWritten).toBe(2)
  })

  it.for([
    ['positive feedback', 'positive', 3],
    ['negative feedback, which adds its trace to an index', 'negative', 4],
  ] as const)('%s takes one round trip', async ([, rating, rowsWritten], { expect }) => {
    const org = await newOrg()
    const { trace_id } = aTrace()
    await org.ingest.post('/api/v1/traces', aTrace({ trace_id }))
    // Writes the feedback, its entry in the index by trace, and the trace's updatedAt. The first negative feedback also
    // adds the trace to an index.
    const cost = { ...NOTHING, d1RoundTrips: 1, rowsWritten }
    expect(await costOf(org, 'post', '/api/v1/feedback', aFeedback({ trace_id, rating }))).toEqual(cost)
    const again = aFeedback({ trace_id, rating })
    expect(await costOf(org, 'post', '/api/v1/feedback', again)).toEqual({ ...cost, rowsWritten: 3 })
  })

  it.for([
    // Writes the span, its entry in the index by trace, and the trace's updatedAt.
    ['a span', {}, 1, 3, 0],
    ['a span with metadata, status, and duration', { metadata: { a: 1 }, status: 'ok', duration_ms: 5 }, 1, 3, 0],
    // Also writes an entry in the index that a trace's model, usage, and cost are read from.
    ['a span with a model, usage, and cost', { model: 'gpt-4.1', usage: { total_tokens: 1 }, cost_usd: 1 }, 1, 4, 0],
    // The trace is looked up before large values are stored.
    ['a span with large values', { input: large, output: large }, 2, 3, 1],
  ] as const)(
    '%s takes one fewer row when sent again',
    async ([, fields, d1RoundTrips, rowsWritten, r2Calls], { expect }) => {
      const org = await newOrg()
      const { trace_id } = aTrace()
      await org.ingest.post('/api/v1/traces', aTrace({ trace_id }))
      const span = aSpan({ trace_id, ...fields })
      const cost = { ...NOTHING, d1RoundTrips, rowsWritten, r2Calls }
      expect(await costOf(org, 'post', '/api/v1/spans', span)).toEqual(cost)
      // The span's entry in the index by trace doesn't change.
      expect(await costOf(org, 'post', '/api/v1/spans', span)).toEqual({ ...cost, rowsWritten: rowsWritten - 1 })
    },
  )

  it.for([
    ['an unknown trace', {}, 404],
    ['an unknown prompt version', { prompt_version_id: crypto.randomUUID() }, 422],
  ] as const)('a span rejected for %s takes two round trips and no rows', async ([, fields, status], { expect }) => {
    const org = await newOrg()
    const { trace_id } = aTrace()
    await org.ingest.post('/api/v1/traces', aTrace({ trace_id }))
    const { bindings, counts } = countingBindings()
    const span = aSpan({ ...(status === 422 && { trace_id }), ...fields })
    expect((await org.bearer(bindings).post('/api/v1/spans', span)).status).toBe(status)
    expect(counts).toEqual({ ...NOTHING, d1RoundTrips: 2 })
  })

  it.for([1, 10, 100])(
    'a batch of %i traces, each with a span, two observations, and feedback, takes 4 round trips',
    async (count, { expect }) => {
      const org = await newOrg()
      await resultsOf(org, [])
      const events = Array.from({ length: count }, () => {
        const trace = aTrace({ metadata: { a: 1, b: 2 } })
        const { trace_id } = trace
        const span = aSpan({ trace_id })
        return [
          event('trace', trace),
          event('span', span),
          event('observation', anObservation({ trace_id, type: 'input' })),
          event('observation', anObservation({ trace_id })),
          event('feedback', aFeedback({ trace_id, labeller: { email: 'ada@example.com' } })),
        ]
      }).flat()
      const { bindings, counts } = countingBindings()
      const results = await resultsOf(org, events, bindings)
      expect(results.filter(({ status }) => status >= 300)).toEqual([])
      // The rows for the trace, its two fields, the span, the trace's updatedAt, the two observations with the
      // reviewable mark, and the feedback.
      const each = 7 + 2 + 2 + 1 + 3 + 4
      // The labeler becomes a user once, which takes a row and its index entry.
      expect(counts).toEqual({ ...NOTHING, d1RoundTrips: 4, rowsWritten: count * each + 2 })
    },
  )

  it('a batch that creates and completes 100 traces writes each of them once', async ({ expect }) => {
    const org = await newOrg()
    await resultsOf(org, [])
    const traces = Array.from({ length: 100 }, () => aTrace())
    const completed = traces.map(trace => ({ ...trace, status: 'completed', duration_ms: 1, metadata: { a: 'new' } }))
    const { bindings, counts } = countingBindings()
    await resultsOf(
      org,
      [...traces, ...completed].map(trace => event('trace', trace)),
      bindings,
    )
    expect(counts).toMatchObject({ d1RoundTrips: 1, rowsWritten: 100 * (6 + 3) })
  })

  it('a full batch of large observations writes one object, and GET /api/traces/{id} reads it once', async ({
    expect,
  }) => {
    const org = await newOrg()
    const trace = aTrace()
    const { trace_id } = trace
    const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
    const data = 'x'.repeat(INLINE_BYTES)
    const events = Array.from({ length: MAX_BATCH_EVENTS }, (_, index) =>
      event('observation', { trace_id, type: 'state', key: `k${index}`, data, timestamp: TIME }),
    )
    const { bindings, counts } = countingBindings()
    const results = await resultsOf(org, events, bindings)
    expect(results.filter(({ status }) => status !== 201)).toEqual([])
    // One round trip looks up the trace, and three write the rows. The rows contain the beginnings of the values, which
    // fill three parameters.
    expect(counts).toEqual({
      ...NOTHING,
      d1RoundTrips: 4,
      rowsWritten: MAX_BATCH_EVENTS,
      r2Calls: 1,
    })
    expect(await costOf(org, 'get', `/api/traces/${id}`)).toEqual({ ...NOTHING, d1RoundTrips: 1, r2Calls: 1 })
    const raw = `/api/v1/traces/${trace_id}/observations?limit=1000`
    expect(await costOf(org, 'get', raw)).toEqual({ ...NOTHING, d1RoundTrips: 1, r2Calls: 1 })
  })

  it('GET /api/traces/{id} reads only the last of a span’s large outputs', async ({ expect }) => {
    const org = await newOrg()
    const trace = aTrace()
    const { trace_id } = trace
    const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
    for (let index = 0; index < 5; index++) {
      await org.ingest.post('/api/v1/observations', anObservation({ trace_id, data: large }))
    }
    expect(await costOf(org, 'get', `/api/traces/${id}`)).toEqual({ ...NOTHING, d1RoundTrips: 1, r2Calls: 1 })
  })

  it.for([
    [
      'a list of traces with every filter',
      '/api/traces?projectSlug=support&status=running&name=a&stepId=b&hasFeedback=true&rating=positive&metadata.a=1&metadata.b=2&from=2026-01-01T00:00:00.000Z&to=2027-01-01T00:00:00.000Z&promptVersionId=00000000-0000-4000-8000-000000000000',
    ],
    ['the list of prompts', '/api/prompts?projectSlug=support'],
    ['the list of prompts with a filter', '/api/prompts?projectSlug=support&stepId=a'],
    ["a list of a project's error types", '/api/error-types?projectSlug=support'],
    ["a project's insights", '/api/insights?projectSlug=support'],
    ['the attribution quality', '/api/attribution-quality?projectSlug=support&engine=rules'],
    ['the compared answers', '/api/attribution-quality/answers?projectSlug=support&agrees=false'],
    ['the agreement of reviewers', '/api/agreement?projectSlug=support&stepId=a'],
    ['the outputs behind the agreement', '/api/agreement/outputs?projectSlug=support&label=decision'],
    ['a list of knowledge docs', '/api/knowledge-docs?projectSlug=support'],
    ['a search with several fields', '/api/v1/traces/search?a=1&b=2&c=3&name=a&status=running'],
  ] as const)('%s takes one round trip', async ([, path], { expect }) => {
    const org = await newOrg()
    await org.bearer().get(path)
    expect(await costOf(org, 'get', path)).toEqual({ ...NOTHING, d1RoundTrips: 1 })
  })

  it('a search, a list, and a trace each take one round trip, plus reads of large values', async ({ expect }) => {
    const org = await newOrg()
    const trace = aTrace()
    const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
    await org.ingest.post('/api/v1/observations', anObservation({ trace_id: trace.trace_id, data: large }))
    const read = { ...NOTHING, d1RoundTrips: 1 }
    expect(await costOf(org, 'get', '/api/v1/traces/search?group_id=session-1')).toEqual(read)
    await org.bearer().get('/api/traces?projectSlug=support')
    expect(await costOf(org, 'get', '/api/traces?projectSlug=support')).toEqual(read)
    expect(await costOf(org, 'get', `/api/traces/${id}`)).toEqual({ ...read, r2Calls: 1 })
    expect(await costOf(org, 'get', `/api/traces/${id}/attributions`)).toEqual(read)
  })

  it.for([
    // Writes the decision and its entry in the index by time, the span and its entry in the index of reviewed spans,
    // the trace, the audit entry, and the day's count of such decisions. The step's first decision also writes the
    // dataset, the dataset's index entry and position, and the item.
    ['an acceptance takes two round trips and eleven rows', { decision: 'accept' }, 11, 0],
    // Also writes the case and its index entry, and the day's count of such cases. A problem's first case also writes
    // the problem's id and its entry in the index of new problems.
    ['a correction takes five more rows', { decision: 'correct', approvedOutput: 'No' }, 16, 0],
    // Also writes the comment and its entry in the index by trace.
    ['a decision with a comment takes two more rows', { decision: 'accept', comment: 'Good' }, 13, 0],
    // Also writes an entry in the index of decisions with an error type.
    ['a decision with an error type takes one more row', { decision: 'accept', errorType: 'reasoning_error' }, 12, 0],
    ['a large correction takes two more R2 calls', { decision: 'correct', approvedOutput: large }, 16, 1],
  ] as const)('%s, and a repeat takes one round trip and no rows', async ([, body, rowsWritten, puts], { expect }) => {
    const { org, spanId } = await newReviewed({ answer: 'Yes' })
    await org.bearer().get('/api/prompts?projectSlug=support')
    const path = `/api/spans/${spanId}/review`
    const cost = { ...NOTHING, d1RoundTrips: 2, rowsWritten, r2Calls: 2 * puts }
    expect(await costOf(org, 'put', path, body)).toEqual(cost)
    expect(await costOf(org, 'put', path, body)).toEqual({
      ...cost,
      d1RoundTrips: 1,
      rowsWritten: 0,
      r2Calls: 2 * puts,
    })
  })

  it('an acceptance of a large output copies nothing, and reads it for the schema check and the response', async ({
    expect,
  }) => {
    const { org, spanId } = await newReviewed({ text: large })
    await org.bearer().get('/api/prompts?projectSlug=support')
    const cost = { ...NOTHING, d1RoundTrips: 2, rowsWritten: 11, r2Calls: 2 }
    expect(await costOf(org, 'put', `/api/spans/${spanId}/review`, { decision: 'accept' })).toEqual(cost)
  })

  it("a decision in a step that has a dataset takes two rows for the item and the dataset's position", async ({
    expect,
  }) => {
    const { org, step } = await newReviewed('Yes')
    const [first, second] = [crypto.randomUUID(), crypto.randomUUID()]
    await step({ span_id: first })
    await step({ span_id: second })
    await org.owner.put(`/api/spans/${first}/review`, { decision: 'accept' })
    const cost = await costOf(org, 'put', `/api/spans/${second}/review`, { decision: 'accept' })
    // The count of the day's decisions and the trace's entry in the index of the review queue vary.
    expect(cost).toEqual({ ...NOTHING, d1RoundTrips: 2, rowsWritten: 7 + 2 })
  })

  it('a decision on an output of a prompt version takes one more row, an index entry for the watch', async ({
    expect,
  }) => {
    const { org, step } = await newReviewed('Yes')
    const prompt = { projectSlug: 'support', stepId: 'generate-answer', content: 'Answer.' }
    const { versionId } = (await org.owner.post('/api/prompts', prompt)).body
    const spanIds = Array.from({ length: 3 }, () => crypto.randomUUID())
    for (const span_id of spanIds) await step({ span_id, prompt_version_id: versionId })
    // The reviewer's first decision of the day also adds a count, so it isn't measured.
    await costOf(org, 'put', `/api/spans/${spanIds[0]}/review`, { decision: 'accept' })
    const cost = await costOf(org, 'put', `/api/spans/${spanIds[1]}/review`, { decision: 'accept' })
    // As in a step that has a dataset, plus the entry in the index by version. The watch is read after the response.
    expect(cost).toEqual({ ...NOTHING, d1RoundTrips: 2 + 1, rowsWritten: 7 + 2 + 1 })
  })

  it('decisions by one reviewer on one step and day share a counter row', async ({ expect }) => {
    const { org, step } = await newReviewed('Yes')
    await org.bearer().get('/api/prompts?projectSlug=support')
    const spanIds = Array.from({ length: 20 }, () => crypto.randomUUID())
    for (const span_id of spanIds) await step({ span_id })
    const decideAll = (fields: object) =>
      costOf(org, 'post', '/api/reviews', { reviews: spanIds.map(spanId => ({ spanId, ...fields })) })
    // Each decision writes itself and its index entry, the span and its index entry, the audit entry, and the item. The
    // call also writes the trace, the count, and the new dataset with its index entry and position.
    expect(await decideAll({ decision: 'accept' })).toMatchObject({ d1RoundTrips: 2, rowsWritten: 20 * 6 + 1 + 1 + 3 })
    // The number of current decisions is unchanged, so the counts aren't written. Because a root may still have an
    // earlier decision's item, the trace's items are due, which writes the trace and its index entry.
    expect(await decideAll({ decision: 'accept', comment: 'Sure' })).toMatchObject({ rowsWritten: 20 * 8 + 1 + 1 + 2 })
    // One count row changes: fewer acceptances and more corrections. Each correction adds a case and its index entry.
    // Together, the corrections add a count, and the problem's id and its index entry.
    expect(await decideAll({ decision: 'correct', approvedOutput: 'No' })).toMatchObject({
      rowsWritten: 20 * 8 + 1 + 1 + 1 + 2 + 3,
    })
    // Imports look up their reviewers in one more round trip. Imports that change nothing write nothing.
    await reviewerOf(org, 'ada@example.com')
    const imported = { decision: 'accept', source: 'import', by: 'ada@example.com' }
    expect(await decideAll({ ...imported, at: '2026-11-01T12:00:00.000Z' })).toMatchObject({
      d1RoundTrips: 2,
      rowsWritten: 0,
    })
  })

  it("a problem's next correction takes three rows for its case, and an acceptance takes none", async ({ expect }) => {
    const { org, step } = await newReviewed('Yes')
    await org.bearer().get('/api/prompts?projectSlug=support')
    const spanIds = Array.from({ length: 3 }, () => crypto.randomUUID())
    for (const span_id of spanIds) await step({ span_id })
    const decide = (spanId: string | undefined, body: object) => costOf(org, 'put', `/api/spans/${spanId}/review`, body)
    const [first, second, third] = spanIds
    const correction = { decision: 'correct', approvedOutput: 'No' }
    await decide(first, correction)
    expect(await decide(second, correction)).toMatchObject({ d1RoundTrips: 2, rowsWritten: 7 + 2 + 3 })
    expect(await decide(third, { decision: 'accept' })).toMatchObject({ d1RoundTrips: 2, rowsWritten: 7 + 2 })
  })

  it('a page of problems takes two round trips and writes nothing, or takes one more to store new ids', async ({
    expect,
  }) => {
    const { org, review } = await newReviewed('Yes')
    await review({ decision: 'correct', approvedOutput: 'No' })
    await org.bearer().get('/api/prompts?projectSlug=support')
    const list = () => costOf(org, 'get', '/api/problems?projectSlug=support')
    expect(await list()).toMatchObject({ d1RoundTrips: 3 })
    expect(await list()).toEqual({ ...NOTHING, d1RoundTrips: 2 })
  })

  it("a span's sources take up to five round trips, in three stages, however many spans and chunks there are", async ({
    expect,
  }) => {
    const { org, spanId, step } = await newReviewed('Yes')
    await org.bearer().get('/api/prompts?projectSlug=support')
    const path = `/api/spans/${spanId}/sources`
    // Reads the span and its trace's other spans, and then the step's texts.
    expect(await costOf(org, 'get', path)).toEqual({ ...NOTHING, d1RoundTrips: 3 })
    // Also reads the other spans' values with the texts, and then the docs that their chunks name.
    const passages = Array.from({ length: 100 }, (_, index) => ({ id: `doc-${index}`, text: 'Some text' }))
    for (let index = 0; index < 20; index++) await step({ step_id: 'retrieve', output: passages, timestamp: TIME })
    expect(await costOf(org, 'get', path)).toMatchObject({ d1RoundTrips: 5, rowsWritten: 0, r2Calls: 0 })
  })

  it('a comment takes two round trips', async ({ expect }) => {
    const { org, spanId } = await newReviewed('Yes')
    await org.bearer().get('/api/prompts?projectSlug=support')
    // The first round trip looks up the span. The second writes the comment, its entry in the index by trace, the
    // trace, and the audit entry.
    const cost = { ...NOTHING, d1RoundTrips: 2, rowsWritten: 4 }
    expect(await costOf(org, 'post', `/api/spans/${spanId}/feedback`, { content: 'Why?' })).toEqual(cost)
  })

  it('a change to an error type takes one round trip, and writes the type and the audit entry', async ({ expect }) => {
    const org = await newOrg()
    await org.bearer().get(`/api/prompts?projectId=${org.project.id}`)
    const path = `/api/projects/${org.project.id}/error-types/system_failure`
    const cost = { ...NOTHING, d1RoundTrips: 1, rowsWritten: 2 }
    expect(await costOf(org, 'put', path, { isEnabled: false })).toEqual(cost)
    expect(await costOf(org, 'put', path, { isEnabled: false })).toEqual({ ...cost, rowsWritten: 0 })
  })

  it('a vote takes two round trips and four rows, and a deciding vote also takes the rows of a decision', async ({
    expect,
  }) => {
    const { org, ada, ben, spanId, on, step } = await newVoted('Yes')
    const other = crypto.randomUUID()
    await step({ span_id: other })
    await org.bearer().get('/api/prompts?projectSlug=support')
    const costFor = async (by: typeof ada, reviews: object[]) => {
      const { bindings, counts } = countingBindings()
      await client({ 'x-api-key': by.key }, bindings).post('/api/reviews', { reviews })
      return counts
    }
    await on(spanId)(ada, { decision: 'reset' })
    await on(spanId)(ben, { decision: 'reset' })
    // Writes the vote and its entry in the index by time, the span, and the audit entry.
    expect(await costFor(ada, [{ spanId, decision: 'accept' }])).toMatchObject({ d1RoundTrips: 2, rowsWritten: 4 })
    expect(await costFor(ada, [{ spanId, decision: 'accept' }])).toMatchObject({ d1RoundTrips: 1, rowsWritten: 0 })
    // Writes the same four rows, and the eleven rows of an acceptance.
    expect(await costFor(ben, [{ spanId, decision: 'accept' }])).toMatchObject({ d1RoundTrips: 2, rowsWritten: 4 + 11 })
    expect(await costFor(ben, [{ spanId: other, decision: 'accept' }])).toMatchObject({
      d1RoundTrips: 2,
      rowsWritten: 4,
    })
  })

  it('a claim, its renewal, and its release take one round trip and one row each', async ({ expect }) => {
    const { org, spanId } = await newReviewed('Yes')
    await org.bearer().get('/api/prompts?projectSlug=support')
    for (const verb of ['claim', 'heartbeat', 'release']) {
      const cost = await costOf(org, 'post', `/api/review-queue/${verb}`, { spanIds: [spanId] })
      expect(cost, verb).toEqual({ ...NOTHING, d1RoundTrips: 1, rowsWritten: 1 })
    }
  })

  it('assigning any number of spans takes four round trips, and three rows for each span that is not assigned already', async ({
    expect,
  }) => {
    const org = await newOrg()
    const spanIds = [(await newReviewed('Yes', org)).spanId, (await newReviewed('No', org)).spanId]
    const { userId } = await reviewerOf(org)
    for (const [round, count] of [1, 2].entries()) {
      const body = { spanIds: spanIds.slice(0, count), userIds: [userId] }
      // Writes the assignment, its entry in the index of open assignments, and the audit entry.
      const cost = { ...NOTHING, d1RoundTrips: 4, rowsWritten: 3 }
      expect(await costOf(org, 'post', '/api/review-queue/assign', body), `${round}`).toEqual(cost)
      expect(await costOf(org, 'post', '/api/review-queue/assign', body)).toEqual({
        ...cost,
        d1RoundTrips: 3,
        rowsWritten: 0,
      })
    }
  })

  it("a blind reviewer's request for a root cause takes the same number of calls with or without an answer", async ({
    expect,
  }) => {
    const { org, id, trace_id } = await newVoted('Yes', { blind: true })
    const fresh = await newReviewed('Yes', org)
    for (const trace of [trace_id, fresh.trace_id])
      await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id: trace }))
    await addAnswer(org, id, { errorType: 'reasoning_error' })
    const ask = async (trace: string) => {
      const counting = countingBindings()
      const { bindings, attributions } = withMessages(counting.bindings)
      const { status } = await org.bearer(bindings).post(`/api/v1/traces/${trace}/attribute`)
      return [status, counting.counts.d1RoundTrips, attributions().length]
    }
    await ask(trace_id)
    expect([await ask(trace_id), await ask(fresh.trace_id), await ask(fresh.trace_id)]).toEqual(
      Array.from({ length: 3 }, () => [202, 1, 1]),
    )
  })

  it('a new output in a trace with reviews takes extra round trips for the trace’s items and its return to the queue', async ({
    expect,
  }) => {
    const { org, trace_id, spanId, review, step } = await newReviewed('Yes')
    const withoutOutput = crypto.randomUUID()
    await step({ span_id: withoutOutput, output: undefined })
    await review({ decision: 'accept' })
    const observation = anObservation({ trace_id, span_id: withoutOutput })
    // Writes the observation, the span's mark, the trace, and the trace's entry in the index of the review queue, and
    // then the trace and its entry in the index of due items.
    expect(await costOf(org, 'post', '/api/v1/observations', observation)).toEqual({
      ...NOTHING,
      d1RoundTrips: 3,
      rowsWritten: 6,
    })
    // Writes the observation, the span's last output, and the span again, because its review is now stale.
    expect(await costOf(org, 'post', '/api/v1/observations', anObservation({ trace_id, span_id: spanId }))).toEqual({
      ...NOTHING,
      d1RoundTrips: 2,
      rowsWritten: 3,
    })
  })

  it('a call with any number of results takes seven round trips and two rows per result', async ({ expect }) => {
    const bench = await newBench(Array.from({ length: 102 }, () => ({ expected: 1 })))
    const { path } = await bench.begin()
    const outputs = bench.ids.map(itemId => ({ itemId, output: 2 }))
    const post = (results: object[]) => costOf(bench.org, 'post', `${path}/results`, { results })
    await post(outputs.slice(0, 1))
    expect(await post(outputs.slice(1, 2))).toEqual({ ...NOTHING, d1RoundTrips: 7, rowsWritten: 2 + 1 })
    expect(await post(outputs.slice(2))).toMatchObject({ rowsWritten: 2 * 100 + 2 + 1 })
    expect(await post(outputs.slice(2))).toEqual({ ...NOTHING, d1RoundTrips: 2 })
  })

  it('an attribution run takes six round trips and ten rows, or two trips and no rows for a finished job', async ({
    expect,
  }) => {
    const { askAsync, job } = await newDisputed()
    await askAsync(withMessages().bindings)
    // The run starts by writing the job and its entry in the index of due jobs. It ends by writing the result, the job,
    // which leaves the index, and the day's count of such answers. The problem adds the case and its index entry, the
    // count, and, for its first case, the id and its index entry.
    for (const cost of [
      { d1RoundTrips: 6, rowsWritten: 10 },
      { d1RoundTrips: 2, rowsWritten: 0 },
    ]) {
      const { bindings, counts } = countingBindings()
      await runJob(job, bindings)
      expect(counts).toEqual({ ...NOTHING, ...cost })
    }
  })

  it('a deletion takes one round trip and one message', async ({ expect }) => {
    const org = await newOrg()
    const { id } = (await org.ingest.post('/api/v1/traces', aTrace())).body
    const cost = await costOf(org, 'delete', `/api/traces/${id}`)
    expect(cost).toMatchObject({ d1RoundTrips: 1, queueSends: 1, r2Calls: 0 })
  })

  it('a deletion of 200 traces takes one round trip, or two if some are unknown, and two messages', async ({
    expect,
  }) => {
    const org = await newOrg()
    const ids = await manyTraces(org, 2 * MAX_DELETED_TRACES - 1, () => ({ name: 'a', fields: {} }))
    await org.bearer().get('/api/traces?projectSlug=support')
    const remove = (some: string[]) => costOf(org, 'post', '/api/traces/delete', { ids: some })
    const single = await costOf(org, 'delete', `/api/traces/${ids.at(-1)}`)
    const known = await remove(ids.slice(0, MAX_DELETED_TRACES))
    expect(known).toEqual({
      ...NOTHING,
      d1RoundTrips: 1,
      rowsWritten: MAX_DELETED_TRACES * single.rowsWritten,
      queueSends: 2,
    })
    const unknown = await remove([...ids.slice(MAX_DELETED_TRACES, -1), crypto.randomUUID()])
    expect(unknown).toMatchObject({ d1RoundTrips: 2, queueSends: 2, r2Calls: 0 })
  })

  it('a saved view takes one round trip and two rows, and two more if it is shared', async ({ expect }) => {
    const org = await newOrg()
    await org.bearer().get('/api/prompts?projectSlug=support')
    const view = { projectSlug: 'support', name: 'Mine', page: 'traces', query: 'a=b', shared: false }
    const cost = { ...NOTHING, d1RoundTrips: 1 }
    expect(await costOf(org, 'post', '/api/views', view)).toEqual({ ...cost, rowsWritten: 2 })
    expect(await costOf(org, 'post', '/api/views', view)).toEqual(cost)
    expect(await costOf(org, 'post', '/api/views', { ...view, query: 'c' })).toEqual({ ...cost, rowsWritten: 1 })
    // Also writes the entry in the index of shared views, and the audit entry.
    const shared = { ...view, name: 'Ours', shared: true }
    expect(await costOf(org, 'post', '/api/views', shared)).toEqual({ ...cost, rowsWritten: 4 })
    expect(await costOf(org, 'get', '/api/views?projectSlug=support')).toEqual(cost)
  })

  it('a request with a cached session takes as many calls as a request with its key', async ({ expect }) => {
    const org = await newOrg()
    const cookie = await signIn(org.projectKey)
    const cost = async () => {
      const { bindings, counts } = countingBindings()
      expect((await page(cookie, bindings).get('/api/v1/traces/search?a=1')).status).toBe(200)
      return counts
    }
    expect(await cost()).toMatchObject({ d1RoundTrips: 1, rowsWritten: 0 })
    expect(await costOf(org, 'get', '/api/session')).toEqual({ ...NOTHING, d1RoundTrips: 1 })
    expect(await costOf(org, 'get', `/api/reviewers?ids=${crypto.randomUUID()}`)).toEqual({
      ...NOTHING,
      d1RoundTrips: 1,
    })
    // The other rows are the link's index entries and the audit entry.
    expect(await costOf(org, 'post', '/api/sign-in-links')).toEqual({ ...NOTHING, d1RoundTrips: 1, rowsWritten: 4 })
  })

  it('an uncached key takes one more lookup and one more request for tokens', async ({ expect }) => {
    const org = await newOrg()
    const { bindings, counts } = countingBindings()
    await org.bearer(bindings).post('/api/v1/traces', aTrace())
    expect(counts).toMatchObject({ d1RoundTrips: 2, limiterCalls: 1 })
  })

  it('a request over the limit makes no D1 query, and only the first one requests tokens', async ({ expect }) => {
    const org = await newOrg()
    const key = await org.keyFor({ rateLimitPerMinute: 1 })
    await client({ 'x-api-key': key }).post('/api/v1/traces', aTrace())
    for (const limiterCalls of [1, 0, 0]) {
      const { bindings, counts } = countingBindings()
      expect((await client({ 'x-api-key': key }, bindings).post('/api/v1/traces', aTrace())).status).toBe(429)
      expect(counts).toEqual({ ...NOTHING, limiterCalls })
    }
  })

  it('300 requests in a row take fewer than 15 requests for tokens', async ({ expect }) => {
    const org = await newOrg()
    const { bindings, counts } = countingBindings()
    for (let index = 0; index < 300; index++) await org.bearer(bindings).get('/api/v1/traces/search?a=1')
    expect(counts.limiterCalls).toBeLessThan(15)
  })
})
