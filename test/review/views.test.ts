import { describe, it } from 'vitest'
import { MAX_NAME_LENGTH, MAX_OWN_VIEWS, MAX_SHARED_VIEWS, MAX_VIEW_QUERY_LENGTH } from '../../src/limits.ts'
import { stored } from '../support/database.ts'
import { type Client, newOrg, type Org } from '../support/org.ts'
import { reviewerOf } from '../support/reviews.ts'

const aView = (fields: object = {}) => ({
  projectSlug: 'support',
  name: 'Corrected',
  page: 'traces',
  query: 'review=corrected',
  ...fields,
})

const save = (by: Client, fields: object = {}) => by.post('/api/views', aView(fields))

const namesFor = async (by: Client, query = ''): Promise<string[]> =>
  (await by.get(`/api/views?projectSlug=support&limit=200${query}`)).body.views.map(
    ({ name }: { name: string }) => name,
  )

/** Creates a tenant with two reviewers, and a client for each of them. */
async function twoReviewers() {
  const org = await newOrg()
  const [ada, kofi] = [await reviewerOf(org, 'ada@example.com'), await reviewerOf(org, 'kofi@example.com')]
  const clientFor = async (userId: string) => org.clientOf(await org.keyFor({ userId, scopes: ['read', 'review'] }))
  return { org, ada: await clientFor(ada.userId), kofi: await clientFor(kofi.userId), adaId: ada.userId }
}

/** Adds views directly to the database. */
const addViews = (org: Org, count: number, ownerId: string, isShared: boolean) =>
  stored
    .prepare(
      `insert into saved_views (project_key, owner_id, page, name, id, query, is_shared, updated_at)
     select projects.key, ?, 'traces', 'View ' || item.key, item.value, '', ?, 0
     from json_each(?) as item, projects where projects.id = ?`,
    )
    .bind(
      ownerId,
      Number(isShared),
      JSON.stringify(Array.from({ length: count }, () => crypto.randomUUID())),
      org.project.id,
    )
    .run()

