import { describe, it } from 'vitest'
import { ACCEPT, adjudicatorOf, correct, newVoted, RESET } from '../support/voting.ts'

const UNREVIEWED = { state: 'unreviewed', by: null, basis: null }

describe('votes on a span that two people review', () => {
  it('decide once both are in and agree: as the first voter, at the time of the last vote', async ({ expect }) => {
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

  it('leave the queue of those who voted, and, once they differ, wait for an adjudicator', async ({ expect }) => {
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

  it('can be withdrawn and changed until then, and repeating one changes nothing', async ({ expect }) => {
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
})
