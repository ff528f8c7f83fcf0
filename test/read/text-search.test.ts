import { describe, it, vi } from 'vitest'
import {
  INLINE_BYTES,
  KEPT_BYTES,
  MAX_SCANNED_TRACES,
  MAX_SEARCHED_BYTES,
  MAX_SEARCHED_ROWS,
  MAX_SEARCHED_TRACES,
  MAX_SOUGHT_LENGTH,
  PREVIEW_BYTES,
  SEARCHED_BYTES_AT_ONCE,
} from '../../src/limits.ts'
import { countingBindings, wrapBindings } from '../support/bindings.ts'
import { aTrace, timeAfter } from '../support/builders.ts'
import { isSharded, stored } from '../support/database.ts'
import { newOrg, type Org } from '../support/org.ts'
import { newReviewed, reviewerOf } from '../support/reviews.ts'
import { aHexSpanId, anExportedSpan, exportSpans } from '../support/telemetry.ts'
import { newTrace } from '../support/trace.ts'
import { manyTraces } from '../support/traces.ts'

// Large test data is slow to store on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const uuid = () => crypto.randomUUID()

/** One page of a list of traces. */
const search = async (org: Org, filters: Record<string, string>) =>
  (await org.read.get(`/api/traces?${new URLSearchParams({ projectId: org.project.id, ...filters })}`)).body

/** The matches in a trace: the field and the snippet of each. */
async function matchesOf(org: Org, contains: string): Promise<[field: string, snippet: string][] | undefined> {
  const { traces } = await search(org, { contains })
  return traces[0]?.matches.map(({ field, snippet }: Record<string, string>) => [field, snippet])
}