describe('a saved view', () => {
  it('is listed for its owner, sorted by name, and for nobody else unless it is shared', async ({ expect }) => {
    const { ada, kofi, adaId, org } = await twoReviewers()
    const saved = await save(ada, { name: 'Mine' })
    expect(saved).toMatchObject({ status: 201, body: { name: 'Mine', shared: false, ownerId: adaId } })
    const shared = (await save(ada, { name: 'Everybody’s', shared: true })).body
    await save(kofi, { name: 'Kofi’s' })
    expect((await ada.get('/api/views?projectSlug=support')).body).toEqual({
      views: [shared, saved.body],
      nextCursor: null,
    })
    expect(await namesFor(kofi)).toEqual(['Everybody’s', 'Kofi’s'])
    // This key has no user, so it has its own views.
    expect(await namesFor(org.owner)).toEqual(['Everybody’s'])
    const own = (await save(org.owner, { name: 'Own' })).body
    const { apiKeys } = (await org.owner.get('/api/api-keys')).body
    expect(apiKeys.map(({ id }: { id: string }) => id)).toContain(own.ownerId)
  })

  it('shows the current names of steps', async ({ expect }) => {
    const { owner, project } = await newOrg()
    const query = '?review=corrected&stepId=draft%20answer&engineStepId=plan&name=plan&x=%zz'
    await save(owner, { query })
    const names = { 'draft answer': 'answer & cite', plan: 'outline' }
    await owner.put(`/api/projects/${project.id}/step-names`, { names })
    const queries = async () =>
      (await owner.get('/api/views?projectSlug=support')).body.views.map((view: { query: string }) => view.query)
    expect(await queries()).toEqual(['?review=corrected&stepId=answer+%26+cite&engineStepId=outline&name=plan&x=%zz'])
    await owner.put(`/api/projects/${project.id}/step-names`, { names: {} })
    expect(await queries()).toEqual([query])
  })

  it('moves to the new key when its key is rotated, in every project', async ({ expect }) => {
    const org = await newOrg()
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const created = (await org.owner.post('/api/api-keys', { name: 'a', scopes: ['read', 'review'] })).body
    const old = org.clientOf(created.key)
    const saved = (await save(old, { name: 'Mine' })).body
    const shared = (await save(old, { name: 'Ours', projectSlug: 'other', shared: true })).body
    const rotated = (await org.owner.post(`/api/api-keys/${created.id}/rotate`, { graceSeconds: 60 })).body
    const renewed = org.clientOf(rotated.key)
    expect((await renewed.get('/api/views?projectSlug=support')).body.views).toEqual([
      { ...saved, ownerId: rotated.id },
    ])
    expect((await renewed.delete(`/api/views/${shared.id}`)).status).toBe(200)
    // Simulates the loss of the new key's secret: the new key is revoked, and the old key is rotated again.
    await save(old, { name: 'Mine' })
    await org.owner.delete(`/api/api-keys/${rotated.id}`)
    const again = (await org.owner.post(`/api/api-keys/${created.id}/rotate`)).body
    expect(await namesFor(org.clientOf(again.key))).toEqual(['Mine'])
  })

  it('belongs to one page and one project', async ({ expect }) => {
    const org = await newOrg()
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    await save(org.owner, { page: 'spans', query: 'decision=correct' })
    await save(org.owner, { page: 'review', query: '' })
    await save(org.owner, { projectSlug: 'other' })
    expect(await namesFor(org.owner)).toEqual(['Corrected', 'Corrected'])
    expect((await org.owner.get('/api/views?projectSlug=support&page=spans')).body.views).toMatchObject([
      { page: 'spans', query: 'decision=correct' },
    ])
    expect((await org.owner.get('/api/views?projectSlug=other')).body.views).toMatchObject([{ page: 'traces' }])
    const other = org.clientOf(await org.keyFor({ projectSlug: 'other' }))
    expect((await other.get('/api/views?projectSlug=support')).status).toBe(403)
    expect((await save(other)).status).toBe(403)
  })

  it('replaces the owner’s view with the same name, and keeps that view’s id', async ({ expect }) => {
    const { ada, kofi } = await twoReviewers()
    const first = (await save(ada, { shared: true })).body
    const other = (await save(kofi, { shared: true, query: 'status=running' })).body
    const again = await save(ada, { shared: true })
    expect(again).toMatchObject({ status: 200, body: first })
    const changed = await save(ada, { query: 'review=accepted' })
    expect(changed).toMatchObject({ status: 200, body: { id: first.id, query: 'review=accepted', shared: false } })
    expect((await kofi.get('/api/views?projectSlug=support')).body.views).toEqual([other])
  })

  it('is created only once by concurrent calls', async ({ expect }) => {
    const org = await newOrg()
    const saved = await Promise.all(Array.from({ length: 8 }, () => save(org.owner)))
    expect(saved.map(({ status }) => status).toSorted()).toEqual([...Array(7).fill(200), 201])
    expect(new Set(saved.map(({ body }) => body.id)).size).toBe(1)
  })

  it('can be deleted by its owner, or by a manager if it is shared', async ({ expect }) => {
    const { ada, kofi, org } = await twoReviewers()
    const own = (await save(ada, { name: 'Mine' })).body
    const shared = (await save(ada, { name: 'Ours', shared: true })).body
    for (const by of [kofi, org.owner]) expect((await by.delete(`/api/views/${own.id}`)).status).toBe(404)
    expect(await kofi.delete(`/api/views/${shared.id}`)).toMatchObject({
      status: 403,
      body: { details: [{ path: '', message: 'Only its owner or a manager can delete a shared view' }] },
    })
    expect(await namesFor(ada)).toEqual(['Mine', 'Ours'])
    expect(await org.owner.delete(`/api/views/${shared.id}`)).toMatchObject({ status: 200, body: { id: shared.id } })
    expect((await ada.delete(`/api/views/${own.id}`)).status).toBe(200)
    expect((await ada.delete(`/api/views/${own.id}`)).status).toBe(404)
    expect(await namesFor(ada)).toEqual([])
  })

  it('is in the audit log only if others can see it', async ({ expect }) => {
    const org = await newOrg()
    const own = (await save(org.owner, { name: 'Mine' })).body
    await save(org.owner, { name: 'Mine', query: '' })
    await org.owner.delete(`/api/views/${own.id}`)
    const shared = (await save(org.owner, { shared: true })).body
    await save(org.owner, { shared: true })
    // This call stops sharing the view, which others could see until then.
    await save(org.owner)
    await save(org.owner, { shared: true })
    await org.owner.delete(`/api/views/${shared.id}`)
    const { entries } = (await org.owner.get('/api/audit-log')).body
    const ofViews = entries.filter(({ action }: { action: string }) => action.startsWith('view.'))
    expect(ofViews.map(({ action, targetId }: { action: string; targetId: string }) => [action, targetId])).toEqual([
      ['view.delete', shared.id],
      ['view.save', shared.id],
      ['view.save', shared.id],
      ['view.save', shared.id],
    ])
  })

  it('is listed in pages, sorted by name, and a cursor is valid only for the caller who received it', async ({
    expect,
  }) => {
    const { ada, kofi } = await twoReviewers()
    const names = ['a', 'b', 'B', 'ä', '😀', 'c']
    for (const name of names) await save(ada, { name, shared: name > 'b' })
    await save(kofi, { name: 'b', shared: true })
    const walked: string[] = []
    let cursor: string | null = null
    do {
      const page: string = cursor === null ? '' : `&cursor=${cursor}`
      const { body } = await ada.get(`/api/views?projectSlug=support&limit=2${page}`)
      walked.push(...body.views.map(({ name }: { name: string }) => name))
      cursor = body.nextCursor
      if (cursor) expect((await kofi.get(`/api/views?projectSlug=support&cursor=${cursor}`)).status).toBe(400)
    } while (cursor !== null)
    expect(walked).toEqual(['B', 'a', 'b', 'b', 'c', 'ä', '😀'])
  })

  it.for([
    ['a name that is too long', { name: 'x'.repeat(MAX_NAME_LENGTH + 1) }, 'name'],
    ['an empty name', { name: '' }, 'name'],
    ['an unknown page', { page: 'settings' }, 'page'],
    ['a query that is too long', { query: 'x'.repeat(MAX_VIEW_QUERY_LENGTH + 1) }, 'query'],
    ['a query with a fragment', { query: 'a=b#c' }, 'query'],
    ['a query with a space', { query: 'a=b c' }, 'query'],
    ['a query with a line break', { query: 'a=b\n' }, 'query'],
    ['a query that is an object', { query: { a: 'b' } }, 'query'],
    ['text for `shared`', { shared: 'yes' }, 'shared'],
    ['an unknown field', { colour: 'red' }, 'colour'],
  ] as const)('is rejected for %s', async ([, fields, path], { expect }) => {
    const org = await newOrg()
    const { status, body } = await save(org.owner, fields)
    expect([status, body.details[0].path]).toEqual([400, path])
    expect(await namesFor(org.owner)).toEqual([])
  })

  it('is accepted with the longest name and query', async ({ expect }) => {
    const org = await newOrg()
    const fields = { name: 'x'.repeat(MAX_NAME_LENGTH), query: '?'.padEnd(MAX_VIEW_QUERY_LENGTH, 'x') }
    expect(await save(org.owner, fields)).toMatchObject({ status: 201, body: fields })
  })

  it('is rejected for a project that is unknown or was deleted', async ({ expect }) => {
    const org = await newOrg()
    expect((await save(org.owner, { projectSlug: 'none' })).status).toBe(404)
    const view = (await save(org.owner, { shared: true })).body
    await org.owner.delete(`/api/projects/${org.project.id}`, { confirm: 'support' })
    expect((await save(org.owner)).status).toBe(404)
    expect((await org.owner.delete(`/api/views/${view.id}`)).status).toBe(404)
  })
})

