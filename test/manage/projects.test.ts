import { describe, it } from 'vitest'
import { failing, wrapBindings } from '../support/bindings.ts'
import { client, newOrg, type Org } from '../support/org.ts'

const LOST = 'D1_ERROR: Network connection lost.'

const projectsIn = async (org: Org, by = org.owner) => (await by.get('/api/projects')).body.projects

describe('a project', () => {
  it('has the fields of the contract', async ({ expect }) => {
    const org = await newOrg()
    const { status, body } = await org.owner.post('/api/projects', { slug: 'new', name: 'New' })
    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.any(String),
      slug: 'new',
      name: 'New',
      retentionDays: null,
      retainReviewed: true,
      autoAttribute: false,
      createdAt: expect.any(String),
    })
    expect(await projectsIn(org)).toEqual([org.project, body])
  })

  it('has a slug of its own in its organization', async ({ expect }) => {
    const org = await newOrg()
    const again = await org.owner.post('/api/projects', { slug: 'support', name: 'Again' })
    expect(again).toMatchObject({ status: 409, body: { details: [{ path: 'slug' }] } })
    expect(await projectsIn(org)).toEqual([org.project])
    expect((await (await newOrg()).owner.post('/api/projects', { slug: 'x', name: 'X' })).status).toBe(201)
  })

  it('is one when 20 with one slug come at once', async ({ expect }) => {
    const org = await newOrg()
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => org.owner.post('/api/projects', { slug: 'new', name: 'New' })),
    )
    const made = answers.filter(({ status }) => status === 201)
    expect([made.length, answers.filter(({ status }) => status === 409).length]).toEqual([1, 19])
    expect(await projectsIn(org)).toEqual([org.project, made[0]?.body])
  })

  it.for(['before', 'after'] as const)(
    'is made once when the answer of D1 is lost %s it was stored',
    async (when, { expect }) => {
      const org = await newOrg()
      const owner = org.clientOf(org.ownerKey, wrapBindings(failing('DB', LOST, 1, when)))
      const { status, body } = await owner.post('/api/projects', { slug: 'new', name: 'New' })
      expect(status).toBe(201)
      expect(await projectsIn(org)).toEqual([org.project, body])
    },
  )

  it('is listed oldest first, page by page', async ({ expect }) => {
    const org = await newOrg()
    for (const slug of ['b', 'a', 'c']) await org.owner.post('/api/projects', { slug, name: slug })
    const first = (await org.owner.get('/api/projects?limit=3')).body
    expect(first.projects.map(({ slug }: { slug: string }) => slug)).toEqual(['support', 'b', 'a'])
    const second = (await org.owner.get(`/api/projects?limit=3&cursor=${first.nextCursor}`)).body
    expect(second).toMatchObject({ projects: [{ slug: 'c' }], nextCursor: null })
  })

  it('is not made by a key of one project, which sees its own alone', async ({ expect }) => {
    const org = await newOrg()
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    expect((await org.ingest.post('/api/projects', { slug: 'x', name: 'X' })).status).toBe(403)
    expect(await projectsIn(org, org.ingest)).toEqual([org.project])
  })
})

