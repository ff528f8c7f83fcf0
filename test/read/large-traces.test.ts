import { describe, it, vi } from 'vitest'
import type { Env } from '../../src/env.ts'
import {
  MAX_BRIEF_METADATA_BYTES,
  MAX_DETAIL_ANSWER_BYTES,
  MAX_DETAIL_BYTES,
  MAX_DETAIL_FEEDBACK,
  MAX_DETAIL_SPANS,
  MAX_WHOLE_OBSERVATIONS,
  MAX_WHOLE_SPANS,
  PREVIEW_BYTES,
} from '../../src/limits.ts'
import { event, resultsOf } from '../support/batch.ts'
import { wrapBindings } from '../support/bindings.ts'
import { aFeedback, timeAfter } from '../support/builders.ts'
import { stored } from '../support/database.ts'
import type { Org } from '../support/org.ts'
import { newReviewed } from '../support/reviews.ts'
import { newTrace } from '../support/trace.ts'

// Large test data is slow to store on a busy machine.
vi.setConfig({ testTimeout: 120_000 })

interface Shown {
  id: string
  parentSpanId: string | null
  input: unknown
  output: unknown
  metadata: object
  state: object
  truncated: string[]
}

/** SQL for a JSON string of about `length` characters that starts with the span's number `i`. */
const textOf = (length: number) =>
  `'"' || i || ' ' || substr(hex(zeroblob(${Math.ceil(length / 2)})), 1, ${length}) || '"'`

/** Adds `count` spans to a trace, a millisecond apart. The values are SQL expressions over `i`. */
async function putSpans(id: string, count: number, { input = 'null', output = 'null', metadata = 'null' } = {}) {
  await stored
    .prepare(
      `with recursive n(i) as (select 0 union all select i + 1 from n where i < ?1 - 1)
     insert into spans (id, trace_key, is_root, step_id, timestamp, input, output, metadata)
     select printf('00000000-0000-4000-8000-%012d', i) , key, 0, 'step', timestamp + 1 + i, ${input}, ${output}, ${metadata}
     from traces cross join n where traces.id = ?2 and deleted_at is null`,
    )
    .bind(count, id)
    .run()
}

