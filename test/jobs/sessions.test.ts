import { env } from 'cloudflare:workers'
import { it } from 'vitest'
import { sweep } from '../../src/jobs/sweep.ts'
import { SESSION_SECONDS, SESSION_SWEEP_ROWS } from '../../src/limits.ts'
import { stored } from '../support/database.ts'
import { newOrg } from '../support/org.ts'
import { signIn } from '../support/session.ts'

const countOf = async (table: 'sessions' | 'sign_in_links'): Promise<number> =>
  (await stored.prepare(`select count(*) as count from ${table}`).first<number>('count')) ?? 0

it('cron deletes expired sessions and sign-in links, and no others', async ({ expect }) => {
  const org = await newOrg()
  await signIn(org.projectKey)
  await org.owner.post('/api/sign-in-links', { expiresInSeconds: 60 })
  await sweep(env, Date.now())
  expect([await countOf('sessions'), await countOf('sign_in_links')]).toEqual([1, 1])
  await sweep(env, Date.now() + 61_000)
  expect([await countOf('sessions'), await countOf('sign_in_links')]).toEqual([1, 0])
  await sweep(env, Date.now() + 1000 * SESSION_SECONDS + 1)
  expect(await countOf('sessions')).toBe(0)
})

it('cron deletes a limited number of sessions at a time', async ({ expect }) => {
  const numbers = `with recursive n(i) as (select 1 union all select i + 1 from n where i <= ${SESSION_SWEEP_ROWS})`
  await stored.prepare(`insert into sessions ${numbers} select 'x' || i, '', 0, 1, null from n`).run()
  await sweep(env, Date.now())
  expect(await countOf('sessions')).toBe(1)
  await sweep(env, Date.now())
  expect(await countOf('sessions')).toBe(0)
})
