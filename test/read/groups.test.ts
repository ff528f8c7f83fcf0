import { beforeAll, describe, it, vi } from 'vitest'
import { MAX_CHECKED_GROUPS, MAX_GROUPED_METADATA_BYTES, MAX_SCANNED_TRACES } from '../../src/limits.ts'
import { rowsReadBy } from '../support/bindings.ts'
import { aFeedback, aTrace, TIME, timeAfter } from '../support/builders.ts'
import { databases, isSharded, stored } from '../support/database.ts'
import { newOrg, type Org } from '../support/org.ts'
import { aHexTraceId, anExportedSpan, exportSpans } from '../support/telemetry.ts'
import { manyTraces } from '../support/traces.ts'

vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 })

interface Group {
  value: string
  traces: number
  tracesIsMinimum: boolean
  firstAt: string
  lastAt: string
  negative: number
}

const get = async ({ read }: Org, query = '') => (await read.get(`/api/groups?projectSlug=support&${query}`)).body

/** A whole list, read in pages. `between` runs after each page. */
async function all(org: Org, query = '', between: () => unknown = () => undefined): Promise<Group[]> {
  const groups: Group[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await get(org, `${query}${cursor && `&cursor=${cursor}`}`)
    groups.push(...page.groups)
    cursor = page.nextCursor
    await between()
  }
  return groups
}

const valuesOf = async (org: Org, query = '') => (await all(org, query)).map(({ value }) => value)

/** Sends a trace whose timestamp is this many seconds after TIME. */
async function send(org: Org, seconds: number, metadata: object): Promise<{ id: string; trace_id: string }> {
  const trace = aTrace({ timestamp: timeAfter(seconds * 1000), metadata })
  const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
  return { id, trace_id: trace.trace_id }
}

