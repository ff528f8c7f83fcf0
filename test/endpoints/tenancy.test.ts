import { beforeAll, describe, it } from 'vitest'
import type { Contract } from '../../src/api/contract.ts'
import { endpoints } from '../../src/app.ts'
import { sha256Hex } from '../../src/domain/hash.ts'
import { client, newOrg, type Org } from '../support/org.ts'
import { methodOf, newWorld, sampleOf, type World } from '../support/samples.ts'

const contracts = endpoints
  .map(({ contract }) => [`${contract.method} ${contract.path}`, contract] as const)
  .filter(([, { scope }]) => scope !== 'public' && scope !== 'admin')

/** The contract's response to a foreign id. */
const expectedStatus = ({ method, path }: Contract) => (path.startsWith('/api/v1/') || method === 'DELETE' ? 404 : 403)

let mine: World
let theirs: World
let stranger: Org
beforeAll(async () => {
  mine = await newWorld(await newOrg())
  stranger = await newOrg()
  theirs = await newWorld(stranger)
})

const everythingIn = async ({ org, id }: World) => ({
  list: (await org.read.get('/api/traces?projectSlug=support')).body,
  detail: (await org.read.get(`/api/traces/${id}`)).body,
  keys: (await org.owner.get('/api/api-keys')).body,
  projects: (await org.owner.get('/api/projects')).body,
})

describe.for(contracts)('%s', ([, contract]) => {
  const sample = sampleOf(contract)
  const method = methodOf(contract)

  it('has a sample that declares whether it uses a tenant’s ids', ({ expect }) => {
    const body = JSON.stringify(sample.body?.(mine) ?? {})
    const takesIds = contract.path.includes('{') || [mine.traceId, mine.dataset.id].some(id => body.includes(id))
    expect(sample.namesTenants).toBe(takesIds || sample.path(mine).includes(mine.org.project.id))
  })

  it("neither shows nor changes another organization's data", async ({ expect }) => {
    const before = await everythingIn(mine)
    for (const key of [stranger.ownerKey, stranger.projectKey]) {
      const headers = { 'x-api-key': key, 'x-project-slug': 'support' }
      const response = await client(headers)[method](sample.path(mine), sample.body?.(mine))
      if (sample.namesTenants) expect(response.status).toBe(expectedStatus(contract))
      const shown = JSON.stringify(response.body)
      for (const secret of [mine.org.project.id, mine.org.id, mine.id]) expect(shown).not.toContain(secret)
    }
    expect(await everythingIn(mine)).toEqual(before)
  })
})

describe.for(contracts.filter(([, contract]) => sampleOf(contract).namesTenants))('%s', ([, contract]) => {
  const sample = sampleOf(contract)

  it('rejects a key that belongs to another project', async ({ expect }) => {
    const slug = `other-${crypto.randomUUID()}`
    await mine.org.owner.post('/api/projects', { slug, name: 'Other' })
    const key = client({ 'x-api-key': await mine.org.keyFor({ projectSlug: slug }) })
    const response = await key[methodOf(contract)](sample.path(mine), sample.body?.(mine))
    // A trace_id is unique only in its project, so ingestion doesn't find another project's trace.
    expect(response.status).toBe(contract.path.startsWith('/api/v1/') ? 404 : 403)
    expect((await mine.org.read.get(`/api/traces/${mine.id}`)).status).toBe(200)
  })
})

describe('two organizations with the same ids', () => {
  it('never affect each other', async ({ expect }) => {
    const body = { trace_id: 'trace_shared', name: 'shared', timestamp: '2026-11-20T10:00:00.000Z', status: 'running' }
    const ids = []
    for (const { org } of [mine, theirs]) {
      const created = await org.ingest.post('/api/v1/traces', { ...body, metadata: { owner: org.slug } })
      ids.push(created.body.id)
      await org.ingest.post('/api/v1/feedback', { trace_id: 'trace_shared', feedback_id: 'one', comment: org.slug })
    }
    expect(new Set(ids).size).toBe(2)
    for (const [index, { org }] of [mine, theirs].entries()) {
      const read = await org.read.get(`/api/traces/${ids[index]}`)
      expect(read.body.metadata).toEqual({ owner: org.slug })
      expect(read.body.feedback).toMatchObject([{ content: org.slug }])
      const found = await org.ingest.get('/api/v1/traces/search?name=shared')
      expect(found.body.count).toBe(1)
    }
  })

  it('reject a forged cursor with values of the wrong type', async ({ expect }) => {
    const list = JSON.stringify(['traces', mine.org.id, mine.org.project.id])
    for (const place of ['[]', '["a","b"]', '[1e999,"a"]', '[1,"a",2]']) {
      const tag = (await sha256Hex(JSON.stringify([...JSON.parse(list), place]))).slice(0, 16)
      const response = await mine.org.read.get(`/api/traces?projectSlug=support&cursor=${btoa(tag + place)}`)
      expect(response.status).toBe(400)
    }
  })

  it('reject a cursor from another organization', async ({ expect }) => {
    await mine.org.ingest.post('/api/v1/traces', {
      trace_id: 'trace_c1',
      name: 'c',
      timestamp: '2026-11-20T10:00:00.000Z',
      status: 'running',
    })
    const page = await mine.org.read.get('/api/traces?projectSlug=support&limit=1')
    const response = await theirs.org.read.get(`/api/traces?projectSlug=support&cursor=${page.body.nextCursor}`)
    expect(response.status).toBe(400)
    expect(response.body.details).toEqual([{ path: 'cursor', message: 'is not a cursor for this list' }])
  })
})
