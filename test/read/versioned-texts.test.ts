import { afterEach, describe, it, vi } from 'vitest'
import { MAX_CONTENT_BYTES, MAX_PAGE_BYTES } from '../../src/limits.ts'
import { type ApiResponse, client, newOrg, type Org, send } from '../support/org.ts'
import { activeIn, aText, kindsOfText, newText, otherKind } from '../support/texts.ts'

afterEach(() => {
  vi.useRealTimers()
})

/** The timeout for tests that store several megabytes. It's long enough for a busy machine. */
const SLOW_MS = 30_000

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** Compares strings in SQLite's order, which is by UTF-8 bytes. */
const byBytes = (a: string, b: string) => {
  const [left, right] = [new TextEncoder().encode(a), new TextEncoder().encode(b)]
  const index = left.findIndex((byte, at) => byte !== right[at])
  return index === -1 ? left.length - right.length : (left[index] ?? 0) - (right[index] ?? -1)
}

/**
 * Names with characters that UTF-16 and UTF-8 sort differently (above U+FFFF), and with characters that have a meaning
 * in URLs or SQL.
 */
const STEPS = [
  'answer',
  'Antwort',
  'a b',
  'a/b?c=d&e',
  '100%',
  "o'hara",
  '"q"',
  'é',
  'e\u0301',
  '\uff5e',
  '😀',
  '回答',
  'Ω',
]
const SLUGS = ['a', '0', '9-9', 'a-b', 'ab', 'b', 'z', 'returns', 'returns-2', 'x'.repeat(63)]

/** Reads every page of a list. */
async function pagesOf(org: Org, path: string): Promise<ApiResponse['body'][]> {
  const pages = []
  for (let cursor = ''; pages.length < 100; cursor = `&cursor=${pages.at(-1).nextCursor}`) {
    const { status, body } = await org.read.get(path + cursor)
    if (status !== 200) throw new Error(`${path} returned ${status}`)
    pages.push(body)
    if (body.nextCursor === null) return pages
  }
  throw new Error(`${path} has no last page`)
}

