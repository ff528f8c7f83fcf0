import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, it, vi } from 'vitest'
import type { Env, Job } from '../../src/env.ts'
import { runJob } from '../../src/jobs/consumer.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import {
  COUNT_LEASE_MS,
  DELETION_SETTLE_MS,
  INLINE_BYTES,
  NOTING_DELAY_MS,
  PROJECT_PURGE_STEPS,
  PROJECT_PURGE_TRACES,
  RESEND_AFTER_MS,
} from '../../src/limits.ts'
import { wrapBindings } from '../support/bindings.ts'
import { aFeedback, anObservation, aSpan, aTrace } from '../support/builders.ts'
import { copyNow, databases, isSharded, stored } from '../support/database.ts'
import { client, newOrg, type Org } from '../support/org.ts'
import { deleteElsewhere } from '../support/projects.ts'
import { newWorld } from '../support/samples.ts'
import { newWebhooks, receive, storeEvent } from '../support/webhooks.ts'

beforeEach(() => {
  receive()
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

type PurgeJob = Job & { kind: 'purge_project' }

/** A deployment whose queue only records its messages. */
function queueInto(sent: Job[], bindings: Env = env): Env {
  const JOBS = {
    ...env.JOBS,
    send: async (job: Job) => sent.push(job),
    sendBatch: async (jobs: { body: Job }[]) => sent.push(...jobs.map(({ body }) => body)),
  } as unknown as Queue<Job>
  return { ...bindings, JOBS }
}

/** Runs a job and every job that it leads to. Each runs twice, because a queue may deliver a job twice. */
async function runAll(first: Job, bindings: Env = env): Promise<void> {
  const sent: Job[] = [first]
  for (let job = sent.shift(); job; job = sent.shift()) {
    await runJob(job, queueInto(sent, bindings))
    await runJob(job, queueInto([], bindings))
  }
}

/** A project with rows in every table that refers to projects, and its purge job, which hasn't run. */
async function newFilled() {
  const org = await newOrg()
  const world = await newWorld(org)
  const { id: projectId } = org.project
  await org.owner.put(`/api/spans/${world.spanId}/review`, { decision: 'accept' })
  const agent = org.clientOf(await org.keyFor({ actsAs: 'agent' }))
  await agent.put(`/api/spans/${world.spanId}/review`, { decision: 'accept' })
  await org.owner.put(`/api/projects/${projectId}/error-types/late`, {
    name: 'Late',
    category: 'Human Error',
    rule: 'It came late.',
  })
  await org.owner.put(`/api/projects/${projectId}/step-names`, { names: { old: 'new' } })
  await org.owner.put(`/api/projects/${projectId}/guidelines/step`, { text: 'Cite the doc.' })
  await org.owner.put(`/api/projects/${projectId}/review-policy`, {
    steps: { step: { sample: 0.5 }, draft: { reviewers: 2 } },
  })
  await newDispute(org)
  const { dataset } = world
  await org.owner.put(`/api/datasets/${dataset.id}/evaluator`, { type: 'text' })
  await org.owner.post(`/api/datasets/${dataset.id}/items`, {
    items: [{ input: 'x'.repeat(INLINE_BYTES * 2), expected: 'x' }],
  })
  const deleted = aTrace()
  const reviewed = (await org.ingest.post('/api/v1/traces', deleted)).body.id
  await org.ingest.post('/api/v1/observations', anObservation({ trace_id: deleted.trace_id }))
  const { spans } = (await org.owner.get(`/api/traces/${reviewed}`)).body
  await org.owner.put(`/api/spans/${spans[0].id}/review`, { decision: 'correct', approvedOutput: 'No' })
  const row = await stored.prepare('select key, organization_key from projects where id = ?').bind(projectId).first()
  const job: PurgeJob = {
    kind: 'purge_project',
    organizationKey: Number(row?.organization_key),
    projectKey: Number(row?.key),
  }
  const traceKey = await stored.prepare('select key from traces where id = ?').bind(world.id).first<number>('key')
  await stored.batch([
    stored.prepare('insert into model_calls values (?, 1, 1)').bind(job.projectKey),
    stored
      .prepare(
        "insert into model_jobs values (?, ?, 'run_experiment', 'e', 'pending', 1, 0, 0, null, null, null, null, null, null)",
      )
      .bind(job.organizationKey, job.projectKey),
    stored
      .prepare(
        `insert into result_judgments select experiment_key, item_id, 1, null, 1, 'model', 'Equal'
        from experiment_results where experiment_key in (select key from experiments where project_key = ?)`,
      )
      .bind(job.projectKey),
    stored.prepare("insert into answer_days values (?, 1, 'step', 'late', 1, 0)").bind(job.projectKey),
    stored
      .prepare(
        "insert into problems (project_key, step_id, error_type, doc_slug, is_dismissed, updated_at, revision) values (?, 'step', '', '', 0, 1, '')",
      )
      .bind(job.projectKey),
    stored
      .prepare(
        `insert into prompt_suggestions
       values (?, 'problem', ?, '', null, 1, null, null, '', null, null, null, null, null)`,
      )
      .bind(job.projectKey, crypto.randomUUID()),
    stored
      .prepare("insert into prompt_suggestion_examples values (?, 'span', ?, '[]', '[]')")
      .bind(crypto.randomUUID(), traceKey),
    stored
      .prepare(
        "insert into review_assignments select key, root_span_id, 'user', project_key, null, 1, 1 from traces where id = ?",
      )
      .bind(world.id),
    stored.prepare("insert into output_days values (?, 1, 'step', 1, 0)").bind(job.projectKey),
    stored.prepare("insert into use_days values (?, 1, 'step', '', 1, 1, 1, '{}')").bind(job.projectKey),
    stored
      .prepare(
        `insert into watch_looks select a.text_key, a.activated_at, 20, 0, 20, 20, 20, '[]', null
       from text_activations a join versioned_texts t on t.key = a.text_key where t.project_key = ?`,
      )
      .bind(job.projectKey),
    stored.prepare("insert into dataset_removals values (?, 'step', 1, null)").bind(job.projectKey),
    stored.prepare('insert into counted_days values (?, 1, null, 0, 0, 1, null, 0)').bind(job.projectKey),
  ])
  await newWebhooks(org)
  for (const about of [{ traceKey }, { isPending: true }]) await storeEvent(org, { projectId, ...about })
  return { org, world, job, reviewedId: reviewed }
}

/** A span with votes that don't agree, and one that two people have claimed, in a step that two people review. */
async function newDispute(org: Org): Promise<void> {
  const other = client({ 'x-api-key': await org.keyFor({ scopes: ['review'] }) })
  const trace = aTrace()
  await org.ingest.post('/api/v1/traces', trace)
  const [disputed, claimed] = ['Yes', 'No'].map(output => aSpan({ trace_id: trace.trace_id, step_id: 'draft', output }))
  for (const span of [disputed, claimed]) await org.ingest.post('/api/v1/spans', span)
  await org.owner.put(`/api/spans/${disputed?.span_id}/review`, { decision: 'accept' })
  await other.put(`/api/spans/${disputed?.span_id}/review`, { decision: 'correct', approvedOutput: 'No' })
  for (const by of [org.owner, other]) await by.post('/api/review-queue/claim', { spanIds: [claimed?.span_id] })
}

/** Like newFilled, but the project is deleted just after one of its traces, whose purge hasn't run yet. */
async function newDeleted() {
  const filled = await newFilled()
  const { org, reviewedId } = filled
  const { JOBS, ...bindings } = env
  const owner = org.clientOf(org.ownerKey, bindings)
  await owner.delete(`/api/traces/${reviewedId}`)
  const response = await owner.delete(`/api/projects/${org.project.id}`, { confirm: 'support' })
  if (response.status !== 200) throw new Error(`unexpected status ${response.status}`)
  return filled
}

/** The tables in a database that have the given column. */
async function tablesWith(database: D1Database, column: string): Promise<string[]> {
  const { results } = await database
    .prepare("select name from sqlite_master where type = 'table' and sql like ?")
    .bind(`%\`${column}\` %`)
    .all<{ name: string }>()
  return results.map(({ name }) => name)
}

/**
 * Counts the project's objects and, for each table that refers to a project, a trace, a prompt, a doc, an experiment, or
 * a webhook, the project's rows in all databases.
 */
async function leftOf({ org, job }: { org: { id: string }; job: PurgeJob }): Promise<Record<string, number>> {
  await copyNow()
  const left: Record<string, number> = {}
  const { webhook_key: _, ...keys } = await childKeys(job)
  const conditions = [
    ...Object.entries({ project_key: [job.projectKey], ...keys }).map(
      ([column, values]) => [column, `${column} in (select value from json_each(?1))`, JSON.stringify(values)] as const,
    ),
    [
      'webhook_key',
      'sequence in (select sequence from webhook_events where project_key = ?1)',
      job.projectKey,
    ] as const,
  ]
  for (const [column, condition, value] of conditions) {
    const counts: Record<string, number> = {}
    for (const database of databases) {
      for (const name of await tablesWith(database, column)) {
        const n = await database
          .prepare(`select count(*) as n from ${name} where ${condition}`)
          .bind(value)
          .first<number>('n')
        counts[name] = (counts[name] ?? 0) + (n ?? 0)
      }
    }
    for (const [name, n] of Object.entries(counts)) {
      if (name !== 'audit_log') left[name] = Math.max(left[name] ?? 0, n)
    }
  }
  const objects = (await env.PAYLOADS.list({ prefix: `${org.id}/` })).objects.length
  return { ...left, objects }
}

/** The same counts, all 0. */
const none = (left: Record<string, number>) => Object.fromEntries(Object.keys(left).map(name => [name, 0]))

/**
 * The keys of the project's traces, prompts, docs, and experiments, and of the webhooks that got its events, to find
 * their rows after the project's own rows are gone.
 */
async function childKeys({ projectKey }: PurgeJob) {
  const receivers = await stored
    .prepare(
      `select distinct webhook_key as key from webhook_deliveries
     where sequence in (select sequence from webhook_events where project_key = ?)`,
    )
    .bind(projectKey)
    .all<{ key: number }>()
  const keysIn = async (table: string) =>
    (
      await stored.prepare(`select key from ${table} where project_key = ?`).bind(projectKey).all<{ key: number }>()
    ).results.map(({ key }) => key)
  return {
    trace_key: await keysIn('traces'),
    text_key: await keysIn('versioned_texts'),
    experiment_key: await keysIn('experiments'),
    webhook_key: receivers.results.map(({ key }) => key),
  }
}

async function orphansOf(keys: Awaited<ReturnType<typeof childKeys>>): Promise<string[]> {
  const orphans: string[] = []
  for (const [column, values] of Object.entries(keys)) {
    for (const database of databases) {
      for (const name of await tablesWith(database, column)) {
        const row = await database
          .prepare(`select 1 from ${name} where ${column} in (select value from json_each(?)) limit 1`)
          .bind(JSON.stringify(values))
          .first()
        if (row) orphans.push(name)
      }
    }
  }
  return orphans
}

describe('the purge of a deleted project', () => {
  it('removes all rows and objects except the audit log, and leaves other projects alone', async ({ expect }) => {
    const liveProject = await newFilled()
    const restOf = async () => {
      // Cron continues to count outputs and send events.
      const { counted_days, output_days, use_days, webhook_deliveries, ...rest } = await leftOf(liveProject)
      return rest
    }
    const before = await restOf()
    const deleted = await newDeleted()
    const filled = await leftOf(deleted)
    for (const [name, rows] of Object.entries(filled)) expect([name, rows > 0]).toEqual([name, true])
    const keys = await childKeys(deleted.job)
    await runAll(deleted.job)
    await sweepPurges()
    expect(await leftOf(deleted)).toEqual(none(filled))
    expect(await orphansOf(keys)).toEqual([])
    expect(await restOf()).toEqual(before)
    const row = await stored
      .prepare('select slug, name from projects where key = ?')
      .bind(deleted.job.projectKey)
      .first()
    expect(row).toEqual({ slug: `~${deleted.org.project.id}`, name: '' })
  })

  /** Runs cron often enough to purge the traces that a test deleted. */
  async function sweepPurges(): Promise<void> {
    const { JOBS, ...bindings } = env
    for (let run = 0; run < 20; run++) await sweep(bindings, Date.now() + 2 * RESEND_AFTER_MS)
  }

  it('is queued by the deletion, and again by cron until it is finished', async ({ expect }) => {
    const { org, job } = await newFilled()
    const sent: Job[] = []
    const bindings = queueInto(sent)
    await org.clientOf(org.ownerKey, bindings).delete(`/api/projects/${org.project.id}`, { confirm: 'support' })
    expect(sent).toEqual([job])
    const ofProject = () => sent.filter(each => each.kind === 'purge_project' && each.projectKey === job.projectKey)
    await sweep(bindings, Date.now())
    expect(ofProject()).toHaveLength(1)
    const later = Date.now() + RESEND_AFTER_MS + 1
    await sweep(bindings, later)
    expect(ofProject()).toHaveLength(2)
    await sweep(bindings, later + RESEND_AFTER_MS - 1)
    expect(ofProject()).toHaveLength(2)
    await sweep(bindings, later + RESEND_AFTER_MS)
    expect(ofProject()).toHaveLength(3)
  })

  it('finishes after an interruption at any point', { timeout: 120_000 }, async ({ expect }) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const deleted = await newDeleted()
    const keys = await childKeys(deleted.job)
    const filled = await leftOf(deleted)
    // Each run fails one call later than the previous one.
    for (let place = 1, isCut = true; isCut; place++) {
      isCut = false
      let calls = 0
      const bindings = wrapBindings(async (binding, call) => {
        if (binding !== 'DB' && binding !== 'PAYLOADS') return call()
        if (++calls < place) return call()
        isCut = true
        throw new Error('the isolate is gone')
      })
      await runAll(deleted.job, bindings).catch(() => {})
    }
    // Cron sends the messages that weren't sent because of an interruption.
    await sweepPurges()
    expect(await leftOf(deleted)).toEqual(none(filled))
    expect(await orphansOf(keys)).toEqual([])
  })

  it('removes rows that an isolate with a stale cache wrote later, and then stops', async ({ expect }) => {
    const deleted = await newDeleted()
    const { job } = deleted
    await runAll(job)
    await sweepPurges()
    const insert = [
      stored.prepare('insert into model_calls values (?, 1, 1)').bind(job.projectKey),
      stored
        .prepare(
          "insert into model_jobs values (?, ?, 'run_experiment', 'e', 'pending', 1, 0, 0, null, null, null, null, null, null)",
        )
        .bind(job.organizationKey, job.projectKey),
      stored.prepare("insert into output_days values (?, 1, 'step', 1, 0)").bind(job.projectKey),
      stored.prepare("insert into use_days values (?, 1, 'step', '', 1, 1, 1, '{}')").bind(job.projectKey),
      stored
        .prepare(
          `insert into versioned_texts (id, organization_key, project_key, kind, name, title, created_at)
         values (?, ?, ?, 'prompt', 'late', '', 0)`,
        )
        .bind(crypto.randomUUID(), job.organizationKey, job.projectKey),
      stored
        .prepare(
          `insert into traces (key, id, organization_key, project_key, trace_id, root_span_id, name, status, timestamp,
           metadata, completed_fields, revision, received_at, updated_at)
         values (?, ?, ?, ?, 'trace_late', 'root', 'late', 'running', 0, '{}', '[]', 'r', 0, 0)`,
        )
        .bind(Math.floor(Math.random() * 2 ** 40), crypto.randomUUID(), job.organizationKey, job.projectKey),
    ]
    await stored.batch(insert)
    const isDue = () =>
      stored.prepare('select purge_due_at from projects where key = ?').bind(job.projectKey).first('purge_due_at')
    expect(await isDue()).not.toBeNull()
    vi.useFakeTimers({ toFake: ['Date'] })
    vi.setSystemTime(Date.now() + DELETION_SETTLE_MS + 1)
    const sent: Job[] = []
    await sweep(queueInto(sent), Date.now())
    expect(sent).toContainEqual(job)
    await runAll(job)
    await sweepPurges()
    const left = await leftOf(deleted)
    expect(left).toEqual(none(left))
    expect(await isDue()).toBeNull()
  })

  it('leaves no counts behind, not even negative ones', async ({ expect }) => {
    const deleted = await newDeleted()
    const { JOBS, ...bindings } = env
    // The purge of the trace that was deleted before the project still subtracts its decision from existing counts.
    await runJob(deleted.job, queueInto([]))
    vi.useFakeTimers({ toFake: ['Date'] })
    for (let minute = 1; minute < 6; minute++) {
      vi.setSystemTime(Date.now() + Math.max(NOTING_DELAY_MS, COUNT_LEASE_MS, RESEND_AFTER_MS) + 1)
      await sweep(bindings, Date.now())
    }
    const left = await leftOf(deleted)
    for (const table of ['review_days', 'output_days', 'use_days', 'counted_days'])
      expect([table, left[table]]).toEqual([table, 0])
  })

  it.skipIf(isSharded)(
    'runs in bounded parts, each of which queues the next',
    { timeout: 60_000 },
    async ({ expect }) => {
      const deleted = await newDeleted()
      const { job } = deleted
      const count = PROJECT_PURGE_TRACES * PROJECT_PURGE_STEPS + 1
      await stored
        .prepare(
          `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?1)
       insert into traces (key, id, organization_key, project_key, trace_id, root_span_id, name, status, timestamp,
         metadata, completed_fields, revision, received_at, updated_at)
       select ?2 + i, ?3 || i, ?4, ?5, 'trace_' || i, 'root', 'many', 'running', i, '{}', '[]', 'r', 0, 0 from n`,
        )
        .bind(count, Math.floor(Math.random() * 2 ** 40), crypto.randomUUID(), job.organizationKey, job.projectKey)
        .run()
      const live = () =>
        stored
          .prepare('select count(*) as n from traces where project_key = ? and deleted_at is null')
          .bind(job.projectKey)
          .first('n')
      const sent: Job[] = []
      let queries = 0
      const bindings = wrapBindings(
        async (_, call) => call(),
        () => {
          queries++
        },
      )
      await runJob(job, queueInto(sent, bindings))
      expect(queries).toBeLessThanOrEqual(50)
      expect(sent.filter(({ kind }) => kind === 'purge_trace')).toHaveLength(PROJECT_PURGE_TRACES * PROJECT_PURGE_STEPS)
      expect(sent.at(-1)).toEqual(job)
      expect(await live()).not.toBe(0)
      sent.length = 0
      await runJob(job, queueInto(sent, bindings))
      expect(sent.filter(({ kind }) => kind === 'purge_project')).toEqual([])
      expect(await live()).toBe(0)
    },
  )

  it('does nothing to a live project or another organization’s', async ({ expect }) => {
    const alive = await newFilled()
    const before = await leftOf(alive)
    await runAll(alive.job)
    expect(await leftOf(alive)).toEqual(before)
    const deleted = await newDeleted()
    const filled = await leftOf(deleted)
    await runAll({ ...deleted.job, organizationKey: deleted.job.organizationKey + 1 })
    expect(await leftOf(deleted)).toEqual(filled)
  })

  it('prevents writes while it runs, even if the project is still cached', async ({ expect }) => {
    const org = await newOrg()
    const { trace_id } = aTrace()
    await org.ingest.post('/api/v1/traces', aTrace({ trace_id }))
    const job = await jobOf(org.project.id)
    await deleteElsewhere(org.project.id)
    const responses = await Promise.all([
      org.ingest.post('/api/v1/traces', aTrace()),
      org.ingest.post('/api/v1/observations', anObservation({ trace_id })),
      org.ingest.post('/api/v1/feedback', aFeedback({ trace_id })),
      org.ingest.post('/api/prompts', { projectSlug: 'support', stepId: 'late', content: 'x' }),
    ])
    expect(responses.map(({ status }) => status)).toEqual([404, 404, 404, 404])
    await runAll(job)
    const left = await leftOf({ org, job })
    expect(left).toEqual(none(left))
  })

  async function jobOf(projectId: string): Promise<PurgeJob> {
    const row = await stored.prepare('select key, organization_key from projects where id = ?').bind(projectId).first()
    return { kind: 'purge_project', organizationKey: Number(row?.organization_key), projectKey: Number(row?.key) }
  }

  it('lets cron delete labelers who have no other records', async ({ expect }) => {
    const org = await newOrg()
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const other = org.clientOf(await org.keyFor({ projectSlug: 'other' }))
    for (const [caller, emails] of [
      [org.ingest, ['gone@example.com', 'both@example.com']],
      [other, ['both@example.com']],
    ] as const) {
      for (const email of emails) {
        const { trace_id } = aTrace()
        await caller.post('/api/v1/traces', aTrace({ trace_id }))
        const labeller = { email, name: 'Somebody' }
        const response = await caller.post('/api/v1/feedback', aFeedback({ trace_id, labeller }))
        expect(response.status).toBe(201)
      }
    }
    const job = await jobOf(org.project.id)
    await deleteElsewhere(org.project.id)
    await runAll(job)
    const marked = async () =>
      (
        await stored
          .prepare('select email from users where organization_key = ? and unchecked_since is not null order by email')
          .bind(job.organizationKey)
          .all<{ email: string }>()
      ).results.map(({ email }) => email)
    expect(await marked()).toEqual(['both@example.com', 'gone@example.com'])
    // Cron searches for their other records.
    vi.useFakeTimers({ toFake: ['Date'] })
    const { JOBS, ...bindings } = env
    for (let run = 0; run < 60 && (await marked()).length > 0; run++) {
      vi.setSystemTime(Date.now() + 16 * 60_000)
      await sweep(bindings, Date.now())
    }
    const emails = (await org.owner.get('/api/users')).body.users.map(({ email }: { email: string }) => email)
    expect(emails).toEqual(['both@example.com'])
  })
})
