import { env } from 'cloudflare:workers'
import * as v from 'valibot'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Contract } from '../../src/api/contract.ts'
import { endpoints } from '../../src/app.ts'
import type { Env } from '../../src/env.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import { AUDIT_PASS_MS, AUDIT_RETENTION_DAYS, AUDIT_SWEEP_ROWS, MAX_SCANNED_ENTRIES } from '../../src/limits.ts'
import { failingAt, rowsReadBy, wrapBindings } from '../support/bindings.ts'
import { isSharded, stored } from '../support/database.ts'
import { type ApiResponse, admin, type Client, client, newOrg, type Org, REVIEWER_EMAIL } from '../support/org.ts'
import { methodOf, newWorld, renew, sampleOf, successesOf, type World } from '../support/samples.ts'
import { ORIGIN } from '../support/session.ts'
import { kindsOfText, newText, storedText } from '../support/texts.ts'

afterEach(() => {
  vi.useRealTimers()
})

/** An entry in the log. */
interface Entry {
  id: string
  at: string
  action: string
  actor: { keyId: string | null; userId: string | null }
  projectId: string | null
  targetId: string
  beforeId: string | null
  afterId: string | null
  requestId: string
  reason: string | null
}

type Expected = Pick<Entry, 'action' | 'targetId' | 'projectId' | 'beforeId' | 'afterId'>

/** The result of a statement that wrote rows. */
const Writing = v.object({ meta: v.object({ rows_written: v.pipe(v.number(), v.minValue(1)) }) })

/** The first page of an organization's log, newest first. */
const logOf = async (owner: Client, query = ''): Promise<Entry[]> =>
  (await owner.get(`/api/audit-log?limit=200${query}`)).body.entries

/** The fields of an entry that records the creation of something in a project or the organization. */
const created = (action: string, targetId: string, projectId: string | null): Expected => ({
  action,
  targetId,
  projectId,
  beforeId: null,
  afterId: targetId,
})

