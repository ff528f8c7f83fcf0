import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, describe, it, vi } from 'vitest'
import type { Env, Job } from '../../src/env.ts'
import { runJob } from '../../src/jobs/consumer.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import { DAY_MS, MAX_FILTERED_VERSIONS, MAX_SCANNED_DECISIONS, RETENTION_PASS_MS } from '../../src/limits.ts'
import { rowsReadBy } from '../support/bindings.ts'
import { aSpan, aTrace, TIME, timeAfter } from '../support/builders.ts'
import { aTraceBeside, isSharded, stored } from '../support/database.ts'
import { newOrg, type Org } from '../support/org.ts'
import { newReviewed, reviewerOf } from '../support/reviews.ts'
import { newTrace } from '../support/trace.ts'
import { manyTraces } from '../support/traces.ts'

vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 })

afterEach(() => {
  vi.useRealTimers()
})

const get = async ({ read }: Org, query = '') => (await read.get(`/api/spans?projectSlug=support&${query}`)).body

/** The ids of a whole list, read in pages. */
async function idsOf(org: Org, query = '', limit = 3): Promise<string[]> {
  const ids: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await get(org, `limit=${limit}&payloads=preview&${query}${cursor && `&cursor=${cursor}`}`)
    ids.push(...page.spans.map(({ id }: { id: string }) => id))
    cursor = page.nextCursor
  }
  return ids
}

