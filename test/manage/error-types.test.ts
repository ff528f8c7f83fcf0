import { describe, it, vi } from 'vitest'
import { TAXONOMY } from '../../src/attribution/taxonomy.ts'
import { uuidV5 } from '../../src/domain/ids.ts'
import { MAX_PROJECT_ERROR_TYPES } from '../../src/limits.ts'
import { aSpan, aTrace } from '../support/builders.ts'
import { type ApiResponse, client, newOrg, type Org } from '../support/org.ts'
import { newReviewed } from '../support/reviews.ts'

const put = ({ owner, project }: Org, errorType: string, body: object): Promise<ApiResponse> =>
  owner.put(`/api/projects/${project.id}/error-types/${errorType}`, body)

const OWN = { name: 'Late delivery', category: 'Human Error', rule: 'The documents came too late.' }

/** Whether each error type in a project is enabled, by name. */
async function statesOf(org: Org): Promise<Map<string, boolean>> {
  const { body } = await org.read.get('/api/error-types?projectSlug=support&limit=200')
  return new Map(
    body.errorTypes.map((type: { errorType: string; isEnabled: boolean }) => [type.errorType, type.isEnabled]),
  )
}

describe('the error types in a project', () => {
  it('list the built-in types in taxonomy order, then the custom types, oldest first', async ({ expect }) => {
    const org = await newOrg()
    const builtIn = TAXONOMY.map(type => ({ ...type, isBuiltIn: true, isEnabled: true }))
    expect((await org.read.get('/api/error-types')).body).toEqual({ errorTypes: builtIn, nextCursor: null })
    expect((await org.read.get('/api/error-types?projectSlug=support')).body).toEqual({
      errorTypes: builtIn,
      nextCursor: null,
    })
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    const late = await put(org, 'late_delivery', OWN)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 1000 })
    const early = await put(org, 'early_delivery', { ...OWN, name: 'Early delivery', isEnabled: false })
    vi.useRealTimers()
    expect(late).toMatchObject({ status: 200, body: { ...OWN, isBuiltIn: false, isEnabled: true } })
    expect(late.body.id).toBe(await uuidV5(org.project.id, 'error-type:late_delivery'))
    const own = [late.body, early.body]
    for (const query of ['projectSlug=support', `projectId=${org.project.id.toUpperCase()}`]) {
      expect((await org.read.get(`/api/error-types?${query}`)).body.errorTypes).toEqual([...builtIn, ...own])
    }
    // A project's key gets that project's types.
    expect((await org.bearer().get('/api/error-types')).body.errorTypes).toEqual([...builtIn, ...own])
    expect((await org.read.get('/api/error-types')).body.errorTypes).toEqual(builtIn)
  })

  it('are paged like other lists', async ({ expect }) => {
    const org = await newOrg()
    await put(org, 'late', { name: 'Late', category: 'Human Error', rule: 'It came too late.' })
    const path = '/api/error-types?projectSlug=support'
    const whole: { errorType: string }[] = (await org.read.get(path)).body.errorTypes
    const paged: { errorType: string }[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body } = await org.read.get(`${path}&limit=7${cursor && `&cursor=${cursor}`}`)
      expect(body.errorTypes.length).toBeLessThanOrEqual(7)
      paged.push(...body.errorTypes)
      cursor = body.nextCursor
    }
    expect(paged).toEqual(whole)
    const { nextCursor } = (await org.read.get(`${path}&limit=7`)).body
    for (const query of ['?limit=201', '?limit=0', '?cursor=a', `?cursor=${nextCursor}`]) {
      expect((await org.read.get(`/api/error-types${query}`)).status).toBe(400)
    }
  })

  it('leave other projects alone', async ({ expect }) => {
    const org = await newOrg()
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    await put(org, 'late_delivery', OWN)
    await put(org, 'system_failure', { isEnabled: false })
    const { body } = await org.read.get('/api/error-types?projectSlug=other')
    expect(body.errorTypes).toEqual(TAXONOMY.map(type => ({ ...type, isBuiltIn: true, isEnabled: true })))
    expect((await org.bearer().get('/api/error-types?projectSlug=other')).status).toBe(403)
    expect((await org.read.get('/api/error-types?projectSlug=none')).status).toBe(404)
  })

  it('are sent again only if they have changed', async ({ expect }) => {
    const org = await newOrg()
    const path = '/api/error-types?projectSlug=support'
    const etag = (await org.read.get(path)).headers.get('etag') ?? ''
    const again = () => org.read.get(path, undefined, { 'if-none-match': etag })
    expect((await again()).status).toBe(304)
    await put(org, 'system_failure', { isEnabled: false })
    expect((await again()).status).toBe(200)
    await put(org, 'system_failure', { isEnabled: true })
    expect((await again()).status).toBe(304)
  })
})