/** The log entries that each write by a manager or reviewer adds. */
const expectedOf: Record<string, (world: World, response: ApiResponse) => Expected[]> = {
  'POST /api/orgs': (_, { body }) => [
    created('organization.create', body.id, null),
    created('api_key.create', body.apiKey.id, null),
  ],
  'POST /api/orgs/{slug}/api-keys': (_, { body }) => [created('api_key.create', body.id, null)],
  'POST /api/projects': (_, { body }) => [created('project.create', body.id, body.id)],
  'PATCH /api/problems/{problemId}': ({ org: { project }, problem: { id } }) => [
    { ...created('problem.change', id, project.id), afterId: null },
  ],
  'PATCH /api/projects/{projectId}': ({ org: { project } }) => [
    { ...created('project.change', project.id, project.id), afterId: null },
  ],
  'DELETE /api/projects/{projectId}': ({ spareProject: { id } }) => [
    { ...created('project.delete', id, id), beforeId: id, afterId: null },
  ],
  'PUT /api/projects/{projectId}/error-types/{errorType}': ({ org: { project } }, { body }) => [
    { ...created('error_type.change', body.id, project.id), afterId: null },
  ],
  'PUT /api/projects/{projectId}/step-names': ({ spareProject: { id } }) => [
    { ...created('step_names.change', id, id), afterId: null },
  ],
  'PUT /api/projects/{projectId}/gates/{stepId}': ({ org: { project } }, { body }) => [
    created('gate.set', body.id, project.id),
  ],
  'DELETE /api/projects/{projectId}/gates/{stepId}': ({ org: { project } }) => [
    { ...created('gate.delete', expect.any(String), project.id), beforeId: expect.any(String), afterId: null },
  ],
  'PUT /api/projects/{projectId}/guidelines/{stepId}': ({ org: { project } }, { body }) => [
    created('guideline.set', body.id, project.id),
  ],
  'PUT /api/projects/{projectId}/review-policy': ({ org: { project } }) => [
    { ...created('review_policy.set', project.id, project.id), afterId: null },
  ],
  'POST /api/experiments/{experimentId}/items/{itemId}/review': ({ experiment: { itemId }, org }) => [
    { ...created('dataset.change_item', itemId, org.project.id), afterId: null },
  ],
  'POST /api/api-keys': (_, { body }) => [created('api_key.create', body.id, null)],
  'PATCH /api/api-keys/{keyId}': ({ keyId, org }) => [
    { ...created('api_key.change', keyId, org.project.id), afterId: null },
  ],
  'DELETE /api/api-keys/{keyId}': ({ keyId, org }) => [
    { ...created('api_key.revoke', keyId, org.project.id), beforeId: keyId, afterId: null },
  ],
  'POST /api/api-keys/{keyId}/rotate': ({ keyId, org }, { body }) => [
    { ...created('api_key.rotate', keyId, org.project.id), beforeId: keyId, afterId: body.id },
  ],
  'POST /api/users': (_, { body }) => [created('user.create', body.id, null)],
  'PATCH /api/users/{userId}': ({ spareUserId }) => [{ ...created('user.change', spareUserId, null), afterId: null }],
  // The deleted user's records now have a different id.
  'DELETE /api/users/{userId}': () => [{ ...created('user.delete', expect.any(String), null), afterId: null }],
  // The decision has its own id, which is in the history.
  'PUT /api/spans/{spanId}/review': ({ spanId, org }) => [
    { ...created('review.correct', spanId, org.project.id), afterId: expect.any(String) },
  ],
  'POST /api/reviews': ({ spanId, org }) => [
    { ...created('review.accept', spanId, org.project.id), afterId: expect.any(String) },
  ],
  'POST /api/review-queue/assign': ({ spanId, spareUserId, org }) => [
    { ...created('review.assign', spanId, org.project.id), afterId: spareUserId },
  ],
  'POST /api/spans/{spanId}/feedback': ({ org }, { body }) => [created('comment.create', body.id, org.project.id)],
  'PATCH /api/feedback/{feedbackId}': ({ comment, org }) => [
    { ...created('comment.change', comment.id, org.project.id), afterId: null },
  ],
  'DELETE /api/feedback/{feedbackId}': ({ comment, org }) => [
    { ...created('comment.delete', comment.id, org.project.id), beforeId: comment.id, afterId: null },
  ],
  'DELETE /api/traces/{traceId}': ({ id, org }) => [
    { ...created('trace.delete', id, org.project.id), beforeId: id, afterId: null },
  ],
  'POST /api/traces/delete': ({ id, org }) => [
    { ...created('trace.delete', id, org.project.id), beforeId: id, afterId: null },
  ],
  'POST /api/views': ({ org }, { body }) => [created('view.save', body.id, org.project.id)],
  'DELETE /api/views/{viewId}': ({ view, org }) => [
    { ...created('view.delete', view.id, org.project.id), beforeId: view.id, afterId: null },
  ],
  'POST /api/webhooks': ({ org }, { body }) => [created('webhook.create', body.id, org.project.id)],
  'PATCH /api/webhooks/{webhookId}': ({ webhook, org }) => [
    { ...created('webhook.change', webhook.id, org.project.id), afterId: null },
  ],
  'DELETE /api/webhooks/{webhookId}': ({ webhook, org }) => [
    { ...created('webhook.delete', webhook.id, org.project.id), beforeId: webhook.id, afterId: null },
  ],
  'POST /api/webhooks/{webhookId}/rotate-secret': ({ webhook, org }) => [
    { ...created('webhook.rotate_secret', webhook.id, org.project.id), afterId: null },
  ],
  'POST /api/webhooks/{webhookId}/test': ({ webhook, org }, { body }) => [
    { ...created('webhook.test', webhook.id, org.project.id), afterId: body.id },
  ],
  'POST /api/webhooks/{webhookId}/deliveries/{deliveryId}/replay': ({ webhook, org }) => [
    { ...created('webhook.replay', webhook.id, org.project.id), afterId: webhook.deliveryId },
  ],
  'PUT /api/datasets': ({ org }, { body }) => [created('dataset.create', body.id, org.project.id)],
  'POST /api/datasets/{datasetId}/items': ({ dataset, org }) => [
    { ...created('dataset.import', dataset.id, org.project.id), afterId: null },
  ],
  'PATCH /api/datasets/{datasetId}/items/{itemId}': ({ dataset, org }) => [
    { ...created('dataset.change_item', dataset.itemId, org.project.id), afterId: null },
  ],
  'PUT /api/datasets/{datasetId}/evaluator': ({ dataset, org }) => [
    { ...created('dataset.set_evaluator', dataset.id, org.project.id), afterId: null },
  ],
  ...Object.fromEntries(
    (['prompt', 'knowledge_doc'] as const).flatMap(kind => {
      const [path, idOf] =
        kind === 'prompt'
          ? ['/api/prompts', ({ prompt }: World) => prompt]
          : ['/api/knowledge-docs', ({ doc }: World) => doc]
      const one = kind === 'prompt' ? '{promptId}' : '{docId}'
      const about = (world: World, action: string) => created(`${kind}.${action}`, idOf(world).id, world.org.project.id)
      return Object.entries<(world: World, response: ApiResponse) => Expected[]>({
        [`POST ${path}`]: ({ org }, { body }) => [created(`${kind}.create`, body.id, org.project.id)],
        [`POST ${path}/${one}/versions`]: (world, { body }) => [{ ...about(world, 'add_version'), afterId: body.id }],
        [`PUT ${path}/${one}/active-version`]: world => [
          { ...about(world, 'activate'), beforeId: idOf(world).versionId, afterId: idOf(world).draftId },
        ],
        ...(kind === 'knowledge_doc' && {
          [`PATCH ${path}/${one}`]: (world: World) => [{ ...about(world, 'change'), afterId: null }],
        }),
        [`DELETE ${path}/${one}`]: world => [{ ...about(world, 'delete'), beforeId: idOf(world).id, afterId: null }],
      })
    }),
  ),
}

