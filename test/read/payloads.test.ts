import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, it, vi } from 'vitest'
import { answer } from '../../src/app.ts'
import {
  INLINE_BYTES,
  MAX_BATCH_EVENTS,
  MAX_CORRECTION_BYTES,
  MAX_DETAIL_BYTES,
  MAX_DETAIL_FEEDBACK_BYTES,
  MAX_DETAIL_OBJECTS,
  MAX_OBSERVATION_BYTES,
  MAX_SPAN_BYTES,
  PREVIEW_BYTES,
} from '../../src/limits.ts'
import { event, resultsOf } from '../support/batch.ts'
import { countingBindings } from '../support/bindings.ts'
import { anObservation, TIME, timeAfter } from '../support/builders.ts'
import { isSharded, stored } from '../support/database.ts'
import type { Org } from '../support/org.ts'
import { withBookmark } from '../support/replicas.ts'
import { newTrace } from '../support/trace.ts'

// Large test data is slow to store on a busy machine.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 })

const uuid = () => crypto.randomUUID()
const large = (text: string) => `${'x'.repeat(2 * INLINE_BYTES)} ${text}`
const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value)).byteLength

const preview = async (org: Org, id: string) => (await org.read.get(`/api/traces/${id}?payloads=preview`)).body

/** The response to a GET, with its body unread. */
async function respond(org: Org, path: string): Promise<Response> {
  const context = createExecutionContext()
  const headers = { 'x-api-key': org.ownerKey }
  const request = withBookmark(new Request(`https://countersign.test${path}`, { headers }))
  const response = await answer(request, env, context)
  await waitOnExecutionContext(context)
  return response
}

describe('a value is returned unchanged from D1 and from R2:', () => {
  const fields = ['span input', 'span output', 'input', 'output', 'state'] as const
  const sizes = [INLINE_BYTES - 1, INLINE_BYTES, INLINE_BYTES + 1, 3 * INLINE_BYTES]
  const texts = [
    ['ASCII', 'x'],
    ['escapes', '"'],
    ['3-byte UTF-8', '鍵'],
    ['4-byte UTF-8', '😀'],
  ] as const

  it.for(fields.flatMap(field => texts.map(([name, text]) => [field, name, text] as const)))(
    'a %s of %s, around the size limit for D1',
    async ([field, , text], { expect }) => {
      const { org, step, observe, spanOf, read, id } = await newTrace()
      const objects = []
      for (const size of sizes) {
        const value = { '': text.repeat(Math.floor((size - 16) / (bytesOf(text) - 2))), pad: '' }
        value.pad = 'x'.repeat(size - bytesOf(value))
        expect(bytesOf(value)).toBe(size)
        const span_id = uuid()
        const [kind = '', name = ''] = field.split(' ')
        await step({ span_id, input: undefined, output: undefined, ...(kind === 'span' && { [name]: value }) })
        if (kind !== 'span') await observe({ span_id, type: kind, key: 'input', data: value })
        const span = await spanOf(span_id)
        const shown = field === 'state' ? span.state.input : span[name || kind]
        expect(JSON.stringify(shown)).toBe(JSON.stringify(value))
        expect(span.truncated).toEqual([])
        objects.push((await env.PAYLOADS.list({ prefix: `${org.id}/` })).objects.length)
      }
      expect(objects).toEqual([0, 0, 1, 2])
      expect((await read()).spans).toHaveLength(1 + sizes.length)
      expect((await preview(org, id)).spans.map(({ truncated }: { truncated: string[] }) => truncated.length)).toEqual([
        0, 1, 1, 1, 1,
      ])
    },
  )
})

