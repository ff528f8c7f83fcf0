import { beforeAll, describe, it } from 'vitest'
import { sweep } from '../../src/jobs/sweep.ts'
import { MAX_ASSIGNED_SPANS, MAX_ASSIGNEES, MAX_OPEN_ASSIGNMENTS, MAX_POLICY_STEPS } from '../../src/limits.ts'
import { withoutQueue } from '../support/attribution.ts'
import { countingBindings, rowsReadBy } from '../support/bindings.ts'
import { aSpan, aTrace, timeAfter } from '../support/builders.ts'
import { databaseOfTrace, isSharded, stored } from '../support/database.ts'
import { client, newOrg, type Org } from '../support/org.ts'
import { newReviewed, reviewerOf } from '../support/reviews.ts'
import { manyTraces } from '../support/traces.ts'
import { ACCEPT, correct, newVoted, RESET } from '../support/voting.ts'

const ASSIGN = '/api/review-queue/assign'
const QUEUE = '/api/review-queue?projectSlug=support'
const FILTER = { projectSlug: 'support' }
const DUE = '2027-01-02T00:00:00.000Z'

/** Creates traces a second apart, each with one output to review. Returns the spans' ids, oldest first. */
async function spansIn(org: Org, count: number, step_id = 'answer'): Promise<string[]> {
  const spans = Array.from({ length: count }, (_, index) => {
    const trace = aTrace({ timestamp: timeAfter(index * 1000) })
    return { trace, span: aSpan({ trace_id: trace.trace_id, step_id, output: { index }, timestamp: trace.timestamp }) }
  })
  await org.ingest.post('/api/v1/batch', {
    events: spans.flatMap(({ trace, span }) => [
      { type: 'trace', body: trace },
      { type: 'span', body: span },
    ]),
  })
  return spans.map(({ span }) => span.span_id)
}

/** Creates an organization with three people and some spans to review. */
async function newTeam(count: number) {
  const org = await newOrg()
  const [ada, bob, cy] = [await reviewerOf(org), await reviewerOf(org), await reviewerOf(org)]
  const spanIds = await spansIn(org, count)
  const assign = async (body: object) => (await org.owner.post(ASSIGN, body)).body
  const queueOf = async (by: { client: ReturnType<typeof client> }, query: string) => {
    const { body } = await by.client.get(`${QUEUE}&${query}`)
    return body.spans.map(({ id }: { id: string }) => id)
  }
  const assigneesOf = async (id: string) => (await org.read.get(`/api/spans/${id}`)).body.assignees
  const progress = async () => (await org.owner.get('/api/review-queue/progress?projectSlug=support')).body
  return { org, ada, bob, cy, spanIds, assign, queueOf, assigneesOf, progress }
}

const sharesOf = ({ assigned }: { assigned: { userId: string; spans: number }[] }) => assigned.map(({ spans }) => spans)