describe.for(kindsOfText)('the list at $path', kind => {
  const names = kind.named === 'stepId' ? STEPS : SLUGS
  const nameOf = (item: Record<string, string>) => item[kind.named]
  const bySlug = `${kind.path}?projectSlug=support`

  it('contains the active version of each prompt or doc, with the fields in the specification', async ({ expect }) => {
    const org = await newOrg()
    const text = await newText(kind, org)
    await text.add({ content: 'Second' })
    const third = await text.add({ content: 'Third', activate: false })
    const { body } = await org.read.get(bySlug)
    expect(body.nextCursor).toBeNull()
    expect(body[kind.list]).toHaveLength(1)
    const [item] = body[kind.list]
    expect(Object.keys(item).sort()).toEqual([...kind.itemFields].sort())
    expect(item).toMatchObject({ id: text.id, [kind.named]: 'answer', content: 'Second', ...kind.more })
    expect(item.versionId).toMatch(UUID)
    expect(item.versionId).not.toBe(third.body.id)
    expect([item.createdAt, item.updatedAt]).toEqual([expect.stringMatching(ISO), expect.stringMatching(ISO)])
    expect(item.createdAt).toBe(text.created.createdAt)
  })

  it('is empty if the project has none', async ({ expect }) => {
    const org = await newOrg()
    await newText(otherKind(kind), org)
    expect((await org.read.get(bySlug)).body).toEqual({ [kind.list]: [], nextCursor: null })
  })

  it('is sorted by name, without gaps or duplicates at any page size', async ({ expect }) => {
    const org = await newOrg()
    for (const name of names) await newText(kind, org, name)
    for (const limit of [1, 2, 3, 7, names.length, 200]) {
      const pages = await pagesOf(org, `${bySlug}&limit=${limit}`)
      expect(pages).toHaveLength(Math.ceil(names.length / limit))
      expect(pages.flatMap(page => page[kind.list].map(nameOf))).toEqual([...names].sort(byBytes))
    }
  })

  it('has no gaps or duplicates if prompts or docs are created or changed between two pages', async ({ expect }) => {
    const org = await newOrg()
    const later = await newText(kind, org, 'm')
    await newText(kind, org, 'c')
    const first = (await org.read.get(`${bySlug}&limit=1`)).body
    expect(first[kind.list].map(nameOf)).toEqual(['c'])
    for (const name of ['a', 'd', 'z']) await newText(kind, org, name)
    await later.add({ content: 'New' })
    const rest = (await org.read.get(`${bySlug}&cursor=${first.nextCursor}`)).body
    expect(rest[kind.list].map(nameOf)).toEqual(['d', 'm', 'z'])
    expect(rest[kind.list][1].content).toBe('New')
  })

  it('can be filtered by exact name', async ({ expect }) => {
    const org = await newOrg()
    for (const name of names) await newText(kind, org, name)
    const picked = async (name: string) => {
      const { body } = await org.read.get(`${bySlug}&${kind.named}=${encodeURIComponent(name)}`)
      expect(body.nextCursor).toBeNull()
      return body[kind.list].map(nameOf)
    }
    for (const name of names) expect(await picked(name)).toEqual([name])
    for (const name of ['', 'nope', 'ANSWER', 'answe', 'answer ', '%', 'A', 'return_'])
      expect(await picked(name)).toEqual([])
  })

  it('contains the prompts or docs in one project, selected by slug or id', async ({ expect }) => {
    const org = await newOrg()
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const text = await newText(kind, org, 'answer', { content: 'Mine' })
    await newText(kind, org, 'answer', { content: 'Other', projectSlug: 'other' })
    for (const selector of [
      'projectSlug=support',
      `projectId=${org.project.id}`,
      `projectId=${org.project.id.toUpperCase()}`,
    ]) {
      expect((await org.read.get(`${kind.path}?${selector}`)).body[kind.list]).toEqual([text.created])
    }
  })

  it.for([
    ['no selector', '', 400, 'projectSlug or projectId is required'],
    ['both selectors', '?projectSlug=support&projectId=MINE', 400, 'projectId: must not be combined with projectSlug'],
    ['one selector twice', '?projectSlug=support&projectSlug=support', 400, 'projectSlug: is given more than once'],
    ['a slug that does not exist', '?projectSlug=nope', 404, 'Not found'],
    ['an empty slug', '?projectSlug=', 400, 'projectSlug or projectId is required'],
    ['an id that does not exist', `?projectId=${crypto.randomUUID()}`, 404, 'Not found'],
    ['an invalid id', '?projectId=support', 404, 'Not found'],
    ["another organization's id", '?projectId=THEIRS', 403, 'Forbidden'],
    ['an unknown parameter', '?projectSlug=support&stepid=x', 400, 'stepid: is not recognized'],
    ['a limit of 0', '?projectSlug=support&limit=0', 400, 'limit: must be a whole number from 1 to 200'],
    ['a limit of 201', '?projectSlug=support&limit=201', 400, 'limit: must be a whole number from 1 to 200'],
    ['a made-up cursor', '?projectSlug=support&cursor=abc', 400, 'cursor: is not a cursor for this list'],
  ] as const)('rejects %s', async ([, query, status, error], { expect }) => {
    const [org, otherOrg] = [await newOrg(), await newOrg()]
    const path = kind.path + query.replace('MINE', org.project.id).replace('THEIRS', otherOrg.project.id)
    const response = await org.read.get(path)
    expect(response).toMatchObject({ status, body: { error } })
    expect(response.headers.get('etag')).toBeNull()
  })

  it('is forbidden without a key, without the scope, or with a key for another project', async ({ expect }) => {
    const org = await newOrg()
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const withoutRead = await org.keyFor({ scopes: ['ingest', 'review', 'manage'] })
    const other = await org.keyFor({ projectSlug: 'other' })
    for (const [headers, status, error] of [
      [{}, 401, 'Not authenticated'],
      [{ 'x-api-key': `cs_${'x'.repeat(24)}` }, 401, 'Not authenticated'],
      [{ 'x-api-key': org.ownerKey, 'x-org-slug': 'nope' }, 401, 'Not authenticated'],
      [{ 'x-api-key': withoutRead }, 403, 'Forbidden'],
      [{ 'x-api-key': other }, 403, 'Forbidden'],
    ] as const) {
      expect(await client({ ...headers }).get(bySlug)).toMatchObject({ status, body: { error } })
    }
  })

  it('rejects a cursor from the list of another organization, project, or kind', async ({ expect }) => {
    const [org, otherOrg] = [await newOrg(), await newOrg()]
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    for (const name of ['a', 'b']) await newText(kind, org, name)
    const { nextCursor } = (await org.read.get(`${bySlug}&limit=1`)).body
    expect(nextCursor).toEqual(expect.any(String))
    const error = 'cursor: is not a cursor for this list'
    for (const response of [
      await otherOrg.read.get(`${bySlug}&cursor=${nextCursor}`),
      await org.read.get(`${kind.path}?projectSlug=other&cursor=${nextCursor}`),
      await org.read.get(`${otherKind(kind).path}?projectSlug=support&cursor=${nextCursor}`),
    ]) {
      expect(response).toMatchObject({ status: 400, body: { error } })
    }
  })

  it(
    'ends a page early if its contents are long, and continues on the next page',
    async ({ expect }) => {
      const org = await newOrg()
      const long = Array.from({ length: 40 }, (_, index) => `t${String(index).padStart(2, '0')}`)
      // Use a character that takes two bytes, because the size of a page is measured in bytes.
      const contentOf = (name: string) => `${name} `.padEnd(MAX_CONTENT_BYTES / 2 + 2, 'é').slice(0, -4)
      for (const name of long) await newText(kind, org, name, { content: contentOf(name) })
      const pages = await pagesOf(org, `${bySlug}&limit=200`)
      expect(pages.length).toBe(3)
      for (const page of pages) {
        const bytes = page[kind.list].map(
          ({ content }: { content: string }) => new TextEncoder().encode(content).length,
        )
        expect(bytes.reduce((sum: number, each: number) => sum + each)).toBeLessThanOrEqual(MAX_PAGE_BYTES)
      }
      const items = pages.flatMap(page => page[kind.list])
      expect(items.map(nameOf)).toEqual(long)
      for (const item of items) expect(item.content === contentOf(nameOf(item) ?? '')).toBe(true)
    },
    SLOW_MS,
  )
})

