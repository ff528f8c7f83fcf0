import { env } from 'cloudflare:workers'
import { afterEach, describe, it, vi } from 'vitest'
import {
  MAX_CONTENT_BYTES,
  MAX_NAME_LENGTH,
  MAX_NOTE_LENGTH,
  MAX_VERSIONS_BYTES,
  VERSION_BYTES,
} from '../../src/limits.ts'
import { wrapBindings } from '../support/bindings.ts'
import { client, newOrg } from '../support/org.ts'
import { activeIn, aText, kindsOfText, newText, otherKind, statusCounts, storedText, times } from '../support/texts.ts'

afterEach(() => {
  vi.useRealTimers()
})

/** A timeout for tests that store megabytes, which can be slow on a busy machine. */
const SLOW_MS = 30_000

/** The number of rows in each table for prompts and docs. */
async function rowsOfTexts() {
  const count = async (table: string) => Number((await env.DB.prepare(`select count(*) as n from ${table}`).first())?.n)
  return {
    versioned_texts: await count('versioned_texts'),
    text_versions: await count('text_versions'),
    text_activations: await count('text_activations'),
  }
}

describe.for(kindsOfText)('a creation at $path', kind => {
  it('returns the prompt or doc as the list shows it, with its first version active', async ({ expect }) => {
    const org = await newOrg()
    const before = Date.now()
    const { status, body } = await org.owner.post(kind.path, aText(kind, 'answer', { content: 'Ünï\u0000code 😀' }))
    expect(status).toBe(201)
    expect(Object.keys(body).sort()).toEqual([...kind.itemFields].sort())
    expect(body).toMatchObject({ [kind.named]: 'answer', content: 'Ünï\u0000code 😀', ...kind.more })
    expect(body.updatedAt).toBe(body.createdAt)
    expect(Date.parse(body.createdAt)).toBeGreaterThanOrEqual(before)
    const list = (await org.read.get(`${kind.path}?projectSlug=support`)).body[kind.list]
    expect(list).toEqual([body])
    const detail = (await org.read.get(`${kind.path}/${body.id}`)).body
    expect(detail.versions).toMatchObject([{ id: body.versionId, content: 'Ünï\u0000code 😀', isActive: true }])
  })

  it('keeps the createdAt that is sent, and becomes active now', async ({ expect }) => {
    const org = await newOrg()
    const createdAt = '2026-10-01T08:00:00.000Z'
    const before = Date.now()
    const { body } = await org.owner.post(kind.path, aText(kind, 'answer', { createdAt }))
    expect(body.createdAt).toBe(createdAt)
    expect(Date.parse(body.updatedAt)).toBeGreaterThanOrEqual(before)
    const later = '2026-10-02T08:00:00.000Z'
    const path = `${kind.path}/${body.id}/versions`
    const version = { content: 'Later', createdAt: later, activate: true }
    expect(await org.owner.post(path, version)).toMatchObject({ status: 201, body: { createdAt: later } })
    const active = (await org.read.get(`${kind.path}?projectSlug=support`)).body[kind.list][0]
    expect(active).toMatchObject({ content: 'Later', createdAt, versionNumber: 2, versionCreatedAt: later })
    expect(Date.parse(active.updatedAt)).toBeGreaterThanOrEqual(before)
    const future = await org.owner.post(path, { ...version, createdAt: '2999-01-01T00:00:00.000Z' })
    expect(future).toMatchObject({ status: 400, body: { details: [{ path: 'createdAt' }] } })
    const agent = org.clientOf(await org.keyFor({ scopes: ['manage'], actsAs: 'agent' }))
    expect(await agent.post(path, version)).toMatchObject({ status: 403, body: { code: 'person_required' } })
  })

  it('409s for a name that exists in the project, and changes nothing', async ({ expect }) => {
    const org = await newOrg()
    const text = await newText(kind, org)
    const response = await org.owner.post(kind.path, aText(kind, 'answer', { content: 'Again' }))
    expect(response).toMatchObject({ status: 409, body: { code: 'conflict', details: [{ path: kind.named }] } })
    expect(await text.listed()).toEqual(text.created)
    expect((await text.detail()).versions).toHaveLength(1)
  })

  it('accepts a name that exists only in a different project, organization, kind, or spelling', async ({ expect }) => {
    const [org, otherOrg] = [await newOrg(), await newOrg()]
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    await newText(kind, org)
    for (const [owner, path, body] of [
      [org.owner, kind.path, aText(kind, 'answer', { projectSlug: 'other' })],
      [otherOrg.owner, kind.path, aText(kind, 'answer')],
      [org.owner, otherKind(kind).path, aText(otherKind(kind), 'answer')],
      [org.owner, '/api/prompts', aText(kindsOfText[0] ?? kind, 'Answer')],
    ] as const) {
      expect((await owner.post(path, body)).status).toBe(201)
    }
  })

  it('happens once with 20 concurrent requests', async ({ expect }) => {
    const org = await newOrg()
    await newText(kind, org, 'warm')
    const responses = await times(20, index =>
      org.owner.post(kind.path, aText(kind, 'answer', { content: `Version ${index}` })),
    )
    expect(statusCounts(responses)).toEqual([
      ['201', 1],
      ['409', 19],
    ])
    const created = responses.find(({ status }) => status === 201)?.body
    const rows = await env.DB.prepare(
      `select t.id from versioned_texts t join projects p on p.key = t.project_key
       where t.name = ? and t.kind = ? and p.id = ?`,
    )
      .bind('answer', kind.kind, org.project.id)
      .all<{ id: string }>()
    expect(rows.results.map(({ id }) => id)).toEqual([created.id])
    const { versions, active, activations } = await storedText(created.id)
    expect([versions, active]).toEqual([[created.versionId], [created.versionId]])
    expect(activations.map(({ id }) => id)).toEqual([created.versionId])
    const list = (await org.read.get(`${kind.path}?projectSlug=support&${kind.named}=answer`)).body[kind.list]
    expect(list).toEqual([created])
  })

  it.for<[string, object, string]>([
    ['no project', { projectSlug: undefined }, 'projectSlug'],
    ['no name', { NAME: undefined }, 'NAME'],
    ['an empty name', { NAME: '' }, 'NAME'],
    ['a name that is not a string', { NAME: 7 }, 'NAME'],
    ['a name of 257 characters', { NAME: 'x'.repeat(257) }, 'NAME'],
    ['half a surrogate pair in its name', { NAME: 'a\ud800' }, 'NAME'],
    ['no content', { content: undefined }, 'content'],
    ['empty content', { content: '' }, 'content'],
    ['content that is not a string', { content: { text: 'x' } }, 'content'],
    ['half a surrogate pair in its content', { content: '\udc00' }, 'content'],
    ['content that is a byte too long', { content: `${'é'.repeat(MAX_CONTENT_BYTES / 2)}x` }, 'content'],
    ['a note that is too long', { note: 'x'.repeat(MAX_NOTE_LENGTH + 1) }, 'note'],
    ['an inactive first version', { activate: false }, 'activate'],
    ['a typo', { contents: 'x' }, 'contents'],
  ])('400s for %s and stores nothing', async ([, fields, path], { expect }) => {
    const org = await newOrg()
    const renamed = Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [name.replace('NAME', kind.named), value]),
    )
    const response = await org.owner.post(kind.path, aText(kind, 'answer', renamed))
    expect(response).toMatchObject({ status: 400, body: { details: [{ path: path.replace('NAME', kind.named) }] } })
    expect((await org.read.get(`${kind.path}?projectSlug=support`)).body[kind.list]).toEqual([])
  })

  it('accepts content up to its limit, escaped or not', async ({ expect }) => {
    const org = await newOrg()
    const draft = JSON.stringify(aText(kind, 'answer', { content: 'CONTENT' }))
    const response = await org.owner.post(kind.path, draft.replace('CONTENT', '\\u0061'.repeat(MAX_CONTENT_BYTES)))
    expect(response.status).toBe(201)
    expect(response.body.content === 'a'.repeat(MAX_CONTENT_BYTES)).toBe(true)
  })

  it.for<[string, object, number, string]>([
    ['a project that does not exist', { projectSlug: 'nope' }, 404, 'Not found'],
    ["a project that isn't the key's", { projectSlug: 'other' }, 403, 'Forbidden'],
  ])('is rejected for %s', async ([, fields, status, error], { expect }) => {
    const org = await newOrg()
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    expect(await org.bearer().post(kind.path, aText(kind, 'answer', fields))).toMatchObject({ status, body: { error } })
    expect((await org.bearer().post(kind.path, aText(kind, 'answer'))).status).toBe(201)
  })

  it('needs the manage scope', async ({ expect }) => {
    const org = await newOrg()
    const reader = client({ 'x-api-key': await org.keyFor({ scopes: ['ingest', 'read', 'review'] }) })
    const text = await newText(kind, org)
    for (const response of [
      await reader.post(kind.path, aText(kind, 'b')),
      await text.add({ content: 'Second' }, reader),
      await text.activate(text.created.versionId, reader),
    ]) {
      expect(response).toMatchObject({ status: 403, body: { error: 'Forbidden' } })
    }
  })
})

