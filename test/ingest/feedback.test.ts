import { describe, it } from 'vitest'
import { feedbackUuid, uuidV5 } from '../../src/domain/ids.ts'
import { MAX_COMMENT_LENGTH, MAX_FEEDBACK_ID_LENGTH, MAX_NAME_LENGTH } from '../../src/limits.ts'
import { aFeedback, aTrace, TIME, timeAfter } from '../support/builders.ts'
import { isSharded } from '../support/database.ts'
import { client, newOrg } from '../support/org.ts'
import { newTrace } from '../support/trace.ts'

describe('feedback', () => {
  it.for([
    ['no trace_id', { trace_id: undefined }, 'trace_id'],
    ['an unknown word as a rating', { rating: 'good' }, 'rating'],
    ['a rating over 1', { rating: 1.01 }, 'rating'],
    ['a rating under 0', { rating: -0.01 }, 'rating'],
    ['a comment that is not a string', { comment: 5 }, 'comment'],
    ['a comment that is too long', { comment: 'x'.repeat(MAX_COMMENT_LENGTH + 1) }, 'comment'],
    ['a correction that is not an object', { correction: 'text' }, 'correction'],
    ['a labeler that is not an object', { labeller: 'Ada' }, 'labeller'],
    ['a labeler that is a list', { labeller: [1] }, 'labeller'],
    ['a labeler with a name that is not a string', { labeller: { name: 5 } }, 'labeller.name'],
    ['a labeler with an empty email', { labeller: { email: '' } }, 'labeller.email'],
    ['a labeler with an invalid email', { labeller: { email: 'no-email-at-all' } }, 'labeller.email'],
    ['a labeler whose email has a space', { labeller: { email: 'ada @example.com' } }, 'labeller.email'],
    ['an empty feedback_id', { feedback_id: '' }, 'feedback_id'],
    ['a feedback_id that is too long', { feedback_id: 'x'.repeat(MAX_FEEDBACK_ID_LENGTH + 1) }, 'feedback_id'],
    ['an invalid timestamp', { timestamp: 'today' }, 'timestamp'],
    ['an empty name', { name: '' }, 'name'],
    ['a name that is too long', { name: 'x'.repeat(MAX_NAME_LENGTH + 1) }, 'name'],
    ['a name that is not a string', { name: 5 }, 'name'],
    ['another source', { source: 'api' }, 'source'],
  ] as const)('400s for %s', async ([, fields, path], { expect }) => {
    const { give, read } = await newTrace()
    const response = await give(fields)
    expect(response.status).toBe(400)
    expect(response.body.details[0].path).toBe(path)
    expect((await read()).feedback).toEqual([])
  })

  it('404s for a missing trace, and creates no user for its labeler', async ({ expect }) => {
    const org = await newOrg()
    const labeller = { email: 'ada@example.com' }
    const response = await org.ingest.post('/api/v1/feedback', aFeedback({ labeller }))
    expect(response.status).toBe(404)
    expect(response.body.error).toBe('Trace not found')
    expect((await org.owner.get('/api/users')).body.users).toEqual([])
  })

  it('lists the allowed ratings in the error', async ({ expect }) => {
    const { give } = await newTrace()
    for (const rating of ['good', -1, 2, true]) {
      const { error } = (await give({ rating })).body
      expect(error).toBe('rating: must be positive, negative, or a number from 0.0 to 1.0')
    }
  })

  it('creates a new record each time if it has no feedback_id', async ({ expect }) => {
    const { give, read } = await newTrace()
    const ids = [(await give({ comment: 'a' })).body.feedback_id, (await give({ comment: 'a' })).body.feedback_id]
    expect(new Set(ids).size).toBe(2)
    expect((await read()).feedback).toHaveLength(2)
  })

  it('updates only the fields that are sent if its feedback_id exists', async ({ expect }) => {
    const { give, read } = await newTrace()
    const feedback_id = 'mine/1 ✓'
    const first = await give({ feedback_id, rating: 0, comment: 'first', correction: { answer: 'x' }, timestamp: TIME })
    expect(first).toMatchObject({ status: 201, body: { status: 'success', feedback_id } })
    const second = await give({ feedback_id, rating: 'positive', timestamp: timeAfter(5) })
    expect(second).toMatchObject({ status: 200, body: { status: 'success', feedback_id } })
    expect((await read()).feedback).toMatchObject([
      { rating: 'positive', content: 'first', correction: { answer: 'x' }, createdAt: timeAfter(5), source: 'api' },
    ])
  })

  it('keeps its name if an update has none', async ({ expect }) => {
    const { give, read } = await newTrace()
    await give({ feedback_id: 'a', name: 'helpfulness', rating: 1, timestamp: TIME })
    await give({ feedback_id: 'a', rating: 0.25 })
    await give({ feedback_id: 'b', comment: 'Unnamed', timestamp: timeAfter(1) })
    expect((await read()).feedback).toMatchObject([{ name: 'helpfulness', rating: 0.25 }, { name: null }])
  })

  it('changes nothing when it’s sent again, not even updatedAt', async ({ expect }) => {
    const { org, give, read, trace_id } = await newTrace()
    const body = {
      feedback_id: 'a',
      name: 'helpfulness',
      rating: 0.1,
      comment: 'No',
      correction: { answer: 'x' },
      labeller: { email: 'ada@example.com', name: 'Ada' },
      timestamp: TIME,
    }
    await give(body)
    const before = await read()
    const again = await org.ingest.post('/api/v1/batch', {
      events: [{ type: 'feedback', body: { trace_id, ...body } }],
    })
    expect(again.body.results).toMatchObject([{ status: 200 }])
    expect(await read()).toEqual(before)
    for (const change of [{ name: 'tone' }, { comment: 'Yes' }, { rating: 1 }, { timestamp: timeAfter(1) }]) {
      const { updatedAt } = await read()
      await expect.poll(() => Date.now()).toBeGreaterThan(Date.parse(updatedAt))
      await give({ feedback_id: 'a', ...change })
      expect(Date.parse((await read()).updatedAt)).toBeGreaterThan(Date.parse(updatedAt))
    }
  })

  it('needs the manage scope if it’s imported, and then starts no attribution', async ({ expect }) => {
    const { org, give, read, trace_id } = await newTrace()
    await org.owner.patch(`/api/projects/${org.project.id}`, { autoAttribute: true })
    const imported = { trace_id, feedback_id: 'a', rating: 0, source: 'import' }
    const pipeline = org.clientOf(await org.keyFor({ scopes: ['ingest'] }))
    const refused = await pipeline.post('/api/v1/feedback', imported)
    expect([refused.status, refused.body.code]).toEqual([403, 'forbidden'])
    const headers = { 'x-project-slug': 'support' }
    const other = { trace_id, feedback_id: 'b', rating: 1, source: 'import' }
    const events = [imported, other].map(body => ({ type: 'feedback', body }))
    const mixed = await pipeline.post('/api/v1/batch', {
      events: [...events, { type: 'feedback', body: { trace_id, rating: 1 } }],
    })
    expect(mixed.body.results).toMatchObject([{ status: 403 }, { status: 403 }, { status: 201 }])
    expect((await org.owner.post('/api/v1/feedback', imported, headers)).status).toBe(201)
    const attribution = async () => (await org.ingest.get(`/api/v1/traces/${trace_id}/attribution`)).status
    expect(await attribution()).toBe(404)
    expect((await read()).feedback).toMatchObject([{ rating: 1 }, { rating: 0, source: 'api' }])
    await give({ rating: 0 })
    expect(await attribution()).not.toBe(404)
  })

  it('gets an id that a client can compute', async ({ expect }) => {
    const { org, give, read } = await newTrace()
    const generated = (await give({ timestamp: timeAfter(1) })).body.feedback_id
    await give({ feedback_id: 'mine/1', timestamp: TIME })
    const ids = await Promise.all(['mine/1', generated].map(id => feedbackUuid(org.project.id, id)))
    expect((await read()).feedback.map(({ id }: { id: string }) => id)).toEqual(ids)
    expect(ids[0]).toBe(await uuidV5(org.project.id, 'feedback:mine/1'))
  })

  it('can be updated by an id that the service created', async ({ expect }) => {
    const { give, read } = await newTrace()
    const { feedback_id } = (await give({ comment: 'a' })).body
    expect((await give({ feedback_id, comment: 'b' })).status).toBe(200)
    expect((await read()).feedback).toMatchObject([{ content: 'b' }])
  })

  it('creates one record, even if many copies arrive in parallel', async ({ expect }) => {
    const { give, read } = await newTrace()
    const responses = await Promise.all(Array.from({ length: 20 }, () => give({ feedback_id: 'one', rating: 1 })))
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(19)
    expect((await read()).feedback).toHaveLength(1)
  })

  // A feedback_id is unique only within a database.
  it.skipIf(isSharded)('409s with a feedback_id from another trace until that trace is deleted', async ({ expect }) => {
    const { org, id, give } = await newTrace()
    await give({ feedback_id: 'one' })
    const other = aTrace()
    await org.ingest.post('/api/v1/traces', other)
    const labeller = { name: 'Bob', email: 'bob@example.com' }
    const moved = { trace_id: other.trace_id, feedback_id: 'one', comment: 'moved', labeller }
    const rejected = await org.ingest.post('/api/v1/feedback', moved)
    expect(rejected.status).toBe(409)
    expect(rejected.body.details[0].path).toBe('feedback_id')
    expect((await org.owner.get('/api/users')).body.users).toEqual([])
    await org.owner.delete(`/api/traces/${id}`)
    expect((await org.ingest.post('/api/v1/feedback', moved)).status).toBe(201)
    expect((await org.owner.get('/api/users')).body.users).toMatchObject([{ email: 'bob@example.com' }])
  })

  it('belongs to the labeler’s user, or else to the key’s user, or else to the key', async ({ expect }) => {
    const { org, trace_id, give, read } = await newTrace()
    await give({ timestamp: TIME, labeller: { name: 'Ada', email: 'Ada@Example.com' } })
    const [{ id: adaId }] = (await org.owner.get('/api/users')).body.users
    const adasKey = client({ 'x-api-key': await org.keyFor({ userId: adaId }) })
    await adasKey.post('/api/v1/feedback', { trace_id, timestamp: timeAfter(1) })
    await give({ timestamp: timeAfter(2), labeller: { name: 'no email' } })
    const keys = (await org.owner.get('/api/api-keys')).body.apiKeys
    const keyId = keys.find(({ projectId }: { projectId: string | null }) => projectId !== null).id
    const { feedback } = await read()
    expect(feedback.map(({ userId }: { userId: string }) => userId)).toEqual([adaId, adaId, keyId])
    expect(feedback[2].labeller).toEqual({ name: 'no email' })
  })

  it('ignores the case of its labeler’s email', async ({ expect }) => {
    const { org, give, read } = await newTrace()
    await give({ labeller: { email: 'Ada@Example.COM' } })
    expect((await read()).feedback[0].labeller).toEqual({ email: 'ada@example.com' })
    const { users } = (await org.owner.get('/api/users')).body
    expect(users.map(({ email }: { email: string }) => email)).toEqual(['ada@example.com'])
  })

  it('loses its user when its labeler is replaced by one without an email', async ({ expect }) => {
    const { org, give, read } = await newTrace()
    await give({ feedback_id: 'a', labeller: { email: 'ada@example.com' } })
    const [ada] = (await org.owner.get('/api/users')).body.users
    await give({ feedback_id: 'a', labeller: { name: 'Bob' } })
    const [feedback] = (await read()).feedback
    expect(feedback.userId).not.toBe(ada.id)
    expect(feedback.labeller).toEqual({ name: 'Bob' })
  })

  it('belongs to its span or else the root, and an update may set the span later', async ({ expect }) => {
    const { give, read, step } = await newTrace()
    const spanId = crypto.randomUUID()
    await step({ span_id: spanId })
    await give({ feedback_id: 'a', timestamp: TIME, span_id: spanId })
    await give({ feedback_id: 'b', timestamp: timeAfter(1) })
    const { feedback, spans } = await read()
    expect(feedback.map((each: { spanId: string }) => each.spanId)).toEqual([spanId, spans[0].id])
  })

  it('updates the updatedAt of its trace', async ({ expect }) => {
    const { give, read } = await newTrace()
    const before = (await read()).updatedAt
    await scheduler.wait(5)
    await give({ rating: 'positive' })
    expect((await read()).updatedAt > before).toBe(true)
  })
})