describe('contains', () => {
  it('finds text in each part of a trace, and says where', async ({ expect }) => {
    const { org, id, observe, step, give, spanOf } = await newTrace()
    const span_id = uuid()
    await step({
      span_id,
      step_id: 'find-sources',
      input: { question: 'in the input?' },
      output: ['in the output'],
    })
    await observe({ span_id, type: 'state', key: 'in-a-key', data: 1 })
    await observe({ span_id, type: 'state', key: 'chunks', data: [{ text: 'in the state' }] })
    await give({ comment: 'in a comment', span_id })
    await org.owner.put(`/api/spans/${span_id}/review`, { decision: 'correct', approvedOutput: 'in the correction' })
    const root = (await org.read.get(`/api/traces/${id}`)).body.spans[0].id
    const expected = [
      ['question', span_id, 'input', 'question'],
      ['IN THE INPUT', span_id, 'input', 'in the input?'],
      ['in the out', span_id, 'output', 'in the output'],
      ['in the corr', span_id, 'approvedOutput', 'in the correction'],
      ['in-a-key', span_id, 'state', 'in-a-key'],
      ['in the state', span_id, 'state', 'in the state'],
      ['find-sou', span_id, 'stepId', 'find-sources'],
      ['in a comment', span_id, 'comment', 'in a comment'],
      ['SUPPORT-', root, 'name', 'support-answer'],
    ] as const
    for (const [contains, spanId, field, snippet] of expected) {
      const { traces, searchedTo, warnings } = await search(org, { contains })
      expect(traces[0]?.matches, contains).toEqual([{ spanId, field, snippet }])
      expect([searchedTo, warnings]).toEqual([null, []])
    }
    expect((await spanOf(span_id)).review.state).toBe('corrected')
    expect((await search(org, { contains: 'nowhere' })).traces).toEqual([])
    expect((await search(org, {})).traces[0]).not.toHaveProperty('matches')
    expect(await search(org, {})).not.toHaveProperty('searchedTo')
  })

  it('shows at most three matches, and each string once per field', async ({ expect }) => {
    const { org, observe, step } = await newTrace()
    await observe({ data: 'The warranty' })
    const outputs = ['The warranty', 'One warranty', 'Two warranties', 'Warranty three']
    for (const [place, output] of outputs.entries()) await step({ output, timestamp: timeAfter(place) })
    expect(await matchesOf(org, 'warrant')).toEqual([
      ['output', 'The warranty'],
      ['output', 'One warranty'],
      ['output', 'Two warranties'],
    ])
  })

  it('leads to the step that wrote an output, not to the steps that pass it on', async ({ expect }) => {
    const { org, id, observe, step } = await newTrace()
    const [outer, writer, later] = [uuid(), uuid(), uuid()]
    const output = { answer: 'The warranty lasts two years.' }
    await observe({ type: 'input', data: 'How long is the warranty?' })
    await observe({ data: output })
    const asked = { input: 'How long is the warranty?', output }
    await step({ ...asked, span_id: outer, timestamp: timeAfter(1) })
    await step({ ...asked, span_id: writer, parent_span_id: outer, timestamp: timeAfter(2) })
    await step({ ...asked, span_id: later, timestamp: timeAfter(3) })
    const root = (await org.read.get(`/api/traces/${id}`)).body.spans[0].id
    const { traces } = await search(org, { contains: 'warranty' })
    expect(traces[0]?.matches).toEqual([
      { spanId: root, field: 'input', snippet: 'How long is the warranty?' },
      { spanId: writer, field: 'output', snippet: 'The warranty lasts two years.' },
    ])
  })

  it('searches values as they are now', async ({ expect }) => {
    const { org, observe, step } = await newTrace()
    const span_id = uuid()
    await step({ span_id, input: { a: 'first question', b: 'kept' }, output: 'first answer' })
    await observe({ span_id, type: 'input', data: { a: 'second question' } })
    await observe({ span_id, type: 'output', data: 'second answer', timestamp: timeAfter(1) })
    await observe({ span_id, type: 'output', data: 'third answer', timestamp: timeAfter(2) })
    await observe({ span_id, type: 'state', key: 'k', data: 'first state', timestamp: timeAfter(1) })
    await observe({ span_id, type: 'state', key: 'k', data: 'second state', timestamp: timeAfter(2) })
    for (const gone of ['first question', 'first answer', 'second answer', 'first state']) {
      expect(await matchesOf(org, gone), gone).toBeUndefined()
    }
    for (const shown of ['second question', 'kept', 'third answer', 'second state']) {
      expect(await matchesOf(org, shown), shown).toHaveLength(1)
    }
  })

  it('searches messages as one input, and inputs of other kinds as a list', async ({ expect }) => {
    const { org, observe } = await newTrace()
    await observe({ type: 'input', data: 'plain question' })
    await observe({ type: 'input', data: { role: 'user', content: 'asked' }, key: 'message' })
    await observe({ type: 'input', data: { role: 'user', content: 'asked again' }, key: 'message' })
    for (const text of ['plain question', 'asked again', 'content'])
      expect(await matchesOf(org, text), text).toHaveLength(1)
  })

  it('forgets what was reset, withdrawn, renamed, or deleted', async ({ expect }) => {
    const { org, review, id } = await newReviewed({ answer: 'yes' })
    const { client } = await reviewerOf(org)
    await review({ decision: 'correct', approvedOutput: { answer: 'certainly' }, comment: 'too short' }, {}, client)
    expect(await matchesOf(org, 'certainly')).toEqual([['approvedOutput', 'certainly']])
    expect(await matchesOf(org, 'too short')).toEqual([['comment', 'too short']])
    await review({ decision: 'reset' }, {}, client)
    expect(await matchesOf(org, 'certainly')).toBeUndefined()
    const { feedback } = (await org.read.get(`/api/traces/${id}`)).body
    await client.delete(`/api/feedback/${feedback[0].id}`)
    expect(await matchesOf(org, 'too short')).toBeUndefined()
    await org.owner.put(`/api/projects/${org.project.id}/step-names`, { names: { 'support-answer': 'reply-to-all' } })
    expect(await matchesOf(org, 'reply-to')).toEqual([['stepId', 'reply-to-all']])
    await org.owner.delete(`/api/traces/${id}`)
    expect(await matchesOf(org, 'answer')).toBeUndefined()
  })

  it('can be combined with other filters, and finds traces that are hidden by default only with kind=all', async ({
    expect,
  }) => {
    const { org, observe, id } = await newTrace()
    await observe({ data: 'The warranty' })
    const found = async (filters: Record<string, string>) =>
      (await search(org, { contains: 'warranty', ...filters })).traces
    expect(await found({ name: 'support-answer', 'metadata.customer.tier': 'gold', status: 'running' })).toHaveLength(1)
    expect(await found({ status: 'completed' })).toEqual([])
    expect(await found({ 'metadata.customer.tier': 'silver' })).toEqual([])
    expect(await found({ nameContains: 'PORT' })).toHaveLength(1)
    expect(await found({ nameContains: 'refund' })).toEqual([])
    await stored.prepare('update traces set is_generic = 1 where id = ?').bind(id).run()
    expect(await found({})).toEqual([])
    expect(await found({ kind: 'all' })).toHaveLength(1)
  })

  it('never finds the traces of another project or organization', async ({ expect }) => {
    const { org, observe } = await newTrace()
    await observe({ data: 'The warranty' })
    const other = await newTrace()
    const project = (await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })).body
    expect((await search(other.org, { contains: 'warranty' })).traces).toEqual([])
    expect((await search({ ...org, project }, { contains: 'warranty' })).traces).toEqual([])
    const { nextCursor } = await search(org, { contains: 'warranty', limit: '1' })
    expect(nextCursor).toBeNull()
  })

  it('finds telemetry whose root has not arrived, and comments on its spans', async ({ expect }) => {
    const org = await newOrg()
    const child = anExportedSpan({
      parentSpanId: aHexSpanId(),
      name: 'ask the model',
      attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.completion': 'Two years of warranty' },
    })
    await exportSpans(org, [child])
    await org.ingest.post('/api/v1/feedback', { trace_id: `trace_${child.traceId}`, comment: 'Not for lamps' })
    for (const contains of ['ASK THE', 'for lamps']) {
      expect((await search(org, { contains, kind: 'all' })).traces, contains).toHaveLength(1)
    }
  })

  it('finds a correction on the step whose text the root shares', async ({ expect }) => {
    const { org, observe, step, span } = await newTrace()
    const span_id = uuid()
    await observe({ data: { answer: 'The warranty lasts 24 months.' } })
    await step({ span_id, output: { answer: 'The warranty lasts 24 months.' } })
    const correction = { answer: 'The warranty lasts 12 months.' }
    await org.owner.put(`/api/spans/${span_id}/review`, { decision: 'correct', approvedOutput: correction })
    expect(await span()).toMatchObject({ approvedOutput: correction, review: { reviewedBy: span_id } })
    const { traces } = await search(org, { contains: '12 months' })
    expect(traces[0]?.matches).toEqual([{ spanId: span_id, field: 'approvedOutput', snippet: correction.answer }])
  })

  it.for([
    ['xy', 'contains: must have 3 to 200 characters'],
    ['x'.repeat(MAX_SOUGHT_LENGTH + 1), 'contains: must have 3 to 200 characters'],
  ] as const)('rejects %s', async ([contains, error], { expect }) => {
    const org = await newOrg()
    const response = await org.read.get(`/api/traces?projectId=${org.project.id}&contains=${contains}`)
    expect([response.status, response.body.error]).toEqual([400, error])
  })

  it('accepts text of the maximum length, and text with three characters beyond 16 bits', async ({ expect }) => {
    const { org, observe } = await newTrace()
    const text = '😀'.repeat(MAX_SOUGHT_LENGTH)
    await observe({ data: `- ${text} -` })
    expect((await matchesOf(org, text))?.[0]?.[1]).toBe(`- ${text} -`)
    expect(await matchesOf(org, '😀😀😀')).toHaveLength(1)
  })
})

