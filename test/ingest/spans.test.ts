import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import { rootSpanUuid } from '../../src/domain/ids.ts'
import {
  INLINE_BYTES,
  MAX_JSON_DEPTH,
  MAX_METADATA_BYTES,
  MAX_NAME_LENGTH,
  MAX_OBSERVATION_BYTES,
} from '../../src/limits.ts'
import { countingBindings, failing, wrapBindings } from '../support/bindings.ts'
import { aSpan, aTrace, TIME, timeAfter } from '../support/builders.ts'
import { aTraceBeside, isSharded, stored, tracesTogether } from '../support/database.ts'
import { newOrg, type Org } from '../support/org.ts'
import { newTrace } from '../support/trace.ts'

const SPAN_ID = '0a1b2c3d-0000-4000-8000-00000000000a'
const PARENT_ID = '0a1b2c3d-0000-4000-8000-00000000000b'
const LOST = 'D1_ERROR: Network connection lost.'
const OVERLOADED = 'D1_ERROR: D1 DB is overloaded. Requests queued for too long.'
const large = (text: string) => `${'x'.repeat(2 * INLINE_BYTES)} ${text}`

const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])

const addProject = async (org: Org, slug: string) => {
  await org.owner.post('/api/projects', { slug, name: slug })
  return org.clientOf(await org.keyFor({ projectSlug: slug }))
}

