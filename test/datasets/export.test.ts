import { createExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import * as fc from 'fast-check'
import { describe, it, vi } from 'vitest'
import { answer } from '../../src/app.ts'
import { planItems } from '../../src/datasets/export-reading.ts'
import type { Env } from '../../src/env.ts'
import { INLINE_BYTES, MAX_FILE_BYTES, MAX_FILE_ITEMS, MAX_FILE_OBJECTS } from '../../src/limits.ts'
import { findDataset } from '../../src/store/datasets/datasets.ts'
import { storeOf } from '../support/attribution.ts'
import { countingBindings, rowsReadBy, wrapBindings } from '../support/bindings.ts'
import { recordsIn } from '../support/csv.ts'
import { isSharded, stored } from '../support/database.ts'
import { newOrg, type Org } from '../support/org.ts'
import { newReviewed } from '../support/reviews.ts'

const STEP = 'generate-answer'

/** A tenant with an empty dataset, and functions to fill and export it. */
async function newDataset(stepId = STEP) {
  const org = await newOrg()
  const { id } = (await org.owner.put('/api/datasets', { projectSlug: 'support', stepId })).body
  const path = `/api/datasets/${id}`
  const version = async (): Promise<string> =>
    (await org.read.get('/api/datasets?projectSlug=support')).body.datasets[0].version
  const add = async (...examples: object[]): Promise<string[]> => {
    const items = examples.map(example => ({ id: crypto.randomUUID(), ...example }))
    const { status, body } = await org.owner.post(`${path}/items`, { items })
    if (status !== 207 || body.results.some((result: { status: number }) => result.status !== 201)) {
      throw new Error(`the import returned ${status}`)
    }
    return items.map(({ id }) => id)
  }
  const change = (itemId: string, fields: object) => org.owner.patch(`${path}/items/${itemId}`, fields)
  const file = (query: string) => org.read.get(`${path}/export?${query}`)
  return { org, id: String(id), path, version, add, change, file }
}

/** A reviewed span of the dataset's step, in its own trace. */
async function newItem(
  org: Org,
  { output = { answer: '12' }, ...fields }: { output?: unknown; [field: string]: unknown },
) {
  const trace = await newReviewed(null, org)
  const span_id = crypto.randomUUID()
  await trace.step({ span_id, step_id: STEP, output, ...fields })
  const review = (body: object) => org.owner.put(`/api/spans/${span_id}/review`, body)
  return { ...trace, spanId: span_id, review }
}

const lines = (text: string): { [field: string]: unknown }[] =>
  text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))

/** All files in an export. Checks that each file has a correct last line. */
async function allFiles({ file }: Pick<Awaited<ReturnType<typeof newDataset>>, 'file'>, query: string) {
  const bodies: string[] = []
  for (let cursor: string | null = null; ; ) {
    const response = await file(cursor === null ? query : `${query.replace(/&cursor=.*/, '')}&cursor=${cursor}`)
    if (response.status !== 200) throw new Error(`the export returned ${response.status}: ${response.body.error}`)
    bodies.push(response.body)
    cursor = response.headers.get('x-next-cursor')
    if (cursor === null) return bodies
  }
}

/** The items in all files of an export. */
const allItems = async (dataset: Awaited<ReturnType<typeof newDataset>>, query = ''): Promise<string[]> => {
  const bodies = await allFiles(dataset, `format=jsonl${query}`)
  return bodies.flatMap(body => {
    const items = lines(body)
    const end = items.pop()
    if (end?.end !== true || end.items !== items.length) throw new Error("a file's last line is wrong")
    return items.map(({ id }) => String(id))
  })
}

