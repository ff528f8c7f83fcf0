import { describe, it } from 'vitest'
import { INLINE_BYTES, MAX_SUGGESTION_BYTES, MAX_SUGGESTIONS, PREVIEW_BYTES } from '../../src/limits.ts'
import { countingBindings, wrapBindings } from '../support/bindings.ts'
import { isSharded, stored } from '../support/database.ts'
import { type Client, client, type Org } from '../support/org.ts'
import { newReviewed, reviewerOf } from '../support/reviews.ts'
import { storedCounts } from '../support/stored.ts'
import { newTrace } from '../support/trace.ts'

const OUTPUT = { answer: 'Yes' }
const CORRECTION = { answer: 'No' }
const large = 'x'.repeat(INLINE_BYTES)

/** Creates a key that acts as an agent by default, and a client that uses the key. */
async function newAgent(org: Org, fields: object = {}) {
  const draft = { name: 'Agent', projectSlug: 'support', scopes: ['read', 'review'], actsAs: 'agent', ...fields }
  const { id, key } = (await org.owner.post('/api/api-keys', draft)).body
  return { id: String(id), key: String(key), client: client({ 'x-api-key': key }) }
}

/** Creates a trace whose root has an output, and an agent that may review it. */
async function newSuggested(output: unknown = OUTPUT) {
  const reviewed = await newReviewed(output)
  const agent = await newAgent(reviewed.org)
  const { org, id, spanId } = reviewed
  return {
    ...reviewed,
    agent,
    suggest: (body: object, headers: Record<string, string> = {}, by: Client = agent.client) =>
      reviewed.review(body, headers, by),
    queue: async () => (await org.owner.get('/api/review-queue?projectSlug=support')).body,
    /** Everything that a review can change. */
    everything: async () => {
      const day = new Date().toISOString()
      const { updatedAt: _, ...insights } = (
        await org.owner.get(`/api/insights?projectSlug=support&from=${day}&to=${day}`)
      ).body
      const { suggestions: __, ...span } = (await org.read.get(`/api/spans/${spanId}`)).body
      const { spans: ___, ...trace } = (await org.read.get(`/api/traces/${id}`)).body
      const { remaining, today } = (await org.owner.get('/api/review-queue?projectSlug=support')).body
      return {
        span,
        trace,
        insights,
        queue: { remaining, today },
        history: await reviewed.history(),
        audit: (await org.owner.get('/api/audit-log')).body.entries.filter(
          ({ action }: { action: string }) => !action.startsWith('api_key'),
        ),
      }
    },
  }
}

const ACCEPTED = { decision: 'accept', approvedOutput: null, comment: null, errorType: null }

