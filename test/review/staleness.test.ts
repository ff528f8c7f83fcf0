import { describe, it } from 'vitest'
import { INLINE_BYTES } from '../../src/limits.ts'
import { wrapBindings } from '../support/bindings.ts'
import { aSpan } from '../support/builders.ts'
import { isSharded } from '../support/database.ts'
import { newReviewed, reviewerOf } from '../support/reviews.ts'
import { aHexSpanId, anExport, anExportedSpan } from '../support/telemetry.ts'
import { newTrace } from '../support/trace.ts'

const OUTPUT = { answer: 'Yes', sources: [1, 2] }
const large = 'x'.repeat(INLINE_BYTES)

type Fixture = Awaited<ReturnType<typeof newReviewed>>

/** Reads every place that shows whether a trace's only span with an output is reviewed. */
async function shownState({ org, id, spanId }: Pick<Fixture, 'org' | 'id' | 'spanId'>) {
  const project = 'projectSlug=support'
  const [full, preview, span, list, queue] = await Promise.all([
    org.read.get(`/api/traces/${id}`),
    org.read.get(`/api/traces/${id}?payloads=preview`),
    org.read.get(`/api/spans/${spanId}`),
    org.read.get(`/api/traces?${project}`),
    org.owner.get(`/api/review-queue?${project}`),
  ])
  const filtered = []
  for (const review of ['unreviewed', 'accepted', 'corrected', 'mixed']) {
    const { traces } = (await org.read.get(`/api/traces?${project}&review=${review}`)).body
    if (traces.length > 0) filtered.push(review)
  }
  const counts = ({ reviewedCount, staleCount, reviewState }: Record<string, unknown>) =>
    JSON.stringify({ reviewedCount, staleCount, reviewState })
  const spanOf = (spans: { id: string; review: { state: string; stale: boolean } }[]) =>
    spans.find(({ id }) => id === spanId)?.review
  const reviews = [spanOf(full.body.spans), spanOf(preview.body.spans), span.body.review]
  return {
    counts: [...new Set([full.body, preview.body, list.body.traces[0]].map(counts))],
    reviews: [...new Set(reviews.map(review => `${review?.state} ${review?.stale}`))],
    filtered,
    queue: queue.body.spans.map((queued: { id: string }) => queued.id === spanId),
    remaining: queue.body.remaining,
  }
}

const CURRENT = (state: string) => ({
  counts: [JSON.stringify({ reviewedCount: 1, staleCount: 0, reviewState: state })],
  reviews: [`${state} false`],
  filtered: [state],
  queue: [],
  remaining: 0,
})

const STALE = (state: string) => ({
  counts: [JSON.stringify({ reviewedCount: 0, staleCount: 1, reviewState: 'unreviewed' })],
  reviews: [`${state} true`],
  filtered: ['unreviewed'],
  queue: [true],
  remaining: 1,
})

