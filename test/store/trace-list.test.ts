import { beforeAll, describe, it } from 'vitest'
import { MAX_SCANNED_TRACES, PROBED_TRACES } from '../../src/limits.ts'
import { rowsReadBy } from '../support/bindings.ts'
import { isSharded } from '../support/database.ts'
import { newOrg, type Org } from '../support/org.ts'
import { manyTraces } from '../support/traces.ts'

const COUNT = 8000
/** The positions of three rare traces. */
const RARE = [10, 4000, 7999]

let org: Org
beforeAll(async () => {
  org = await newOrg()
  await manyTraces(org, COUNT, place => ({
    name: RARE.includes(place) ? 'rare' : 'common',
    fields: {
      common: '1',
      // This filter looks selective, but isn't.
      group_id: 'everyone',
      region: 'a value that is long and that every trace has all the same',
      ...(RARE.includes(place) && { rare: '1' }),
      ...(place % 2 === 0 && { even: '1' }),
      ...(place > COUNT - 5 && { oldest: '1' }),
    },
  }))
  await org.bearer().get('/api/projects')
})

const REGION = `region=${encodeURIComponent('a value that is long and that every trace has all the same')}`
/** Each field is counted twice, up to a limit: once for its path and once for its value. */
const probes = (fields: number) => 2 * (PROBED_TRACES + 1) * fields

const searched = (query: string) => `/api/v1/traces/search?${query}&limit=100`
const listed = (query: string) =>
  `/api/traces?projectSlug=support&limit=200&${query
    .split('&')
    .map(filter => `metadata.${filter}`)
    .join('&')}`

describe.for([
  ['a search', searched],
  ['the list', listed],
] as const)('%s by several metadata fields', ([, pathOf]) => {
  it.skipIf(isSharded).for([
    ['a rare and a common field', ['rare=1', 'common=1'], 3, 1],
    ['a rare field and a conversation', ['rare=1', 'group_id=everyone'], 3, 1],
    ['a rare field and a long value', ['rare=1', REGION], 3, 1],
    ['a field without matches and a common field', ['rare=2', 'common=1'], 0, 1],
    [
      'a field that only the oldest traces have, and all common fields',
      ['oldest=1', 'common=1', 'group_id=everyone', REGION],
      5,
      3,
    ],
  ] as const)('reads only a few rows in either order: %s', async ([, filters, count, common], { expect }) => {
    for (const query of [filters.join('&'), filters.toReversed().join('&')]) {
      expect((await org.ingest.get(pathOf(query))).body.traces).toHaveLength(count)
      const rows = await rowsReadBy(bindings => org.bearer(bindings).get(pathOf(query)))
      expect(rows).toBeGreaterThan(0)
      expect(rows).toBeLessThan(probes(common) + 210)
    }
  })
})

describe('a search', () => {
  it.skipIf(isSharded).for([
    ['a rare field', 'rare=1', 30],
    ['a common field', 'common=1', 7 * 100],
    ['a rare name and a rare field', 'name=rare&rare=1', 30],
    ['a name that every trace has', 'name=common', 5 * 100],
    ['a status that every trace has', 'status=running', 5 * 100],
    ['a field that no trace has', 'none=1', 10],
    ['two fields that many traces have', 'common=1&even=1', probes(2) + 12 * 200],
  ] as const)('reads about as many rows as it returns: %s', async ([, query, most], { expect }) => {
    const rows = await rowsReadBy(bindings => org.bearer(bindings).get(searched(query)))
    expect(rows).toBeLessThan(most)
  })

  it.for([
    ['a rare name', 'name=rare', 'name', 'rare'],
    ['a rare status', 'status=running', 'status', 'running'],
    ['a rare name with a common status', 'name=rare&status=completed', 'name', 'rare'],
  ] as const)(
    'finds a few traces among many and reads only a few rows: %s',
    async ([, query, field, value], { expect }) => {
      const some = await newOrg()
      const status = (place: number) => (value === 'running' && RARE.includes(place) ? 'running' : 'completed')
      await manyTraces(some, COUNT, place => ({
        name: RARE.includes(place) ? 'rare' : 'common',
        status: status(place),
        fields: {},
      }))
      const { traces, warnings } = (await some.ingest.get(searched(query))).body
      expect(traces.map((trace: Record<string, string>) => trace[field])).toEqual(RARE.map(() => value))
      expect(warnings).toBeUndefined()
      const rows = await rowsReadBy(bindings => some.bearer(bindings).get(searched(query)))
      expect(rows).toBeLessThan(40)
    },
  )

  it.skipIf(isSharded).for([
    ['a status that no trace has', 'status=completed', 0],
    ['two common fields that no trace has together', 'even=1&odd=1', 0],
  ] as const)('warns if it did not scan every trace that could match: %s', async ([, query, count], { expect }) => {
    const big = await newOrg()
    await manyTraces(big, 2 * MAX_SCANNED_TRACES + 2, place => ({
      name: 'common',
      fields: place % 2 === 0 ? { even: '1' } : { odd: '1' },
    }))
    const path = searched(query)
    const { body } = await big.ingest.get(path)
    expect(body).toMatchObject({ count, warnings: [expect.stringContaining('newest 5000 traces')] })
    const rows = await rowsReadBy(bindings => big.bearer(bindings).get(path))
    // For each trace, the search reads the trace's row and index entry, and seeks once for each field in the query.
    expect(rows).toBeLessThan(9 * MAX_SCANNED_TRACES)
  })

  it('returns no warning if it reaches its limit', async ({ expect }) => {
    const { body } = await org.ingest.get('/api/v1/traces/search?common=1&even=1&limit=3')
    expect(body).toMatchObject({ count: 3 })
    expect(body.warnings).toBeUndefined()
  })
})
