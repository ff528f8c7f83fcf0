import { describe, it } from 'vitest'
import { planFile } from '../../src/api/file-plan.ts'
import { INLINE_BYTES, MAX_FILE_BYTES, MAX_FILE_ITEMS, MAX_FILE_OBJECTS } from '../../src/limits.ts'
import { measureSpans } from '../../src/store/spans/span-sizes.ts'
import { storeOfTrace } from '../../src/store/traces/placed.ts'
import { storeOf } from '../support/attribution.ts'
import { timeAfter } from '../support/builders.ts'
import { recordsIn } from '../support/csv.ts'
import { stored } from '../support/database.ts'
import { allFiles, itemsIn, streamOf } from '../support/files.ts'
import { newOrg, type Org } from '../support/org.ts'
import { newTrace } from '../support/trace.ts'
import { manyTraces } from '../support/traces.ts'

const pathOf = (query: string) => `/api/spans/export?projectSlug=support&${query}`
const listed = async (org: Org, query = '') =>
  (await org.read.get(`/api/spans?projectSlug=support&${query}`)).body.spans

const large = 'warranty '.repeat(INLINE_BYTES / 4)

/** A trace with a root, a reviewed step with large values, and another step. */
async function newSteps() {
  const world = await newTrace()
  const { org, observe, step } = world
  await observe({ type: 'input', data: { question: 'How long?' } })
  await observe({ data: 'Two years, says the root.' })
  const [reviewed, other] = [crypto.randomUUID(), crypto.randomUUID()]
  await step({ span_id: reviewed, step_id: 'write', input: { text: large }, output: large, timestamp: timeAfter(1) })
  await observe({ span_id: reviewed, type: 'state', key: 'chunks', data: [large] })
  await step({
    span_id: other,
    step_id: '=cmd',
    output: '@formula',
    model: '-m',
    timestamp: timeAfter(2),
    cost_usd: 0.5,
  })
  await org.owner.put(`/api/spans/${reviewed}/review`, {
    decision: 'correct',
    approvedOutput: `${large}, corrected`,
    errorType: 'reasoning_error',
    comment: '+1',
  })
  return { ...world, reviewed, other }
}

