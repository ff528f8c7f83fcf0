import { beforeAll, describe, it, vi } from 'vitest'
import { MAX_SCANNED_TRACES } from '../../src/limits.ts'
import { rowsReadBy } from '../support/bindings.ts'
import { aFeedback, aSpan, aTrace, timeAfter } from '../support/builders.ts'
import { isSharded, stored } from '../support/database.ts'
import { newOrg, type Org } from '../support/org.ts'
import { manyTraces } from '../support/traces.ts'

// Large test data is slow to store on a busy machine.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 })

/** The expected properties of each trace. */
interface Known {
  id: string
  minute: number
  name: string
  status: 'running' | 'completed'
  metadata: object
  steps: string[]
  versions: string[]
  ratings: (string | number)[]
  feedbackCount: number
}

const MINUTE = 60_000
const TIMES = [0, 1, 2, 3].map(minute => timeAfter(minute * MINUTE))

let org: Org
let known: Known[] = []
const versions: string[] = []

beforeAll(async () => {
  org = await newOrg()
  for (const stepId of ['plan', 'write']) {
    const prompt = { projectSlug: 'support', stepId, content: 'Do it.' }
    versions.push((await org.owner.post('/api/prompts', prompt)).body.versionId)
  }
  const [planVersion = '', writeVersion = ''] = versions
  const ratings: (string | number)[][] = [[], ['positive'], ['negative'], [0.5], [0.51], [0.49], [1, 0], [1e-7], []]
  for (let index = 0; index < 36; index++) {
    const minute = index % 4
    const trace = aTrace({
      name: index % 3 === 0 ? 'plan' : 'answer',
      status: index % 5 < 2 ? 'completed' : 'running',
      timestamp: TIMES[minute],
      metadata: {
        tier: index % 2 === 0 ? 'gold' : 'silver',
        user: { id: index % 6 },
        tags: index % 7 === 0 ? ['vip', 'new'] : ['new'],
        'a.b': index % 4 === 1,
      },
    })
    const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
    const { trace_id } = trace
    const steps = [trace.name]
    const used: string[] = []
    if (index % 4 < 2) {
      steps.push('write')
      used.push(writeVersion)
      await org.ingest.post('/api/v1/spans', aSpan({ trace_id, step_id: 'write', prompt_version_id: writeVersion }))
      await org.ingest.post('/api/v1/spans', aSpan({ trace_id, step_id: 'write' }))
    }
    if (index % 6 === 5) {
      const span_id = (await org.read.get(`/api/traces/${id}`)).body.spans[0].id
      used.push(planVersion)
      await org.ingest.post('/api/v1/spans', aSpan({ trace_id, span_id, prompt_version_id: planVersion }))
    }
    const given = ratings[index % 9] ?? []
    for (const rating of given) await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id, rating }))
    const hasComment = index % 9 === 8
    if (hasComment) await org.ingest.post('/api/v1/feedback', { trace_id, comment: 'no rating' })
    known.push({
      id,
      minute,
      name: trace.name,
      status: trace.status === 'running' ? 'running' : 'completed',
      metadata: trace.metadata,
      steps,
      versions: used,
      ratings: given,
      feedbackCount: given.length + (hasComment ? 1 : 0),
    })
  }
  known = known.sort((left, right) => right.minute - left.minute || (left.id < right.id ? 1 : -1))
})

const has = (metadata: object, path: string, value: unknown) => Reflect.get(metadata, path) === value

/**
 * Each filter as a query string and as a predicate. Queries with version ids are functions, because the ids exist only
 * once the versions are created.
 */
const FILTERS: readonly [query: string | (() => string), isMatch: (trace: Known, index: number) => boolean][] = [
  ['status=completed', ({ status }) => status === 'completed'],
  ['status=running', ({ status }) => status === 'running'],
  ['name=plan', ({ name }) => name === 'plan'],
  ['name=Plan', () => false],
  [`from=${TIMES[1]}`, ({ minute }) => minute >= 1],
  [`from=${timeAfter(MINUTE + 1)}`, ({ minute }) => minute >= 2],
  [`to=${TIMES[2]}`, ({ minute }) => minute < 2],
  [`to=${timeAfter(2 * MINUTE + 1)}`, ({ minute }) => minute <= 2],
  ['stepId=write', ({ steps }) => steps.includes('write')],
  ['stepId=plan', ({ steps }) => steps.includes('plan')],
  [() => `promptVersionId=${versions[1]?.toUpperCase()}`, trace => trace.versions.includes(versions[1] ?? '')],
  [() => `promptVersionId=${versions[0]}`, trace => trace.versions.includes(versions[0] ?? '')],
  ['hasFeedback=true', ({ feedbackCount }) => feedbackCount > 0],
  ['hasFeedback=false', ({ feedbackCount }) => feedbackCount === 0],
  [
    'rating=positive',
    ({ ratings }) => ratings.some(each => each === 'positive' || (typeof each === 'number' && each > 0.5)),
  ],
  [
    'rating=negative',
    ({ ratings }) => ratings.some(each => each === 'negative' || (typeof each === 'number' && each < 0.5)),
  ],
  ['metadata.tier=gold', ({ metadata }) => has(metadata, 'tier', 'gold')],
  ['metadata.user.id=4', ({ metadata }) => has(Reflect.get(metadata, 'user'), 'id', 4)],
  ['metadata.tags=vip', ({ metadata }) => Reflect.get(metadata, 'tags').includes('vip')],
  ['metadata.a.b=true', ({ metadata }) => has(metadata, 'a.b', true)],
  ['metadata.none=1', () => false],
]