describe('a page of a search', () => {
  it.skipIf(isSharded)('searches 500 traces and says how far back it went', async ({ expect }) => {
    const org = await newOrg()
    const count = 2 * MAX_SEARCHED_TRACES + 200
    const ids = await manyTraces(org, count, place => ({
      name: place === count ? 'the last one' : 'other',
      fields: {},
    }))
    const pages = []
    let cursor: string | null | undefined
    while (cursor !== null) {
      const page = await search(org, { contains: 'LAST', ...(cursor && { cursor }) })
      pages.push([page.traces.map(({ id }: { id: string }) => id), page.searchedTo])
      cursor = page.nextCursor
    }
    const timeOf = (place: number) => timeAfter(count - place)
    expect(pages).toEqual([
      [[], timeOf(MAX_SEARCHED_TRACES - 1)],
      [[], timeOf(2 * MAX_SEARCHED_TRACES - 1)],
      [[ids.at(-1)], null],
    ])
  })

  it('ends at its limit of hits, and shows each hit once', async ({ expect }) => {
    const org = await newOrg()
    const ids = await manyTraces(org, 25, place => ({ name: place % 2 === 0 ? 'wanted' : 'other', fields: {} }))
    const found: string[] = []
    let cursor: string | null | undefined
    while (cursor !== null) {
      const page = await search(org, { contains: 'want', limit: '5', ...(cursor && { cursor }) })
      expect(page.traces.length).toBeLessThanOrEqual(5)
      found.push(...page.traces.map(({ id }: { id: string }) => id))
      cursor = page.nextCursor
    }
    expect(found).toEqual(ids.filter((_, index) => index % 2 === 1))
  })

  it.skipIf(isSharded)('scans 5,000 traces for those that match the other filters', async ({ expect }) => {
    const org = await newOrg()
    const count = MAX_SCANNED_TRACES + 10
    await manyTraces(org, count, place => ({
      name: 'wanted',
      status: place > MAX_SCANNED_TRACES ? 'completed' : 'running',
      fields: {},
    }))
    const first = await search(org, { contains: 'wanted', status: 'completed' })
    expect([first.traces, first.searchedTo]).toEqual([[], timeAfter(count - MAX_SCANNED_TRACES + 1)])
    const second = await search(org, { contains: 'wanted', status: 'completed', cursor: first.nextCursor })
    expect([second.traces.length, second.searchedTo]).toEqual([10, null])
  })
})