describe.for(kindsOfText)('a version at $path', kind => {
  it('is active from its creation unless the call says otherwise', async ({ expect }) => {
    const org = await newOrg()
    const text = await newText(kind, org)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(text.created.createdAt) + 1000 })
    const second = await text.add({ content: 'Second', activate: false, note: 'For later' })
    expect(second).toMatchObject({ status: 201, body: { content: 'Second', isActive: false, note: 'For later' } })
    expect(Object.keys(second.body).sort()).toEqual([...kind.versionFields].sort())
    expect(await text.listed()).toEqual(text.created)
    const third = await text.add({ content: 'Third' })
    expect(third).toMatchObject({ status: 201, body: { content: 'Third', isActive: true, note: null } })
    expect(await text.listed()).toMatchObject({ versionId: third.body.id, updatedAt: third.body.createdAt })
    expect(activeIn(await text.detail())).toEqual([third.body.id])
  })

  it('becomes active at the time of the call, even if it was active before', async ({ expect }) => {
    const org = await newOrg()
    const text = await newText(kind, org)
    const first = text.created.versionId
    const second = (await text.add({ content: 'Second', activate: false })).body.id
    for (const versionId of [second, first, second.toUpperCase()]) {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 5000 })
      const response = await text.activate(versionId)
      const updatedAt = new Date().toISOString()
      const expected = { id: text.id, versionId: versionId.toLowerCase(), createdAt: text.created.createdAt, updatedAt }
      expect(response).toMatchObject({ status: 200, body: expected })
      expect(Object.keys(response.body).sort()).toEqual([...kind.itemFields].sort())
      expect(await text.listed()).toEqual(response.body)
      expect(activeIn(await text.detail())).toEqual([versionId.toLowerCase()])
    }
  })

  it('does not change if it is activated again', async ({ expect }) => {
    const org = await newOrg()
    const text = await newText(kind, org)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 5000 })
    expect(await text.activate(text.created.versionId)).toMatchObject({ status: 200, body: text.created })
    expect(await text.listed()).toEqual(text.created)
    expect((await storedText(text.id)).activations).toHaveLength(1)
  })

  it.for<[string, (ids: { other: string; foreign: string; ofOtherKind: string; text: string }) => string]>([
    ['of a different prompt or doc in the project', ({ other }) => other],
    ['of another organization', ({ foreign }) => foreign],
    ['of the other kind', ({ ofOtherKind }) => ofOtherKind],
    ["with the text's own id", ({ text }) => text],
    ['that does not exist', () => crypto.randomUUID()],
  ])('%s gets a 422 on activation, and nothing changes', async ([, idFrom], { expect }) => {
    const [org, otherOrg] = [await newOrg(), await newOrg()]
    const text = await newText(kind, org)
    const others = [
      await newText(kind, org, 'other'),
      await newText(kind, otherOrg),
      await newText(otherKind(kind), org),
    ] as const
    const [other, foreign, ofOtherKind] = others
    for (const each of others) await each.add({ content: 'Newer' }, each === foreign ? otherOrg.owner : org.owner)
    const id = idFrom({
      other: other.created.versionId,
      foreign: foreign.created.versionId,
      ofOtherKind: ofOtherKind.created.versionId,
      text: text.id,
    })
    expect(await text.activate(id)).toMatchObject({ status: 422, body: { details: [{ path: 'versionId' }] } })
    for (const each of [text, ...others]) expect((await storedText(each.id)).active).toHaveLength(1)
    expect(await text.listed()).toEqual(text.created)
    expect((await other.listed()).content).toBe('Newer')
  })

  it.for<[string, string, (ids: { foreign: string; ofOtherKind: string }) => string, number, string]>([
    ['absent', 'owner', () => crypto.randomUUID(), 404, 'Not found'],
    ['of the other kind', 'owner', ({ ofOtherKind }) => ofOtherKind, 404, 'Not found'],
    ['not identified by a UUID', 'owner', () => 'answer', 404, 'Not found'],
    ["another organization's", 'owner', ({ foreign }) => foreign, 403, 'Forbidden'],
  ])('is rejected for a prompt or doc that is %s', async ([, , idFrom, status, error], { expect }) => {
    const [org, otherOrg] = [await newOrg(), await newOrg()]
    const foreign = await newText(kind, otherOrg)
    const ofOtherKind = await newText(otherKind(kind), org)
    const path = `${kind.path}/${idFrom({ foreign: foreign.id, ofOtherKind: ofOtherKind.id })}`
    const before = [await foreign.detail(), await ofOtherKind.detail()]
    expect(await org.owner.post(`${path}/versions`, { content: 'x' })).toMatchObject({ status, body: { error } })
    const choice = { versionId: foreign.created.versionId }
    expect(await org.owner.put(`${path}/active-version`, choice)).toMatchObject({ status, body: { error } })
    expect(
      [await otherOrg.read.get(foreign.path), await org.read.get(ofOtherKind.path)].map(({ body }) => body),
    ).toEqual([(await otherOrg.read.get(foreign.path)).body, before[1]])
  })

  it("is rejected with a key for another project, and accepted with its own project's", async ({ expect }) => {
    const org = await newOrg()
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const text = await newText(kind, org)
    const other = org.clientOf(await org.keyFor({ projectSlug: 'other' }))
    expect(await text.add({ content: 'x' }, other)).toMatchObject({ status: 403, body: { error: 'Forbidden' } })
    expect((await text.activate(text.created.versionId, other)).status).toBe(403)
    expect((await text.add({ content: 'x' }, org.bearer())).status).toBe(201)
  })

  it.for<[string, object | undefined, string]>([
    ['no content', {}, 'content'],
    ['empty content', { content: '' }, 'content'],
    ['an activate that is not a boolean', { content: 'x', activate: 'yes' }, 'activate'],
    ['a note that is too long', { content: 'x', note: 'x'.repeat(MAX_NOTE_LENGTH + 1) }, 'note'],
    ['a name', { content: 'x', stepId: 'b', slug: 'b' }, 'stepId'],
  ])('400s for %s', async ([, body, path], { expect }) => {
    const org = await newOrg()
    const text = await newText(kind, org)
    expect(await text.add(body ?? {})).toMatchObject({ status: 400, body: { details: [{ path }] } })
    expect(await text.activate('none')).toMatchObject({ status: 400, body: { details: [{ path: 'versionId' }] } })
    expect((await text.detail()).versions).toHaveLength(1)
  })

  it('cannot be deleted without its prompt or doc', async ({ expect }) => {
    const org = await newOrg()
    const text = await newText(kind, org)
    for (const path of [`${text.path}/versions`, `${text.path}/active-version`]) {
      const response = await org.owner.delete(path)
      expect(response).toMatchObject({ status: 405, body: { error: 'Method not allowed' } })
      expect(response.headers.get('allow')).not.toContain('DELETE')
    }
    expect(await text.listed()).toEqual(text.created)
  })
})

