import { describe, it, vi } from 'vitest'
import { rootSpanUuid } from '../../src/domain/ids.ts'
import { INLINE_BYTES, MAX_OBSERVATION_BYTES, MAX_PAGE_VALUE_BYTES, OBSERVATIONS_MAX_LIMIT } from '../../src/limits.ts'
import { event, resultsOf } from '../support/batch.ts'
import { countingBindings } from '../support/bindings.ts'
import { anObservation, aTrace, TIME, timeAfter } from '../support/builders.ts'
import { newOrg, type Org } from '../support/org.ts'
import { newTrace } from '../support/trace.ts'

// Large test data is slow to store on a busy machine.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 })

const uuid = () => crypto.randomUUID()
const large = (text: string) => `${'x'.repeat(2 * INLINE_BYTES)} ${text}`

const list = (org: Org, trace_id: string, query = '') =>
  org.ingest.get(`/api/v1/traces/${trace_id}/observations${query}`)

interface Listed {
  observation_id: string
  data: unknown
}

/** Every page of a trace's observations, with `limit` observations each. */
async function pagesOf(org: Org, trace_id: string, limit: number): Promise<Listed[][]> {
  const pages: Listed[][] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body } = await list(org, trace_id, `?limit=${limit}${cursor && `&cursor=${cursor}`}`)
    if (pages.push(body.observations) > 1000) throw new Error('the cursors form a cycle')
    cursor = body.next_cursor
  }
  return pages
}