describe('the number of saved views', () => {
  it(`is limited to ${MAX_OWN_VIEWS} for each owner in a project`, async ({ expect }) => {
    const { ada, adaId, kofi, org } = await twoReviewers()
    await addViews(org, MAX_OWN_VIEWS - 1, adaId, false)
    expect((await save(ada, { name: 'Last' })).status).toBe(201)
    const message = `You can have at most ${MAX_OWN_VIEWS} views in a project`
    expect(await save(ada, { name: 'Another' })).toMatchObject({
      status: 422,
      body: { details: [{ path: 'name', message }] },
    })
    expect((await save(ada, { name: 'Last', query: 'a=b' })).status).toBe(200)
    expect((await save(kofi)).status).toBe(201)
    expect(await namesFor(ada)).toHaveLength(MAX_OWN_VIEWS)
  })

  it(`is limited to ${MAX_SHARED_VIEWS} shared views in a project`, async ({ expect }) => {
    const { ada, kofi, org } = await twoReviewers()
    const [one, two] = [crypto.randomUUID(), crypto.randomUUID()]
    await addViews(org, MAX_OWN_VIEWS, one, true)
    await addViews(org, MAX_OWN_VIEWS - 1, two, true)
    expect((await save(ada, { shared: true })).status).toBe(201)
    const message = `A project can have at most ${MAX_SHARED_VIEWS} shared views`
    const refused = { status: 422, body: { details: [{ path: 'shared', message }] } }
    expect(await save(kofi, { shared: true })).toMatchObject(refused)
    expect((await save(kofi, { name: 'Mine' })).status).toBe(201)
    expect(await save(kofi, { name: 'Mine', shared: true })).toMatchObject(refused)
    expect((await save(ada, { shared: true, query: 'a=b' })).status).toBe(200)
    expect((await kofi.get('/api/views?projectSlug=support&limit=200')).body.nextCursor).not.toBeNull()
  })
})