describe.for(kindsOfText)('a deletion at $path', kind => {
  it('deletes the prompt or doc with all its versions, and nothing else', async ({ expect }) => {
    const org = await newOrg()
    const [text, other] = [await newText(kind, org), await newText(kind, org, 'other')]
    for (const each of [text, other]) await each.add({ content: 'Second' })
    const before = { counts: await rowsOfTexts(), detail: await other.detail() }
    expect(await org.owner.delete(text.path)).toMatchObject({ status: 200, body: { id: text.id } })
    expect(await rowsOfTexts()).toEqual({
      versioned_texts: before.counts.versioned_texts - 1,
      text_versions: before.counts.text_versions - 2,
      text_activations: before.counts.text_activations - 2,
    })
    for (const response of [
      await org.read.get(text.path),
      await org.owner.delete(text.path),
      await text.add({ content: 'Third' }),
      await text.activate(text.created.versionId),
    ]) {
      expect(response).toMatchObject({ status: 404, body: { error: 'Not found' } })
    }
    expect(await text.listed()).toBeUndefined()
    expect(await other.detail()).toEqual(before.detail)
  })

  it('immediately frees its name for a new prompt or doc with a history of its own', async ({ expect }) => {
    const org = await newOrg()
    const text = await newText(kind, org)
    await text.add({ content: 'Second' })
    await org.owner.delete(text.path)
    const again = await newText(kind, org)
    expect(again.id).not.toBe(text.id)
    expect((await again.detail()).versions).toHaveLength(1)
    expect((await storedText(again.id)).activations).toHaveLength(1)
    expect(await again.activate(text.created.versionId)).toMatchObject({ status: 422 })
  })

  it.for<[string, number]>([
    ['absent', 404],
    ['of the other kind', 404],
    ['not identified by a UUID', 404],
    ["another organization's", 404],
    ["another project's", 403],
  ])('is rejected for a prompt or doc that is %s', async ([which, status], { expect }) => {
    const [org, otherOrg] = [await newOrg(), await newOrg()]
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const [own, foreign, ofOtherKind] = [
      await newText(kind, org),
      await newText(kind, otherOrg),
      await newText(otherKind(kind), org),
    ]
    const id = {
      absent: crypto.randomUUID(),
      'of the other kind': ofOtherKind.id,
      'not identified by a UUID': 'answer',
      "another organization's": foreign.id,
      "another project's": own.id,
    }[which]
    const caller = status === 403 ? org.clientOf(await org.keyFor({ projectSlug: 'other' })) : org.owner
    const before = await rowsOfTexts()
    expect((await caller.delete(`${kind.path}/${id}`)).status).toBe(status)
    expect(await rowsOfTexts()).toEqual(before)
  })

  it('takes effect before or after a concurrent version or activation, which gets a 404 if it comes second', async ({
    expect,
  }) => {
    const org = await newOrg()
    for (let round = 0; round < 5; round++) {
      const before = await rowsOfTexts()
      const text = await newText(kind, org)
      const { id } = (await text.add({ content: 'Second', activate: false })).body
      const [deleted, ...racing] = await Promise.all([
        org.owner.delete(text.path),
        ...Array.from({ length: 5 }, () => text.add({ content: 'Third' })),
        ...Array.from({ length: 5 }, () => text.activate(id)),
        org.owner.delete(text.path),
      ])
      expect(deleted?.status).toBe(200)
      for (const { status } of racing) expect([200, 201, 404]).toContain(status)
      expect(await rowsOfTexts()).toEqual(before)
    }
  })

  it.for(['a version', 'an activation'])(
    'between the two steps of %s causes a 404, and leaves nothing behind',
    async (write, { expect }) => {
      const org = await newOrg()
      const before = await rowsOfTexts()
      const text = await newText(kind, org)
      const { id } = (await text.add({ content: 'Second', activate: false })).body
      let calls = 0
      // Delete the text just before the write's batch, which is its last D1 call.
      const bindings = wrapBindings(async (binding, call) => {
        const last = write === 'a version' ? 2 : 3
        if (binding === 'DB' && ++calls === last) await org.owner.delete(text.path)
        return call()
      })
      const owner = org.clientOf(org.ownerKey, bindings)
      const response = await (write === 'a version' ? text.add({ content: 'Third' }, owner) : text.activate(id, owner))
      expect(response).toMatchObject({ status: 404, body: { error: 'Not found' } })
      expect(await rowsOfTexts()).toEqual(before)
    },
  )
})