const nameOf = ({ method, path }: Contract) => `${method} ${path}`
const scopesOf = ({ scope }: Contract): readonly string[] => (typeof scope === 'string' ? [scope] : scope)

/**
 * Whether the log covers a call. It covers writes by managers and reviewers, except claims and an experiment's start,
 * results, and end. The experiment itself records who did what, and when. A decision on a result changes the item,
 * which is covered. The problem in the samples already has a pending suggestion, so a request for a suggestion starts
 * nothing. `test/problems/suggestion.test.ts` covers the entries for a request that starts one. A tool call at `/mcp`
 * is logged as a call to its endpoint.
 */
const isAudited = (contract: Contract) =>
  contract.method !== 'GET' &&
  contract.family !== 'mcp' &&
  scopesOf(contract).some(scope => ['manage', 'review', 'admin'].includes(scope)) &&
  !/^\/api\/(review-queue\/(claim|heartbeat|release)|sign-in-links|problems\/.*\/suggestion$|experiments(?!.*\/review$))/.test(
    contract.path,
  )

/**
 * Whether a call signs in or out, or creates a sign-in link. Its entry names the key, and `test/auth/session.test.ts`
 * covers it.
 */
const isOfSigningIn = ({ path }: Contract) => /^\/api\/(session|session\/organizations|sign-in-links)$/.test(path)

const contracts = endpoints.map(({ contract }) => [nameOf(contract), contract] as const)

