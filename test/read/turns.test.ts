import { describe, it, vi } from 'vitest'
import { MAX_TURN_FEEDBACK, MAX_TURN_SPANS } from '../../src/limits.ts'
import { aFeedback, anObservation, aSpan, aTrace, timeAfter } from '../support/builders.ts'
import { newOrg, type Org } from '../support/org.ts'
import { aHexSpanId, aHexTraceId, anExportedSpan, exportSpans } from '../support/telemetry.ts'
import { manyTraces } from '../support/traces.ts'

vi.setConfig({ testTimeout: 30_000 })

interface Turn {
  id: string
  span: { id: string; input: unknown; output: unknown } | null
  feedback: { content: string }[]
}

const get = async ({ read }: Org, query = 'value=chat') =>
  (await read.get(`/api/groups/turns?projectSlug=support&${query}`)).body

/** Reads a whole conversation, page by page. */
async function all(org: Org, query = 'value=chat'): Promise<Turn[]> {
  const turns: Turn[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await get(org, `${query}${cursor && `&cursor=${cursor}`}`)
    turns.push(...page.turns)
    cursor = page.nextCursor
  }
  return turns
}

/** Sends a trace with a user's message and the answer. Its timestamp is `seconds` after TIME. */
async function say(
  org: Org,
  seconds: number,
  said: unknown,
  answered: unknown,
  metadata: object = { group_id: 'chat' },
) {
  const { trace_id, ...trace } = aTrace({ timestamp: timeAfter(seconds * 1000), metadata, status: 'completed' })
  const { id } = (await org.ingest.post('/api/v1/traces', { trace_id, ...trace })).body
  for (const [type, data] of [
    ['input', said],
    ['output', answered],
  ] as const) {
    if (data !== undefined) await org.ingest.post('/api/v1/observations', anObservation({ trace_id, type, data }))
  }
  return { id, trace_id }
}

const textsOf = (turns: Turn[]) => turns.map(({ span }) => [span?.input, span?.output])

