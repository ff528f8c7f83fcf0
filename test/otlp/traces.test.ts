import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import { rootSpanUuid } from '../../src/domain/ids.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import {
  INLINE_BYTES,
  MAX_WRITTEN_RECORDS,
  REMOTE_ROOT_WAIT_MS,
  RESEND_AFTER_MS,
  ROOT_WAIT_MS,
} from '../../src/limits.ts'
import { rowsReadBy } from '../support/bindings.ts'
import { aTrace, TIME, timeAfter } from '../support/builders.ts'
import { stored } from '../support/database.ts'
import { anExport, anExportedSpan, exportSpans, nanosecondsAfter, newRun } from '../support/telemetry.ts'

const AGENT = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'support' }
const rootId = '00000000000000aa'
const childId = '00000000000000bb'

/** A trace without the times that may differ between two reads. */
const withoutTimes = ({ updatedAt, ...trace }: Record<string, unknown>) => trace

describe('an export of spans', () => {
  it('becomes a trace whose spans have ids that a client can compute', async ({ expect }) => {
    const { org, id, trace_id, span, uuidOf, read } = await newRun()
    const response = await exportSpans(org, [
      span({
        spanId: childId,
        parentSpanId: rootId,
        start: 10,
        end: 60,
        attributes: {
          'gen_ai.operation.name': 'chat',
          'gen_ai.request.model': 'm',
          'output.value': '{"answer":"30 days"}',
        },
      }),
      span({ spanId: rootId, name: 'invoke_agent support', attributes: { ...AGENT, 'session.id': 'conv-42' } }),
    ])
    expect(response.body).toEqual({})
    expect(await read()).toMatchObject({
      id,
      traceId: trace_id,
      status: 'completed',
      durationMs: 100,
      createdAt: TIME,
      spanCount: 2,
      metadata: { group_id: 'conv-42' },
      spans: [
        { id: await uuidOf(rootId), parentSpanId: null },
        {
          id: await uuidOf(childId),
          parentSpanId: await uuidOf(rootId),
          durationMs: 50,
          createdAt: timeAfter(10),
          approvedOutput: null,
        },
      ],
    })
    expect((await org.read.get('/api/traces?projectSlug=support&metadata.group_id=conv-42')).body.traces).toMatchObject(
      [{ id, spanCount: 2 }],
    )
    expect((await org.ingest.get('/api/v1/traces/search?group_id=conv-42')).body.traces).toMatchObject([{ trace_id }])
    expect((await org.read.get(`/api/spans/${await uuidOf(childId)}`)).body.trace.id).toBe(id)
  })

  it('becomes one trace if sent twice, and writes nothing the second time', async ({ expect }) => {
    const { org, span, read } = await newRun()
    const spans = [span({ spanId: rootId, attributes: AGENT }), span({ parentSpanId: rootId })]
    await exportSpans(org, spans)
    const before = await read()
    await exportSpans(org, spans)
    expect(await read()).toEqual(before)
  })

  it('changes nothing if it lacks a root and is sent again', async ({ expect }) => {
    const { org, span, read } = await newRun()
    const spans = [span({ parentSpanId: rootId, attributes: { 'session.id': 'a' } })]
    await exportSpans(org, spans)
    const before = await read()
    await new Promise(resolve => setTimeout(resolve, 5))
    await exportSpans(org, spans)
    expect(await read()).toEqual(before)
  })

  it.for([
    ['children first', [1, 2, 0]],
    ['the root first', [0, 1, 2]],
    ['the root in between', [2, 0, 1]],
  ] as const)('creates the same trace one span at a time: %s', async ([, order], { expect }) => {
    const { org, span, uuidOf, read } = await newRun()
    const spans = [
      span({ spanId: rootId, name: 'root', attributes: { ...AGENT, 'user.id': 'u-1' } }),
      span({
        spanId: childId,
        parentSpanId: rootId,
        start: 5,
        end: 20,
        attributes: { 'gen_ai.operation.name': 'chat', 'session.id': 's-1' },
      }),
      span({
        spanId: '00000000000000cc',
        parentSpanId: childId,
        start: 6,
        end: 150,
        attributes: { 'gen_ai.operation.name': 'chat', 'session.id': 's-2' },
      }),
    ]
    for (const index of order) await exportSpans(org, [spans[index] ?? {}])
    const trace = await read()
    expect(trace).toMatchObject({
      status: 'completed',
      durationMs: 150,
      createdAt: TIME,
      spanCount: 3,
      metadata: { group_id: 's-1', user_id: 'u-1' },
    })
    expect(
      trace.spans.map(({ id, parentSpanId }: { id: string; parentSpanId: string | null }) => [id, parentSpanId]),
    ).toEqual([
      [await uuidOf(rootId), null],
      [await uuidOf(childId), await uuidOf(rootId)],
      [await uuidOf('00000000000000cc'), await uuidOf(childId)],
    ])
    for (const [field, value] of Object.entries({ group_id: 's-1', user_id: 'u-1' })) {
      expect((await org.ingest.get(`/api/v1/traces/search?${field}=${value}`)).body.count).toBe(1)
    }
    expect((await org.ingest.get('/api/v1/traces/search?group_id=s-2')).body.count).toBe(0)
  })

  it('keeps the id of a missing parent, and may have several spans without a parent', async ({ expect }) => {
    const { org, span, uuidOf, read } = await newRun()
    await exportSpans(org, [span({ spanId: childId, parentSpanId: '00000000000000ee' })])
    expect((await read()).spans).toMatchObject([{ parentSpanId: await uuidOf('00000000000000ee') }])
    await exportSpans(org, [span({ spanId: 'aaaaaaaaaaaaaaaa', start: 3 }), span({ spanId: rootId, start: 2 })])
    expect((await read()).spans).toMatchObject([
      { id: await uuidOf(rootId), parentSpanId: null },
      { id: await uuidOf(childId) },
      { id: await uuidOf('aaaaaaaaaaaaaaaa'), parentSpanId: null },
    ])
  })

  it('keeps the order of spans that started in the same millisecond', async ({ expect }) => {
    const { org, span, read } = await newRun()
    const spans = Array.from({ length: 12 }, (_, index) =>
      span({
        parentSpanId: rootId,
        name: `stage ${index}`,
        startTimeUnixNano: nanosecondsAfter(7).replace(/0{6}$/, String(index * 90_900).padStart(6, '0')),
      }),
    )
    await exportSpans(org, spans.toReversed())
    const trace = await read()
    expect(trace.spans.map(({ stepId }: { stepId: string }) => stepId)).toEqual(spans.map(({ name }) => name))
    for (const { createdAt } of trace.spans) expect(createdAt).toBe(timeAfter(7))
  })

  it('stores large values in R2 and returns them, including state', async ({ expect }) => {
    const { org, span, read } = await newRun()
    const [input, output, chunks] = ['i', 'o', 'c'].map(letter => letter.repeat(2 * INLINE_BYTES))
    const attributes = {
      'gen_ai.operation.name': 'chat',
      'input.value': input,
      'output.value': output,
      'countersign.state.retrieved_chunks': chunks,
      'countersign.state.config': 'small',
    }
    await exportSpans(org, [span({ spanId: rootId, attributes })])
    const [only] = (await read()).spans
    expect(only).toMatchObject({ input, output, state: { retrieved_chunks: chunks, config: 'small' }, truncated: [] })
    const preview = (await org.read.get(`/api/traces/${(await read()).id}?payloads=preview`)).body.spans[0]
    expect(preview.truncated).toEqual(['input', 'output', 'state.retrieved_chunks'])
    expect(preview.state.config).toBe('small')
  })

  it('keeps a span’s review and the version of the span that ended last, in either order', async ({ expect }) => {
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      const { org, span, uuidOf, read } = await newRun()
      const exports = ['early', 'late'].map((output, index) =>
        span({
          spanId: rootId,
          end: 100 + index,
          attributes: { 'gen_ai.operation.name': 'chat', 'output.value': output },
        }),
      )
      await exportSpans(org, [exports[order[0] ?? 0] ?? {}])
      await org.owner.put(`/api/spans/${await uuidOf(rootId)}/review`, { decision: 'correct', approvedOutput: 'right' })
      await exportSpans(org, [exports[order[1] ?? 0] ?? {}])
      expect((await read()).spans).toMatchObject([
        { output: 'late', approvedOutput: 'right', durationMs: 101, review: { state: 'corrected' } },
      ])
    }
  })

  it('leaves no output to review if the last version of a span has none', async ({ expect }) => {
    const { org, span, read } = await newRun()
    const attributes = { 'gen_ai.operation.name': 'chat' }
    await exportSpans(org, [span({ spanId: rootId, attributes: { ...attributes, 'output.value': 'early' } })])
    await exportSpans(org, [span({ spanId: rootId, attributes, end: 101 })])
    expect((await read()).spans).toMatchObject([{ output: null }])
    expect((await org.owner.get('/api/review-queue?projectSlug=support')).body.spans).toEqual([])
  })

  it('prefers a client’s fields for its root, in either order', async ({ expect }) => {
    for (const isClientFirst of [true, false]) {
      const { org, trace_id, span, uuidOf, read } = await newRun()
      const post = async () =>
        org.ingest.post('/api/v1/spans', { trace_id, span_id: await uuidOf(rootId), step_id: 'mine', timestamp: TIME })
      await exportSpans(org, [span({ spanId: childId, parentSpanId: rootId })])
      if (isClientFirst) await post()
      await exportSpans(org, [span({ spanId: rootId, start: -5 })])
      if (!isClientFirst) await post()
      expect((await read()).spans[0]).toMatchObject({ stepId: 'mine', createdAt: TIME })
    }
  })

  it('rejects a span that belongs to a different trace in the organization', async ({ expect }) => {
    const { org, span, read } = await newRun()
    const attributes = (trace_id: string) => ({ ...AGENT, 'countersign.trace_id': trace_id })
    await exportSpans(org, [span({ spanId: rootId, attributes: attributes('trace_one') })])
    const spans = [span({ spanId: rootId, attributes: attributes('trace_two') }), span({ spanId: childId })]
    const { body } = await exportSpans(org, spans)
    expect(body.partialSuccess).toEqual({
      rejectedSpans: '1',
      errorMessage: '1 rejected: another trace in the organization has a span with this id',
    })
    expect((await read()).spanCount).toBe(1)
    expect((await org.ingest.get('/api/v1/traces/search?name=support')).body.count).toBe(2)
  })

  it('becomes one trace even if it has more spans than fit in one write', async ({ expect }) => {
    const { org, span, uuidOf, read } = await newRun()
    const children = Array.from({ length: 2 * MAX_WRITTEN_RECORDS }, (_, index) =>
      span({
        spanId: (index + 1).toString(16).padStart(16, '0'),
        parentSpanId: 'f'.repeat(16),
        start: index,
        end: index,
      }),
    )
    const root = span({ spanId: 'f'.repeat(16), name: 'invoke_agent support', attributes: AGENT })
    const response = await exportSpans(org, [...children, root])
    expect(response.body).toEqual({})
    const { spans, ...trace } = await read()
    expect(trace).toMatchObject({ status: 'completed', spanCount: children.length + 1 })
    expect(spans[0]).toMatchObject({ id: await uuidOf('f'.repeat(16)), parentSpanId: null })
    expect(new Set(spans.map(({ id }: { id: string }) => id)).size).toBe(children.length + 1)
  })

  it('may contain many traces, and keeps projects separate', async ({ expect }) => {
    const { org, traceId, span } = await newRun()
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const other = org.clientOf(await org.keyFor({ projectSlug: 'other' }))
    await exportSpans(org, [span({ spanId: rootId, name: 'mine' }), anExportedSpan(), anExportedSpan()])
    expect((await other.post('/v1/traces', anExport([span({ spanId: rootId, name: 'theirs' })]))).status).toBe(200)
    expect((await org.read.get('/api/traces?projectSlug=support')).body.traces).toHaveLength(3)
    expect((await org.read.get('/api/traces?projectSlug=other')).body.traces).toMatchObject([
      { traceId: `trace_${traceId}`, name: 'theirs' },
    ])
  })
})