describe('a preview', () => {
  it.for<[name: string, value: unknown, shown: unknown, isCut: boolean]>([
    ['a short string', 'short', 'short', false],
    ['null', null, null, false],
    ['a number', 1.5, 1.5, false],
    ['a string of 256 bytes', 'x'.repeat(256), 'x'.repeat(256), false],
    ['a string of 257 bytes, which is cut', 'x'.repeat(257), 'x'.repeat(256), true],
    ['a string of 256 bytes in 2-byte characters', 'é'.repeat(128), 'é'.repeat(128), false],
    ['a string with 2-byte characters, cut between characters', `x${'é'.repeat(128)}`, `x${'é'.repeat(127)}`, true],
    ['a string with 4-byte characters, cut between characters', `xx${'😀'.repeat(99)}`, `xx${'😀'.repeat(63)}`, true],
    [
      'long strings in a list',
      ['a', 'x'.repeat(300), ['y'.repeat(300)]],
      ['a', 'x'.repeat(256), ['y'.repeat(256)]],
      true,
    ],
    ['a long string in an object', { a: { b: 'x'.repeat(300), c: 1 } }, { a: { b: 'x'.repeat(256), c: 1 } }, true],
    ['a long list of short strings', Array(500).fill('short'), Array(500).fill('short'), false],
    ['a long field name', { ['x'.repeat(300)]: 1 }, { ['x'.repeat(300)]: 1 }, false],
    ['an object in R2, as the start of its JSON', { a: large('') }, `{"a":"${'x'.repeat(250)}`, true],
    ['a string in R2, as the start of its JSON', large(''), `"${'x'.repeat(255)}`, true],
    ['a list in R2, as the start of its JSON', Array(9000).fill(1), `[${'1,'.repeat(127)}1`, true],
    ['4-byte characters in R2, cut between characters', '😀'.repeat(9000), `"${'😀'.repeat(63)}`, true],
    ['half a surrogate pair in R2, escaped', `\ud800${large('')}`, `"\\ud800${'x'.repeat(249)}`, true],
  ])('shows %s', async ([, value, shown, isCut], { expect }) => {
    const { org, id, step, observe } = await newTrace()
    const span_id = uuid()
    await step({ span_id, input: value, output: value })
    await observe({ type: 'output', data: value })
    await observe({ type: 'state', key: 'a.b', data: value })
    const { spans } = await preview(org, id)
    expect(spans).toMatchObject([
      { output: shown, state: { 'a.b': shown }, truncated: isCut ? ['output', 'state.a.b'] : [] },
      { id: span_id, input: shown, output: shown, truncated: isCut ? ['input', 'output'] : [] },
    ])
    const full = (await org.read.get(`/api/traces/${id}?payloads=full`)).body
    expect(full.spans).toMatchObject([
      { output: value, truncated: [] },
      { input: value, output: value, truncated: [] },
    ])
  })

  it('shows several inputs as one value, and marks it as truncated if one of them is', async ({ expect }) => {
    const { org, id, observe } = await newTrace()
    await observe({ type: 'input', data: { a: 'x'.repeat(300) } })
    await observe({ type: 'input', data: { b: 1 }, timestamp: timeAfter(1) })
    const shown = { input: { a: 'x'.repeat(256), b: 1 }, truncated: ['input'] }
    expect((await preview(org, id)).spans).toMatchObject([shown])
    // It's unknown whether a value in R2 is an object, so the preview doesn't merge the inputs.
    await observe({ type: 'input', data: { c: large('') }, timestamp: timeAfter(2) })
    expect((await preview(org, id)).spans[0]).toMatchObject({
      input: `{"c":"${'x'.repeat(250)}`,
      truncated: ['input'],
    })
  })

  it('takes one round trip and no R2 reads, and affects only values', async ({ expect }) => {
    const { org, id, observe, give, read } = await newTrace()
    await observe({ type: 'output', data: large('') })
    await give({ comment: 'x'.repeat(300), correction: { a: 'y'.repeat(300) } })
    const { spans: _, ...full } = await read()
    await org.bearer().get('/api/projects')
    const { bindings, counts } = countingBindings()
    const { spans, ...shown } = (await org.bearer(bindings).get(`/api/traces/${id}?payloads=preview`)).body
    expect(counts).toMatchObject({ d1RoundTrips: 1, r2Calls: 0 })
    expect(shown).toEqual(full)
    expect(spans).toHaveLength(1)
  })

  it('rejects unknown modes', async ({ expect }) => {
    const { org, id } = await newTrace()
    for (const mode of ['none', '', 'FULL']) {
      const { status, body } = await org.read.get(`/api/traces/${id}?payloads=${mode}`)
      expect([status, body.details[0].path]).toEqual([400, 'payloads'])
    }
  })
})

