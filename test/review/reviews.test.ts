import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import {
  INLINE_BYTES,
  MAX_JUDGED_BYTES,
  MAX_JUDGED_BYTES_AT_ONCE,
  MAX_OBSERVATION_BYTES,
  MAX_PAGE_VALUE_BYTES,
  MAX_REVIEWS,
} from '../../src/limits.ts'
import { countingBindings, wrapBindings } from '../support/bindings.ts'
import { isSharded, stored } from '../support/database.ts'
import { client, newOrg, type Org } from '../support/org.ts'
import { newReviewed, reviewerOf } from '../support/reviews.ts'
import { storedCounts } from '../support/stored.ts'
import { newTrace } from '../support/trace.ts'

const OUTPUT = { answer: 'Yes', sources: [1, 2] }
const large = 'x'.repeat(INLINE_BYTES)

describe('a review', () => {
  it('accepts the output, which becomes the approved output', async ({ expect }) => {
    const { review, read } = await newReviewed(OUTPUT)
    const response = await review({ decision: 'accept', comment: 'Good' })
    expect(response.status).toBe(200)
    expect(response.body).toMatchObject({
      output: OUTPUT,
      approvedOutput: OUTPUT,
      review: { state: 'accepted', stale: false, comment: 'Good', errorType: null },
    })
    expect(response.headers.get('etag')).toBe(response.body.etag)
    const { trace, span } = await read()
    expect(span).toEqual(response.body)
    const { trace: _, ...ofTrace } = response.body
    expect(trace.spans[0]).toEqual(ofTrace)
    expect(trace).toMatchObject({ reviewedCount: 1, reviewState: 'accepted' })
  })

  it('corrects the output with the reviewer’s value', async ({ expect }) => {
    const { review, read } = await newReviewed(OUTPUT)
    const approvedOutput = { answer: 'No' }
    const response = await review({ decision: 'correct', approvedOutput, errorType: 'reasoning_error' })
    expect(response.body).toMatchObject({
      approvedOutput,
      review: { state: 'corrected', errorType: 'reasoning_error' },
    })
    expect((await read()).trace).toMatchObject({ reviewedCount: 1, reviewState: 'corrected' })
  })

  it('records its time and author, which is the key’s user or the key itself', async ({ expect }) => {
    const { org, spanId, review } = await newReviewed(OUTPUT)
    const reviewer = await reviewerOf(org, 'ada@example.com')
    const before = Date.now()
    const byUser = (await review({ decision: 'accept' }, {}, reviewer.client)).body.review
    expect(byUser.by).toBe(reviewer.userId)
    expect(Date.parse(byUser.at)).toBeGreaterThanOrEqual(before)
    const key = await org.owner.post('/api/api-keys', { name: 'No user', scopes: ['review'] })
    const byKey = await client({ 'x-api-key': key.body.key }).put(`/api/spans/${spanId}/review`, { decision: 'accept' })
    expect(byKey.body.review.by).toBe(key.body.id)
  })

  it('can be reset and then given again', async ({ expect }) => {
    const { review, read } = await newReviewed(OUTPUT)
    await review({ decision: 'accept' })
    const reset = await review({ decision: 'reset' })
    expect(reset.body).toMatchObject({ approvedOutput: null, review: { state: 'unreviewed', by: null, at: null } })
    expect((await read()).trace).toMatchObject({ reviewedCount: 0, reviewState: 'unreviewed' })
    await review({ decision: 'correct', approvedOutput: 1 })
    expect((await read()).span).toMatchObject({ approvedOutput: 1, review: { state: 'corrected' } })
  })

  it.for([
    ['the same value', { answer: 'Yes', sources: [1, 2] }],
    ['a different key order', { sources: [1, 2], answer: 'Yes' }],
    ['different whitespace, number formats, and escapes', '{ "sources": [1.0, 2e0], "answer": "\\u0059es" }'],
  ] as const)('is an acceptance if the correction equals the output: %s', async ([, sent], { expect }) => {
    const { org, spanId, history } = await newReviewed(OUTPUT)
    const json = typeof sent === 'string' ? sent : JSON.stringify(sent)
    const response = await org.owner.put(
      `/api/spans/${spanId}/review`,
      `{"decision":"correct","approvedOutput":${json}}`,
    )
    expect(response.body).toMatchObject({ approvedOutput: OUTPUT, review: { state: 'accepted' } })
    expect(await history()).toMatchObject([{ decision: 'accept', before: null, after: OUTPUT }])
  })

  it.for([
    ['a different order of items', { answer: 'Yes', sources: [2, 1] }],
    ['a string instead of a number', { answer: 'Yes', sources: ['1', 2] }],
    ['an extra field', { ...OUTPUT, more: null }],
    ['a missing field', { answer: 'Yes' }],
  ] as const)('is a correction if it differs: %s', async ([, approvedOutput], { expect }) => {
    const { review } = await newReviewed(OUTPUT)
    expect((await review({ decision: 'correct', approvedOutput })).body.review.state).toBe('corrected')
  })

  it.for([
    ['false', false],
    ['0', 0],
    ['an empty string', ''],
    ['an empty object', {}],
    ['a field named __proto__', JSON.parse('{"__proto__":{"a":1}}')],
    ['a large value', { text: large }],
  ] as const)('approves %s unchanged', async ([, approvedOutput], { expect }) => {
    const { review, read } = await newReviewed(OUTPUT)
    expect((await review({ decision: 'correct', approvedOutput })).body.approvedOutput).toEqual(approvedOutput)
    const { trace, span } = await read()
    expect(span.approvedOutput).toEqual(approvedOutput)
    expect(trace.spans[0].approvedOutput).toEqual(approvedOutput)
  })

  it('may correct a span without an output', async ({ expect }) => {
    const { org, span } = await newTrace()
    const { id } = await span()
    const response = await org.owner.put(`/api/spans/${id}/review`, { decision: 'correct', approvedOutput: 'Yes' })
    expect(response.body).toMatchObject({ output: null, approvedOutput: 'Yes', review: { state: 'corrected' } })
  })

  it.for([
    ['an acceptance without an output', [], { decision: 'accept' }, 422, 'decision'],
    ['an acceptance of null', [null], { decision: 'accept' }, 422, 'decision'],
    ['a correction to null', [], { decision: 'correct', approvedOutput: null }, 422, 'approvedOutput'],
    ['a correction without a value', [], { decision: 'correct' }, 400, 'approvedOutput'],
    ['an acceptance with a value', [1], { decision: 'accept', approvedOutput: 1 }, 400, 'approvedOutput'],
    ['an unknown decision', [], { decision: 'approve' }, 400, 'decision'],
    ['no decision', [], {}, 400, 'decision'],
    ['an unknown error type', [1], { decision: 'accept', errorType: 'nope' }, 422, 'errorType'],
    ['an empty comment', [1], { decision: 'accept', comment: '' }, 400, 'comment'],
    ['a typo', [1], { decision: 'accept', coment: 'a' }, 400, 'coment'],
    ['a number out of range', [], '{"decision":"correct","approvedOutput":[1e400]}', 400, 'approvedOutput.0'],
  ] as const)('is rejected and changes nothing: %s', async ([, outputs, body, status, path], { expect }) => {
    const { org, step, observe } = await newTrace()
    const spanId = crypto.randomUUID()
    await step({ span_id: spanId, output: undefined })
    for (const data of outputs) await observe({ span_id: spanId, data })
    const before = await storedCounts()
    const response = await org.owner.put(`/api/spans/${spanId}/review`, body)
    expect(response.status).toBe(status)
    expect(response.body.details[0].path).toBe(path)
    expect(await storedCounts()).toEqual(before)
  })

  it('may not be larger than an observation', async ({ expect }) => {
    const { review } = await newReviewed(OUTPUT)
    const response = await review({ decision: 'correct', approvedOutput: 'x'.repeat(5 * 1024 * 1024) })
    expect(response.status).toBe(413)
    expect(response.body.error).toBe('Approved output too large')
  })

  it('can have any of the 18 error types', async ({ expect }) => {
    const { results } = await env.DB.prepare('select error_type as name from error_types').all<{ name: string }>()
    expect(results.length).toBe(18)
    const { review } = await newReviewed(OUTPUT)
    for (const { name } of results) {
      expect((await review({ decision: 'accept', errorType: name })).body.review.errorType).toBe(name)
    }
  })
})