describe('the raw observations on a trace', () => {
  it('are listed as sent, with the ids of their spans', async ({ expect }) => {
    const { org, trace_id, observe, step } = await newTrace()
    const [span_id, observation_id] = [uuid(), uuid()]
    await step({ span_id })
    await observe({
      type: 'state',
      key: 'ключ\u0000',
      data: { a: ['\ud800', 1.5e300] },
      observation_id,
      timestamp: timeAfter(1),
    })
    await observe({
      type: 'input',
      key: 'ignored',
      data: null,
      span_id: span_id.toUpperCase(),
      timestamp: timeAfter(2),
    })
    await observe({ type: 'output', data: large('out'), timestamp: timeAfter(3) })
    const response = await list(org, trace_id)
    expect(response.status).toBe(200)
    const root = await rootSpanUuid(org.project.id, trace_id)
    const observation = {
      observation_id: expect.any(String),
      span_id: root,
      key: null,
      received_at: expect.any(String),
    }
    expect(response.body).toEqual({
      observations: [
        {
          ...observation,
          observation_id,
          type: 'state',
          key: 'ключ\u0000',
          data: { a: ['\ud800', 1.5e300] },
          timestamp: timeAfter(1),
        },
        { ...observation, span_id, type: 'input', data: null, timestamp: timeAfter(2) },
        { ...observation, type: 'output', data: large('out'), timestamp: timeAfter(3) },
      ],
      next_cursor: null,
    })
  })

  it('are all listed, even those that folding discards', async ({ expect }) => {
    const { org, trace_id, observe } = await newTrace()
    for (const data of ['a', 'b', large('c')]) await observe({ type: 'output', data })
    await observe({ type: 'output', data: 'for no span', span_id: uuid() })
    const { observations } = (await list(org, trace_id)).body
    expect(observations.map(({ data }: Listed) => data).sort()).toEqual(['a', 'b', 'for no span', large('c')].sort())
  })

  it('are listed in folding order, at any page size, without gaps or duplicates', async ({ expect }) => {
    const { org, trace_id, observe } = await newTrace()
    const ids = Array.from({ length: 6 }, uuid)
    // Each of three timestamps has two observations from one batch, so only their order distinguishes them.
    const times = [2, 0, 1].map(timeAfter)
    await resultsOf(
      org,
      times.flatMap((timestamp, index) =>
        [0, 1].map(second =>
          event('observation', anObservation({ trace_id, observation_id: ids[2 * index + second], timestamp })),
        ),
      ),
    )
    await scheduler.wait(2)
    const late = uuid()
    await observe({ observation_id: late, timestamp: times[1] })
    const expected = [ids[2], ids[3], late, ids[4], ids[5], ids[0], ids[1]]
    for (const limit of [1, 2, 3, 6, 7, OBSERVATIONS_MAX_LIMIT]) {
      const pages = await pagesOf(org, trace_id, limit)
      expect(pages.flat().map(({ observation_id }) => observation_id)).toEqual(expected)
      expect(pages).toHaveLength(Math.ceil(expected.length / limit))
    }
  })

  it('keep their order across pages, even if they are from one batch and have the same timestamp', async ({
    expect,
  }) => {
    const { org, trace_id } = await newTrace()
    const numbers = Array.from({ length: 1000 }, (_, index) => index)
    await resultsOf(
      org,
      numbers.map(data => event('observation', anObservation({ trace_id, type: 'input', data }))),
    )
    for (const limit of [99, 999, 1000]) {
      expect((await pagesOf(org, trace_id, limit)).flat().map(({ data }) => data)).toEqual(numbers)
    }
    const first = (await list(org, trace_id)).body
    expect([first.observations.length, typeof first.next_cursor]).toEqual([200, 'string'])
  })

  it('cause no gaps or duplicates on later pages if they arrive during paging', async ({ expect }) => {
    const { org, trace_id, observe } = await newTrace()
    for (let index = 0; index < 4; index++) await observe({ data: index, timestamp: timeAfter(index) })
    const first = (await list(org, trace_id, '?limit=2')).body
    await observe({ data: 'before', timestamp: timeAfter(-1) })
    await observe({ data: 'after', timestamp: timeAfter(9) })
    const second = (await list(org, trace_id, `?limit=9&cursor=${first.next_cursor}`)).body
    expect(second.observations.map(({ data }: Listed) => data)).toEqual([2, 3, 'after'])
  })

  it('include their large values, fetched in one read per batch', async ({ expect }) => {
    const { org, trace_id, observe } = await newTrace()
    const values = Array.from({ length: 40 }, (_, index) =>
      index % 10 === 9 ? `small ${index}` : large(`😀 ${index}`),
    )
    await resultsOf(
      org,
      values.map((data, index) =>
        event('observation', anObservation({ trace_id, type: 'input', data, timestamp: timeAfter(index) })),
      ),
    )
    await observe({ type: 'input', data: large('alone'), timestamp: timeAfter(99) })
    const { bindings, counts } = countingBindings()
    const { body } = await org.bearer(bindings).get(`/api/v1/traces/${trace_id}/observations`)
    expect(body.observations.map(({ data }: Listed) => data)).toEqual([...values, large('alone')])
    expect(counts).toMatchObject({ d1RoundTrips: 1, r2Calls: 2 })
    for (const limit of [1, 7]) {
      expect((await pagesOf(org, trace_id, limit)).flat().map(({ data }) => data)).toEqual([...values, large('alone')])
    }
  })

  it('are complete even if their size shortens a page', async ({ expect }) => {
    const { org, trace_id, observe } = await newTrace()
    const big = 'x'.repeat(MAX_OBSERVATION_BYTES - 2)
    const count = 3
    expect(2 * MAX_OBSERVATION_BYTES).toBeGreaterThan(MAX_PAGE_VALUE_BYTES)
    for (let index = 0; index < count; index++) {
      await observe({ type: 'state', key: 'a', data: big, timestamp: timeAfter(index) })
    }
    const pages = await pagesOf(org, trace_id, OBSERVATIONS_MAX_LIMIT)
    expect(pages.map(({ length }) => length)).toEqual(Array(count).fill(1))
    expect(pages.flat().every(({ data }) => data === big)).toBe(true)
  })

  it('are an empty list for an empty trace', async ({ expect }) => {
    const { org, trace_id } = await newTrace()
    expect((await list(org, trace_id)).body).toEqual({ observations: [], next_cursor: null })
  })

  it.for(['abc', 'trace_', 'trace_a%2Fb', `trace_${'x'.repeat(123)}`, 'trace_a%ZZ'])(
    'return a 400 for the trace_id %s',
    async (trace_id, { expect }) => {
      const org = await newOrg()
      const response = await list(org, trace_id)
      expect(response.status).toBe(400)
      expect(response.body.details[0].path).toBe('trace_id')
    },
  )

  it.for([
    ['a limit of 0', '?limit=0', 'limit'],
    ['a limit above the maximum', `?limit=${OBSERVATIONS_MAX_LIMIT + 1}`, 'limit'],
    ['a limit that is not a number', '?limit=ten', 'limit'],
    ['an invalid cursor', '?cursor=abc', 'cursor'],
    ['a repeated parameter', '?limit=1&limit=1', 'limit'],
  ] as const)('return a 400 for %s', async ([, query, path], { expect }) => {
    const { org, trace_id } = await newTrace()
    const response = await list(org, trace_id, query)
    expect(response.status).toBe(400)
    expect(response.body.details[0].path).toBe(path)
  })

  it('return a 400 for a cursor from another trace', async ({ expect }) => {
    const { org, trace_id, observe } = await newTrace()
    for (let index = 0; index < 2; index++) await observe({ timestamp: timeAfter(index) })
    const other = aTrace()
    await org.ingest.post('/api/v1/traces', other)
    const { next_cursor } = (await list(org, trace_id, '?limit=1')).body
    expect((await list(org, other.trace_id, `?cursor=${next_cursor}`)).status).toBe(400)
  })

  it('return a 404 for an unknown trace or one in another organization or project', async ({ expect }) => {
    const [mine, theirs] = [await newTrace(), await newOrg()]
    await mine.observe({})
    await mine.org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const other = mine.org.clientOf(await mine.org.keyFor({ projectSlug: 'other' }))
    for (const response of [
      await list(theirs, mine.trace_id),
      await list(mine.org, aTrace().trace_id),
      await other.get(`/api/v1/traces/${mine.trace_id}/observations`),
    ]) {
      expect(response.status).toBe(404)
      expect(response.body.error).toBe('Trace not found')
    }
  })

  it('need the read scope', async ({ expect }) => {
    const { org, trace_id } = await newTrace()
    const path = `/api/v1/traces/${trace_id}/observations`
    expect((await org.clientOf(await org.keyFor({ scopes: ['ingest', 'manage'] })).get(path)).status).toBe(403)
    expect((await org.clientOf(await org.keyFor({ scopes: ['read'] })).get(path)).status).toBe(200)
  })

  it('are deleted with their trace, and a new trace with its id starts empty', async ({ expect }) => {
    const { org, trace_id, id, observe } = await newTrace()
    for (const data of ['small', large('')]) await observe({ data, timestamp: TIME })
    const { next_cursor } = (await list(org, trace_id, '?limit=1')).body
    await org.owner.delete(`/api/traces/${id}`)
    expect((await list(org, trace_id)).status).toBe(404)
    expect((await list(org, trace_id, `?cursor=${next_cursor}`)).status).toBe(404)
    await org.ingest.post('/api/v1/traces', aTrace({ trace_id }))
    expect((await list(org, trace_id)).body.observations).toEqual([])
  })
})