const nameOf = (query: (typeof FILTERS)[number][0]) =>
  typeof query === 'string' ? query : query.toString().slice(7, 28)
const textOf = (query: (typeof FILTERS)[number][0]) => (typeof query === 'string' ? query : query())
const parameterOf = (query: (typeof FILTERS)[number][0]) => nameOf(query).split('=')[0]

const pairs = FILTERS.flatMap(([left, isLeft], index) =>
  FILTERS.slice(index + 1)
    .filter(([right]) => parameterOf(left) !== parameterOf(right))
    .map(([right, isRight]) => ({
      name: `${nameOf(left)} and ${nameOf(right)}`,
      query: () => `${textOf(left)}&${textOf(right)}`,
      isMatch: (trace: Known, place: number) => isLeft(trace, place) && isRight(trace, place),
    })),
)
const singles = FILTERS.map(([query, isMatch]) => ({ name: nameOf(query), query: () => textOf(query), isMatch }))

/** The ids on each page. */
async function pagesOf(list: Org, query: string, limit: number): Promise<string[][]> {
  const pages: string[][] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path = `/api/traces?projectSlug=support&${query}&limit=${limit}${cursor && `&cursor=${cursor}`}`
    const { status, body } = await list.read.get(path)
    if (status !== 200) throw new Error(`unexpected status ${status}: ${body.error}`)
    pages.push(body.traces.map(({ id }: { id: string }) => id))
    if (pages.length > 1000) throw new Error('the cursors form a cycle')
    cursor = body.nextCursor
  }
  return pages
}

describe('the trace list', () => {
  it.for(singles)('filters by $name', async ({ query, isMatch }, { expect }) => {
    const expected = known.filter(isMatch).map(({ id }) => id)
    expect(await pagesOf(org, query(), 200)).toEqual([expected])
    if (!query().includes('none') && !query().includes('Plan')) expect(expected.length).toBeGreaterThan(0)
    expect(expected.length).toBeLessThan(known.length)
  })

  it.for(singles)(
    'fills every page except the last when filtering by $name',
    async ({ query, isMatch }, { expect }) => {
      const expected = known.filter(isMatch).map(({ id }) => id)
      for (const limit of [1, 5]) {
        const pages = await pagesOf(org, query(), limit)
        expect(pages.flat()).toEqual(expected)
        expect(pages).toHaveLength(Math.max(1, Math.ceil(expected.length / limit)))
      }
    },
  )

  it.for(pairs)('filters by $name', async ({ query, isMatch }, { expect }) => {
    const expected = known.filter(isMatch).map(({ id }) => id)
    expect((await pagesOf(org, query(), 7)).flat()).toEqual(expected)
  })

  it('combines all filters', async ({ expect }) => {
    const query = [
      'status=running',
      'name=answer',
      `from=${TIMES[0]}`,
      `to=${TIMES[3]}`,
      'hasFeedback=true',
      'rating=positive',
      'metadata.tags=new',
      'metadata.tier=gold',
    ].join('&')
    const expected = known.filter(
      ({ status, name, minute, metadata, ratings }) =>
        status === 'running' &&
        name === 'answer' &&
        minute < 3 &&
        has(metadata, 'tier', 'gold') &&
        ratings.some(each => each === 'positive' || (typeof each === 'number' && each > 0.5)),
    )
    expect(expected.length).toBeGreaterThan(0)
    expect((await pagesOf(org, query, 200)).flat()).toEqual(expected.map(({ id }) => id))
  })

  it('filters only by the project’s own prompt versions', async ({ expect }) => {
    const stranger = await newOrg()
    await stranger.ingest.post('/api/v1/traces', aTrace({ name: 'plan', metadata: { tier: 'gold' } }))
    expect((await pagesOf(stranger, 'name=plan&metadata.tier=gold&stepId=plan', 50)).flat()).toHaveLength(1)
    expect((await pagesOf(stranger, `promptVersionId=${versions[0]}`, 50)).flat()).toEqual([])
  })

  it.for([
    ['an unknown status', 'status=failed', 'status'],
    ['a time without milliseconds', 'from=2026-11-20T10:00:00Z', 'from'],
    ['an invalid time', 'to=yesterday', 'to'],
    ['a version that is not a UUID', 'promptVersionId=v1', 'promptVersionId'],
    ['hasFeedback that is not a boolean', 'hasFeedback=yes', 'hasFeedback'],
    ['a rating that is a number', 'rating=0.7', 'rating'],
    ['a repeated metadata field', 'metadata.a=1&metadata.a=2', 'metadata.a'],
    ['a parameter that only looks like a filter', 'metadata=1', 'metadata'],
    ['a metadata field without its prefix', 'tier=gold', 'tier'],
    ['more than 10 metadata fields', Array.from({ length: 11 }, (_, index) => `metadata.f${index}=1`).join('&'), ''],
  ] as const)('returns a 400 for %s', async ([, query, path], { expect }) => {
    const response = await org.read.get(`/api/traces?projectSlug=support&${query}`)
    expect(response.status).toBe(400)
    expect(response.body.details[0].path).toBe(path)
  })
})

