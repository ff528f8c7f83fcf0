import { env } from 'cloudflare:workers'
import { afterEach, describe, it, vi } from 'vitest'
import { EPOCHS_STALE_MS, KEY_FRESH_MS, KEY_STALE_MS } from '../../src/limits.ts'
import { wrapBindings } from '../support/bindings.ts'
import { aTrace } from '../support/builders.ts'
import { isSharded, stored } from '../support/database.ts'
import { newOrg, send } from '../support/org.ts'

const OVERLOADED = 'D1_ERROR: D1 DB is overloaded. Requests queued for too long.'

afterEach(() => {
  vi.useRealTimers()
})

describe('a key while D1 is unreachable', () => {
  it('keeps working for 10 minutes if it was used before, and otherwise gets a 503', async ({ expect }) => {
    const org = await newOrg()
    await org.bearer().get('/api/traces?projectSlug=support')
    const unseen = await org.keyFor({})
    let isDown = false
    // Only the first call in each request, the lookup of the key, fails.
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

  it('keeps working for only 45 seconds if there are shards, because epochs are looked up with the key', async ({
    expect,
  }) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const org = await newOrg()
    let isDown = false
    const bindings = wrapBindings(async (binding, call) => {
      if (binding === 'DB' && isDown) {
        isDown = false
        throw new Error(OVERLOADED)
      }
      return call()
    })
    const { get } = org.clientOf(org.projectKey, isSharded ? bindings : { ...bindings, DB_1: env.REPLICA })
    const list = async () => (await get('/api/traces?projectSlug=support')).status
    expect(await list()).toBe(200)
    const now = Date.now()
    vi.useFakeTimers({ toFake: ['Date'], now: now + EPOCHS_STALE_MS - 10_000 })
    isDown = true
    expect(await list()).toBe(200)
    vi.setSystemTime(now + EPOCHS_STALE_MS + 60_000)
    isDown = true
    expect(await list()).toBe(503)
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

it('a key is looked up again after a slow upload', async ({ expect }) => {
  const org = await newOrg()
  const key = await org.keyFor({})
  const upload = async (controller: ReadableStreamDefaultController) => {
    await stored.prepare('update api_keys set revoked_at = 1 where prefix = ?').bind(key.slice(0, 8)).run()
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + KEY_FRESH_MS + 1 })
    controller.enqueue(new TextEncoder().encode(JSON.stringify(aTrace())))
    controller.close()
  }
  // The upload begins when the body is read.
  const body = new ReadableStream({ pull: upload }, { highWaterMark: 0 })
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  const request = new Request('https://countersign.test/api/v1/traces', { method: 'POST', headers, body })
  expect((await send(request)).status).toBe(401)
})