describe('a review that is sent again', () => {
  it.for([
    ['an acceptance', { decision: 'accept', comment: 'Good' }],
    ['a correction', { decision: 'correct', approvedOutput: { a: 1 }, errorType: 'reasoning_error' }],
    ['a large correction', { decision: 'correct', approvedOutput: large }],
    ['a reset', { decision: 'reset' }],
  ] as const)('is recorded as one decision: %s', async ([, body], { expect }) => {
    const { review, history, read } = await newReviewed(OUTPUT)
    const { etag } = (await read()).span
    const first = await review(body, { 'if-match': etag })
    const before = await storedCounts()
    // This succeeds even with the previous ETag, because the span already has the requested state.
    const again = await review(body, { 'if-match': etag })
    expect(again.status).toBe(200)
    expect(again.body).toEqual(first.body)
    expect(await history()).toHaveLength(1)
    expect(await storedCounts()).toEqual(before)
  })

  it.for([
    ['a different comment', { decision: 'accept', comment: 'Other' }],
    ['a different decision', { decision: 'reset', comment: 'Good' }],
    ['a different error type', { decision: 'accept', comment: 'Good', errorType: 'reasoning_error' }],
  ] as const)('is recorded as a separate decision if it has %s', async ([, body], { expect }) => {
    const { review, history } = await newReviewed(OUTPUT)
    await review({ decision: 'accept', comment: 'Good' })
    await review(body)
    expect(await history()).toHaveLength(2)
  })

  it.for([
    [
      'an acceptance, then the output as a correction',
      { decision: 'accept' },
      '{"decision":"correct","approvedOutput":{"sources":[1,2],"answer":"Yes"}}',
    ],
    [
      'the output as a correction, then an acceptance',
      { decision: 'correct', approvedOutput: OUTPUT },
      '{"decision":"accept"}',
    ],
    [
      'a correction with a different key order',
      { decision: 'correct', approvedOutput: { a: 1, b: 2 } },
      '{"decision":"correct","approvedOutput":{"b":2.0,"a":1}}',
    ],
    [
      'a large correction with a different key order',
      { decision: 'correct', approvedOutput: { a: large, b: 2 } },
      `{"decision":"correct","approvedOutput":{"b":2,"a":"${large}"}}`,
    ],
    ['the same acceptance without its comment', { decision: 'accept', comment: 'Good' }, '{"decision":"accept"}'],
  ] as const)('is recorded once even if it is written differently: %s', async ([, first, again], { expect }) => {
    const { org, spanId, review, history, read } = await newReviewed(OUTPUT)
    await review(first)
    const before = await read()
    expect((await org.owner.put(`/api/spans/${spanId}/review`, again)).status).toBe(200)
    expect(await history()).toHaveLength(1)
    expect(await read()).toEqual(before)
  })

  it('is recorded once even if an equal output has arrived in the meantime', async ({ expect }) => {
    const { review, observe, history } = await newReviewed(OUTPUT)
    await review({ decision: 'accept' })
    await observe({ data: { sources: [1, 2], answer: 'Yes' } })
    await review({ decision: 'accept' })
    expect(await history()).toHaveLength(1)
  })

  it('is recorded as a separate decision by a different reviewer', async ({ expect }) => {
    const { org, review, history } = await newReviewed(OUTPUT)
    const reviewer = await reviewerOf(org, 'ada@example.com')
    await review({ decision: 'accept' })
    await review({ decision: 'accept' }, {}, reviewer.client)
    expect(await history()).toMatchObject([{ by: reviewer.userId }, {}])
  })

  it('is recorded as a separate decision if the output has changed', async ({ expect }) => {
    const { review, observe, history } = await newReviewed(OUTPUT)
    await review({ decision: 'accept' })
    await observe({ data: 'Changed' })
    expect((await review({ decision: 'accept' })).body).toMatchObject({
      approvedOutput: 'Changed',
      review: { stale: false },
    })
    expect(await history()).toMatchObject([{ before: OUTPUT, after: 'Changed' }, { after: OUTPUT }])
  })
})

