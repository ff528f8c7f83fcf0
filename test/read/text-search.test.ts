import { env } from 'cloudflare:workers'
import { describe, it, vi } from 'vitest'
import { MAX_SCANNED_TRACES, MAX_SEARCHED_TRACES, MAX_SOUGHT_LENGTH } from '../../src/limits.ts'
import { timeAfter } from '../support/builders.ts'
import { newOrg, type Org } from '../support/org.ts'
import { newReviewed, reviewerOf } from '../support/reviews.ts'
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
  it('finds a text in each part of a trace, and says where', async ({ expect }) => {
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

  it('shows at most three matches, each text once for each field', async ({ expect }) => {
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
    const { org, spanId, review, id } = await newReviewed({ answer: 'yes' })
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
    expect(spanId).toBeDefined()
    await org.owner.delete(`/api/traces/${id}`)
    expect(await matchesOf(org, 'answer')).toBeUndefined()
  })

  it('combines with other filters, and finds traces that are hidden by default only with kind=all', async ({
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
    await env.DB.prepare('update traces set is_generic = 1 where id = ?').bind(id).run()
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

  it.for([
    ['xy', 'contains: must have 3 to 200 characters'],
    ['x'.repeat(MAX_SOUGHT_LENGTH + 1), 'contains: must have 3 to 200 characters'],
  ] as const)('rejects %s', async ([contains, error], { expect }) => {
    const org = await newOrg()
    const response = await org.read.get(`/api/traces?projectId=${org.project.id}&contains=${contains}`)
    expect([response.status, response.body.error]).toEqual([400, error])
  })

  it('takes a text of the maximum length, and three characters beyond 16 bits', async ({ expect }) => {
    const { org, observe } = await newTrace()
    const text = '😀'.repeat(MAX_SOUGHT_LENGTH)
    await observe({ data: `- ${text} -` })
    expect((await matchesOf(org, text))?.[0]?.[1]).toBe(`- ${text} -`)
    expect(await matchesOf(org, '😀😀😀')).toHaveLength(1)
  })
})

describe('a page of a search', () => {
  it('looks at 500 traces and says how far it looked', async ({ expect }) => {
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

  it('ends at its limit of hits, and shows each once', async ({ expect }) => {
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

  it('scans 5,000 traces for those that match the other filters', async ({ expect }) => {
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