/** Inserts imported examples into the control database directly. An example's `input` and `expected` are its number. */
async function insertExamples({ id }: { id: string }, count: number, { inputRef = null as string | null } = {}) {
  await env.DB.batch([
    env.DB.prepare(
      `with recursive example(number) as (select 1 union all select number + 1 from example where number < ?2)
       insert into dataset_entries (project_key, step_id, trace_key, item_id, sequence, change, decision, split,
         is_split_set, is_excluded, is_stale, values_sequence, decided_at, input_hash, output_revision, input, input_ref,
         expected)
       select project_key, step_id, 0, printf('00000000-0000-4000-8000-%012d', number), number, 'import', 'import',
         iif(number % 5 = 0, 'test', 'train'), 0, 0, 0, number, 0, '', '', cast(number as text), ?3, cast(number as text)
       from datasets cross join example where id = ?1`,
    ).bind(id, count, inputRef),
    env.DB.prepare('update datasets set sequence = ?2, imported = ?2 where id = ?1').bind(id, count),
  ])
}

describe('a JSON Lines export', () => {
  it('has the same items as the list, and a last line', async ({ expect }) => {
    const dataset = await newDataset()
    const { org, path, file } = dataset
    const [example] = await dataset.add({
      input: 'How "long"?\n',
      expected: 'é😀',
      state: { k: [1] },
      metadata: { a: 1 },
    })
    const { spanId, review } = await newItem(org, { input: { q: 1 }, output: { answer: '12' } })
    await review({ decision: 'correct', approvedOutput: { answer: '24' }, errorType: 'reasoning_error' })
    const { items } = (await org.read.get(`${path}/items`)).body
    const { status, headers, body } = await file('format=jsonl')
    expect(status).toBe(200)
    expect(items.map(({ id }: { id: string }) => id)).toEqual([spanId, example])
    expect(lines(body)).toEqual([...items, { end: true, items: 2 }])
    expect(body.endsWith('{"end":true,"items":2}\n')).toBe(true)
    expect(headers.get('content-type')).toBe('application/jsonl; charset=utf-8')
    expect(headers.get('content-disposition')).toBe(
      `attachment; filename="generate-answer-all-${await dataset.version()}.jsonl"`,
    )
    expect(headers.get('x-next-cursor')).toBeNull()
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.has('ratelimit')).toBe(true)
    expect(headers.get('access-control-expose-headers')).toContain('x-next-cursor')
  })

  it('has only the last line if there are no items', async ({ expect }) => {
    const { file } = await newDataset()
    expect((await file('format=jsonl')).body).toBe('{"end":true,"items":0}\n')
  })

  it('marks excluded and stale items', async ({ expect }) => {
    const dataset = await newDataset()
    const [excluded = ''] = await dataset.add({ input: 1, expected: 1 })
    await dataset.change(excluded, { excluded: true, note: 'A test' })
    const { review, observe, spanId } = await newItem(dataset.org, {})
    await review({ decision: 'accept' })
    await observe({ span_id: spanId, data: { answer: 'Something else' } })
    expect(lines((await dataset.file('format=jsonl')).body)).toMatchObject([
      { id: spanId, stale: true, excluded: false },
      { id: excluded, stale: false, excluded: true, note: 'A test' },
      { end: true },
    ])
  })

  it('has large values in full', async ({ expect }) => {
    const dataset = await newDataset()
    const text = 'é'.repeat(INLINE_BYTES)
    await dataset.add({ input: { text }, expected: { text }, state: { text } })
    const { review } = await newItem(dataset.org, { input: { text }, output: { text } })
    await review({ decision: 'correct', approvedOutput: { text: `${text}!` } })
    expect(lines((await dataset.file('format=jsonl')).body)).toMatchObject([
      { input: { text }, output: { text }, expected: [{ text: `${text}!` }], truncated: [] },
      { input: { text }, output: null, expected: [{ text }], state: { text }, truncated: [] },
      { end: true, items: 2 },
    ])
  })

  it('has the items in one split or in all splits', async ({ expect }) => {
    const dataset = await newDataset()
    const [first = '', second = '', third = ''] = await dataset.add(
      { input: 1, expected: 1 },
      { input: 2, expected: 2 },
      { input: 3, expected: 3 },
    )
    await dataset.change(first, { split: 'dev' })
    await dataset.change(second, { split: 'test' })
    await dataset.change(third, { split: 'test' })
    expect(await allItems(dataset, '&split=dev')).toEqual([first])
    expect((await allItems(dataset, '&split=test')).sort()).toEqual([second, third].sort())
    expect((await allItems(dataset)).sort()).toEqual([first, second, third].sort())
    expect(await allItems(dataset, '&split=train')).toEqual([])
  })

  it('has the items of an earlier version as they were', async ({ expect }) => {
    const dataset = await newDataset()
    const [kept = ''] = await dataset.add({ input: 1, expected: 1 })
    const before = await dataset.version()
    const [added] = await dataset.add({ input: 2, expected: 2 })
    await dataset.change(kept, { excluded: true })
    const old = (await dataset.file(`format=jsonl&version=${before}`)).body
    expect(lines(old)).toMatchObject([
      { id: kept, excluded: false },
      { end: true, items: 1 },
    ])
    expect((await allItems(dataset)).sort()).toEqual([kept, added].sort())
    expect((await dataset.file('format=jsonl&version=nope')).status).toBe(400)
  })

  it('covers a renamed step under both of its names', async ({ expect }) => {
    const dataset = await newDataset()
    const [example] = await dataset.add({ input: 1, expected: 1 })
    const { org } = dataset
    await org.owner.put(`/api/projects/${org.project.id}/step-names`, { names: { [STEP]: 'answer' } })
    const { spanId, review } = await newItem(org, { step_id: 'answer' })
    await review({ decision: 'accept' })
    const renamed = (await org.read.get('/api/datasets?projectSlug=support')).body.datasets[0]
    expect(renamed).toMatchObject({ stepId: 'answer', items: 2 })
    expect((await allItems(dataset)).sort()).toEqual([example, spanId].sort())
    const { headers, body } = await org.read.get(`/api/datasets/${renamed.id}/export?format=jsonl`)
    expect(lines(body)).toHaveLength(3)
    expect(headers.get('content-disposition')).toContain('filename="answer-all-')
  })
})