describe('a conversation', () => {
  it.for([1, 2, 50])(
    'is listed oldest first, or newest first on request, in pages of %i',
    async (limit, { expect }) => {
      const org = await newOrg()
      await say(org, 2, 'How long?', 'Two years.')
      await say(org, 1, 'Is there a warranty?', 'Yes.')
      await say(org, 3, 'Hello?', 'Another chat', { group_id: 'other' })
      await say(org, 4, 'Thanks', undefined)
      const texts = [
        ['Is there a warranty?', 'Yes.'],
        ['How long?', 'Two years.'],
        ['Thanks', null],
      ]
      expect(textsOf(await all(org, `value=chat&limit=${limit}`))).toEqual(texts)
      expect(textsOf(await all(org, `value=chat&order=newest&limit=${limit}`))).toEqual(texts.toReversed())
      expect(await get(org, 'value=none')).toEqual({ turns: [], nextCursor: null })
    },
  )

  it('shows each turn’s span and feedback in the same form as other responses', async ({ expect }) => {
    const org = await newOrg()
    const { id, trace_id } = await say(org, 1, 'Hi', { text: 'x'.repeat(20_000) })
    await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id, comment: 'Too long' }))
    const trace = (await org.read.get(`/api/traces/${id}`)).body
    const [root] = trace.spans
    await org.owner.put(`/api/spans/${root.id}/review`, { decision: 'accept', comment: 'Fine' })
    const { turns } = await get(org)
    const { feedback, ...reviewed } = (await org.read.get(`/api/traces/${id}`)).body
    expect(turns).toHaveLength(1)
    expect(turns[0]).toMatchObject({
      id,
      traceId: trace_id,
      reviewState: 'accepted',
      feedbackCount: 2,
      feedback,
      createdAt: reviewed.createdAt,
    })
    expect(turns[0].span).toEqual((await org.read.get(`/api/spans/${root.id}`)).body)
    expect((await get(org, 'value=chat&payloads=preview')).turns[0].span.truncated).toContain('output')
  })

  it('shows the review that a root shares with a step', async ({ expect }) => {
    const org = await newOrg()
    const text = 'The warranty lasts two years.'
    const { trace_id } = await say(org, 1, 'Hi', { answer: text })
    const span = aSpan({ trace_id, output: text })
    await org.ingest.post('/api/v1/spans', span)
    const correction = { decision: 'correct', approvedOutput: 'The warranty lasts a year.' }
    await org.owner.put(`/api/spans/${span.span_id}/review`, correction)
    expect((await get(org)).turns[0].span).toMatchObject({
      approvedOutput: { answer: correction.approvedOutput },
      review: { reviewedBy: span.span_id },
    })
  })

  it('shows the last step with an output if the root has none', async ({ expect }) => {
    const org = await newOrg()
    const [traceId, rootId] = [aHexTraceId(), aHexSpanId()]
    const child = (start: number, name: string, attributes: object) =>
      anExportedSpan({ traceId, parentSpanId: rootId, name, start, attributes })
    await exportSpans(org, [
      anExportedSpan({ traceId, spanId: rootId, name: 'POST /chat', attributes: { 'session.id': 'chat' } }),
      child(1, 'plan', { 'gen_ai.operation.name': 'chat', 'input.value': 'Plan', 'output.value': 'Planned' }),
      child(2, 'answer', { 'gen_ai.operation.name': 'chat', 'input.value': 'Hi', 'output.value': 'Hello' }),
    ])
    expect(textsOf(await all(org))).toEqual([['Hi', 'Hello']])
    // A trace without a root or any spans is also a turn.
    await manyTraces(org, 1, () => ({ name: 'empty', fields: { group_id: 'empty' } }))
    expect(await all(org, 'value=empty')).toMatchObject([{ span: { output: null }, feedback: [] }])
  })

  it('looks for the last step with an output among a limited number of steps', async ({ expect }) => {
    const org = await newOrg()
    const { trace_id } = await say(org, 1, undefined, undefined)
    const count = MAX_TURN_SPANS + 20
    const events = Array.from({ length: count }, (_, index) => ({
      type: 'span',
      body: aSpan({ trace_id, timestamp: timeAfter(index), output: index }),
    }))
    await org.ingest.post('/api/v1/batch', { events })
    const [turn] = await all(org)
    expect(turn?.span?.output).toBeGreaterThan(MAX_TURN_SPANS / 2)
  })

  it('limits a page to 8 MiB of values, but always includes at least one turn', async ({ expect }) => {
    const org = await newOrg()
    for (const second of [1, 2, 3]) await say(org, second, second, 'x'.repeat(4.5 * 1024 * 1024))
    const { turns, nextCursor } = await get(org)
    expect([turns.length, nextCursor]).toEqual([1, expect.any(String)])
    expect((await all(org)).map(({ span }) => span?.input)).toEqual([1, 2, 3])
  })

  it('shows a limited number of feedback records per page', async ({ expect }) => {
    const org = await newOrg()
    const { trace_id } = await say(org, 1, 'Hi', 'Hello')
    const events = Array.from({ length: MAX_TURN_FEEDBACK + 1 }, (_, index) => ({
      type: 'feedback',
      body: aFeedback({ trace_id, comment: `Comment ${index}` }),
    }))
    await org.ingest.post('/api/v1/batch', { events })
    const [turn] = (await get(org)).turns
    expect([turn.feedback.length, turn.feedbackCount]).toEqual([MAX_TURN_FEEDBACK, MAX_TURN_FEEDBACK + 1])
  })

  it('leaves out deleted traces', async ({ expect }) => {
    const org = await newOrg()
    const { id } = await say(org, 1, 'Hi', 'Hello')
    await say(org, 2, 'Bye', 'Goodbye')
    await org.owner.delete(`/api/traces/${id}`)
    expect(textsOf(await all(org))).toEqual([['Bye', 'Goodbye']])
  })

  it.for([
    ['', 'value'],
    ['value=a&key=', 'key'],
    ['value=a&limit=51', 'limit'],
    ['value=a&order=oldest-first', 'order'],
    ['value=a&from=2026-11-21T00:00:00.000Z', 'from'],
    ['value=a&cursor=x', 'cursor'],
  ])('rejects "%s"', async ([query, path], { expect }) => {
    const org = await newOrg()
    const { status, body } = await org.read.get(`/api/groups/turns?projectSlug=support&${query}`)
    expect(status).toBe(400)
    expect(body.details.map((detail: { path: string }) => detail.path)).toContain(path)
  })
})