describe.for(kindsOfText)('the active version at $path', kind => {
  it('is unique at any moment during 20 concurrent activations', async ({ expect }) => {
    const org = await newOrg()
    const text = await newText(kind, org)
    const added = await times(9, index => text.add({ content: `Version ${index}`, activate: false }))
    const ids = [text.created.versionId, ...added.map(({ body }) => body.id)]
    const seen: number[] = []
    const readActive = async () => {
      const [detail, list] = await Promise.all([text.detail(), org.read.get(`${kind.path}?projectSlug=support`)])
      seen.push(activeIn(detail).length, list.body[kind.list].length)
    }
    const [results] = await Promise.all([
      times(20, async index => {
        const id = ids[index % ids.length]
        const response = await text.activate(id)
        // Each response shows its own version as the active one.
        return { status: response.status, own: response.body.versionId === id }
      }),
      times(20, readActive),
    ])
    expect(new Set(results.map(result => JSON.stringify(result)))).toEqual(new Set(['{"status":200,"own":true}']))
    expect(seen).toEqual(seen.map(() => 1))
    const { active } = await storedText(text.id)
    expect(active).toEqual([(await text.listed()).versionId])
  })

  it('is unique after 20 concurrent creations, and no version is lost', async ({ expect }) => {
    const org = await newOrg()
    const text = await newText(kind, org)
    const added = await times(20, index => text.add({ content: `Version ${index}` }))
    expect(statusCounts(added)).toEqual([['201', 20]])
    const { versions, active } = await storedText(text.id)
    expect([...versions].sort()).toEqual([text.created.versionId, ...added.map(({ body }) => body.id)].sort())
    expect(active).toEqual([(await text.listed()).versionId])
  })

  it('is always the last version in the history, even if clocks differ', async ({ expect }) => {
    const org = await newOrg()
    const text = await newText(kind, org)
    const lastOf = async () => (await storedText(text.id)).activations.at(-1)?.id
    // Activate twice in the same millisecond, and once in an isolate whose clock is behind.
    const begin = Date.now() + 1000
    for (const now of [begin, begin, begin - 500, begin + 5]) {
      vi.useFakeTimers({ toFake: ['Date'], now })
      const before = await text.listed()
      const { body } = await text.add({ content: `At ${now}` })
      expect(await lastOf()).toBe(body.id)
      expect(Date.parse((await text.listed()).updatedAt)).toBeGreaterThan(Date.parse(before.updatedAt))
      await text.activate(before.versionId)
      expect(await lastOf()).toBe(before.versionId)
      await text.activate(body.id)
      expect(await lastOf()).toBe(body.id)
    }
    vi.useRealTimers()
    const { versions } = await storedText(text.id)
    await times(20, index => text.activate(versions[index % versions.length] ?? ''))
    expect([await lastOf()]).toEqual((await storedText(text.id)).active)
  })

  it('is kept unique by the database', async ({ expect }) => {
    const org = await newOrg()
    const text = await newText(kind, org)
    const { id } = (await text.add({ content: 'Second', activate: false })).body
    const second = env.DB.prepare('update text_versions set is_active = 1 where id = ?').bind(id)
    await expect(second.run()).rejects.toThrow('UNIQUE constraint failed: text_versions.text_key')
    const third = env.DB.prepare(
      `insert into text_versions (id, text_key, content, is_active, created_at)
       select ?, text_key, 'x', 1, 0 from text_versions where id = ?`,
    ).bind(crypto.randomUUID(), id)
    await expect(third.run()).rejects.toThrow('UNIQUE constraint failed: text_versions.text_key')
    expect((await storedText(text.id)).active).toEqual([text.created.versionId])
  })

  it(
    'shares a size limit with all other versions, and is rejected if it would exceed the limit',
    async ({ expect }) => {
      const org = await newOrg()
      const text = await newText(kind, org)
      const content = 'x'.repeat(MAX_CONTENT_BYTES)
      const fitting = MAX_VERSIONS_BYTES / MAX_CONTENT_BYTES - 1
      // Concurrent requests must not both take the last space.
      const added = await times(fitting + 5, index => text.add({ content, activate: index === 0 }))
      expect(statusCounts(added)).toEqual([
        ['201', fitting],
        ['422', 5],
      ])
      for (const { status, body } of added) {
        if (status === 422) expect(body.details).toEqual([{ path: 'content', message: body.error }])
      }
      const active = (await text.listed()).versionId
      expect(active).toBe(added[0]?.body.id)
      // Each prompt and doc in the project has its own limit.
      await newText(kind, org, 'other', { content })
      expect((await text.add({ content })).status).toBe(422)
      const stored = await storedText(text.id)
      expect(stored.versions).toHaveLength(1 + fitting)
      expect(stored.active).toEqual([active])
      expect((await text.add({ content: 'A small one fits' })).status).toBe(201)
      const detail = await text.detail()
      expect(detail.versions).toHaveLength(2 + fitting)
      const bytes = detail.versions.map(
        (version: { content: string; outputSchema?: object }) =>
          version.content.length + (version.outputSchema ? JSON.stringify(version.outputSchema).length : 0),
      )
      expect(bytes.reduce((sum: number, each: number) => sum + each)).toBeLessThanOrEqual(MAX_VERSIONS_BYTES)
    },
    SLOW_MS,
  )

  it('counts toward the limit as escaped JSON, in which one byte may become six', { timeout: SLOW_MS }, async ({
    expect,
  }) => {
    const text = await newText(kind, await newOrg())
    const content = '\u0001'.repeat(MAX_CONTENT_BYTES)
    const fitting = Math.floor(MAX_VERSIONS_BYTES / (6 * MAX_CONTENT_BYTES + 2 + VERSION_BYTES))
    expect(statusCounts(await times(fitting + 2, () => text.add({ content })))).toEqual([
      ['201', fitting],
      ['422', 2],
    ])
    expect((await text.detail()).versions).toHaveLength(1 + fitting)
  })
})