describe('a CSV export', () => {
  const HEAD = 'id,spanId,traceId,decision,by,at,errorType,promptVersionId,split,stale,excluded,note,input,state,output'

  it('has a column for each field of the outputSchema', async ({ expect }) => {
    const dataset = await newDataset()
    const { org } = dataset
    const outputSchema = { type: 'object', properties: { total: {}, note: {} } }
    await org.owner.post('/api/prompts', { projectSlug: 'support', stepId: STEP, content: 'Go.', outputSchema })
    const [id = ''] = await dataset.add({
      input: { q: 'a,b' },
      expected: { note: '=1+1', total: -5, extra: [1] },
      state: { k: 'v' },
      metadata: { tier: 'gold' },
    })
    await dataset.change(id, { split: '-dev', note: '@home' })
    const { headers, body } = await dataset.file('format=csv')
    const { by, at } = (await org.read.get(`${dataset.path}/items`)).body.items[0]
    expect(body).toBe(
      [
        `${HEAD},expected.total,expected.note,metadata,_rest`,
        `${id},,,,${by ?? ''},${at},,,'-dev,false,false,'@home,"{""q"":""a,b""}","{""k"":""v""}",,-5,'=1+1,"{""tier"":""gold""}","{""expected"":{""extra"":[1]}}"`,
        '',
      ].join('\r\n'),
    )
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(headers.get('content-disposition')).toMatch(/^attachment; filename="generate-answer-all-[\w.-]+\.csv"$/)
  })

  it('has a column for each field of the first items if there is no schema', async ({ expect }) => {
    const dataset = await newDataset()
    await dataset.add({ input: 1, expected: { a: 'x', b: null } })
    await dataset.add({ input: 2, expected: { c: { d: true } } })
    await dataset.add({ input: 3, expected: 'text' })
    const records = recordsIn((await dataset.file('format=csv')).body)
    const byInput = new Map(records.map(record => [record.input, record]))
    expect(byInput.get('1')).toMatchObject({ 'expected.a': 'x', 'expected.b': '', 'expected.c': '', _rest: '' })
    expect(byInput.get('2')).toMatchObject({ 'expected.a': '', 'expected.c': '{"d":true}', _rest: '' })
    expect(byInput.get('3')).toMatchObject({ 'expected.a': '', 'expected.c': '', _rest: '{"expected":"text"}' })
  })

  it('has one column for outputs without fields', async ({ expect }) => {
    const dataset = await newDataset()
    await dataset.add({ input: 'line 1\r\nline 2', expected: '+49 "30"' })
    const [record] = recordsIn((await dataset.file('format=csv')).body)
    expect(record).toMatchObject({ input: 'line 1\r\nline 2', expected: `'+49 "30"`, metadata: '', _rest: '' })
  })

  it('has only its header if there are no items', async ({ expect }) => {
    const { file } = await newDataset()
    expect((await file('format=csv')).body).toBe(`${HEAD},expected,metadata,_rest\r\n`)
  })

  it('lists alternatives in the last column', async ({ expect }) => {
    const dataset = await newDataset()
    await dataset.add({ input: 1, expected: 'a' })
    await stored
      .prepare('update dataset_entries set alternatives = ?2 where step_id = ?1')
      .bind(STEP, JSON.stringify([['"b"', null, 'x']]))
      .run()
    expect(recordsIn((await dataset.file('format=csv')).body)).toMatchObject([
      { expected: 'a', _rest: '{"alternatives":["b"]}' },
    ])
  })

  it('has the same columns in every file', async ({ expect }) => {
    const dataset = await newDataset()
    await insertExamples(dataset, MAX_FILE_ITEMS + 1)
    await dataset.add({ id: 'ffffffff-0000-4000-8000-000000000000', input: 0, expected: { a: 1 } })
    const bodies = await allFiles(dataset, 'format=csv')
    expect(bodies.map(body => body.split('\r\n')[0])).toEqual(bodies.map(() => `${HEAD},expected.a,metadata,_rest`))
    expect(bodies.length).toBeGreaterThan(1)
    const records = bodies.flatMap(recordsIn)
    expect(new Set(records.map(({ id }) => id)).size).toBe(MAX_FILE_ITEMS + 2)
    expect(records[0]).toMatchObject({ 'expected.a': '1' })
    expect(records.at(-1)).toMatchObject({ 'expected.a': '', _rest: '{"expected":1}' })
  })

  it('can be read back, regardless of the values', { timeout: 120_000 }, async ({ expect }) => {
    const text = fc.string({ unit: 'grapheme' })
    const value = fc.oneof(text, fc.stringMatching(/^[=+@\-\t\r\n", ]{0,6}$/), fc.integer(), fc.boolean())
    const expected = fc.oneof(value, fc.dictionary(fc.constantFrom('a', 'b', '=c', ',"d'), value))
    const examples = fc.array(fc.record({ input: value, expected }), { minLength: 1, maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(examples, async examples => {
        const dataset = await newDataset()
        const ids = await dataset.add(...examples)
        const records = recordsIn((await dataset.file('format=csv')).body)
        expect(records.map(({ id }) => id).sort()).toEqual(ids.toSorted())
        for (const record of records) {
          const example = examples[ids.indexOf(record.id ?? '')]
          expect(record.input).toBe(cellOf(example?.input))
          expect(expectedIn(record)).toEqual(writtenForm(example?.expected))
        }
      }),
      { numRuns: 10 },
    )
  })

  /** The cell for a value that isn't an object. */
  const cellOf = (value: unknown): string =>
    typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value)

  /** The expected value in a record, either as cells by field or as one cell. */
  function expectedIn(record: Record<string, string>): unknown {
    if (record.expected !== undefined) return record.expected
    const { expected } = JSON.parse(record._rest || '{}')
    if (expected !== undefined) return cellOf(expected)
    const fields = Object.entries(record).filter(([name, cell]) => name.startsWith('expected.') && cell !== '')
    return Object.fromEntries(fields.map(([name, cell]) => [name.slice('expected.'.length), cell]))
  }

  const writtenForm = (expected: unknown): unknown => {
    if (typeof expected !== 'object' || expected === null) return cellOf(expected)
    const fields = Object.entries(expected).filter(([, value]) => value !== '')
    return Object.fromEntries(fields.map(([name, value]) => [name, cellOf(value)]))
  }
})

describe('a chat export', () => {
  it('has the conversations in the train split, without excluded or stale items', async ({ expect }) => {
    const dataset = await newDataset()
    const ids = await dataset.add(
      { input: 'How long?', expected: '24 months' },
      { input: { messages: [{ role: 'user', content: 'Hi' }] }, expected: { greeting: 'Hello' } },
      { input: 'In the test', expected: 'Never shown' },
      { input: 'Excluded', expected: 'Never shown' },
    )
    const [first = '', second = '', tested = '', excluded = ''] = ids
    for (const id of [first, second, excluded]) await dataset.change(id, { split: 'train' })
    await dataset.change(tested, { split: 'test' })
    await dataset.change(excluded, { excluded: true })
    const stale = await newItem(dataset.org, { input: 'Stale' })
    await stale.review({ decision: 'accept' })
    await dataset.change(stale.spanId, { split: 'train' })
    await stale.observe({ span_id: stale.spanId, data: 'Changed' })
    const { headers, body } = await dataset.file('format=chat')
    const chats = [
      {
        messages: [
          { role: 'user', content: 'How long?' },
          { role: 'assistant', content: '24 months' },
        ],
      },
      {
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'assistant', content: '{"greeting":"Hello"}' },
        ],
      },
    ]
    expect(lines(body).sort(byText)).toEqual(chats.sort(byText))
    expect(headers.get('content-type')).toBe('application/jsonl; charset=utf-8')
    expect(headers.get('content-disposition')).toMatch(/filename="generate-answer-train-[\w.-]+\.chat\.jsonl"$/)
    expect((await dataset.file('format=chat&split=train')).body).toBe(body)
  })

  const byText = (left: unknown, right: unknown) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1)

  it('leaves out items without an input', async ({ expect }) => {
    const dataset = await newDataset()
    const [id = ''] = await dataset.add({ input: null, expected: '24 months' })
    await dataset.change(id, { split: 'train' })
    expect((await dataset.file('format=chat')).body ?? '').toBe('')
  })

  it.for(['test', 'dev'])('rejects any other split: %s', async (split, { expect }) => {
    const { file } = await newDataset()
    const { status, body } = await file(`format=chat&split=${split}`)
    expect(status).toBe(400)
    expect(body.error).toBe("split: must be `train`: a model must not learn from the items that it's tested on")
  })
})