describe('a trace whose root never arrives', () => {
  it.for([
    ['after ten minutes', undefined, ROOT_WAIT_MS],
    ['after one minute if a parent is in another process', 0x300, REMOTE_ROOT_WAIT_MS],
  ] as const)('is completed %s, and corrected by a late root', async ([, flags, deadline], { expect }) => {
    const { org, span, read } = await newRun()
    await exportSpans(org, [span({ spanId: childId, parentSpanId: rootId, flags })])
    await sweep(env, Date.now() + deadline - 5000)
    expect(await read()).toMatchObject({ status: 'running', metadata: {} })
    await sweep(env, Date.now() + deadline + 5000)
    expect(await read()).toMatchObject({ status: 'completed', metadata: { otel_incomplete: true } })
    expect((await org.ingest.get('/api/v1/traces/search?otel_incomplete=true')).body.count).toBe(1)
    await exportSpans(org, [span({ spanId: rootId, name: 'late root' })])
    const trace = await read()
    expect(trace).toMatchObject({ status: 'completed', spanCount: 2 })
    expect(trace.metadata).not.toHaveProperty('otel_incomplete')
    expect((await org.ingest.get('/api/v1/traces/search?otel_incomplete=true')).body.count).toBe(0)
  })

  it('has a derived root for data without a span until the real root arrives', async ({ expect }) => {
    const { org, trace_id, span, uuidOf, read } = await newRun()
    await exportSpans(org, [span({ spanId: childId, parentSpanId: rootId })])
    expect((await read()).spans).toHaveLength(1)
    await org.ingest.post('/api/v1/observations', { trace_id, type: 'output', data: 'whole', timestamp: TIME })
    const derived = await rootSpanUuid(org.project.id, trace_id)
    expect(await read()).toMatchObject({
      spanCount: 2,
      spans: [{ id: derived, parentSpanId: null, output: 'whole' }, { id: await uuidOf(childId) }],
    })
    const queue = async () =>
      (await org.owner.get('/api/review-queue?projectSlug=support')).body.spans.map(({ id }: { id: string }) => id)
    expect(await queue()).toEqual([derived])
    await exportSpans(org, [span({ spanId: rootId, name: 'root', attributes: AGENT })])
    expect((await read()).spans).toMatchObject([
      { id: await uuidOf(rootId), output: 'whole' },
      { id: await uuidOf(childId) },
    ])
    expect((await read()).spans).toHaveLength(2)
    expect(await queue()).toEqual([await uuidOf(rootId)])
  })

  it('gives a derived root the trace’s name and time', async ({ expect }) => {
    const { org, trace_id, span, read } = await newRun()
    await exportSpans(org, [span({ spanId: childId, parentSpanId: rootId, name: 'later', start: 50 })])
    await org.ingest.post('/api/v1/observations', { trace_id, type: 'output', data: 'whole', timestamp: TIME })
    await exportSpans(org, [span({ parentSpanId: rootId, name: 'earlier', start: 1 })])
    expect((await read()).spans[0]).toMatchObject({ stepId: 'earlier', createdAt: timeAfter(1), output: 'whole' })
  })

  it('accepts a client’s span as its root', async ({ expect }) => {
    const { org, trace_id, span, read } = await newRun()
    await exportSpans(org, [span({ spanId: childId, parentSpanId: rootId, name: 'child' })])
    const span_id = await rootSpanUuid(org.project.id, trace_id)
    const body = { trace_id, span_id, step_id: 'mine', timestamp: timeAfter(9), output: 'mine' }
    for (let time = 0; time < 2; time++) {
      await org.ingest.post('/api/v1/spans', body)
      expect((await read()).spans[0]).toMatchObject({ id: span_id, stepId: 'child', createdAt: TIME, output: 'mine' })
    }
  })

  it('keeps a derived root with a reviewer’s comment', async ({ expect }) => {
    const { org, trace_id, span, read } = await newRun()
    await exportSpans(org, [span({ spanId: childId, parentSpanId: rootId })])
    await org.ingest.post('/api/v1/feedback', { trace_id, rating: 'negative' })
    const derived = await rootSpanUuid(org.project.id, trace_id)
    await org.owner.post(`/api/spans/${derived}/feedback`, { content: 'Why?' })
    await exportSpans(org, [span({ spanId: rootId })])
    expect((await read()).spans.map(({ id }: { id: string }) => id)).toContain(derived)
  })

  it('accepts feedback without a span, and keeps a reviewed root', async ({ expect }) => {
    const { org, trace_id, span, uuidOf, read } = await newRun()
    await exportSpans(org, [span({ spanId: childId, parentSpanId: rootId })])
    await org.ingest.post('/api/v1/feedback', { trace_id, rating: 'negative', comment: 'Wrong' })
    await org.ingest.post('/api/v1/observations', { trace_id, type: 'output', data: 'whole', timestamp: TIME })
    const derived = await rootSpanUuid(org.project.id, trace_id)
    expect((await read()).feedback).toMatchObject([{ spanId: derived }])
    await org.owner.put(`/api/spans/${derived}/review`, { decision: 'accept' })
    await exportSpans(org, [span({ spanId: rootId })])
    const trace = await read()
    expect(trace.feedback).toMatchObject([{ spanId: await uuidOf(rootId) }])
    expect(trace.spans.map(({ id }: { id: string }) => id).sort()).toEqual(
      [derived, await uuidOf(rootId), await uuidOf(childId)].sort(),
    )
  })
})

