import { env } from 'cloudflare:workers'
import { afterEach, describe, it, vi } from 'vitest'
import type { Env, Job } from '../../src/env.ts'
import { runJob } from '../../src/jobs/consumer.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import { DELETION_ROWS, DELETION_SETTLE_MS, DELETION_STEPS, DELETION_TRACES, KEY_FRESH_MS } from '../../src/limits.ts'
import { failing, wrapBindings } from '../support/bindings.ts'
import { aFeedback, aTrace } from '../support/builders.ts'
import { isSharded, stored } from '../support/database.ts'
import { client, newOrg, type Org } from '../support/org.ts'
import { newReviewed, reviewerOf } from '../support/reviews.ts'
import { page, signIn } from '../support/session.ts'
import { newWebhooks, storeEvent } from '../support/webhooks.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const EMAIL = 'ada@example.com'
const LABELER = { name: 'Ada Lopez', email: EMAIL }

/** Runs cron until all deletions are finished. Without a queue, each cron run does one job. */
async function finishDeletions(): Promise<void> {
  const { JOBS, ...bindings } = env
  const left = async () => Number((await stored.prepare('select count(*) as n from user_deletions').first())?.n)
  for (let at = Date.now(); (await left()) > 0; at += DELETION_SETTLE_MS) {
    vi.useFakeTimers({ toFake: ['Date'], now: at })
    await sweep(bindings, at)
  }
  vi.useRealTimers()
}

/** Every column that contains text, as `table.column`. */
async function placesOf(text: string): Promise<string[]> {
  const columns = {
    users: ['id', 'email', 'name'],
    api_keys: ['user_id'],
    feedback: ['user_id', 'labeller'],
    reviews: ['user_id'],
    suggestions: ['user_id'],
    votes: ['user_id'],
    review_claims: ['user_id'],
    review_assignments: ['user_id'],
    saved_views: ['owner_id'],
    review_days: ['user_id'],
    experiments: ['user_id'],
    experiment_results: ['reviewed_by'],
    problems: ['assignee_id'],
    webhook_events: ['actor_id', 'data'],
    webhook_deliveries: ['answer'],
    audit_log: ['user_id', 'target_id', 'before_id', 'after_id'],
    user_deletions: ['user_id', 'new_id'],
  }
  const places = []
  for (const [table, names] of Object.entries(columns)) {
    for (const name of names) {
      const row = await stored
        .prepare(`select count(*) as n from ${table} where instr(${name}, ?) > 0`)
        .bind(text)
        .first()
      if (Number(row?.n) > 0) places.push(`${table}.${name}`)
    }
  }
  return places
}