describe('an export in several files', () => {
  it('has each item of its version once, even if the dataset changes in between', async ({ expect }) => {
    const dataset = await newDataset()
    const { org, file, version } = dataset
    const reviewed = await newItem(org, {})
    await reviewed.review({ decision: 'accept' })
    await insertExamples(dataset, MAX_FILE_ITEMS + 500)
    const first = await file('format=jsonl')
    const cursor = first.headers.get('x-next-cursor')
    const before = await version()
    await dataset.change(idOf(1), { excluded: true })
    await dataset.add({ id: '00000000-0000-4000-8000-000000000000', input: 'new', expected: 'new' })
    await (await newItem(org, {})).review({ decision: 'accept' })
    expect(await version()).not.toBe(before)
    const more = await allFiles(dataset, `format=jsonl&cursor=${cursor}`)
    const items = [first.body, ...more].flatMap(body => lines(body).slice(0, -1))
    expect(items).toHaveLength(MAX_FILE_ITEMS + 501)
    expect(new Set(items.map(({ id }) => id)).size).toBe(items.length)
    expect(items[0]).toMatchObject({ id: reviewed.spanId })
    expect(items.find(({ id }) => id === idOf(1))).toMatchObject({ excluded: false })
    const second = await file(`format=jsonl&cursor=${cursor}`)
    expect(second.headers.get('content-disposition')).toBe(first.headers.get('content-disposition'))
    expect((await file(`format=jsonl&version=${before}&cursor=${cursor}`)).status).toBe(200)
  })

  it('leaves out items whose traces are deleted between files', async ({ expect }) => {
    const dataset = await newDataset()
    const { file, org } = dataset
    const deleted = await newItem(org, {})
    await deleted.review({ decision: 'accept' })
    const kept = await newItem(org, {})
    await kept.review({ decision: 'accept' })
    const store = await storeOf(org)
    const found = await findDataset(store, dataset.id)
    if (!found) throw new Error('the dataset is missing')
    const plan = () => planItems(store, found, { parts: found.parts, after: undefined, isWanted: () => true })
    expect((await plan()).planned.map(({ head }) => head.id)).toEqual([kept.spanId, deleted.spanId])
    await org.owner.delete(`/api/traces/${deleted.id}`)
    expect((await plan()).planned.map(({ head }) => head.id)).toEqual([kept.spanId])
    expect(lines((await file('format=jsonl')).body)).toMatchObject([{ id: kept.spanId }, { end: true, items: 1 }])
  })

  it('looks at a limited number of items per file, regardless of the split', async ({ expect }) => {
    const dataset = await newDataset()
    await insertExamples(dataset, MAX_FILE_ITEMS + 5)
    const bodies = await allFiles(dataset, 'format=jsonl&split=test')
    const counts = bodies.map(body => lines(body).length - 1)
    expect(Math.max(...counts)).toBeLessThanOrEqual(MAX_FILE_ITEMS / 5)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(MAX_FILE_ITEMS / 5 + 1)
  })

  it.for([
    ['another format', 'format=csv'],
    ['another split', 'format=jsonl&split=train'],
    ['another version', 'format=jsonl&version=x'],
  ] as const)('rejects a cursor for %s', async ([, query], { expect }) => {
    const dataset = await newDataset()
    await insertExamples(dataset, MAX_FILE_ITEMS + 1)
    const cursor = (await dataset.file('format=jsonl')).headers.get('x-next-cursor')
    const { status, body } = await dataset.file(`${query}&cursor=${cursor}`)
    expect(status).toBe(400)
    expect(body.details[0].path).toBe('cursor')
  })

  it.for(['x', 'é', 'a'.repeat(20_000)])('rejects an invalid cursor: %#', async (cursor, { expect }) => {
    const { file } = await newDataset()
    expect((await file(`format=jsonl&cursor=${encodeURIComponent(cursor)}`)).status).toBe(400)
  })

  it.for([
    ['bytes', 5 * 1024 * 1024, Math.floor(MAX_FILE_BYTES / (5 * 1024 * 1024 + 601))],
    ['values in R2', INLINE_BYTES + 1, MAX_FILE_OBJECTS],
  ] as const)('ends a file at the limit for %s', async ([, length, count], { expect }) => {
    const dataset = await newDataset()
    await insertExamples(dataset, 1000, { inputRef: `${crypto.randomUUID()}:0:${length}` })
    const store = await storeOf(dataset.org)
    const found = await findDataset(store, dataset.id)
    if (!found) throw new Error('the dataset is missing')
    const range = { parts: found.parts, after: undefined, isWanted: () => true }
    const { planned, nextPlace } = await planItems(store, found, range)
    expect(planned).toHaveLength(count)
    expect(nextPlace).toEqual(planned.at(-1)?.place)
    const next = await planItems(store, found, { ...range, after: nextPlace ?? undefined })
    expect(next.planned[0]?.head.id).toBe(idOf(1000 - count))
  })
})