describe('If-Match', () => {
  it('rejects a review based on an earlier output or review', async ({ expect }) => {
    const { review, read, observe, history } = await newReviewed(OUTPUT)
    const first = (await read()).span.etag
    await observe({ data: 'Changed' })
    const late = await review({ decision: 'accept' }, { 'if-match': first })
    expect(late.status).toBe(412)
    expect(late.body.code).toBe('precondition_failed')
    const second = (await read()).span.etag
    expect((await review({ decision: 'accept' }, { 'if-match': second })).status).toBe(200)
    expect((await review({ decision: 'reset' }, { 'if-match': second })).status).toBe(412)
    expect(await history()).toHaveLength(1)
  })

  it.for([
    ['a list of tags', (etag: string) => `"other", ${etag}`, 200],
    ['a tag that a proxy weakened', (etag: string) => `W/${etag}`, 200],
    ['a tag without quotes', (etag: string) => etag.slice(1, -1), 200],
    ['any tag', () => '*', 200],
    ['a different tag', () => '"other"', 412],
    ['no tag', () => '', 412],
  ] as const)('handles %s', async ([, tagOf, status], { expect }) => {
    const { review, read } = await newReviewed(OUTPUT)
    const { etag } = (await read()).span
    expect((await review({ decision: 'accept' }, { 'if-match': tagOf(etag) })).status).toBe(status)
  })

  it('accepts only one of many concurrent reviews of the same state', async ({ expect }) => {
    const { review, read, history } = await newReviewed(OUTPUT)
    const { etag } = (await read()).span
    const responses = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        review({ decision: 'correct', approvedOutput: index }, { 'if-match': etag }),
      ),
    )
    const statuses = responses.map(({ status }) => status).sort()
    expect(statuses).toEqual([200, ...Array.from({ length: 7 }, () => 412)])
    expect(await history()).toHaveLength(1)
  })
})

