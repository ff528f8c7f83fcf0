import { describe, it } from 'vitest'
import { datasetUuid } from '../../src/domain/ids.ts'
import { reviewerOf } from '../support/reviews.ts'
import { ACCEPT, adjudicatorOf, correct, newVoted, RESET, setPolicy } from '../support/voting.ts'

const UNREVIEWED = { state: 'unreviewed', by: null, basis: null }

describe('votes on a span that two people review', () => {
  it('become a decision by the first voter, at the time of the last vote, once both are in and agree', async ({
    expect,
  }) => {
    const { ada, ben, vote, read, history } = await newVoted({ answer: 'Yes' })
    const before = await read()
    const first = await vote(ada, correct({ answer: 'No', why: 'Doc' }, { comment: 'See the doc' }))
    expect(first).toMatchObject({
      status: 200,
      body: {
        approvedOutput: null,
        review: UNREVIEWED,
        isDisputed: false,
        votes: [
          {
            by: ada.userId,
            decision: 'correct',
            approvedOutput: { answer: 'No', why: 'Doc' },
            comment: 'See the doc',
            errorType: null,
          },
        ],
      },
    })
    const between = await read()
    expect(between.span).toEqual({ ...before.span, votes: first.body.votes })
    expect(between.trace).toEqual({ ...before.trace, spans: [{ ...before.trace.spans[0], votes: first.body.votes }] })
    expect(await history()).toEqual([])

    const second = await vote(ben, correct({ why: 'Doc', answer: 'No' }, { errorType: 'reasoning_error' }))
    expect(second).toMatchObject({
      status: 200,
      body: {
        approvedOutput: { answer: 'No', why: 'Doc' },
        review: {
          state: 'corrected',
          by: ada.userId,
          at: second.body.votes[1].at,
          comment: 'See the doc',
          errorType: 'reasoning_error',
          basis: 'votes',
          stale: false,
        },
        isDisputed: false,
        votes: [{ by: ada.userId }, { by: ben.userId, errorType: 'reasoning_error' }],
      },
    })
    const { trace, span } = await read()
    expect(span).toEqual(second.body)
    expect(trace).toMatchObject({ reviewedCount: 1, reviewState: 'corrected', feedbackCount: 1 })
    expect(trace.feedback).toMatchObject([
      { userId: ada.userId, content: 'See the doc', source: 'review', createdAt: first.body.votes[0].at },
    ])
    expect(await history()).toMatchObject([{ by: ada.userId, decision: 'correct', basis: 'votes', before: null }])
  })

  it('remove the span from the voters’ queues, and leave it to an adjudicator if they differ', async ({ expect }) => {
    const { org, ada, ben, cleo, vote, spanId } = await newVoted('Yes')
    const judge = await adjudicatorOf(org)
    const queueOf = async (by: typeof ada, more = '') => {
      const { body } = await by.client.get(`/api/review-queue?projectSlug=support${more}`)
      return [body.spans?.map(({ id }: { id: string }) => id), body.remaining, body.today ?? body]
    }
    expect(await queueOf(ada)).toEqual([[spanId], 1, []])
    await vote(ada, ACCEPT)
    expect(await queueOf(ada)).toEqual([[], 0, [{ userId: ada.userId, reviewed: 1 }]])
    expect(await queueOf(ben)).toEqual([[spanId], 1, [{ userId: ada.userId, reviewed: 1 }]])
    expect((await vote(ben, correct('No'))).body).toMatchObject({ isDisputed: true, review: { state: 'unreviewed' } })
    expect(await queueOf(cleo)).toMatchObject([[], 0, [{ reviewed: 1 }, { reviewed: 1 }]])
    expect(await queueOf(judge, '&disputed=true')).toMatchObject([[spanId], 1, [{ reviewed: 1 }, { reviewed: 1 }]])
    expect(await vote(cleo, ACCEPT)).toMatchObject({ status: 409 })
    expect((await vote(judge, correct('Maybe'))).body).toMatchObject({
      isDisputed: false,
      review: { basis: 'adjudication' },
      votes: [{}, {}],
    })
    expect(await queueOf(judge, '&disputed=true')).toMatchObject([
      [],
      0,
      [{ reviewed: 1 }, { reviewed: 1 }, { reviewed: 1 }],
    ])
  })

  it('can be withdrawn and changed until both are in, and repeating a vote changes nothing', async ({ expect }) => {
    const { ada, ben, cleo, vote, read } = await newVoted('Yes')
    await vote(ada, correct('No', { comment: 'First' }))
    const cast = await read()
    expect((await vote(ada, correct('No'))).body).toEqual(cast.span)
    expect((await vote(ada, RESET)).body.votes).toEqual([])
    expect((await vote(ada, RESET)).body.votes).toEqual([])
    await vote(ben, ACCEPT)
    expect((await vote(cleo, correct('No'))).body).toMatchObject({ isDisputed: true, votes: [{}, {}] })
    expect(await vote(ada, correct('No'))).toMatchObject({
      status: 409,
      body: { error: expect.not.stringMatching(/hold/) },
    })
    expect((await vote(cleo, RESET)).body).toMatchObject({ isDisputed: false, votes: [{ by: ben.userId }] })
    expect((await vote(ada, correct('No', { comment: 'Second' }))).body).toMatchObject({ isDisputed: true })
    const { body } = await vote(ben, correct('No'))
    expect(body).toMatchObject({ review: { state: 'corrected', by: ada.userId, basis: 'votes' }, isDisputed: false })
    expect((await read()).trace.feedback).toMatchObject([{ userId: ada.userId, content: 'Second' }])
  })

  it('keep the number of reviewers from the first vote, shown before, during, and after the round', async ({
    expect,
  }) => {
    const { org, ada, ben, cleo, vote, on, step, spanId, read } = await newVoted('Yes', { reviewers: 3 })
    const judge = await adjudicatorOf(org)
    const [withdrawn, decided] = [crypto.randomUUID(), crypto.randomUUID()]
    for (const span_id of [withdrawn, decided]) await step({ span_id, step_id: 'answer', output: 'Yes' })
    const shown = async (by: typeof ada, query = '') => {
      const { body } = await by.client.get(`/api/review-queue?projectSlug=support${query}`)
      return Object.fromEntries(body.spans.map((span: { id: string; reviewers: number }) => [span.id, span.reviewers]))
    }
    expect((await vote(ada, ACCEPT)).body.reviewers).toBe(3)
    expect((await on(withdrawn)(ada, ACCEPT)).body.reviewers).toBe(3)
    await setPolicy(org, { reviewers: 2 })
    expect(await shown(ben)).toEqual({ [spanId]: 3, [withdrawn]: 3, [decided]: 2 })
    expect((await on(withdrawn)(ada, RESET)).body.reviewers).toBe(2)
    expect((await on(decided)(judge, ACCEPT)).body).toMatchObject({ reviewers: 1, review: { basis: null } })
    expect((await vote(ben, correct('No'))).body).toMatchObject({ reviewers: 3, isDisputed: false })
    await setPolicy(org, { reviewers: 1 })
    expect((await vote(cleo, ACCEPT)).body).toMatchObject({ reviewers: 3, isDisputed: true })
    expect(await shown(judge, '&disputed=true')).toEqual({ [spanId]: 3 })
    expect((await vote(judge, ACCEPT)).body).toMatchObject({ reviewers: 3, review: { basis: 'adjudication' } })
    const { trace, span } = await read()
    expect([span.reviewers, ...trace.spans.map(({ reviewers }: typeof span) => reviewers)]).toEqual([3, 3, 1, 1])
    expect((await vote(judge, RESET)).body.reviewers).toBe(1)
  })

  it("agree if each pair is equal according to the step's evaluator", async ({ expect }) => {
    const { org, ada, ben, cleo, step, on } = await newVoted('Yes', { reviewers: 3 })
    const decided = async (...values: unknown[]) => {
      const spanId = crypto.randomUUID()
      await step({ span_id: spanId, step_id: 'total', output: { total: 0, note: 'None' } })
      const answers = []
      for (const [index, by] of [ada, ben, cleo].entries()) answers.push(await on(spanId)(by, correct(values[index])))
      const { approvedOutput, isDisputed, review } = answers.at(-1)?.body ?? {}
      expect(isDisputed).toBe(approvedOutput === null)
      return [approvedOutput, review.state]
    }
    const of = (total: number, note = 'Same') => ({ total, note })
    expect(await decided(of(1), of(1.01), of(1))).toEqual([null, 'unreviewed'])
    expect(await decided(of(1, 'A  note'), of(1, 'a note'), of(1, 'A NOTE'))).toEqual([of(1, 'A  note'), 'corrected'])
    const evaluator = { type: 'number', tolerance: 0.01, paths: { note: { type: 'ignore' } } }
    const path = `/api/datasets/${await datasetUuid(org.project.id, 'total')}/evaluator`
    expect(await org.owner.put(path, evaluator)).toMatchObject({ status: 200 })
    expect(await decided(of(1, 'A'), of(1.01, 'B'), of(1))).toEqual([of(1, 'A'), 'corrected'])
    // The first and last values are close to the second, but not to each other.
    expect(await decided(of(1), of(1.01), of(1.02))).toEqual([null, 'unreviewed'])
    // These values have more leaves than an evaluator compares, but equal values agree anyway.
    const long = { total: Array.from({ length: 100_001 }, () => 0), note: '' }
    expect((await decided(long, { note: '', total: long.total }, long))[1]).toBe('corrected')
  })

  it('are compared even if their values are in R2, and add the first value to the dataset once', async ({ expect }) => {
    const { org, ada, ben, cleo, vote, read, spanId } = await newVoted({ text: 'x'.repeat(20_000) }, { reviewers: 3 })
    const value = (text: string) => ({ text: text.repeat(10_000) })
    await vote(ada, correct(value('No ')))
    await vote(ben, correct(value('no ')))
    const path = `/api/datasets/${await datasetUuid(org.project.id, 'support-answer')}/items`
    expect((await org.read.get(path)).status).toBe(404)
    expect((await vote(cleo, correct(value('NO ')))).body).toMatchObject({
      approvedOutput: value('No '),
      votes: [{ approvedOutput: value('No ') }, { approvedOutput: value('no ') }, { approvedOutput: value('NO ') }],
    })
    expect((await read()).span.approvedOutput).toEqual(value('No '))
    const { items } = (await org.read.get(path)).body
    expect(items).toMatchObject([{ id: spanId, decision: 'correct', expected: [value('No ')] }])
  })

  it('end when the output changes or gets another decision, and a reset starts a new round', async ({ expect }) => {
    const { org, ada, ben, cleo, vote, observe, read, spanId } = await newVoted('Yes')
    const judge = await adjudicatorOf(org)
    await vote(ada, ACCEPT)
    await observe({ data: 'Other' })
    expect((await read()).span).toMatchObject({ votes: [], review: UNREVIEWED })
    expect((await vote(ben, ACCEPT)).body).toMatchObject({ votes: [{ by: ben.userId }], review: UNREVIEWED })
    expect((await vote(ada, ACCEPT)).body.review).toMatchObject({ state: 'accepted', by: ben.userId, basis: 'votes' })
    // The span already has a decision, so this vote is a decision like any other.
    expect((await vote(cleo, correct('No'))).body).toMatchObject({
      review: { state: 'corrected', by: cleo.userId, basis: null },
      votes: [],
    })
    await observe({ data: 'Newer' })
    const stale = await vote(ada, ACCEPT)
    expect(stale.body).toMatchObject({ approvedOutput: 'No', review: { stale: true }, votes: [{ by: ada.userId }] })
    expect((await vote(judge, RESET)).body).toMatchObject({ approvedOutput: null, review: UNREVIEWED, votes: [] })
    await vote(ada, ACCEPT)
    expect((await vote(judge, correct('Why'))).body).toMatchObject({
      review: { by: judge.userId, basis: 'adjudication' },
      votes: [{ by: ada.userId }],
    })
    await vote(judge, RESET)
    await vote(ben, ACCEPT)
    await reviewerOf(org, 'eve@example.com')
    const origin = { source: 'import', by: 'eve@example.com', at: new Date().toISOString() }
    const { results } = (await org.owner.post('/api/reviews', { reviews: [{ spanId, ...ACCEPT, ...origin }] })).body
    expect(results[0].body).toMatchObject({ import: 'added', review: { state: 'accepted', basis: null } })
    // Nobody voted, so there is nothing to adjudicate.
    await vote(judge, RESET)
    expect((await vote(judge, ACCEPT)).body.review).toMatchObject({ basis: null })
  })

  it('keep the number of reviewers that their round started with', async ({ expect }) => {
    const { org, ada, ben, cleo, vote, read } = await newVoted('Yes')
    await vote(ada, ACCEPT)
    await setPolicy(org, { reviewers: 1 })
    expect((await vote(ben, correct('No'))).body).toMatchObject({ isDisputed: true })
    await setPolicy(org, { reviewers: 3 })
    expect(await vote(cleo, ACCEPT)).toMatchObject({ status: 409 })
    expect((await read()).span).toMatchObject({ isDisputed: true })
    await vote(ada, RESET)
    await vote(ben, RESET)
    for (const by of [ada, ben]) expect((await vote(by, ACCEPT)).body.review).toMatchObject(UNREVIEWED)
    expect((await vote(cleo, ACCEPT)).body.review).toMatchObject({ state: 'accepted', basis: 'votes' })
  })

  it('get the same checks as decisions: ETag, schema, error type, and scope', async ({ expect }) => {
    const { org, ada, ben, vote, read, step, on } = await newVoted('Yes')
    const { etag } = (await read()).span
    expect(await vote(ada, ACCEPT, { 'if-match': '"other"' })).toMatchObject({ status: 412 })
    expect(await vote(ada, ACCEPT, { 'if-match': etag })).toMatchObject({ status: 200, body: { etag } })
    expect(await vote(ben, correct('No', { errorType: 'none_such' }))).toMatchObject({ status: 422 })
    expect(await vote(ben, correct(null))).toMatchObject({ status: 422 })
    expect((await vote(ben, ACCEPT, { 'if-match': etag })).body.etag).not.toBe(etag)
    const prompt = { projectSlug: 'support', stepId: 'typed', content: 'Say it', outputSchema: { type: 'string' } }
    await org.owner.post('/api/prompts', prompt)
    const spanId = crypto.randomUUID()
    await step({ span_id: spanId, step_id: 'typed', output: 'Yes' })
    expect(await on(spanId)(ada, correct(1))).toMatchObject({ status: 422 })
    expect(await on(spanId)(ada, correct(1, { force: true }))).toMatchObject({ status: 200 })
    const agent = org.clientOf(await org.keyFor({ actsAs: 'agent', scopes: ['review'] }))
    await agent.put(`/api/spans/${spanId}/review`, ACCEPT)
    const { votes, suggestions } = (await org.read.get(`/api/spans/${spanId}`)).body
    expect([votes.length, suggestions.length]).toEqual([1, 1])
    const key = org.clientOf(await org.keyFor({ scopes: ['review'], userId: undefined }))
    expect((await key.put(`/api/spans/${spanId}/review`, correct(1, { force: true }))).body).toMatchObject({
      review: { by: ada.userId, basis: 'votes' },
    })
  })
})