const numbered = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`
const detail = async (org: Org, id: string, query = '') => (await org.read.get(`/api/traces/${id}${query}`)).body

/** Every page of a trace's spans. */
async function pagesOf(org: Org, id: string, query: string) {
  const pages = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const page = await detail(
      org,
      id,
      `?${cursor === '' ? query : `${query.replace(/spanCursor=.*/, '')}&spanCursor=${cursor}`}`,
    )
    pages.push(page)
    cursor = page.nextSpanCursor
  }
  return pages
}

/** Bindings that measure D1's largest response in characters of JSON. */
function measuredBindings(): { bindings: Env; largest: () => number } {
  const results: unknown[] = []
  const bindings = wrapBindings(async (_, call) => {
    const result = await call()
    results.push(result)
    return result
  })
  return { bindings, largest: () => Math.max(...results.map(result => JSON.stringify(result).length)) }
}

describe('GET /api/traces/{id} for a large trace', () => {
  it(`returns full values for ${MAX_WHOLE_SPANS} spans, and otherwise a preview of each value`, async ({ expect }) => {
    const { org, id, step } = await newTrace()
    const [long, metadata] = ['x'.repeat(PREVIEW_BYTES), { a: 'y'.repeat(MAX_BRIEF_METADATA_BYTES) }]
    await putSpans(id, MAX_WHOLE_SPANS - 2)
    await step({
      input: { list: Array(100).fill('a') },
      output: long,
      metadata,
      timestamp: timeAfter(60_000),
    })
    const whole = await detail(org, id)
    expect(whole.spans).toHaveLength(MAX_WHOLE_SPANS)
    expect(whole.spans.at(-1)).toMatchObject({ input: { list: Array(100).fill('a') }, output: long, truncated: [] })
    await step({
      input: 'short',
      output: 'x'.repeat(PREVIEW_BYTES - 2),
      metadata: { a: 1 },
      timestamp: timeAfter(90_000),
    })
    const brief = await detail(org, id)
    expect(brief).toMatchObject({ spanCount: MAX_WHOLE_SPANS + 1, nextSpanCursor: null })
    expect(brief.spans).toHaveLength(MAX_WHOLE_SPANS + 1)
    expect(brief.spans.slice(-2)).toMatchObject([
      {
        input: JSON.stringify({ list: Array(100).fill('a') }).slice(0, PREVIEW_BYTES),
        output: `"${long.slice(1)}`,
        metadata: {},
        truncated: ['input', 'output', 'metadata'],
      },
      { input: 'short', output: 'x'.repeat(PREVIEW_BYTES - 2), metadata: { a: 1 }, truncated: [] },
    ])
    // The same spans are returned in full as a page.
    const [first, second] = await pagesOf(org, id, `spanLimit=${MAX_WHOLE_SPANS}`)
    expect(first.spans.at(-1)).toMatchObject({ output: long, metadata, truncated: [] })
    expect(second.spans).toHaveLength(1)
  })

  it.for(['', 'payloads=preview&', 'spanLimit=20000&'])(
    `lists ${MAX_DETAIL_SPANS} spans per page and continues on the next page: ?%s`,
    async (query, { expect }) => {
      const { org, id } = await newTrace()
      await putSpans(id, MAX_DETAIL_SPANS + 4)
      const pages = await pagesOf(org, id, query)
      expect(pages.map(({ spans }) => spans.length)).toEqual([MAX_DETAIL_SPANS, 5])
      const ids = pages.flatMap(({ spans }) => spans.map((span: Shown) => span.id))
      expect(ids.slice(1)).toEqual(Array.from({ length: MAX_DETAIL_SPANS + 4 }, (_, index) => numbered(index)))
      expect(pages.map(({ spanCount }) => spanCount)).toEqual(Array(2).fill(MAX_DETAIL_SPANS + 5))
    },
  )

  it('ends a page at 16 MiB, and reads little from D1 at a time', async ({ expect }) => {
    const { org, id } = await newTrace()
    const metadata = `'{"a":' || ${textOf(MAX_BRIEF_METADATA_BYTES - 20)} || '}'`
    await putSpans(id, 13_000, { metadata, input: textOf(300) })
    const { bindings, largest } = measuredBindings()
    const first = (await org.bearer(bindings).get(`/api/traces/${id}`)).body
    const bytes = JSON.stringify(first.spans).length
    expect(first.nextSpanCursor).not.toBeNull()
    expect(bytes).toBeLessThan(MAX_DETAIL_ANSWER_BYTES + 10_000)
    // The largest response is either the plan for all spans or one part of the spans.
    expect(largest()).toBeLessThan(4_000_000)
    const rest = await pagesOf(org, id, `spanCursor=${first.nextSpanCursor}`)
    const ids = [first, ...rest].flatMap(({ spans }) => spans.map((span: Shown) => span.id))
    expect(ids.slice(1)).toEqual(Array.from({ length: 13_000 }, (_, index) => numbered(index)))
  })

  it('shortens metadata and long comments, because they add up', async ({ expect }) => {
    const { org, id, review, spanId } = await newReviewed('Yes')
    await review({ decision: 'accept', comment: 'c'.repeat(1000) })
    await putSpans(id, 200, { metadata: `'{"a":' || ${textOf(60_000)} || '}'` })
    const { bindings, largest } = measuredBindings()
    const { spans } = (await org.bearer(bindings).get(`/api/traces/${id}`)).body
    expect(spans).toHaveLength(201)
    expect(largest()).toBeLessThan(4_000_000)
    expect(spans.filter(({ truncated }: Shown) => truncated.includes('metadata'))).toHaveLength(200)
    const reviewed = spans.find((span: Shown) => span.id === spanId)
    expect(reviewed.review.comment).toBe('c'.repeat(PREVIEW_BYTES))
    expect(reviewed.truncated).toEqual(['review.comment'])
    expect((await org.read.get(`/api/spans/${spanId}`)).body.review.comment).toHaveLength(1000)
  })

  it('returns full values if only replaced values are large', async ({ expect }) => {
    const { org, id, observe } = await newTrace()
    await stored
      .prepare(
        `with recursive n(i) as (select 0 union all select i + 1 from n where i < ?1 - 1)
       insert into observations (
         trace_key, id, span_id, type, state_key, data, data_ref, timestamp, received_at)
       select traces.key, printf('00000000-0000-4000-8000-%012d', i), null, 'output', null, ${textOf(1000)}, null, i, 0
       from n cross join traces where traces.id = ?2 and deleted_at is null`,
      )
      .bind(MAX_WHOLE_OBSERVATIONS + 1, id)
      .run()
    const { bindings, largest } = measuredBindings()
    const [root] = (await org.bearer(bindings).get(`/api/traces/${id}`)).body.spans
    expect(root.output).toBe(`${MAX_WHOLE_OBSERVATIONS} ${'0'.repeat(1000)}`)
    expect(root.truncated).toEqual([])
    expect(largest()).toBeLessThan(100_000)
    await observe({ data: 'the last' })
    expect((await detail(org, id)).spans[0].output).toBe('the last')
  })

  it('marks a span that has more values than are read', async ({ expect }) => {
    const { org, id, observe, spanOf } = await newTrace()
    await observe({ data: 'an output' })
    await stored
      .prepare(
        `with recursive n(i) as (select 0 union all select i + 1 from n where i < 29999)
       insert into observations (
         trace_key, id, span_id, type, state_key, data, data_ref, timestamp, received_at)
       select traces.key, printf('00000000-0000-4000-8000-%012d', i), null, 'state', 'k' || i, '1', null, i, 0
       from n cross join traces where traces.id = ?1 and deleted_at is null`,
      )
      .bind(id)
      .run()
    const [root] = (await detail(org, id)).spans
    for (const span of [root, await spanOf(root.id)]) {
      expect(Object.keys(span.state).length).toBeLessThan(30_000)
      expect(span).toMatchObject({ output: 'an output', truncated: ['state'] })
    }
  })
})