describe('a trace that a client also posts', () => {
  it('has the client’s fields, and the spans from telemetry under its root, in either order', async ({ expect }) => {
    const reads = []
    for (const isPostedFirst of [true, false]) {
      const { org, trace_id, span, uuidOf, read } = await newRun()
      const post = () =>
        org.ingest.post(
          '/api/v1/traces',
          aTrace({ trace_id, name: 'posted', timestamp: timeAfter(-1000), metadata: { group_id: 'mine' } }),
        )
      const spans = [
        span({ spanId: rootId, attributes: { ...AGENT, 'session.id': 'theirs', 'user.id': 'u-1' } }),
        span({ spanId: childId, parentSpanId: rootId, start: 1 }),
      ]
      if (isPostedFirst) await post()
      await exportSpans(org, spans)
      if (!isPostedFirst) await post()
      const derived = await rootSpanUuid(org.project.id, trace_id)
      const trace = await read()
      expect(trace).toMatchObject({
        name: 'posted',
        status: 'running',
        createdAt: timeAfter(-1000),
        durationMs: null,
        metadata: { group_id: 'mine', user_id: 'u-1' },
        spanCount: 3,
      })
      expect(trace.spans).toMatchObject([
        { id: derived, stepId: 'posted', parentSpanId: null },
        { id: await uuidOf(rootId), parentSpanId: derived },
        { id: await uuidOf(childId), parentSpanId: await uuidOf(rootId) },
      ])
      expect((await org.ingest.get('/api/v1/traces/search?group_id=mine')).body.count).toBe(1)
      expect((await org.ingest.get('/api/v1/traces/search?group_id=theirs')).body.count).toBe(0)
      expect((await org.read.get('/api/traces?projectSlug=support&name=posted')).body.traces).toHaveLength(1)
      await org.ingest.post(
        '/api/v1/traces',
        aTrace({
          trace_id,
          name: 'posted',
          timestamp: timeAfter(-1000),
          metadata: {},
          status: 'completed',
          duration_ms: 12,
        }),
      )
      expect(await read()).toMatchObject({ status: 'completed', durationMs: 12 })
      reads.push(withoutTimes(trace))
    }
  })

  it('gets a derived root if no root has arrived', async ({ expect }) => {
    const { org, trace_id, span, read } = await newRun()
    await exportSpans(org, [span({ spanId: childId, parentSpanId: rootId })])
    await org.ingest.post('/api/v1/traces', aTrace({ trace_id, name: 'posted', timestamp: timeAfter(-1000) }))
    expect(await read()).toMatchObject({
      spanCount: 2,
      spans: [
        {
          id: await rootSpanUuid(org.project.id, trace_id),
          stepId: 'posted',
          parentSpanId: null,
          createdAt: timeAfter(-1000),
        },
        { stepId: 'chat' },
      ],
    })
  })

  it('accepts a call whose metadata does not fit, but drops that metadata, in either order', async ({ expect }) => {
    const large = 'x'.repeat(40_000)
    const theirs = 'langfuse.trace.metadata.theirs'
    const both = async (isPostedFirst: boolean) => {
      const { org, trace_id, span, read } = await newRun()
      const exported = () => exportSpans(org, [span({ spanId: rootId, attributes: { ...AGENT, [theirs]: large } })])
      const call = aTrace({ trace_id, status: 'completed', duration_ms: 7, metadata: { mine: large, id: 1 } })
      const posted = () => org.ingest.post('/api/v1/traces', call)
      const responses = isPostedFirst ? [await posted(), await exported()] : [await exported(), await posted()]
      return { statuses: responses.map(({ status }) => status), responses, trace: await read() }
    }
    const [first, last] = [await both(true), await both(false)]
    for (const { statuses, trace } of [first, last]) {
      expect(statuses.toSorted()).toEqual([200, 202])
      expect(trace).toMatchObject({ status: 'completed', durationMs: 7, name: aTrace().name })
    }
    expect(Object.keys(first.trace.metadata)).toEqual(['mine', 'id', 'service_name'])
    expect(first.responses[1]?.body.partialSuccess.errorMessage).toContain('left out "theirs"')
    expect(Object.keys(last.trace.metadata).toSorted()).toEqual(['id', 'service_name', 'theirs'])
    expect(last.responses[1]?.body.warnings).toEqual([expect.stringContaining('left out "mine"')])
  })

  it('stores its own output only on its root, and queues that output for review', async ({ expect }) => {
    const { org, trace_id, span, uuidOf, read } = await newRun()
    await exportSpans(org, [span({ spanId: rootId })])
    await org.ingest.post('/api/v1/observations', { trace_id, type: 'output', data: 'whole', timestamp: TIME })
    await org.owner.put(`/api/spans/${await uuidOf(rootId)}/review`, { decision: 'accept' })
    await org.ingest.post('/api/v1/traces', aTrace({ trace_id }))
    const derived = await rootSpanUuid(org.project.id, trace_id)
    // The accepted output now belongs to the derived root, so the span that had it has nothing to review.
    const trace = await read()
    expect(trace).toMatchObject({ reviewState: 'unreviewed', staleCount: 0 })
    expect(trace.spans.map(({ review }: { review: { stale: boolean } }) => review.stale)).toEqual([false, true])
    const queue = (await org.owner.get('/api/review-queue?projectSlug=support')).body
    expect(queue.spans.map(({ id }: { id: string }) => id)).toEqual([derived])
  })

  it('keeps the fields that a client sent for a span, and fills in the others', async ({ expect }) => {
    const { org, trace_id, span, uuidOf, read } = await newRun()
    await org.ingest.post('/api/v1/traces', aTrace({ trace_id }))
    const posted = { trace_id, span_id: await uuidOf(childId), step_id: 'mine', output: 'mine', timestamp: TIME }
    await org.ingest.post('/api/v1/spans', posted)
    await exportSpans(org, [
      span({
        spanId: childId,
        parentSpanId: rootId,
        attributes: { 'gen_ai.operation.name': 'chat', 'input.value': 'theirs', 'output.value': 'theirs' },
      }),
    ])
    expect((await read()).spans[1]).toMatchObject({ stepId: 'mine', input: 'theirs', output: 'mine', durationMs: 100 })
    await org.ingest.post('/api/v1/spans', { ...posted, input: 'mine' })
    expect((await read()).spans[1]).toMatchObject({ stepId: 'mine', input: 'mine', output: 'mine' })
  })
})

