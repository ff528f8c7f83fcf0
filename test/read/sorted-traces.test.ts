import { describe, it } from 'vitest'
import { MAX_SCANNED_TRACES, SORTED_STEP_TRACES } from '../../src/limits.ts'
import { event, resultsOf } from '../support/batch.ts'
import { countingBindings } from '../support/bindings.ts'
import { aSpan, aTrace, timeAfter } from '../support/builders.ts'
import { isSharded, stored } from '../support/database.ts'
import { newOrg, type Org } from '../support/org.ts'
import { manyTraces } from '../support/traces.ts'

interface Listed {
  id: string
  durationMs: number | null
  costUsd: number | null
}

interface Answer {
  traces: Listed[]
  sortedOver?: { traces: number; isAll: boolean }
  nextCursor: string | null
}

const pathOf = (query: string) => `/api/traces?projectSlug=support&${query}`

const read = async (org: Org, query: string): Promise<Answer> => (await org.read.get(pathOf(query))).body

/** Every page of a sorted list. `between` runs before each page but the first. */
async function pagesOf(org: Org, query: string, between: () => Promise<unknown> = async () => {}): Promise<Answer[]> {
  const pages = [await read(org, query)]
  for (let cursor = pages[0]?.nextCursor; cursor; cursor = pages.at(-1)?.nextCursor) {
    await between()
    pages.push(await read(org, `${query}&cursor=${cursor}`))
  }
  return pages
}

/** Creates traces with these durations and costs, each newer than the one before. */
async function putTraces(org: Org, values: readonly { duration?: number; costs?: readonly number[]; name?: string }[]) {
  const events = values.flatMap(({ duration, costs = [], name = 'a' }, index) => {
    const trace = aTrace({ name, status: 'completed', timestamp: timeAfter(index), duration_ms: duration })
    const { trace_id } = trace
    return [event('trace', trace), ...costs.map(cost_usd => event('span', aSpan({ trace_id, model: 'm', cost_usd })))]
  })
  await resultsOf(org, events)
}

const durations = (pages: readonly Answer[]) =>
  pages.flatMap(({ traces }) => traces.map(({ durationMs }) => durationMs))
const costs = (pages: readonly Answer[]) => pages.flatMap(({ traces }) => traces.map(({ costUsd }) => costUsd))