describe('assigning spans', () => {
  it('distributes part of the queue evenly across several calls, and changes nothing if repeated', async ({
    expect,
  }) => {
    const { org, ada, bob, cy, spanIds, assign, queueOf, assigneesOf } = await newTeam(7)
    const userIds = [ada.userId, bob.userId]
    const first = await assign({ spanIds: spanIds.slice(0, 3), userIds: [ada.userId] })
    expect(first).toEqual({
      assigned: [{ userId: ada.userId, spans: 3 }],
      changedDueDates: 0,
      ended: 0,
      unchanged: 0,
      short: 0,
      refused: [],
      nextCursor: null,
    })
    const filter = { ...FILTER, stepId: 'answer' }
    const preview = await assign({ filter, userIds, dueAt: DUE, preview: true })
    expect(sharesOf(preview)).toEqual([1, 3])
    expect(await queueOf(bob, 'assignee=me')).toEqual([])
    expect(await assign({ filter, userIds })).toEqual({ ...preview, changedDueDates: 0 })
    expect(preview.changedDueDates).toBe(3)
    expect(await assign({ filter, userIds })).toMatchObject({
      assigned: [{ spans: 0 }, { spans: 0 }],
      nextCursor: null,
    })
    expect(await queueOf(ada, 'assignee=me')).toEqual([...spanIds.slice(0, 3), spanIds[6]])
    expect(await queueOf(ada, `assignee=${bob.userId}`)).toEqual(spanIds.slice(3, 6))
    expect(await queueOf(cy, 'assignee=me')).toEqual([])
    expect(await queueOf(cy, 'assignee=none')).toEqual([])
    expect(await queueOf(cy, '')).toEqual(spanIds)
    const [late] = await spansIn(org, 1, 'late')
    expect(await queueOf(cy, 'assignee=none')).toEqual([late])
    expect(await assigneesOf(String(spanIds[0]))).toEqual([{ userId: ada.userId, dueAt: null }])
    expect((await org.owner.get(`${QUEUE}&assignee=${bob.userId}&limit=2`)).body).toMatchObject({ remaining: 3 })
  })

  it('lists the spans that are due soonest first, page by page', async ({ expect }) => {
    const { ada, spanIds, assign, queueOf } = await newTeam(5)
    const dates = ['2027-01-03', '2027-01-01', undefined, '2027-01-02', '2027-01-01']
    for (const [index, date] of dates.entries()) {
      await assign({
        spanIds: [spanIds[index]],
        userIds: [ada.userId],
        ...(date && { dueAt: `${date}T00:00:00.000Z` }),
      })
    }
    const all = await queueOf(ada, 'assignee=me&order=due')
    expect(all.map((id: string) => spanIds.indexOf(id)).slice(2)).toEqual([3, 0, 2])
    const pages = []
    for (let cursor = ''; ; ) {
      const { body } = await ada.client.get(`${QUEUE}&assignee=me&order=due&limit=2${cursor}`)
      pages.push(...body.spans.map(({ id }: { id: string }) => id))
      if (!body.nextCursor) break
      cursor = `&cursor=${body.nextCursor}`
    }
    expect(pages).toEqual(all)
    expect(await queueOf(ada, 'assignee=me&order=newest')).toEqual(spanIds.toReversed())
  })

  it("puts the reviewer's own spans first in the queue, and leaves out other people's spans", async ({ expect }) => {
    const { ada, bob, cy, spanIds, assign } = await newTeam(7)
    const [oldest, , bobs, ...rest] = spanIds
    const [late, soon] = [rest[3], rest[1]]
    await assign({ spanIds: [late], userIds: [ada.userId] })
    await assign({ spanIds: [soon], userIds: [ada.userId], dueAt: DUE })
    await assign({ spanIds: [bobs], userIds: [bob.userId] })
    const walk = async ({ client: by }: typeof ada, limit: number) => {
      const found = []
      for (let cursor = ''; ; ) {
        const { body } = await by.get(`${QUEUE}&order=mine&limit=${limit}${cursor}`)
        found.push(...body.spans.map(({ id }: { id: string }) => id))
        if (!body.nextCursor) return { found, remaining: body.remaining, assigned: body.assigned }
        cursor = `&cursor=${body.nextCursor}`
      }
    }
    const others = [oldest, spanIds[1], rest[0], rest[2]]
    for (const limit of [1, 2, 3, 50]) {
      const { found, ...counts } = await walk(ada, limit)
      expect([found, counts], `${limit}`).toEqual([[soon, late, ...others], { remaining: 6, assigned: 2 }])
    }
    expect(await walk(cy, 3)).toEqual({ found: others, remaining: 4, assigned: 0 })
  })

  it('closes an assignment when its span is decided, until the output changes or the decision is withdrawn', async ({
    expect,
  }) => {
    const { org, spanId, observe, review } = await newReviewed('Yes')
    const { userId, client } = await reviewerOf(org)
    const state = async () => ({
      mine: (await client.get(`${QUEUE}&assignee=me`)).body.spans.length,
      listed: (await client.get('/api/spans?projectSlug=support&assignee=me')).body.spans.length,
      shown: (await client.get(`/api/spans/${spanId}`)).body.assignees.length,
      people: (await client.get('/api/review-queue/progress?projectSlug=support')).body.people.map(
        ({ open, overdue }: { open: number; overdue: number }) => [open, overdue],
      ),
    })
    const OPEN = { mine: 1, listed: 1, shown: 1 }
    const DONE = { mine: 0, listed: 0, shown: 0 }
    await org.owner.post(ASSIGN, { spanIds: [spanId], userIds: [userId], dueAt: '2020-01-01T00:00:00.000Z' })
    expect(await state()).toEqual({ ...OPEN, people: [[1, 1]] })
    await review({ decision: 'accept' }, {}, client)
    expect(await state()).toEqual({ ...DONE, people: [[0, 0]] })
    await observe({ data: 'Changed' })
    expect(await state()).toEqual({ ...OPEN, people: [[1, 1]] })
    await review({ decision: 'correct', approvedOutput: 'No' }, {}, client)
    expect(await state()).toMatchObject(DONE)
    await review({ decision: 'reset' }, {}, client)
    expect(await state()).toMatchObject(OPEN)
    expect((await client.get('/api/spans?projectSlug=support&assignee=none')).body.spans).toEqual([])
  })

  it("moves a person's remaining spans to other people, or unassigns them", async ({ expect }) => {
    const { org, ada, bob, cy, spanIds, assign, queueOf, assigneesOf, progress } = await newTeam(4)
    await assign({ filter: FILTER, userIds: [ada.userId], dueAt: DUE })
    await ada.client.put(`/api/spans/${spanIds[0]}/review`, { decision: 'accept' })
    const moved = await assign({ filter: FILTER, fromUserId: ada.userId, userIds: [bob.userId, cy.userId] })
    expect(moved).toMatchObject({ assigned: [{ spans: 2 }, { spans: 1 }], ended: 0 })
    expect(await assigneesOf(String(spanIds[2]))).toEqual([{ userId: cy.userId, dueAt: DUE }])
    expect(await queueOf(ada, 'assignee=me')).toEqual([])
    const { people, openIsMinimum } = await progress()
    expect(openIsMinimum).toBe(false)
    expect(
      new Map(people.map(({ userId, open, reviewed }: Record<string, unknown>) => [userId, [open, reviewed]])),
    ).toEqual(
      new Map([
        [ada.userId, [0, 1]],
        [bob.userId, [2, 0]],
        [cy.userId, [1, 0]],
      ]),
    )
    expect(await assign({ filter: FILTER, fromUserId: bob.userId, userIds: [] })).toMatchObject({ ended: 2 })
    expect(await assign({ spanIds: [spanIds[2]], userIds: [] })).toMatchObject({ ended: 1 })
    expect(await queueOf(ada, 'assignee=none')).toEqual(spanIds.slice(1))
    const log = (await org.owner.get('/api/audit-log?limit=200')).body.entries
    const own = log.filter(({ action }: { action: string }) => /^review\.(un)?assign$/.test(action))
    expect(own.filter(({ action }: { action: string }) => action === 'review.assign')).toHaveLength(7)
    expect(own.filter(({ action }: { action: string }) => action === 'review.unassign')).toHaveLength(3)
    expect(own.filter((entry: object) => 'beforeId' in entry && entry.beforeId === ada.userId)).toHaveLength(3)
  })

  it('never assigns spans that need no review, that are in another project, or whose trace is gone', async ({
    expect,
  }) => {
    const { org, ada, spanIds, assign, queueOf } = await newTeam(3)
    const [reviewed, deleted, kept] = spanIds
    await ada.client.put(`/api/spans/${reviewed}/review`, { decision: 'accept' })
    await assign({ spanIds: [deleted], userIds: [ada.userId] })
    await org.owner.delete(`/api/traces/${(await org.read.get(`/api/spans/${deleted}`)).body.trace.id}`)
    const foreign = await newReviewed('Yes')
    const refused = [reviewed, deleted, crypto.randomUUID(), foreign.spanId]
    expect(await assign({ spanIds: [...refused, kept], userIds: [ada.userId] })).toMatchObject({
      assigned: [{ userId: ada.userId, spans: 1 }],
      refused,
    })
    expect(await queueOf(ada, 'assignee=me')).toEqual([kept])
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const other = client({ 'x-api-key': await org.keyFor({ projectSlug: 'other', scopes: ['manage', 'review'] }) })
    expect((await other.post(ASSIGN, { spanIds: [kept], userIds: [ada.userId] })).body).toMatchObject({
      refused: [kept],
    })
    expect((await other.post(ASSIGN, { filter: FILTER, userIds: [ada.userId] })).status).toBe(403)
    const inOther = client({ 'x-api-key': await org.keyFor({ projectSlug: 'other' }) })
    const trace = aTrace()
    await inOther.post('/api/v1/traces', trace)
    const span = aSpan({ trace_id: trace.trace_id, output: 'Yes' })
    await inOther.post('/api/v1/spans', span)
    const both = await org.owner.post(ASSIGN, { spanIds: [kept, span.span_id], userIds: [ada.userId] })
    expect(both).toMatchObject({ status: 400, body: { details: [{ path: 'spanIds.1' }] } })
  })

  it('shows the assignees of a span on the root that is reviewed with it, too', async ({ expect }) => {
    const text = 'The warranty is 24 months.'
    const { org, id, spanId: root, step } = await newReviewed(text)
    const { userId } = await reviewerOf(org)
    await org.owner.post(ASSIGN, { spanIds: [root], userIds: [userId] })
    const below = crypto.randomUUID()
    await step({ span_id: below, output: text })
    const refused = await org.owner.post(ASSIGN, { spanIds: [root, below], userIds: [userId] })
    expect(refused.body).toMatchObject({ assigned: [{ userId, spans: 1 }], refused: [root] })
    const shown = { reviewedBy: below, assignees: [userId] }
    const { spans } = (await org.read.get(`/api/traces/${id}`)).body
    const rootOf = (span: { review: { reviewedBy: string }; assignees: { userId: string }[] }) => ({
      reviewedBy: span.review.reviewedBy,
      assignees: span.assignees.map(each => each.userId),
    })
    expect(rootOf(spans[0])).toEqual(shown)
    expect(rootOf((await org.read.get(`/api/spans/${root}`)).body)).toEqual(shown)
    // The root's own assignment no longer counts.
    const { people } = (await org.owner.get('/api/review-queue/progress?projectSlug=support')).body
    expect(people).toMatchObject([{ userId, open: 1 }])
  })

  it("ends a deleted user's assignments", async ({ expect }) => {
    const { org, ada, bob, spanIds, assign } = await newTeam(2)
    await assign({ filter: FILTER, userIds: [ada.userId, bob.userId] })
    await org.owner.delete(`/api/users/${ada.userId}`)
    await sweep(withoutQueue(), Date.now())
    const { body } = await org.owner.get('/api/spans?projectSlug=support&assignee=none')
    expect(body.spans.map(({ id }: { id: string }) => id)).toEqual([spanIds[0]])
  })

  it('assigns each span to as many people as the policy requires, and offers it even if it is left out', async ({
    expect,
  }) => {
    const { org, ada, bob, cy, spanIds, assign, queueOf, assigneesOf } = await newTeam(3)
    const userIds = [ada.userId, bob.userId, cy.userId]
    const policy = { sample: 1, reviewers: 2, blind: false }
    const setPolicy = (steps: object) =>
      org.owner.put(`/api/projects/${org.project.id}/review-policy`, { default: policy, steps, always: [] })
    await setPolicy({})
    expect(sharesOf(await assign({ filter: FILTER, userIds }))).toEqual([2, 2, 2])
    expect(await assign({ filter: FILTER, userIds })).toMatchObject({ unchanged: 0, nextCursor: null })
    expect(await assigneesOf(String(spanIds[2]))).toHaveLength(2)
    await setPolicy({ answer: { ...policy, sample: 0 } })
    expect(await queueOf(ada, '')).toEqual([])
    expect(await queueOf(ada, 'assignee=me')).toEqual([spanIds[0], spanIds[1]])
    const [left] = await spansIn(org, 1)
    const previewOf = async (fields: object) =>
      sharesOf(await assign({ filter: { ...FILTER, ...fields }, userIds: [ada.userId], preview: true }))
    expect(await previewOf({})).toEqual([0])
    expect(await previewOf({ all: 'true' })).toEqual([1])
    expect(await assign({ spanIds: [left], userIds: [ada.userId] })).toMatchObject({ assigned: [{ spans: 1 }] })
    expect(await queueOf(ada, 'assignee=me')).toContain(left)
  })

  it('waits only for people who have not voted, and does not show blind reviewers who they are', async ({ expect }) => {
    const { org, ada, ben, cleo, spanId, vote } = await newVoted('Yes', { blind: true })
    const userIds = [ada.userId, ben.userId]
    await org.owner.post(ASSIGN, { spanIds: [spanId], userIds, dueAt: '2020-01-01T00:00:00.000Z' })
    const listed = async (by: typeof ada, query: string) =>
      (await by.client.get(`/api/spans?projectSlug=support&${query}`)).body.spans.length
    const state = async () => ({
      queued: [
        (await ada.client.get(`${QUEUE}&order=mine`)).body.spans.length,
        (await ben.client.get(`${QUEUE}&order=mine`)).body.spans.length,
      ],
      own: [await listed(ada, 'assignee=me'), await listed(ben, 'assignee=me')],
      seen: [await listed(cleo, `assignee=${ada.userId}`), await listed(ben, `assignee=${ada.userId}`)],
      shown: (await cleo.client.get(`/api/spans/${spanId}`)).body.assignees.length,
      overdue: (await org.owner.get('/api/review-queue/progress?projectSlug=support')).body.people.flatMap(
        ({ userId, overdue }: { userId: string; overdue: number }) => (overdue > 0 ? [userIds.indexOf(userId)] : []),
      ),
    })
    const BEFORE = { queued: [1, 1], own: [1, 1], seen: [1, 1], shown: 2 }
    expect(await state()).toMatchObject(BEFORE)
    await vote(ada, ACCEPT)
    expect(await state()).toEqual({ ...BEFORE, queued: [0, 1], own: [0, 1], overdue: [1] })
    await vote(ada, RESET)
    expect(await state()).toMatchObject(BEFORE)
    await vote(ada, ACCEPT)
    await vote(ben, correct('No'))
    expect(await state()).toEqual({ ...BEFORE, queued: [0, 0], own: [0, 0], overdue: [] })
    await vote(ben, ACCEPT)
    expect(await state()).toEqual({ queued: [0, 0], own: [0, 0], seen: [0, 0], shown: 0, overdue: [] })
  })

  it.for([false, true])(
    'chooses people who have not voted, unless that would reveal who has; blind: %s',
    async (blind, { expect }) => {
      const { org, ada, ben, cleo, spanId, vote } = await newVoted('Yes', { reviewers: 3, blind })
      await vote(ada, ACCEPT)
      const userIds = [ada, ben, cleo].map(({ userId }) => userId)
      const { body } = await org.owner.post(ASSIGN, { spanIds: [spanId], userIds })
      expect(body.assigned.map(({ spans }: { spans: number }) => spans)).toEqual(blind ? [1, 1, 1] : [0, 1, 1])
      // Ben votes and then goes away. Nobody has to take over from him.
      await vote(ben, ACCEPT)
      const dee = await reviewerOf(org)
      const moved = { spanIds: [spanId], fromUserId: ben.userId, userIds: [dee.userId] }
      expect((await org.owner.post(ASSIGN, moved)).body).toMatchObject(
        blind ? { assigned: [{ spans: 1 }], ended: 0 } : { assigned: [{ spans: 0 }], ended: 1 },
      )
    },
  )

  it.for([false, true])(
    'balances the number of spans that wait for each person, unless that would reveal who voted; blind: %s',
    async (blind, { expect }) => {
      const { org, ada, ben, spanId, vote } = await newVoted('Yes', { blind })
      const [next] = await spansIn(org, 1)
      await org.owner.post(ASSIGN, { spanIds: [spanId], userIds: [ada.userId] })
      const setReviewers = (reviewers: number) =>
        org.owner.put(`/api/projects/${org.project.id}/review-policy`, { default: { reviewers, blind } })
      await vote(ada, ACCEPT)
      await setReviewers(1)
      // Ada has an open assignment, but nothing left to do on it.
      const body = { spanIds: [next], userIds: [ada.userId, ben.userId], preview: true }
      expect(sharesOf((await org.owner.post(ASSIGN, body)).body)).toEqual(blind ? [0, 1] : [1, 0])
      const manager = org.clientOf(await org.keyFor({ scopes: ['manage', 'read'] }))
      expect(sharesOf((await manager.post(ASSIGN, body)).body)).toEqual([1, 0])
    },
  )

  it('finds a renamed step by either name', async ({ expect }) => {
    const { org, ada, assign } = await newTeam(2)
    await org.owner.put(`/api/projects/${org.project.id}/step-names`, { names: { answer: 'reply' } })
    for (const stepId of ['reply', 'answer']) {
      const preview = await assign({ filter: { ...FILTER, stepId }, userIds: [ada.userId], preview: true })
      expect(sharesOf(preview)).toEqual([2])
    }
  })
})