describe('spans across traces', () => {
  interface Known {
    id: string
    root: boolean
    trace: number
    stepId: string
    model: string | null
    version: string | null
    hasOutput: boolean
    review: 'unreviewed' | 'accepted' | 'corrected' | 'stale' | null
  }
  let org: Org
  let versionId: string
  const known: Known[] = []

  beforeAll(async () => {
    org = await newOrg()
    const prompt = { projectSlug: 'support', stepId: 'write', content: 'Write.' }
    versionId = (await org.owner.post('/api/prompts', prompt)).body.versionId
    for (let trace = 0; trace < 6; trace++) {
      const { trace_id } = aTrace()
      const created = aTrace({ trace_id, name: 'run', timestamp: timeAfter(trace * 1000) })
      const { id } = (await org.ingest.post('/api/v1/traces', created)).body
      const { spans } = (await org.read.get(`/api/traces/${id}`)).body
      const fields = { trace, model: null, version: null }
      known.push({ ...fields, id: spans[0].id, root: true, stepId: 'run', hasOutput: false, review: null })
      for (let place = 0; place < 4; place++) {
        const [span_id, index] = [crypto.randomUUID(), trace * 4 + place]
        const stepId = index % 3 === 0 ? 'plan' : 'write'
        const model = index % 2 === 0 ? 'gpt-4.1' : null
        const version = index % 5 === 0 ? versionId : null
        const hasOutput = place < 3
        await org.ingest.post(
          '/api/v1/spans',
          aSpan({
            trace_id,
            span_id,
            step_id: stepId,
            timestamp: timeAfter(trace * 1000 + place),
            output: hasOutput ? `Output ${index}` : null,
            ...(model && { model }),
            ...(version && { prompt_version_id: version }),
          }),
        )
        const review = hasOutput ? (['unreviewed', 'accepted', 'corrected', 'stale'] as const)[index % 4] : null
        const decision = review === 'corrected' ? { decision: 'correct', approvedOutput: 'No' } : { decision: 'accept' }
        if (review && review !== 'unreviewed') await org.owner.put(`/api/spans/${span_id}/review`, decision)
        if (review === 'stale') {
          const changed = aSpan({ trace_id, span_id, step_id: stepId, output: `Other ${index}` })
          await org.ingest.post('/api/v1/spans', { ...changed, timestamp: timeAfter(trace * 1000 + place) })
        }
        known.push({ id: span_id, root: false, trace, stepId, model, version, hasOutput, review: review ?? null })
      }
    }
  })

  const expected = (isMatch: (span: Known) => boolean) =>
    [5, 4, 3, 2, 1, 0].flatMap(trace => known.filter(span => span.trace === trace && isMatch(span)).map(({ id }) => id))

  it.for([1, 4, 200])('are listed by trace, newest first, in pages of %i', async (limit, { expect }) => {
    expect(await idsOf(org, '', limit)).toEqual(expected(() => true))
  })

  it.for<[query: string, isMatch: (span: Known) => boolean]>([
    ['stepId=plan', ({ stepId }) => stepId === 'plan'],
    ['stepId=run', ({ root }) => root],
    ['stepId=nothing', () => false],
    ['model=gpt-4.1', ({ model }) => model !== null],
    ['promptVersionId=VERSION', ({ version }) => version !== null],
    ['promptVersionId=none&stepId=write', ({ version, stepId }) => version === null && stepId === 'write'],
    ['hasOutput=true', ({ hasOutput }) => hasOutput],
    ['hasOutput=false', ({ hasOutput }) => !hasOutput],
    ['review=unreviewed', ({ review }) => review === 'unreviewed'],
    ['review=accepted', ({ review }) => review === 'accepted'],
    ['review=corrected', ({ review }) => review === 'corrected'],
    ['review=stale', ({ review }) => review === 'stale'],
    ['review=reviewed', ({ review }) => review === 'accepted' || review === 'corrected'],
    ['review=waiting', ({ review }) => review === 'unreviewed' || review === 'stale'],
    ['reviewable=true', ({ hasOutput }) => hasOutput],
    ['promptVersionId=none,VERSION&stepId=write', ({ stepId }) => stepId === 'write'],
    [`from=${timeAfter(2000)}&to=${timeAfter(4000)}`, ({ trace }) => trace === 2 || trace === 3],
    [
      `review=accepted&stepId=write&model=gpt-4.1&from=${timeAfter(1000)}`,
      ({ review, stepId, model, trace }) => review === 'accepted' && stepId === 'write' && model !== null && trace >= 1,
    ],
  ])('are filtered by %s', async ([query, isMatch], { expect }) => {
    expect(await idsOf(org, query.replace('VERSION', versionId))).toEqual(expected(isMatch))
  })

  it('are also filtered by review, time, model, and output in a list of decisions', async ({ expect }) => {
    const [{ review }] = (await get(org, 'decision=accept')).spans
    const decided = async (query: string) => (await idsOf(org, `reviewerId=${review.by}&${query}`)).toSorted()
    const reviewed = (isMatch: (span: Known) => boolean) =>
      expected(span => span.review !== null && span.review !== 'unreviewed' && isMatch(span)).toSorted()
    expect(await decided('')).toEqual(reviewed(() => true))
    expect(await decided('review=stale')).toEqual(reviewed(({ review }) => review === 'stale'))
    expect(await decided(`model=gpt-4.1&to=${timeAfter(3000)}`)).toEqual(
      reviewed(({ model, trace }) => model !== null && trace < 3),
    )
    expect(await decided('hasOutput=false')).toEqual([])
    expect(await idsOf(org, `reviewerId=${crypto.randomUUID()}`)).toEqual([])
  })

  it('are shown like single spans, with large values in full or as previews', async ({ expect }) => {
    const large = 'x'.repeat(20_000)
    const { org, step, observe, spanOf } = await newTrace()
    await observe({ data: large })
    await step({ output: { a: large } })
    const { spans } = await get(org)
    expect(spans).toHaveLength(2)
    for (const span of spans) expect(span).toEqual(await spanOf(span.id))
    const { spans: previews } = await get(org, 'payloads=preview')
    expect(previews.map(({ truncated }: { truncated: string[] }) => truncated)).toEqual([['output'], ['output']])
  })

  it.for([
    { decision: 'accept' },
    { decision: 'correct', approvedOutput: `The warranty lasts ${'many '.repeat(4000)}months.` },
  ])('show a root with the review that it shares, after the decision $decision', async (review, { expect }) => {
    const text = `The warranty lasts ${'very '.repeat(4000)}long.`
    const { org, step, observe, spanOf } = await newTrace()
    await observe({ data: { answer: text } })
    const span_id = crypto.randomUUID()
    await step({ span_id, output: text })
    expect((await org.owner.put(`/api/spans/${span_id}/review`, review)).status).toBe(200)
    const { spans } = await get(org)
    expect(spans[0].review.reviewedBy).toBe(span_id)
    for (const span of spans) expect(span).toEqual(await spanOf(span.id))
    expect(await idsOf(org, `decision=${review.decision}`)).toEqual([span_id])
    expect(await idsOf(org, 'review=unreviewed')).toEqual([])
  })

  it('leave out traces that are only generic telemetry, except with kind=all', async ({ expect }) => {
    const { org, id } = await newTrace()
    await stored.prepare('update traces set is_generic = 1 where id = ?').bind(id).run()
    expect([await idsOf(org), await idsOf(org, 'kind=all')].map(ids => ids.length)).toEqual([0, 1])
  })

  it('end a page at 8 MiB of values, but include at least one span', async ({ expect }) => {
    const { org, step } = await newTrace()
    const output = 'x'.repeat(4.5 * 1024 * 1024)
    for (let place = 1; place <= 3; place++) await step({ output, timestamp: timeAfter(place) })
    const { spans, nextCursor } = await get(org)
    expect([spans.length, nextCursor]).toEqual([2, expect.any(String)])
    expect(await idsOf(org, '', 200)).toHaveLength(4)
  })

  it.skipIf(isSharded)('continue past 5,000 traces without a match', async ({ expect }) => {
    const org = await newOrg()
    await manyTraces(org, 5001, place => ({ name: place === 5001 ? 'oldest' : 'run', fields: {} }))
    const first = await get(org, 'stepId=oldest')
    expect([first.spans, first.nextCursor]).toEqual([[], expect.any(String)])
    expect(await idsOf(org, 'stepId=oldest')).toHaveLength(1)
  })

  it('are filtered by as many versions as a filter may name', async ({ expect }) => {
    const { org, step } = await newTrace()
    await step({ step_id: 'write' })
    const versions = ['none', ...Array.from({ length: MAX_FILTERED_VERSIONS - 1 }, () => crypto.randomUUID())]
    expect(await idsOf(org, `stepId=write&promptVersionId=${versions}`)).toHaveLength(1)
  })

  it.for([
    ['review=mixed', 'review'],
    ['decision=reset', 'decision'],
    ['errorType=', 'errorType'],
    ['reviewerId=ada', 'reviewerId'],
    ['promptVersionId=1', 'promptVersionId'],
    ['promptVersionId=', 'promptVersionId'],
    [`promptVersionId=${Array(MAX_FILTERED_VERSIONS + 1).fill('none')}`, 'promptVersionId'],
    ['reviewable=false', 'reviewable'],
    ['hasOutput=yes', 'hasOutput'],
    ['contains=re', 'contains'],
    ['metadata.group_id=1', 'metadata.group_id'],
    ['limit=201', 'limit'],
    ['from=yesterday', 'from'],
    [`from=${TIME}&to=${TIME}`, 'from'],
    [`from=${timeAfter(1)}&to=${TIME}`, 'from'],
    ['reviewedFrom=2026-11-21T00:00:00.000Z&reviewedTo=2026-11-21T00:00:00.000Z', 'reviewedFrom'],
    ['cursor=x', 'cursor'],
  ])('reject %s', async ([query, path], { expect }) => {
    const { status, body } = await org.read.get(`/api/spans?projectSlug=support&${query}`)
    expect(status).toBe(400)
    expect(body.details.map((detail: { path: string }) => detail.path)).toContain(path)
  })

  it("reject a cursor from the other order, and another project's key", async ({ expect }) => {
    const { nextCursor } = await get(org, 'limit=1')
    const { status } = await org.read.get(`/api/spans?projectSlug=support&decision=accept&cursor=${nextCursor}`)
    expect(status).toBe(400)
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const other = org.clientOf(await org.keyFor({ projectSlug: 'other', scopes: ['read'] }))
    expect((await other.get('/api/spans?projectSlug=support')).status).toBe(403)
    expect((await other.get('/api/spans?projectSlug=other')).body.spans).toEqual([])
  })

  it("never show another project's root that has the same id as a span", async ({ expect }) => {
    const { org, step, id: own } = await newTrace()
    const span_id = crypto.randomUUID()
    await step({ span_id })
    await org.owner.put(`/api/spans/${span_id}/review`, { decision: 'accept' })
    const { body: project } = await org.owner.post('/api/projects', { slug: 'secret', name: 'Secret' })
    const secret = org.clientOf(await org.keyFor({ projectSlug: 'secret' }))
    const { id } = (await secret.post('/api/v1/traces', await aTraceBeside(own, project, { name: 'secret' }))).body
    await stored.batch([
      stored
        .prepare('update spans set id = ? where id = (select root_span_id from traces where id = ?)')
        .bind(span_id, id),
      stored.prepare('update traces set root_span_id = ? where id = ?').bind(span_id, id),
    ])
    expect((await secret.get(`/api/spans/${span_id}`)).body.stepId).toBe('secret')
    for (const query of ['stepId=generate-answer', 'decision=accept']) expect(await idsOf(org, query)).toEqual([])
  })
})