describe('conversations', () => {
  let org: Org
  beforeAll(async () => {
    org = await newOrg()
    const turns = ['a', 'b', 'a', 'c', 'b', 'a', 'd']
    for (const [second, group_id] of turns.entries()) {
      const { trace_id } = await send(org, second, { group_id, user: { id: group_id === 'd' ? 'u2' : 'u1' } })
      if (second < 2) await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id }))
    }
    await send(org, 10, { tags: ['vip', 'new'] })
    await send(org, 11, { group_id: null, tags: ['vip'] })
  })

  it('are sorted by their newest trace, and show their times and their numbers of traces and negative traces', async ({
    expect,
  }) => {
    const group = (value: string, traces: number, [first = 0, last = 0]: number[], negative: number) => ({
      value,
      traces,
      tracesIsMinimum: false,
      firstAt: timeAfter(first * 1000),
      lastAt: timeAfter(last * 1000),
      negative,
    })
    const groups = [
      group('d', 1, [6, 6], 0),
      group('a', 3, [0, 5], 1),
      group('b', 2, [1, 4], 1),
      group('c', 1, [3, 3], 0),
    ]
    expect(await get(org)).toEqual({ groups, searchedTo: null, nextCursor: null })
  })

  it.for([1, 2, 3, 4])('are listed once each, in pages of %i', async (limit, { expect }) => {
    expect(await valuesOf(org, `limit=${limit}`)).toEqual(['d', 'a', 'b', 'c'])
    expect(await valuesOf(org, `key=tags&limit=${limit}`)).toEqual(['vip', 'new'])
  })

  it('can be grouped by any metadata path', async ({ expect }) => {
    expect(await valuesOf(org, 'key=user.id')).toEqual(['u2', 'u1'])
    expect(await valuesOf(org, 'key=user')).toEqual([])
  })

  it('can be limited to a time range, which also applies to their counts', async ({ expect }) => {
    const groups = await all(org, `from=${timeAfter(1000)}&to=${timeAfter(5000)}`)
    expect(groups.map(({ value, traces, firstAt }) => [value, traces, firstAt])).toEqual([
      ['b', 2, timeAfter(1000)],
      ['c', 1, timeAfter(3000)],
      ['a', 1, timeAfter(2000)],
    ])
  })

  it('keep their place while new traces arrive', async ({ expect }) => {
    const org = await newOrg()
    for (const second of Array(6).keys()) await send(org, second, { group_id: `group ${second}` })
    let second = 100
    const later = async () => {
      for (const old of Array(6).keys()) await send(org, second++, { group_id: `group ${old}` })
    }
    const groups = await all(org, 'limit=2', later)
    expect(groups.map(({ value }) => value)).toEqual([5, 4, 3, 2, 1, 0].map(number => `group ${number}`))
    expect(groups.map(({ traces }) => traces)).toEqual(Array(6).fill(1))
  })

  it('no longer include deleted traces', async ({ expect }) => {
    const org = await newOrg()
    const { id } = await send(org, 1, { group_id: 'a' })
    await send(org, 0, { group_id: 'a' })
    const last = await send(org, 2, { group_id: 'b' })
    for (const deleted of [id, last.id]) await org.owner.delete(`/api/traces/${deleted}`)
    expect(await all(org)).toMatchObject([{ value: 'a', traces: 1, firstAt: timeAfter(0), lastAt: timeAfter(0) }])
  })

  it('leave out traces that are only generic telemetry, except with kind=all', async ({ expect }) => {
    const org = await newOrg()
    const generic = await send(org, 1, { group_id: 'a' })
    await send(org, 0, { group_id: 'a' })
    await stored.prepare('update traces set is_generic = 1 where id = ?').bind(generic.id).run()
    const counts = async (query: string) =>
      (await all(org, query)).map(({ traces, firstAt, lastAt }) => [traces, firstAt, lastAt])
    expect(await counts('')).toEqual([[1, TIME, TIME]])
    expect(await counts('kind=all')).toEqual([[2, TIME, timeAfter(1000)]])
  })

  it('can come from telemetry sessions', async ({ expect }) => {
    const org = await newOrg()
    const attributes = { 'session.id': 'chat-7', 'gen_ai.operation.name': 'chat' }
    for (let turn = 0; turn < 2; turn++) {
      await exportSpans(org, [anExportedSpan({ traceId: aHexTraceId(), attributes })])
    }
    expect(await all(org)).toMatchObject([{ value: 'chat-7', traces: 2 }])
  })

  it.for<[what: string, value: string]>([
    ['a value that is too long for the index', `${'long '.repeat(100)}é`],
    ['a value that looks like a hash', `sha256:${'0'.repeat(64)}`],
    ['an empty value', ''],
    ['markup', '<img src=x onerror=alert(1)>&=#%'],
  ])('show %s, and can be found by it', async ([, value], { expect }) => {
    const org = await newOrg()
    await send(org, 0, { group_id: value })
    await send(org, 1, { group_id: `${value}2` })
    await send(org, 2, { group_id: value })
    expect(await all(org, 'limit=1')).toMatchObject([
      { value, traces: 2 },
      { value: `${value}2`, traces: 1 },
    ])
    const filter = `metadata.group_id=${encodeURIComponent(value)}`
    expect((await org.read.get(`/api/traces?projectSlug=support&${filter}`)).body.traces).toHaveLength(2)
  })

  it.for([
    ['key=', 'key'],
    [`key=${'x'.repeat(257)}`, 'key'],
    ['limit=201', 'limit'],
    ['from=yesterday', 'from'],
    ['order=oldest', 'order'],
    ['metadata.a=1', 'metadata.a'],
  ])('reject %s', async ([query, path], { expect }) => {
    const { status, body } = await org.read.get(`/api/groups?projectSlug=support&${query}`)
    expect(status).toBe(400)
    expect(body.details.map((detail: { path: string }) => detail.path)).toContain(path)
  })

  it('reject a cursor for another key', async ({ expect }) => {
    const { nextCursor } = await get(org, 'limit=1')
    expect((await org.read.get(`/api/groups?projectSlug=support&key=tags&cursor=${nextCursor}`)).status).toBe(400)
  })

  it('never mix traces from different projects', async ({ expect }) => {
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const other = org.clientOf(await org.keyFor({ projectSlug: 'other' }))
    await other.post('/api/v1/traces', aTrace({ metadata: { group_id: 'a' }, timestamp: timeAfter(9000) }))
    expect((await all(org)).find(({ value }) => value === 'a')).toMatchObject({ traces: 3, lastAt: timeAfter(5000) })
    expect((await other.get('/api/groups?projectSlug=other')).body.groups).toMatchObject([{ value: 'a', traces: 1 }])
    expect((await other.get('/api/groups?projectSlug=support')).status).toBe(403)
  })
})