/** Creates a user with records of every kind in two projects, and functions that read them. */
async function userWithRecords() {
  const fixture = await newReviewed('Yes')
  const { org, trace_id, id } = fixture
  const { userId, key, keyId } = await reviewerOf(org, EMAIL)
  const reviewer = client({ 'x-api-key': key })
  expectStatus(await fixture.review({ decision: 'accept', comment: 'Right' }, {}, reviewer), 200)
  const agent = org.clientOf(await org.keyFor({ userId, scopes: ['review'], actsAs: 'agent' }))
  expectStatus(await fixture.review({ decision: 'reset' }, {}, agent), 200)
  await reviewer.post(`/api/spans/${fixture.spanId}/feedback`, { content: 'Well done' })
  const assignment = { spanIds: [(await newReviewed('No', org)).spanId], userIds: [userId] }
  expectStatus(await org.owner.post('/api/review-queue/assign', assignment), 200)
  const voted = crypto.randomUUID()
  await fixture.step({ span_id: voted, step_id: 'voted', output: 'Yes' })
  await org.owner.put(`/api/projects/${org.project.id}/review-policy`, { steps: { voted: { reviewers: 2 } } })
  expectStatus(await reviewer.put(`/api/spans/${voted}/review`, { decision: 'accept' }), 200)
  const claimed = crypto.randomUUID()
  await fixture.step({ span_id: claimed, step_id: 'voted', output: 'Yes' })
  for (const by of [org.owner, reviewer]) await by.post('/api/review-queue/claim', { spanIds: [claimed] })
  await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id, labeller: LABELER }))
  await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
  const elsewhere = aTrace()
  const otherProject = org.clientOf(await org.keyFor({ projectSlug: 'other' }))
  await otherProject.post('/api/v1/traces', elsewhere)
  await otherProject.post('/api/v1/feedback', aFeedback({ trace_id: elsewhere.trace_id, labeller: LABELER }))
  const [dataset] = (await org.read.get('/api/datasets?projectSlug=support')).body.datasets
  const draft = { projectSlug: 'support', datasetId: dataset.id, runner: 'client' }
  const { id: experimentId } = (await reviewer.post('/api/experiments', draft)).body
  const path = `/api/experiments/${experimentId}`
  await reviewer.post(`${path}/results`, { results: [{ itemId: fixture.spanId, output: 'Yes' }] })
  expectStatus(await reviewer.post(`${path}/items/${fixture.spanId}/review`, { decision: 'reject' }), 200)
  for (const shared of [true, false]) {
    const view = { projectSlug: 'support', name: shared ? 'Ours' : 'Mine', page: 'traces', query: '', shared }
    expectStatus(await reviewer.post('/api/views', view), 201)
  }
  await stored
    .prepare(
      `insert into problems (project_key, step_id, error_type, doc_slug, is_dismissed, assignee_id, updated_at, revision)
     select key, 'step', '', '', 0, ?2, 1, '' from projects where id = ?1`,
    )
    .bind(org.project.id, userId)
    .run()
  await newWebhooks(org)
  for (const projectId of [org.project.id, null]) {
    await storeEvent(org, { projectId, actorId: userId, data: { to: userId }, answer: `{"by":"${userId}"}` })
  }
  const insights = async () => (await org.read.get('/api/insights?projectSlug=support')).body
  return { ...fixture, userId, key, keyId, reviewer, id, insights }
}

const viewsIn = async ({ project }: Org): Promise<number> =>
  Number(
    (
      await stored
        .prepare('select count(*) as n from saved_views where project_key = (select key from projects where id = ?)')
        .bind(project.id)
        .first()
    )?.n,
  )

function expectStatus({ status }: { status: number }, expected: number): void {
  if (status !== expected) throw new Error(`unexpected status ${status}`)
}

const remove = (org: Org, userId: string, bindings: Env = env) =>
  org.clientOf(org.ownerKey, bindings).delete(`/api/users/${userId}`)