describe('a rejected request', () => {
  let org: Org
  let userId: string
  const spanId = crypto.randomUUID()
  beforeAll(async () => {
    org = await newOrg()
    userId = (await reviewerOf(org)).userId
  })

  const ids = (count: number) => Array.from({ length: count }, () => crypto.randomUUID())

  it.for<[string, (userId: string) => object, string]>([
    ['neither spans nor a filter', userId => ({ userIds: [userId] }), ''],
    ['both spans and a filter', userId => ({ spanIds: [spanId], filter: FILTER, userIds: [userId] }), 'filter'],
    ['a filter but no people', () => ({ filter: FILTER, userIds: [] }), 'userIds'],
    ['a user who does not exist', userId => ({ spanIds: [spanId], userIds: [userId, spanId] }), 'userIds.1'],
    ['a filter without a project', userId => ({ filter: {}, userIds: [userId] }), ''],
    [
      'an unknown assignee',
      userId => ({ filter: { ...FILTER, assignee: 'you' }, userIds: [userId] }),
      'filter.assignee',
    ],
    [
      'both an assignee and a person to take spans from',
      userId => ({ filter: { ...FILTER, assignee: 'none' }, fromUserId: userId, userIds: [userId] }),
      'filter.assignee',
    ],
    ['a cursor without a filter', userId => ({ spanIds: [spanId], userIds: [userId], cursor: 'x' }), 'cursor'],
    ['a forged cursor', userId => ({ filter: FILTER, userIds: [userId], cursor: 'x' }), 'cursor'],
    ['too many spans', userId => ({ spanIds: ids(MAX_ASSIGNED_SPANS + 1), userIds: [userId] }), 'spanIds'],
    ['too many people', () => ({ spanIds: [spanId], userIds: ids(MAX_ASSIGNEES + 1) }), 'userIds'],
  ])('contains %s', async ([, bodyOf, path], { expect }) => {
    const { status, body } = await org.owner.post(ASSIGN, bodyOf(userId))
    expect([status, body.details[0].path]).toEqual([400, path])
  })

  it('has an order that doesn’t fit its assignee, or an invalid assignee', async ({ expect }) => {
    for (const query of ['order=due', 'order=due&assignee=none', 'order=mine&assignee=me', 'assignee=x']) {
      expect((await org.owner.get(`${QUEUE}&${query}`)).status).toBe(400)
    }
  })
})