describe('a span', () => {
  it.for([
    ['no trace_id', { trace_id: undefined }, 'trace_id'],
    ['a trace_id without its prefix', { trace_id: 'abc' }, 'trace_id'],
    ['no span_id', { span_id: undefined }, 'span_id'],
    ['a span_id that is not a UUID', { span_id: 'one' }, 'span_id'],
    ['a parent that is not a UUID', { parent_span_id: 'one' }, 'parent_span_id'],
    ['itself as its parent', { span_id: SPAN_ID, parent_span_id: SPAN_ID }, 'parent_span_id'],
    [
      'itself as its parent, in upper case',
      { span_id: SPAN_ID, parent_span_id: SPAN_ID.toUpperCase() },
      'parent_span_id',
    ],
    ['no step_id', { step_id: undefined }, 'step_id'],
    ['an empty step_id', { step_id: '' }, 'step_id'],
    ['a step_id that is not a string', { step_id: 5 }, 'step_id'],
    ['a step_id that is too long', { step_id: 'x'.repeat(MAX_NAME_LENGTH + 1) }, 'step_id'],
    ['a step_id with half a surrogate pair', { step_id: 'a\ud800' }, 'step_id'],
    ['an input that nests past the limit', { input: nested(MAX_JSON_DEPTH + 1) }, 'input'],
    ['an output that nests past the limit', { output: nested(MAX_JSON_DEPTH + 1) }, 'output'],
    ['metadata that is a list', { metadata: [] }, 'metadata'],
    ['metadata that is too large', { metadata: { a: 'x'.repeat(MAX_METADATA_BYTES - 7) } }, 'metadata'],
    ['a prompt_version_id that is not a UUID', { prompt_version_id: 'v1' }, 'prompt_version_id'],
    ['no timestamp', { timestamp: undefined }, 'timestamp'],
    ['a time without milliseconds', { timestamp: '2026-11-20T10:00:00Z' }, 'timestamp'],
    ['a negative duration', { duration_ms: -1 }, 'duration_ms'],
    ['a duration that is not an integer', { duration_ms: 0.5 }, 'duration_ms'],
    ['a duration past exact integers', { duration_ms: 2 ** 53 }, 'duration_ms'],
    ['an unknown status', { status: 'failed' }, 'status'],
  ] as const)('gets a 400 for %s, and is not stored', async ([, fields, path], { expect }) => {
    const { step, read } = await newTrace()
    const response = await step(fields)
    expect(response.status).toBe(400)
    expect(response.body.details[0].path).toBe(path)
    expect((await read()).spans).toHaveLength(1)
  })

  it.for(['input', 'output'])('400s with the path of a number in its %s that overflows', async (field, { expect }) => {
    const { org, trace_id } = await newTrace()
    const body = JSON.stringify(aSpan({ trace_id, [field]: ['NUMBER'] })).replace('"NUMBER"', '-1e400')
    const response = await org.ingest.post('/api/v1/spans', body)
    expect(response.body.details).toEqual([{ path: `${field}.0`, message: 'is a number out of range' }])
  })

  it.for([
    ['the longest step id', { step_id: 'x'.repeat(MAX_NAME_LENGTH) }],
    ['the longest step id in 4-byte characters', { step_id: '😀'.repeat(MAX_NAME_LENGTH) }],
    ['a NUL in its step id', { step_id: 'a\u0000b' }],
    ['a step id that looks like a number', { step_id: '1e3' }],
    ['a step id with quotes and backslashes', { step_id: `'"\\"';--` }],
    ['the largest metadata', { metadata: { a: 'x'.repeat(MAX_METADATA_BYTES - 8) } }],
    ['metadata with NULs, which JSON escapes', { metadata: { a: '\u0000'.repeat(10_000) } }],
    ['metadata with half a surrogate pair in a key', { metadata: { '\ud800': '\udc00' } }],
    ['metadata with keys in any script', { metadata: { 'ключ.鍵': { '👩‍👩‍👧': [1, null] } } }],
    ['an output with half a surrogate pair', { output: { '\ud83d': '\ude00' } }],
    ['a large output with half a surrogate pair', { output: large('\ud83d') }],
    ['an input with a NUL', { input: 'a\u0000b' }],
    ['a large input with 4-byte characters and a NUL', { input: `\u0000${'😀'.repeat(INLINE_BYTES)}` }],
    ['the largest and the smallest number', { output: [Number.MAX_VALUE, Number.MIN_VALUE, Number.MAX_SAFE_INTEGER] }],
    ['falsy values', { input: 0, output: false }],
    ['empty values', { input: {}, output: '' }],
    ['a long duration', { duration_ms: Number.MAX_SAFE_INTEGER }],
    ['a time before 1970', { timestamp: '1969-12-31T23:59:59.999Z' }],
    ['the last moment', { timestamp: '9999-12-31T23:59:59.999Z' }],
  ] as const)('may have %s, and is read back as sent', async ([, fields], { expect }) => {
    const { step, spanOf } = await newTrace()
    const body = { step_id: 'a', input: null, output: null, metadata: {}, timestamp: TIME, duration_ms: 0, ...fields }
    expect((await step({ span_id: SPAN_ID, ...body })).status).toBe(202)
    expect(await spanOf(SPAN_ID)).toMatchObject({
      stepId: body.step_id,
      input: body.input,
      output: body.output,
      metadata: body.metadata,
      createdAt: body.timestamp,
      durationMs: body.duration_ms,
    })
  })

  it('keeps fields with the names of built-in properties', async ({ expect }) => {
    const { org, trace_id } = await newTrace()
    const value = '{"__proto__":{"polluted":true},"constructor":1,"toString":"x"}'
    const body = JSON.stringify(aSpan({ trace_id, span_id: SPAN_ID, input: 'V', output: 'V', metadata: { v: 1 } }))
    await org.ingest.post('/api/v1/spans', body.replaceAll('"V"', value).replace('{"v":1}', value))
    const span = (await org.read.get(`/api/spans/${SPAN_ID}`)).body
    for (const field of ['input', 'output', 'metadata']) expect(JSON.stringify(span[field])).toBe(value)
  })

  it('returns its id in lower case, and can be read by any spelling of it', async ({ expect }) => {
    const { org, step, trace_id, spanOf } = await newTrace()
    const ids = { span_id: SPAN_ID.toUpperCase(), parent_span_id: PARENT_ID.toUpperCase() }
    expect(await step(ids)).toMatchObject({ status: 202, body: { status: 'accepted', span_id: SPAN_ID } })
    await step({ span_id: SPAN_ID, status: 'error' })
    await org.ingest.post('/api/v1/observations', {
      trace_id,
      span_id: SPAN_ID.toUpperCase(),
      type: 'state',
      key: 'a',
      data: 1,
      timestamp: TIME,
    })
    expect(await spanOf(SPAN_ID.toUpperCase())).toMatchObject({
      id: SPAN_ID,
      parentSpanId: PARENT_ID,
      status: 'error',
      state: { a: 1 },
    })
  })

  it.for([
    ['small', { answer: 'Yes' }],
    ['large', large('')],
  ] as const)('404s for a missing trace, with %s values', async ([, output], { expect }) => {
    const org = await newOrg()
    const response = await org.ingest.post('/api/v1/spans', aSpan({ output }))
    expect(response.status).toBe(404)
    expect(response.body.error).toBe('Trace not found')
  })

  it('404s for a trace in another project in the organization', async ({ expect }) => {
    const { org, trace_id, read } = await newTrace()
    const other = await addProject(org, 'other')
    expect((await other.post('/api/v1/spans', aSpan({ trace_id }))).status).toBe(404)
    expect((await read()).spans).toHaveLength(1)
  })

  it('accepts an input and an output of the maximum size together, and rejects one more byte in either', async ({
    expect,
  }) => {
    const { step, spanOf } = await newTrace()
    const value = 'x'.repeat(MAX_OBSERVATION_BYTES - 2)
    expect((await step({ span_id: SPAN_ID, input: value, output: value })).status).toBe(202)
    const span = await spanOf(SPAN_ID)
    expect([span.input === value, span.output === value, span.truncated]).toEqual([true, true, []])
    for (const fields of [{ input: `${value}x` }, { output: `${value}x` }, { output: `${value}x`, step_id: 5 }]) {
      const response = await step({ span_id: SPAN_ID, ...fields })
      expect(response.status).toBe(413)
      expect(response.body.error).toBe('Observation data too large')
    }
  })
})

