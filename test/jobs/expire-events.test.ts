import { env } from 'cloudflare:workers'
import { beforeEach, describe, it } from 'vitest'
import { sweep } from '../../src/jobs/sweep.ts'
import {
  DAY_MS,
  EVENT_EXPIRY_STEPS,
  EVENT_RETENTION_DAYS,
  EXPIRED_EVENTS,
  PURGE_ROWS,
  WEBHOOK_PASS_MS,
} from '../../src/limits.ts'
import { stored } from '../support/database.ts'
import { newOrg, type Org } from '../support/org.ts'
import { newWebhooks, storeEvent, withoutQueue } from '../support/webhooks.ts'

// A pass stops at the first event that's too new to delete, so each test starts without events.
beforeEach(() =>
  stored.batch([stored.prepare('delete from webhook_events'), stored.prepare('delete from webhook_deliveries')]),
)

/** A pass starts an hour after the previous one. */
let now = Date.now()
async function pass(): Promise<void> {
  now += 2 * WEBHOOK_PASS_MS
  await sweep(withoutQueue(), now)
}

/** Stores an event that is older than the maximum age by the given time. */
const store = (org: Org, olderBy: number, fields: object = {}) =>
  storeEvent(org, { projectId: org.project.id, at: Date.now() - EVENT_RETENTION_DAYS * DAY_MS - olderBy, ...fields })

async function leftOf({ id }: Org) {
  const count = (table: string, condition: string) =>
    stored.prepare(`select count(*) as n from ${table} where ${condition}`).bind(id).first('n')
  const ofOrganization = 'organization_key = (select key from organizations where id = ?1)'
  const sequences = `select sequence from webhook_events where ${ofOrganization}`
  return {
    events: await count('webhook_events', ofOrganization),
    deliveries: await count('webhook_deliveries', `sequence in (${sequences})`),
  }
}

const deliveriesTo = (webhookKey: unknown) =>
  stored.prepare('select count(*) as n from webhook_deliveries where webhook_key = ?').bind(webhookKey).first('n')

describe('cron', () => {
  it('deletes events and deliveries after 30 days, except those that have yet to be sent', async ({ expect }) => {
    const org = await newOrg()
    await newWebhooks(org)
    const ofNone = await storeEvent(org, { projectId: null, at: Date.now() - 31 * DAY_MS })
    const [old, pending, young] = [
      await store(org, DAY_MS),
      await store(org, DAY_MS, { isPending: true }),
      await store(org, -DAY_MS),
    ]
    await pass()
    const { results } = await stored
      .prepare(
        `select event.sequence, count(webhook_key) as deliveries from webhook_events event
       left join webhook_deliveries using (sequence) where event.sequence in (?, ?, ?, ?) group by 1 order by 1`,
      )
      .bind(ofNone, old, pending, young)
      .all()
    expect(results).toEqual([
      { sequence: pending, deliveries: 2 },
      { sequence: young, deliveries: 2 },
    ])
    expect(await leftOf(org)).toEqual({ events: 2, deliveries: 4 })
    // Once they're sent, or have failed, they also expire.
    await stored.prepare('update webhook_deliveries set next_attempt_at = null where sequence = ?').bind(pending).run()
    await pass()
    expect(await leftOf(org)).toEqual({ events: 1, deliveries: 2 })
  })

  it('keeps an old event until its deliveries have been created', async ({ expect }) => {
    const org = await newOrg()
    const sequence = await store(org, DAY_MS)
    const setNew = (isNew: number) =>
      stored.prepare('update webhook_events set is_new = ? where sequence = ?').bind(isNew, sequence).run()
    await setNew(1)
    // If the event kept its project, cron would delete it even while it's new, because no webhook subscribes to it.
    await stored.prepare('update webhook_events set project_key = -1 where sequence = ?').bind(sequence).run()
    await pass()
    expect(await leftOf(org)).toEqual({ events: 1, deliveries: 0 })
    await setNew(0)
    await pass()
    expect(await leftOf(org)).toEqual({ events: 0, deliveries: 0 })
  })

  it('deletes a limited number of events at a time, oldest first', async ({ expect }) => {
    const org = await newOrg()
    const limit = EXPIRED_EVENTS * EVENT_EXPIRY_STEPS
    const first = await store(org, DAY_MS)
    await stored
      .prepare(
        `with recursive n (i) as (select 1 union all select i + 1 from n where i < ?)
       insert into webhook_events (id, organization_key, project_key, type, subject_id, at, data, is_new)
       select 'n' || i, organization_key, project_key, type, '', at, '{}', 0 from webhook_events, n where sequence = ?`,
      )
      .bind(limit, first)
      .run()
    await pass()
    expect(await leftOf(org)).toEqual({ events: 1, deliveries: 0 })
    // The pass isn't over, so the run in the next minute continues it.
    now += 60_000
    await sweep(withoutQueue(), now)
    expect(await leftOf(org)).toEqual({ events: 0, deliveries: 0 })
  })

  it("deletes a deleted webhook's deliveries, and no others", async ({ expect }) => {
    const org = await newOrg()
    await newWebhooks(org)
    const { webhooks } = (await org.owner.get('/api/webhooks')).body
    const [gone, kept] = await Promise.all(
      webhooks.map(({ id }: { id: string }) =>
        stored.prepare('select key from webhooks where id = ?').bind(id).first('key'),
      ),
    )
    const rows = 2 * PURGE_ROWS + 1
    await env.DB.prepare(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < ?)
       insert into webhook_deliveries (webhook_key, sequence, state, attempts, next_attempt_at) select ?, -i, 'pending', 0, 1 from n`,
    )
      .bind(rows, gone)
      .run()
    await store(org, -DAY_MS)
    expect((await org.owner.delete(`/api/webhooks/${webhooks[0].id}`)).status).toBe(200)
    expect(await deliveriesTo(gone)).toBe(rows + 1 - PURGE_ROWS)
    await pass()
    expect([await deliveriesTo(gone), await deliveriesTo(kept)]).toEqual([0, 1])
  })
})
