import { describe, it } from 'vitest'
import { isSharded, stored } from '../support/database.ts'
import { newOrg } from '../support/org.ts'
import { newReviewed, reviewerOf } from '../support/reviews.ts'
import { storedCounts } from '../support/stored.ts'

async function newComment() {
  const fixture = await newReviewed('Yes')
  const author = await reviewerOf(fixture.org)
  const path = `/api/spans/${fixture.spanId}/feedback`
  const comment = (await author.client.post(path, { content: 'Why?' })).body
  const feedback = async () => (await fixture.read()).trace.feedback
  return { ...fixture, author, path, comment, feedback }
}

describe('a comment', () => {
  it("appears in its trace's feedback exactly as in the response", async ({ expect }) => {
    const { comment, spanId, author, feedback, read } = await newComment()
    expect(comment).toMatchObject({
      spanId,
      userId: author.userId,
      content: 'Why?',
      rating: null,
      correction: null,
      source: 'review',
    })
    expect(await feedback()).toEqual([comment])
    expect((await read()).trace.feedbackCount).toBe(1)
  })

  it("is listed among a pipeline's feedback, oldest first", async ({ expect }) => {
    const { org, trace_id, comment, feedback } = await newComment()
    await org.ingest.post('/api/v1/feedback', { trace_id, comment: 'Old', timestamp: '2026-01-01T00:00:00.000Z' })
    expect(await feedback()).toMatchObject([{ content: 'Old', source: 'api' }, comment])
  })

  it('can be changed and deleted by its author', async ({ expect }) => {
    const { author, comment, feedback } = await newComment()
    const changed = await author.client.patch(`/api/feedback/${comment.id}`, { content: 'Why not?' })
    expect(changed.status).toBe(200)
    expect(changed.body).toEqual({ ...comment, content: 'Why not?' })
    expect(await feedback()).toEqual([changed.body])
    const deleted = await author.client.delete(`/api/feedback/${comment.id}`)
    expect(deleted.body).toEqual({ id: comment.id })
    expect(await feedback()).toEqual([])
    expect((await author.client.delete(`/api/feedback/${comment.id}`)).status).toBe(404)
    expect((await author.client.patch(`/api/feedback/${comment.id}`, { content: 'a' })).status).toBe(404)
  })

  it("can be changed only by its author, with any of the author's keys", async ({ expect }) => {
    const { org, author, comment, feedback } = await newComment()
    const other = await reviewerOf(org)
    for (const client of [other.client, org.owner]) {
      expect((await client.patch(`/api/feedback/${comment.id}`, { content: 'Mine' })).status).toBe(403)
      expect((await client.delete(`/api/feedback/${comment.id}`)).status).toBe(403)
    }
    expect(await feedback()).toEqual([comment])
    const second = org.clientOf(await org.keyFor({ userId: author.userId }))
    expect((await second.patch(`/api/feedback/${comment.id}`, { content: 'Still mine' })).status).toBe(200)
  })

  it('can mark the output as wrong without a decision', async ({ expect }) => {
    const { org, author, path, spanId, read, feedback } = await newComment()
    const negative = async () =>
      (await org.owner.get('/api/traces?projectSlug=support&rating=negative')).body.traces.length
    expect(await negative()).toBe(0)
    const body = { id: crypto.randomUUID(), content: 'Wrong period', rating: 'negative' }
    const wrong = await author.client.post(path, body)
    expect(wrong).toMatchObject({ status: 201, body: { spanId, rating: 'negative', source: 'review' } })
    expect((await author.client.post(path, body)).body).toEqual(wrong.body)
    expect((await author.client.post(path, { ...body, rating: undefined })).status).toBe(409)
    expect(await feedback()).toContainEqual(wrong.body)
    expect((await read()).span.review.state).toBe('unreviewed')
    expect(await negative()).toBe(1)
    const changed = await author.client.patch(`/api/feedback/${body.id}`, { content: 'Wrong number' })
    expect(changed.body).toEqual({ ...wrong.body, content: 'Wrong number' })
    const other = await author.client.post(path, { content: 'Also wrong', rating: 'negative' })
    await author.client.delete(`/api/feedback/${body.id}`)
    expect(await negative()).toBe(1)
    await author.client.delete(`/api/feedback/${other.body.id}`)
    expect(await negative()).toBe(0)
  })

  it('requests an attribution if it is negative and the project attributes automatically', async ({ expect }) => {
    const { org, author, path, id } = await newComment()
    await org.owner.patch(`/api/projects/${org.project.id}`, { autoAttribute: true })
    const jobs = async () =>
      (
        await stored
          .prepare('select status from attribution_jobs where trace_key = (select key from traces where id = ?)')
          .bind(id)
          .all()
      ).results.length
    await author.client.post(path, { content: 'Hm' })
    expect(await jobs()).toBe(0)
    await author.client.post(path, { content: 'Wrong', rating: 'negative' })
    expect(await jobs()).toBe(1)
  })

  it('cannot be changed or deleted if it is feedback from a pipeline', async ({ expect }) => {
    const { org, trace_id, feedback } = await newComment()
    const ingest = org.clientOf(await org.keyFor({}))
    await ingest.post('/api/v1/feedback', { trace_id, comment: 'From the pipeline' })
    const sent = (await feedback()).find(({ source }: { source: string }) => source === 'api')
    expect((await ingest.patch(`/api/feedback/${sent.id}`, { content: 'Changed' })).status).toBe(403)
    expect((await ingest.delete(`/api/feedback/${sent.id}`)).status).toBe(403)
  })

  it('is stored once if a client sends it repeatedly with the same id', async ({ expect }) => {
    const { author, path, feedback } = await newComment()
    const body = { content: 'Once', id: crypto.randomUUID() }
    const first = await author.client.post(path, body)
    expect((await author.client.post(path, body)).body).toEqual(first.body)
    expect(await feedback()).toHaveLength(2)
    await author.client.post(path, { content: 'Once' })
    await author.client.post(path, { content: 'Once' })
    expect(await feedback()).toHaveLength(4)
  })

  it.skipIf(isSharded)('is rejected if existing feedback has the same id', async ({ expect }) => {
    const { org, author, path, comment } = await newComment()
    const elsewhere = await newReviewed('Yes', org)
    const other = await reviewerOf(org)
    const before = await storedCounts()
    for (const [client, at, content] of [
      [author.client, path, 'Another text'],
      [other.client, path, 'Why?'],
      [author.client, `/api/spans/${elsewhere.spanId}/feedback`, 'Why?'],
    ] as const) {
      const response = await client.post(at, { content, id: comment.id })
      expect(response.status).toBe(409)
      expect(response.body.details).toMatchObject([{ path: 'id' }])
    }
    expect(await storedCounts()).toEqual(before)
  })

  it('may have the same id as a comment in another organization', async ({ expect }) => {
    const { comment } = await newComment()
    const { org, path } = await newComment()
    expect((await org.owner.post(path, { content: 'a', id: comment.id })).status).toBe(201)
  })

  it.for([
    ['no content', {}, 'content'],
    ['empty content', { content: '' }, 'content'],
    ['half a surrogate pair', { content: '\ud800' }, 'content'],
    ['content that is too long', { content: 'x'.repeat(16 * 1024 + 1) }, 'content'],
    ['praise', { content: 'a', rating: 'positive' }, 'rating'],
    ['an id that is not a UUID', { content: 'a', id: '1' }, 'id'],
  ] as const)('gets a 400 for %s', async ([, body, path], { expect }) => {
    const response = await (await newOrg()).owner.post(`/api/spans/${crypto.randomUUID()}/feedback`, body)
    expect(response.status).toBe(400)
    expect(response.body.details[0].path).toBe(path)
  })

  it('gets a 404 for a missing span', async ({ expect }) => {
    const { owner } = await newOrg()
    expect((await owner.post(`/api/spans/${crypto.randomUUID()}/feedback`, { content: 'a' })).status).toBe(404)
  })

  it('is deleted with its trace', async ({ expect }) => {
    const { org, id, author, comment } = await newComment()
    await org.owner.delete(`/api/traces/${id}`)
    expect((await author.client.patch(`/api/feedback/${comment.id}`, { content: 'a' })).status).toBe(404)
  })
})