describe('a change to an error type', () => {
  it('disables and enables a built-in type', async ({ expect }) => {
    const org = await newOrg()
    for (const isEnabled of [false, false, true, true]) {
      const response = await put(org, 'system_failure', { isEnabled })
      expect(response).toMatchObject({ status: 200, body: { name: 'System failure', isBuiltIn: true, isEnabled } })
      expect((await statesOf(org)).get('system_failure')).toBe(isEnabled)
    }
    const log = (await org.owner.get('/api/audit-log?action=error_type.change')).body.entries
    expect(log).toHaveLength(2)
  })

  it('replaces a custom type, which keeps its id', async ({ expect }) => {
    const org = await newOrg()
    const { id } = (await put(org, 'late_delivery', OWN)).body
    const changed = { name: 'Late', category: 'User Error', rule: 'Too late.', isEnabled: false }
    expect((await put(org, 'late_delivery', changed)).body).toEqual({
      id,
      errorType: 'late_delivery',
      isBuiltIn: false,
      ...changed,
    })
    expect((await put(org, 'late_delivery', OWN)).body).toMatchObject({ id, ...OWN, isEnabled: true })
    expect((await statesOf(org)).size).toBe(TAXONOMY.length + 1)
  })

  it('creates a type once, even with many concurrent requests', async ({ expect }) => {
    const org = await newOrg()
    const responses = await Promise.all(Array.from({ length: 10 }, () => put(org, 'late_delivery', OWN)))
    expect(responses.map(({ status }) => status)).toEqual(Array(10).fill(200))
    expect((await org.owner.get('/api/audit-log?action=error_type.change')).body.entries).toHaveLength(1)
  })

  it.for([
    ['a name in camel case', 'lateDelivery', OWN, 400, 'errorType'],
    ['a name that begins with a digit', '2_late', OWN, 400, 'errorType'],
    ['a name with an empty word', 'late__delivery', OWN, 400, 'errorType'],
    ['a name that is too long', 'x'.repeat(65), OWN, 400, 'errorType'],
    ['no display name', 'late', { ...OWN, name: undefined }, 400, 'name'],
    ['no category', 'late', { ...OWN, category: undefined }, 400, 'category'],
    ['an invalid category', 'late', { ...OWN, category: 'Error' }, 400, 'category'],
    ['no rule', 'late', { isEnabled: false, name: 'Late', category: 'User Error' }, 400, 'rule'],
    ['a rule that is too long', 'late', { ...OWN, rule: 'x'.repeat(1025) }, 400, 'rule'],
    ['a different name for a built-in type', 'system_failure', { name: 'x', isEnabled: true }, 422, 'name'],
    ['a different category for a built-in type', 'system_failure', { category: 'User Error' }, 422, 'category'],
    ['a different rule for a built-in type', 'system_failure', { rule: 'x' }, 422, 'rule'],
  ] as const)('is rejected for %s', async ([, errorType, body, status, path], { expect }) => {
    const org = await newOrg()
    const response = await put(org, errorType, body)
    expect(response.status).toBe(status)
    expect(response.body.details[0].path).toBe(path)
    expect((await statesOf(org)).size).toBe(TAXONOMY.length)
  })

  it('must leave at least one type enabled', async ({ expect }) => {
    const org = await newOrg()
    const [last = expect.fail('there are built-in types'), ...others] = TAXONOMY
    for (const { errorType } of others) expect((await put(org, errorType, { isEnabled: false })).status).toBe(200)
    const rejected = await put(org, last.errorType, { isEnabled: false })
    expect(rejected).toMatchObject({ status: 422, body: { details: [{ path: 'isEnabled' }] } })
    expect((await statesOf(org)).get(last.errorType)).toBe(true)
    await put(org, 'late_delivery', OWN)
    expect((await put(org, last.errorType, { isEnabled: false })).status).toBe(200)
    expect((await put(org, 'late_delivery', { ...OWN, isEnabled: false })).status).toBe(422)
    expect([...(await statesOf(org))].filter(([, isEnabled]) => isEnabled)).toEqual([['late_delivery', true]])
  })

  it('is rejected if the project has the maximum number of custom types', async ({ expect }) => {
    const org = await newOrg()
    for (let index = 0; index < MAX_PROJECT_ERROR_TYPES; index++) await put(org, `type_${index}`, OWN)
    expect(await put(org, 'one_more', OWN)).toMatchObject({ status: 422, body: { details: [{ path: 'errorType' }] } })
    expect((await put(org, 'type_0', { ...OWN, name: 'Renamed' })).status).toBe(200)
    expect((await put(org, 'system_failure', { isEnabled: false })).status).toBe(200)
    expect((await statesOf(org)).size).toBe(TAXONOMY.length + MAX_PROJECT_ERROR_TYPES)
  })

  it('needs a key for its project', async ({ expect }) => {
    const org = await newOrg()
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const path = `/api/projects/${org.project.id}/error-types/late`
    const elsewhere = client({ 'x-api-key': await org.keyFor({ projectSlug: 'other' }) })
    expect((await elsewhere.put(path, OWN)).status).toBe(403)
    expect((await org.bearer().put(path, OWN)).status).toBe(200)
    expect((await org.owner.put(`/api/projects/${crypto.randomUUID()}/error-types/late`, OWN)).status).toBe(404)
  })
})