/** Bindings that record the size of each round trip's result, in bytes. */
function measuredBindings() {
  const sizes: number[] = []
  const bindings = wrapBindings(async (binding, call) => {
    const result = await call()
    if (binding === 'DB') sizes.push(JSON.stringify(result).length)
    return result
  })
  return { bindings, sizes }
}

/**
 * Inserts spans with outputs of this length. Their ids contain consecutive numbers, and so do the beginnings of their
 * outputs.
 */
const putSpans = (id: string, count: number, length: number) =>
  stored
    .prepare(
      `with recursive n(i) as (select 0 union all select i + 1 from n where i < ?1 - 1)
     insert into spans (id, trace_key, is_root, step_id, timestamp, output)
     select printf('00000000-0000-4000-8000-%012d', i), traces.key, 0, 'step', traces.timestamp - i,
       '"number ' || i || '. ' || printf('%.*c', ?3, 'x') || '"'
     from n cross join traces where traces.id = ?2`,
    )
    .bind(count, id, length)
    .run()

describe('a search', () => {
  it.skipIf(isSharded)(
    'takes a round trip for the traces, one for every 200 of them that have no values, and one for the hits',
    async ({ expect }) => {
      const org = await newOrg()
      await manyTraces(org, MAX_SEARCHED_TRACES + 1, place => ({ name: place === 5 ? 'wanted' : 'other', fields: {} }))
      // This request caches the key.
      await search({ ...org, read: org.bearer() }, {})
      for (const [contains, expected] of [
        ['nowhere', 1 + 3],
        ['wanted', 1 + 3 + 1],
      ] as const) {
        const { bindings, counts } = countingBindings()
        const path = `/api/traces?projectSlug=support&contains=${contains}`
        expect((await org.bearer(bindings).get(path)).status).toBe(200)
        expect([contains, counts.d1RoundTrips, counts.r2Calls]).toEqual([contains, expected, 0])
      }
    },
  )
})