describe('a comment given with a decision', () => {
  async function decided() {
    const fixture = await newReviewed('Yes')
    const author = await reviewerOf(fixture.org)
    const decide = (body: object) => fixture.review({ comment: 'Too short', ...body }, {}, author.client)
    const list = async (query = '') =>
      (await fixture.org.read.get(`/api/traces?projectSlug=support${query}`)).body.traces
    return { ...fixture, author, decide, list, feedback: async () => (await fixture.read()).trace.feedback }
  }

  it.for([
    ['accept', { decision: 'accept' }],
    ['correct', { decision: 'correct', approvedOutput: 'No' }],
    ['reset', { decision: 'reset' }],
  ] as const)('becomes feedback on its span: %s', async ([, body], { expect }) => {
    const { decide, feedback, list, author, spanId } = await decided()
    expect(await list('&hasFeedback=true')).toEqual([])
    await decide(body)
    // Repeat the request, as a client does if the response is lost.
    await decide(body)
    expect(await feedback()).toMatchObject([
      { spanId, userId: author.userId, content: 'Too short', source: 'review', rating: null },
    ])
    expect(await list('&hasFeedback=true')).toMatchObject([{ feedbackCount: 1 }])
  })

  it('remains when the decision is reset or replaced', async ({ expect }) => {
    const { decide, review, author, feedback } = await decided()
    await decide({ decision: 'accept' })
    await review({ decision: 'reset' }, {}, author.client)
    await review({ decision: 'accept', comment: 'After all' })
    expect(await feedback()).toMatchObject([{ content: 'Too short' }, { content: 'After all' }])
  })

  it('can be changed and deleted by its author, and the decision shows the change', async ({ expect }) => {
    const { org, decide, author, feedback, history, read } = await decided()
    await decide({ decision: 'accept' })
    const [{ id }] = await feedback()
    expect((await org.owner.patch(`/api/feedback/${id}`, { content: 'Mine' })).status).toBe(403)
    expect((await author.client.patch(`/api/feedback/${id}`, { content: 'Too long' })).status).toBe(200)
    expect(await feedback()).toMatchObject([{ id, content: 'Too long' }])
    expect(await history()).toMatchObject([{ comment: 'Too long' }])
    expect((await read()).span.review.comment).toBe('Too long')
    expect((await author.client.delete(`/api/feedback/${id}`)).status).toBe(200)
    expect(await feedback()).toEqual([])
    expect(await history()).toMatchObject([{ decision: 'accept', comment: null }])
  })
})
