import { describe, it } from 'vitest'
import {
  MAX_CITED_AS,
  MAX_SOURCE_CHUNK_BYTES,
  MAX_SOURCE_CHUNKS,
  MAX_SOURCE_DOCS,
  MAX_SOURCE_SPANS,
  MAX_SOURCE_TEXT_LENGTH,
} from '../../src/limits.ts'
import { chunksOf, citationsIn } from '../../src/read/source-chunks.ts'
import { newOrg } from '../support/org.ts'
import { anExportedSpan, exportSpans } from '../support/telemetry.ts'
import { newTrace } from '../support/trace.ts'

const at = (second: number) => `2026-03-01T09:30:${String(second).padStart(2, '0')}.000Z`

const CHUNKS = [
  { doc: 'returns', version: 1, text: 'Returns take 14 days.', score: 0.9 },
  { doc: 'loyalty', version: 2, text: 'Points expire after **24 months**.', score: 0.8 },
]

/** A trace that retrieved chunks and answered from them. */
async function newAnswer(fields: object = {}) {
  const world = await newTrace()
  const span = await world.step({ step_id: 'retrieve', output: { chunks: CHUNKS }, timestamp: at(1) })
  const answer = await world.step({
    step_id: 'generate-answer',
    output: { answer: 'After 24 months.', sources: ['Loyalty'] },
    timestamp: at(2),
    ...fields,
  })
  const [retrieveId, answerId]: string[] = [span.body.span_id, answer.body.span_id]
  const sources = async (id = answerId) => (await world.org.read.get(`/api/spans/${id}/sources`)).body
  return { ...world, retrieveId, answerId, sources }
}