describe('the history of a span', () => {
  it('lists every decision, newest first, with the state before and after it', async ({ expect }) => {
    const { org, spanId, review, history } = await newReviewed(OUTPUT)
    const reviewer = await reviewerOf(org, 'ada@example.com')
    await review({ decision: 'accept' })
    await review({ decision: 'correct', approvedOutput: large, comment: 'Longer' }, {}, reviewer.client)
    await review({ decision: 'reset' })
    const entries = await history()
    expect(entries).toMatchObject([
      { decision: 'reset', before: large, after: null },
      { decision: 'correct', before: OUTPUT, after: large, comment: 'Longer', by: reviewer.userId },
      { decision: 'accept', before: null, after: OUTPUT, comment: null, errorType: null },
    ])
    const paged = []
    for (let cursor = ''; ; ) {
      const page = (await org.owner.get(`/api/spans/${spanId}/reviews?limit=1${cursor}`)).body
      paged.push(...page.reviews)
      if (page.nextCursor === null) break
      cursor = `&cursor=${page.nextCursor}`
    }
    expect(paged).toEqual(entries)
  })

  it.for([MAX_OBSERVATION_BYTES - 2, MAX_PAGE_VALUE_BYTES / 8])(
    'shows each value of %i bytes in full, on pages of at most 8 MiB',
    async (length, { expect }) => {
      const { org, spanId, review } = await newReviewed(OUTPUT)
      const values = Array.from({ length: 8 }, (_, index) => String(index).repeat(length))
      for (const approvedOutput of values) {
        expect((await review({ decision: 'correct', approvedOutput })).status).toBe(200)
      }
      const brief = (value: string | null | undefined) => value && value.slice(0, 2) + value.length
      const found: unknown[] = []
      for (let cursor = ''; ; ) {
        const page = (await org.owner.get(`/api/spans/${spanId}/reviews${cursor}`)).body
        for (const { before, after } of page.reviews) found.push([brief(before), brief(after)])
        const shownBytes = JSON.stringify(
          page.reviews.flatMap(({ before, after }: Record<'before' | 'after', unknown>) => [before, after]),
        ).length
        if (page.reviews.length > 1) expect(shownBytes).toBeLessThan(MAX_PAGE_VALUE_BYTES + 1000)
        if (page.nextCursor === null) break
        cursor = `?cursor=${page.nextCursor}`
      }
      const shown = values.map(brief)
      expect(found).toEqual(shown.map((after, index) => [shown[index - 1] ?? null, after]).toReversed())
    },
  )

  it('is empty for a span without decisions, and a 404 for an unknown span', async ({ expect }) => {
    const { org, history } = await newReviewed(OUTPUT)
    expect(await history()).toEqual([])
    expect((await org.owner.get(`/api/spans/${crypto.randomUUID()}/reviews`)).status).toBe(404)
  })
})