describe('a page of groups', () => {
  it.skipIf(isSharded)(
    'looks at 5,000 traces, and a later page does not repeat a group that has more traces there',
    async ({ expect }) => {
      const org = await newOrg()
      // Every second trace is in the group "long". On the second page, each of the other traces has its own group.
      await manyTraces(org, MAX_SCANNED_TRACES + 3, place => ({
        name: 'run',
        fields: { group_id: place % 2 === 0 ? 'long' : place > MAX_SCANNED_TRACES ? `old ${place}` : 'recent' },
      }))
      const first = await get(org)
      const half = MAX_SCANNED_TRACES / 2
      expect(first.groups).toMatchObject([
        { value: 'recent', traces: half, tracesIsMinimum: false },
        { value: 'long', traces: half, tracesIsMinimum: true, firstAt: timeAfter(2) },
      ])
      expect(first.searchedTo).toBe(timeAfter(4))
      const second = await get(org, `cursor=${first.nextCursor}`)
      expect(second).toMatchObject({
        groups: [{ value: `old ${MAX_SCANNED_TRACES + 1}` }, { value: `old ${MAX_SCANNED_TRACES + 3}` }],
        searchedTo: null,
        nextCursor: null,
      })
    },
  )

  it('reads a few rows per trace and group', async ({ expect }) => {
    const org = await newOrg()
    await manyTraces(org, 8000, place => ({ name: 'run', fields: { group_id: `group ${Math.ceil(place / 2)}` } }))
    await get(org)
    const path = '/api/groups?projectSlug=support&limit=200'
    const read = (query = '') => rowsReadBy(bindings => org.bearer(bindings).get(path + query))
    expect(await read()).toBeLessThan((4 * MAX_SCANNED_TRACES + 1500) * databases.length)
    const { nextCursor } = (await org.bearer().get(path)).body
    const bound = (4 * MAX_SCANNED_TRACES + 10 * MAX_CHECKED_GROUPS) * databases.length
    expect(await read(`&cursor=${nextCursor}`)).toBeLessThan(bound)
  })

  it('continues past groups that earlier pages listed', async ({ expect }) => {
    const org = await newOrg()
    const count = MAX_CHECKED_GROUPS + 100
    // Each group has a trace on the first page, and one after it.
    await manyTraces(org, MAX_SCANNED_TRACES + count + 1, place => ({
      name: 'run',
      fields: place > MAX_SCANNED_TRACES + count ? { group_id: 'oldest' } : { group_id: `group ${place % count}` },
    }))
    const groups = await all(org, 'limit=200')
    expect(new Set(groups.map(({ value }) => value)).size).toBe(groups.length)
    expect([groups.length, groups.at(-1)?.value]).toEqual([count + 1, 'oldest'])
  })

  it('ends after 4 MiB of metadata, but contains at least one trace', async ({ expect }) => {
    const org = await newOrg()
    const filler = 'x'.repeat(60_000)
    const count = Math.ceil(MAX_GROUPED_METADATA_BYTES / 60_000) + 1
    await manyTraces(org, count, place => ({ name: 'run', fields: { group_id: `group ${place}`, filler } }))
    const { groups, nextCursor } = await get(org, 'limit=200')
    expect(groups.length).toBeLessThan(count - 1)
    expect(nextCursor).not.toBeNull()
    expect(await valuesOf(org, 'limit=200')).toEqual(Array.from({ length: count }, (_, index) => `group ${index + 1}`))
  })
})