describe.for(kindsOfText)('the ETag of the list at $path', kind => {
  const bySlug = `${kind.path}?projectSlug=support`
  const etagOf = async (org: Org, path = bySlug) => (await org.read.get(path)).headers.get('etag') ?? ''

  it.for<[string, (etag: string) => string, number]>([
    ['the tag itself', etag => etag, 304],
    ['the weak form of the tag', etag => `W/${etag}`, 304],
    ['a list that includes the tag', etag => `"x", ${etag},"y"`, 304],
    ['a list that includes the weak form of the tag', etag => `W/"x" ,W/${etag}`, 304],
    ['an asterisk', () => '*', 304],
    ['a different tag', () => '"0123456789abcdef0123456789abcdef"', 200],
    ['other tags', () => '"x", W/"y"', 200],
    ['the tag with an extra digit', etag => `${etag.slice(0, -1)}0"`, 200],
    ['the tag without its quotes', etag => etag.replaceAll('"', ''), 200],
    ['an empty value', () => '', 200],
  ])('is compared as HTTP specifies if If-None-Match is %s', async ([, tagFrom, status], { expect }) => {
    const org = await newOrg()
    await newText(kind, org)
    const full = await org.read.get(bySlug)
    const etag = full.headers.get('etag') ?? ''
    expect(etag).toMatch(/^"[0-9a-f]{32}"$/)
    const response = await org.read.get(bySlug, undefined, { 'if-none-match': tagFrom(etag) })
    expect(response.status).toBe(status)
    expect(response.body).toEqual(status === 304 ? undefined : full.body)
    expect(response.headers.get('etag')).toBe(etag)
    expect(response.headers.get('cache-control')).toBe('private, no-cache')
    expect(response.headers.get('x-request-id')).toEqual(expect.any(String))
  })

  it('is the same for HEAD and GET', async ({ expect }) => {
    const org = await newOrg()
    const etag = await etagOf(org)
    const head = (more: object) =>
      send(
        new Request(`https://countersign.test${bySlug}`, {
          method: 'HEAD',
          headers: { 'x-api-key': org.ownerKey, ...more },
        }),
      )
    const response = await head({})
    expect([response.status, response.headers.get('etag')]).toEqual([200, etag])
    expect((await head({ 'if-none-match': etag })).status).toBe(304)
  })

  it('changes exactly when the list does', async ({ expect }) => {
    const org = await newOrg()
    const text = await newText(kind, org)
    const { versionId } = text.created
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    let etag = await etagOf(org)
    const inactive = (await text.add({ content: 'Second', activate: false })).body.id
    const steps: [what: string, changes: boolean, act: () => Promise<unknown>][] = [
      ['nothing', false, async () => {}],
      ['a version that is not active', false, () => text.add({ content: 'Third', activate: false })],
      ['an activation of the active version', false, () => text.activate(versionId)],
      ['a rejected creation', false, () => org.owner.post(kind.path, aText(kind, 'answer', { content: 'Again' }))],
      ['a rejected activation', false, () => text.activate(crypto.randomUUID())],
      ['a prompt or doc in a different project', false, () => newText(kind, org, 'answer', { projectSlug: 'other' })],
      ['a prompt or doc of the other kind', false, () => newText(otherKind(kind), org, 'answer')],
      ['a new project name', false, () => org.owner.patch(`/api/projects/${org.project.id}`, { name: 'New' })],
      ['an activation of a different version', true, () => text.activate(inactive)],
      ['an activation of the earlier version', true, () => text.activate(versionId)],
      ['an active version', true, () => text.add({ content: 'First' })],
      ['a new prompt or doc', true, () => newText(kind, org, 'b')],
    ]
    for (const [what, changes, act] of steps) {
      await act()
      const now = await etagOf(org)
      expect([what, now !== etag]).toEqual([what, changes])
      const response = await org.read.get(bySlug, undefined, { 'if-none-match': etag })
      expect([what, response.status]).toEqual([what, changes ? 200 : 304])
      etag = now
    }
  })

  it('differs for a different page, name, or tenant', async ({ expect }) => {
    const [org, otherOrg] = [await newOrg(), await newOrg()]
    for (const name of ['a', 'b']) await newText(kind, org, name)
    await newText(kind, otherOrg, 'a')
    const etags = [
      await etagOf(org),
      await etagOf(org, `${bySlug}&limit=1`),
      await etagOf(org, `${bySlug}&${kind.named}=b`),
      await etagOf(otherOrg),
    ]
    expect(new Set(etags).size).toBe(etags.length)
    const known = { 'if-none-match': etags[0] ?? '' }
    expect((await otherOrg.read.get(bySlug, undefined, known)).status).toBe(200)
    expect((await org.read.get(`${bySlug}&limit=1`, undefined, known)).status).toBe(200)
  })

  it('never grants read access, even if If-None-Match is right', async ({ expect }) => {
    const [org, otherOrg] = [await newOrg(), await newOrg()]
    const known = { 'if-none-match': '*' }
    expect((await client({}).get(bySlug, undefined, known)).status).toBe(401)
    expect((await org.read.get(`${kind.path}?projectSlug=nope`, undefined, known)).status).toBe(404)
    const foreign = `${kind.path}?projectId=${otherOrg.project.id}`
    expect((await org.read.get(foreign, undefined, known)).status).toBe(403)
  })
})