describe('a span that is sent again', () => {
  it.for([
    [
      'replaces the fields that are sent',
      { step_id: 'b', output: 2, status: 'error' },
      { stepId: 'b', output: 2, status: 'error' },
    ],
    [
      'keeps the fields that are not sent',
      {},
      { input: { a: 1 }, output: { b: 1 }, status: 'ok', durationMs: 5, parentSpanId: PARENT_ID },
    ],
    ['keeps a value if null is sent for it', { input: null, output: null }, { input: { a: 1 }, output: { b: 1 } }],
    ['replaces an entire object', { input: { c: 1 } }, { input: { c: 1 }, output: { b: 1 } }],
    ['replaces all of its metadata', { metadata: { y: { z: 2 } } }, { metadata: { y: { z: 2 } } }],
    ['removes its metadata if an empty object is sent', { metadata: {} }, { metadata: {} }],
    [
      'moves to a different parent',
      { parent_span_id: SPAN_ID.replace(/a$/, 'c') },
      { parentSpanId: SPAN_ID.replace(/a$/, 'c') },
    ],
    ['changes its timestamp', { timestamp: timeAfter(-5) }, { createdAt: timeAfter(-5) }],
    ['may have a duration of 0', { duration_ms: 0 }, { durationMs: 0 }],
    ['replaces a small value with a large one', { output: large('new') }, { output: large('new') }],
  ] as const)('%s', async ([, fields, expected], { expect }) => {
    const { step, spanOf } = await newTrace()
    const first = {
      span_id: SPAN_ID,
      parent_span_id: PARENT_ID,
      step_id: 'a',
      input: { a: 1 },
      output: { b: 1 },
      metadata: { x: 1, y: { w: 1 } },
      status: 'ok',
      duration_ms: 5,
    }
    await step(first)
    expect(
      (await step({ span_id: SPAN_ID, input: undefined, output: undefined, step_id: 'a', ...fields })).status,
    ).toBe(202)
    expect(await spanOf(SPAN_ID)).toMatchObject(expected)
  })

  it('replaces a large value with a small one, and keeps a large one that is not sent again', async ({ expect }) => {
    const { step, spanOf } = await newTrace()
    await step({ span_id: SPAN_ID, input: large('in'), output: large('out') })
    await step({ span_id: SPAN_ID, input: undefined, output: 'small' })
    expect(await spanOf(SPAN_ID)).toMatchObject({ input: large('in'), output: 'small' })
    await step({ span_id: SPAN_ID, input: 'small', output: null })
    expect(await spanOf(SPAN_ID)).toMatchObject({ input: 'small', output: 'small' })
    await step({ span_id: SPAN_ID, input: null, output: large('out') })
    expect(await spanOf(SPAN_ID)).toMatchObject({ input: 'small', output: large('out') })
  })

  it('becomes one span, even if sent repeatedly and in parallel', async ({ expect }) => {
    const { step, read } = await newTrace()
    const fields = { span_id: SPAN_ID, input: 1, output: large('same') }
    const responses = await Promise.all(Array.from({ length: 20 }, () => step(fields)))
    expect(new Set(responses.map(({ status, body }) => `${status} ${body.span_id}`))).toEqual(
      new Set([`202 ${SPAN_ID}`]),
    )
    expect((await read()).spans).toMatchObject([{}, { id: SPAN_ID, input: 1, output: large('same') }])
  })

  it('keeps all fields from parallel calls', async ({ expect }) => {
    const { step, spanOf } = await newTrace()
    const calls = [{ input: 'in' }, { output: 'out' }, { metadata: { a: 1 } }, { status: 'error' }, { duration_ms: 7 }]
    await Promise.all(calls.map(call => step({ span_id: SPAN_ID, input: undefined, output: undefined, ...call })))
    expect(await spanOf(SPAN_ID)).toMatchObject({
      input: 'in',
      output: 'out',
      metadata: { a: 1 },
      status: 'error',
      durationMs: 7,
    })
  })
})