describe('a filter matches text literally:', () => {
  it.for([
    ['a NUL in a name', { name: 'a\u0000b' }, { name: 'a\u0000b' }, { name: 'a' }],
    ['a NUL in a step', { step: 'a\u0000b' }, { stepId: 'a\u0000b' }, { stepId: 'a' }],
    ['any script', { step: '步骤 ✓' }, { stepId: '步骤 ✓' }, { stepId: '步骤' }],
    ['wildcards', { step: 'abc' }, { stepId: 'abc' }, { stepId: 'a%' }],
    ['quotes', { name: `a'b"c` }, { name: `a'b"c` }, { name: "a'b" }],
    ['an empty metadata path', { metadata: { '': 'x' } }, { 'metadata.': 'x' }, { 'metadata.': 'y' }],
    [
      'a metadata path in any script',
      { metadata: { ключ: { '👩‍👩‍👧': 'да' } } },
      { 'metadata.ключ.👩‍👩‍👧': 'да' },
      { 'metadata.ключ': 'да' },
    ],
    ['a NUL in a metadata path', { metadata: { 'a\u0000b': 1 } }, { 'metadata.a\u0000b': '1' }, { 'metadata.a': '1' }],
    [
      'a metadata path with the name of an inherited method',
      { metadata: { toString: 1 } },
      { 'metadata.toString': '1' },
      { 'metadata.valueOf': '1' },
    ],
    [
      'a long metadata value',
      { metadata: { a: 'x'.repeat(5000) } },
      { 'metadata.a': 'x'.repeat(5000) },
      { 'metadata.a': 'x'.repeat(4999) },
    ],
    ['a large number', { metadata: { a: 1e300 } }, { 'metadata.a': '1e+300' }, { 'metadata.a': '1e300' }],
    [
      'a metadata field with the name of a filter',
      { metadata: { status: 'odd', limit: 1 } },
      { 'metadata.status': 'odd', 'metadata.limit': '1' },
      { 'metadata.status': 'running' },
    ],
  ] as const)('%s', async ([, fields, matching, other], { expect }) => {
    const own = await newOrg()
    const { step, ...trace } = { step: undefined, ...fields }
    const body = aTrace(trace)
    await own.ingest.post('/api/v1/traces', body)
    if (step) {
      expect((await own.ingest.post('/api/v1/spans', aSpan({ trace_id: body.trace_id, step_id: step }))).status).toBe(
        202,
      )
    }
    const count = async (query: Record<string, string>) =>
      (await pagesOf(own, new URLSearchParams(query).toString(), 50)).flat().length
    expect([await count(matching), await count(other)]).toEqual([1, 0])
  })
})

describe('a cursor with filters', () => {
  it('keeps its place while traces arrive, change, and are deleted', async ({ expect }) => {
    const own = await newOrg()
    const post = async (minute: number, fields = {}) =>
      (await own.ingest.post('/api/v1/traces', aTrace({ timestamp: timeAfter(minute), metadata: { a: 1 }, ...fields })))
        .body.id
    const ids: string[] = []
    for (let minute = 0; minute < 8; minute++) ids.unshift(await post(minute))
    const path = '/api/traces?projectSlug=support&metadata.a=1&status=running&limit=3'
    const first = (await own.read.get(path)).body
    expect(first.traces.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 3))
    await post(99)
    await post(99, { status: 'completed' })
    // The trace at the cursor is deleted, and so is a trace after it.
    await own.owner.delete(`/api/traces/${ids[2]}`)
    await own.owner.delete(`/api/traces/${ids[4]}`)
    const between = await post(1.5)
    const second = (await own.read.get(`${path}&cursor=${first.nextCursor}`)).body
    const third = (await own.read.get(`${path}&cursor=${second.nextCursor}`)).body
    const rest = [...second.traces, ...third.traces].map(({ id }: { id: string }) => id)
    expect(new Set(rest)).toEqual(new Set([ids[3], ids[5], ids[6], ids[7], between]))
    expect(rest).toHaveLength(5)
    expect(third.nextCursor).toBeNull()
  })
})

