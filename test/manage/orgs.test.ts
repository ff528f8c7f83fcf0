import { describe, it } from 'vitest'
import { SCOPES } from '../../src/domain/api-key.ts'
import { admin, client, newOrg } from '../support/org.ts'

describe('an organization', () => {
  it('is created with a key that has all scopes and is shown once', async ({ expect }) => {
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
    const response = await admin().post('/api/orgs', { slug: org.slug, name: 'Again' })
    expect(response.status).toBe(409)
    expect(response.body.details[0].path).toBe('slug')
  })

  it('that does not exist gets a 404 for a new key', async ({ expect }) => {
    expect((await admin().post('/api/orgs/nope/api-keys')).status).toBe(404)
  })

  it.for(['', '-a', 'A', 'a_b', 'a b', 'ä', 'x'.repeat(64)])('400s for the slug %o', async (slug, { expect }) => {
    const response = await admin().post('/api/orgs', { slug, name: 'Acme' })
    expect(response.status).toBe(400)
    expect(response.body.details[0].path).toBe('slug')
  })
})