describe('a trace read with full values', () => {
  it(`fetches ${MAX_DETAIL_OBJECTS} values and previews the rest, which GET /api/spans/{id} returns in full`, async ({
    expect,
  }) => {
    const { org, trace_id, id, step, observe, spanOf } = await newTrace()
    const value = (index: number) => `${index} ${'x'.repeat(INLINE_BYTES)}`
    const indexes = Array.from({ length: MAX_BATCH_EVENTS }, (_, index) => index)
    const state = (index: number) => ({
      trace_id,
      type: 'state',
      key: `k${index}`,
      data: value(index),
      timestamp: TIME,
    })
    await resultsOf(
      org,
      indexes.map(index => event('observation', state(index))),
    )
    const span_id = uuid()
    await step({ span_id, input: 'inline', output: undefined })
    await observe({ span_id, ...state(5000) })
    await org.bearer().get('/api/projects')
    const { bindings, counts } = countingBindings()
    const { spans } = (await org.bearer(bindings).get(`/api/traces/${id}`)).body
    // Values from one batch share an object and are fetched in one read.
    expect(counts).toMatchObject({ d1RoundTrips: 1, r2Calls: 1 })
    expect(spans[0].truncated).toEqual([])
    expect(indexes.every(index => spans[0].state[`k${index}`] === value(index))).toBe(true)
    expect(spans[1]).toMatchObject({ input: 'inline', truncated: ['state.k5000'] })
    expect(spans[1].state.k5000).toBe(JSON.stringify(value(5000)).slice(0, PREVIEW_BYTES))
    expect(await spanOf(span_id)).toMatchObject({ state: { k5000: value(5000) }, truncated: [] })
  })

  it('contains 8 MiB of values and previews the rest, which GET /api/spans/{id} returns in full', async ({
    expect,
  }) => {
    const { step, read, spanOf } = await newTrace()
    const value = 'x'.repeat(MAX_DETAIL_BYTES / 2 - 100)
    await step({ span_id: uuid(), input: value, output: value, metadata: { a: 1 } })
    expect((await read()).spans[1]).toMatchObject({ input: value, output: value, truncated: [] })
    const last = uuid()
    await step({ span_id: last, input: 'short', output: value, timestamp: timeAfter(1) })
    const shown = `"${value.slice(0, PREVIEW_BYTES - 1)}`
    expect((await read()).spans).toMatchObject([
      { truncated: [] },
      { input: shown, output: shown, metadata: { a: 1 }, truncated: ['input', 'output'] },
      { input: 'short', output: shown, truncated: ['output'] },
    ])
    expect(await spanOf(last)).toMatchObject({ output: value, truncated: [] })
  })

  it.skipIf(isSharded)('contains 16 MiB of small values and previews the rest', async ({ expect }) => {
    const { id, read, spanOf } = await newTrace()
    const count = 2400
    await stored
      .prepare(
        `with recursive n(i) as (select 0 union all select i + 1 from n where i < ?1 - 1)
       insert into observations (
         trace_key, id, span_id, type, state_key, data, data_ref, timestamp, received_at)
       select (select key from traces where id = ?2 and deleted_at is null), printf('00000000-0000-4000-8000-%012d', i),
         null, 'state', 'k' || i, '"' || i || ' ' || substr(hex(zeroblob(4096)), 1, 8000) || '"', null, 0, 0
       from n`,
      )
      .bind(count, id)
      .run()
    const [root] = (await read()).spans
    expect(Object.keys(root.state)).toHaveLength(count)
    expect(root.truncated).toHaveLength(count)
    const { state, truncated } = await spanOf(root.id)
    const values: [string, string][] = Object.entries(state)
    expect(values).toHaveLength(count)
    const isWhole = ([key, value]: [string, string]) => value === `${key.slice(1)} ${'0'.repeat(8000)}`
    expect(values.filter(value => !isWhole(value)).map(([key]) => `state.${key}`)).toEqual(truncated)
    expect(truncated.length).toBeGreaterThan(count - MAX_SPAN_BYTES / 8000)
    expect(truncated.length).toBeLessThan(count - MAX_SPAN_BYTES / 8010 + 10)
    for (const [key, value] of values.slice(-3))
      expect(value).toBe(`"${key.slice(1)} ${'0'.repeat(300)}`.slice(0, PREVIEW_BYTES))
  })

  it('contains 4 MiB of comments and corrections, and the beginnings of the other comments', async ({ expect }) => {
    const { org, trace_id, read } = await newTrace()
    const correction = { a: 'x'.repeat(MAX_CORRECTION_BYTES - 8) }
    const comment = 'y'.repeat(1000)
    const count = Math.ceil(MAX_DETAIL_FEEDBACK_BYTES / MAX_CORRECTION_BYTES) + 4
    const events = Array.from({ length: count }, (_, index) =>
      event('feedback', { trace_id, feedback_id: `${index}`, correction, comment, timestamp: timeAfter(index) }),
    )
    expect((await resultsOf(org, events)).every(({ status }) => status === 201)).toBe(true)
    const { feedback } = await read()
    expect(feedback).toHaveLength(count)
    const isWhole = (each: { truncated: string[] }) => each.truncated.length === 0
    expect(feedback.filter(isWhole)).toHaveLength(Math.floor(MAX_DETAIL_FEEDBACK_BYTES / (MAX_CORRECTION_BYTES + 1000)))
    for (const each of feedback) {
      const cut = { content: comment.slice(0, PREVIEW_BYTES), correction: null, truncated: ['content', 'correction'] }
      expect(each).toMatchObject(isWhole(each) ? { content: comment, correction } : cut)
    }
  })
})