describe('a change of a project', () => {
  const change = (org: Org, body: unknown, id = org.project.id, by = org.owner) => by.patch(`/api/projects/${id}`, body)

  it('shows at once in the lists of every key, and leaves the rest as it was', async ({ expect }) => {
    const org = await newOrg()
    const other = (await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })).body
    // The isolate knows the project and the keys.
    for (const key of [org.owner, org.bearer()]) await projectsIn(org, key)
    const changed = { ...org.project, name: 'Sùpport 😀' }
    expect(await change(org, { name: 'Sùpport 😀' })).toMatchObject({ status: 200, body: changed })
    expect(await projectsIn(org)).toEqual([changed, other])
    expect(await projectsIn(org, org.bearer())).toEqual([changed])
    expect((await org.read.get('/api/traces?projectSlug=support')).status).toBe(200)
  })

  it('without a field changes nothing', async ({ expect }) => {
    const org = await newOrg()
    const answer = await change(org, {})
    expect([answer.status, answer.body]).toEqual([200, org.project])
    expect(await projectsIn(org)).toEqual([org.project])
  })

  it.for<[string, unknown, number, string]>([
    ['an unknown field', { nmae: 'x' }, 400, 'nmae'],
    ['a slug, which stays for good', { slug: 'new' }, 400, 'slug'],
    ['an id', { id: crypto.randomUUID() }, 400, 'id'],
    ['an empty name', { name: '' }, 400, 'name'],
    ['null for a name', { name: null }, 400, 'name'],
    ['a name that is too long', { name: 'x'.repeat(257) }, 400, 'name'],
    ['a good field and a bad one', { name: 'New', x: 1 }, 400, 'x'],
  ])('is refused for %s', async ([, body, status, path], { expect }) => {
    const org = await newOrg()
    expect(await change(org, body)).toMatchObject({ status, body: { details: [{ path }] } })
    expect(await projectsIn(org)).toEqual([org.project])
  })

  it.for<[string, unknown]>([
    ['nothing', undefined],
    ['no JSON', '{name: x}'],
    ['a list', '[]'],
    ['null', 'null'],
  ])('is refused for a body that is %s', async ([, body], { expect }) => {
    const org = await newOrg()
    expect((await change(org, body)).status).toBe(400)
    expect(await projectsIn(org)).toEqual([org.project])
  })

  it.for<[string, (ids: { foreign: string }) => string, number, string]>([
    ["another organization's project", ({ foreign }) => foreign, 403, 'Forbidden'],
    ['one that is not there', () => crypto.randomUUID(), 404, 'Not found'],
    ['an id that is none', () => 'support', 404, 'Not found'],
  ])(
    "is not made of %s, be the key an organization's or a project's",
    async ([, idFrom, status, error], { expect }) => {
      const [org, theirs] = [await newOrg(), await newOrg()]
      const id = idFrom({ foreign: theirs.project.id })
      for (const by of [org.owner, org.bearer()]) {
        for (const body of [{ name: 'Taken' }, {}]) {
          const answer = await change(org, body, id, by)
          expect(answer).toMatchObject({ status, body: { error } })
          expect(JSON.stringify(answer.body)).not.toContain('Support')
        }
      }
      expect(await projectsIn(theirs)).toEqual([theirs.project])
    },
  )

  it("is made of its own project by a project's key, and of no other", async ({ expect }) => {
    const org = await newOrg()
    const other = (await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })).body
    expect(await change(org, { name: 'New' }, other.id, org.bearer())).toMatchObject({
      status: 403,
      body: { error: 'Forbidden' },
    })
    const own = await change(org, { name: 'New' }, org.project.id.toUpperCase(), org.bearer())
    expect(own).toMatchObject({ status: 200, body: { name: 'New' } })
    expect(await projectsIn(org)).toEqual([{ ...org.project, name: 'New' }, other])
  })

  it('needs the scope manage', async ({ expect }) => {
    const org = await newOrg()
    const reader = client({ 'x-api-key': await org.keyFor({ scopes: ['ingest', 'read', 'review'] }) })
    expect((await change(org, { name: 'New' }, org.project.id, reader)).status).toBe(403)
    expect(await projectsIn(org)).toEqual([org.project])
  })

  it.for(['before', 'after'] as const)(
    'is made when the answer of D1 is lost %s it was stored',
    async (when, { expect }) => {
      const org = await newOrg()
      const owner = org.clientOf(org.ownerKey, wrapBindings(failing('DB', LOST, 1, when)))
      expect(await change(org, { name: 'New' }, org.project.id, owner)).toMatchObject({
        status: 200,
        body: { name: 'New' },
      })
      expect(await projectsIn(org)).toEqual([{ ...org.project, name: 'New' }])
    },
  )
})
