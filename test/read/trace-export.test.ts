import { describe, it, vi } from 'vitest'
import { INLINE_BYTES, MAX_FILE_ITEMS } from '../../src/limits.ts'
import { countingBindings, wrapBindings } from '../support/bindings.ts'
import { aTrace, timeAfter } from '../support/builders.ts'
import { recordsIn } from '../support/csv.ts'
import { isSharded } from '../support/database.ts'
import { allFiles, itemsIn, streamOf } from '../support/files.ts'
import { newOrg, type Org } from '../support/org.ts'
import { newTrace } from '../support/trace.ts'
import { manyTraces } from '../support/traces.ts'

const pathOf = (query: string) => `/api/traces/export?projectSlug=support&${query}`
const listed = async (org: Org, query = '') =>
  (await org.read.get(`/api/traces?projectSlug=support&${query}`)).body.traces

describe('an export of traces', () => {
  it('contains the listed traces as JSON Lines, followed by an end line', async ({ expect }) => {
    const { org, observe, give, step } = await newTrace()
    await observe({ type: 'input', data: { question: 'How "long"?\n' } })
    await observe({ data: { answer: 'é😀' } })
    await step({ model: 'm', usage: { input_tokens: 1, output_tokens: 2 }, cost_usd: 0.5 })
    await give({ rating: 'negative' })
    await newTrace(org)
    const { status, headers, body } = await org.read.get(pathOf('format=jsonl'))
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('application/jsonl; charset=utf-8')
    expect(headers.get('content-disposition')).toBe('attachment; filename="support-traces.jsonl"')
    expect(headers.get('x-next-cursor')).toBeNull()
    expect(itemsIn(body)).toEqual(await listed(org))
    expect(itemsIn(body)).toHaveLength(2)
  })

  it('has a CSV row for each trace, and escapes formulas so that spreadsheets don’t run them', async ({ expect }) => {
    const { org, observe, step } = await newTrace()
    await observe({ type: 'input', data: '=HYPERLINK("http://evil.example")' })
    await observe({ data: '-1, or\nmore' })
    await step({ model: '@m', usage: { input_tokens: 12, output_tokens: 3 }, cost_usd: 0.000_001 })
    await org.ingest.post(
      '/api/v1/traces',
      aTrace({ name: '+name', metadata: {}, duration_ms: 7, status: 'completed' }),
    )
    const { headers, body } = await org.read.get(pathOf('format=csv'))
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(headers.get('content-disposition')).toBe('attachment; filename="support-traces.csv"')
    const records = recordsIn(body)
    const rows = Object.fromEntries(records.map(record => [record.name, record]))
    expect(rows["'+name"]).toMatchObject({
      durationMs: '7',
      inputPreview: '',
      costUsd: '',
      metadata: '{}',
    })
    expect(rows['support-answer']).toMatchObject({
      inputPreview: `'=HYPERLINK("http://evil.example")`,
      outputPreview: "'-1, or\nmore",
      model: "'@m",
      inputTokens: '12',
      outputTokens: '3',
      costUsd: '0.000001',
      durationMs: '',
      reviewState: 'unreviewed',
      metadata: '{"group_id":"session-1","customer":{"tier":"gold"}}',
    })
    expect(records.map(({ id }) => id)).toEqual((await listed(org)).map(({ id }: { id: string }) => id))
  })

  it('shows costs without floating-point rounding errors, and includes matches only for a search', async ({
    expect,
  }) => {
    const { org, step } = await newTrace()
    for (const cost_usd of [0.1, 0.2]) await step({ model: 'm', output: 'found', cost_usd })
    expect((await listed(org))[0].costUsd).not.toBe(0.3)
    const [record] = recordsIn((await org.read.get(pathOf('format=csv'))).body)
    expect(record?.costUsd).toBe('0.3')
    expect(record).not.toHaveProperty('matches')
    const [hit] = recordsIn((await org.read.get(pathOf('format=csv&contains=found'))).body)
    expect(hit?.matches).toContain('found')
  })

  it('contains the same traces as the list with the same filters', async ({ expect }) => {
    const org = await newOrg()
    for (const [index, name] of ['plan', 'write', 'Write'].entries()) {
      const trace = aTrace({ name, timestamp: timeAfter(index), metadata: { index } })
      await org.ingest.post('/api/v1/traces', trace)
      const data = `An answer about the warranty of ${name}.`
      await org.ingest.post('/api/v1/observations', {
        trace_id: trace.trace_id,
        type: 'output',
        data,
        timestamp: timeAfter(0),
      })
    }
    for (const [query, count] of [
      ['name=write', 1],
      ['nameContains=write', 2],
      [`from=${timeAfter(1)}`, 2],
      ['metadata.index=1', 1],
      ['stepId=plan', 1],
      ['contains=WARRANTY%20of', 3],
      ['contains=warranty%20of%20plan', 1],
      ['contains=nothing', 0],
      ['review=accepted', 0],
    ] as const) {
      const items = itemsIn((await org.read.get(pathOf(`format=jsonl&${query}`))).body)
      expect(items, query).toHaveLength(count)
      expect(items, query).toEqual(await listed(org, query))
    }
    const [record] = recordsIn((await org.read.get(pathOf('format=csv&contains=of%20plan'))).body)
    expect(JSON.parse(record?.matches ?? '')).toMatchObject([
      { field: 'output', snippet: expect.stringContaining('plan') },
    ])
  })

  it.skipIf(isSharded)(
    'contains each trace once across several files, even if new ones arrive, and makes few calls',
    async ({ expect }) => {
      const org = await newOrg()
      const ids = await manyTraces(org, MAX_FILE_ITEMS + 3, () => ({ name: 'many', fields: {} }))
      await org.bearer().get(pathOf('format=jsonl&name=none'))
      const { bindings, counts } = countingBindings()
      const first = await org.bearer(bindings).get(pathOf('format=jsonl'))
      expect(itemsIn(first.body)).toHaveLength(MAX_FILE_ITEMS)
      // Two queries for every 500 traces.
      expect(counts).toMatchObject({ d1RoundTrips: (2 * MAX_FILE_ITEMS) / 500, rowsWritten: 0, r2Calls: 0 })
      await org.ingest.post('/api/v1/traces', aTrace({ timestamp: timeAfter(100_000) }))
      const cursor = first.headers.get('x-next-cursor')
      const rest = await allFiles(org, pathOf(`format=jsonl&cursor=${cursor}`))
      expect([first.body, ...rest].flatMap(itemsIn).map(({ id }) => id)).toEqual(ids)
      expect(rest).toHaveLength(1)
    },
  )

  it('continues past any number of traces that don’t match, even in a text search', async ({ expect }) => {
    const org = await newOrg()
    const ids = await manyTraces(org, 1200, place => ({ name: place === 1150 ? 'rare' : 'common', fields: {} }))
    for (const query of ['stepId=rare', 'nameContains=rar', 'contains=rare']) {
      const files = await allFiles(org, pathOf(`format=jsonl&${query}`))
      expect(
        files.flatMap(itemsIn).map(({ id }) => id),
        query,
      ).toEqual([ids[1149]])
    }
  })

  it('leaves out traces that are deleted while the client reads', async ({ expect }) => {
    const org = await newOrg()
    const ids = await manyTraces(org, 1000, () => ({ name: 'many', fields: {} }))
    const { body } = await streamOf(org, pathOf('format=jsonl'))
    await org.owner.delete(`/api/traces/${ids[999]}`)
    expect(itemsIn(await new Response(body).text()).map(({ id }) => id)).toEqual(ids.slice(0, 999))
  })

  it.skipIf(isSharded)('is cut off if the database fails, and the failure is logged', async ({ expect }) => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    const org = await newOrg()
    const ids = await manyTraces(org, 1500, () => ({ name: 'many', fields: {} }))
    let isBroken = false
    const bindings = wrapBindings((binding, call) => {
      if (binding === 'DB' && isBroken) throw new Error('D1_ERROR: D1 DB is overloaded. Too many requests queued.')
      return call()
    })
    const { status, body } = await streamOf(org, pathOf('format=jsonl'), bindings)
    isBroken = true
    expect(status).toBe(200)
    const decoder = new TextDecoder()
    let text = ''
    const read = async () => {
      for await (const chunk of body ?? []) text += decoder.decode(chunk, { stream: true })
    }
    await expect(read()).rejects.toThrow()
    expect(text).toContain(ids[0])
    expect(text).not.toContain('"end":true')
    expect(log.mock.calls.flat().join()).toContain('file_cut')
    log.mockRestore()
  })

  it.skipIf(isSharded)('fetches no values from R2', async ({ expect }) => {
    const { org, observe } = await newTrace()
    await observe({ data: 'x'.repeat(INLINE_BYTES) })
    await org.bearer().get(pathOf('format=csv'))
    const { bindings, counts } = countingBindings()
    await org.bearer(bindings).get(pathOf('format=csv'))
    expect(counts).toMatchObject({ d1RoundTrips: 2, r2Calls: 0 })
  })

  it.for([
    ['without a format', ''],
    ['with an unknown format', 'format=xml'],
    ['with a limit', 'format=csv&limit=2'],
    ['with a sort order', 'format=csv&sort=cost'],
    ['with a cursor from the list', 'format=csv&cursor=abc'],
    ['with text that is too short', 'format=csv&contains=ab'],
  ] as const)('rejects a request %s', async ([, query], { expect }) => {
    const org = await newOrg()
    expect((await org.read.get(pathOf(query))).status).toBe(400)
  })

  it('covers only its own organization and project', async ({ expect }) => {
    const { org } = await newTrace()
    const other = await newOrg()
    const path = `/api/traces/export?format=jsonl&projectId=${org.project.id}`
    expect((await other.read.get(path)).status).toBe(403)
    await org.owner.post('/api/projects', { slug: 'sales', name: 'Sales' })
    const sales = org.clientOf(await org.keyFor({ projectSlug: 'sales', scopes: ['read'] }))
    expect((await sales.get(path)).status).toBe(403)
    expect(itemsIn((await org.read.get('/api/traces/export?format=jsonl&projectSlug=sales')).body)).toEqual([])
  })
})
