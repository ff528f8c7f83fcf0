import { describe, it } from 'vitest'
import { sha256Hex } from '../../src/domain/hash.ts'
import { traceUuid } from '../../src/domain/ids.ts'
import { aTrace, timeAfter } from '../support/builders.ts'
import { newOrg, type Org } from '../support/org.ts'

const search = async (org: Org, query: string) => (await org.ingest.get(`/api/v1/traces/search?${query}`)).body

describe('the search', () => {
  it.for([
    ['a number by its digits', { n: 5 }, 'n=5', true],
    ['a string of digits', { n: '5' }, 'n=5', true],
    ['a number only by its JSON notation', { n: 5 }, 'n=5.0', false],
    ['a fraction', { n: 1.5 }, 'n=1.5', true],
    ['a boolean', { b: true }, 'b=true', true],
    ['null', { a: null }, 'a=null', true],
    ['a nested field', { user: { id: 7 } }, 'user.id=7', true],
    ['a key with a dot', { 'user.id': 7 }, 'user.id=7', true],
    ['any item of an array', { tags: ['new', 'vip'] }, 'tags=vip', true],
    ['an object in an array', { items: [{ sku: 1 }, { sku: 2 }] }, 'items.sku=2', true],
    ['an empty value', { a: '' }, 'a=', true],
    ['an empty key', { '': 'x' }, '=x', true],
    ['a key with quotes', { 'a"b': 1 }, `${encodeURIComponent('a"b')}=1`, true],
    ['a key like a JSON path', { $: 1 }, '$=1', true],
    ['a key named constructor', { constructor: 1 }, 'constructor=1', true],
    ['a key named toString', { toString: 1 }, 'toString=1', true],
    ['a long value', { a: 'x'.repeat(1000) }, `a=${'x'.repeat(1000)}`, true],
    ['a long value only by all of its characters', { a: 'x'.repeat(1000) }, `a=${'x'.repeat(999)}`, false],
    ['half a surrogate pair by the replacement character', { a: '\ud800' }, `a=${encodeURIComponent('\ufffd')}`, true],
    ['a NUL', { a: 'x\u0000y' }, 'a=x%00y', true],
    ['case-sensitively', { a: 'Gold' }, 'a=gold', false],
    ['wildcards literally', { a: 'gold' }, 'a=%25', false],
    ['no object by a value inside it', { a: { b: 1 } }, 'a=1', false],
  ] as const)('finds %s', async ([, metadata, query, isFound], { expect }) => {
    const org = await newOrg()
    await org.ingest.post('/api/v1/traces', aTrace({ metadata }))
    expect((await search(org, query)).count).toBe(isFound ? 1 : 0)
  })

  it('never mistakes a hash for the value that was hashed', async ({ expect }) => {
    const org = await newOrg()
    const long = 'y'.repeat(300)
    const hash = `sha256:${await sha256Hex(long)}`
    await org.ingest.post('/api/v1/traces', aTrace({ metadata: { a: hash } }))
    expect((await search(org, `a=${long}`)).count).toBe(0)
    expect((await search(org, `a=${hash}`)).count).toBe(1)
  })

  it('finds a key named __proto__', async ({ expect }) => {
    const org = await newOrg()
    const body = JSON.stringify(aTrace({ metadata: {} })).replace(
      '"metadata":{}',
      '"metadata":{"__proto__":{"a":1},"b":2}',
    )
    expect((await org.ingest.post('/api/v1/traces', body)).status).toBe(202)
    expect((await search(org, '__proto__.a=1&b=2')).count).toBe(1)
  })

  it('returns full hits, newest first, up to the limit', async ({ expect }) => {
    const org = await newOrg()
    const traces = Array.from({ length: 12 }, (_, index) => aTrace({ timestamp: timeAfter(index) }))
    for (const trace of traces) await org.ingest.post('/api/v1/traces', trace)
    const ids = await Promise.all(traces.map(({ trace_id }) => traceUuid(org.project.id, trace_id)))
    const newestFirst = traces
      .map(({ trace_id, name, metadata, timestamp }, index) => ({
        id: ids[index],
        trace_id,
        name,
        status: 'running',
        metadata,
        timestamp,
      }))
      .toReversed()
    expect(await search(org, 'group_id=session-1')).toEqual({ traces: newestFirst.slice(0, 10), count: 10 })
    expect(await search(org, 'name=support-answer&limit=3')).toEqual({ traces: newestFirst.slice(0, 3), count: 3 })
    expect((await search(org, 'status=running&limit=1000')).count).toBe(12)
    expect((await search(org, 'status=running&limit=9007199254740992')).count).toBe(12)
  })

  it('requires every filter to match', async ({ expect }) => {
    const org = await newOrg()
    await org.ingest.post('/api/v1/traces', aTrace({ name: 'a', metadata: { x: 1, y: 1 } }))
    await org.ingest.post('/api/v1/traces', aTrace({ name: 'b', metadata: { x: 1, y: 2 }, status: 'completed' }))
    expect((await search(org, 'x=1')).count).toBe(2)
    expect((await search(org, 'x=1&y=2')).count).toBe(1)
    expect((await search(org, 'x=1&y=2&name=a')).count).toBe(0)
    expect((await search(org, 'x=1&status=completed')).traces).toMatchObject([{ name: 'b' }])
    expect((await search(org, 'x=1&y=1&z=1')).count).toBe(0)
  })

  it('stays within its project', async ({ expect }) => {
    const org = await newOrg()
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    await org.owner.post('/api/v1/traces', aTrace(), { 'x-project-slug': 'other' })
    expect((await search(org, 'group_id=session-1')).count).toBe(0)
    const found = await org.owner.get('/api/v1/traces/search?group_id=session-1', undefined, {
      'x-project-slug': 'other',
    })
    expect(found.body.count).toBe(1)
  })

  it.for([
    ['no parameter', '', ''],
    ['only a limit', 'limit=5', ''],
    ['a limit of 0', 'name=a&limit=0', 'limit'],
    ['a negative limit', 'name=a&limit=-1', 'limit'],
    ['a limit that is not a number', 'name=a&limit=10abc', 'limit'],
    ['a limit that is not an integer', 'name=a&limit=1.5', 'limit'],
    ['an invalid status', 'status=failed', 'status'],
    ['a repeated parameter', 'a=1&a=2', 'a'],
    ['more than 10 filters', Array.from({ length: 11 }, (_, index) => `f${index}=1`).join('&'), ''],
  ] as const)('400s for %s', async ([, query, path], { expect }) => {
    const org = await newOrg()
    const response = await org.ingest.get(`/api/v1/traces/search?${query}`)
    expect(response.status).toBe(400)
    expect(response.body.details[0].path).toBe(path)
    if (query === '' || query === 'limit=5') expect(response.body.error).toBe('No search parameter given')
  })

  it('accepts 10 filters', async ({ expect }) => {
    const org = await newOrg()
    const names = Array.from({ length: 10 }, (_, index) => `f${index}`)
    await org.ingest.post('/api/v1/traces', aTrace({ metadata: Object.fromEntries(names.map(name => [name, 1])) }))
    expect((await search(org, names.map(name => `${name}=1`).join('&'))).count).toBe(1)
  })
})