interface Reviewed {
  id: string
  stepId: string
  promptVersionId: string | null
  review: { by: string; state: string; stale: boolean }
}

const NOW = Date.parse('2026-11-20T12:00:00.000Z')
const at = (milliseconds: number) => vi.useFakeTimers({ toFake: ['Date'], now: NOW + milliseconds })

describe('spans with a review filter', () => {
  it('are sorted by decision, newest first, with the step and version from the time of the decision', async ({
    expect,
  }) => {
    const fixture = await newReviewed('Yes')
    const { org, step } = fixture
    const prompt = { projectSlug: 'support', stepId: 'write', content: 'Write.' }
    const { versionId } = (await org.owner.post('/api/prompts', prompt)).body
    const [first, second] = [crypto.randomUUID(), crypto.randomUUID()]
    for (const span_id of [first, second]) await step({ span_id, step_id: 'plan' })
    for (const [index, id] of [second, first, fixture.spanId].entries()) {
      at(index)
      await org.owner.put(`/api/spans/${id}/review`, { decision: 'accept' })
    }
    await step({ span_id: first, step_id: 'write', prompt_version_id: versionId, output: 'Changed' })
    const { spans } = await get(org, 'decision=accept')
    expect(spans.map(({ id, stepId }: Reviewed) => [id, stepId])).toEqual([
      [fixture.spanId, 'support-answer'],
      [first, 'plan'],
      [second, 'plan'],
    ])
    expect(spans[1]).toMatchObject({ promptVersionId: null, output: 'Changed', review: { stale: true } })
    expect(await idsOf(org, 'decision=accept&stepId=plan', 1)).toEqual([first, second])
    expect(await idsOf(org, `decision=accept&promptVersionId=${versionId}`)).toEqual([])
    // Decisions that were replaced or reset disappear from the list.
    at(10)
    await org.owner.put(`/api/spans/${first}/review`, { decision: 'accept' })
    await org.owner.put(`/api/spans/${second}/review`, { decision: 'reset' })
    expect(await idsOf(org, 'decision=accept&stepId=plan')).toEqual([])
    expect(await idsOf(org, `decision=accept&promptVersionId=${versionId}`)).toEqual([first])
    await org.owner.put(`/api/projects/${org.project.id}/step-names`, { names: { write: 'draft' } })
    for (const stepId of ['write', 'draft'])
      expect(await idsOf(org, `decision=accept&stepId=${stepId}`)).toEqual([first])
    expect((await get(org, 'decision=accept&stepId=draft')).spans[0].stepId).toBe('draft')
  })

  it('can be filtered by decision, error type, reviewer, and whole days', async ({ expect }) => {
    const { org, step } = await newReviewed('Yes')
    const [ada, bob] = [await reviewerOf(org), await reviewerOf(org)]
    const [early, late] = [crypto.randomUUID(), crypto.randomUUID()]
    for (const span_id of [early, late]) await step({ span_id, output: 'No' })
    at(-DAY_MS)
    await ada.client.put(`/api/spans/${early}/review`, { decision: 'correct', approvedOutput: 'No' })
    at(0)
    const correction = { decision: 'correct', approvedOutput: 'Yes', errorType: 'reasoning_error' }
    await bob.client.put(`/api/spans/${late}/review`, correction)
    for (const [query, ids] of [
      // A correction to an equal value is an acceptance.
      ['decision=accept', [early]],
      ['decision=correct', [late]],
      ['errorType=reasoning_error', [late]],
      ['errorType=system_failure', []],
      [`reviewerId=${ada.userId.toUpperCase()}`, [early]],
      [`reviewerId=${bob.userId}&decision=accept`, []],
      ['reviewedFrom=2026-11-20T23:59:59.999Z', [late]],
      ['reviewedTo=2026-11-20T00:00:00.000Z', [early]],
      ['reviewedTo=2026-11-20T00:00:00.001Z', [late, early]],
      ['reviewedFrom=2026-11-19T12:00:00.000Z&reviewedTo=2026-11-19T12:00:00.000Z', [early]],
    ] as const) {
      expect(await idsOf(org, query), query).toEqual(ids)
    }
  })

  /** Retention runs at most once an hour. */
  let hour = Date.parse('2027-01-01T00:00:00.000Z')

  it('include a count of those whose traces have expired', async ({ expect }) => {
    const org = await newOrg()
    const [expiring, kept, deleted] = [
      await newReviewed('1', org),
      await newReviewed('2', org),
      await newReviewed('3', org),
    ]
    await stored.prepare('update traces set timestamp = 1e15 where id <> ?').bind(expiring.id).run()
    for (const { review } of [expiring, kept, deleted])
      await review({ decision: 'accept', errorType: 'system_failure' })
    const expired = async (query = 'decision=accept') => (await get(org, query)).expired
    expect(await expired()).toBe(0)
    const jobs: Job[] = []
    const JOBS = {
      send: async (job: Job) => void jobs.push(job),
      sendBatch: async (batch: { body: Job }[]) => void jobs.push(...batch.map(({ body }) => body)),
    } as unknown as Queue<Job>
    const bindings: Env = { ...env, JOBS }
    const owner = org.clientOf(org.ownerKey, bindings)
    await owner.delete(`/api/traces/${deleted.id}`)
    expect(await idsOf(org, 'decision=accept')).toEqual([kept.spanId, expiring.spanId])
    // The purge corrects the counts.
    expect(await expired()).toBe(1)
    for (const job of jobs.splice(0)) await runJob(job, env)
    expect(await expired()).toBe(0)
    await owner.patch(`/api/projects/${org.project.id}`, { retentionDays: 30, retainReviewed: false })
    hour += 2 * RETENTION_PASS_MS
    await sweep(bindings, hour)
    for (const when of ['before the purge', 'after the purge', 'after the purge was repeated']) {
      expect(await idsOf(org, 'decision=accept')).toEqual([kept.spanId])
      for (const [query, count] of [
        ['decision=accept', 1],
        ['decision=correct', 0],
        ['errorType=system_failure', 1],
        ['errorType=reasoning_error', 0],
        ['decision=accept&stepId=support-answer&promptVersionId=none', 1],
        ['decision=accept&stepId=other', 0],
        ['reviewedTo=2026-11-01T00:00:00.000Z', 0],
        ['decision=accept&review=accepted', undefined],
        ['decision=accept&hasOutput=true', undefined],
        [`decision=accept&from=${TIME}`, undefined],
        ['stepId=support-answer', undefined],
      ] as const) {
        expect(await expired(query), `${query} ${when}`).toBe(count)
      }
      for (const job of jobs) await runJob(job, env)
    }
  })

  it("don't count a deleted project's decisions as expired", async ({ expect }) => {
    const org = await newOrg()
    const { review } = await newReviewed('Yes', org)
    await review({ decision: 'accept' })
    await org.owner.delete(`/api/projects/${org.project.id}`, { confirm: 'support' })
    const key = await stored
      .prepare('select key, organization_key from projects where id = ?')
      .bind(org.project.id)
      .first<{ key: number; organization_key: number }>()
    const { JOBS, ...bindings } = env
    for (let run = 0; run < 5; run++) {
      await runJob(
        { kind: 'purge_project', projectKey: key?.key ?? 0, organizationKey: key?.organization_key ?? 0 },
        bindings,
      )
    }
    expect(await stored.prepare('select * from review_days where project_key = ?').bind(key?.key).first()).toBeNull()
  })
})

