import { describe, it } from 'vitest'
import { datasetUuid } from '../../src/domain/ids.ts'
import { stored } from '../support/database.ts'
import { ACCEPT, adjudicatorOf, correct, newVoted, RESET, setPolicy } from '../support/voting.ts'

describe('claims on a span that several people review', () => {
  it('are limited to the number of missing votes, and end when their holders vote', async ({ expect }) => {
    const { org, ada, ben, cleo, vote, spanId } = await newVoted('Yes')
    const judge = await adjudicatorOf(org)
    type Reviewer = typeof ada
    const call = async (by: Reviewer, verb: string) => {
      const { body } = await by.client.post(`/api/review-queue/${verb}`, { spanIds: [spanId] })
      return (body.claimed ?? body.held ?? body.released).length === 1
    }
    const isQueued = async (by: Reviewer) =>
      (await by.client.get('/api/review-queue?projectSlug=support')).body.remaining === 1
    expect([await call(ada, 'claim'), await call(ben, 'claim'), await call(cleo, 'claim')]).toEqual([true, true, false])
    expect([await isQueued(ada), await isQueued(ben), await isQueued(cleo)]).toEqual([true, true, false])
    // Both renew their claims. Claiming again doesn't give anyone a second claim.
    for (const verb of ['heartbeat', 'claim']) {
      expect([await call(ada, verb), await call(ben, verb), await call(cleo, verb)]).toEqual([true, true, false])
    }
    expect(await vote(cleo, ACCEPT)).toMatchObject({ status: 409, body: { heldBy: ada.userId } })
    expect([await call(ben, 'release'), await call(ben, 'heartbeat')]).toEqual([true, false])
    expect([await call(cleo, 'claim'), await call(ben, 'claim')]).toEqual([true, false])
    await vote(ada, ACCEPT)
    // Ada has voted, and Cleo still holds the last place.
    expect([await call(ada, 'claim'), await call(ben, 'claim'), await isQueued(ben)]).toEqual([false, false, false])
    expect(await vote(ben, correct('No'))).toMatchObject({ status: 409 })
    expect((await vote(ben, correct('No', { takeOver: true }))).body).toMatchObject({ isDisputed: true, claim: null })
    expect([await call(cleo, 'heartbeat'), await call(cleo, 'claim')]).toEqual([false, false])
    // Only an adjudicator can claim the disputed span.
    expect([await call(judge, 'claim'), await call(judge, 'heartbeat')]).toEqual([true, true])
    const disputed = '/api/review-queue?projectSlug=support&disputed=true'
    expect((await judge.client.get(disputed)).body).toMatchObject({ remaining: 1, spans: [{ id: spanId }] })
    const other = await adjudicatorOf(org)
    expect((await other.client.get(disputed)).body).toMatchObject({ remaining: 0, spans: [] })
    expect((await vote(judge, ACCEPT)).body).toMatchObject({ review: { basis: 'adjudication' }, claim: null })
  })

  it.for([false, true])('are shown so that each holder sees their own claim; blind: %s', async (blind, { expect }) => {
    const { ada, ben, cleo, vote, spanId } = await newVoted('Yes', { reviewers: 3, blind })
    for (const by of [ada, ben]) await by.client.post('/api/review-queue/claim', { spanIds: [spanId] })
    const shown = async ({ client }: typeof ada) => (await client.get(`/api/spans/${spanId}`)).body.claim?.heldBy
    const none = (id: string) => (blind ? undefined : id)
    expect([await shown(ada), await shown(ben), await shown(cleo)]).toEqual([ada.userId, ben.userId, none(ada.userId)])
    // Ada's claim ends with the vote, but Ben's doesn't.
    expect((await vote(ada, ACCEPT)).body.claim?.heldBy).toBe(none(ben.userId))
    expect([await shown(ada), await shown(ben)]).toEqual([none(ben.userId), ben.userId])
    await ben.client.post('/api/review-queue/release', { spanIds: [spanId] })
    expect([await shown(ada), await shown(ben)]).toEqual([undefined, undefined])
  })

  it('reveal nothing about other people under a blind policy', async ({ expect }) => {
    const { ada, ben, cleo, vote, spanId } = await newVoted('Yes', { blind: true })
    await ada.client.post('/api/review-queue/claim', { spanIds: [spanId] })
    await ben.client.post('/api/review-queue/claim', { spanIds: [spanId] })
    const held = await vote(cleo, ACCEPT)
    expect(held).toMatchObject({ status: 409 })
    expect(Object.keys(held.body).sort()).toEqual(['code', 'error', 'requestId'])
    expect((await vote(ada, ACCEPT)).body).toMatchObject({ votes: [{ by: ada.userId }], isDisputed: false })
    const second = await vote(ben, correct('No'))
    expect(second.body).toMatchObject({ votes: [{ by: ben.userId }], isDisputed: false })
    const full = await vote(cleo, ACCEPT, {})
    expect([full.status, full.body.error]).toEqual([held.status, held.body.error])
  })

  it('are limited to one if the policy asks for one reviewer', async ({ expect }) => {
    const { org, ada, ben, vote, spanId } = await newVoted('Yes')
    await ada.client.post('/api/review-queue/claim', { spanIds: [spanId] })
    await setPolicy(org, { reviewers: 1 })
    expect(await vote(ben, ACCEPT)).toMatchObject({ status: 409, body: { heldBy: ada.userId } })
    expect((await vote(ada, ACCEPT)).body).toMatchObject({ review: { by: ada.userId, basis: null }, votes: [] })
  })

  it('reveal nothing about other people if one person decides under a blind policy', async ({ expect }) => {
    const { ada, ben, vote, spanId } = await newVoted('Yes', { reviewers: 1, blind: true })
    await ada.client.post('/api/review-queue/claim', { spanIds: [spanId] })
    const { status, body } = await vote(ben, ACCEPT)
    expect([status, Object.keys(body).sort()]).toEqual([409, ['code', 'error', 'requestId']])
  })

  it('leave no row behind after they end and somebody else claims the span', async ({ expect }) => {
    const { ada, ben, cleo, spanId } = await newVoted('Yes')
    const claim = async (by: typeof ada, verb = 'claim') =>
      (await by.client.post(`/api/review-queue/${verb}`, { spanIds: [spanId] })).body
    const rows = async () =>
      (await stored.prepare('select user_id from review_claims where span_id = ?').bind(spanId).all()).results
    for (const by of [ada, ben]) expect((await claim(by)).claimed).toEqual([spanId])
    expect(await rows()).toEqual([{ user_id: ben.userId }])
    await claim(ben, 'release')
    expect((await claim(cleo)).claimed).toEqual([spanId])
    expect(await rows()).toEqual([{ user_id: cleo.userId }])
  })
})

