import { createScheduledController } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { it } from 'vitest'
import worker from '../../src/index.ts'
import { DAY_MS } from '../../src/limits.ts'
import { newOrg } from '../support/org.ts'
import { page, signIn } from '../support/session.ts'

it.for([
  ['far in the future', Date.now() + 1_000_000 * DAY_MS],
  ['far in the past', 0],
  ['that is invalid', Number.NaN],
] as const)(
  'cron uses its own clock, and deletes nothing early if a request specifies a time %s',
  async ([, time], { expect }) => {
    const org = await newOrg()
    await org.ingest.post('/api/v1/traces', {
      trace_id: 'trace_kept',
      name: 'run',
      status: 'running',
      timestamp: new Date().toISOString(),
    })
    await org.owner.patch(`/api/projects/${org.project.id}`, { retentionDays: 1 })
    const browser = page(await signIn(org.projectKey))
    const log = (await org.owner.get('/api/audit-log')).body.entries
    expect(log).not.toEqual([])
    const controller = createScheduledController()
    Object.defineProperty(controller, 'scheduledTime', { value: time })
    for (let run = 0; run < 3; run++) await worker.scheduled(controller, env)
    expect((await org.owner.get('/api/audit-log')).body.entries).toEqual(log)
    expect((await org.read.get('/api/traces?projectSlug=support')).body.traces).toHaveLength(1)
    expect((await browser.get('/api/session')).status).toBe(200)
  },
)