describe('large data', () => {
  it('is read 1 MiB at a time, and 8 MiB on a page, which may end within a trace', async ({ expect }) => {
    const { org, id } = await newTrace()
    const [count, length] = [3000, 7000]
    await putSpans(id, count, length)
    const { bindings, sizes } = measuredBindings()
    const pages = []
    let cursor: string | null | undefined
    while (cursor !== null) {
      const query = new URLSearchParams({ projectSlug: 'support', contains: 'NUMBER 2999.', ...(cursor && { cursor }) })
      const before = sizes.length
      const { body } = await org.bearer(bindings).get(`/api/traces?${query}`)
      pages.push({ ...body, bytes: sizes.slice(before).reduce((sum, size) => sum + size, 0) })
      cursor = body.nextCursor
    }
    expect(pages).toHaveLength(Math.ceil((count * (length + 600)) / MAX_SEARCHED_BYTES))
    expect(pages.map(({ traces }) => traces.length)).toEqual([0, 0, 1])
    expect(pages[0].searchedTo).toBe(timeAfter(0))
    expect(pages[2].traces[0].matches).toMatchObject([
      { field: 'output', snippet: expect.stringMatching(/^number 2999\. x+…$/) },
    ])
    // The results also contain ids, lengths, and JSON syntax, so they're larger than the values.
    expect(Math.max(...sizes)).toBeLessThan(1.2 * SEARCHED_BYTES_AT_ONCE)
    for (const { bytes } of pages) expect(bytes).toBeLessThan(1.3 * MAX_SEARCHED_BYTES)
  })

  it('is found at the end of a trace with thousands of spans and observations', async ({ expect }) => {
    const { org, id, observe } = await newTrace()
    await putSpans(id, 2500, 10)
    await stored
      .prepare(
        `with recursive n(i) as (select 0 union all select i + 1 from n where i < 2499)
       insert into observations (trace_key, id, span_id, type, data, timestamp, received_at)
       select traces.key, printf('%05d', i), printf('00000000-0000-4000-8000-%012d', i), 'output', '"observed ' || i || '."',
         i, i from n cross join traces where traces.id = ?`,
      )
      .bind(id)
      .run()
    await observe({ data: 'observed on the root' })
    for (const contains of ['observed 0.', 'observed 2499.', 'on the root', 'support-answer']) {
      const { traces, nextCursor } = await search(org, { contains })
      expect([contains, traces[0]?.matches.length, nextCursor]).toEqual([contains, 1, null])
    }
    // The observations replaced the spans' own outputs.
    expect((await search(org, { contains: 'number 7.' })).traces).toEqual([])
  })

  it('in R2 is searched only in its first 4 KiB, and a warning says so unless the trace matches', async ({
    expect,
  }) => {
    const { org, observe, step } = await newTrace()
    const value = `${'beginning '.repeat(KEPT_BYTES / 10 - 10)} "quoted" limit ${'x'.repeat(2 * INLINE_BYTES)} the end`
    await observe({ data: { answer: value } })
    await step({ input: value, output: 'short' })
    for (const contains of ['"quoted" LIMIT', 'beginning']) {
      const found = await search(org, { contains })
      expect([found.traces.length, found.warnings]).toEqual([1, []])
    }
    const missed = await search(org, { contains: 'the end' })
    expect([missed.traces, missed.warnings]).toEqual([
      [],
      [
        'For 2 values over 8 KiB, only the beginning was searched: the first 4 KiB, or the first 256 bytes of values stored by an earlier release',
      ],
    ])
    const preview = (await org.read.get(`/api/spans?projectId=${org.project.id}&payloads=preview`)).body.spans
    expect(preview[0].output).toBe(JSON.stringify({ answer: value }).slice(0, PREVIEW_BYTES))
  })

  it('leads to a warning if a trace has more observations than a search reads', async ({ expect }) => {
    const { org, id } = await newTrace()
    await stored
      .prepare(
        `with recursive n(i) as (select 0 union all select i + 1 from n where i < ?2)
       insert into observations (trace_key, id, type, state_key, data, timestamp, received_at)
       select traces.key, printf('%05d', i), 'state', 'k' || i % 10, '"state ' || i || '."', i, i
       from n cross join traces where traces.id = ?1`,
      )
      .bind(id, MAX_SEARCHED_ROWS)
      .run()
    const { traces, warnings } = await search(org, { contains: 'nowhere' })
    expect([traces, warnings]).toEqual([
      [],
      [
        'Not everything was searched: a trace has more than 10000 observations or comments, or a span has more than 8 MiB of values',
      ],
    ])
    await stored.prepare("delete from observations where id = '10000'").run()
    expect((await search(org, { contains: 'nowhere' })).warnings).toEqual([])
  })
})

describe('nameContains', () => {
  it.for([
    ['answer', ['support-answer', 'ANSWER']],
    ['École', ['ÉCOLE 50%']],
    ['50%', ['ÉCOLE 50%']],
    ['_', ['a_b']],
    ['o%t', []],
    ['x'.repeat(256), []],
  ] as const)('finds %s literally, ignoring case', async ([nameContains, names], { expect }) => {
    const org = await newOrg()
    for (const name of ['support-answer', 'ÉCOLE 50%', 'a_b', 'ANSWER']) {
      await org.ingest.post('/api/v1/traces', aTrace({ name }))
    }
    const { traces } = await search(org, { nameContains })
    expect(traces.map(({ name }: { name: string }) => name).toSorted()).toEqual(names.toSorted())
  })

  it.skipIf(isSharded)('scans 5,000 traces on a page, and can be combined with other filters', async ({ expect }) => {
    const org = await newOrg()
    const count = MAX_SCANNED_TRACES + 10
    const ids = await manyTraces(org, count, place => ({
      name: place % 1000 === 7 ? `Wanted ${place}` : 'other',
      status: place > 3000 ? 'completed' : 'running',
      fields: { tier: place > 2000 ? 'gold' : 'silver' },
    }))
    const first = await search(org, {
      nameContains: 'wanted',
      status: 'completed',
      'metadata.tier': 'gold',
      limit: '1',
    })
    expect(first.traces).toMatchObject([{ id: ids[3006], name: 'Wanted 3007' }])
    const second = await search(org, { nameContains: 'wanted', status: 'completed', cursor: first.nextCursor })
    expect(second.traces.map(({ name }: { name: string }) => name)).toEqual(['Wanted 4007', 'Wanted 5007'])
    const one = await search(org, { nameContains: 'wanted 5007' })
    expect([one.traces.length, typeof one.nextCursor]).toEqual([0, 'string'])
    expect((await search(org, { nameContains: 'wanted 5007', cursor: one.nextCursor })).traces).toHaveLength(1)
  })
})