describe('an agent’s decision', () => {
  it.for([
    ['an acceptance', { decision: 'accept' }, {}],
    ['a correction', { decision: 'correct', approvedOutput: CORRECTION }, { approvedOutput: CORRECTION }],
    ['a reset', { decision: 'reset' }, {}],
    [
      'a comment and an error type',
      { decision: 'accept', comment: 'Short', errorType: 'reasoning_error' },
      { comment: 'Short', errorType: 'reasoning_error' },
    ],
    [
      'a correction that equals the output, which is an acceptance',
      { decision: 'correct', approvedOutput: OUTPUT },
      ACCEPTED,
    ],
    ['a decision that would take over the span', { decision: 'accept', takeOver: true }, {}],
  ] as const)('is only a suggestion: %s', async ([, body, shown], { expect }) => {
    const { agent, suggest, read, queue, everything } = await newSuggested()
    const before = await everything()
    const started = Date.now()
    const response = await suggest(body)
    expect(response.status).toBe(200)
    const suggestion = { ...ACCEPTED, decision: body.decision, ...shown, id: expect.any(String), by: agent.id }
    expect(response.body.suggestions).toEqual([{ ...suggestion, at: expect.any(String) }])
    expect(Date.parse(response.body.suggestions[0].at)).toBeGreaterThanOrEqual(started)
    expect(await everything()).toEqual(before)
    expect(response.headers.get('etag')).toBe(before.span.etag)
    const { trace, span } = await read()
    expect(span).toEqual(response.body)
    expect(trace.spans[0].suggestions).toEqual(span.suggestions)
    expect((await queue()).spans[0].suggestions).toEqual(span.suggestions)
  })

  it('is only a suggestion even on a reviewed span', async ({ expect }) => {
    const { review, suggest, everything } = await newSuggested()
    await review({ decision: 'correct', approvedOutput: CORRECTION, comment: 'Wrong', errorType: 'reasoning_error' })
    const before = await everything()
    for (const decision of ['reset', 'accept'] as const) {
      expect((await suggest({ decision })).body).toMatchObject({
        approvedOutput: CORRECTION,
        review: { state: 'corrected' },
        suggestions: [{ ...ACCEPTED, decision }],
      })
      expect(await everything()).toEqual(before)
    }
  })

  it('is shown as an empty list if there is none', async ({ expect }) => {
    const { read, queue } = await newSuggested()
    const { trace, span } = await read()
    expect([span, trace.spans[0], (await queue()).spans[0]].map(({ suggestions }) => suggestions)).toEqual([[], [], []])
  })

  it('is a suggestion because its key acts as an agent, even if a person’s key has the same user', async ({
    expect,
  }) => {
    const { org, review, suggest, read } = await newSuggested()
    const reviewer = await reviewerOf(org)
    const { client: agent } = await newAgent(org, { userId: reviewer.userId })
    await review({ decision: 'accept' }, {}, reviewer.client)
    const response = await suggest({ decision: 'accept' }, {}, agent)
    expect(response.body.suggestions).toMatchObject([{ ...ACCEPTED, by: reviewer.userId }])
    const { span } = await read()
    expect(span.review).toMatchObject({ state: 'accepted', by: reviewer.userId })
    expect((await suggest({ decision: 'accept' }, { 'if-match': '"other"' }, agent)).status).toBe(412)
  })

  it('replaces the agent’s earlier suggestion, and sending the same decision again changes nothing', async ({
    expect,
  }) => {
    const { agent, suggest, read } = await newSuggested()
    const body = { decision: 'correct', approvedOutput: CORRECTION, comment: 'No' }
    const [first] = (await suggest(body)).body.suggestions
    const same = { ...body, approvedOutput: { answer: 'No' } }
    expect((await suggest(same)).body.suggestions).toEqual([first])
    for (const other of [
      { ...body, approvedOutput: { answer: 'Never' } },
      { ...body, comment: 'Other' },
      { decision: 'correct', approvedOutput: CORRECTION },
      { ...body, errorType: 'reasoning_error' },
      { decision: 'accept', comment: 'No' },
    ]) {
      const { suggestions } = (await suggest(other)).body
      expect(suggestions).toMatchObject([{ by: agent.id, decision: other.decision }])
      expect(suggestions[0].id).not.toBe(first.id)
      expect((await read()).span.suggestions).toEqual(suggestions)
    }
  })

  it('is shown with the suggestions of other agents, oldest first, up to a limit', async ({ expect }) => {
    const { org, agent, suggest, read } = await newSuggested()
    const others = await Promise.all(Array.from({ length: MAX_SUGGESTIONS }, () => newAgent(org)))
    await suggest({ decision: 'accept' })
    for (const { client } of others.slice(1))
      expect((await suggest({ decision: 'reset' }, {}, client)).status).toBe(200)
    const before = (await read()).span.suggestions
    expect(before.map(({ by }: { by: string }) => by)).toEqual([agent.id, ...others.slice(1).map(({ id }) => id)])
    const refused = await suggest({ decision: 'accept' }, {}, others[0]?.client)
    expect(refused).toMatchObject({
      status: 422,
      body: { error: 'The span already has the maximum number of suggestions, from 10 agents' },
    })
    expect((await read()).span.suggestions).toEqual(before)
    // An agent may still change its own suggestion.
    expect((await suggest({ decision: 'reset' })).body.suggestions).toHaveLength(MAX_SUGGESTIONS)
  })

  it('doesn’t need a claim, and leaves other people’s claims alone', async ({ expect }) => {
    const { org, spanId, suggest, review } = await newSuggested()
    const [holder, other] = [await reviewerOf(org), await reviewerOf(org)]
    await holder.client.post('/api/review-queue/claim', { spanIds: [spanId] })
    expect((await suggest({ decision: 'accept' })).status).toBe(200)
    const refused = await review({ decision: 'accept' }, {}, other.client)
    expect(refused).toMatchObject({ status: 409, body: { heldBy: holder.userId } })
  })

  it('remains after a person’s decision, and doesn’t affect that decision', async ({ expect }) => {
    const { suggest, review } = await newSuggested()
    const { suggestions } = (await suggest({ decision: 'accept' })).body
    const decided = await review({ decision: 'correct', approvedOutput: CORRECTION })
    expect(decided.body).toMatchObject({ approvedOutput: CORRECTION, review: { state: 'corrected' }, suggestions })
  })

  it('disappears when a newer output arrives', async ({ expect }) => {
    const { org, suggest, observe, read } = await newSuggested()
    await suggest({ decision: 'accept' })
    await observe({ data: CORRECTION, timestamp: new Date(Date.now() + 1000).toISOString() })
    expect((await read()).span).toMatchObject({ output: CORRECTION, suggestions: [] })
    const { client: other, id } = await newAgent(org)
    expect((await suggest({ decision: 'accept' }, {}, other)).body.suggestions).toMatchObject([{ by: id }])
    const { results } = await stored.prepare('select user_id from suggestions where user_id = ?').bind(id).all()
    expect(results).toHaveLength(1)
  })

  it.for([
    ['an acceptance without an output', [], { decision: 'accept' }, 422, 'decision'],
    ['a correction to null', [1], { decision: 'correct', approvedOutput: null }, 422, 'approvedOutput'],
    ['a correction without a value', [1], { decision: 'correct' }, 400, 'approvedOutput'],
    ['an unknown error type', [1], { decision: 'accept', errorType: 'nope' }, 422, 'errorType'],
    ['an unknown decision', [1], { decision: 'approve' }, 400, 'decision'],
  ] as const)('is checked like a person’s: %s', async ([, outputs, body, status, path], { expect }) => {
    const { org, span, observe } = await newTrace()
    const { id } = await span()
    for (const data of outputs) await observe({ data })
    const agent = await newAgent(org)
    const before = await storedCounts()
    const response = await agent.client.put(`/api/spans/${id}/review`, body)
    expect(response).toMatchObject({ status, body: { details: [{ path }] } })
    expect(await storedCounts()).toEqual(before)
  })

  it('must satisfy If-Match, and must match the output schema unless it is forced', async ({ expect }) => {
    const { org, step } = await newReviewed(OUTPUT)
    const outputSchema = { type: 'object', required: ['answer'] }
    await org.owner.post('/api/prompts', { projectSlug: 'support', stepId: 'judge', content: 'Answer', outputSchema })
    const span_id = crypto.randomUUID()
    await step({ span_id, step_id: 'judge', output: OUTPUT })
    const { client: agent } = await newAgent(org)
    const put = (body: object, headers = {}) => agent.put(`/api/spans/${span_id}/review`, body, headers)
    const { etag } = (await org.read.get(`/api/spans/${span_id}`)).body
    expect((await put({ decision: 'accept' }, { 'if-match': '"other"' })).status).toBe(412)
    expect((await put({ decision: 'accept' }, { 'if-match': etag })).status).toBe(200)
    const invalid = { decision: 'correct', approvedOutput: {} }
    expect((await put(invalid)).status).toBe(422)
    expect((await put({ ...invalid, force: true })).body.suggestions).toMatchObject([{ approvedOutput: {} }])
  })

  it('is rejected for a span that the key can’t see', async ({ expect }) => {
    const [{ org, spanId }, foreign] = [await newSuggested(), await newReviewed(OUTPUT)]
    const { client: agent } = await newAgent(org)
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const { client: elsewhere } = await newAgent(org, { projectSlug: 'other' })
    const body = { decision: 'accept' }
    expect((await agent.put(`/api/spans/${foreign.spanId}/review`, body)).status).toBe(403)
    expect((await agent.put(`/api/spans/${crypto.randomUUID()}/review`, body)).status).toBe(404)
    expect((await elsewhere.put(`/api/spans/${spanId}/review`, body)).status).toBe(403)
  })

  it('may be large', async ({ expect }) => {
    const { id, org, suggest, read } = await newSuggested()
    const approvedOutput = { text: large }
    expect((await suggest({ decision: 'correct', approvedOutput })).body.suggestions).toMatchObject([
      { approvedOutput },
    ])
    const { span, trace } = await read()
    expect([span.suggestions, trace.spans[0].suggestions]).toMatchObject([[{ approvedOutput }], [{ approvedOutput }]])
    const preview = (await org.read.get(`/api/traces/${id}?payloads=preview`)).body.spans[0]
    expect(preview.suggestions[0].approvedOutput).toBe(JSON.stringify(approvedOutput).slice(0, PREVIEW_BYTES))
    expect(preview.truncated).toEqual(['suggestions.0.approvedOutput'])
  })

  it('is shown in full in its span’s response, and as a preview in lists if the suggestions are too large', async ({
    expect,
  }) => {
    const { org, id, suggest, read } = await newSuggested()
    const { client: other } = await newAgent(org)
    const approvedOutput = 'x'.repeat(MAX_SUGGESTION_BYTES)
    for (const by of [undefined, other]) await suggest({ decision: 'correct', approvedOutput }, {}, by)
    const { span } = await read()
    expect(span.suggestions).toMatchObject([{ approvedOutput }, { approvedOutput }])
    await org.ingest.post('/api/v1/spans', {
      trace_id: (await org.read.get(`/api/traces/${id}`)).body.traceId,
      span_id: crypto.randomUUID(),
      step_id: 'other',
      timestamp: new Date().toISOString(),
    })
    const [root] = (await org.read.get(`/api/traces/${id}`)).body.spans
    expect(root.truncated).toEqual(['suggestions.0.approvedOutput', 'suggestions.1.approvedOutput'])
  })

  it.skipIf(isSharded)('adds a round trip to reads only if it exists', async ({ expect }) => {
    const { org, id, spanId, suggest } = await newSuggested()
    const paths = [`/api/spans/${spanId}`, `/api/traces/${id}`]
    const roundTrips = async () => {
      const found = []
      for (const path of paths) {
        const { bindings, counts } = countingBindings()
        await org.clientOf(org.projectKey, bindings).get(path)
        found.push(counts.d1RoundTrips)
      }
      return found
    }
    await roundTrips()
    expect(await roundTrips()).toEqual([1, 1])
    await suggest({ decision: 'accept' })
    expect(await roundTrips()).toEqual([2, 2])
  })

  it.skipIf(isSharded)(
    'writes two rows, or one if it replaces a suggestion, or none if it repeats the last one',
    async ({ expect }) => {
      const { agent, spanId } = await newSuggested()
      const written = async (body: object) => {
        const { bindings, counts } = countingBindings()
        await client({ 'x-api-key': agent.key }, bindings).put(`/api/spans/${spanId}/review`, body)
        return counts
      }
      expect(await written({ decision: 'accept' })).toMatchObject({ rowsWritten: 2 })
      expect(await written({ decision: 'reset' })).toMatchObject({ rowsWritten: 1, d1RoundTrips: 3, queueSends: 0 })
      expect(await written({ decision: 'reset' })).toMatchObject({ rowsWritten: 0 })
    },
  )

  it('is checked again if another output arrives before it is stored', async ({ expect }) => {
    const { agent, spanId, observe, read } = await newSuggested()
    const later = { data: CORRECTION, timestamp: new Date(Date.now() + 1000).toISOString() }
    await agent.client.get(`/api/spans/${spanId}`)
    let calls = 0
    const bindings = wrapBindings(async (binding, call) => {
      // The first call reads the span, and the second stores the suggestion.
      if (binding === 'DB' && ++calls === 2) await observe(later)
      return call()
    })
    const body = { decision: 'correct', approvedOutput: CORRECTION }
    await client({ 'x-api-key': agent.key }, bindings).put(`/api/spans/${spanId}/review`, body)
    // The correction equals the new output.
    expect((await read()).span).toMatchObject({ output: CORRECTION, suggestions: [ACCEPTED] })
  })
})

