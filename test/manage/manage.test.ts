import { describe, it } from 'vitest'
import { SCOPES } from '../../src/auth/keys.ts'
import { admin, client, newOrg } from '../support/org.ts'

describe('an organization', () => {
  it('comes with a key that has all scopes, shown once', async ({ expect }) => {
    const slug = `org-${crypto.randomUUID()}`
    const { status, body } = await admin().post('/api/orgs', { slug, name: 'Acme' })
    expect(status).toBe(201)
    expect(body).toMatchObject({ slug, name: 'Acme', apiKey: { scopes: SCOPES, projectId: null, userId: null } })
    expect(body.apiKey.key).toMatch(/^cs_[0-9A-Za-z]{24}$/)
    const owner = client({ 'x-api-key': body.apiKey.key })
    const { apiKeys } = (await owner.get('/api/api-keys')).body
    const { key, ...shown } = body.apiKey
    expect(apiKeys).toEqual([shown])
    expect(shown.prefix).toBe(key.slice(0, 8))
  })

  it('409s for a slug that is taken', async ({ expect }) => {
    const org = await newOrg()
    const answer = await admin().post('/api/orgs', { slug: org.slug, name: 'Again' })
    expect(answer.status).toBe(409)
    expect(answer.body.details[0].path).toBe('slug')
  })

  it('404s for the key of one that is not there', async ({ expect }) => {
    expect((await admin().post('/api/orgs/nope/api-keys')).status).toBe(404)
  })

  it.for(['', '-a', 'A', 'a_b', 'a b', 'ä', 'x'.repeat(64)])('400s for the slug %o', async (slug, { expect }) => {
    const answer = await admin().post('/api/orgs', { slug, name: 'Acme' })
    expect(answer.status).toBe(400)
    expect(answer.body.details[0].path).toBe('slug')
  })
})

describe('a project', () => {
  it('has a slug of its own in its organization', async ({ expect }) => {
    const org = await newOrg()
    const again = await org.owner.post('/api/projects', { slug: 'support', name: 'Again' })
    expect(again).toMatchObject({ status: 409, body: { details: [{ path: 'slug' }] } })
    expect((await (await newOrg()).owner.post('/api/projects', { slug: 'x', name: 'X' })).status).toBe(201)
  })

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
    expect((await org.ingest.get('/api/projects')).body.projects).toEqual([org.project])
    const { apiKeys } = (await org.ingest.get('/api/api-keys')).body
    expect(apiKeys.map(({ projectId }: { projectId: string }) => projectId)).toEqual([org.project.id])
  })
})

describe('an API key', () => {
  it('shows what it was made with, and its secret once', async ({ expect }) => {
    const org = await newOrg()
    const expiresAt = new Date(Date.now() + 60_000).toISOString()
    const fields = {
      name: 'CI',
      scopes: ['read', 'ingest', 'read'],
      projectSlug: 'support',
      expiresAt,
      rateLimitPerMinute: 7,
    }
    const { status, body } = await org.owner.post('/api/api-keys', fields)
    expect(status).toBe(201)
    const { key, ...shown } = body
    expect(shown).toMatchObject({
      name: 'CI',
      scopes: ['ingest', 'read'],
      projectId: org.project.id,
      expiresAt,
      revokedAt: null,
      rateLimitPerMinute: 7,
    })
    const list = await org.owner.get('/api/api-keys')
    expect(list.body.apiKeys).toContainEqual(shown)
    expect(JSON.stringify(list.body)).not.toContain(key)
  })

  it.for([
    ['no name', { name: undefined }, 'name'],
    ['no scope', { scopes: [] }, 'scopes'],
    ['an unknown scope', { scopes: ['read', 'admin'] }, 'scopes.1'],
    ['an expiry in the past', { expiresAt: '2020-01-01T00:00:00.000Z' }, 'expiresAt'],
    ['a limit of 0', { rateLimitPerMinute: 0 }, 'rateLimitPerMinute'],
    ['a limit past all measure', { rateLimitPerMinute: 1_000_001 }, 'rateLimitPerMinute'],
    ['a typo', { projectslug: 'support' }, 'projectslug'],
  ] as const)('400s for %s', async ([, fields, path], { expect }) => {
    const org = await newOrg()
    const answer = await org.owner.post('/api/api-keys', { name: 'x', scopes: ['read'], ...fields })
    expect(answer.status).toBe(400)
    expect(answer.body.details[0].path).toBe(path)
  })

  it('404s for a project and 422s for a user that the organization does not have', async ({ expect }) => {
    const org = await newOrg()
    const draft = { name: 'x', scopes: ['read'] }
    expect((await org.owner.post('/api/api-keys', { ...draft, projectSlug: 'nope' })).status).toBe(404)
    const answer = await org.owner.post('/api/api-keys', { ...draft, userId: crypto.randomUUID() })
    expect(answer).toMatchObject({ status: 422, body: { details: [{ path: 'userId' }] } })
  })

  it('gives no scope and no project that the calling key lacks', async ({ expect }) => {
    const org = await newOrg()
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const narrow = client({ 'x-api-key': await org.keyFor({ scopes: ['manage', 'read'] }) })
    const draft = { name: 'x', scopes: ['read'], projectSlug: 'support' }
    expect((await narrow.post('/api/api-keys', draft)).status).toBe(201)
    expect((await narrow.post('/api/api-keys', { ...draft, scopes: ['ingest'] })).status).toBe(403)
    expect((await narrow.post('/api/api-keys', { ...draft, projectSlug: 'other' })).status).toBe(403)
    expect((await narrow.post('/api/api-keys', { ...draft, projectSlug: undefined })).status).toBe(403)
  })
})