describe('an export of spans', () => {
  it('has the listed items in full as JSON Lines, followed by an end line', async ({ expect }) => {
    const { org, reviewed } = await newSteps()
    const { status, headers, body } = await org.read.get(pathOf('format=jsonl'))
    expect(status).toBe(200)
    expect(headers.get('content-disposition')).toBe('attachment; filename="support-spans.jsonl"')
    expect(headers.get('x-next-cursor')).toBeNull()
    const items = itemsIn(body)
    expect(items).toEqual(await listed(org))
    expect(items).toHaveLength(3)
    expect(items.find(({ id }) => id === reviewed)).toMatchObject({
      input: { text: large },
      output: large,
      approvedOutput: `${large}, corrected`,
      state: { chunks: [large] },
      truncated: [],
    })
  })

  it('has a CSV row for each span, with no formula that a spreadsheet would run', async ({ expect }) => {
    const { org, reviewed, other } = await newSteps()
    const { headers, body } = await org.read.get(pathOf('format=csv'))
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8')
    const rows = Object.fromEntries(recordsIn(body).map(record => [record.id, record]))
    expect(rows[other]).toMatchObject({
      stepId: "'=cmd",
      output: "'@formula",
      model: "'-m",
      costUsd: '0.5',
      approvedOutput: '',
      review: 'unreviewed',
      comment: '',
    })
    expect(rows[reviewed]).toMatchObject({
      input: JSON.stringify({ text: large }),
      output: large,
      approvedOutput: `${large}, corrected`,
      state: JSON.stringify({ chunks: [large] }),
      review: 'corrected',
      comment: "'+1",
      errorType: 'reasoning_error',
    })
  })

  it('has the spans that match the filters of the list', async ({ expect }) => {
    const { org, reviewed } = await newSteps()
    for (const [query, count] of [
      ['stepId=write', 1],
      ['hasOutput=true', 3],
      ['review=corrected', 1],
      ['model=-m', 1],
      ['decision=correct', 1],
      ['decision=accept', 0],
      ['errorType=reasoning_error&stepId=write', 1],
      ['contains=WARRANTY', 1],
      ['contains=the%20root', 1],
      ['decision=correct&contains=chunks', 1],
      ['decision=correct&contains=nothing', 0],
    ] as const) {
      const items = itemsIn((await org.read.get(pathOf(`format=jsonl&${query}`))).body)
      expect(items, query).toHaveLength(count)
      expect(items, query).toEqual(await listed(org, query))
    }
    const [record] = recordsIn((await org.read.get(pathOf('format=csv&decision=correct&contains=warranty'))).body)
    expect(record?.id).toBe(reviewed)
    expect(JSON.parse(record?.matches ?? '')).toMatchObject([{ spanId: reviewed }, {}, {}])
  })

  it('has each span once across several files', async ({ expect }) => {
    const org = await newOrg()
    await manyTraces(org, MAX_FILE_ITEMS + 3, () => ({ name: 'many', fields: {} }))
    const [first = '', ...rest] = await allFiles(org, pathOf('format=jsonl'))
    expect(itemsIn(first)).toHaveLength(MAX_FILE_ITEMS)
    expect(rest.flatMap(itemsIn)).toHaveLength(3)
    expect(new Set([first, ...rest].flatMap(itemsIn).map(({ id }) => id)).size).toBe(MAX_FILE_ITEMS + 3)
  })

  it('leaves out spans that are deleted while the client reads', async ({ expect }) => {
    const org = await newOrg()
    const ids = await manyTraces(org, 1000, () => ({ name: 'many', fields: {} }))
    const { body } = await streamOf(org, pathOf('format=jsonl'))
    await org.owner.delete(`/api/traces/${ids[999]}`)
    expect(itemsIn(await new Response(body).text())).toHaveLength(999)
  })

  it('measures all values of a span, in rows and in R2', async ({ expect }) => {
    const { org, id, reviewed, other } = await newSteps()
    const trace = await stored
      .prepare('select key, root_span_id from traces where id = ?')
      .bind(id)
      .first<{ key: number; root_span_id: string }>()
    const keysOf = (spanId: string) => ({ spanId, traceKey: trace?.key ?? 0, rootSpanId: trace?.root_span_id ?? '' })
    const store = await storeOfTrace(await storeOf(org), id)
    const keys = [other, reviewed, trace?.root_span_id ?? '', crypto.randomUUID()].map(keysOf)
    const [small, big, root, none] = await measureSpans(store, keys)
    expect(small).toEqual({ bytes: expect.any(Number), objects: 0 })
    expect(root?.bytes).toBeGreaterThan((none?.bytes ?? 0) + 40)
    expect(root?.objects).toBe(0)
    expect(big?.objects).toBe(4)
    expect(big?.bytes).toBeGreaterThan(4 * large.length)
    expect(big?.bytes).toBeLessThan(6 * large.length)
  })

  it.for([
    ['bytes', { bytes: 1024 * 1024, objects: 0 }, MAX_FILE_BYTES / 1024 / 1024],
    ['values in R2', { bytes: 1, objects: 3 }, MAX_FILE_OBJECTS / 3],
    ['items', { bytes: 1, objects: 0 }, MAX_FILE_ITEMS],
    ['one item that exceeds the limit', { bytes: 2 * MAX_FILE_BYTES, objects: 0 }, 1],
  ] as const)('ends a file at its limit: %s', async ([, size, count], { expect }) => {
    const store = await storeOf(await newOrg())
    const findNext = async (after = 0, limit: number) => ({
      items: Array.from({ length: limit }, (_, index) => ({ place: after + index + 1, size })),
      nextPlace: after + limit,
    })
    const { planned, nextPlace } = await planFile(store, undefined, findNext)
    expect(planned).toHaveLength(count)
    expect(nextPlace).toBe(count)
  })

  it.for([
    ['a request without a format', ''],
    ['previews', 'format=jsonl&payloads=preview'],
    ['an empty range', `format=jsonl&from=${timeAfter(1)}&to=${timeAfter(0)}`],
    ['a cursor from the list', 'format=csv&cursor=abc'],
  ] as const)('rejects %s', async ([, query], { expect }) => {
    const org = await newOrg()
    expect((await org.read.get(pathOf(query))).status).toBe(400)
  })

  it('rejects a cursor from a file without a decision filter if the next file has one', async ({ expect }) => {
    const org = await newOrg()
    await manyTraces(org, MAX_FILE_ITEMS + 1, () => ({ name: 'many', fields: {} }))
    const cursor = (await org.read.get(pathOf('format=jsonl'))).headers.get('x-next-cursor')
    expect((await org.read.get(pathOf(`format=jsonl&decision=accept&cursor=${cursor}`))).status).toBe(400)
  })

  it('covers only its own organization and project', async ({ expect }) => {
    const { org } = await newTrace()
    const other = await newOrg()
    const path = `/api/spans/export?format=jsonl&projectId=${org.project.id}`
    expect((await other.read.get(path)).status).toBe(403)
    await org.owner.post('/api/projects', { slug: 'sales', name: 'Sales' })
    const sales = org.clientOf(await org.keyFor({ projectSlug: 'sales', scopes: ['read'] }))
    expect((await sales.get(path)).status).toBe(403)
  })
})