describe('a page of spans', () => {
  it('continues after the previous one (root first, then by time and id), even if spans arrive meanwhile', async ({
    expect,
  }) => {
    const { org, id, step, trace_id } = await newTrace()
    const [late, early] = [numbered(1), numbered(2)]
    await step({ span_id: early, parent_span_id: late, timestamp: timeAfter(1) })
    await step({ span_id: late, timestamp: timeAfter(5) })
    const first = await detail(org, id, '?spanLimit=1')
    expect(first.spans).toMatchObject([{ parentSpanId: null, stepId: 'support-answer' }])
    const second = await detail(org, id, `?spanLimit=1&spanCursor=${first.nextSpanCursor}`)
    // The parent comes after its child, but the child still refers to it.
    expect(second.spans).toMatchObject([{ id: early, parentSpanId: late }])
    await step({ trace_id, span_id: numbered(3), timestamp: timeAfter(0) })
    await step({ trace_id, span_id: numbered(4), timestamp: timeAfter(9) })
    const third = await detail(org, id, `?spanCursor=${second.nextSpanCursor}`)
    expect(third.spans.map((span: Shown) => span.id)).toEqual([late, numbered(4)])
    expect(third).toMatchObject({ nextSpanCursor: null, spanCount: 5 })
  })

  it('returns feedback only on the first page, and no spans on a page of feedback', async ({ expect }) => {
    const { org, id, trace_id, step } = await newTrace()
    for (let index = 0; index < 3; index++) await step({ timestamp: timeAfter(index) })
    const ids = Array.from({ length: 5 }, (_, index) => `f-${index}`)
    await resultsOf(
      org,
      ids.map((feedback_id, index) =>
        event('feedback', aFeedback({ trace_id, feedback_id, comment: feedback_id, timestamp: timeAfter(index) })),
      ),
    )
    const first = await detail(org, id, '?spanLimit=2&feedbackLimit=2')
    expect([first.spans.length, first.feedback.length, first.feedbackCount]).toEqual([2, 2, 5])
    const spans = await detail(org, id, `?spanCursor=${first.nextSpanCursor}`)
    expect(spans).toMatchObject({ spans: { length: 2 }, feedback: [], nextFeedbackCursor: null, nextSpanCursor: null })
    const feedback = await detail(org, id, `?feedbackCursor=${first.nextFeedbackCursor}&feedbackLimit=2`)
    expect(feedback).toMatchObject({ spans: [], nextSpanCursor: null, spanCount: 4 })
    const last = await detail(org, id, `?feedbackCursor=${feedback.nextFeedbackCursor}`)
    expect(last.nextFeedbackCursor).toBeNull()
    const contents = [first, feedback, last].flatMap(page =>
      page.feedback.map(({ content }: { content: string }) => content),
    )
    expect(contents).toEqual(ids)
  })

  it('ends at 8 MiB of values, but contains at least one span', async ({ expect }) => {
    const { org, id, step } = await newTrace()
    const third = 'x'.repeat(MAX_DETAIL_BYTES / 3)
    for (let index = 0; index < 5; index++) {
      const input = index === 3 ? [third] : 'small'
      await step({ input, output: third, timestamp: timeAfter(index + 1) })
    }
    const pages = await pagesOf(org, id, 'spanLimit=100')
    expect(pages.map(({ spans }) => spans.length)).toEqual([3, 1, 1, 1])
    expect(pages.flatMap(({ spans }) => spans).every((span: Shown) => span.truncated.length === 0)).toBe(true)
    // Previews all fit on one page.
    expect((await pagesOf(org, id, 'spanLimit=100&payloads=preview')).length).toBe(1)
  })

  it('needs a cursor from its own trace', async ({ expect }) => {
    const [one, other] = [await newTrace(), await newTrace()]
    await one.step({})
    await one.give({ rating: 'positive' })
    await one.give({ rating: 'positive' })
    const { nextSpanCursor, nextFeedbackCursor } = await detail(one.org, one.id, '?spanLimit=1&feedbackLimit=1')
    for (const [id, query, path] of [
      [other.id, `spanCursor=${nextSpanCursor}`, 'spanCursor'],
      [one.id, `spanCursor=${nextFeedbackCursor}`, 'spanCursor'],
      [one.id, `feedbackCursor=${nextSpanCursor}`, 'feedbackCursor'],
      [one.id, 'spanCursor=', 'spanCursor'],
      [one.id, 'spanLimit=0', 'spanLimit'],
      [one.id, `spanLimit=${MAX_DETAIL_SPANS + 1}`, 'spanLimit'],
      [one.id, `feedbackLimit=${MAX_DETAIL_FEEDBACK + 1}`, 'feedbackLimit'],
    ] as const) {
      const { status, body } = await (id === one.id ? one : other).org.read.get(`/api/traces/${id}?${query}`)
      expect([status, body.details?.[0].path], query).toEqual([400, path])
    }
  })

  it('returns a 404 once its trace is deleted', async ({ expect }) => {
    const { org, id, step } = await newTrace()
    await step({})
    const { nextSpanCursor } = await detail(org, id, '?spanLimit=1')
    await org.owner.delete(`/api/traces/${id}`)
    expect((await org.read.get(`/api/traces/${id}?spanCursor=${nextSpanCursor}`)).status).toBe(404)
  })
})

it(`returns at most ${MAX_DETAIL_FEEDBACK} feedback records per page, and counts all of them`, async ({ expect }) => {
  const { org, id } = await newTrace()
  await stored
    .prepare(
      `with recursive n(i) as (select 0 union all select i + 1 from n where i < 4999)
     insert into feedback (id, trace_key, user_id, comment, timestamp, received_at, created_by)
     select printf('00000000-0000-4000-8000-%012d', i), key, '00000000-0000-4000-8000-000000000000', 'f' || i, i, i, ''
     from traces cross join n where traces.id = ?1 and deleted_at is null`,
    )
    .bind(id)
    .run()
  const first = await detail(org, id)
  expect(first.feedback).toHaveLength(MAX_DETAIL_FEEDBACK)
  expect(first.feedbackCount).toBe(5000)
  const second = await detail(org, id, `?feedbackCursor=${first.nextFeedbackCursor}`)
  expect(second.feedback[0].content).toBe(`f${MAX_DETAIL_FEEDBACK}`)
})