describe('the spans in a trace', () => {
  it('are listed root first, then by time and id, even if they arrived in parallel', async ({ expect }) => {
    const { step, read, id, org } = await newTrace()
    const sent = Array.from({ length: 50 }, (_, index) => ({
      span_id: crypto.randomUUID(),
      // Several spans have the same time.
      timestamp: timeAfter((index * 7) % 10),
    }))
    await Promise.all(sent.map(step))
    const [root, ...others] = (await read()).spans
    const inOrder = sent
      .map(({ span_id, timestamp }) => `${timestamp} ${span_id}`)
      .sort()
      .map(each => each.split(' ')[1])
    expect(others.map((span: { id: string }) => span.id)).toEqual(inOrder)
    expect(root.parentSpanId).toBeNull()
    const [item] = (await org.read.get('/api/traces?projectSlug=support')).body.traces
    expect(item).toMatchObject({ id, spanCount: 51 })
    expect((await read()).spanCount).toBe(51)
  })

  it('appear below their parents, which may arrive later, or below the root if the parents never arrive', async ({
    expect,
  }) => {
    const { step, read, trace_id, org } = await newTrace()
    const [child, parent, orphan, never, free] = Array.from({ length: 5 }, () => crypto.randomUUID())
    await step({ span_id: child, parent_span_id: parent, timestamp: timeAfter(1) })
    await step({ span_id: orphan, parent_span_id: never, timestamp: timeAfter(2) })
    await step({ span_id: free, parent_span_id: null, timestamp: timeAfter(3) })
    const tree = async () =>
      (await read()).spans.map((span: { id: string; parentSpanId: string | null }) => [span.id, span.parentSpanId])
    const root = await rootSpanUuid(org.project.id, trace_id)
    const before = [
      [root, null],
      [child, parent],
      [orphan, never],
      [free, root],
    ]
    expect(await tree()).toEqual(before)
    await step({ span_id: parent, parent_span_id: root, timestamp: timeAfter(4) })
    expect(await tree()).toEqual([...before, [parent, root]])
  })

  it('return to the root if it is set as their parent', async ({ expect }) => {
    const { step, read } = await newTrace()
    const parentOf = async () => (await read()).spans.find(({ id }: { id: string }) => id === SPAN_ID).parentSpanId
    await step({ span_id: SPAN_ID, parent_span_id: PARENT_ID })
    await step({ span_id: SPAN_ID })
    expect(await parentOf()).toBe(PARENT_ID)
    await step({ span_id: SPAN_ID, parent_span_id: null })
    expect(await parentOf()).toBe(PARENT_ID)
    const root = (await read()).spans[0].id
    await step({ span_id: SPAN_ID, parent_span_id: root })
    expect(await parentOf()).toBe(root)
  })

  it('cannot claim the predictable id of another trace’s root before that trace exists', async ({ expect }) => {
    const { org, id: traceId, step } = await newTrace()
    const trace = await aTraceBeside(traceId, org.project, { name: 'the real one' })
    const root = await rootSpanUuid(org.project.id, trace.trace_id)
    await step({ span_id: root, step_id: 'squatter' })
    const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
    expect((await org.read.get(`/api/spans/${root}`)).body).toMatchObject({ stepId: 'the real one', trace: { id } })
    const span = aSpan({ trace_id: trace.trace_id, span_id: root, output: 'given' })
    expect((await org.ingest.post('/api/v1/spans', span)).status).toBe(202)
    expect((await org.read.get(`/api/spans/${root}`)).body.output).toBe('given')
    expect((await step({ span_id: root, step_id: 'squatter' })).status).toBe(409)
  })

  it.for(['/api/v1/spans', '/api/v1/feedback'] as const)(
    'are accepted while another trace that has their id is being deleted: %s',
    async (path, { expect }) => {
      const own = await newTrace()
      const { org } = own
      const other = await aTraceBeside(own.id, org.project)
      const begun = (await org.ingest.post('/api/v1/traces', other)).body
      const body = (trace_id: string) =>
        path === '/api/v1/spans'
          ? aSpan({ trace_id, span_id: SPAN_ID })
          : { trace_id, feedback_id: 'one', comment: 'x' }
      await org.ingest.post(path, body(other.trace_id))
      let calls = 0
      const bindings = wrapBindings(async (binding, call) => {
        if (binding === 'DB' && ++calls === 3) await org.owner.delete(`/api/traces/${begun.id}`)
        return call()
      })
      const caller = org.clientOf(await org.keyFor({}), bindings)
      const { status } = await caller.post(path, body(own.trace_id))
      expect(calls).toBeGreaterThan(2)
      expect(status).toBe(path === '/api/v1/spans' ? 202 : 201)
    },
  )

  it('may form a cycle if the client sends one', async ({ expect }) => {
    const { step, read } = await newTrace()
    await step({ span_id: SPAN_ID, parent_span_id: PARENT_ID })
    await step({ span_id: PARENT_ID, parent_span_id: SPAN_ID })
    expect((await read()).spans).toHaveLength(3)
  })
})