/** Adds reviewed traces to a project directly, one decision per millisecond. */
async function manyDecisions(org: Org, count: number, userId: string) {
  const ids = await manyTraces(org, count, () => ({ name: 'run', fields: {} }))
  await stored.batch([
    stored
      .prepare(
        `insert into reviews (trace_key, span_id, number, id, project_key, decision, state, user_id, created_at,
         output_revision, output_hash, approved, error_type, step_id, prompt_version_id)
       select t.key, t.root_span_id, 1, t.id, t.project_key, 'accept', 'accepted', ?, t.timestamp, 'none', '', '"Yes"',
         null, 'run', ''
       from json_each(?) as item cross join traces t where t.id = item.value and t.deleted_at is null`,
      )
      .bind(userId, JSON.stringify(ids)),
    stored
      .prepare(
        `update spans set review_number = 1, review_state = 'accepted'
       where id in (select root_span_id from traces where deleted_at is null and id in (select value from json_each(?)))`,
      )
      .bind(JSON.stringify(ids)),
  ])
}

describe('a long list of decisions', () => {
  it.skipIf(isSharded)(
    'costs the same per page no matter how many decisions follow, and stops after 5,000 that do not match',
    async ({ expect }) => {
      const org = await newOrg()
      const [common, rare] = [crypto.randomUUID(), crypto.randomUUID()]
      await manyDecisions(org, 1, rare)
      const rowsRead = (query: string) =>
        rowsReadBy(async bindings => {
          const client = org.clientOf(org.projectKey, bindings)
          expect((await client.get(`/api/spans?projectSlug=support&${query}`)).status).toBe(200)
        })
      await manyDecisions(org, 500, common)
      const few = await rowsRead('decision=accept&limit=20')
      await manyDecisions(org, 5000, common)
      expect(await rowsRead('decision=accept&limit=20')).toBeLessThan(few + 10)
      const { nextCursor } = await get(org, 'decision=accept&limit=20&payloads=preview')
      expect(await rowsRead(`decision=accept&limit=20&cursor=${nextCursor}`)).toBeLessThan(few + 10)
      const first = await get(org, `reviewerId=${rare}`)
      expect([first.spans, first.nextCursor]).toEqual([[], expect.any(String)])
      expect(await rowsRead(`reviewerId=${rare}`)).toBeLessThan(MAX_SCANNED_DECISIONS * 5)
      expect(await idsOf(org, `reviewerId=${rare}`)).toHaveLength(1)
    },
  )
})

describe('the migration that counts expired decisions', () => {
  it.skipIf(isSharded)('counts decisions that expired earlier', async ({ expect }) => {
    const [one, other] = [await newReviewed('Yes'), await newReviewed('No')]
    for (const { review } of [one, other]) await review({ decision: 'accept' })
    await stored.batch([
      stored.prepare('update review_days set expired_accepted = 0, expired_corrected = 0'),
      stored.prepare('delete from reviews where span_id = ?').bind(one.spanId),
    ])
    const migration = env.MIGRATIONS.find(({ name }) => name.includes('expired-decisions'))
    const backfill = migration?.queries.filter(query => /^(--.*\n|\s)*update/i.test(query)) ?? []
    expect(backfill).toHaveLength(1)
    for (const query of backfill) await stored.prepare(query).run()
    expect([await get(one.org, 'decision=accept'), await get(other.org, 'decision=accept')]).toMatchObject([
      { spans: [], expired: 1 },
      { spans: [{ id: other.spanId }], expired: 0 },
    ])
  })
})
