import { env } from 'cloudflare:workers'
import { afterEach, describe, it, vi } from 'vitest'
import { KEY_FRESH_MS } from '../../src/limits.ts'
import { failing, wrapBindings } from '../support/bindings.ts'
import { aFeedback, anObservation, aSpan, aTrace } from '../support/builders.ts'
import { client, newOrg, type Org } from '../support/org.ts'
import { deleteElsewhere } from '../support/projects.ts'
import { newWorld } from '../support/samples.ts'
import { page, signIn } from '../support/session.ts'
import { anExportTo } from '../support/telemetry.ts'

afterEach(() => {
  vi.useRealTimers()
})

const LOST = 'D1_ERROR: Network connection lost.'

const projectsIn = async (org: Org, by = org.owner) => (await by.get('/api/projects')).body.projects

describe('a project', () => {
  it('returns the fields in the contract', async ({ expect }) => {
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

  it('needs a slug that is unique in its organization', async ({ expect }) => {
    const org = await newOrg()
    const again = await org.owner.post('/api/projects', { slug: 'support', name: 'Again' })
    expect(again).toMatchObject({ status: 409, body: { details: [{ path: 'slug' }] } })
    expect(await projectsIn(org)).toEqual([org.project])
    expect((await (await newOrg()).owner.post('/api/projects', { slug: 'x', name: 'X' })).status).toBe(201)
  })

  it('is created once if 20 concurrent requests use the same slug', async ({ expect }) => {
    const org = await newOrg()
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => org.owner.post('/api/projects', { slug: 'new', name: 'New' })),
    )
    const successes = responses.filter(({ status }) => status === 201)
    expect([successes.length, responses.filter(({ status }) => status === 409).length]).toEqual([1, 19])
    expect(await projectsIn(org)).toEqual([org.project, successes[0]?.body])
  })

  it.for(['before', 'after'] as const)(
    'is created once if D1’s response is lost, %s the commit',
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

  it('cannot be created with a project’s key, which sees only its own project', async ({ expect }) => {
    const org = await newOrg()
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    expect((await org.ingest.post('/api/projects', { slug: 'x', name: 'X' })).status).toBe(403)
    expect(await projectsIn(org, org.ingest)).toEqual([org.project])
  })
})

describe('a change to a project', () => {
  const change = (org: Org, body: unknown, id = org.project.id, by = org.owner) => by.patch(`/api/projects/${id}`, body)

  it('appears in every key’s lists immediately, and changes nothing else', async ({ expect }) => {
    const org = await newOrg()
    const other = (await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })).body
    // The isolate has cached the project and the keys.
    for (const key of [org.owner, org.bearer()]) await projectsIn(org, key)
    const changed = { ...org.project, name: 'Sùpport 😀' }
    expect(await change(org, { name: 'Sùpport 😀' })).toMatchObject({ status: 200, body: changed })
    expect(await projectsIn(org)).toEqual([changed, other])
    expect(await projectsIn(org, org.bearer())).toEqual([changed])
    expect((await org.read.get('/api/traces?projectSlug=support')).status).toBe(200)
  })

  it('changes nothing if it has no fields', async ({ expect }) => {
    const org = await newOrg()
    const response = await change(org, {})
    expect([response.status, response.body]).toEqual([200, org.project])
    expect(await projectsIn(org)).toEqual([org.project])
  })

  it.for<[string, unknown, number, string]>([
    ['an unknown field', { nmae: 'x' }, 400, 'nmae'],
    ['a slug, which cannot change', { slug: 'new' }, 400, 'slug'],
    ['an id', { id: crypto.randomUUID() }, 400, 'id'],
    ['an empty name', { name: '' }, 400, 'name'],
    ['null for a name', { name: null }, 400, 'name'],
    ['a name that is too long', { name: 'x'.repeat(257) }, 400, 'name'],
    ['a valid field and an invalid one', { name: 'New', x: 1 }, 400, 'x'],
  ])('is rejected for %s', async ([, body, status, path], { expect }) => {
    const org = await newOrg()
    expect(await change(org, body)).toMatchObject({ status, body: { details: [{ path }] } })
    expect(await projectsIn(org)).toEqual([org.project])
  })

  it.for<[string, unknown]>([
    ['nothing', undefined],
    ['not JSON', '{name: x}'],
    ['a list', '[]'],
    ['null', 'null'],
  ])('is rejected for a body that is %s', async ([, body], { expect }) => {
    const org = await newOrg()
    expect((await change(org, body)).status).toBe(400)
    expect(await projectsIn(org)).toEqual([org.project])
  })

  it.for<[string, (ids: { foreign: string }) => string, number, string]>([
    ["another organization's project", ({ foreign }) => foreign, 403, 'Forbidden'],
    ['a project that does not exist', () => crypto.randomUUID(), 404, 'Not found'],
    ['an invalid id', () => 'support', 404, 'Not found'],
  ])("is rejected for %s, with an organization's or a project's key", async ([, idFrom, status, error], { expect }) => {
    const [org, otherOrg] = [await newOrg(), await newOrg()]
    const id = idFrom({ foreign: otherOrg.project.id })
    for (const by of [org.owner, org.bearer()]) {
      for (const body of [{ name: 'Taken' }, {}]) {
        const response = await change(org, body, id, by)
        expect(response).toMatchObject({ status, body: { error } })
        expect(JSON.stringify(response.body)).not.toContain('Support')
      }
    }
    expect(await projectsIn(otherOrg)).toEqual([otherOrg.project])
  })

  it('is allowed with the project’s own key, but not with another project’s', async ({ expect }) => {
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

  it('needs the manage scope', async ({ expect }) => {
    const org = await newOrg()
    const reader = client({ 'x-api-key': await org.keyFor({ scopes: ['ingest', 'read', 'review'] }) })
    expect((await change(org, { name: 'New' }, org.project.id, reader)).status).toBe(403)
    expect(await projectsIn(org)).toEqual([org.project])
  })

  it.for(['before', 'after'] as const)(
    'takes effect even if D1’s response is lost, %s the commit',
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

describe('the deletion of a project', () => {
  const remove = (org: Org, body: unknown = { confirm: 'support' }, id = org.project.id, by = org.owner) =>
    by.delete(`/api/projects/${id}`, body)

  /** Creates a project with a resource of each kind that has an id. */
  async function newFilled() {
    const org = await newOrg()
    return { org, world: await newWorld(org) }
  }

  /** The statuses of the calls that read a project and its resources. */
  async function statusesOf({ org, world }: Awaited<ReturnType<typeof newFilled>>) {
    const byProject = ['traces', 'review-queue', 'insights', 'prompts', 'knowledge-docs', 'error-types']
    const paths = [
      ...byProject.flatMap(list => [`/api/${list}?projectSlug=support`, `/api/${list}?projectId=${org.project.id}`]),
      `/api/traces/${world.id}`,
      `/api/traces/${world.id}/attributions`,
      `/api/spans/${world.spanId}`,
      `/api/spans/${world.spanId}/reviews`,
      `/api/prompts/${world.prompt.id}`,
      `/api/knowledge-docs/${world.doc.id}`,
    ]
    return Promise.all(paths.map(async path => [path, (await org.owner.get(path)).status] as const))
  }

  it.for(['in the isolate that deletes it', 'in other isolates'] as const)(
    'immediately hides it and everything in it %s',
    async (where, { expect }) => {
      const filled = await newFilled()
      const { org, world } = filled
      for (const [path, status] of await statusesOf(filled)) {
        expect([path, status]).toEqual([path, 200])
      }
      if (where === 'in other isolates') await deleteElsewhere(org.project.id)
      else expect(await remove(org)).toMatchObject({ status: 200, body: { id: org.project.id } })
      const reads = (await statusesOf(filled)).filter(([path]) => where !== 'in other isolates' || !path.includes('?'))
      for (const [path, status] of reads) {
        expect([path, status]).toEqual([path, 404])
      }
      const { spanId, comment } = world
      const reviewer = org.clientOf(await org.keyFor({ projectSlug: undefined, scopes: ['review'] }))
      const writes = await Promise.all([
        org.owner.put(`/api/spans/${spanId}/review`, { decision: 'accept' }),
        org.owner.delete(`/api/feedback/${comment.id}`),
        reviewer.post(`/api/spans/${spanId}/feedback`, { content: 'Still there?' }),
        org.owner.delete(`/api/traces/${world.id}`),
        org.owner.delete(`/api/prompts/${world.prompt.id}`),
        org.owner.post(`/api/prompts/${world.prompt.id}/versions`, { content: 'x' }),
        org.owner.patch(`/api/knowledge-docs/${world.doc.id}`, { title: 'x' }),
        org.owner.patch(`/api/projects/${org.project.id}`, { name: 'x' }),
        ...[
          ['traces', aTrace()],
          ['observations', anObservation({ trace_id: world.traceId })],
          ['spans', aSpan({ trace_id: world.traceId })],
          ['feedback', aFeedback({ trace_id: world.traceId })],
        ].map(([kind, body]) => org.owner.post(`/api/v1/${kind}`, body, { 'x-project-slug': 'support' })),
        org.owner.post('/v1/traces', anExportTo('/v1/traces'), { 'x-project-slug': 'support' }),
      ])
      expect(writes.map(({ status }) => status)).toEqual(writes.map(() => 404))
      expect(await projectsIn(org)).toEqual([expect.objectContaining({ id: world.spareProject.id })])
    },
  )

  it("revokes only that project's keys, and ends their sessions and links", async ({ expect }) => {
    const org = await newOrg()
    const other = (await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })).body
    const otherKey = org.clientOf(await org.keyFor({ projectSlug: 'other' }))
    const session = await signIn(org.projectKey)
    expect((await page(session).get('/api/session')).status).toBe(200)
    await deleteElsewhere(org.project.id)
    // Let the cached key expire.
    vi.useFakeTimers({ toFake: ['Date'] })
    vi.setSystemTime(Date.now() + KEY_FRESH_MS + 1)
    expect((await org.bearer().get('/api/session')).status).toBe(401)
    expect((await page(session).get('/api/session')).status).toBe(401)
    expect((await org.owner.get('/api/session')).body.projects).toEqual([expect.objectContaining({ id: other.id })])
    expect((await otherKey.get('/api/session')).body.project).toMatchObject({ id: other.id })
  })

  it('shows its keys as revoked until they are deleted', async ({ expect }) => {
    const org = await newOrg()
    const { JOBS, ...bindings } = env
    await remove(org, { confirm: 'support' }, org.project.id, org.clientOf(org.ownerKey, bindings))
    const { apiKeys } = (await org.owner.get('/api/api-keys')).body
    expect(apiKeys).toMatchObject([
      { projectId: null, revokedAt: null },
      { projectId: org.project.id, revokedAt: expect.any(String) },
    ])
  })

  it('is allowed with the project’s own key, but not with another project’s', async ({ expect }) => {
    const org = await newOrg()
    const other = (await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })).body
    expect((await remove(org, { confirm: 'other' }, other.id, org.bearer())).status).toBe(403)
    expect((await remove(org, { confirm: 'support' }, org.project.id, org.bearer())).status).toBe(200)
    expect(await projectsIn(org)).toEqual([other])
  })

  it('needs the manage scope', async ({ expect }) => {
    const org = await newOrg()
    const reader = client({ 'x-api-key': await org.keyFor({ scopes: ['ingest', 'read', 'review'] }) })
    expect((await remove(org, { confirm: 'support' }, org.project.id, reader)).status).toBe(403)
    expect(await projectsIn(org)).toEqual([org.project])
  })

  it.for<[string, unknown, string]>([
    ['no confirmation', {}, 'confirm'],
    ['null', { confirm: null }, 'confirm'],
    ['a number', { confirm: 1 }, 'confirm'],
    ['an empty string', { confirm: '' }, 'confirm'],
    ['a different slug', { confirm: 'supporT' }, 'confirm'],
    ['the name', { confirm: 'Support' }, 'confirm'],
    ['an extra field', { confirm: 'support', force: true }, 'force'],
  ])('is rejected for %s', async ([, body, path], { expect }) => {
    const org = await newOrg()
    expect(await remove(org, body)).toMatchObject({ status: 400, body: { details: [{ path }] } })
    expect(await projectsIn(org)).toEqual([org.project])
  })

  it.for<[string, unknown]>([
    ['nothing', undefined],
    ['not JSON', '{confirm: support}'],
    ['only a slug', '"support"'],
  ])('is rejected for a body that is %s', async ([, body], { expect }) => {
    const org = await newOrg()
    expect((await org.owner.delete(`/api/projects/${org.project.id}`, body)).status).toBe(400)
    expect(await projectsIn(org)).toEqual([org.project])
  })

  it('404s for another organization’s project and for a missing one', async ({ expect }) => {
    const [org, otherOrg] = [await newOrg(), await newOrg()]
    for (const id of [otherOrg.project.id, crypto.randomUUID(), 'support']) {
      expect((await remove(org, { confirm: 'support' }, id)).status).toBe(404)
    }
    expect(await projectsIn(otherOrg)).toEqual([otherOrg.project])
  })

  it.for(['before', 'after'] as const)(
    'happens once if D1’s response is lost, %s the commit, and returns a 404 if repeated',
    async (when, { expect }) => {
      const org = await newOrg()
      // The lookup is the first D1 call.
      await org.owner.get(`/api/traces?projectId=${org.project.id}`)
      const owner = org.clientOf(org.ownerKey, wrapBindings(failing('DB', LOST, 1, when)))
      expect(await remove(org, { confirm: 'support' }, org.project.id.toUpperCase(), owner)).toMatchObject({
        status: 200,
        body: { id: org.project.id },
      })
      expect((await remove(org)).status).toBe(404)
      const { entries } = (await org.owner.get('/api/audit-log?action=project.delete')).body
      expect(entries).toMatchObject([{ targetId: org.project.id, projectId: org.project.id }])
    },
  )

  it('adds one entry to the audit log after 10 concurrent requests', async ({ expect }) => {
    const org = await newOrg()
    const responses = await Promise.all(Array.from({ length: 10 }, () => remove(org)))
    expect(responses.filter(({ status }) => status === 200).length).toBeGreaterThan(0)
    expect(responses.filter(({ status }) => status !== 200 && status !== 404)).toEqual([])
    expect((await org.owner.get('/api/audit-log?action=project.delete')).body.entries).toHaveLength(1)
  })

  it('keeps the project’s earlier log entries', async ({ expect }) => {
    const { org, world } = await newFilled()
    const before = (await org.owner.get('/api/audit-log?limit=200')).body.entries
    await remove(org)
    const after = (await org.owner.get('/api/audit-log?limit=200')).body.entries
    expect(after.slice(1)).toEqual(before)
    expect(before.map(({ targetId }: { targetId: string }) => targetId)).toContain(world.prompt.id)
  })

  it('immediately frees its slug and every id that its clients chose', async ({ expect }) => {
    const { org, world } = await newFilled()
    await remove(org)
    const created = await org.owner.post('/api/projects', { slug: 'support', name: 'Again' })
    expect(created.status).toBe(201)
    expect(created.body.id).not.toBe(org.project.id)
    const key = org.clientOf(await org.keyFor({}))
    const trace = await key.post('/api/v1/traces', aTrace({ trace_id: world.traceId }))
    expect(trace.status).toBe(202)
    expect(trace.body.id).not.toBe(world.id)
    const span = aSpan({ trace_id: world.traceId, span_id: world.spanId })
    expect((await key.post('/api/v1/spans', span)).status).toBe(202)
    expect((await org.owner.get(`/api/spans/${world.spanId}`)).body).toMatchObject({ trace: { id: trace.body.id } })
    expect((await org.owner.get('/api/traces?projectSlug=support')).body.traces).toHaveLength(1)
    expect((await org.owner.get(`/api/traces/${world.id}`)).status).toBe(404)
  })

  it('reveals nothing to another organization', async ({ expect }) => {
    const { org, world } = await newFilled()
    const stranger = await newOrg()
    await deleteElsewhere(org.project.id)
    for (const path of [`traces/${world.id}`, `spans/${world.spanId}`, `prompts/${world.prompt.id}`]) {
      expect([path, (await stranger.owner.get(`/api/${path}`)).status]).toEqual([path, 404])
    }
  })
})
