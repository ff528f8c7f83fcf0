import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import { runJob } from '../../src/jobs/consumer.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import { DAY_MS } from '../../src/limits.ts'
import { newDisputed, withMessages } from '../support/attribution.ts'
import { rowsReadBy, wrapBindings } from '../support/bindings.ts'
import { aFeedback } from '../support/builders.ts'
import { isSharded, jobPlace, stored } from '../support/database.ts'
import { newOrg } from '../support/org.ts'
import { newReviewed, reviewerOf } from '../support/reviews.ts'
import { manyTraces } from '../support/traces.ts'

const today = () => new Date().toISOString().slice(0, 10)

describe('GET /api/insights', () => {
  it('covers the last 30 days in an empty project', async ({ expect }) => {
    const org = await newOrg()
    const { status, body } = await org.read.get('/api/insights?projectSlug=support')
    const to = Date.parse(`${today()}T00:00:00.000Z`) + DAY_MS
    expect(status).toBe(200)
    expect(body).toEqual({
      from: new Date(to - 30 * DAY_MS).toISOString(),
      to: new Date(to).toISOString(),
      outputs: { total: 0, reviewed: 0, countedAt: null },
      usage: null,
      costUsd: null,
      steps: [],
      versions: [],
      useDays: [],
      days: [],
      promptVersions: [],
      errorTypes: [],
      reviewers: [],
    })
  })

  it('counts decisions by step, day, prompt version, reviewer, and error type', async ({ expect }) => {
    const org = await newOrg()
    const prompt = { projectSlug: 'support', stepId: 'generate-answer', content: 'Answer.' }
    const { id: promptId, versionId } = (await org.owner.post('/api/prompts', prompt)).body
    const fixture = await newReviewed('Yes', org)
    const spanIds = [crypto.randomUUID(), crypto.randomUUID()]
    for (const span_id of spanIds) {
      expect((await fixture.step({ span_id, prompt_version_id: versionId })).status).toBe(202)
    }
    const [ada, bob] = [await reviewerOf(org), await reviewerOf(org)]
    await fixture.review({ decision: 'accept' }, {}, ada.client)
    await ada.client.put(`/api/spans/${spanIds[0]}/review`, { decision: 'accept' })
    await bob.client.put(`/api/spans/${spanIds[1]}/review`, {
      decision: 'correct',
      approvedOutput: 'No',
      errorType: 'reasoning_error',
    })
    const day = today()
    const { body } = await org.read.get('/api/insights?projectSlug=support')
    expect(body.days).toEqual([
      { day, stepId: 'generate-answer', promptVersionId: versionId, accepted: 1, corrected: 1 },
      { day, stepId: 'support-answer', promptVersionId: null, accepted: 1, corrected: 0 },
    ])
    expect(body.steps).toMatchObject([
      { stepId: 'generate-answer', outputs: 0, reviewed: 0, accepted: 1, corrected: 1 },
      { stepId: 'support-answer', outputs: 0, reviewed: 0, accepted: 1, corrected: 0 },
    ])
    expect(body.promptVersions).toEqual([
      { id: versionId, promptId, stepId: 'generate-answer', number: 1, isActive: true },
    ])
    expect(body.errorTypes).toEqual([
      { errorType: 'reasoning_error', stepId: 'generate-answer', source: 'review', count: 1 },
    ])
    const reviewers = [
      { userId: ada.userId, name: 'Reviewer', days: [{ day, reviewed: 2 }] },
      { userId: bob.userId, name: 'Reviewer', days: [{ day, reviewed: 1 }] },
    ]
    expect(body.reviewers.toSorted((a: { days: { reviewed: number }[] }) => -(a.days[0]?.reviewed ?? 0))).toEqual(
      expect.arrayContaining(reviewers),
    )
  })

  it.for([
    ['an empty window', 'from=2026-11-02T00:00:00.000Z&to=2026-11-02T00:00:00.000Z'],
    ['more than 366 days', 'from=2025-01-01T00:00:00.000Z&to=2026-01-02T00:00:00.001Z'],
  ] as const)('returns a 400 for %s', async ([, query], { expect }) => {
    const org = await newOrg()
    const { status, body } = await org.read.get(`/api/insights?projectSlug=support&${query}`)
    expect(status).toBe(400)
    expect(body.details[0].path).toBe('from')
  })

  it.for([
    ['0000-01-01T00:00:00.000Z', '0000-01-03T05:00:00.000Z'],
    ['9999-12-30T12:00:00.000Z', '9999-12-31T23:59:59.999Z'],
    ['2023-12-31T23:59:59.999Z', '2024-12-31T00:00:00.000Z'],
  ] as const)('treats %s to %s as whole days', async ([from, to], { expect }) => {
    const org = await newOrg()
    const { status, body } = await org.read.get(`/api/insights?projectSlug=support&from=${from}&to=${to}`)
    expect(status).toBe(200)
    expect(body.from).toBe(`${from.slice(0, 10)}T00:00:00.000Z`)
  })

  it('uses the span’s step and prompt version at the time of the decision', async ({ expect }) => {
    const org = await newOrg()
    const fixture = await newReviewed('Yes', org)
    const span_id = crypto.randomUUID()
    await fixture.step({ span_id, step_id: 'before' })
    const decide = (body: object) => org.owner.put(`/api/spans/${span_id}/review`, body)
    const decided = async () =>
      (await org.read.get('/api/insights?projectSlug=support')).body.days.map(
        ({ stepId, accepted, corrected }: Record<string, unknown>) => [stepId, accepted, corrected],
      )
    await decide({ decision: 'accept' })
    await fixture.step({ span_id, step_id: 'after' })
    expect(await decided()).toEqual([['before', 1, 0]])
    await decide({ decision: 'correct', approvedOutput: 'No' })
    expect(await decided()).toEqual([['after', 0, 1]])
    await decide({ decision: 'reset', errorType: 'reasoning_error' })
    expect(await decided()).toEqual([])
    expect((await org.read.get('/api/insights?projectSlug=support')).body.errorTypes).toEqual([])
  })

  it('subtracts decisions on a deleted trace once, and keeps those on an expired trace', async ({ expect }) => {
    const { org, id, spanId, step, review } = await newReviewed('Yes')
    const prompt = { projectSlug: 'support', stepId: 'answer', content: 'Answer.' }
    const { id: promptId, versionId } = (await org.owner.post('/api/prompts', prompt)).body
    const [second, expired] = [crypto.randomUUID(), await newReviewed('Yes', org)]
    await step({ span_id: second, prompt_version_id: versionId })
    const [other, kept] = [await newReviewed('Yes', org), await newReviewed('Yes', org)]
    await review({ decision: 'accept' })
    await review({ decision: 'correct', approvedOutput: 'No', errorType: 'reasoning_error' })
    await org.owner.put(`/api/spans/${second}/review`, { decision: 'accept' })
    for (const fixture of [other, kept, expired]) await fixture.review({ decision: 'accept' })
    await other.review({ decision: 'reset' })
    const totals = async () => {
      const { body } = await org.read.get('/api/insights?projectSlug=support')
      const sum = (key: string) =>
        body.steps.reduce((all: number, row: Record<string, number>) => all + (row[key] ?? 0), 0)
      const [version] = (await org.read.get(`/api/prompts/${promptId}`)).body.versions
      const { today } = (await org.owner.get('/api/review-queue?projectSlug=support')).body
      return {
        decided: [sum('accepted'), sum('corrected')],
        types: body.errorTypes.length,
        version: version.accepted,
        today: today.map(({ reviewed }: { reviewed: number }) => reviewed),
      }
    }
    expect(await totals()).toEqual({ decided: [3, 1], types: 1, version: 1, today: [4] })
    const keyOf = async (uuid: string) =>
      await stored
        .prepare('select key as traceKey, organization_key as organizationKey from traces where id = ?')
        .bind(uuid)
        .first<{ traceKey: number; organizationKey: number }>()
    const jobs = []
    for (const uuid of [id, other.id, expired.id]) {
      const keys = await keyOf(uuid)
      if (!keys) throw new Error('trace not found')
      jobs.push({ kind: 'purge_trace', ...keys, ...(await jobPlace(keys.traceKey)) } as const)
    }
    const { JOBS, ...withoutQueue } = env
    const withoutConsumer = org.clientOf(org.ownerKey, withoutQueue)
    await withoutConsumer.delete(`/api/traces/${id}`)
    await withoutConsumer.delete(`/api/traces/${other.id}`)
    await stored.prepare('update traces set deleted_at = 1, purge_due_at = 1 where id = ?').bind(expired.id).run()
    // Each job is interrupted after its first step, delivered twice, and run in parallel.
    let calls = 0
    const interrupted = wrapBindings(async (binding, call) => {
      if (binding === 'PAYLOADS' && calls++ === 0) throw new Error('gone')
      return call()
    })
    for (const job of jobs) {
      await runJob(job, interrupted).catch(() => undefined)
      await Promise.all([runJob(job, env), runJob(job, env)])
      await runJob(job, env)
    }
    expect(await totals()).toEqual({ decided: [2, 0], types: 0, version: 0, today: [2] })
    expect((await org.read.get(`/api/spans/${spanId}`)).status).toBe(404)
    // No count may become negative.
    const { results } = await stored.prepare('select count(*) as n from review_days where accepted < 0').all()
    expect(results).toEqual([{ n: 0 }])
  })

  it("counts an engine's last answer on a trace for the step that it blames", async ({ expect }) => {
    const disputed = await newDisputed()
    const { org } = disputed
    const engine = async () =>
      (await org.read.get('/api/insights?projectSlug=support')).body.errorTypes.filter(
        ({ source }: { source: string }) => source === 'engine',
      )
    await disputed.askAsync(withMessages().bindings)
    await runJob(disputed.job, env)
    const { error_type: errorType } = (await disputed.result()).body
    const [first] = await engine()
    expect(first).toMatchObject({ errorType, source: 'engine', count: 1 })
    await disputed.observe({ data: '24 months' })
    await disputed.give({ rating: 'negative', comment: 'It is in the docs', correction: { answer: '24 months' } })
    await disputed.askAsync(withMessages().bindings)
    await runJob(disputed.job, env)
    expect((await disputed.stored()).results).toBe(2)
    expect((await engine()).map(({ count }: { count: number }) => count)).toEqual([1])
    await stored
      .prepare("update attribution_jobs set status = 'pending', basis = null where trace_key = ?")
      .bind(disputed.traceKey)
      .run()
    await runJob(disputed.job, env)
    expect((await engine()).map(({ count }: { count: number }) => count)).toEqual([1])
    await org.owner.delete(`/api/traces/${disputed.id}`)
    for (let turn = 0; turn < 2; turn++) await runJob({ ...disputed.job, kind: 'purge_trace' }, env)
    expect(await engine()).toEqual([])
  })

  it('counts the decisions on spans that used each prompt version', async ({ expect }) => {
    const org = await newOrg()
    const draft = { projectSlug: 'support', stepId: 'generate-answer', content: 'Answer.' }
    const prompt = (await org.owner.post('/api/prompts', draft)).body
    const second = (
      await org.owner.post(`/api/prompts/${prompt.id}/versions`, { content: 'Answer shortly.', activate: true })
    ).body
    const fixture = await newReviewed('Yes', org)
    for (const decision of ['accept', 'accept', 'correct'] as const) {
      const span_id = crypto.randomUUID()
      await fixture.step({ span_id, prompt_version_id: second.id })
      await org.owner.put(`/api/spans/${span_id}/review`, {
        decision,
        ...(decision === 'correct' && { approvedOutput: 'No' }),
      })
    }
    const { versions } = (await org.read.get(`/api/prompts/${prompt.id}`)).body
    expect(versions).toMatchObject([
      { accepted: 0, corrected: 0 },
      { accepted: 2, corrected: 1 },
    ])
    const { promptVersions } = (await org.read.get('/api/insights?projectSlug=support')).body
    expect(promptVersions).toMatchObject([{ id: second.id, promptId: prompt.id, number: 2, isActive: true }])
    const read = () => rowsReadBy(bindings => org.clientOf(org.ownerKey, bindings).get(`/api/prompts/${prompt.id}`))
    const other = crypto.randomUUID()
    const addDays = (first: number, last: number) =>
      stored
        .prepare(
          `with recursive days(day) as (select ?1 union all select day + 1 from days where day < ?2)
         insert into review_days (project_key, day, step_id, prompt_version_id, user_id, error_type, accepted, corrected)
           select key, day, 'a', ?3, 'b', '', 1, 0 from projects cross join days where projects.id = ?4`,
        )
        .bind(first, last, other, org.project.id)
        .run()
    // A scan of a version's rows ends at the first row of the next version, so that version must exist.
    await addDays(1, 1)
    const before = await read()
    await addDays(2, 500)
    expect(await read()).toBe(before)
  })

  it('returns a user’s name, or the email if there is no name, and the name of a key that has no user', async ({
    expect,
  }) => {
    const org = await newOrg()
    const fixture = await newReviewed('Yes', org)
    const email = `${crypto.randomUUID()}@example.com`
    await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id: fixture.trace_id, labeller: { email } }))
    const { users } = (await org.owner.get('/api/users')).body
    const userId = users.find((user: { email: string }) => user.email === email).id
    const nameless = await org.keyFor({ userId, scopes: ['review'] })
    const nobody = await org.keyFor({ name: 'Night shift', scopes: ['review'] })
    const named = await reviewerOf(org)
    for (const key of [named.key, nameless, nobody]) {
      const span_id = crypto.randomUUID()
      await fixture.step({ span_id })
      await org.clientOf(key).put(`/api/spans/${span_id}/review`, { decision: 'accept' })
    }
    const { reviewers } = (await org.read.get('/api/insights?projectSlug=support')).body
    const names: string[] = reviewers.map(({ name }: { name: string }) => name)
    expect(names.toSorted()).toEqual(['Reviewer', email, 'Night shift'].toSorted())
  })

  it.skipIf(isSharded)('reads the same number of rows, no matter how many traces there are', async ({ expect }) => {
    const rowsOf = async (count: number) => {
      const org = await newOrg()
      await manyTraces(org, count, () => ({ name: 'run', fields: {} }))
      await stored
        .prepare(
          `update spans set has_output = 1 where id in (
           select root_span_id from traces where project_key = (select key from projects where id = ?))`,
        )
        .bind(org.project.id)
        .run()
      const fixture = await newReviewed('Yes', org)
      await fixture.review({ decision: 'accept' })
      for (let run = 1; run <= 2; run++) await sweep(env, Date.now() + run * 60_000)
      const path = '/api/insights?projectSlug=support'
      expect((await org.read.get(path)).body.outputs.total).toBe(count + 1)
      return rowsReadBy(bindings => org.clientOf(org.ownerKey, bindings).get(path))
    }
    const [few, many] = [await rowsOf(100), await rowsOf(2000)]
    expect(many).toBe(few)
    expect(many).toBeLessThan(50)
  })
})

