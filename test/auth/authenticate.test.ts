import { afterEach, describe, it, vi } from 'vitest'
import { KEY_FRESH_MS, KEY_STALE_MS } from '../../src/limits.ts'
import { wrapBindings } from '../support/bindings.ts'
import { stored } from '../support/database.ts'
import { newOrg } from '../support/org.ts'

const OVERLOADED = 'D1_ERROR: D1 DB is overloaded. Requests queued for too long.'

afterEach(() => {
  vi.useRealTimers()
})

describe('a key while D1 is unreachable', () => {
  it('works for 10 minutes if it was seen before, and otherwise gives a 503', async ({ expect }) => {
    const org = await newOrg()
    await org.bearer().get('/api/traces?projectSlug=support')
    const unseen = await org.keyFor({})
    let isDown = false
    // Only the first call of each request fails, which looks up the key.
    const bindings = wrapBindings(async (binding, call) => {
      if (isDown && binding === 'DB') {
        isDown = false
        throw new Error(OVERLOADED)
      }
      return call()
    })
    const list = (key: string) => {
      isDown = true
      return org.clientOf(key, bindings).get('/api/traces?projectSlug=support')
    }
    expect((await list(unseen)).status).toBe(503)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + KEY_FRESH_MS + 1 })
    expect((await list(org.projectKey)).status).toBe(200)
    vi.setSystemTime(Date.now() + KEY_STALE_MS)
    expect((await list(org.projectKey)).status).toBe(503)
  })
})

describe('a key while D1 is slow', () => {
  it('is looked up again, so that a revoked key is soon rejected', async ({ expect }) => {
    const org = await newOrg()
    await org.bearer().get('/api/traces?projectSlug=support')
    await stored
      .prepare('update api_keys set revoked_at = 1 where prefix = ? and project_key is not null')
      .bind(org.projectKey.slice(0, 8))
      .run()
    let isFirst = true
    const slow = wrapBindings(async (binding, call) => {
      if (binding === 'DB' && isFirst) {
        isFirst = false
        await scheduler.wait(700)
      }
      return call()
    })
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + KEY_FRESH_MS + 1 })
    expect((await org.clientOf(org.projectKey, slow).get('/api/traces?projectSlug=support')).status).toBe(200)
    expect((await org.bearer().get('/api/traces?projectSlug=support')).status).toBe(401)
  })
})