describe('a review of an output that changes afterward', () => {
  it.for([
    ['accepted', { decision: 'accept' }],
    ['corrected', { decision: 'correct', approvedOutput: 'No' }],
  ] as const)('is stale everywhere and returns its span to the queue: %s', async ([state, body], { expect }) => {
    const fixture = await newReviewed(OUTPUT)
    await fixture.review(body)
    expect(await shownState(fixture)).toEqual(CURRENT(state))
    const { approvedOutput } = (await fixture.read()).span
    await fixture.observe({ data: 'Changed' })
    expect(await shownState(fixture)).toEqual(STALE(state))
    expect((await fixture.read()).span.approvedOutput).toEqual(approvedOutput)
    await fixture.review({ decision: 'accept' })
    expect(await shownState(fixture)).toEqual(CURRENT('accepted'))
  })

  it.for([
    ['an equal output in a different order', OUTPUT, { sources: [1, 2], answer: 'Yes' }],
    ['a large output', { text: large }, { text: large }],
  ] as const)('is current again if the output changes back: %s', async ([, output, again], { expect }) => {
    const fixture = await newReviewed(output)
    await fixture.review({ decision: 'accept' })
    await fixture.observe({ data: again })
    expect(await shownState(fixture)).toEqual(CURRENT('accepted'))
    await fixture.observe({ data: { text: `${large}y` } })
    expect(await shownState(fixture)).toEqual(STALE('accepted'))
    // The reviewed output is back.
    await fixture.observe({ data: again })
    expect(await shownState(fixture)).toEqual(CURRENT('accepted'))
  })

  it('stays current if a value arrives that is older than the reviewed one', async ({ expect }) => {
    const fixture = await newReviewed(OUTPUT)
    await fixture.review({ decision: 'accept' })
    await fixture.observe({ data: 'Earlier', timestamp: '2020-01-01T00:00:00.000Z' })
    expect(await shownState(fixture)).toEqual(CURRENT('accepted'))
  })

  it('becomes stale after the span is sent with a different output', async ({ expect }) => {
    const { org, id, trace_id, step } = await newTrace()
    const span = aSpan({ trace_id, output: OUTPUT })
    const fixture = { org, id, spanId: span.span_id }
    await step(span)
    const accept = () => org.owner.put(`/api/spans/${span.span_id}/review`, { decision: 'accept' })
    await accept()
    await step({ ...span, output: { sources: [1, 2], answer: 'Yes' } })
    expect(await shownState(fixture)).toEqual(CURRENT('accepted'))
    await step({ ...span, output: 'Changed' })
    expect(await shownState(fixture)).toEqual(STALE('accepted'))
    await accept()
    await step({ ...span, output: undefined, status: 'ok' })
    expect(await shownState(fixture)).toEqual(CURRENT('accepted'))
  })

  it('becomes stale after a later export of the span', async ({ expect }) => {
    const { org } = await newTrace()
    const traceId = crypto.randomUUID().replaceAll('-', '')
    const spanId = aHexSpanId()
    const send = (end: number, answer: string) =>
      org.ingest.post(
        '/v1/traces',
        anExport([
          anExportedSpan({
            traceId,
            spanId,
            end,
            attributes: { 'openinference.span.kind': 'LLM', 'output.value': answer },
          }),
        ]),
      )
    await send(10, 'Yes')
    const { traces } = (await org.read.get('/api/traces?projectSlug=support&review=unreviewed')).body
    const id = traces.find((trace: { traceId: string }) => trace.traceId === `trace_${traceId}`).id
    const [span] = (await org.read.get(`/api/traces/${id}`)).body.spans
    await org.owner.put(`/api/spans/${span.id}/review`, { decision: 'accept' })
    const stale = async () => (await org.read.get(`/api/traces/${id}`)).body.spans[0].review.stale
    await send(20, 'Yes')
    expect(await stale()).toBe(false)
    await send(30, 'No')
    expect(await stale()).toBe(true)
  })

  it('makes the state of its trace mixed if another review is current', async ({ expect }) => {
    const fixture = await newReviewed(OUTPUT)
    const other = crypto.randomUUID()
    await fixture.step({ span_id: other, output: 'Other' })
    await fixture.review({ decision: 'accept' })
    await fixture.org.owner.put(`/api/spans/${other}/review`, { decision: 'accept' })
    await fixture.observe({ data: 'Changed' })
    expect((await fixture.read()).trace).toMatchObject({ reviewedCount: 1, staleCount: 1, reviewState: 'mixed' })
  })

  it.for([
    ['on the trace', (fixture: Fixture) => fixture.spanId],
    ['on a step', () => crypto.randomUUID()],
  ] as const)(
    'does not return its span to the queue or count as stale if null replaces the output: %s',
    async ([, idOf], { expect }) => {
      const fixture = await newReviewed('Whole trace')
      const spanId = idOf(fixture)
      if (spanId !== fixture.spanId) await fixture.step({ span_id: spanId, output: OUTPUT })
      await fixture.observe({ span_id: spanId, data: OUTPUT })
      await fixture.org.owner.put(`/api/spans/${spanId}/review`, { decision: 'accept' })
      await fixture.observe({ span_id: spanId, data: null })
      const { spans } = (await fixture.org.owner.get('/api/review-queue?projectSlug=support')).body
      expect(spans.map(({ id }: { id: string }) => id)).not.toContain(spanId)
      const [item] = (await fixture.org.read.get('/api/traces?projectSlug=support')).body.traces
      expect(item).toMatchObject({ reviewedCount: 0, staleCount: 0 })
      expect((await fixture.read()).trace).toMatchObject({ reviewedCount: 0, staleCount: 0 })
      await fixture.observe({ span_id: spanId, data: 'Back, but different' })
      expect((await fixture.read()).trace).toMatchObject({ reviewedCount: 0, staleCount: 1 })
    },
  )

  it('still counts in insights', async ({ expect }) => {
    const fixture = await newReviewed(OUTPUT)
    await fixture.review({ decision: 'accept' })
    await fixture.observe({ data: 'Changed' })
    // The decision was still made, so it remains in the counts.
    const { days } = (await fixture.org.read.get('/api/insights?projectSlug=support')).body
    expect(days).toMatchObject([{ accepted: 1 }])
  })

  it('is stale if a new output arrives after the span is read and before the decision is written', async ({
    expect,
  }) => {
    const fixture = await newReviewed(OUTPUT)
    const reviewer = await reviewerOf(fixture.org)
    let callsLeft = 0
    const bindings = wrapBindings(async (binding, call) => {
      const result = await call()
      if (binding === 'DB' && callsLeft > 0 && --callsLeft === 0) await fixture.observe({ data: 'Changed' })
      return result
    })
    const late = fixture.org.clientOf(reviewer.key, bindings)
    await late.get('/api/review-queue?projectSlug=support')
    // With several databases, the first two calls ask which database has the span.
    callsLeft = isSharded ? 3 : 1
    const { body } = await late.put(`/api/spans/${fixture.spanId}/review`, { decision: 'accept' })
    expect(body).toMatchObject({ approvedOutput: OUTPUT, review: { state: 'accepted', stale: true } })
    expect(await shownState(fixture)).toEqual(STALE('accepted'))
  })

  it.for([
    ['accepted', { decision: 'accept' }],
    ['corrected', { decision: 'correct', approvedOutput: 'No' }],
  ] as const)('is not stale if an equal output arrives: %s', async ([, body], { expect }) => {
    const { review, observe, read } = await newReviewed(OUTPUT)
    await review(body)
    await observe({ data: { sources: [1, 2], answer: 'Yes' } })
    expect((await read()).span.review.stale).toBe(false)
    await observe({ data: 'Changed' })
    expect((await read()).span.review.stale).toBe(true)
  })

  it('is stale after a large output changes, unless the output changes back', async ({ expect }) => {
    const { review, observe, read } = await newReviewed({ text: large })
    await review({ decision: 'accept' })
    await observe({ data: { text: large } })
    expect((await read()).span.review.stale).toBe(false)
    await observe({ data: { text: `${large}y` } })
    const { span, trace } = await read()
    expect(span).toMatchObject({ approvedOutput: { text: large }, review: { stale: true } })
    expect(trace.spans[0].review.stale).toBe(true)
  })
})
