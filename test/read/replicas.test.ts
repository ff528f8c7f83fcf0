import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { hasCaller, isIngestion, mayReadReplicas } from '../../src/api/contract.ts'
import { answer, endpoints } from '../../src/app.ts'
import { MAX_BOOKMARK_LENGTH } from '../../src/limits.ts'
import { countingBindings } from '../support/bindings.ts'
import { aFeedback, aTrace } from '../support/builders.ts'
import { client, newOrg, type Org } from '../support/org.ts'
import { callsOf, replicate, setLag, stopReplicating } from '../support/replicas.ts'
import { newWorld, sampleOf, type World } from '../support/samples.ts'
import { newTrace } from '../support/trace.ts'

const BOOKMARK = 'x-d1-bookmark'

/** How many times `, DB=1` fits into a bookmark after the first `DB=1`. */
const LONGEST = (MAX_BOOKMARK_LENGTH - 4) / 6

beforeAll(() => replicate(50))
afterAll(stopReplicating)

/** A request by a client that keeps no bookmarks. */
async function ask(path: string, headers: Record<string, string>, method = 'GET', body?: object) {
  const context = createExecutionContext()
  const request = new Request(`https://countersign.test${path}`, {
    method,
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  const response = await answer(request, env, context)
  const text = await response.text()
  await waitOnExecutionContext(context)
  return {
    status: response.status,
    headers: response.headers,
    body: text.startsWith('{') && !text.includes('\n') ? JSON.parse(text) : undefined,
  }
}

const keyOf = (org: Org) => ({ 'x-api-key': org.ownerKey })

/** A client of the same deployment without replicas, so that its reads are always current. */
const current = ({ ownerKey }: Org) => client({ 'x-api-key': ownerKey }, { ...env, READ_REPLICATION: '' })

/** The ids of an organization's traces, as a client without a bookmark sees them. */
const tracesOf = async (org: Org, headers: Record<string, string> = {}): Promise<string[]> =>
  (await ask('/api/traces?projectSlug=support', { ...keyOf(org), ...headers })).body.traces.map(
    ({ id }: { id: string }) => id,
  )

const reads = endpoints.map(({ contract }) => contract).filter(({ method }) => method === 'GET')

describe.for([0, 1, 50])('a replica that is %i transactions behind', lag => {
  let world: World
  beforeAll(async () => {
    setLag(lag)
    world = await newWorld(await newOrg())
  })

  it.for(reads.filter(mayReadReplicas).map(contract => [contract.path, contract] as const))(
    'never hides from a client with bookmarks what that client has written: %s',
    async ([, contract], { expect }) => {
      const path = sampleOf(contract).path(world)
      // Read once in advance, because the first read may create records.
      await current(world.org).get(path)
      const write = () => world.org.ingest.post('/api/v1/feedback', aFeedback({ trace_id: world.traceId }))
      const written = await write()
      const { status, headers, body } = await world.org.owner.get(path)
      const primary = await current(world.org).get(path)
      expect([status, body]).toEqual([primary.status, primary.body])
      const [sent, received] = [written.headers.get(BOOKMARK), headers.get(BOOKMARK)]
      expect(received && sent && received >= sent).toBe(true)
    },
  )
})

describe('without a bookmark', () => {
  it('a read may lag, even behind deletions, but not behind a change whose bookmark it sends', async ({ expect }) => {
    setLag(0)
    const { org, id } = await newTrace()
    expect(await tracesOf(org)).toEqual([id])
    setLag(50)
    const { body, headers } = await ask(
      '/api/v1/traces',
      { ...keyOf(org), 'x-project-slug': 'support' },
      'POST',
      aTrace(),
    )
    expect(await tracesOf(org)).toEqual([id])
    const deleted = await ask(`/api/traces/${id}`, keyOf(org), 'DELETE')
    expect(await tracesOf(org)).toEqual([id])
    expect((await ask(`/api/traces/${id}`, keyOf(org))).status).toBe(200)
    const afterCreation = { [BOOKMARK]: headers.get(BOOKMARK) ?? '' }
    expect(await tracesOf(org, afterCreation)).toContain(body.id)
    const afterDeletion = { [BOOKMARK]: deleted.headers.get(BOOKMARK) ?? '' }
    expect(await tracesOf(org, afterDeletion)).toEqual([body.id])
    expect((await ask(`/api/traces/${id}`, { ...keyOf(org), ...afterDeletion })).status).toBe(404)
  })

  it("the primary is checked before a 404, and before a 403 for another organization's record", async ({ expect }) => {
    setLag(50)
    const { org, id } = await newTrace()
    const other = await newOrg()
    expect((await ask(`/api/traces/${id}`, keyOf(org))).status).toBe(200)
    expect((await ask('/api/traces?projectSlug=support', keyOf(other))).status).toBe(200)
    expect((await ask(`/api/traces/${id}`, keyOf(other))).status).toBe(403)
    const absent = await callsOf(async () =>
      expect((await ask(`/api/traces/${crypto.randomUUID()}`, keyOf(org))).status).toBe(404),
    )
    expect(absent.atPrimary).toBeGreaterThan(0)
  })

  it.for(
    reads
      .filter(contract => hasCaller(contract) && !isIngestion(contract) && !mayReadReplicas(contract))
      .map(contract => [contract.path, contract] as const),
  )('the primary answers %s', async ([, contract], { expect }) => {
    setLag(50)
    const world = await newWorld(await newOrg())
    const calls = await callsOf(() => ask(sampleOf(contract).path(world), keyOf(world.org)))
    expect(calls.atReplica).toBe(0)
  })

  it('the primary answers what people act on: the queue, sessions, keys, and gates', ({ expect }) => {
    expect(new Set(reads.filter(({ reads }) => reads === 'primary').map(({ path }) => path))).toEqual(
      new Set([
        '/api/review-queue',
        '/api/review-queue/progress',
        '/api/session',
        '/api/api-keys',
        '/api/projects/{projectId}/gates/{stepId}',
        // The next two show a gate.
        '/api/prompts/{promptId}',
        '/api/experiments/{experimentId}',
        // Exported files must leave out whatever is deleted while they're written.
        '/api/traces/export',
        '/api/spans/export',
        '/api/datasets/{datasetId}/export',
      ]),
    )
  })

  it('the primary answers an agent, which cannot keep a bookmark', async ({ expect }) => {
    setLag(50)
    const { org, id } = await newTrace()
    const call = { name: 'search_traces', arguments: { project: 'support' } }
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }
    const { body, headers } = await ask('/mcp', keyOf(org), 'POST', message)
    expect(JSON.stringify(body)).toContain(id)
    expect(headers.get(BOOKMARK)).toMatch(/^DB=/)
  })

  it('an ETag matches only the version that was read', async ({ expect }) => {
    setLag(0)
    const { org } = await newTrace()
    const path = '/api/error-types?projectSlug=support'
    await ask(path, keyOf(org))
    setLag(50)
    const change = `/api/projects/${org.project.id}/error-types/system_failure`
    const changed = await ask(change, keyOf(org), 'PUT', { isEnabled: false })
    expect(changed.status).toBe(200)
    const newest = await current(org).get(path)
    const etag = newest.headers.get('etag') ?? ''
    const lagging = await ask(path, { ...keyOf(org), 'if-none-match': etag })
    expect([lagging.status, lagging.headers.get('etag') === etag]).toEqual([200, false])
    const bookmark = changed.headers.get(BOOKMARK) ?? ''
    expect((await ask(path, { ...keyOf(org), 'if-none-match': etag, [BOOKMARK]: bookmark })).status).toBe(304)
  })
})

describe('the bookmark', () => {
  it.for([
    ['nothing', '', 400],
    ['no point', 'DB', 400],
    ['an empty point', 'DB=', 400],
    ['no database', '=1', 400],
    ['a space', 'DB=1 2', 400],
    ['a quote', "DB=1'", 400],
    ['a semicolon', 'DB=1;DB=2', 400],
    ['a comma at the end', 'DB=1,', 400],
    ['a point that is too long', `DB=${'1'.repeat(129)}`, 400],
    ['a value that is too long', `DB=12${', DB=1'.repeat(LONGEST)}`, 400],
    ['the longest value', `DB=1${', DB=1'.repeat(LONGEST)}`, 200],
    ['one point', 'DB=0000000001', 200],
    ['two points in one database', 'DB=0000000001, DB=0000000002', 200],
    ['points in two databases', 'DB=0000000001,DB_1=0000000002', 200],
    ['a point that the database never reaches', 'DB=9999999999', 200],
    ['a point that is unknown to the database', 'DB=unknown', 200],
  ] as const)('is checked: %s', async ([, value, status], { expect }) => {
    setLag(50)
    const { org, id } = await newTrace()
    const response = await ask('/api/traces?projectSlug=support', { ...keyOf(org), [BOOKMARK]: value })
    expect(response.status).toBe(status)
    if (status === 400) expect(response.body.details).toMatchObject([{ path: BOOKMARK }])
    else if (/9999|unknown/.test(value)) expect(response.body.traces).toMatchObject([{ id }])
  })

  it('may be several joined bookmarks, and the response returns the newest point in each database', async ({
    expect,
  }) => {
    setLag(50)
    const org = await newOrg()
    const headers = { ...keyOf(org), 'x-project-slug': 'support' }
    const created = await Promise.all([1, 2, 3].map(() => ask('/api/v1/traces', headers, 'POST', aTrace())))
    const joined = created.map(response => response.headers.get(BOOKMARK)).join(', ')
    expect(await tracesOf(org, { [BOOKMARK]: joined })).toHaveLength(3)
    const { headers: answered } = await ask('/api/projects', { ...keyOf(org), [BOOKMARK]: `${joined}, DB_7=5` })
    expect(answered.get(BOOKMARK)).toMatch(/^DB=\d+, DB_7=5$/)
  })

  it('may be read and sent by pages on other origins', async ({ expect }) => {
    const { headers } = await ask('/api/projects', keyOf(await newOrg()))
    expect(headers.get('access-control-expose-headers')).toContain(BOOKMARK)
    const preflight = await ask('/api/projects', {}, 'OPTIONS')
    expect(preflight.headers.get('access-control-allow-headers')).toContain(BOOKMARK)
  })

  it('is absent and ignored on a deployment without replicas', async ({ expect }) => {
    const { org } = await newTrace()
    const { status, headers } = await current(org).get('/api/traces?projectSlug=support', undefined, {
      [BOOKMARK]: 'none',
    })
    expect([status, headers.get(BOOKMARK)]).toEqual([200, null])
  })
})

it('replicas take no extra round trips', async ({ expect }) => {
  setLag(0)
  const world = await newWorld(await newOrg())
  const costs = async (replication: string) => {
    const costs: Record<string, number> = {}
    for (const contract of reads.filter(mayReadReplicas)) {
      const { bindings, counts } = countingBindings()
      const path = sampleOf(contract).path(world)
      await client({ 'x-api-key': world.org.ownerKey }, { ...bindings, READ_REPLICATION: replication }).get(path)
      costs[contract.path] = counts.d1RoundTrips
    }
    return costs
  }
  await costs('')
  expect(await costs('on')).toEqual(await costs(''))
})