describe('a large project', () => {
  const TRACES = 1100
  let org: Org
  let people: Awaited<ReturnType<typeof reviewerOf>>[]
  beforeAll(async () => {
    org = await newOrg()
    people = [await reviewerOf(org), await reviewerOf(org)]
    await manyTraces(org, TRACES, () => ({ name: 'run', fields: {} }))
    await stored
      .prepare(
        `update spans set has_output = 1, output = '"Yes"', output_revision = 'a' where trace_key in (
         select t.key from traces t join projects p on p.key = t.project_key where p.id = ?)`,
      )
      .bind(org.project.id)
      .run()
  })

  it('is assigned in several calls of a limited size, each of which returns the cursor for the next call', async ({
    expect,
  }) => {
    const userIds = people.map(({ userId }) => userId)
    const first = (await org.owner.post(ASSIGN, { filter: FILTER, userIds })).body
    expect(sharesOf(first)).toEqual([MAX_ASSIGNED_SPANS / 2, MAX_ASSIGNED_SPANS / 2])
    const second = (await org.owner.post(ASSIGN, { filter: FILTER, userIds, cursor: first.nextCursor })).body
    expect(sharesOf(second)).toEqual([50, 50])
    expect(second.nextCursor).toBeNull()
    const again = (await org.owner.post(ASSIGN, { filter: FILTER, userIds })).body
    expect([...sharesOf(again), again.unchanged, again.nextCursor]).toEqual([0, 0, 0, null])
  })

  it("needs to read only a person's own traces for that person's queue, in a few round trips", async ({ expect }) => {
    const { key, userId, client: own } = await reviewerOf(org)
    const spans = (await own.get(`${QUEUE}&limit=200&order=random`)).body.spans
    const spanIds = spans.slice(0, 5).map(({ id }: { id: string }) => id)
    await org.owner.post(ASSIGN, { spanIds, userIds: [userId], replace: true })
    for (const path of [
      `${QUEUE}&assignee=me&order=due`,
      `${QUEUE}&assignee=me`,
      '/api/spans?projectSlug=support&assignee=me',
    ]) {
      const { bindings, counts } = countingBindings()
      const { body } = await org.clientOf(key, bindings).get(path)
      expect(body.spans.map(({ id }: { id: string }) => id).sort()).toEqual([...spanIds].sort())
      expect(counts.d1RoundTrips).toBeLessThanOrEqual(isSharded ? 6 : 3)
      expect(await rowsReadBy(bindings => org.clientOf(key, bindings).get(path))).toBeLessThan(TRACES / 2)
    }
  })

  it.skipIf(isSharded)(
    'reads at most a few rows for each open assignment, regardless of the policy',
    async ({ expect }) => {
      const userIds = await Promise.all(
        Array.from({ length: MAX_ASSIGNEES }, async () => (await reviewerOf(org)).userId),
      )
      const ofProject = 'select key from projects where id = ?2'
      await stored.batch(
        [
          `select s.trace_key, s.id, u.value, p.key, 0 from projects p, traces t, spans s, json_each(?1) u
         where p.id = ?2 and t.project_key = p.key and s.trace_key = t.key`,
          `select -i, 'gone', u.value, (${ofProject}), 0 from json_each(?1) u, (
           with recursive n(i) as (select 1 union all select i + 1 from n where i < ?3) select i from n)`,
        ].map((rows, index) =>
          stored
            .prepare(`insert into review_assignments (trace_key, span_id, user_id, project_key, assigned_at) ${rows}`)
            .bind(JSON.stringify(userIds), org.project.id, ...(index === 0 ? [] : [MAX_OPEN_ASSIGNMENTS - TRACES])),
        ),
      )
      const { spans } = (await org.owner.get(`${QUEUE}&limit=1`)).body
      const body = { spanIds: [spans[0].id], userIds, preview: true }
      const rowsRead = () => rowsReadBy(bindings => org.bearer(bindings).post(ASSIGN, body))
      const most = MAX_ASSIGNEES * MAX_OPEN_ASSIGNMENTS
      expect(await rowsRead()).toBeGreaterThan(most)
      expect(await rowsRead()).toBeLessThan(2 * most)
      const steps = Array.from({ length: MAX_POLICY_STEPS }, (_, index) => [
        `step-${index}`,
        { reviewers: 2, blind: true },
      ])
      const policy = { default: { reviewers: 2, blind: true }, steps: Object.fromEntries(steps) }
      await org.owner.put(`/api/projects/${org.project.id}/review-policy`, policy)
      expect(await rowsRead()).toBeLessThan(3 * most)
      await org.owner.put(`/api/projects/${org.project.id}/review-policy`, { default: {} })
      await stored
        .prepare('delete from review_assignments where user_id in (select value from json_each(?))')
        .bind(JSON.stringify(userIds))
        .run()
    },
  )

  it('assigns nobody more than the maximum, and reports the shortfall', async ({ expect }) => {
    const { userId } = await reviewerOf(org)
    await databaseOfTrace(org.project.id)
      .prepare(
        `insert into review_assignments (trace_key, span_id, user_id, project_key, assigned_at)
       with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
       select -i, 'gone', ?, (select key from projects where id = ?), 0 from n`,
      )
      .bind(MAX_OPEN_ASSIGNMENTS - 1, userId, org.project.id)
      .run()
    const { spans } = (await org.owner.get(`${QUEUE}&limit=2`)).body
    const spanIds = spans.map(({ id }: { id: string }) => id)
    const { body } = await org.owner.post(ASSIGN, { spanIds, userIds: [userId], replace: true })
    expect(body).toMatchObject({ assigned: [{ userId, spans: 1 }], short: 1 })
  })
})