describe(`a trace list that scans at most ${MAX_SCANNED_TRACES} traces per page`, () => {
  const COUNT = 2 * MAX_SCANNED_TRACES + 3
  /** The positions of the traces that the rare filters match. The newest trace is at position 1. */
  const PLACES = [1, 4999, 5000, 5001, 5002, 10_000, 10_003]
  let many: Org
  let matching: string[] = []
  beforeAll(async () => {
    many = await newOrg()
    const ids = await manyTraces(many, COUNT, place => ({
      name: PLACES.includes(place) ? 'rare' : 'common',
      fields: { all: '1', ...(PLACES.includes(place) && { rare: '1' }) },
    }))
    matching = PLACES.map(place => ids[place - 1] ?? '')
    await stored
      .prepare(
        `insert into feedback (id, trace_key, user_id, rating, timestamp, received_at, created_by)
       select id || '-', key, id, '"positive"', 0, 0, ''
       from traces where id in (select value from json_each(?)) and deleted_at is null`,
      )
      .bind(JSON.stringify(matching))
      .run()
  })

  it.for(
    [
      'name=rare',
      'metadata.all=1&name=rare',
      'rating=positive',
      'hasFeedback=true&metadata.all=1',
      'stepId=rare',
    ].flatMap(query => [1, 2, 3, 4, 5, 200].map(limit => [query, limit] as const)),
  )('returns every match for %s exactly once with a limit of %i', async ([query, limit], { expect }) => {
    const pages = await pagesOf(many, query, limit)
    expect(pages.flat()).toEqual(matching)
    for (const page of pages) expect(page.length).toBeLessThanOrEqual(limit)
  })

  it.skipIf(isSharded)('returns short pages, with a cursor, if only a few traces match', async ({ expect }) => {
    expect((await pagesOf(many, 'stepId=rare', 200)).map(({ length }) => length)).toEqual([3, 3, 1])
    expect((await pagesOf(many, 'status=completed', 200)).map(({ length }) => length)).toEqual([0, 0, 0])
    // A name or metadata filter scans only traces that have its value.
    expect((await pagesOf(many, 'name=rare', 200)).map(({ length }) => length)).toEqual([7])
    expect((await pagesOf(many, 'metadata.rare=1&metadata.all=1', 200)).map(({ length }) => length)).toEqual([7])
    expect((await pagesOf(many, 'metadata.rare=2&metadata.all=1', 200)).map(({ length }) => length)).toEqual([0])
  })

  it.skipIf(isSharded).for([
    // Half of the rows that are read for a trace are for its previews and its error type.
    ['no filter', '', 200, 20 * 200],
    ['a filter without matches', 'status=completed', 200, 5 * MAX_SCANNED_TRACES],
    ['a filter that matches all', 'status=running', 50, 20 * 50],
    ['a metadata filter that matches all', 'metadata.all=1', 50, 22 * 50],
    ['a metadata filter that matches a few', 'metadata.rare=1', 50, 200],
    ['a rare name', 'name=rare', 50, 200],
    ['a time', `from=${timeAfter(COUNT - 10)}&status=completed`, 50, 200],
  ] as const)('reads only the rows it needs: %s', async ([, query, limit, most], { expect }) => {
    const path = `/api/traces?projectSlug=support&limit=${limit}&${query}`
    await many.bearer().get('/api/projects')
    const first = await rowsReadBy(bindings => many.bearer(bindings).get(path))
    expect(first).toBeGreaterThan(0)
    expect(first).toBeLessThan(most)
  })

  it.for([
    ['no filter', 'limit=50'],
    ['a metadata filter', 'limit=50&metadata.all=1'],
    ['a filter that matches all', 'limit=50&status=running'],
  ] as const)('reads about the same number of rows for each later page: %s', async ([, query], { expect }) => {
    const path = `/api/traces?projectSlug=support&${query}`
    const rows: number[] = []
    let cursor = ''
    for (let page = 0; page < 4; page++) {
      rows.push(
        await rowsReadBy(async bindings => {
          cursor = `&cursor=${(await many.bearer(bindings).get(path + cursor)).body.nextCursor}`
        }),
      )
    }
    expect(Math.max(...rows.slice(1))).toBeLessThanOrEqual(Math.min(...rows.slice(1)) + 60)
  })
})