describe('a deleted user', () => {
  it('leaves records that share one random id and have no email, name, or labeler', async ({ expect }) => {
    const { org, userId, read, history, insights } = await userWithRecords()
    const places = await placesOf(userId)
    expect(places).toEqual(
      expect.arrayContaining(['review_claims.user_id', 'webhook_events.data', 'webhook_deliveries.answer']),
    )
    const before = { detail: (await read()).trace, insights: await insights(), history: await history() }
    const removed = await remove(org, userId)
    expect(removed).toMatchObject({ status: 200, body: { id: userId } })
    expect((await org.owner.get('/api/users')).body.users).toEqual([])
    await finishDeletions()
    expect(await placesOf(userId)).toEqual([])
    expect(await placesOf(EMAIL)).toEqual([])
    expect(await placesOf('Ada Lopez')).toEqual([])
    const [entry] = (await org.owner.get('/api/audit-log?action=user.delete')).body.entries
    const newId = entry.targetId
    expect(newId).not.toBe(userId)
    const renamed = (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll(userId, newId))
    const { trace } = await read()
    expect(trace.feedback).toEqual(renamed(before.detail.feedback).map((each: object) => ({ ...each, labeller: null })))
    expect(trace.spans).toEqual(renamed(before.detail.spans))
    expect(await history()).toEqual(renamed(before.history))
    const after = await insights()
    expect([after.days, after.errorTypes]).toEqual([before.insights.days, before.insights.errorTypes])
    expect(after.reviewers).toEqual(
      renamed(before.insights.reviewers).map((each: object) => ({ ...each, name: newId })),
    )
    const { reviewers } = (await org.read.get(`/api/reviewers?ids=${userId},${newId}`)).body
    expect(reviewers).toEqual([])
    // The user's unshared views are gone, because nobody else could see them.
    const { views } = (await org.read.get('/api/views?projectSlug=support')).body
    expect(views).toMatchObject([{ name: 'Ours', ownerId: newId }])
    expect(await viewsIn(org)).toBe(1)
    expect(await placesOf(newId)).toEqual(
      expect.arrayContaining(['webhook_events.actor_id', 'webhook_deliveries.answer']),
    )
  })

  it('loses access with every key and session', async ({ expect }) => {
    const { org, userId, key, keyId, reviewer } = await userWithRecords()
    const other = (await org.owner.post('/api/api-keys', { name: 'Other', scopes: ['read'] })).body
    const app = page(await signIn(key))
    const LIST = '/api/traces?projectSlug=support'
    for (const by of [app, reviewer]) expect((await by.get(LIST)).status).toBe(200)
    await remove(org, userId)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + KEY_FRESH_MS + 1 })
    for (const by of [app, reviewer]) expect((await by.get(LIST)).status).toBe(401)
    expect((await org.clientOf(other.key).get(LIST)).status).toBe(200)
    const { apiKeys } = (await org.owner.get('/api/api-keys')).body
    const listed = apiKeys.find(({ id }: { id: string }) => id === keyId)
    expect(listed.revokedAt).toEqual(expect.any(String))
    expect(listed.userId).not.toBe(userId)
    expect((await org.owner.post('/api/api-keys', { name: 'x', scopes: ['read'], userId })).status).toBe(422)
  })

  it('does not share records with a later user who has the same email', async ({ expect }) => {
    const { org, trace_id, userId, read } = await userWithRecords()
    await remove(org, userId)
    await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id, comment: 'again', labeller: LABELER }))
    const [user] = (await org.owner.get('/api/users')).body.users
    expect(user).toMatchObject({ email: EMAIL, isConfirmed: false })
    expect(user.id).not.toBe(userId)
    await finishDeletions()
    const { feedback } = (await read()).trace
    const again = feedback.filter(({ content }: { content: string }) => content === 'again')
    expect(again).toMatchObject([{ userId: user.id, labeller: LABELER }])
    expect(feedback.filter((each: { userId: string }) => each.userId === user.id)).toHaveLength(1)
  })

  it('is removed from records that a cached key wrote', async ({ expect }) => {
    const { org, spanId, userId, reviewer, read } = await userWithRecords()
    const sent: Job[] = []
    const bindings = { ...env, JOBS: { send: async (job: Job) => sent.push(job) } as unknown as Queue<Job> }
    await remove(org, userId, bindings)
    for (const job of sent) await runJob(job, bindings)
    expect(JSON.stringify((await read()).trace)).not.toContain(userId)
    expectStatus(await reviewer.put(`/api/spans/${spanId}/review`, { decision: 'correct', approvedOutput: 'No' }), 200)
    expectStatus(await reviewer.post(`/api/spans/${spanId}/feedback`, { content: 'Late' }), 201)
    const late = { projectSlug: 'support', name: 'Late', page: 'traces', query: '' }
    expectStatus(await reviewer.post('/api/views', late), 201)
    expect(JSON.stringify((await read()).trace)).toContain(userId)
    await finishDeletions()
    expect(await placesOf(userId)).toEqual([])
    expect(await viewsIn(org)).toBe(1)
    const { reviewers } = (await org.read.get('/api/insights?projectSlug=support')).body
    expect(reviewers).toMatchObject([{ days: [{ reviewed: 1 }] }])
  })

  it.for(['before', 'after'] as const)(
    'is deleted once if D1’s response is lost %s the commit',
    async (when, { expect }) => {
      const { org, userId } = await userWithRecords()
      const bindings = wrapBindings(failing('DB', 'D1_ERROR: Network connection lost.', 1, when))
      expect((await remove(org, userId, bindings)).status).toBe(200)
      expect((await remove(org, userId)).status).toBe(404)
      expect((await org.owner.get('/api/audit-log?action=user.delete')).body.entries).toHaveLength(1)
    },
  )

  it('is deleted once by several concurrent deletions', async ({ expect }) => {
    const { org, userId } = await userWithRecords()
    const statuses = (await Promise.all(Array.from({ length: 6 }, () => remove(org, userId)))).map(
      ({ status }) => status,
    )
    expect(statuses.toSorted()).toEqual([200, 404, 404, 404, 404, 404])
  })

  it('returns a 404 in a different organization', async ({ expect }) => {
    const { org, userId } = await userWithRecords()
    const otherOrg = await newOrg()
    expect((await remove(otherOrg, userId)).status).toBe(404)
    expect((await org.owner.get('/api/users')).body.users).toMatchObject([{ id: userId }])
  })
})

