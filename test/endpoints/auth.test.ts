import { env } from 'cloudflare:workers'
import { beforeAll, describe, it } from 'vitest'
import type { Contract } from '../../src/api/contract.ts'
import { endpoints } from '../../src/app.ts'
import { SCOPES } from '../../src/domain/api-key.ts'
import { admin, client, messageOf, newOrg, type Org } from '../support/org.ts'
import { methodOf, newWorld, renew, sampleOf, successesOf, type World } from '../support/samples.ts'

const contracts = endpoints.map(({ contract }) => [`${contract.method} ${contract.path}`, contract] as const)
const withKey = contracts.filter(([, { scope }]) => scope !== 'public' && scope !== 'admin')
const withAdminToken = contracts.filter(([, { scope }]) => scope === 'admin')

let org: Org
let world: World
beforeAll(async () => {
  org = await newOrg()
  world = await newWorld(org)
})

/** Sends an endpoint's sample with the given headers. */
function sendSample(contract: Contract, headers: Record<string, string>, bindings = env, scopes?: readonly string[]) {
  const sample = sampleOf(contract)
  return client(headers, bindings)[methodOf(contract)](sample.path(world), sample.body?.(world, scopes))
}

describe.for(withKey)('%s', ([, contract]) => {
  const accepted = typeof contract.scope === 'string' ? [contract.scope] : contract.scope

  it.for([
    ['no credentials', {}],
    ['an unknown key', { 'x-api-key': 'cs_000000000000000000000000' }],
    ['an unknown bearer key', { authorization: 'Bearer cs_000000000000000000000000' }],
    ['a different scheme', { authorization: 'Basic Y3M6Y3M=' }],
    ['the ADMIN_TOKEN', { authorization: `Bearer ${env.ADMIN_TOKEN}` }],
  ] as const)('401s with %s', async ([, headers], { expect }) => {
    const response = await sendSample(contract, headers)
    expect(response.status).toBe(401)
    expect(messageOf(response)).toBe('Not authenticated')
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="countersign"')
  })

  it('401s if x-org-slug is not the key’s organization', async ({ expect }) => {
    const response = await sendSample(contract, { 'x-api-key': org.projectKey, 'x-org-slug': 'another' })
    expect(response.status).toBe(401)
  })

  const others = SCOPES.filter(scope => !accepted.includes(scope))

  it.skipIf(others.length === 0)('403s for a key without the scope', async ({ expect }) => {
    const response = await sendSample(contract, { 'x-api-key': await org.keyFor({ scopes: others }) })
    expect(response.status).toBe(403)
    expect(messageOf(response)).toBe('Forbidden')
  })

  it('succeeds with either header and with each scope that it accepts', async ({ expect }) => {
    for (const scope of accepted) {
      const key = await org.keyFor({ scopes: [scope], projectSlug: undefined, userId: org.userId })
      for (const headers of [{ 'x-api-key': key }, { authorization: `bearer ${key}` }]) {
        world = await renew(world, sampleOf(contract))
        const named = { ...headers, 'x-org-slug': org.slug, 'x-project-slug': 'support' }
        const response = await sendSample(contract, named, env, [scope])
        expect(successesOf(contract)).toContain(response.status)
        expect(response.headers.get('ratelimit-policy')).toBe('"default";q=6000;w=60')
        expect(response.headers.get('ratelimit')).toMatch(/^"default";r=\d{4};t=([1-9]|[1-5]\d|60)$/)
        const location = response.headers.get('location')
        if (response.status === 201) expect(location !== null).toBe(contract.location === 201)
        if (location) expect([200, 202]).toContain((await org.ingest.get(location)).status)
      }
    }
  })
})

describe.for(withAdminToken)('%s', ([, contract]) => {
  it.for([
    ['no token', {}],
    ['a different token', { authorization: 'Bearer wrong' }],
    ['the token as an API key', { 'x-api-key': String(env.ADMIN_TOKEN) }],
  ] as const)('401s with %s', async ([, headers], { expect }) => {
    const response = await sendSample(contract, headers)
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="countersign"')
  })

  it('401s with an API key', async ({ expect }) => {
    expect((await sendSample(contract, { authorization: `Bearer ${org.ownerKey}` })).status).toBe(401)
  })

  it('404s if the deployment has no ADMIN_TOKEN', async ({ expect }) => {
    const { ADMIN_TOKEN, ...bindings } = env
    expect((await sendSample(contract, { authorization: `Bearer ${ADMIN_TOKEN}` }, bindings)).status).toBe(404)
  })

  it('succeeds with the ADMIN_TOKEN', async ({ expect }) => {
    const response = await sendSample(contract, { authorization: `Bearer ${env.ADMIN_TOKEN}` })
    expect(successesOf(contract)).toContain(response.status)
  })
})

describe('a key', () => {
  it('is rejected as soon as it expires', async ({ expect }) => {
    const expiresAt = new Date(Date.now() + 700).toISOString()
    const key = client({ 'x-api-key': await org.keyFor({ expiresAt }) })
    expect((await key.get('/api/traces?projectSlug=support')).status).toBe(200)
    await scheduler.wait(800)
    expect((await key.get('/api/traces?projectSlug=support')).status).toBe(401)
  })

  it('gives full access to a recovered organization', async ({ expect }) => {
    const recovered = await admin().post(`/api/orgs/${org.slug}/api-keys`)
    expect(recovered.body.scopes).toEqual(SCOPES)
    const owner = client({ 'x-api-key': recovered.body.key })
    const { projects } = (await owner.get('/api/projects')).body
    expect(projects[0]).toMatchObject({ id: org.project.id, slug: 'support' })
  })
})