describe('a list of traces sorted by', () => {
  it('duration has the longest first and traces without a duration last, at any page size', async ({ expect }) => {
    const org = await newOrg()
    await putTraces(org, [{ duration: 5 }, {}, { duration: 90 }, { duration: 0 }, { duration: 5 }, {}, { duration: 7 }])
    const whole = await read(org, 'sort=duration')
    expect(durations([whole])).toEqual([90, 7, 5, 5, 0, null, null])
    expect(whole).toMatchObject({ sortedOver: { traces: 7, isAll: true }, nextCursor: null })
    const ids = whole.traces.map(({ id }) => id)
    for (const limit of [1, 2, 3, 7]) {
      const pages = await pagesOf(org, `sort=duration&limit=${limit}`)
      expect(pages.flatMap(({ traces }) => traces.map(({ id }) => id))).toEqual(ids)
      expect(pages).toHaveLength(Math.ceil(7 / limit))
      for (const page of pages) expect(page.sortedOver).toEqual({ traces: 7, isAll: true })
    }
    expect((await read(org, '')).sortedOver).toBeUndefined()
  })

  it('cost uses the sum that each trace’s item shows', async ({ expect }) => {
    const org = await newOrg()
    await putTraces(org, [{ costs: [0.5, 0.25] }, { costs: [1] }, {}, { costs: [0] }, { costs: [0.1, 0.1, 0.1] }])
    expect(costs([await read(org, 'sort=cost')])).toEqual([1, 0.75, 0.1 + 0.1 + 0.1, 0, null])
    expect(costs(await pagesOf(org, 'sort=cost&limit=2'))).toEqual([1, 0.75, 0.1 + 0.1 + 0.1, 0, null])
  })

  it('a value can be combined with every filter', async ({ expect }) => {
    const org = await newOrg()
    await putTraces(org, [
      { duration: 1, name: 'b' },
      { duration: 2 },
      { duration: 3, name: 'b' },
      { duration: 4, name: 'b' },
    ])
    const since = `from=${timeAfter(2)}`
    expect(durations([await read(org, 'sort=duration&name=b')])).toEqual([4, 3, 1])
    expect(durations([await read(org, `sort=duration&name=b&${since}`)])).toEqual([4, 3])
    expect(durations([await read(org, 'sort=duration&nameContains=B')])).toEqual([4, 3, 1])
    expect(durations([await read(org, `sort=duration&stepId=b&to=${timeAfter(3)}`)])).toEqual([3, 1])
    expect(
      durations([await read(org, 'sort=duration&metadata.customer.tier=gold&metadata.group_id=session-1')]),
    ).toEqual([4, 3, 2, 1])
    expect(await read(org, 'sort=cost&name=none')).toEqual({
      traces: [],
      sortedOver: { traces: 0, isAll: true },
      nextCursor: null,
    })
  })

  it.for(['duration', 'cost'])('%s lists each trace once while new ones arrive', async (sort, { expect }) => {
    const org = await newOrg()
    const values = [3, 1, 4, 1, 5]
    await putTraces(
      org,
      values.map(value => ({ duration: value, costs: [value] })),
    )
    const pages = await pagesOf(org, `sort=${sort}&limit=2`, () =>
      resultsOf(org, [event('trace', aTrace({ timestamp: timeAfter(1000), duration_ms: 2, status: 'completed' }))]),
    )
    expect(durations(pages)).toEqual([5, 4, 3, 1, 1])
    for (const { sortedOver } of pages) expect(sortedOver?.traces).toBe(5)
  })

  it('a value rejects a cursor from another order, an unknown order, and a search by text', async ({ expect }) => {
    const org = await newOrg()
    await putTraces(org, [{ duration: 1 }, { duration: 2 }])
    const { nextCursor } = await read(org, 'sort=duration&limit=1')
    for (const query of [`sort=cost&cursor=${nextCursor}`, `cursor=${nextCursor}`]) {
      const { status, body } = await org.read.get(pathOf(query))
      expect(status).toBe(400)
      expect(body.error).toBe('cursor: is not a cursor for this list')
    }
    for (const query of ['sort=name', 'sort=cost&contains=warranty']) {
      const { status, body } = await org.read.get(pathOf(query))
      expect([status, body.details[0].path]).toEqual([400, 'sort'])
    }
  })

  it.skipIf(isSharded)(
    `a value covers the newest ${MAX_SCANNED_TRACES} traces, and says if there are more`,
    async ({ expect }) => {
      const org = await newOrg()
      const ids = await manyTraces(org, MAX_SCANNED_TRACES + 1, () => ({ name: 'many', fields: {} }))
      const give = (place: number, duration: number) =>
        stored
          .prepare('update traces set duration_ms = ? where id = ?')
          .bind(duration, ids[place - 1])
          .run()
      await give(2, 10)
      await give(MAX_SCANNED_TRACES, 20)
      await give(MAX_SCANNED_TRACES + 1, 30)
      await org.bearer().get(pathOf(''))
      for (const [sort, roundTrips] of [
        ['duration', 2],
        ['cost', MAX_SCANNED_TRACES / SORTED_STEP_TRACES + 1],
      ] as const) {
        const { bindings, counts } = countingBindings()
        const { body } = await org.bearer(bindings).get(pathOf(`sort=${sort}&limit=3`))
        expect(body.sortedOver).toEqual({ traces: MAX_SCANNED_TRACES, isAll: false })
        expect(counts.d1RoundTrips).toBe(roundTrips)
      }
      const { traces, nextCursor } = await read(org, 'sort=duration&limit=3')
      expect(durations([await read(org, 'sort=duration&limit=3')])).toEqual([20, 10, null])
      const { traces: more, sortedOver } = await read(org, `sort=duration&limit=200&cursor=${nextCursor}`)
      expect(more.map(({ id }) => id)).toEqual(ids.filter(id => id !== ids[1] && id !== traces[2]?.id).slice(0, 200))
      expect(sortedOver?.traces).toBe(MAX_SCANNED_TRACES)
      const fewer = await read(org, `sort=duration&to=${timeAfter(MAX_SCANNED_TRACES)}`)
      expect(fewer.sortedOver).toEqual({ traces: MAX_SCANNED_TRACES - 1, isAll: true })
    },
  )
})