describe('the audit log', () => {
  let org: Org
  let userId: string
  let key: { id: string; key: string }
  let common: World
  beforeAll(async () => {
    org = await newOrg()
    common = await newWorld(org)
    userId = org.userId
    const scopes = ['ingest', 'read', 'review', 'manage']
    key = (await org.owner.post('/api/api-keys', { name: "Ada's", scopes, userId })).body
  })

  const callerOf = ({ scope }: Contract, bindings: Env = env) =>
    scope === 'admin'
      ? admin(bindings)
      : client({ 'x-api-key': key.key, 'x-project-slug': 'support', origin: ORIGIN }, bindings)
  const actorOf = ({ scope }: Contract) =>
    scope === 'admin' ? { keyId: null, userId: null } : { keyId: key.id, userId }

  /** Sends an endpoint's sample. Returns the response and the log entries for this call. */
  async function sent(contract: Contract, bindings?: Env) {
    const sample = sampleOf(contract)
    const world = await renew(common, sample)
    const before = await entriesInAll()
    const response = await callerOf(contract, bindings)[methodOf(contract)](sample.path(world), sample.body?.(world))
    // A newly created organization reads its own log.
    const reader = contract.path === '/api/orgs' ? client({ 'x-api-key': response.body.apiKey.key }) : org.owner
    const requestId = response.headers.get('x-request-id')
    const entries = (await logOf(reader)).filter(entry => entry.requestId === requestId)
    return { world, response, entries, added: (await entriesInAll()) - before }
  }

  it.for(contracts.filter(([, contract]) => isAudited(contract)))(
    'records who called %s, the target, and the request',
    async ([name, contract], { expect }) => {
      const { world, response, entries, added } = await sent(contract)
      expect(successesOf(contract)).toContain(response.status)
      const expected = expectedOf[name]?.(world, response)
      if (!expected) throw new Error(`test/manage/audit-log.test.ts does not specify the log entries of ${name}`)
      expect(expected.length).toBeGreaterThan(0)
      const common = { actor: actorOf(contract), requestId: response.headers.get('x-request-id'), reason: null }
      expect(byAction(entries)).toEqual(
        byAction(expected).map(each => ({ id: expect.any(String), at: expect.any(String), ...common, ...each })),
      )
      expect(added).toBe(expected.length)
      for (const { at } of entries) expect(Math.abs(Date.parse(at) - Date.now())).toBeLessThan(10_000)
    },
  )

  it.for(contracts.filter(([, contract]) => !isAudited(contract) && !isOfSigningIn(contract)))(
    'adds no entries for %s',
    async ([, contract], { expect }) => {
      const { response, added } = await sent(contract)
      expect(successesOf(contract)).toContain(response.status)
      expect(added).toBe(0)
    },
  )

  it.for(contracts.filter(([, contract]) => isAudited(contract)))(
    'adds one entry for %s, even if D1’s response to a write was lost',
    async ([name, contract], { expect }) => {
      vi.spyOn(console, 'error').mockImplementation(() => {})
      const writes = await writesOf(contract)
      expect(writes).not.toEqual([])
      for (const place of writes) {
        const bindings = wrapBindings(failingAt(place, 'D1_ERROR: Network connection lost.', 'after'))
        const { world, response, entries } = await sent(contract, bindings)
        expect(successesOf(contract)).toContain(response.status)
        expect(byAction(entries)).toMatchObject(byAction(expectedOf[name]?.(world, response) ?? []))
      }
      vi.restoreAllMocks()
    },
  )

  /** The positions, counted from 1, of the writes among a call's D1 queries. */
  async function writesOf(contract: Contract): Promise<number[]> {
    let calls = 0
    const writes: number[] = []
    await sent(
      contract,
      wrapBindings(async (binding, call) => {
        const place = binding === 'DB' ? ++calls : 0
        const results = await call()
        if (place > 0 && [results].flat().some(result => v.is(Writing, result))) writes.push(place)
        return results
      }),
    )
    return writes
  }

  it('contains no entries for calls that were rejected or changed nothing', async ({ expect }) => {
    const world = await newWorld(org)
    const otherWorld = await newWorld(await newOrg())
    const owner = org.owner
    await owner.post('/api/projects', { slug: 'taken', name: 'Taken' })
    const reader = client({ 'x-api-key': await org.keyFor({ scopes: ['ingest', 'read', 'review'] }) })
    const other = client({ 'x-api-key': await org.keyFor({ projectSlug: 'taken' }) })
    const dead = (await owner.post('/api/api-keys', { name: 'Dead', scopes: ['read'] })).body
    await owner.delete(`/api/api-keys/${dead.id}`)
    const prompt = `/api/prompts/${world.prompt.id}`
    const none = crypto.randomUUID()
    const before = await entriesInAll()
    const calls: [number, Promise<ApiResponse>][] = [
      [409, admin().post('/api/orgs', { slug: org.slug, name: 'x' })],
      [404, admin().post('/api/orgs/no-such/api-keys', {})],
      [409, owner.post('/api/projects', { slug: 'taken', name: 'x' })],
      [403, other.post('/api/projects', { slug: 'another', name: 'x' })],
      [404, owner.patch(`/api/projects/${none}`, { name: 'x' })],
      [403, owner.patch(`/api/projects/${otherWorld.org.project.id}`, { name: 'x' })],
      [200, owner.patch(`/api/projects/${org.project.id}`, {})],
      [200, owner.put(`/api/projects/${org.project.id}/error-types/system_failure`, { isEnabled: true })],
      [422, owner.put(`/api/projects/${org.project.id}/error-types/system_failure`, { name: 'x' })],
      [403, owner.put(`/api/projects/${otherWorld.org.project.id}/error-types/system_failure`, { isEnabled: false })],
      [404, owner.post('/api/api-keys', { name: 'x', scopes: ['read'], projectSlug: 'no-such' })],
      [422, owner.post('/api/api-keys', { name: 'x', scopes: ['read'], userId: none })],
      [404, owner.delete(`/api/api-keys/${none}`)],
      [404, owner.delete(`/api/api-keys/${otherWorld.keyId}`)],
      [200, owner.delete(`/api/api-keys/${dead.id}`)],
      [409, owner.post(`/api/api-keys/${dead.id}/rotate`, {})],
      [409, owner.post('/api/users', { email: REVIEWER_EMAIL, name: 'x' })],
      [400, owner.post('/api/users', { email: 'nobody', name: 'x' })],
      [404, owner.delete(`/api/traces/${none}`)],
      [404, owner.delete(`/api/traces/${otherWorld.id}`)],
      [403, other.delete(`/api/traces/${world.id}`)],
      [403, reader.delete(`/api/traces/${world.id}`)],
      [200, owner.put(`${prompt}/active-version`, { versionId: world.prompt.versionId })],
      [422, owner.put(`${prompt}/active-version`, { versionId: none })],
      [403, other.post(`${prompt}/versions`, { content: 'x' })],
      [404, owner.post(`/api/prompts/${none}/versions`, { content: 'x' })],
      [404, owner.delete(`/api/prompts/${none}`)],
      [404, owner.delete(`/api/prompts/${otherWorld.prompt.id}`)],
      [403, other.delete(prompt)],
    ]
    for (const [status, call] of calls) expect((await call).status).toBe(status)
    expect(await entriesInAll()).toBe(before)
  })

  it.for(kindsOfText)(
    'adds one entry per activation at $path, even with 20 concurrent requests',
    async (kind, { expect }) => {
      const own = await newOrg()
      const text = await newText(kind, own)
      const added = await Promise.all([1, 2, 3].map(index => text.add({ content: `Nr ${index}`, activate: false })))
      const ids = [text.created.versionId, ...added.map(({ body }) => body.id)]
      await Promise.all(Array.from({ length: 20 }, (_, index) => text.activate(ids[index % ids.length])))
      const { activations } = await storedText(text.id)
      const entries = await logOf(own.owner, `&action=${kind.kind}.activate`)
      expect(entries.map(({ afterId }) => afterId).sort()).toEqual(
        activations
          .slice(1)
          .map(({ id }) => id)
          .sort(),
      )
      expect(entries.map(({ beforeId }) => beforeId).sort()).toEqual(
        activations
          .slice(0, -1)
          .map(({ id }) => id)
          .sort(),
      )
    },
  )
})

