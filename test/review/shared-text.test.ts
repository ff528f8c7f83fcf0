import { describe, it } from 'vitest'
import { MAX_SHARING_DEPTH, MAX_SHARING_SPANS } from '../../src/limits.ts'
import { countingBindings } from '../support/bindings.ts'
import { aSpan, timeAfter } from '../support/builders.ts'
import { newOrg } from '../support/org.ts'
import { reviewerOf } from '../support/reviews.ts'
import { exportSpans, newRun } from '../support/telemetry.ts'
import { newTrace } from '../support/trace.ts'

const TEXT = 'The warranty lasts 24 months.'
const OTHER = 'The warranty lasts 12 months.'
const message = (content: string | null, fields: object = {}) => ({ role: 'assistant', content, ...fields })

/** Creates a trace whose root has this output, and returns it with functions that add steps and review them. */
async function newAnswer(output: unknown = { answer: TEXT }) {
  const trace = await newTrace()
  const { org, id, step, observe } = trace
  const root = (await trace.span()).id
  if (output !== undefined) await observe({ data: output })
  const add = async (output: unknown, fields: object = {}): Promise<string> => {
    const span_id = crypto.randomUUID()
    const { status } = await step({ span_id, step_id: 'generate', output, ...fields })
    if (status >= 300) throw new Error(`the step returned ${status}`)
    return span_id
  }
  const queue = async () => {
    const { spans, remaining } = (await org.owner.get('/api/review-queue?projectSlug=support')).body
    if (spans.length !== remaining) throw new Error(`${remaining} remain, but ${spans.length} are listed`)
    return spans.map(({ id }: { id: string }) => id)
  }
  const decide = (span: string, body: object, headers = {}) => org.owner.put(`/api/spans/${span}/review`, body, headers)
  const shown = async (span: string) => {
    const [own, detail, preview, paged] = await Promise.all([
      trace.spanOf(span),
      ...['', '?payloads=preview', '?spanLimit=2'].map(async query => {
        const { spans } = (await org.read.get(`/api/traces/${id}${query}`)).body
        return spans.find(({ id }: { id: string }) => id === span)
      }),
    ])
    const part = ({ review, approvedOutput, etag }: typeof own) => JSON.stringify({ review, approvedOutput, etag })
    const different = [detail, preview, paged].filter(other => other && part(other) !== part(own))
    if (different.length > 0) throw new Error(`${part(own)} is not ${different.map(part)}`)
    return own
  }
  const state = async () => (await trace.read()).reviewState
  return { ...trace, root, add, queue, decide, shown, state }
}