describe('the root span', () => {
  it('accepts values by its computed id, and keeps the fields from its trace', async ({ expect }) => {
    const { org, trace_id, step, read, spanOf } = await newTrace()
    const root = await rootSpanUuid(org.project.id, trace_id)
    const prompt = await org.owner.post('/api/prompts', { projectSlug: 'support', stepId: 'a', content: 'Answer.' })
    const response = await step({
      span_id: root.toUpperCase(),
      parent_span_id: SPAN_ID,
      step_id: 'another',
      timestamp: timeAfter(99),
      input: { a: 1 },
      output: large('out'),
      metadata: { b: 2 },
      prompt_version_id: prompt.body.versionId,
      status: 'error',
      duration_ms: 3,
    })
    expect(response).toMatchObject({ status: 202, body: { span_id: root } })
    const { spans } = await read()
    expect(spans).toHaveLength(1)
    expect(spans[0]).toMatchObject({
      id: root,
      parentSpanId: null,
      stepId: 'support-answer',
      createdAt: TIME,
      input: { a: 1 },
      output: large('out'),
      metadata: { b: 2 },
      promptVersionId: prompt.body.versionId,
      status: 'error',
      durationMs: 3,
    })
    expect(await spanOf(root)).toMatchObject(spans[0])
  })

  it('treats observations that include its id like those without a span id', async ({ expect }) => {
    const { org, trace_id, observe, span } = await newTrace()
    const root = await rootSpanUuid(org.project.id, trace_id)
    await observe({ type: 'input', data: { a: 1 } })
    await observe({ type: 'input', data: { b: 2 }, span_id: root, timestamp: timeAfter(1) })
    expect((await span()).input).toEqual({ a: 1, b: 2 })
  })

  it('cannot belong to two traces', async ({ expect }) => {
    const { org, id, trace_id } = await newTrace()
    const other = await aTraceBeside(id, org.project)
    await org.ingest.post('/api/v1/traces', other)
    const root = await rootSpanUuid(org.project.id, trace_id)
    const response = await org.ingest.post('/api/v1/spans', aSpan({ trace_id: other.trace_id, span_id: root }))
    expect(response.status).toBe(409)
  })
})

