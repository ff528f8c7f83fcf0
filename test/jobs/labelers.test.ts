import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import { sweep } from '../../src/jobs/sweep.ts'
import { LABELER_PASS_MS, LABELER_TRACES, RESEND_AFTER_MS } from '../../src/limits.ts'
import { aFeedback, aTrace } from '../support/builders.ts'
import { stored } from '../support/database.ts'
import { newOrg, type Org } from '../support/org.ts'
import { reviewerOf } from '../support/reviews.ts'

/** A new pass doesn't start until some time after the previous one, so each cron run here has a later time. */
let time = Date.now()
async function cron(runs = 3): Promise<void> {
  const { JOBS, ...bindings } = env
  for (let run = 0; run < runs; run++) {
    time += 2 * LABELER_PASS_MS + RESEND_AFTER_MS
    await sweep(bindings, time)
  }
}

const emailsIn = async (org: Org): Promise<string[]> =>
  (await org.owner.get('/api/users?limit=200')).body.users.map(({ email }: { email: string }) => email)

/** Creates a trace with feedback from labelers. */
async function traceOf(org: Org, ...emails: string[]) {
  const trace = aTrace()
  const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
  for (const email of emails) {
    await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id: trace.trace_id, labeller: { email } }))
  }
  return { id, trace_id: trace.trace_id, remove: () => org.owner.delete(`/api/traces/${id}`) }
}

describe('a labeler', () => {
  it('is deleted only after the last record with the labeler is deleted', async ({ expect }) => {
    const org = await newOrg()
    const [first, second] = [await traceOf(org, 'ada@x.y', 'bob@x.y'), await traceOf(org, 'bob@x.y')]
    await cron()
    expect(await emailsIn(org)).toEqual(['ada@x.y', 'bob@x.y'])
    await first.remove()
    await cron()
    expect(await emailsIn(org)).toEqual(['bob@x.y'])
    await second.remove()
    await cron()
    expect(await emailsIn(org)).toEqual([])
  })

  it('is deleted when the feedback is reassigned to a different labeler', async ({ expect }) => {
    const org = await newOrg()
    const { trace_id } = await traceOf(org)
    for (const labeller of [{ email: 'ada@x.y' }, { email: 'bob@x.y' }, { name: 'Bob' }]) {
      await org.ingest.post('/api/v1/feedback', { trace_id, feedback_id: 'one', labeller })
    }
    await cron()
    expect(await emailsIn(org)).toEqual([])
  })

  it.for<[string, (org: Org) => Promise<unknown>]>([
    ['is confirmed by a manager', org => org.owner.post('/api/users', { email: 'ada@x.y', name: 'Ada' })],
    [
      'is the user of a key',
      async org => {
        const [{ id }] = (await org.owner.get('/api/users')).body.users
        await org.keyFor({ userId: id })
      },
    ],
    ['has feedback again', org => traceOf(org, 'ada@x.y')],
    [
      'has feedback in another project',
      async org => {
        await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
        const other = org.clientOf(await org.keyFor({ projectSlug: 'other' }))
        const trace = aTrace()
        await other.post('/api/v1/traces', trace)
        await other.post('/api/v1/feedback', aFeedback({ trace_id: trace.trace_id, labeller: { email: 'ada@x.y' } }))
      },
    ],
  ])('is kept if the labeler %s', async ([, keep], { expect }) => {
    const org = await newOrg()
    const { remove } = await traceOf(org, 'ada@x.y')
    await keep(org)
    await remove()
    await cron()
    expect(await emailsIn(org)).toEqual(['ada@x.y'])
  })

  it('is kept if the labeler gives feedback during cron’s search', async ({ expect }) => {
    const org = await newOrg()
    const { remove } = await traceOf(org, 'ada@x.y')
    await remove()
    await cron(1)
    await traceOf(org, 'ada@x.y')
    await cron()
    expect(await emailsIn(org)).toEqual(['ada@x.y'])
  })

  it('is searched for in all traces, in bounded steps', async ({ expect }) => {
    const org = await newOrg()
    const [deleted, old] = [await traceOf(org, 'ada@x.y', 'bob@x.y'), await traceOf(org, 'bob@x.y')]
    await stored.prepare('update traces set timestamp = 0 where id = ?').bind(old.id).run()
    const row = await stored
      .prepare('select key, organization_key from projects where id = ?')
      .bind(org.project.id)
      .first()
    await stored
      .prepare(
        `insert into traces (key, id, organization_key, project_key, trace_id, root_span_id, name, status, timestamp, metadata,
         completed_fields, revision, received_at, updated_at)
       with recursive n(i) as (select 1 union all select i + 1 from n where i < ${LABELER_TRACES + 5})
       select i, ?1 || i, ?2, ?3, 'trace_' || ?1 || i, ?1 || i, 'x', 'running', i, '{}', '[]', '', 0, 0 from n`,
      )
      .bind(crypto.randomUUID(), row?.organization_key, row?.key)
      .run()
    await deleted.remove()
    await cron()
    expect(await emailsIn(org)).toEqual(['bob@x.y'])
  })

  it('is not affected in a different organization', async ({ expect }) => {
    const [org, otherOrg] = [await newOrg(), await newOrg()]
    await traceOf(otherOrg, 'ada@x.y')
    const { remove } = await traceOf(org, 'ada@x.y')
    await remove()
    await cron()
    expect([await emailsIn(org), await emailsIn(otherOrg)]).toEqual([[], ['ada@x.y']])
  })
})

it('cron keeps a user whom a manager created, even if the user has no records', async ({ expect }) => {
  const org = await newOrg()
  await reviewerOf(org, 'ada@x.y')
  const { remove } = await traceOf(org, 'ada@x.y')
  await remove()
  await cron()
  expect(await emailsIn(org)).toEqual(['ada@x.y'])
})