describe.for(kindsOfText)('a prompt or doc at $path', kind => {
  it('lists every version, oldest first, with the fields in the specification', async ({ expect }) => {
    const org = await newOrg()
    const text = await newText(kind, org, 'answer', { note: 'Begin' })
    // A clock that is set back must not change the order.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 60_000 })
    await text.add({ content: 'Second', note: 'Shorter' })
    await text.add({ content: 'Third', activate: false })
    const detail = await text.detail()
    expect(Object.keys(detail).sort()).toEqual([...kind.detailFields].sort())
    expect(detail).toMatchObject({ id: text.id, [kind.named]: 'answer', ...kind.more })
    expect(detail.versions).toMatchObject([
      { id: text.created.versionId, content: 'First', note: 'Begin', isActive: false },
      { content: 'Second', note: 'Shorter', isActive: true },
      { content: 'Third', note: null, isActive: false },
    ])
    for (const version of detail.versions) {
      expect(Object.keys(version).sort()).toEqual([...kind.versionFields, ...kind.countFields].sort())
      expect(version.id).toMatch(UUID)
      expect(version.createdAt).toMatch(ISO)
    }
    expect(activeIn(detail)).toEqual([(await text.listed()).versionId])
  })

  it('is found by its id even in uppercase', async ({ expect }) => {
    const org = await newOrg()
    const text = await newText(kind, org)
    expect(await org.read.get(`${kind.path}/${text.id.toUpperCase()}`)).toMatchObject({
      status: 200,
      body: { id: text.id },
    })
  })

  it.for<[string, number, string, (text: { id: string; other: string; foreign: string }) => string]>([
    ['an id that does not exist', 404, 'Not found', () => crypto.randomUUID()],
    ['an invalid id', 404, 'Not found', () => 'answer'],
    ["the other kind's id", 404, 'Not found', ({ other }) => other],
    ["another organization's id", 403, 'Forbidden', ({ foreign }) => foreign],
  ])('is not found by %s', async ([, status, error, idFrom], { expect }) => {
    const [org, otherOrg] = [await newOrg(), await newOrg()]
    const { id } = await newText(kind, org)
    const other = (await newText(otherKind(kind), org)).id
    const foreign = (await newText(kind, otherOrg)).id
    const response = await org.read.get(`${kind.path}/${idFrom({ id, other, foreign })}`)
    expect(response).toMatchObject({ status, body: { error } })
  })

  it("is forbidden with a key for another project, and allowed with its own project's key", async ({ expect }) => {
    const org = await newOrg()
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const text = await newText(kind, org)
    const other = org.clientOf(await org.keyFor({ projectSlug: 'other' }))
    expect(await other.get(text.path)).toMatchObject({ status: 403, body: { error: 'Forbidden' } })
    expect((await org.bearer().get(text.path)).status).toBe(200)
  })
})