describe('a span_id', () => {
  it('gets a 409 on another trace in any project in the organization until its own trace is deleted', async ({
    expect,
  }) => {
    const { org, id, step, spanOf } = await newTrace()
    const span_id = crypto.randomUUID()
    await step({ span_id, output: 'first' })
    const project = (await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })).body
    const other = org.clientOf(await org.keyFor({ projectSlug: 'other' }))
    const traces = [await aTraceBeside(id, org.project), await aTraceBeside(id, project)] as const
    await org.ingest.post('/api/v1/traces', traces[0])
    await other.post('/api/v1/traces', traces[1])
    const sendTo = {
      same: () => org.ingest.post('/api/v1/spans', aSpan({ trace_id: traces[0].trace_id, span_id })),
      other: () => other.post('/api/v1/spans', aSpan({ trace_id: traces[1].trace_id, span_id })),
    }
    for (const response of [await sendTo.same(), await sendTo.other()]) {
      expect(response.status).toBe(409)
      expect(response.body).toMatchObject({ code: 'conflict', details: [{ path: 'span_id' }] })
    }
    expect(await spanOf(span_id)).toMatchObject({ output: 'first', trace: { id } })
    await org.owner.delete(`/api/traces/${id}`)
    expect((await org.read.get(`/api/spans/${span_id}`)).status).toBe(404)
    expect((await sendTo.other()).status).toBe(202)
    expect((await sendTo.same()).status).toBe(409)
    expect(await spanOf(span_id)).toMatchObject({ trace: { traceId: traces[1].trace_id } })
  })

  it('can be reused in a different organization', async ({ expect }) => {
    const [mine, theirs] = [await newTrace(), await newTrace()]
    expect((await mine.step({ span_id: SPAN_ID, output: 'mine' })).status).toBe(202)
    expect((await theirs.step({ span_id: SPAN_ID, output: 'theirs' })).status).toBe(202)
    await mine.observe({ span_id: SPAN_ID, type: 'state', key: 'a', data: 'mine' })
    expect(await mine.spanOf(SPAN_ID)).toMatchObject({ output: 'mine', state: { a: 'mine' }, trace: { id: mine.id } })
    expect(await theirs.spanOf(SPAN_ID)).toMatchObject({ output: 'theirs', state: {}, trace: { id: theirs.id } })
    await mine.org.owner.delete(`/api/traces/${mine.id}`)
    expect(await theirs.spanOf(SPAN_ID)).toMatchObject({ output: 'theirs' })
    expect((await mine.org.read.get(`/api/spans/${SPAN_ID}`)).status).toBe(403)
  })

  it('belongs to only one of the traces that claim it concurrently', async ({ expect }) => {
    const org = await newOrg()
    const span_id = crypto.randomUUID()
    const traces = await tracesTogether(org.project, 10)
    for (const trace of traces) await org.ingest.post('/api/v1/traces', trace)
    const responses = await Promise.all(
      traces.map(({ trace_id }) => org.ingest.post('/api/v1/spans', aSpan({ trace_id, span_id }))),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([202, ...Array.from({ length: 9 }, () => 409)])
    const { results } = await stored.prepare('select 1 from spans where id = ?').bind(span_id).all()
    expect(results).toHaveLength(1)
  })
})

describe('a prompt_version_id', () => {
  it.for(['unknown', 'a knowledge doc’s', 'another project’s', 'another organization’s', 'a prompt’s own id'])(
    '422s and stores nothing if it is %s',
    async (kind, { expect }) => {
      const { org, step, read } = await newTrace()
      await addProject(org, 'other')
      const stranger = await newOrg()
      const prompt = (projectSlug: string) => ({ projectSlug, stepId: 'a', content: 'Answer.' })
      const mine = (await org.owner.post('/api/prompts', prompt('support'))).body
      const doc = { projectSlug: 'support', slug: 'a', title: 'A', content: 'Text' }
      const versionIds: Record<string, string> = {
        unknown: crypto.randomUUID(),
        'a knowledge doc’s': (await org.owner.post('/api/knowledge-docs', doc)).body.versionId,
        'another project’s': (await org.owner.post('/api/prompts', prompt('other'))).body.versionId,
        'another organization’s': (await stranger.owner.post('/api/prompts', prompt('support'))).body.versionId,
        'a prompt’s own id': mine.id,
      }
      await step({ span_id: PARENT_ID, output: 'before', prompt_version_id: mine.versionId })
      const before = await read()
      await scheduler.wait(3)
      for (const span_id of [SPAN_ID, PARENT_ID]) {
        const response = await step({ span_id, output: large('new'), prompt_version_id: versionIds[kind] })
        expect(response.status).toBe(422)
        expect(response.body).toMatchObject({ code: 'unprocessable', details: [{ path: 'prompt_version_id' }] })
      }
      expect(await read()).toEqual(before)
    },
  )

  it('may be any version of any prompt in the project, active or not, and stays if it is not sent again', async ({
    expect,
  }) => {
    const { org, step, spanOf } = await newTrace()
    const prompt = (await org.owner.post('/api/prompts', { projectSlug: 'support', stepId: 'a', content: 'v1' })).body
    await org.owner.post(`/api/prompts/${prompt.id}/versions`, { content: 'v2', activate: true })
    expect((await step({ span_id: SPAN_ID, prompt_version_id: prompt.versionId.toUpperCase() })).status).toBe(202)
    await step({ span_id: SPAN_ID })
    expect((await spanOf(SPAN_ID)).promptVersionId).toBe(prompt.versionId)
  })

  it('remains after its prompt is deleted, and may then be sent again only with the same span', async ({ expect }) => {
    const { org, step, spanOf, span } = await newTrace()
    const text = { projectSlug: 'support', stepId: 'a', content: 'v1' }
    const prompt = (await org.owner.post('/api/prompts', text)).body
    const deletedVersion = { prompt_version_id: prompt.versionId }
    const root = (await span()).id
    for (const span_id of [SPAN_ID, root]) await step({ span_id, ...deletedVersion })
    await step({ span_id: PARENT_ID })
    expect((await org.owner.delete(`/api/prompts/${prompt.id}`)).status).toBe(200)
    const again = (await org.owner.post('/api/prompts', text)).body
    for (const span_id of [SPAN_ID, root]) {
      expect((await step({ span_id, ...deletedVersion, status: 'error' })).status).toBe(202)
      expect(await spanOf(span_id)).toMatchObject({ status: 'error', promptVersionId: prompt.versionId })
    }
    // The version is rejected for a new span, a span without a version, a span with a different version, and a span
    // with the same id in another organization.
    const elsewhere = (await newTrace()).step
    expect((await step({ span_id: SPAN_ID, prompt_version_id: again.versionId })).status).toBe(202)
    for (const response of [
      await step({ span_id: crypto.randomUUID(), ...deletedVersion }),
      await step({ span_id: PARENT_ID, ...deletedVersion }),
      await step({ span_id: SPAN_ID, ...deletedVersion }),
      await elsewhere({ span_id: root, ...deletedVersion }),
    ]) {
      expect(response).toMatchObject({ status: 422, body: { details: [{ path: 'prompt_version_id' }] } })
    }
    expect((await spanOf(SPAN_ID)).promptVersionId).toBe(again.versionId)
    expect((await spanOf(PARENT_ID)).promptVersionId).toBeNull()
  })

  it('does not cause an error if the trace arrives a moment later', async ({ expect }) => {
    const org = await newOrg()
    const prompt = (await org.owner.post('/api/prompts', { projectSlug: 'support', stepId: 'a', content: 'v1' })).body
    for (const [output, status] of [
      ['small', 202],
      // Large values are stored only if the trace already exists.
      [large(''), 404],
    ]) {
      const trace = aTrace()
      await org.bearer().post('/api/v1/spans', aSpan())
      let isFirst = true
      const bindings = wrapBindings(async (binding, call) => {
        const result = await call()
        if (binding === 'DB' && isFirst) {
          isFirst = false
          await org.ingest.post('/api/v1/traces', trace)
        }
        return result
      })
      const span = aSpan({ trace_id: trace.trace_id, output, prompt_version_id: prompt.versionId })
      expect((await org.bearer(bindings).post('/api/v1/spans', span)).status).toBe(status)
      expect((await org.ingest.post('/api/v1/spans', span)).status).toBe(202)
    }
  })
})