describe('the prompt version of a model call', () => {
  const chat = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4.1-mini' }

  it.for([
    ['its id', ({ first }: Versions) => ({ 'countersign.prompt_version_id': first }), 'first', 'chat'],
    [
      "the prompt's name and version number",
      () => ({ 'gen_ai.prompt.name': 'answer', 'gen_ai.prompt.version': 1 }),
      'first',
      'answer',
    ],
    ["the prompt's name", () => ({ 'gen_ai.prompt.name': 'answer' }), 'second', 'answer'],
    ['its step', () => ({ 'countersign.step_id': 'answer' }), 'second', 'answer'],
    [
      'a name with an unused version number',
      () => ({ 'gen_ai.prompt.name': 'answer', 'gen_ai.prompt.version': 9 }),
      'second',
      'answer',
    ],
    ['a name without a prompt', () => ({ 'gen_ai.prompt.name': 'other' }), null, 'chat'],
    ['an id without a version', () => ({ 'countersign.prompt_version_id': crypto.randomUUID() }), null, 'chat'],
  ] as const)('comes from %s', async ([, attributes, expected, stepId], { expect }) => {
    const { org, span, read } = await newRun()
    const prompt = (await org.owner.post('/api/prompts', { projectSlug: 'support', stepId: 'answer', content: 'One' }))
      .body
    const path = `/api/prompts/${prompt.id}`
    await org.owner.post(`${path}/versions`, { content: 'Two', activate: true })
    const [first, second] = (await org.read.get(path)).body.versions.map(({ id }: { id: string }) => id)
    const versions = { first, second }
    // The call starts after both versions were created, while the second is active.
    const start = Date.now() + 1000 - Date.parse(TIME)
    await exportSpans(org, [span({ start, spanId: rootId, attributes: { ...chat, ...attributes(versions) } })])
    expect((await read()).spans).toMatchObject([{ stepId, promptVersionId: expected && versions[expected] }])
  })

  it('is found in the same number of row reads, no matter how many versions there are', async ({ expect }) => {
    const { org, span } = await newRun()
    const prompt = (await org.owner.post('/api/prompts', { projectSlug: 'support', stepId: 'answer', content: 'One' }))
      .body
    const attributes = { ...chat, 'gen_ai.prompt.name': 'answer', 'gen_ai.prompt.version': 2 }
    const rowsRead = () =>
      rowsReadBy(async bindings => {
        const spans = Array.from({ length: 50 }, () => span({ attributes }))
        await exportSpans({ ...org, ingest: org.bearer(bindings) }, spans)
      })
    const add = (count: number) =>
      stored
        .prepare(
          `with recursive nth(n) as (select 1 union all select n + 1 from nth where n < ?)
        insert into text_versions (id, text_key, content, is_active, created_at, number)
        select 'v' || lower(hex(randomblob(8))), t.key, 'x', 0, 0, (select max(number) from text_versions v where v.text_key = t.key) + n
        from nth cross join versioned_texts t where t.id = ?`,
        )
        .bind(count, prompt.id)
        .run()
    await add(1)
    await rowsRead()
    const few = await rowsRead()
    await add(1000)
    expect(await rowsRead()).toBeLessThan(few + 100)
  })

  it('is missing if no version was active when the call started, or if the step is not a call', async ({ expect }) => {
    const { org, span, read } = await newRun()
    await org.owner.post('/api/prompts', { projectSlug: 'support', stepId: 'answer', content: 'One' })
    const attributes = { 'countersign.step_id': 'answer' }
    await exportSpans(org, [span({ spanId: rootId, attributes: { ...chat, ...attributes } })])
    const start = Date.now() + 1000 - Date.parse(TIME)
    await exportSpans(org, [span({ start, attributes: { 'gen_ai.operation.name': 'execute_tool', ...attributes } })])
    expect((await read()).spans).toMatchObject([{ promptVersionId: null }, { promptVersionId: null }])
  })
})

