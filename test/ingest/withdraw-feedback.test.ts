import { describe, it } from 'vitest'
import { timeAfter } from '../support/builders.ts'
import { client } from '../support/org.ts'
import { newTrace } from '../support/trace.ts'

const withdraw = '/api/v1/feedback/'

describe('withdrawn feedback', () => {
  it('disappears from every read, and updates its trace’s updatedAt', async ({ expect }) => {
    const { org, give, read } = await newTrace()
    await give({ feedback_id: 'mine/1 ✓', rating: 'negative', comment: 'Wrong', correction: { answer: 'No' } })
    await give({ feedback_id: 'other', rating: 'positive', timestamp: timeAfter(1) })
    const before = (await read()).updatedAt
    await scheduler.wait(5)
    const response = await org.ingest.delete(withdraw + encodeURIComponent('mine/1 ✓'))
    expect(response).toMatchObject({ status: 200, body: { status: 'success', feedback_id: 'mine/1 ✓' } })
    const after = await read()
    expect(after.feedback).toMatchObject([{ rating: 'positive' }])
    expect(after.feedbackCount).toBe(1)
    expect(after.updatedAt > before).toBe(true)
    const listed = async (query: string) =>
      (await org.read.get(`/api/traces?projectSlug=support&${query}`)).body.traces.length
    expect([await listed('rating=negative'), await listed('hasFeedback=true')]).toEqual([0, 1])
    await org.ingest.delete(`${withdraw}other`)
    expect([
      await listed('rating=positive'),
      await listed('hasFeedback=true'),
      await listed('hasFeedback=false'),
    ]).toEqual([0, 0, 1])
  })

  it('leaves its trace negative as long as other feedback is negative', async ({ expect }) => {
    const { org, give } = await newTrace()
    await give({ feedback_id: 'a', rating: 'negative' })
    await give({ feedback_id: 'b', rating: 0.2 })
    const negatives = async () =>
      (await org.read.get('/api/traces?projectSlug=support&rating=negative')).body.traces.length
    await org.ingest.delete(`${withdraw}a`)
    expect(await negatives()).toBe(1)
    await org.ingest.delete(`${withdraw}b`)
    expect(await negatives()).toBe(0)
  })

  it('returns a 404 afterward, and becomes a new record if it is sent again', async ({ expect }) => {
    const { org, give, read } = await newTrace()
    await give({ feedback_id: 'a', rating: 'negative', comment: 'first' })
    expect((await org.ingest.delete(`${withdraw}a`)).status).toBe(200)
    const again = await org.ingest.delete(`${withdraw}a`)
    expect(again).toMatchObject({ status: 404, body: { error: 'Feedback not found' } })
    expect((await give({ feedback_id: 'a', rating: 'positive' })).status).toBe(201)
    expect((await read()).feedback).toMatchObject([{ rating: 'positive', content: '' }])
  })

  it('is no longer analyzed', async ({ expect }) => {
    const { org, trace_id, give } = await newTrace()
    await give({ feedback_id: 'a', rating: 'negative', comment: 'Wrong' })
    const attribute = async () => (await org.ingest.post(`/api/v1/traces/${trace_id}/attribute`)).status
    expect(await attribute()).toBe(200)
    await org.ingest.delete(`${withdraw}a`)
    expect(await attribute()).toBe(422)
  })

  it('can be withdrawn by the id that the service created', async ({ expect }) => {
    const { org, give, read } = await newTrace()
    const { feedback_id } = (await give({ comment: 'a' })).body
    expect((await org.ingest.delete(withdraw + feedback_id)).status).toBe(200)
    expect((await read()).feedback).toEqual([])
  })

  it('is withdrawn once, even by parallel calls, and even if the database’s response is lost', async ({ expect }) => {
    const { org, give, read } = await newTrace()
    await give({ feedback_id: 'a' })
    const statuses = (await Promise.all(Array.from({ length: 10 }, () => org.ingest.delete(`${withdraw}a`)))).map(
      ({ status }) => status,
    )
    expect(statuses).toContain(200)
    expect(statuses.filter(status => status !== 200 && status !== 404)).toEqual([])
    expect((await read()).feedback).toEqual([])
  })

  it('can be withdrawn only in its own project', async ({ expect }) => {
    const { org, give, read } = await newTrace()
    await give({ feedback_id: 'a' })
    await org.owner.post('/api/projects', { slug: 'second', name: 'Second' })
    const other = client({ 'x-api-key': await org.keyFor({ projectSlug: 'second' }) })
    expect((await other.delete(`${withdraw}a`)).status).toBe(404)
    expect((await org.owner.delete(`${withdraw}a`)).status).toBe(400)
    expect((await read()).feedback).toHaveLength(1)
    expect((await org.owner.delete(`${withdraw}a`, undefined, { 'x-project-slug': 'support' })).status).toBe(200)
  })

  it('cannot be a reviewer’s comment', async ({ expect }) => {
    const { org, read, span } = await newTrace()
    const { id } = await span()
    const comment = (await org.owner.post(`/api/spans/${id}/feedback`, { content: 'Mine' })).body
    expect((await org.ingest.delete(withdraw + comment.id)).status).toBe(404)
    expect((await read()).feedback).toHaveLength(1)
  })

  it('returns a 404 after its trace is deleted', async ({ expect }) => {
    const { org, id, give } = await newTrace()
    await give({ feedback_id: 'a' })
    await org.owner.delete(`/api/traces/${id}`)
    expect((await org.ingest.delete(`${withdraw}a`)).status).toBe(404)
  })

  it('400s for an id that is too long', async ({ expect }) => {
    const { org } = await newTrace()
    const response = await org.ingest.delete(withdraw + 'x'.repeat(129))
    expect(response).toMatchObject({ status: 400, body: { details: [{ path: 'feedback_id' }] } })
  })
})