const byAction = <Each extends { action: string }>(entries: readonly Each[]): Each[] =>
  entries.toSorted((left, right) => left.action.localeCompare(right.action))

/** The number of entries in all organizations. */
const entriesInAll = async (): Promise<number> =>
  Number((await stored.prepare('select count(*) as n from audit_log').first())?.n)

async function numberOf(organizationId: string): Promise<number> {
  const organization = await stored.prepare('select key from organizations where id = ?').bind(organizationId).first()
  const counted = await stored
    .prepare('select count(*) as n from audit_log where organization_key = ?')
    .bind(organization?.key)
    .first()
  return Number(counted?.n)
}

/** Inserts many entries, a millisecond apart, oldest first, directly into a tenant's log. */
const manyEntries = (org: Org, count: number, firstAt: number, action = 'user.create') =>
  env.DB.prepare(
    `with recursive n(i) as (select 0 union all select i + 1 from n where i + 1 < ?1)
     insert into audit_log select key, ?2 + i, lower(hex(randomblob(4))) || '-0000-4000-8000-' || printf('%012d', i),
       null, null, null, iif(i % 4000 = 0, 'trace.delete', ?3), ?4, null, null, ?4, null from n, organizations where id = ?5`,
  )
    .bind(count, firstAt, action, crypto.randomUUID(), org.id)
    .run()