describe('contains in a list of spans', () => {
  const spansWith = async (org: Org, filters: Record<string, string>) =>
    (await org.read.get(`/api/spans?${new URLSearchParams({ projectId: org.project.id, ...filters })}`)).body

  it('finds spans by their own text, in the order of the list', async ({ expect }) => {
    const { org, step, give, observe, span } = await newTrace()
    const [first, second, third] = [uuid(), uuid(), uuid()]
    await step({ span_id: second, output: 'two warranties', timestamp: timeAfter(2) })
    await step({ span_id: first, step_id: 'warranty-check', output: 'x', timestamp: timeAfter(1) })
    await step({ span_id: third, input: 'x', output: 'y', timestamp: timeAfter(3) })
    await give({ comment: 'Which warranty?', span_id: third })
    await give({ comment: 'No warranty at all' })
    await observe({ span_id: third, type: 'state', key: 'k', data: 'some state' })
    const rootId = (await span()).id
    const { spans, searchedTo, warnings } = await spansWith(org, { contains: 'warrant' })
    expect(spans.map(({ id, matches }: Record<string, object[]>) => [id, matches?.[0]])).toEqual([
      [rootId, { spanId: rootId, field: 'comment', snippet: 'No warranty at all' }],
      [first, { spanId: first, field: 'stepId', snippet: 'warranty-check' }],
      [second, { spanId: second, field: 'output', snippet: 'two warranties' }],
      [third, { spanId: third, field: 'comment', snippet: 'Which warranty?' }],
    ])
    expect([searchedTo, warnings]).toEqual([null, []])
    expect((await spansWith(org, { contains: 'some STATE', stepId: 'generate-answer' })).spans).toHaveLength(1)
    expect((await spansWith(org, { contains: 'some STATE', stepId: 'warranty-check' })).spans).toEqual([])
    expect((await spansWith(org, { contains: 'warrant', limit: '2', hasOutput: 'true' })).spans).toHaveLength(2)
  })

  it.skipIf(isSharded)('pages through 500 traces, and then through more', async ({ expect }) => {
    const org = await newOrg()
    const count = MAX_SEARCHED_TRACES + 300
    const ids = await manyTraces(org, count, place => ({ name: place % 250 === 0 ? 'wanted' : 'other', fields: {} }))
    const found: [traces: string[], searchedTo: string | null][] = []
    let cursor: string | null | undefined
    while (cursor !== null) {
      const page = await spansWith(org, { contains: 'WANTED', ...(cursor && { cursor }) })
      found.push([page.spans.map(({ trace }: { trace: { id: string } }) => trace.id), page.searchedTo])
      cursor = page.nextCursor
    }
    expect(found).toEqual([
      [[ids[249], ids[499]], timeAfter(count - MAX_SEARCHED_TRACES + 1)],
      [[ids[749]], null],
    ])
  })

  it('searches the spans behind decisions, no matter which text was reviewed', async ({ expect }) => {
    const { org, review, spanId, observe } = await newReviewed({ answer: 'twelve months' })
    await review({ decision: 'correct', approvedOutput: { answer: 'two years' }, comment: 'See the terms' })
    const found = async (contains: string) => (await spansWith(org, { contains, decision: 'correct' })).spans
    for (const contains of ['TWELVE', 'two years', 'the terms']) {
      expect((await found(contains)).map(({ id }: { id: string }) => id)).toEqual([spanId])
    }
    await observe({ data: { answer: 'a year' }, timestamp: timeAfter(5) })
    expect([(await found('twelve')).length, (await found('a year')).length]).toEqual([0, 1])
    const page = await spansWith(org, { contains: 'nowhere', decision: 'correct' })
    expect(page).toEqual({ spans: [], searchedTo: null, warnings: [], nextCursor: null })
  })
})