describe('the migration that starts the counts', () => {
  it.skipIf(isSharded)('counts earlier decisions and answers', async ({ expect }) => {
    const fixture = await newReviewed('Yes')
    const { org } = fixture
    await fixture.review({ decision: 'accept' })
    await fixture.review({ decision: 'correct', approvedOutput: 'No', errorType: 'reasoning_error' })
    const span_id = crypto.randomUUID()
    await fixture.step({ span_id })
    for (const decision of ['accept', 'reset']) await org.owner.put(`/api/spans/${span_id}/review`, { decision })
    const disputed = await newDisputed()
    await disputed.askAsync(withMessages().bindings)
    await runJob(disputed.job, env)
    const tables = ['review_days', 'answer_days']
    /** The nonzero counts of both tenants. */
    const read = async () => {
      const results = await stored.batch<Record<string, number>>(
        tables.map(table =>
          stored
            .prepare(
              `select * from ${table} where project_key in (select key from projects where id in (?, ?)) order by 1, 2, 3, 4`,
            )
            .bind(org.project.id, disputed.org.project.id),
        ),
      )
      return results.map(({ results: rows }) =>
        rows.filter(({ accepted = 0, corrected = 0, answers = 0 }) => accepted + corrected + answers > 0),
      )
    }
    const before = await read()
    expect(before.map(rows => rows.length > 0)).toEqual([true, true])
    const migration = env.MIGRATIONS.find(({ name }) => name.includes('insights'))
    const backfill = migration?.queries.filter(query => /^(--.*\n|\s)*(insert|update)/i.test(query)) ?? []
    expect(backfill).toHaveLength(4)
    await stored.batch(
      [
        ...tables.map(table => `delete from ${table}`),
        'update reviews set step_id = null, prompt_version_id = null',
        'update attributions set step_id = null',
        ...backfill,
      ].map(query => stored.prepare(query)),
    )
    expect(await read()).toEqual(before)
    // Replacing a counted decision subtracts it from the counts.
    await fixture.review({ decision: 'reset' })
    expect((await org.read.get('/api/insights?projectSlug=support')).body.steps).toEqual([])
  })
})