describe('disputed spans', () => {
  it('are listed only for adjudicators, sorted by the time of the last vote, with pages and filters', async ({
    expect,
  }) => {
    const { org, ada, ben, step, on, trace_id } = await newVoted('Yes')
    const judge = await adjudicatorOf(org)
    const spanIds = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()]
    for (const [index, span_id] of spanIds.entries())
      await step({ span_id, step_id: `step-${index}`, output: { index } })
    for (const spanId of spanIds.toReversed()) {
      await on(spanId)(ada, ACCEPT)
      await on(spanId)(ben, correct('No'))
    }
    const list = async (more = '', by = judge) =>
      (await by.client.get(`/api/review-queue?projectSlug=support&disputed=true${more}`)).body
    const idsOf = ({ spans }: { spans: { id: string }[] }) => spans.map(({ id }) => id)
    const first = await list('&limit=2')
    expect([idsOf(first), first.remaining]).toEqual([spanIds.toReversed().slice(0, 2), 3])
    expect(idsOf(await list(`&limit=2&cursor=${first.nextCursor}`))).toEqual(spanIds.slice(0, 1))
    expect(idsOf(await list('&order=newest'))).toEqual(spanIds)
    expect(await list('&stepId=step-1')).toMatchObject({ spans: [{ id: spanIds[1], votes: [{}, {}] }], remaining: 1 })
    expect((await list('&metadata.none=1')).spans).toEqual([])
    expect((await list(`&to=2000-01-01T00:00:00.000Z`)).spans).toEqual([])
    expect(await list('', ada)).toMatchObject({
      code: 'forbidden',
      details: [{ message: 'Only adjudicators can list disputed spans' }],
    })
    for (const more of ['&order=random', '&all=true'])
      expect(await list(more)).toMatchObject({ code: 'invalid_request' })
    // A new output ends the dispute, and so does withdrawing a vote.
    await step({ span_id: spanIds[0], step_id: 'step-0', output: 'New' })
    await org.ingest.post('/api/v1/observations', {
      ...{ trace_id, span_id: spanIds[0], type: 'output', data: 'New', timestamp: '2030-01-01T00:00:00.000Z' },
    })
    await on(spanIds[1] ?? '')(ben, RESET)
    expect(await list()).toMatchObject({ spans: [{ id: spanIds[2] }], remaining: 1 })
  })
})

describe('votes on a root with the text of a span below it', () => {
  const TEXT = 'The warranty lasts 24 months.'
  it('count as votes on that span, and both spans show them in their own form', async ({ expect }) => {
    const { org, ada, ben, vote, step, on, read, spanId: root } = await newVoted({ answer: TEXT })
    const below = crypto.randomUUID()
    await step({ span_id: below, step_id: 'generate', output: TEXT })
    expect((await read()).span.review.reviewedBy).toBe(below)
    expect((await vote(ada, correct({ answer: 'It lasts 12 months, says the doc.' }))).body).toMatchObject({
      votes: [{ by: ada.userId, approvedOutput: { answer: 'It lasts 12 months, says the doc.' } }],
    })
    const shown = (await org.read.get(`/api/spans/${below}`)).body
    expect(shown).toMatchObject({
      votes: [{ approvedOutput: 'It lasts 12 months, says the doc.' }],
      review: { by: null },
    })
    // This correction doesn't fit the form of the span below.
    expect(await vote(ben, correct({ answer: TEXT, source: 'doc' }))).toMatchObject({
      status: 422,
      body: { details: [{ path: 'approvedOutput' }] },
    })
    expect((await on(below)(ben, correct('It lasts 12 months,  says the doc.'))).body).toMatchObject({
      review: { by: ada.userId, basis: 'votes' },
    })
    expect((await read()).span).toMatchObject({
      approvedOutput: { answer: 'It lasts 12 months, says the doc.' },
      review: { by: ada.userId, basis: 'votes', reviewedBy: below },
      votes: [{ by: ada.userId }, { by: ben.userId }],
    })
    for (const [stepId, id] of [
      ['generate', below],
      ['support-answer', root],
    ]) {
      const { items } = (await org.read.get(`/api/datasets/${await datasetUuid(org.project.id, stepId ?? '')}/items`))
        .body
      expect(items).toMatchObject([{ id }])
    }
  })
})
