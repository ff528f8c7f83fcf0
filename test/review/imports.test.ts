import { describe, it } from 'vitest'
import { DAY_MS } from '../../src/limits.ts'
import { newOrg, type Org } from '../support/org.ts'
import { newReviewed, reviewerOf } from '../support/reviews.ts'
import { storedCounts } from '../support/stored.ts'

const ADA = 'ada@example.com'
const KOFI = 'kofi@example.com'
const daysAgo = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString()
const importOf = (spanId: string, fields: object = {}) => ({
  spanId,
  decision: 'accept',
  source: 'import',
  by: ADA,
  at: daysAgo(10),
  ...fields,
})
const importAll = async (org: Org, ...reviews: object[]) =>
  (await org.owner.post('/api/reviews', { reviews })).body.results

/** Creates a span with an output in a tenant with two reviewers. */
async function newSpan(output: unknown = 'Yes') {
  const fixture = await newReviewed(output)
  const [ada, kofi] = [await reviewerOf(fixture.org, ADA), await reviewerOf(fixture.org, KOFI)]
  return { ...fixture, ada, kofi, insights: async () => (await fixture.org.read.get(INSIGHTS)).body }
}

const INSIGHTS = '/api/insights?projectSlug=support'

describe('an imported decision', () => {
  it('keeps its reviewer and time in the review, the history, datasets, counts, and lists', async ({ expect }) => {
    const { org, spanId, ada, read, history, insights } = await newSpan()
    const at = daysAgo(10)
    const day = at.slice(0, 10)
    const [{ status, body }] = await importAll(
      org,
      importOf(spanId, {
        by: 'Ada@Example.com',
        at,
        decision: 'correct',
        approvedOutput: 'No',
        comment: 'It says no.',
        errorType: 'reasoning_error',
      }),
    )
    expect(status).toBe(200)
    expect(body).toMatchObject({
      import: 'added',
      approvedOutput: 'No',
      review: { state: 'corrected', by: ada.userId, at, comment: 'It says no.', errorType: 'reasoning_error' },
    })
    expect((await read()).span.review).toEqual(body.review)
    expect(await history()).toMatchObject([{ decision: 'correct', by: ada.userId, at, before: null, after: 'No' }])
    expect(Date.parse((await history())[0].importedAt)).toBeGreaterThan(Date.parse(at))
    expect((await read()).trace.feedback).toMatchObject([
      { userId: ada.userId, createdAt: at, content: 'It says no.', source: 'review' },
    ])
    const [dataset] = (await org.read.get('/api/datasets?projectSlug=support')).body.datasets
    const { items } = (await org.read.get(`/api/datasets/${dataset.id}/items`)).body
    expect(items).toMatchObject([{ spanId, decision: 'correct', by: ada.userId, at, expected: ['No'] }])
    expect((await insights()).days).toMatchObject([{ day, accepted: 0, corrected: 1 }])
    expect((await insights()).reviewers).toMatchObject([{ userId: ada.userId, days: [{ day, reviewed: 1 }] }])
    const listed = async (from: string, to: string) =>
      (await org.read.get(`/api/spans?projectSlug=support&review=corrected&reviewedFrom=${from}&reviewedTo=${to}`)).body
        .spans.length
    const [dayStart, nextDay] = [`${day}T00:00:00.000Z`, `${daysAgo(9).slice(0, 10)}T00:00:00.000Z`]
    expect(await listed(dayStart, nextDay)).toBe(1)
    expect(await listed(nextDay, new Date().toISOString())).toBe(0)
    const queue = (await org.owner.get('/api/review-queue?projectSlug=support')).body
    expect(queue).toMatchObject({ spans: [], today: [] })
  })

  it('changes nothing if it is imported again, regardless of the order and outcome of the rows', async ({ expect }) => {
    const { org, spanId, history } = await newSpan()
    const rows = [
      importOf(spanId, { at: daysAgo(9) }),
      importOf(spanId, { at: daysAgo(5), comment: 'Still right.' }),
      importOf(spanId, { at: daysAgo(7), by: KOFI, decision: 'correct', approvedOutput: 'No' }),
      importOf(spanId, { at: daysAgo(3), by: KOFI, decision: 'correct', approvedOutput: 'No' }),
    ]
    const runs: string[][] = []
    const states: object[] = []
    for (let run = 0; run < 2; run++) {
      const results = []
      for (const row of rows) results.push((await importAll(org, row))[0])
      runs.push(results.map(({ body }) => body.import))
      const insights = (await org.read.get(INSIGHTS)).body
      states.push({ history: await history(), days: insights.days, stored: await storedCounts() })
    }
    expect(runs).toEqual([
      ['added', 'added', 'outdated', 'added'],
      ['outdated', 'outdated', 'outdated', 'repeated'],
    ])
    expect(states[1]).toEqual(states[0])
    expect((await org.read.get(INSIGHTS)).body.days).toMatchObject([{ accepted: 0, corrected: 1 }])
  })

  it.for([['accept'], ['reset']] as const)(
    "never replaces a person's newer decision: %s",
    async ([decision], { expect }) => {
      const { org, spanId, review, read, history } = await newSpan()
      await review({ decision: 'accept' })
      await review({ decision })
      const before = await read()
      const [{ status, body }] = await importAll(org, importOf(spanId, { decision: 'correct', approvedOutput: 'No' }))
      expect([status, body.import]).toEqual([200, 'outdated'])
      expect(body.review).toEqual(before.span.review)
      expect(await read()).toEqual(before)
      expect((await history())[0].decision).toBe(decision)
    },
  )

  it('is replaced by a person’s later decision, which moves its count to another day in insights', async ({
    expect,
  }) => {
    const { org, spanId, ada, insights } = await newSpan()
    await importAll(org, importOf(spanId))
    await ada.client.put(`/api/spans/${spanId}/review`, { decision: 'correct', approvedOutput: 'No' })
    const today = new Date().toISOString().slice(0, 10)
    expect((await insights()).days).toMatchObject([{ day: today, accepted: 0, corrected: 1 }])
  })

  it('may predate the trace', async ({ expect }) => {
    const { org, spanId } = await newSpan()
    const [{ body }] = await importAll(org, importOf(spanId, { at: '2020-02-29T00:00:00.000Z' }))
    expect(body).toMatchObject({ import: 'added', review: { at: '2020-02-29T00:00:00.000Z', stale: false } })
  })

  it('applies to the span that a root is reviewed with, and is outdated if that span has a newer decision', async ({
    expect,
  }) => {
    const { org, spanId, step, read } = await newSpan('The warranty lasts 24 months.')
    const inner = crypto.randomUUID()
    await step({ span_id: inner, output: 'The warranty lasts 24 months.' })
    const [{ body }] = await importAll(org, importOf(spanId))
    expect(body).toMatchObject({ id: spanId, import: 'added', review: { state: 'accepted', reviewedBy: inner } })
    const [older] = await importAll(org, importOf(spanId, { at: daysAgo(11), by: KOFI }))
    expect(older.body.import).toBe('outdated')
    expect((await read()).trace.reviewedCount).toBe(1)
  })

  it('becomes stale if the output changes afterward, and its span returns to the queue', async ({ expect }) => {
    const { org, spanId, observe, read } = await newSpan()
    await importAll(org, importOf(spanId))
    await observe({ data: 'Maybe' })
    expect((await read()).span.review).toMatchObject({ state: 'accepted', stale: true })
    const { spans } = (await org.owner.get('/api/review-queue?projectSlug=support')).body
    expect(spans).toMatchObject([{ id: spanId }])
  })

  it('respects a claim, even its own reviewer’s, unless it takes over the span', async ({ expect }) => {
    const { org, spanId, ada, history } = await newSpan()
    await ada.client.post('/api/review-queue/claim', { spanIds: [spanId] })
    const [held] = await importAll(org, importOf(spanId))
    expect(held).toMatchObject({ status: 409, body: { heldBy: ada.userId } })
    expect(await history()).toEqual([])
    const [taken] = await importAll(org, importOf(spanId, { takeOver: true }))
    expect(taken).toMatchObject({ status: 200, body: { import: 'added' } })
  })

  it('requests no attribution, even if the project attributes automatically', async ({ expect }) => {
    const { org, spanId, trace_id, review } = await newSpan()
    await org.owner.patch(`/api/projects/${org.project.id}`, { autoAttribute: true })
    const attribution = async () => (await org.ingest.get(`/api/v1/traces/${trace_id}/attribution`)).status
    await importAll(org, importOf(spanId, { decision: 'correct', approvedOutput: 'No', comment: 'Wrong' }))
    expect(await attribution()).toBe(404)
    await review({ decision: 'correct', approvedOutput: 'Never' })
    expect(await attribution()).not.toBe(404)
  })

  it('is in the audit log with the importer and the time of the import', async ({ expect }) => {
    const { org, spanId, kofi } = await newSpan()
    const start = Date.now()
    const key = await org.owner.post('/api/api-keys', { name: 'K', scopes: ['review', 'manage'], userId: kofi.userId })
    await org.clientOf(key.body.key).post('/api/reviews', { reviews: [importOf(spanId)] })
    const { entries } = (await org.owner.get(`/api/audit-log?targetId=${spanId}`)).body
    expect(entries).toMatchObject([
      { action: 'review.import', actor: { keyId: key.body.id, userId: kofi.userId }, targetId: spanId },
    ])
    expect(Date.parse(entries[0].at)).toBeGreaterThanOrEqual(start)
  })

  it('is checked against the step’s schema unless it’s forced', async ({ expect }) => {
    const org = await newOrg()
    await reviewerOf(org, ADA)
    const prompt = {
      projectSlug: 'support',
      stepId: 'generate-answer',
      content: 'Answer.',
      outputSchema: { type: 'string' },
    }
    await org.owner.post('/api/prompts', prompt)
    const { step } = await newReviewed('Yes', org)
    const id = crypto.randomUUID()
    await step({ span_id: id })
    const row = importOf(id, { decision: 'correct', approvedOutput: 1 })
    expect((await importAll(org, row))[0]).toMatchObject({ status: 422 })
    expect((await importAll(org, { ...row, force: true }))[0]).toMatchObject({ status: 200, body: { import: 'added' } })
  })

  it.for([
    ['an unknown email', { by: 'nobody@example.com' }, 422, 'by'],
    ['no email', { by: undefined }, 400, 'by'],
    ['an email that is not an address', { by: 'Ada' }, 400, 'by'],
    ['no time', { at: undefined }, 400, 'at'],
    ['a time in the future', { at: '2999-01-01T00:00:00.000Z' }, 400, 'at'],
    ['a time before 1970', { at: '1969-12-31T23:59:59.999Z' }, 400, 'at'],
    ['a time without a zone', { at: '2026-01-01T00:00:00' }, 400, 'at'],
    ['an unknown source', { source: 'export' }, 400, 'source'],
    ['an email without the source', { source: undefined, at: undefined }, 400, 'by'],
    ['a time without the source', { source: undefined, by: undefined }, 400, 'at'],
    ['the same span as an earlier review', { spanId: undefined }, 400, 'spanId'],
  ] as const)('is rejected without affecting other decisions: %s', async ([, fields, status, path], { expect }) => {
    const { org, spanId, step } = await newSpan()
    const other = crypto.randomUUID()
    await step({ span_id: other })
    const wrong = { ...importOf(spanId), ...fields, spanId: 'spanId' in fields ? other : spanId }
    const results = await importAll(org, importOf(other), wrong)
    expect(results[0]).toMatchObject({ status: 200, body: { import: 'added' } })
    expect(results[1].status).toBe(status)
    expect(results[1].body.details[0].path).toBe(`reviews.1.${path}`)
  })

  it('requires a user in the same organization who isn’t deleted and is more than a labeler', async ({ expect }) => {
    const { org, spanId, trace_id, kofi, history } = await newSpan()
    const other = await newOrg()
    await reviewerOf(other, 'elsewhere@example.com')
    await org.ingest.post('/api/v1/feedback', { trace_id, rating: 'negative', labeller: { email: 'l@example.com' } })
    await org.owner.delete(`/api/users/${kofi.userId}`)
    for (const by of ['elsewhere@example.com', 'l@example.com', KOFI]) {
      const [{ status, body }] = await importAll(org, importOf(spanId, { by }))
      expect([by, status, body.details[0].path]).toEqual([by, 422, 'reviews.0.by'])
    }
    expect(await history()).toEqual([])
    await reviewerOf(other, ADA)
    const [foreign] = await importAll(other, importOf(spanId))
    expect(foreign.status).toBe(403)
  })

  it.for([
    ['a person without the manage scope', { scopes: ['read', 'review'] }, 'forbidden'],
    ['an agent', { scopes: ['review', 'manage'], actsAs: 'agent' }, 'person_required'],
    ['a pipeline', { scopes: ['review', 'manage'], actsAs: 'pipeline' }, 'person_required'],
  ] as const)('gets a 403 if the key belongs to %s', async ([, fields, code], { expect }) => {
    const { org, spanId, history, read } = await newSpan()
    const caller = org.clientOf(await org.keyFor(fields))
    const [{ status, body }] = (await caller.post('/api/reviews', { reviews: [importOf(spanId)] })).body.results
    expect([status, body.code]).toEqual([403, code])
    expect(await history()).toEqual([])
    expect((await read()).span.suggestions ?? []).toEqual([])
  })
})