describe('a list from the audit log', () => {
  it('covers all entries, newest first, without gaps or duplicates', async ({ expect }) => {
    const org = await newOrg()
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    // All entries have the same time.
    await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        org.owner.post('/api/users', { email: `user-${index}@example.com`, name: 'x' }),
      ),
    )
    vi.useRealTimers()
    const all = await logOf(org.owner)
    // The entries are for the organization with its key, the project, the project's key, and the users.
    expect(all).toHaveLength(14)
    expect(all).toEqual(all.toSorted((a, b) => (a.at === b.at ? (a.id < b.id ? 1 : -1) : a.at < b.at ? 1 : -1)))
    for (const limit of [1, 3, 13, 14]) {
      const walked: Entry[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { body }: ApiResponse = await org.owner.get(
          `/api/audit-log?limit=${limit}${cursor === '' ? '' : `&cursor=${cursor}`}`,
        )
        expect(body.entries.length).toBeLessThanOrEqual(limit)
        walked.push(...body.entries)
        cursor = body.nextCursor
        // Entries added in the meantime are newer and don't shift the list.
        if (walked.length < 3) await org.owner.patch(`/api/projects/${org.project.id}`, { name: crypto.randomUUID() })
      }
      expect(walked.filter(({ action }) => action !== 'project.change')).toEqual(all)
    }
  })

  it('can be filtered by action, actor, target, project, and time', async ({ expect }) => {
    const org = await newOrg()
    const user = (await org.owner.post('/api/users', { email: 'ada@example.com', name: 'Ada' })).body
    const key = (await org.owner.post('/api/api-keys', { name: 'x', scopes: ['manage', 'read'], userId: user.id })).body
    const ada = client({ 'x-api-key': key.key })
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 1000 })
    const project = (await ada.post('/api/projects', { slug: 'other', name: 'Other' })).body
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 1000 })
    await ada.patch(`/api/projects/${project.id}`, { name: 'Another' })
    vi.useRealTimers()
    const all = await logOf(org.owner)
    const [change, creation] = all
    if (!change || !creation) throw new Error('no entries')
    for (const [query, expected] of [
      ['action=project.change', [change]],
      [`action=project.create&projectId=${project.id}`, [creation]],
      [`keyId=${key.id}`, [change, creation]],
      [`userId=${user.id.toUpperCase()}`, [change, creation]],
      [`targetId=${project.id}`, [change, creation]],
      [`targetId=${key.id}`, all.filter(({ targetId }) => targetId === key.id)],
      [`projectId=${project.id}`, [change, creation]],
      [`from=${creation.at}`, [change, creation]],
      [`from=${creation.at}&to=${change.at}`, [creation]],
      [`to=${creation.at}`, all.slice(2)],
      [`keyId=${key.id}&action=user.create`, []],
      [`userId=${crypto.randomUUID()}`, []],
    ] as const) {
      expect(await logOf(org.owner, `&${query}`), query).toEqual(expected)
    }
    expect(all.filter(({ targetId }) => targetId === key.id)).toHaveLength(1)
  })

  it.for([
    ['an unknown action', 'action=project.paint', 'action'],
    ['an invalid key id', 'keyId=me', 'keyId'],
    ['an invalid project id', 'projectId=support', 'projectId'],
    ['an invalid time', 'from=yesterday', 'from'],
    ['an invalid filter', 'actor=me', 'actor'],
  ] as const)('400s for %s', async ([, query, path], { expect }) => {
    const org = await newOrg()
    expect(await org.owner.get(`/api/audit-log?${query}`)).toMatchObject({ status: 400, body: { details: [{ path }] } })
  })

  it("shows a project's key only the entries for its project", async ({ expect }) => {
    const [org, otherOrg] = [await newOrg(), await newOrg()]
    const other = (await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })).body
    const all = await logOf(org.owner)
    const own = all.filter(({ projectId }) => projectId === org.project.id)
    expect(own.length).toBeGreaterThan(0)
    expect(own.length).toBeLessThan(all.length)
    expect(await logOf(org.bearer())).toEqual(own)
    expect(await logOf(org.bearer(), `&projectId=${org.project.id}`)).toEqual(own)
    for (const [caller, projectId, status] of [
      [org.bearer(), other.id, 403],
      [org.owner, otherOrg.project.id, 403],
      [org.owner, crypto.randomUUID(), 404],
    ] as const) {
      expect((await caller.get(`/api/audit-log?projectId=${projectId}`)).status).toBe(status)
    }
  })

  it('rejects a cursor from another organization or project', async ({ expect }) => {
    const [org, otherOrg] = [await newOrg(), await newOrg()]
    const { nextCursor } = (await org.owner.get('/api/audit-log?limit=1')).body
    for (const caller of [otherOrg.owner, org.bearer()]) {
      const response = await caller.get(`/api/audit-log?limit=1&cursor=${nextCursor}`)
      expect(response).toMatchObject({ status: 400, body: { details: [{ path: 'cursor' }] } })
    }
  })

  it.skipIf(isSharded)(
    'reads a limited number of entries for each page, and continues on the next page',
    async ({ expect }) => {
      const org = await newOrg()
      await manyEntries(org, 2 * MAX_SCANNED_ENTRIES + 100, Date.now() - 1_000_000)
      const found: Entry[] = []
      let pages = 0
      for (let query = ''; query !== 'end'; pages++) {
        const path = `/api/audit-log?action=trace.delete&limit=200${query}`
        const { body } = await org.owner.get(path)
        found.push(...body.entries)
        const rows = await rowsReadBy(bindings => org.clientOf(org.ownerKey, bindings).get(path))
        // Each entry is read, numbered, and compared.
        expect(rows).toBeLessThan(3 * MAX_SCANNED_ENTRIES + 100)
        query = body.nextCursor === null ? 'end' : `&cursor=${body.nextCursor}`
      }
      expect(found.map(({ action }) => action)).toEqual(['trace.delete', 'trace.delete', 'trace.delete'])
      expect(pages).toBe(3)
      // Once a page is full, no more entries are read.
      const rows = await rowsReadBy(bindings => org.clientOf(org.ownerKey, bindings).get('/api/audit-log?limit=10'))
      expect(rows).toBeLessThan(100)
    },
  )
})