describe('many decisions by an agent', () => {
  it('become suggestions, each with its own result', async ({ expect }) => {
    const [{ org, spanId, agent, everything }, foreign] = [await newSuggested(), await newReviewed(OUTPUT)]
    const other = await newReviewed(OUTPUT, org)
    const before = await everything()
    const { status, body } = await agent.client.post('/api/reviews', {
      reviews: [
        { spanId, decision: 'accept' },
        { spanId: other.spanId, decision: 'correct', approvedOutput: CORRECTION },
        { spanId: foreign.spanId, decision: 'accept' },
        { spanId: crypto.randomUUID(), decision: 'accept' },
        { spanId, decision: 'reset' },
      ],
    })
    expect(status).toBe(207)
    expect(body.results.map(({ status }: { status: number }) => status)).toEqual([200, 200, 403, 404, 400])
    expect(body.results.slice(0, 2)).toMatchObject([
      { body: { suggestions: [{ ...ACCEPTED, by: agent.id }], review: { state: 'unreviewed' } } },
      { body: { suggestions: [{ decision: 'correct', approvedOutput: CORRECTION }], approvedOutput: null } },
    ])
    expect(await everything()).toEqual(before)
  })
})

describe('a pipeline', () => {
  it('can neither decide nor suggest a decision', async ({ expect }) => {
    const { org, spanId, suggest, everything, read } = await newSuggested()
    const { client: pipeline } = await newAgent(org, { actsAs: 'pipeline' })
    const before = await everything()
    const refused = { status: 403, body: { error: 'Forbidden', code: 'person_required' } }
    expect(await suggest({ decision: 'accept' }, {}, pipeline)).toMatchObject(refused)
    const { status, body } = await pipeline.post('/api/reviews', { reviews: [{ spanId, decision: 'accept' }] })
    expect(status).toBe(207)
    expect(body.results).toMatchObject([refused])
    expect(await everything()).toEqual(before)
    expect((await read()).span.suggestions).toEqual([])
  })
})