describe('large values in a span', () => {
  const objectsOf = async (org: Org) => (await env.PAYLOADS.list({ prefix: `${org.id}/` })).objects.length

  it('share one object', async ({ expect }) => {
    const { org, trace_id, spanOf } = await newTrace()
    const { bindings, counts } = countingBindings()
    const span = aSpan({ trace_id, span_id: SPAN_ID, input: { a: large('😀') }, output: large('out') })
    expect((await org.bearer(bindings).post('/api/v1/spans', span)).status).toBe(202)
    expect(counts.r2Calls).toBe(1)
    expect(await objectsOf(org)).toBe(1)
    expect(await spanOf(SPAN_ID)).toMatchObject({ input: { a: large('😀') }, output: large('out') })
  })

  it('cause a 404 if their trace is deleted during the write to R2, even if it is then re-created', async ({
    expect,
  }) => {
    const { org, trace_id, id, read } = await newTrace()
    let isFirst = true
    const bindings = wrapBindings(async (binding, call) => {
      const result = await call()
      if (binding === 'PAYLOADS' && isFirst) {
        isFirst = false
        await org.owner.delete(`/api/traces/${id}`)
        await org.ingest.post('/api/v1/traces', aTrace({ trace_id }))
      }
      return result
    })
    const span = aSpan({ trace_id, output: large('') })
    expect((await org.bearer(bindings).post('/api/v1/spans', span)).status).toBe(404)
    expect((await read()).spans).toHaveLength(1)
    expect((await org.ingest.post('/api/v1/spans', span)).status).toBe(202)
  })
})