describe.for(kindsOfText)('the versions at $path', kind => {
  it('become active only on request', async ({ expect }) => {
    const org = await newOrg()
    const text = await newText(kind, org)
    const added = await org.owner.post(`${text.path}/versions`, { content: 'Second' })
    expect(added).toMatchObject({ status: 201, body: { isActive: false } })
    expect(activeIn(await text.detail())).toEqual([text.created.versionId])
    expect((await text.add({ content: 'Third', activate: true })).body.isActive).toBe(true)
  })

  it('are numbered from 1 without gaps, even if added concurrently', async ({ expect }) => {
    const org = await newOrg()
    const text = await newText(kind, org)
    const added = await times(12, index => text.add({ content: `Version ${index}`, activate: index % 2 === 0 }))
    const { versions } = await text.detail()
    expect(versions.map(({ number }: { number: number }) => number)).toEqual(
      [...Array(13).keys()].map(index => index + 1),
    )
    for (const { body } of added) expect(versions[body.number - 1]).toMatchObject({ id: body.id, number: body.number })
  })

  it('get numbers even if an older release added them without any', async ({ expect }) => {
    const org = await newOrg()
    const text = await newText(kind, org)
    const { body } = await text.add({ content: 'Second' })
    await env.DB.prepare('update text_versions set number = null where id = ?').bind(body.id).run()
    expect((await text.add({ content: 'Third' })).body.number).toBe(3)
    const { versions } = await text.detail()
    expect(versions.map(({ number }: { number: number }) => number)).toEqual([1, 2, 3])
  })
})

