import { afterEach, describe, it, vi } from 'vitest'
import { MAX_CONTENT_BYTES, NEAR_TEXTS_MS, NEAR_TEXTS_SHARE_BYTES } from '../../src/limits.ts'
import { countingBindings } from '../support/bindings.ts'
import { stored } from '../support/database.ts'
import { client, newOrg, type Org } from '../support/org.ts'
import { page, signIn } from '../support/session.ts'
import { aText, type KindOfText, kindsOfText } from '../support/texts.ts'
import { newWatched, WATCHED_STEP } from '../support/watched.ts'

/* Pipelines read the active prompts and docs from an isolate's memory for 10 seconds. */

afterEach(() => {
  vi.useRealTimers()
})

const NAME = 'answer'

const [prompts] = kindsOfText

/** A tenant with a text, and functions that read and change it. */
async function newNear(kind: KindOfText, fields: object = {}) {
  const org = await newOrg()
  const created = (await org.owner.post(kind.path, aText(kind, NAME, fields))).body
  const draft = (await org.owner.post(`${kind.path}/${created.id}/versions`, { content: 'Second' })).body
  const key = await org.keyFor({ scopes: ['ingest', 'read'], projectSlug: 'support' })
  const list = `${kind.path}?projectSlug=support&${kind.named}=${NAME}`
  const activate = () => org.owner.put(`${kind.path}/${created.id}/active-version`, { versionId: draft.id })
  return { org, created, draft, key, list, activate, read: readerOf(org, key, kind, list) }
}

type Near = Awaited<ReturnType<typeof newNear>>

/** Reads the content of a list's first text, and counts the round trips to D1. */
const readerOf =
  (org: Org, key: string, { list: field }: KindOfText, path: string) =>
  async (headers = {}) => {
    const { bindings, counts } = countingBindings()
    const { status, body } = await org.clientOf(key, bindings).get(path, undefined, headers)
    return [status === 200 ? body[field][0]?.content : status, counts.d1RoundTrips]
  }

/** Activates the draft as another isolate would, so that this isolate doesn't notice. */
const activateElsewhere = (textId: string) =>
  stored
    .prepare(
      `update text_versions set is_active = 1 - is_active, number = number
     where text_key = (select key from versioned_texts where id = ?)`,
    )
    .bind(textId)
    .run()

const wait = (milliseconds: number) => vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + milliseconds })

describe.for(kindsOfText.map(kind => [kind.path, kind] as const))('a pipeline that reads %s', ([, kind]) => {
  it('takes no round trip when it reads again, and sees another isolate\u2019s activation after 10 seconds', async ({
    expect,
  }) => {
    const { created, read } = await newNear(kind)
    wait(0)
    await read()
    expect(await read()).toEqual(['First', 0])
    await activateElsewhere(created.id)
    wait(NEAR_TEXTS_MS - 1000)
    expect(await read()).toEqual(['First', 0])
    wait(1000)
    expect(await read()).toEqual(['Second', 1])
    expect(await read()).toEqual(['Second', 0])
  })

  it('sees changes by its own isolate immediately', async ({ expect }) => {
    const { org, created, read, activate } = await newNear(kind)
    const path = `${kind.path}/${created.id}`
    expect((await read())[0]).toBe('First')
    await activate()
    expect((await read())[0]).toBe('Second')
    await org.owner.post(`${path}/versions`, { content: 'Third', activate: true })
    expect((await read())[0]).toBe('Third')
    await org.owner.delete(path)
    expect((await read())[0]).toBeUndefined()
    await org.owner.post(kind.path, aText(kind, NAME, { content: 'Fourth' }))
    expect((await read())[0]).toBe('Fourth')
  })

  it('sees a change that was under way while it read', async ({ expect }) => {
    const { read, activate } = await newNear(kind)
    await Promise.all([read(), activate(), read()])
    expect((await read())[0]).toBe('Second')
  })

  it('gets the same ETag while the text stays the same, and a new one after a change', async ({ expect }) => {
    const { org, key, list, activate } = await newNear(kind)
    const pipeline = org.clientOf(key)
    const etag = (await pipeline.get(list)).headers.get('etag') ?? ''
    const again = () => pipeline.get(list, undefined, { 'if-none-match': etag })
    expect((await again()).status).toBe(304)
    await activate()
    expect((await again()).status).toBe(200)
  })

  it.for([
    ['a session', async ({ key }: Near) => page(await signIn(key)).get, {}],
    ['the manage scope', async ({ org }: Near) => org.owner.get, {}],
    ['a bookmark', async ({ org, key }: Near) => org.clientOf(key).get, { 'x-d1-bookmark': 'DB=1' }],
  ] as const)(
    'shares no memory with requests that have %s, which see an activation immediately',
    async ([, by, headers], { expect }) => {
      const near = await newNear(kind)
      const get = await by(near)
      const content = async () => (await get(near.list, undefined, headers)).body[kind.list][0].content
      await near.read()
      expect(await content()).toBe('First')
      await activateElsewhere(near.created.id)
      expect(await content()).toBe('Second')
      expect((await near.read())[0]).toBe('First')
    },
  )

  it('still spends tokens, and needs a key with access to a project that exists', async ({ expect }) => {
    const { org, key, list, read } = await newNear(kind)
    await read()
    const remaining = async () => {
      const { headers } = await org.clientOf(key).get(list)
      return Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1])
    }
    expect((await remaining()) - (await remaining())).toBe(1)
    const other = await newOrg()
    expect((await other.read.get(list)).body[kind.list]).toEqual([])
    const writer = await org.keyFor({ scopes: ['ingest'] })
    expect((await org.clientOf(writer).get(list)).status).toBe(403)
    await org.owner.post('/api/projects', { slug: 'sales', name: 'Sales' })
    const sales = await org.keyFor({ scopes: ['read'], projectSlug: 'sales' })
    expect((await org.clientOf(sales).get(list)).status).toBe(403)
    await org.owner.delete(`/api/projects/${org.project.id}`, { confirm: 'support' })
    const organizationKey = (await org.owner.post('/api/api-keys', { name: 'Reader', scopes: ['read'] })).body.key
    expect((await org.clientOf(organizationKey).get(list)).status).toBe(404)
  })
})

