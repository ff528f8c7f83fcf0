import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, it } from 'vitest'
import { endpoints } from '../../src/app.ts'
import { EVENT_TYPES } from '../../src/domain/webhook.ts'
import { runJob } from '../../src/jobs/consumer.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import { RESEND_AFTER_MS } from '../../src/limits.ts'
import { HOMES } from '../../src/store/schema/homes.ts'
import { newTeam } from '../support/access.ts'
import { deliver, newDisputed, withMessages } from '../support/attribution.ts'
import { recordingBindings, type Statement } from '../support/bindings.ts'
import { aFeedback, anObservation, aSpan, aTrace } from '../support/builders.ts'
import { isSharded, stored } from '../support/database.ts'
import { mixesOf } from '../support/homes.ts'
import { newModelBench } from '../support/model-runs.ts'
import { client, newOrg } from '../support/org.ts'
import { methodOf, newWorld, sampleOf } from '../support/samples.ts'
import { cookieIn, page, visitor } from '../support/session.ts'
import { aSuggestingModel, newSuggestible } from '../support/suggested.ts'
import { aHexSpanId, anExport, anExportedSpan } from '../support/telemetry.ts'

// With several databases, a statement that is sent to the wrong database fails anyway.
describe.skipIf(isSharded)('the schema', () => {
  it('declares every table with a composite key WITHOUT ROWID, so each write is billed as one row', async () => {
    const { results } = await stored
      .prepare("select name, sql from sqlite_master where type = 'table' and sql like '%PRIMARY KEY(%'")
      .all<{ name: string; sql: string }>()
    expect(results.map(({ name }) => name).sort()).toEqual([
      'answer_days',
      'attributions',
      'audit_log',
      'counted_days',
      'dataset_entries',
      'dataset_removals',
      'dataset_settings',
      'datasets',
      'disputes',
      'experiment_results',
      'feedback',
      'gates',
      'guidelines',
      'model_jobs',
      'observations',
      'output_days',
      'problem_cases',
      'problem_days',
      'problem_ids',
      'problems',
      'project_error_types',
      'prompt_suggestion_examples',
      'prompt_suggestions',
      'result_judgments',
      'review_assignments',
      'review_claims',
      'review_days',
      'review_policy_steps',
      'reviews',
      'saved_views',
      'spans',
      'step_names',
      'suggestions',
      'text_activations',
      'trace_fields',
      'use_days',
      'user_deletions',
      'users',
      'votes',
      'watch_looks',
      'webhook_deliveries',
    ])
    for (const { sql } of results) expect(sql).toMatch(/WITHOUT ROWID$/)
  })

  it('has a home for every table', async () => {
    const { results } = await stored
      .prepare(
        "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' and name not like '_cf_%'",
      )
      .all<{ name: string }>()
    expect(results.map(({ name }) => name).sort()).toEqual(Object.keys(HOMES).sort())
  })
})

/**
 * The statements and batches that need a trace's database and the control database at the same time, which works only
 * in a deployment with one database. `saveFeedback` adds labelers in the round trip that stores their feedback. With
 * several databases, it adds them first.
 */
const MIXED = ['batch: attribution_jobs, feedback, traces with users', 'write users: feedback, traces with users']

interface PlanStep {
  id: number
  parent: number
  detail: string
}

/** Whether a step of a query plan is in a scalar subquery, such as the one that finds a request's rarest filter. */
function isInScalar({ parent }: PlanStep, plan: readonly PlanStep[]): boolean {
  const above = plan.find(({ id }) => id === parent)
  return above !== undefined && (/^(CORRELATED )?SCALAR SUBQUERY/.test(above.detail) || isInScalar(above, plan))
}