interface Versions {
  first: string
  second: string
}

describe('a person’s annotation on a span', () => {
  it('becomes one feedback record, even if sent repeatedly', async ({ expect }) => {
    const { org, span, uuidOf, read } = await newRun()
    const annotation = (field: string) => `annotations.0.annotation.${field}`
    const attributes = {
      'openinference.span.kind': 'LLM',
      [annotation('name')]: 'correctness',
      [annotation('annotator_kind')]: 'HUMAN',
      [annotation('label')]: 'incorrect',
      [annotation('explanation')]: 'Not 30 days',
      [annotation('identifier')]: 'ada',
    }
    for (const _ of [1, 2]) await exportSpans(org, [span({ spanId: rootId, attributes })])
    expect((await read()).feedback).toMatchObject([
      { spanId: await uuidOf(rootId), rating: 'negative', content: 'Not 30 days', labeller: { name: 'ada' } },
    ])
  })
})

describe('concurrent exports', () => {
  it('keep all data in the same trace', async ({ expect }) => {
    const { org, span, uuidOf, read } = await newRun()
    const spans = Array.from({ length: 20 }, (_, index) =>
      span({
        spanId: (0xaa + index).toString(16).padStart(16, '0'),
        ...(index > 0 && { parentSpanId: rootId }),
        start: index,
        end: 200 + index,
        attributes: { ...AGENT, [`langfuse.trace.metadata.field-${index}`]: `value-${index}` },
      }),
    )
    await Promise.all(spans.map(each => exportSpans(org, [each])))
    const trace = await read()
    expect(trace).toMatchObject({ status: 'completed', createdAt: TIME, durationMs: 219, spanCount: 20 })
    expect(trace.spans[0].id).toBe(await uuidOf(rootId))
    for (let index = 0; index < 20; index++) expect(trace.metadata[`field-${index}`]).toBe(`value-${index}`)
    expect((await org.ingest.get('/api/v1/traces/search?field-19=value-19')).body.count).toBe(1)
  })
})