describe('the sources of a span', () => {
  it('are the chunks of earlier steps, with cited chunks first', async ({ expect }) => {
    const { sources, retrieveId } = await newAnswer()
    const { chunks, chunkCount, docs, prompt, guideline, isComplete } = await sources()
    expect(chunks).toEqual([
      {
        id: 'loyalty',
        title: null,
        content: CHUNKS[1]?.text,
        truncated: false,
        score: 0.8,
        citedAs: ['Loyalty'],
        docId: null,
        spanId: retrieveId,
        stepId: 'retrieve',
        path: 'output.chunks.1',
      },
      expect.objectContaining({ id: 'returns', citedAs: [], path: 'output.chunks.0' }),
    ])
    expect({ chunkCount, docs, prompt, guideline, isComplete }).toEqual({
      chunkCount: 2,
      docs: [],
      prompt: null,
      guideline: null,
      isComplete: true,
    })
  })

  it('leave out steps that began after it, and its own output', async ({ expect }) => {
    const { sources, retrieveId, step } = await newAnswer()
    await step({
      step_id: 'search-again',
      output: [{ id: 'late', text: 'A later passage of text.' }],
      timestamp: at(9),
    })
    expect((await sources()).chunks.map(({ id }: { id: string }) => id)).toEqual(['loyalty', 'returns'])
    expect((await sources(retrieveId)).chunks).toEqual([])
  })

  it('of a root include those of its steps', async ({ expect }) => {
    const { sources, read, observe } = await newAnswer()
    await observe({ type: 'output', data: { answer: 'Yes [returns]' } })
    const { spans } = await read()
    expect((await sources(spans[0].id)).chunks[0]).toMatchObject({ id: 'returns', citedAs: ['returns'] })
  })

  it('show a chunk that steps pass on only once, at the nearest step', async ({ expect }) => {
    const { sources, answerId, observe } = await newAnswer()
    await observe({ span_id: answerId, type: 'state', key: 'retrieved_chunks', data: CHUNKS })
    const { chunks, chunkCount } = await sources()
    expect(chunkCount).toBe(2)
    expect(chunks[0]).toMatchObject({ spanId: answerId, path: 'state.retrieved_chunks.1' })
  })

  it("include docs in the recorded or then active version, and the step's prompt and guideline", async ({ expect }) => {
    const org = await newOrg()
    const project = { projectSlug: 'support' }
    const add = async (path: string, body: object) => (await org.owner.post(path, { ...project, ...body })).body
    const doc = await add('/api/knowledge-docs', { slug: 'loyalty', title: 'Loyalty', content: 'First' })
    const other = await add('/api/knowledge-docs', { slug: 'returns', title: 'Returns', content: 'Returns, first' })
    const version = (await org.owner.post(`/api/knowledge-docs/${doc.id}/versions`, { content: 'Second' })).body
    const prompt = await add('/api/prompts', { stepId: 'answer', content: 'Rules, first' })
    const world = await newTrace(org)
    // These are newer than the trace.
    await org.owner.post(`/api/knowledge-docs/${other.id}/versions`, { content: 'Returns, second', activate: true })
    const draft = await org.owner.post(`/api/prompts/${prompt.id}/versions`, {
      content: 'Rules, second',
      activate: true,
    })
    await world.step({
      step_id: 'retrieve',
      output: [CHUNKS[1], { doc: 'returns', text: 'Returns take 14 days.' }],
      timestamp: at(1),
    })
    const span = async (fields: object) =>
      (await world.step({ step_id: 'answer', output: 'x', timestamp: at(2), ...fields })).body
    const [plain, recorded] = [await span({}), await span({ prompt_version_id: draft.body.id })]
    await org.owner.put(`/api/projects/${org.project.id}/guidelines/answer`, { text: 'Check the period.' })
    await org.owner.put(`/api/projects/${org.project.id}/step-names`, { names: { answer: 'final-answer' } })
    const sources = (await org.read.get(`/api/spans/${plain.span_id}/sources`)).body
    expect(sources.docs).toMatchObject([
      { slug: 'loyalty', content: 'Second', versionId: version.id, number: 2 },
      { slug: 'returns', content: 'Returns, first', number: 1 },
    ])
    expect(sources.chunks.map(({ docId }: { docId: string }) => docId)).toEqual([doc.id, other.id])
    expect(sources.prompt).toMatchObject({ id: prompt.id, content: 'Rules, first', isRecorded: false })
    expect(sources.guideline).toMatchObject({ text: 'Check the period.' })
    expect((await org.read.get(`/api/spans/${recorded.span_id}/sources`)).body.prompt).toMatchObject({
      content: 'Rules, second',
      number: 2,
      isRecorded: true,
    })
  })

  it('come from telemetry and from R2, and are gone when the trace is deleted', async ({ expect }) => {
    const org = await newOrg()
    const root = anExportedSpan({ name: 'chain' })
    await exportSpans(org, [root])
    const { spans } = (await org.read.get('/api/spans?projectSlug=support&kind=all')).body
    expect((await org.read.get(`/api/spans/${spans[0]?.id}/sources`)).status).toBe(200)

    const { sources, step, id, answerId, org: own } = await newAnswer()
    const long = `${'A long passage. '.repeat(2_000)}`
    await step({ step_id: 'search', output: [{ id: 'long', text: long }], timestamp: at(1) })
    const { chunks } = await sources()
    const found = chunks.find((chunk: { id: string }) => chunk.id === 'long')
    expect(found).toMatchObject({ content: long.slice(0, MAX_SOURCE_CHUNK_BYTES), truncated: true })
    await own.owner.delete(`/api/traces/${id}`)
    expect((await own.read.get(`/api/spans/${answerId}/sources`)).status).toBe(404)
  })

  it('include those of a distant step whose new name suggests that it retrieves chunks', async ({ expect }) => {
    const { org, step } = await newTrace()
    await step({ step_id: 'step-7', output: ['Points expire after 24 months.'], timestamp: at(1) })
    for (let index = 0; index < MAX_SOURCE_SPANS; index++) await step({ step_id: `s${index}`, timestamp: at(2) })
    const answer = await step({ step_id: 'answer', output: 'After 24 months.', timestamp: at(3) })
    await org.owner.put(`/api/projects/${org.project.id}/step-names`, { names: { 'step-7': 'retrieve' } })
    const { chunks } = (await org.read.get(`/api/spans/${answer.body.span_id}/sources`)).body
    expect(chunks).toMatchObject([{ stepId: 'retrieve', content: 'Points expire after 24 months.' }])
  })

  it('stay within their limits', async ({ expect }) => {
    const { sources, step, org } = await newAnswer()
    const passages = Array.from({ length: MAX_SOURCE_CHUNKS }, (_, index) => ({
      id: `doc-${index}`,
      text: `Text ${index}`,
    }))
    await step({ step_id: 'search', output: passages, timestamp: at(1) })
    for (const { id } of passages.slice(0, MAX_SOURCE_DOCS + 1)) {
      const content = 'x'.repeat(MAX_SOURCE_TEXT_LENGTH + 1)
      await org.owner.post('/api/knowledge-docs', { projectSlug: 'support', slug: id, title: id, content })
    }
    const full = await sources()
    expect(full.chunks).toHaveLength(MAX_SOURCE_CHUNKS)
    expect(full.chunkCount).toBe(MAX_SOURCE_CHUNKS + CHUNKS.length)
    expect(full.docs).toHaveLength(MAX_SOURCE_DOCS)
    expect(full.docs[0]).toMatchObject({ truncated: true, content: 'x'.repeat(MAX_SOURCE_TEXT_LENGTH) })
    expect(full.isComplete).toBe(true)
    // Together with the root and both searches, these steps reach the limit.
    for (let index = 4; index <= MAX_SOURCE_SPANS; index++) await step({ step_id: `s${index}`, timestamp: at(1) })
    expect((await sources()).isComplete).toBe(true)
    await step({ step_id: 'one-too-many', timestamp: at(1) })
    const { isComplete, chunkCount } = await sources()
    expect({ isComplete, chunkCount }).toEqual({ isComplete: false, chunkCount: full.chunkCount })
  })
})