describe('the job that renames records', () => {
  it('runs in bounded steps, even if each job runs twice in parallel', { timeout: 60_000 }, async ({ expect }) => {
    const { org, userId, read } = await userWithRecords()
    const row = await stored
      .prepare('select key, organization_key from projects where id = ?')
      .bind(org.project.id)
      .first()
    const [projectKey, organizationKey] = [Number(row?.key), Number(row?.organization_key)]
    const numbers = (count: number) =>
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})`
    // Add enough older traces, counts, and log entries that each kind needs several steps. The last trace has feedback.
    await stored.batch([
      stored
        .prepare(
          `insert into traces (key, id, organization_key, project_key, trace_id, root_span_id, name, status, timestamp, metadata,
           completed_fields, revision, received_at, updated_at)
         ${numbers(DELETION_TRACES + 5)} select i, ?1 || i, ?2, ?3, 'trace_' || ?1 || i, ?1 || i, 'x', 'running', i, '{}', '[]', '', 0, 0
         from n`,
        )
        .bind(crypto.randomUUID(), organizationKey, projectKey),
      stored
        .prepare(
          `insert into feedback (id, trace_key, user_id, timestamp, received_at, created_by, labeller)
         values (?, 1, ?, 0, 0, '', '{"email":"ada@example.com"}')`,
        )
        .bind(crypto.randomUUID(), userId),
      stored
        .prepare(
          `insert into review_days (project_key, day, step_id, prompt_version_id, user_id, error_type, accepted, corrected)
         ${numbers(DELETION_ROWS + 5)} select ?1, i / 100, i, '', iif(i % 2 = 0, ?2, 'other'), '', 1, 0 from n`,
        )
        .bind(projectKey, userId),
      stored
        .prepare(
          `insert into audit_log (organization_key, created_at, id, user_id, action, target_id, request_id)
         ${numbers(DELETION_ROWS + 5)} select ?1, i / 7, ?2 || i, ?3, 'x', 'y', 'z' from n`,
        )
        .bind(organizationKey, crypto.randomUUID(), userId),
    ])
    const daysOf = () =>
      stored
        .prepare('select count(*) as n, sum(accepted) as accepted from review_days where project_key = ?')
        .bind(projectKey)
        .first()
    const before = await daysOf()
    const sent: Job[] = []
    const bindings = { ...env, JOBS: { send: async (job: Job) => sent.push(job) } as unknown as Queue<Job> }
    await remove(org, userId, bindings)
    let runs = 0
    for (let job = sent.shift(); job; job = sent.shift(), runs++) {
      await Promise.all([runJob(job, bindings), runJob(job, bindings)])
    }
    expect(DELETION_STEPS).toBeGreaterThan(8)
    if (!isSharded) expect(runs).toBe(1)
    expect(await placesOf(userId)).toEqual(['user_deletions.user_id'])
    expect(await daysOf()).toEqual(before)
    expect(JSON.stringify((await read()).trace)).not.toContain(userId)
    await finishDeletions()
    expect(await placesOf(userId)).toEqual([])
  })
})