describe('a deleted telemetry trace', () => {
  it('is deleted with everything in it', async ({ expect }) => {
    const { org, id, span, read } = await newRun()
    const large = 'x'.repeat(2 * INLINE_BYTES)
    await exportSpans(org, [
      span({ spanId: rootId, attributes: { ...AGENT, 'output.value': large } }),
      span({ parentSpanId: rootId }),
    ])
    const row = await stored.prepare('select key from traces where id = ?').bind(id).first<{ key: number }>()
    await org.owner.delete(`/api/traces/${id}`)
    await sweep({ ...env, JOBS: undefined as never }, Date.now() + RESEND_AFTER_MS + 1)
    expect(await stored.prepare('select count(*) as n from spans where trace_key = ?').bind(row?.key).first('n')).toBe(
      0,
    )
    expect((await env.PAYLOADS.list({ prefix: `${org.id}/` })).objects).toEqual([])
    await exportSpans(org, [span({ spanId: rootId })])
    expect((await read()).spanCount).toBe(1)
  })
})

describe('attribution', () => {
  it('works for a trace whose root never arrives', async ({ expect }) => {
    const { org, trace_id, span, uuidOf } = await newRun()
    const attributes = { 'gen_ai.operation.name': 'chat', 'input.value': 'How long?', 'output.value': '{"days":30}' }
    await exportSpans(org, [span({ spanId: childId, parentSpanId: rootId, attributes })])
    const span_id = await uuidOf(childId)
    await org.ingest.post('/api/v1/feedback', { trace_id, span_id, rating: 'negative', correction: { days: 60 } })
    const response = await org.ingest.post(`/api/v1/traces/${trace_id}/attribute`)
    expect(response).toMatchObject({ status: 200, body: { trace_id, engine: 'rules' } })
  })
})