describe('the updatedAt of a trace', () => {
  it.for([
    ['changes with a span', 'span', {}, true],
    ['changes when a span is sent again', 'span', { span_id: SPAN_ID }, true],
    ['does not change with a rejected span', 'span', { prompt_version_id: SPAN_ID }, false],
    [
      'does not change with a rejected update to a span',
      'span',
      { span_id: SPAN_ID, prompt_version_id: SPAN_ID },
      false,
    ],
    ['changes with feedback', 'feedback', { comment: 'a' }, true],
    ['does not change with an output', 'observation', { type: 'output' }, false],
    ['does not change with an output for a span', 'observation', { type: 'output', span_id: SPAN_ID }, false],
    ['does not change with an input', 'observation', { type: 'input' }, false],
  ] as const)('%s', async ([, kind, fields, moves], { expect }) => {
    const { step, give, observe, read, org, id } = await newTrace()
    await step({ span_id: SPAN_ID })
    const { updatedAt } = await read()
    await scheduler.wait(5)
    await { span: step, feedback: give, observation: observe }[kind](fields)
    const now = (await read()).updatedAt
    expect(now > updatedAt).toBe(moves)
    expect((await org.read.get('/api/traces?projectSlug=support')).body.traces).toMatchObject([{ id, updatedAt: now }])
  })

  it('does not change on either trace if one trace’s span is rejected on the other', async ({ expect }) => {
    const { step, read, org, id: own } = await newTrace()
    await step({ span_id: SPAN_ID })
    const other = await aTraceBeside(own, org.project)
    const { id } = (await org.ingest.post('/api/v1/traces', other)).body
    const updatedAt = async () => [(await read()).updatedAt, (await org.read.get(`/api/traces/${id}`)).body.updatedAt]
    const before = await updatedAt()
    await scheduler.wait(5)
    await org.ingest.post('/api/v1/spans', aSpan({ trace_id: other.trace_id, span_id: SPAN_ID }))
    expect(await updatedAt()).toEqual(before)
  })
})

describe('a D1 fault', () => {
  const calls = {
    span: ['/api/v1/spans', { span_id: SPAN_ID, step_id: 'a', output: { a: 1 } }, 202],
    'large span': ['/api/v1/spans', { span_id: SPAN_ID, step_id: 'a', output: { a: large('') } }, 202],
    'refused span': ['/api/v1/spans', { span_id: SPAN_ID, step_id: 'a', prompt_version_id: SPAN_ID }, 422],
    feedback: [
      '/api/v1/feedback',
      { feedback_id: 'one', comment: 'a\u0000b', labeller: { email: 'ada@example.com' } },
      201,
    ],
  } as const
  const cases = (Object.keys(calls) as (keyof typeof calls)[]).flatMap(kind =>
    (['before', 'after'] as const).map(when => [kind, when] as const),
  )

  it.for(cases)(
    'does not affect a %s if it is transient and occurs %s the commit',
    async ([kind, when], { expect }) => {
      const { org, trace_id, read } = await newTrace()
      const [path, fields, status] = calls[kind]
      await org.bearer().post(path, {})
      for (let nth = 1; nth <= 4; nth++) {
        const wanted = kind === 'feedback' && nth > 1 ? 200 : status
        let calls = 0
        const flaky = wrapBindings(async (binding, call) => {
          if (binding !== 'DB' || ++calls !== nth) return call()
          if (when === 'after') await call()
          throw new Error(LOST)
        })
        const response = await org.bearer(flaky).post(path, { trace_id, timestamp: TIME, ...fields })
        expect(response.status).toBe(wanted)
      }
      const { spans, feedback } = await read()
      expect([spans.length - 1, feedback.length]).toEqual([status === 202 ? 1 : 0, kind === 'feedback' ? 1 : 0])
      if (kind === 'feedback') expect(feedback[0].content).toBe('a\u0000b')
    },
  )

  it.for(cases)(
    'causes a 503 for a %s if it starts %s the commit and lasts, and a retry takes effect once',
    async ([kind, when], { expect }) => {
      const { org, trace_id, read } = await newTrace()
      const [path, fields, status] = calls[kind]
      const body = { trace_id, timestamp: TIME, ...fields }
      const down = wrapBindings(failing('DB', OVERLOADED, 9, when))
      const failed = await org.bearer(down).post(path, body)
      expect(failed.status).toBe(503)
      expect(Number(failed.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
      const retried = await org.ingest.post(path, body)
      // The feedback already exists, because it was committed and only the response was lost. With several databases,
      // the lost response was to the write of the labeler, before the feedback was written.
      expect(retried.status).toBe(kind === 'feedback' && when === 'after' && !isSharded ? 200 : status)
      const { spans, feedback } = await read()
      expect([spans.length - 1, feedback.length]).toEqual([status === 202 ? 1 : 0, kind === 'feedback' ? 1 : 0])
    },
  )
})