const TEXT = 'The warranty lasts 24 months.'
const OTHER = 'The warranty lasts 12 months.'

describe('a suggestion on a root that’s reviewed with a step', () => {
  const newPair = async () => {
    const trace = await newReviewed({ answer: TEXT })
    const step = crypto.randomUUID()
    await trace.step({ span_id: step, step_id: 'generate', output: { role: 'assistant', content: TEXT } })
    const { client: agent } = await newAgent(trace.org)
    return { ...trace, step, agent, put: (id: string, body: object) => agent.put(`/api/spans/${id}/review`, body) }
  }

  it.for(['the root', 'the step'] as const)(
    'is stored where a decision would be stored, and both spans show it in their own form: %s',
    async (on, { expect }) => {
      const { org, id, spanId, step, put, read } = await newPair()
      const [root, own] = [{ answer: OTHER }, { role: 'assistant', content: OTHER }]
      const response = await put(on === 'the root' ? spanId : step, {
        decision: 'correct',
        approvedOutput: on === 'the root' ? root : own,
        comment: 'No',
      })
      expect(response.status).toBe(200)
      const shownOn = async (spanId: string) => (await org.read.get(`/api/spans/${spanId}`)).body
      const [shownRoot, shownStep] = [await shownOn(spanId), await shownOn(step)]
      expect(response.body).toEqual(on === 'the root' ? shownRoot : shownStep)
      expect(shownRoot).toMatchObject({ review: { reviewedBy: step }, suggestions: [{ approvedOutput: root }] })
      expect(shownStep).toMatchObject({ review: { reviewedBy: null }, suggestions: [{ approvedOutput: own }] })
      const { spans } = (await read()).trace
      expect(spans.map(({ suggestions }: { suggestions: object }) => suggestions)).toEqual([
        shownRoot.suggestions,
        shownStep.suggestions,
      ])
      const preview = (await org.read.get(`/api/traces/${id}?payloads=preview`)).body.spans
      expect(preview[0].suggestions).toEqual(shownRoot.suggestions)
      const { results } = await stored.prepare('select user_id from suggestions where span_id = ?').bind(step).all()
      expect(results).toHaveLength(1)
    },
  )

  it("stays on the root if it doesn't fit the step's form", async ({ expect }) => {
    const { org, spanId, step, put } = await newPair()
    await put(step, { decision: 'accept' })
    const correction = { answer: OTHER, source: 'doc' }
    const { body } = await put(spanId, { decision: 'correct', approvedOutput: correction })
    // If an agent has several suggestions, the root shows the last one.
    expect(body.suggestions).toMatchObject([{ decision: 'correct', approvedOutput: correction }])
    expect(body.review.reviewedBy).toBe(step)
    expect((await org.read.get(`/api/spans/${step}`)).body.suggestions).toMatchObject([{ decision: 'accept' }])
  })

  it('is also in the response to a decision on the root', async ({ expect }) => {
    const { org, spanId, step, put } = await newPair()
    await put(step, { decision: 'correct', approvedOutput: { role: 'assistant', content: OTHER } })
    const { body } = await org.owner.put(`/api/spans/${spanId}/review`, { decision: 'accept' })
    expect(body).toMatchObject({ review: { state: 'accepted' }, suggestions: [{ approvedOutput: { answer: OTHER } }] })
    expect((await org.read.get(`/api/spans/${spanId}`)).body).toEqual(body)
    await org.owner.put(`/api/spans/${step}/review`, {
      decision: 'correct',
      approvedOutput: { role: 'assistant', content: 'Five years of warranty.' },
    })
    const again = await put(spanId, { decision: 'reset' })
    expect(again.body).toMatchObject({
      approvedOutput: { answer: 'Five years of warranty.' },
      suggestions: [{ decision: 'reset' }],
    })
    expect((await org.read.get(`/api/spans/${spanId}`)).body).toEqual(again.body)
  })
})