describe('a root with the text of a step', () => {
  it('leaves the queue, and a review of the step is also its review', async ({ expect }) => {
    const { root, add, queue, decide, shown, state } = await newAnswer()
    expect(await queue()).toEqual([root])
    const step = await add(message(TEXT))
    expect(await queue()).toEqual([step])
    expect((await shown(root)).review).toMatchObject({ state: 'unreviewed', reviewedBy: step })
    expect((await shown(step)).review).toMatchObject({ state: 'unreviewed', reviewedBy: null })
    await decide(step, { decision: 'accept', comment: 'Right' })
    expect(await shown(root)).toMatchObject({
      approvedOutput: { answer: TEXT },
      review: { state: 'accepted', comment: 'Right', reviewedBy: step },
    })
    expect(await queue()).toEqual([])
    expect(await state()).toBe('accepted')
    await decide(step, { decision: 'reset' })
    expect((await shown(root)).review).toMatchObject({ state: 'unreviewed', reviewedBy: step })
    expect(await queue()).toEqual([step])
  })

  it('shows a correction of the step in its own form', async ({ expect }) => {
    const { root, add, queue, decide, shown, state } = await newAnswer()
    const step = await add(message(TEXT))
    await decide(step, { decision: 'correct', approvedOutput: message(OTHER), errorType: 'hallucinated_content' })
    expect(await shown(root)).toMatchObject({
      output: { answer: TEXT },
      approvedOutput: { answer: OTHER },
      review: { state: 'corrected', errorType: 'hallucinated_content', reviewedBy: step },
    })
    expect(await queue()).toEqual([])
    expect(await state()).toBe('corrected')
  })

  it.for([
    ['accept', {}, message(TEXT), { answer: TEXT }],
    ['correct', { approvedOutput: { answer: OTHER } }, message(OTHER), { answer: OTHER }],
    ['correct', { approvedOutput: { answer: TEXT } }, message(TEXT), { answer: TEXT }],
  ] as const)('passes its review on to the step: %s %j', async ([decision, body, ofStep, ofRoot], { expect }) => {
    const { org, root, add, queue, decide, shown } = await newAnswer()
    const step = await add(message(TEXT))
    const answer = await decide(root, { decision, ...body })
    expect(answer).toMatchObject({
      status: 200,
      body: { id: root, approvedOutput: ofRoot, review: { reviewedBy: step } },
    })
    expect(answer.body).toEqual(await shown(root))
    expect(await shown(step)).toMatchObject({
      approvedOutput: ofStep,
      review: { by: answer.body.review.by, reviewedBy: null },
    })
    expect(await queue()).toEqual([])
    // Sending the review again changes nothing.
    expect((await decide(root, { decision, ...body })).body).toEqual(answer.body)
    const history = async (span: string) => (await org.owner.get(`/api/spans/${span}/reviews`)).body.reviews
    expect(await history(step)).toHaveLength(1)
    expect(await history(root)).toEqual([])
    await decide(root, { decision: 'reset' })
    expect(await queue()).toEqual([step])
  })

  it("checks a correction against the step's schema", async ({ expect }) => {
    const { org, root, add, decide, shown } = await newAnswer()
    await org.owner.post('/api/prompts', {
      projectSlug: 'support',
      stepId: 'generate',
      content: 'Answer',
      outputSchema: { type: 'object', properties: { content: { maxLength: 40 } } },
    })
    const step = await add(message(TEXT))
    const body = { decision: 'correct', approvedOutput: { answer: 'x'.repeat(41) } }
    expect((await decide(root, body)).status).toBe(422)
    expect((await shown(step)).review.state).toBe('unreviewed')
    expect((await decide(root, { ...body, force: true })).status).toBe(200)
  })

  it('has an ETag that changes when the step is reviewed', async ({ expect }) => {
    const { root, add, decide, shown } = await newAnswer()
    const alone = (await shown(root)).etag
    const step = await add(message(TEXT))
    const { etag } = await shown(root)
    expect(etag).not.toBe(alone)
    await decide(step, { decision: 'accept' })
    expect((await decide(root, { decision: 'reset' }, { 'if-match': etag })).status).toBe(412)
    const current = (await shown(root)).etag
    expect((await decide(root, { decision: 'reset' }, { 'if-match': current })).status).toBe(200)
  })

  it("respects another reviewer's claim on the step, and can't be claimed itself", async ({ expect }) => {
    const { org, root, add, decide } = await newAnswer()
    const step = await add(message(TEXT))
    const other = await reviewerOf(org)
    const claim = await other.client.post('/api/review-queue/claim', { spanIds: [root, step] })
    expect(claim.body).toEqual({ claimed: [step], refused: [root] })
    const { body: shown } = await org.owner.get(`/api/spans/${root}`)
    expect(shown.claim).toMatchObject({ heldBy: other.userId })
    const { body: trace } = await org.owner.get(`/api/traces/${shown.trace.id}`)
    expect(trace.spans.map(({ claim }: { claim: unknown }) => claim)).toEqual([shown.claim, shown.claim])
    expect((await decide(root, { decision: 'accept' })).status).toBe(409)
    expect((await decide(root, { decision: 'accept', takeOver: true })).status).toBe(200)
  })

  it('can be reviewed in the same call as the step', async ({ expect }) => {
    const { org, root, add, shown } = await newAnswer()
    const step = await add(message(TEXT))
    const { body } = await org.owner.post('/api/reviews', {
      reviews: [
        { spanId: root, decision: 'accept' },
        { spanId: step, decision: 'correct', approvedOutput: message(OTHER) },
      ],
    })
    expect(body.results).toMatchObject([{ status: 200 }, { status: 200 }])
    expect((await shown(step)).review.state).toBe('accepted')
    expect((await shown(root)).review).toMatchObject({ state: 'accepted', reviewedBy: step })
  })
})

describe('reviews of a root and its step at the same time', () => {
  it('leave a single history, which both spans show', async ({ expect }) => {
    const { org, root, add, decide, shown } = await newAnswer()
    const step = await add(message(TEXT))
    const decisions = Array.from({ length: 8 }, (_, index) => {
      const text = `Answer number ${index}, in enough words.`
      const [span, approvedOutput] = index % 2 === 0 ? [root, { answer: text }] : [step, message(text)]
      return decide(span, { decision: 'correct', approvedOutput })
    })
    const statuses = (await Promise.all(decisions)).map(({ status }) => status)
    expect(new Set(statuses)).toEqual(new Set([200]))
    const { reviews } = (await org.owner.get(`/api/spans/${step}/reviews`)).body
    expect(reviews).toHaveLength(8)
    for (const [index, review] of reviews.slice(1).entries()) expect(reviews[index].before).toEqual(review.after)
    const [ofRoot, ofStep] = [await shown(root), await shown(step)]
    expect(message(ofRoot.approvedOutput.answer)).toEqual(ofStep.approvedOutput)
    expect(ofRoot.review).toEqual({ ...ofStep.review, reviewedBy: step })
  })
})