/** The id of an example from `insertExamples`. */
const idOf = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`

describe('an export', () => {
  it.skipIf(isSharded)('makes few calls, and reads few rows', async ({ expect }) => {
    const dataset = await newDataset()
    await insertExamples(dataset, MAX_FILE_ITEMS)
    const path = `${dataset.path}/export?format=jsonl`
    const { bindings, counts } = countingBindings()
    const { body } = await dataset.org.bearer(bindings).get(path)
    const items = lines(body).length - 1
    expect(items).toBeGreaterThan(1000)
    // One call looks up the key, one looks up the dataset, and three read each group of 500 items.
    expect(counts.d1RoundTrips).toBeLessThanOrEqual(2 + (3 * MAX_FILE_ITEMS) / 500)
    expect(counts).toMatchObject({ rowsWritten: 0, r2Calls: 0 })
    // On a busy machine, each file may end at a different item.
    let again = 0
    const rowsRead = await rowsReadBy(async bindings => {
      again = lines((await dataset.org.bearer(bindings).get(path)).body).length - 1
    })
    expect(rowsRead).toBeLessThan(20 * again)
  })

  it('responds to HEAD without a body', async ({ expect }) => {
    const { org, path, add } = await newDataset()
    await add({ input: 1, expected: 1 })
    const { status, headers, body } = await send(org, `${path}/export?format=jsonl`, { method: 'HEAD' })
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('application/jsonl; charset=utf-8')
    expect(body).toBeNull()
  })

  it('is cut off if the database fails, and logs the failure', async ({ expect }) => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    const dataset = await newDataset()
    await insertExamples(dataset, MAX_FILE_ITEMS)
    let isBroken = false
    const bindings = wrapBindings((binding, call) => {
      if (binding === 'DB' && isBroken) throw new Error('D1_ERROR: D1 DB is overloaded. Too many requests queued.')
      return call()
    })
    const { status, body } = await send(dataset.org, `${dataset.path}/export?format=jsonl`, {}, bindings)
    isBroken = true
    expect(status).toBe(200)
    const decoder = new TextDecoder()
    let text = ''
    await expect(
      (async () => {
        for await (const chunk of body ?? []) text += decoder.decode(chunk, { stream: true })
      })(),
    ).rejects.toThrow()
    expect(text).toContain(idOf(MAX_FILE_ITEMS))
    expect(text).not.toContain('"end":true')
    expect(log.mock.calls.flat().join()).toContain('file_cut')
    log.mockRestore()
  })

  it('continues without the items whose objects are gone', async ({ expect }) => {
    const dataset = await newDataset()
    const { org } = dataset
    const text = 'x'.repeat(3 * 1024 * 1024)
    const items = []
    for (let index = 0; index < 3; index++) {
      const item = await newItem(org, { input: { index, text } })
      await item.review({ decision: 'accept' })
      items.push(item)
    }
    const response = await send(org, `${dataset.path}/export?format=jsonl`)
    // Each item is a separate part of the response. Only the newest item has been read so far.
    const [oldest] = items
    await org.owner.delete(`/api/traces/${oldest?.id}`)
    for (const { key } of (await env.PAYLOADS.list({ prefix: `${org.id}/` })).objects) {
      const own = await stored
        .prepare('select key from traces where id = ?')
        .bind(oldest?.id ?? '')
        .first<{ key: number }>()
      if (own && key.startsWith(`${org.id}/${own.key}/`)) await env.PAYLOADS.delete(key)
    }
    const read = lines(await new Response(response.body).text())
    expect(read.map(({ id }) => id)).toEqual([items[2]?.spanId, items[1]?.spanId, undefined])
    expect(read.at(-1)).toEqual({ end: true, items: 2 })
  })

  it.for([
    ['without a format', ''],
    ['with an unknown format', 'format=xml'],
    ['with an unknown parameter', 'format=csv&limit=2'],
    ['with an invalid split', 'format=csv&split=Train'],
  ] as const)('400s %s', async ([, query], { expect }) => {
    const { file } = await newDataset()
    expect((await file(query)).status).toBe(400)
  })

  it('covers only its own organization and project', async ({ expect }) => {
    const { org, path } = await newDataset()
    const other = await newOrg()
    expect((await other.read.get(`${path}/export?format=csv`)).status).toBe(403)
    await org.owner.post('/api/projects', { slug: 'sales', name: 'Sales' })
    const sales = org.clientOf(await org.keyFor({ projectSlug: 'sales', scopes: ['read'] }))
    expect((await sales.get(`${path}/export?format=csv`)).status).toBe(403)
    expect((await other.read.get(`/api/datasets/${crypto.randomUUID()}/export?format=csv`)).status).toBe(404)
    expect((await org.read.get('/api/datasets/x/export?format=csv')).status).toBe(404)
  })

  const send = (org: Org, path: string, init: RequestInit = {}, bindings: Env = env): Promise<Response> => {
    const headers = { authorization: `Bearer ${org.projectKey}` }
    return answer(
      new Request(`https://countersign.test${path}`, { ...init, headers }),
      bindings,
      createExecutionContext(),
    )
  }
})