describe('a trace', () => {
  async function threeSpans(): Promise<{ org: Org; ids: string[]; state: () => Promise<string> }> {
    const { org, step, read } = await newTrace()
    const ids = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()]
    for (const [index, span_id] of ids.entries()) await step({ span_id, output: index < 2 ? { index } : undefined })
    return { org, ids, state: async () => `${(await read()).reviewedCount} ${(await read()).reviewState}` }
  }

  it('derives its review state from those of its spans that have an output', async ({ expect }) => {
    const { org, ids, state } = await threeSpans()
    const review = (index: number, body: object) => org.owner.put(`/api/spans/${ids[index]}/review`, body)
    expect(await state()).toBe('0 unreviewed')
    await review(0, { decision: 'accept' })
    expect(await state()).toBe('1 mixed')
    await review(1, { decision: 'accept' })
    expect(await state()).toBe('2 accepted')
    await review(1, { decision: 'correct', approvedOutput: 1 })
    expect(await state()).toBe('2 corrected')
    await review(0, { decision: 'reset' })
    expect(await state()).toBe('1 mixed')
    await review(1, { decision: 'reset' })
    expect(await state()).toBe('0 unreviewed')
  })

  it.for([
    ['a new span with an output', true],
    ['an output for a span that had none', false],
  ] as const)('becomes partly reviewed after %s', async ([, isStep], { expect }) => {
    const { org, trace_id, step, read } = await newTrace()
    const reviewed = crypto.randomUUID()
    const withoutOutput = crypto.randomUUID()
    await step({ span_id: reviewed })
    await step({ span_id: withoutOutput, output: undefined })
    await org.owner.put(`/api/spans/${reviewed}/review`, { decision: 'accept' })
    expect((await read()).reviewState).toBe('accepted')
    if (isStep) await step({})
    else {
      const late = { trace_id, span_id: withoutOutput, type: 'output', data: 1, timestamp: '2026-11-20T10:00:00.000Z' }
      await org.ingest.post('/api/v1/observations', late)
    }
    expect((await read()).reviewState).toBe('mixed')
    expect((await org.read.get('/api/traces?projectSlug=support&review=mixed')).body.traces).toHaveLength(1)
  })

  it('is reviewed if null replaces its last unreviewed output', async ({ expect }) => {
    const { org, trace_id, step, read } = await newTrace()
    const [first, second] = [crypto.randomUUID(), crypto.randomUUID()]
    await step({ span_id: first })
    await step({ span_id: second })
    await org.owner.put(`/api/spans/${first}/review`, { decision: 'accept' })
    expect((await read()).reviewState).toBe('mixed')
    const observation = { trace_id, span_id: second, type: 'output', timestamp: '2026-11-20T10:00:00.000Z' }
    await org.ingest.post('/api/v1/observations', { ...observation, data: null })
    expect((await read()).reviewState).toBe('accepted')
    await org.ingest.post('/api/v1/observations', { ...observation, data: 'Yes' })
    expect((await read()).reviewState).toBe('mixed')
    await org.owner.put(`/api/spans/${second}/review`, { decision: 'accept' })
    expect((await read()).reviewState).toBe('accepted')
  })

  it('has nothing to review if a span’s null output arrives before the span', async ({ expect }) => {
    const { org, observe, step, read } = await newTrace()
    const [first, second] = [crypto.randomUUID(), crypto.randomUUID()]
    await observe({ span_id: second, data: null })
    await step({ span_id: first })
    await step({ span_id: second })
    await org.owner.put(`/api/spans/${first}/review`, { decision: 'accept' })
    expect((await read()).reviewState).toBe('accepted')
    const queue = (await org.read.get('/api/review-queue?projectSlug=support')).body
    expect(queue).toMatchObject({ spans: [], remaining: 0 })
    const { body } = await org.owner.post('/api/review-queue/claim', { spanIds: [second] })
    expect(body.refused).toEqual([second])
  })

  it('can be found by its review state and by the error types of its reviews', async ({ expect }) => {
    const org = await newOrg()
    const fixtures = await Promise.all(Array.from({ length: 4 }, () => newReviewed(OUTPUT, org)))
    const [accepted, corrected, mixed, unreviewed] = fixtures
    await accepted?.review({ decision: 'accept', errorType: 'acceptable_variation' })
    await corrected?.review({ decision: 'correct', approvedOutput: 1, errorType: 'reasoning_error' })
    await mixed?.step({})
    await mixed?.review({ decision: 'accept', errorType: 'reasoning_error' })
    await mixed?.review({ decision: 'accept', errorType: 'system_failure' })
    const found = async (query: string) => {
      const { body } = await org.read.get(`/api/traces?projectSlug=support&${query}`)
      return body.traces.map(({ id }: { id: string }) => id)
    }
    expect(await found('review=accepted')).toEqual([accepted?.id])
    expect(await found('review=corrected')).toEqual([corrected?.id])
    expect(await found('review=mixed')).toEqual([mixed?.id])
    expect(await found('review=unreviewed')).toEqual([unreviewed?.id])
    expect(await found('errorType=reasoning_error')).toEqual([corrected?.id])
    expect(await found('errorType=system_failure')).toEqual([mixed?.id])
    expect(await found('errorType=nope')).toEqual([])
  })

  it('gets a new updatedAt when reviewed', async ({ expect }) => {
    const { review, read } = await newReviewed(OUTPUT)
    const before = (await read()).trace.updatedAt
    await scheduler.wait(5)
    await review({ decision: 'accept' })
    expect(Date.parse((await read()).trace.updatedAt)).toBeGreaterThan(Date.parse(before))
  })
})