describe('the step that a root is reviewed with', () => {
  it('is the deepest, even if its parents arrive late', async ({ expect }) => {
    const { root, add, queue, shown } = await newAnswer()
    const middle = crypto.randomUUID()
    const deep = await add(message(TEXT), { parent_span_id: middle, timestamp: timeAfter(50) })
    const shallow = await add(TEXT, { timestamp: timeAfter(10) })
    expect((await shown(root)).review.reviewedBy).toBe(shallow)
    await add({ count: 1 }, { span_id: middle, timestamp: timeAfter(40) })
    expect((await shown(root)).review.reviewedBy).toBe(deep)
    expect(await queue()).toHaveLength(3)
  })

  it('stays the same if a deeper step arrives after the review', async ({ expect }) => {
    const { root, add, queue, decide, shown } = await newAnswer()
    const first = await add(message(TEXT))
    await decide(root, { decision: 'accept' })
    const second = await add(message(TEXT), { parent_span_id: first })
    expect((await shown(root)).review).toMatchObject({ state: 'accepted', reviewedBy: first })
    expect(await queue()).toEqual([second])
    await decide(second, { decision: 'correct', approvedOutput: message(OTHER) })
    expect((await shown(root)).review).toMatchObject({ state: 'accepted', reviewedBy: first })
  })

  it('shares its review with a root output that arrives later', async ({ expect }) => {
    const { root, add, observe, queue, decide, shown, state } = await newAnswer(undefined)
    const step = await add(message(TEXT))
    await decide(step, { decision: 'accept' })
    await observe({ data: TEXT })
    expect((await shown(root)).review).toMatchObject({ state: 'accepted', reviewedBy: step })
    expect(await queue()).toEqual([])
    expect(await state()).toBe('accepted')
  })

  it("doesn't take over a root that was reviewed before the step arrived", async ({ expect }) => {
    const { root, add, queue, decide, shown } = await newAnswer()
    await decide(root, { decision: 'accept' })
    const step = await add(message(TEXT))
    expect((await shown(root)).review).toMatchObject({ state: 'accepted', reviewedBy: null })
    expect(await queue()).toEqual([step])
    await decide(root, { decision: 'reset' })
    expect((await shown(root)).review).toMatchObject({ state: 'unreviewed', reviewedBy: step })
  })

  it.for([
    ['is not a step of a pipeline', { 'http.request.method': 'GET' }],
    ['is a tool', { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'search' }],
    ['is an embedding', { 'openinference.span.kind': 'EMBEDDING' }],
    ['only supports other steps', { 'openinference.span.kind': 'CHAIN' }],
  ] as const)('is never a span that %s', async ([, attributes], { expect }) => {
    const { org, span, uuidOf, read } = await newRun()
    const [rootId, childId] = ['00000000000000aa', '00000000000000bb']
    const output = { 'output.value': TEXT, 'gen_ai.tool.call.result': TEXT }
    await exportSpans(org, [
      span({ spanId: rootId, attributes: { 'openinference.span.kind': 'CHAIN', 'output.value': TEXT } }),
      span({ spanId: childId, parentSpanId: rootId, attributes: { ...attributes, ...output } }),
    ])
    const root = (await read()).spans.find(({ id }: { id: string }) => id !== undefined)
    expect(root).toMatchObject({ id: await uuidOf(rootId), review: { reviewedBy: null } })
    const { spans } = (await org.owner.get('/api/review-queue?projectSlug=support')).body
    expect(spans.map(({ id }: { id: string }) => id)).toContain(await uuidOf(rootId))
  })
})