describe.skipIf(isSharded)('the SQL statements in requests and jobs', () => {
  const distinct = new Map<string, Statement>()
  const mixed = new Set<string>()

  beforeAll(async () => {
    const { bindings, statements, roundTrips } = recordingBindings()
    const org = await newOrg()
    const world = await newWorld(org)
    // Deliver nothing, but record every event.
    await org.owner.post('/api/webhooks', { url: 'https://hooks.invalid', events: EVENT_TYPES })
    const key = await org.keyFor({ projectSlug: undefined, userId: org.userId })
    const caller = org.clientOf(key, bindings)
    const header = { 'x-project-slug': 'support' }
    for (const { contract } of endpoints) {
      const sample = sampleOf(contract)
      const headers = contract.scope === 'admin' ? { authorization: `Bearer ${env.ADMIN_TOKEN}` } : header
      const call = contract.scope === 'admin' ? client(headers, bindings) : caller
      await call[methodOf(contract)](sample.path(world), sample.body?.(world), header)
    }
    const stranger = await newOrg()
    const foreign = stranger.clientOf(stranger.ownerKey, bindings)
    for (const { contract } of endpoints) {
      const sample = sampleOf(contract)
      if (sample.namesTenants) await foreign[methodOf(contract)](sample.path(world), sample.body?.(world), header)
    }
    const trace = aTrace()
    const { trace_id } = trace
    const { id } = (await caller.post('/api/v1/traces', trace, header)).body
    await caller.post('/api/v1/traces', { ...trace, status: 'completed', metadata: { other: 1 } }, header)
    for (const fields of [{ data: 'x'.repeat(20_000) }, { type: 'input' }, { span_id: crypto.randomUUID() }]) {
      await caller.post('/api/v1/observations', anObservation({ trace_id, ...fields }), header)
    }
    const reviewed = aSpan({ trace_id })
    await caller.post('/api/v1/spans', reviewed, header)
    await caller.put(`/api/spans/${reviewed.span_id}/review`, { decision: 'accept', comment: 'Good' })
    const { spanId } = world
    await caller.post('/api/v1/spans', { ...reviewed, output: 'Changed' }, header)
    const agent = org.clientOf(await org.keyFor({ actsAs: 'agent' }), bindings)
    await agent.put(`/api/spans/${reviewed.span_id}/review`, { decision: 'accept' })
    await agent.get(`/api/spans/${reviewed.span_id}`)
    await caller.post('/api/v1/observations', anObservation({ trace_id, span_id: reviewed.span_id }), header)
    await caller.post('/api/v1/feedback', aFeedback({ trace_id, labeller: { email: 'ada@example.com' } }), header)
    await caller.post('/api/v1/feedback', aFeedback({ trace_id: 'trace_none' }), header)
    const exported = anExportedSpan({ parentSpanId: aHexSpanId(), attributes: { 'session.id': 'a' } })
    const root = anExportedSpan({ traceId: exported.traceId, name: 'root', start: -5, attributes: { 'user.id': 'b' } })
    for (const span of [exported, root]) await caller.post('/v1/traces', anExport([span]), header)
    await caller.post('/api/v1/traces', aTrace({ trace_id: `trace_${exported.traceId}` }), header)
    await caller.post('/v1/traces', anExport([anExportedSpan({ parentSpanId: aHexSpanId() })]), header)
    await caller.get('/api/review-queue?projectSlug=support&kind=all&order=negative')
    await caller.get('/api/review-queue?projectSlug=support&order=mine')
    for (const order of ['oldest', 'due']) {
      await caller.get(`/api/review-queue?projectSlug=support&assignee=${crypto.randomUUID()}&order=${order}`)
    }
    await caller.get('/api/spans?projectSlug=support&assignee=none')
    const userIds = [org.userId]
    for (const more of [{}, { replace: true, dueAt: null }, { fromUserId: crypto.randomUUID() }]) {
      await caller.post('/api/review-queue/assign', { filter: { projectSlug: 'support' }, userIds, ...more })
    }
    await caller.get('/api/v1/traces/search?group_id=a&customer.tier=b&name=c', undefined, header)
    const first = await caller.get('/api/traces?projectSlug=support&limit=1')
    await caller.get(`/api/traces?projectSlug=support&cursor=${first.body.nextCursor}`)
    await caller.get('/api/traces?projectSlug=support&errorType=reasoning_error')
    const searched = await caller.get('/api/traces?projectSlug=support&limit=1&contains=answer')
    expect(searched.body.traces).toHaveLength(1)
    await caller.get(`/api/traces?projectSlug=support&nameContains=s&contains=ans&cursor=${searched.body.nextCursor}`)
    for (const sort of ['duration', 'cost']) await caller.get(`/api/traces?projectSlug=support&sort=${sort}`)
    for (const list of ['traces', 'spans']) {
      for (const filters of ['', '&contains=answer']) {
        const file = await caller.get(`/api/${list}/export?projectSlug=support&format=csv${filters}`)
        expect(file.body.split('\r\n').length).toBeGreaterThan(2)
      }
    }
    const spans = (query: string) => caller.get(`/api/spans?projectSlug=support&limit=1&${query}`)
    const { problems } = (await caller.get('/api/problems?projectSlug=support')).body
    for (const filters of ['', '&namedBy=engine&contains=answer']) {
      expect((await spans(`problemId=${problems[0].id}&reviewedFrom=2026-11-01T00:00:00.000Z${filters}`)).status).toBe(
        200,
      )
    }
    const draft = { projectSlug: 'support', stepId: problems[0].stepId, content: 'x' }
    const { versionId: candidateVersionId } = (await caller.post('/api/prompts', draft)).body
    const change = { candidateVersionId, assigneeId: org.userId }
    expect((await caller.patch(`/api/problems/${problems[0].id}`, change)).body.state).toBe('live')
    expect((await caller.get('/api/problems?projectSlug=support&state=live')).body.problems).toHaveLength(1)
    const walked = await spans(`stepId=generate-answer&promptVersionId=none&model=m&review=accepted&hasOutput=true`)
    expect(walked.status).toBe(200)
    await spans(`cursor=${(await spans('')).body.nextCursor}&review=unreviewed`)
    const decided =
      'errorType=reasoning_error&reviewedFrom=2026-01-01T00:00:00.000Z&reviewedTo=2100-01-01T00:00:00.000Z'
    expect((await spans(`${decided}&stepId=generate-answer&promptVersionId=none`)).body.expired).toBe(0)
    for (const query of ['contains=answer', 'contains=answer&decision=accept']) {
      expect((await spans(query)).body.spans).toHaveLength(1)
    }
    await spans(`decision=accept&review=stale&from=2026-01-01T00:00:00.000Z`)
    for (const id of [spanId, reviewed.span_id]) await caller.put(`/api/spans/${id}/review`, { decision: 'accept' })
    await spans(`decision=accept&cursor=${(await spans('decision=accept')).body.nextCursor}`)
    await caller.get('/api/attribution-quality?projectSlug=support&from=2026-01-01T00:00:00.000Z')
    await caller.get('/api/attribution-quality/answers?projectSlug=support&engine=rules&engineVersion=2&tenth=5')
    await caller.put(`/api/projects/${org.project.id}/error-types/system_failure`, { isEnabled: false })
    await caller.put(`/api/projects/${org.project.id}/error-types/system_failure`, { isEnabled: true })
    await caller.get('/api/projects?limit=1')
    const log = await caller.get('/api/audit-log?limit=1')
    const filters = `from=2026-01-01T00:00:00.000Z&to=2100-01-01T00:00:00.000Z&projectId=${org.project.id}`
    await caller.get(`/api/audit-log?${filters}&action=user.create&keyId=${world.keyId}&targetId=${world.keyId}`)
    await caller.get(`/api/audit-log?cursor=${log.body.nextCursor}`)
    // The Access team below replaces `fetch`, so the calls to a model have to come first.
    const settings = { DB: bindings.DB }
    expect((await (await newModelBench([{ answer: 'Yes' }], { settings })).runAll()).report.counts.passed).toBe(3)
    const suggestible = await newSuggestible()
    const suggesting = await aSuggestingModel(undefined, settings)
    await suggestible.request(suggesting.bindings)
    await suggesting.run()
    await suggestible.org.clientOf(suggestible.org.ownerKey, bindings).get(suggestible.path)
    const disputed = await newDisputed()
    await disputed.askAsync(withMessages().bindings)
    await runJob(disputed.job, bindings)
    await deliver(disputed.job, bindings, { queue: 'x-dead' })
    await disputed.ask(bindings)
    const signedIn = await visitor(bindings).post('/api/session', {
      link: (await caller.post('/api/sign-in-links')).body.token,
    })
    await page(cookieIn(signedIn), bindings).get('/api/session')
    await page(cookieIn(signedIn), bindings).delete('/api/session')
    const team = await newTeam()
    const throughAccess = team.page(await team.token({ email: 'ada@example.com' }), {
      ...team.bindings,
      DB: bindings.DB,
    })
    await throughAccess.get('/api/session')
    await throughAccess.get('/api/session', undefined, { 'x-org-slug': org.slug })
    await throughAccess.get('/api/session/organizations')
    await org.clientOf(await org.keyFor({}), bindings).get('/api/users')
    await caller.patch(`/api/users/${crypto.randomUUID()}`, { email: 'x@example.com', name: 'x' })
    // A correction that's an item in a candidate's experiment, which proves a fix.
    const candidate = (await caller.post('/api/prompts', { projectSlug: 'support', stepId: 'fixed', content: 'x' }))
      .body
    const wrong = aSpan({ trace_id, span_id: crypto.randomUUID(), step_id: 'fixed', output: 12 })
    await caller.post('/api/v1/spans', wrong, header)
    await caller.put(`/api/spans/${wrong.span_id}/review`, { decision: 'correct', approvedOutput: 24 })
    const { datasets } = (await caller.get('/api/datasets?projectSlug=support&limit=200')).body
    const datasetId = datasets.find(({ stepId }: { stepId: string }) => stepId === 'fixed').id
    await caller.patch(`/api/datasets/${datasetId}/items/${wrong.span_id}`, { split: 'test' })
    const trial = { projectSlug: 'support', datasetId, runner: 'client', promptVersionId: candidate.versionId }
    const experiment = `/api/experiments/${(await caller.post('/api/experiments', trial)).body.id}`
    await caller.post(`${experiment}/results`, { results: [{ itemId: wrong.span_id, output: 24 }] })
    const all = (await caller.get('/api/problems?projectSlug=support&limit=200')).body.problems
    const fixed = all.find(({ stepId }: { stepId: string }) => stepId === 'fixed')
    await caller.patch(`/api/problems/${fixed.id}`, { candidateVersionId: candidate.versionId })
    expect((await caller.get(`/api/problems/${fixed.id}`)).body.proof).toMatchObject({ items: 1, fixed: 1 })
    expect((await caller.get(`${experiment}/items?problemId=${fixed.id}`)).body.items).toHaveLength(1)
    await caller.put(`/api/projects/${org.project.id}/step-names`, { names: { drafted: 'answered' } })
    await caller.delete(`/api/traces/${id}`)
    const { JOBS, ...withoutQueue } = bindings
    await sweep(withoutQueue, Date.now() + 2 * RESEND_AFTER_MS)
    await sweep(withoutQueue, Date.now() + 2 * RESEND_AFTER_MS)

    for (const statement of statements) distinct.set(statement.sql, statement)
    for (const mix of roundTrips.flatMap(mixesOf)) mixed.add(mix)
  }, 60_000)

  it('use the tables of only one database, except for the known mixed ones', () => {
    expect([...mixed].sort()).toEqual(MIXED)
  })

  it('always seek in an index and never scan a table', async () => {
    expect(distinct.size).toBeGreaterThan(35)
    for (const { sql, values } of distinct.values()) {
      const explained = await stored
        .prepare(`explain query plan ${sql}`)
        .bind(...values)
        .all<PlanStep>()
      const plan = explained.results.map(({ detail }) => detail)
      // json_each scans only the request's values. Each subquery has its own plan. The subqueries named here contain
      // the rows of one page or one trace, a span's ancestors, or the newest votes.
      const scans = plan.filter(detail =>
        /^SCAN (?!(item|field|listed)( EXISTS)? VIRTUAL|CONSTANT|scanned|above|sharing|assigned|used|by_model|seen|asked|voted|labeled|placed|(listed|chosen|observed)( LEFT-JOIN)?$|\(subquery-\d+\))/.test(
          detail,
        ),
      )
      expect(scans, sql).toEqual([])
      // Lists must be read in index order. Only the rows in the call, the rows of its traces, and a project's few saved
      // views may be sorted.
      const isShort =
        /^select .* from "(spans|feedback|observations|attributions|saved_views)"/s.test(sql) ||
        sql.startsWith('select sharing.root_id') ||
        // Groups of counters, sorted by their sums.
        /^\s*with scanned as materialized/.test(sql) ||
        /^update "spans" set "(review_number|has_output|has_null_output)"/.test(sql)
      const sorts = explained.results.filter(
        step => /TEMP B-TREE FOR (ORDER BY|RIGHT)/.test(step.detail) && !isInScalar(step, explained.results),
      )
      if (!isShort) expect(sorts, sql).toEqual([])
    }
  })
})