describe("a knowledge doc's title", () => {
  const newDoc = async () => {
    const [, kind] = kindsOfText
    if (!kind) throw new Error('kindsOfText has no knowledge docs')
    const org = await newOrg()
    return { org, doc: await newText(kind, org, 'returns') }
  }

  it('changes in the list and in the response for the single doc, without other changes', async ({ expect }) => {
    const { org, doc } = await newDoc()
    const list = () => org.read.get('/api/knowledge-docs?projectSlug=support')
    const before = (await list()).headers.get('etag')
    const response = await org.owner.patch(doc.path, { title: 'Returning goods' })
    expect(response).toMatchObject({ status: 200, body: { ...doc.created, title: 'Returning goods' } })
    expect(await doc.listed()).toEqual(response.body)
    expect((await doc.detail()).title).toBe('Returning goods')
    expect((await list()).headers.get('etag')).not.toBe(before)
  })

  it('adds an audit entry only when it changes', async ({ expect }) => {
    const { org, doc } = await newDoc()
    for (const body of [{ title: 'New' }, { title: 'New' }, {}])
      expect((await org.owner.patch(doc.path, body)).body.title).toBe('New')
    const { entries } = (await org.owner.get(`/api/audit-log?action=knowledge_doc.change`)).body
    expect(entries).toMatchObject([{ targetId: doc.id, projectId: org.project.id }])
    expect(entries).toHaveLength(1)
  })

  it.for([{ title: '' }, { title: 'x'.repeat(MAX_NAME_LENGTH + 1) }, { title: null }, { slug: 'x' }])(
    'cannot become %j',
    async (body, { expect }) => {
      const { org, doc } = await newDoc()
      expect((await org.owner.patch(doc.path, body)).status).toBe(400)
      expect((await doc.listed()).title).toBe(doc.created.title)
    },
  )
})