describe('a pipeline that reads a prompt', () => {
  it('sees a renamed step and a rollback by its own isolate immediately', async ({ expect }) => {
    const { org, firstId, replace, setGate, decided } = await newWatched()
    const key = await org.keyFor({ scopes: ['read'] })
    const texts = async () => (await org.clientOf(key).get('/api/prompts?projectSlug=support')).body.prompts
    const versionId = await replace(30, 2, firstId)
    await setGate({ autoRollback: true })
    await decided(versionId, 0, 38)
    expect(await texts()).toMatchObject([{ versionId, stepId: WATCHED_STEP }])
    await decided(versionId, 0, 2)
    expect(await texts()).toMatchObject([{ versionId: firstId }])
    await org.owner.put(`/api/projects/${org.project.id}/step-names`, { names: { [WATCHED_STEP]: 'renamed' } })
    expect(await texts()).toMatchObject([{ stepId: 'renamed' }])
  })

  it('reads a page again if it is larger than its organization\u2019s share of the memory', async ({ expect }) => {
    const { org, key, read } = await newNear(prompts)
    const content = 'x'.repeat(MAX_CONTENT_BYTES)
    for (const step of ['a', 'b', 'c']) await org.owner.post(prompts.path, aText(prompts, step, { content }))
    expect(3 * 2 * MAX_CONTENT_BYTES).toBeGreaterThan(NEAR_TEXTS_SHARE_BYTES)
    const readAll = readerOf(org, key, prompts, `${prompts.path}?projectSlug=support`)
    // The first read also looks up the project.
    await readAll()
    expect((await readAll())[1]).toBe(1)
    await read()
    expect((await read())[1]).toBe(0)
  })

  it('gets only its own page, project, and step', async ({ expect }) => {
    const org = await newOrg()
    for (const step of ['a', 'b']) await org.owner.post('/api/prompts', aText(prompts, step, { content: step }))
    await org.owner.post('/api/projects', { slug: 'sales', name: 'Sales' })
    const reader = client({
      'x-api-key': (await org.owner.post('/api/api-keys', { name: 'Reader', scopes: ['read'] })).body.key,
    })
    const contents = async (query: string) =>
      (await reader.get(`/api/prompts?${query}`)).body.prompts.map(({ content }: { content: string }) => content)
    for (const _ of [1, 2]) {
      expect(await contents('projectSlug=support&limit=1')).toEqual(['a'])
      expect(await contents('projectSlug=support&stepId=b')).toEqual(['b'])
      expect(await contents('projectSlug=support')).toEqual(['a', 'b'])
      expect(await contents('projectSlug=sales')).toEqual([])
    }
  })
})