describe('old entries in the audit log', () => {
  const DAY_MS = 24 * 3_600_000
  /** Runs cron often enough for a pass over all organizations. */
  const sweepAll = async (now: number, bindings: Env = env) => {
    await stored.prepare("delete from sweeps where name = 'audit'").run()
    for (let run = 0; run < 5; run++) await sweep(bindings, now)
  }

  it('are deleted only if they are older than a year', async ({ expect }) => {
    const [org, other] = [await newOrg(), await newOrg()]
    const now = Date.now()
    const old = now - AUDIT_RETENTION_DAYS * DAY_MS
    const count = AUDIT_SWEEP_ROWS + 500
    await manyEntries(org, count, old - count)
    await manyEntries(org, 100, old)
    const [before, others] = [await numberOf(org.id), await numberOf(other.id)]
    await sweepAll(now - DAY_MS)
    expect(await numberOf(org.id)).toBe(before)
    await sweepAll(now)
    expect(await numberOf(org.id)).toBe(before - count)
    expect(await numberOf(other.id)).toBe(others)
    await sweepAll(now + 2 * DAY_MS)
    expect(await numberOf(org.id)).toBe(before - count - 100)
  })

  it.for([
    ['30', 30],
    ['1000', 1000],
    ['', AUDIT_RETENTION_DAYS],
    ['0', AUDIT_RETENTION_DAYS],
    ['-1', AUDIT_RETENTION_DAYS],
    ['0.001', AUDIT_RETENTION_DAYS],
    ['a year', AUDIT_RETENTION_DAYS],
    ['1e999', AUDIT_RETENTION_DAYS],
  ] as const)(
    'with AUDIT_RETENTION_DAYS set to %o are deleted after %i days',
    async ([configured, days], { expect }) => {
      const org = await newOrg()
      const now = Date.now()
      await manyEntries(org, 1, now - days * DAY_MS - 1)
      await manyEntries(org, 1, now - days * DAY_MS + 1)
      const before = await numberOf(org.id)
      await sweepAll(now, { ...env, AUDIT_RETENTION_DAYS: configured })
      expect(await numberOf(org.id)).toBe(before - 1)
    },
  )

  it('are deleted once a day', async ({ expect }) => {
    const org = await newOrg()
    const now = Date.now()
    await sweepAll(now)
    await manyEntries(org, 1, now - 2 * AUDIT_RETENTION_DAYS * DAY_MS)
    const before = await numberOf(org.id)
    await sweep(env, now + AUDIT_PASS_MS - 1)
    expect(await numberOf(org.id)).toBe(before)
    await sweep(env, now + AUDIT_PASS_MS)
    expect(await numberOf(org.id)).toBe(before - 1)
  })
})