describe('prompts and docs', () => {
  it('reject each other’s fields: a knowledge doc has no schema, and a prompt has no title', async ({ expect }) => {
    const org = await newOrg()
    for (const kind of kindsOfText) {
      const wrongField = kind.named === 'slug' ? { outputSchema: {} } : { title: 'x' }
      expect((await org.owner.post(kind.path, aText(kind, 'answer', wrongField))).status).toBe(400)
      const text = await newText(kind, org)
      expect((await text.add({ content: 'x', ...wrongField })).status).toBe(400)
    }
  })

  it.for(['', '-a', 'A', 'a_b', 'a b', 'ä', 'x'.repeat(64)])('400s for the slug %o', async (slug, { expect }) => {
    const org = await newOrg()
    const response = await org.owner.post('/api/knowledge-docs', {
      projectSlug: 'support',
      slug,
      title: 'x',
      content: 'x',
    })
    expect(response).toMatchObject({ status: 400, body: { details: [{ path: 'slug' }] } })
  })

  it.for([undefined, '', 'x'.repeat(257), 7])('400s for the title %o', async (title, { expect }) => {
    const org = await newOrg()
    const response = await org.owner.post('/api/knowledge-docs', {
      projectSlug: 'support',
      slug: 'a',
      title,
      content: 'x',
    })
    expect(response).toMatchObject({ status: 400, body: { details: [{ path: 'title' }] } })
  })
})