describe('chunks and citations', () => {
  const step = { spanId: 'a', stepId: 'search', input: null, output: null, state: {} }

  it.for([
    ['our form', [{ id: 'a', content: 'Some text' }], ['a']],
    ['LangChain', [{ page_content: 'Some text', metadata: { source: 'a.md' } }], ['a.md']],
    ['an object with a list', { matches: [{ id: 'a', text: 'Some text', metadata: { title: 'A' } }] }, ['a']],
    ['a single document', { slug: 'a', content: 'Some text that is long enough' }, ['a']],
    ['strings', ['Some text that is long enough'], [null]],
    ['names alone', ['returns', 'warranty'], []],
    ['messages', [{ role: 'user', id: 'a', content: 'Some text' }], []],
    ['numbers', [1, 2], []],
    ['nothing', null, []],
  ] as const)('reads %s', ([, output, ids], { expect }) => {
    expect(chunksOf({ ...step, output: structuredClone(output) as never }, false).map(({ id }) => id)).toEqual(ids)
  })

  it.for([
    ['a string', { sources: ['a'] }, ['a']],
    ['another letter case', { source: ' A ' }, ['a']],
    ['a section of a doc', ['b'], ['b#2']],
    ['brackets', 'It does [b#2], and more (a).', ['b#2', 'a']],
    ['a position', 'It does [2].', ['b#2']],
    ["a position that isn't a citation", 'It takes 2 days (since 2020).', []],
    ['a number of things', 'There are two (2) ways; see `2`.', []],
    ['a list of sources', 'It does.\n\n**Sources:** a, other', ['a']],
    ['a list with a number of things', 'Sources: 2', []],
    ['code', 'It does, says `a`.', ['a']],
    ["a name that isn't an ordinary word", 'According to b#2, it does.', ['b#2']],
    ['part of such a name', 'According to b#23 or sub-b#2.', []],
    ['the end of a sentence', 'It does, says b#2.', ['b#2']],
    ['a word', 'A b', []],
  ] as const)('reads citations in %s', ([, output, ids], { expect }) => {
    const chunks = chunksOf(
      {
        ...step,
        output: [
          { id: 'a', text: 'Some text' },
          { id: 'b#2', text: 'More text' },
        ],
      },
      false,
    )
    const cited = citationsIn(structuredClone(output) as never, chunks)
    expect([...cited.keys()].map(({ id }) => id)).toEqual(ids)
  })

  it('limits how many chunks one label cites, and how many strings cite each chunk', ({ expect }) => {
    const total = 2 * MAX_SOURCE_CHUNKS
    const output = Array.from({ length: total }, (_, place) => ({ id: 'abcdef', text: `Text ${place}` }))
    const chunks = chunksOf({ ...step, output }, false)
    expect(chunks).toHaveLength(total)
    // The same label, with different letters in upper case.
    const forms = Array.from({ length: MAX_CITED_AS + 1 }, (_, form) =>
      [...'abcdef'].map((letter, bit) => ((form >> bit) & 1 ? letter.toUpperCase() : letter)).join(''),
    )
    const cited = citationsIn(forms, chunks)
    expect([...cited.keys()]).toEqual(chunks.slice(0, MAX_SOURCE_CHUNKS))
    for (const citedAs of cited.values()) expect(citedAs).toEqual(forms.slice(0, MAX_CITED_AS))
  })
})