describe('a large response', () => {
  it('is streamed as the client reads it, and contains the same JSON', async ({ expect }) => {
    const { org, trace_id, id } = await newTrace()
    const values = Array.from({ length: 300 }, (_, index) => `${index} 😀"\\ ${'é'.repeat(INLINE_BYTES)}`)
    await resultsOf(
      org,
      values.map((data, index) =>
        event('observation', anObservation({ trace_id, type: 'state', key: `k${index}`, data })),
      ),
    )
    const { body, headers } = await respond(org, `/api/traces/${id}`)
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    const sizes: number[] = []
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })
    let text = ''
    for await (const chunk of body ?? []) {
      sizes.push(chunk.byteLength)
      text += decoder.decode(chunk, { stream: true })
    }
    expect(Object.values(JSON.parse(text).spans[0].state)).toEqual(values)
    expect(Math.max(...sizes)).toBeLessThan(256 * 1024)
    expect(sizes.length).toBeGreaterThan(10)
  })

  it('can be canceled halfway', async ({ expect }) => {
    const { org, id, step } = await newTrace()
    await step({ input: 'x'.repeat(MAX_OBSERVATION_BYTES - 2), output: 'y' })
    const reader = (await respond(org, `/api/traces/${id}`)).body?.getReader()
    expect((await reader?.read())?.done).toBe(false)
    await reader?.cancel()
    expect((await reader?.read())?.done).toBe(true)
  })
})