describe('a review', () => {
  it('accepts only enabled types', async ({ expect }) => {
    const { org, review, spanId } = await newReviewed('Yes')
    const naming = (errorType: string) => review({ decision: 'accept', errorType })
    expect(await naming('late_delivery')).toMatchObject({
      status: 422,
      body: { error: 'There is no such error type', details: [{ path: 'errorType' }] },
    })
    await put(org, 'late_delivery', OWN)
    expect((await naming('late_delivery')).body.review.errorType).toBe('late_delivery')
    for (const [errorType, body] of [
      ['late_delivery', { ...OWN, isEnabled: false }],
      ['system_failure', { isEnabled: false }],
    ] as const) {
      await put(org, errorType, body)
      expect(await naming(errorType)).toMatchObject({
        status: 422,
        body: { error: 'This error type is disabled in this project', details: [{ path: 'errorType' }] },
      })
    }
    // Earlier reviews keep their types.
    expect((await org.read.get(`/api/spans/${spanId}`)).body.review.errorType).toBe('late_delivery')
    await put(org, 'system_failure', { isEnabled: true })
    expect((await naming('system_failure')).status).toBe(200)
    const other = await newReviewed('Yes')
    expect((await other.review({ decision: 'accept', errorType: 'late_delivery' })).status).toBe(422)
  })

  it('accepts the types of its span’s project, even with several projects in one call', async ({ expect }) => {
    const { org, spanId } = await newReviewed('Yes')
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const elsewhere = client({ 'x-api-key': await org.keyFor({ projectSlug: 'other' }) })
    const trace = aTrace()
    const span = aSpan({ trace_id: trace.trace_id })
    await elsewhere.post('/api/v1/traces', trace)
    await elsewhere.post('/api/v1/spans', span)
    await put(org, 'late_delivery', OWN)
    await put(org, 'system_failure', { isEnabled: false })
    for (const [errorType, statuses] of [
      ['late_delivery', [200, 422]],
      ['system_failure', [422, 200]],
      ['reasoning_error', [200, 200]],
    ] as const) {
      const reviews = [spanId, span.span_id].map(id => ({ spanId: id, decision: 'accept', errorType }))
      const { results } = (await org.owner.post('/api/reviews', { reviews })).body
      expect(results.map(({ status }: { status: number }) => status)).toEqual(statuses)
    }
  })
})