describe('two outputs', () => {
  it('stop sharing text when one of them changes, and share it again when that output changes back', async ({
    expect,
  }) => {
    const { root, add, observe, queue, shown } = await newAnswer()
    const step = await add(message(TEXT))
    await observe({ data: OTHER, timestamp: timeAfter(10) })
    expect(await queue()).toEqual([root, step])
    await observe({ data: { answer: TEXT }, timestamp: timeAfter(20) })
    expect(await queue()).toEqual([step])
    // An earlier output that arrives late changes nothing.
    await observe({ data: OTHER, timestamp: timeAfter(15) })
    expect(await queue()).toEqual([step])
    await add(message(OTHER), { span_id: step })
    expect(await queue()).toEqual([root, step])
    expect((await shown(root)).review.reviewedBy).toBeNull()
  })

  it('share no text if one of them becomes null', async ({ expect }) => {
    const { root, add, observe, queue } = await newAnswer()
    const step = await add(message(TEXT))
    await observe({ span_id: step, data: null, timestamp: timeAfter(20) })
    expect(await queue()).toEqual([root])
  })

  it('share their text even if they arrive as observations before their spans', async ({ expect }) => {
    const { root, observe, step, queue, shown } = await newAnswer()
    const span_id = crypto.randomUUID()
    await observe({ span_id, data: message(TEXT) })
    await step({ span_id, step_id: 'generate', output: undefined })
    expect(await queue()).toEqual([span_id])
    expect((await shown(root)).review.reviewedBy).toBe(span_id)
  })

  it("are reviewed separately if a correction of the step doesn't fit the root's form", async ({ expect }) => {
    const { root, add, queue, decide, shown } = await newAnswer()
    const step = await add(message(TEXT))
    const call = message(null, { tool_calls: [{ id: 'call_1', type: 'function' }] })
    await decide(step, { decision: 'correct', approvedOutput: call })
    expect((await shown(root)).review).toMatchObject({ state: 'unreviewed', reviewedBy: null })
    expect(await queue()).toEqual([root])
    await decide(step, { decision: 'correct', approvedOutput: message(OTHER) })
    expect((await shown(root)).approvedOutput).toEqual({ answer: OTHER })
    expect(await queue()).toEqual([])
  })

  it("are reviewed separately if a correction of the root doesn't fit the step's form", async ({ expect }) => {
    const { root, add, queue, decide, shown } = await newAnswer()
    const step = await add(message(TEXT))
    await decide(root, { decision: 'correct', approvedOutput: { answer: TEXT, sources: [] } })
    expect(await shown(root)).toMatchObject({
      approvedOutput: { answer: TEXT, sources: [] },
      review: { state: 'corrected', reviewedBy: null },
    })
    expect(await queue()).toEqual([step])
  })

  it('are both unreviewed if one of them is stale', async ({ expect }) => {
    const { root, add, queue, decide, shown } = await newAnswer()
    const step = await add(TEXT)
    await decide(root, { decision: 'correct', approvedOutput: { answer: OTHER } })
    const changed = 'The warranty lasts 36 months.'
    await add(changed, { span_id: step })
    expect((await shown(root)).review.reviewedBy).toBeNull()
    expect(await queue()).toEqual([root, step])
  })
})

describe('text that many spans share', () => {
  it('is reviewed with the deepest of the first 200 spans', async ({ expect }) => {
    const { org, trace_id, root, shown } = await newAnswer()
    const ids = Array.from({ length: MAX_SHARING_SPANS + 1 }, () => crypto.randomUUID())
    const events = ids.map((span_id, index) => ({
      type: 'span',
      body: aSpan({
        trace_id,
        span_id,
        output: TEXT,
        timestamp: timeAfter(index),
        // The 200th span is below the first, and the last is below the 200th.
        ...(index >= MAX_SHARING_SPANS - 1 && { parent_span_id: ids[index === MAX_SHARING_SPANS ? index - 1 : 0] }),
      }),
    }))
    expect((await org.ingest.post('/api/v1/batch', { events })).status).toBe(207)
    expect((await shown(root)).review.reviewedBy).toBe(ids[MAX_SHARING_SPANS - 1])
  })

  it('is found at any depth, but depths greater than 100 count as 100', async ({ expect }) => {
    const { org, trace_id, root, shown } = await newAnswer()
    const ids = Array.from({ length: MAX_SHARING_DEPTH + 20 }, () => crypto.randomUUID())
    const events = ids.map((span_id, index) => {
      const isShared = index === 50 || index >= MAX_SHARING_DEPTH + 10
      const output = isShared ? TEXT : index
      return {
        type: 'span',
        body: aSpan({ trace_id, span_id, output, parent_span_id: ids[index - 1], timestamp: timeAfter(index) }),
      }
    })
    expect((await org.ingest.post('/api/v1/batch', { events })).status).toBe(207)
    expect((await shown(root)).review.reviewedBy).toBe(ids[MAX_SHARING_DEPTH + 10])
  })
})

describe('the cost of shared text', () => {
  it('includes no extra row for the hash', async ({ expect }) => {
    const org = await newOrg()
    const rowsFor = async (output: unknown) => {
      const { trace_id } = await newTrace(org)
      const { bindings, counts } = countingBindings()
      await org.bearer(bindings).post('/api/v1/spans', aSpan({ trace_id, output }))
      return counts.rowsWritten
    }
    expect(await rowsFor(TEXT)).toBe(await rowsFor('short'))
  })
})