describe('many reviews in one call', () => {
  it('get one result each', async ({ expect }) => {
    const org = await newOrg()
    const stranger = await newReviewed(OUTPUT)
    const { spanId, step, read } = await newReviewed(OUTPUT, org)
    const [second, third, withoutOutput] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()]
    await step({ span_id: second, output: { text: large } })
    await step({ span_id: third })
    await step({ span_id: withoutOutput, output: undefined })
    const response = await org.owner.post('/api/reviews', {
      reviews: [
        { spanId, decision: 'accept' },
        { spanId: second, decision: 'correct', approvedOutput: { text: `${large}!` } },
        { spanId: withoutOutput, decision: 'accept' },
        { spanId, decision: 'nope' },
        { spanId: crypto.randomUUID(), decision: 'reset' },
        { spanId: stranger.spanId, decision: 'accept' },
        { spanId: third, decision: 'accept', ifMatch: '"stale"' },
        'nonsense',
      ],
    })
    expect(response.status).toBe(207)
    const results: { status: number; body: { details?: unknown; approvedOutput?: unknown } }[] = response.body.results
    expect(results.map(({ status }) => status)).toEqual([200, 200, 422, 400, 404, 403, 412, 400])
    expect(results[0]?.body.approvedOutput).toEqual(OUTPUT)
    expect(results[2]?.body.details).toMatchObject([{ path: 'reviews.2.decision' }])
    expect(results[3]?.body.details).toMatchObject([{ path: 'reviews.3.decision' }])
    const { trace } = await read()
    expect(trace.spans.map((span: { review: { state: string } }) => span.review.state).sort()).toEqual([
      'accepted',
      'corrected',
      'unreviewed',
      'unreviewed',
    ])
    expect((await org.read.get(`/api/spans/${second}`)).body.approvedOutput).toEqual({ text: `${large}!` })
  })

  it('must each be for a different span', async ({ expect }) => {
    const { org, spanId, history } = await newReviewed(OUTPUT)
    const reviews = [1, 2].map(approvedOutput => ({ spanId, decision: 'correct', approvedOutput }))
    const { results } = (await org.owner.post('/api/reviews', { reviews })).body
    expect(results).toMatchObject([{ status: 200 }, { status: 400, body: { details: [{ path: 'reviews.1.spanId' }] } }])
    expect(await history()).toMatchObject([{ after: 1 }])
  })

  it('use the outputs of their own traces, even if the traces have more observations than fit in one response', async ({
    expect,
  }) => {
    const org = await newOrg()
    const observation_id = crypto.randomUUID()
    const fixtures = await Promise.all(['one', 'other'].map(output => newReviewed(output, org)))
    for (const [index, { id, observe }] of fixtures.entries()) {
      await observe({ observation_id, data: `Output ${index}`, timestamp: '2026-11-20T11:00:00.000Z' })
      await stored
        .prepare(
          `insert into observations (trace_key, id, type, state_key, data, timestamp, received_at)
         with recursive place(number) as (select 1 union all select number + 1 from place where number < 5000)
         select key, printf('00000000-0000-4000-8000-%012d', number), 'state', 'a', printf('"%.8000c"', 'x'), 0, 0
         from traces cross join place where id = ?`,
        )
        .bind(id)
        .run()
    }
    const reviews = fixtures.map(({ spanId }) => ({ spanId, decision: 'accept' }))
    const { results } = (await org.owner.post('/api/reviews', { reviews })).body
    expect(results.map(({ body }: { body: { approvedOutput: string } }) => body.approvedOutput)).toEqual([
      'Output 0',
      'Output 1',
    ])
  })

  it.skipIf(isSharded)('take two round trips, no matter how many there are', async ({ expect }) => {
    const { org, trace_id, step } = await newTrace()
    const ids = Array.from({ length: MAX_REVIEWS }, () => crypto.randomUUID())
    const events = ids.map(span_id => ({
      type: 'span',
      body: { trace_id, span_id, step_id: 'a', output: { span_id }, timestamp: '2026-11-20T10:00:00.000Z' },
    }))
    await org.ingest.post('/api/v1/batch', { events })
    await step({})
    const { bindings, counts } = countingBindings()
    await org.clientOf(org.ownerKey, bindings).get('/api/projects')
    counts.d1RoundTrips = 0
    const response = await org.clientOf(org.ownerKey, bindings).post('/api/reviews', {
      reviews: ids.map(spanId => ({ spanId, decision: 'accept' })),
    })
    const results: { status: number }[] = response.body.results
    expect(results.filter(({ status }) => status !== 200)).toEqual([])
    expect(counts.d1RoundTrips).toBe(2)
  })

  it('are processed in groups whose outputs fit in the memory of an isolate', async ({ expect }) => {
    const { org, step } = await newTrace()
    const ids = Array.from({ length: 8 }, () => crypto.randomUUID())
    for (const [index, span_id] of ids.entries()) {
      await step({ span_id, output: String(index).repeat(MAX_OBSERVATION_BYTES - 2) })
    }
    let [held, most] = [0, 0]
    const bindings = wrapBindings(async (binding, call) => {
      // All values read from R2 since the last D1 call are in memory at the same time.
      if (binding === 'PAYLOADS') most = Math.max(most, ++held)
      else held = 0
      return call()
    })
    const response = await org.clientOf(org.ownerKey, bindings).post('/api/reviews', {
      reviews: ids.map(spanId => ({ spanId, decision: 'accept' })),
    })
    expect(response.body.results.map(({ status }: { status: number }) => status)).toEqual(ids.map(() => 200))
    expect(most * MAX_OBSERVATION_BYTES).toBeLessThanOrEqual(MAX_JUDGED_BYTES_AT_ONCE)
  })

  it('are rejected if their outputs exceed what one call can review', async ({ expect }) => {
    const { org, step } = await newTrace()
    const ids = Array.from({ length: 15 }, () => crypto.randomUUID())
    for (const [index, span_id] of ids.entries()) {
      await step({ span_id, output: String(index).padEnd(MAX_OBSERVATION_BYTES - 2, 'x') })
    }
    const reviews = ids.map(spanId => ({ spanId, decision: 'accept' }))
    const { results } = (await org.owner.post('/api/reviews', { reviews })).body
    const fitting = Math.ceil(MAX_JUDGED_BYTES / MAX_OBSERVATION_BYTES)
    expect(results.map(({ status }: { status: number }) => status)).toEqual(
      ids.map((_, index) => (index < fitting ? 200 : 413)),
    )
  })

  it.for([
    ['are limited in number', { reviews: Array.from({ length: MAX_REVIEWS + 1 }, () => ({})) }, 400],
    ['must be a list', { reviews: {} }, 400],
    ['may be an empty list', { reviews: [] }, 207],
  ] as const)('%s', async ([, body, status], { expect }) => {
    expect((await (await newOrg()).owner.post('/api/reviews', body)).status).toBe(status)
  })
})
