import { describe, it } from 'vitest'
import type { Fetch } from '../../../src/client/fetch.ts'
import { type ImportOptions, type ImportSource, importFiles } from '../../../src/client/import/import.ts'
import type { ImportFile } from '../../../src/client/import/read.ts'
import { Service } from '../../../src/client/service.ts'
import { stored } from '../../support/database.ts'
import { newOrg, type Org } from '../../support/org.ts'
import { reviewerOf } from '../../support/reviews.ts'
import { workerFetch } from '../service.ts'

const EXPORTS = import.meta.glob<string>('./exports/*', { query: '?raw', import: 'default', eager: true })

const fileOf = (name: string, text: string | Uint8Array): ImportFile => ({
  name,
  async *open() {
    const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text
    // The chunks are small, so that records and characters are split between chunks.
    for (let start = 0; start < bytes.length; start += 997) yield bytes.slice(start, start + 997)
  },
})

const exported = (...names: string[]): ImportFile[] =>
  names.map(name => fileOf(name, EXPORTS[`./exports/${name}`] ?? ''))

const LANGFUSE = exported('langfuse-scores.jsonl', 'langfuse-observations.jsonl', 'langfuse-traces.jsonl')
const LANGSMITH = exported('langsmith-feedback.jsonl', 'langsmith-runs.jsonl')
const PHOENIX = exported('phoenix-span-annotations.json', 'phoenix-spans.json', 'phoenix-trace-annotations.json')

const USERS = new Map([
  ['usr-ada', 'ada@example.com'],
  ['ls-ada', 'ada@example.com'],
])

const serviceOf = (org: Org, fetch: Fetch = workerFetch()) =>
  new Service({ baseUrl: 'https://countersign.test', apiKey: org.projectKey, projectSlug: 'support', fetch })

const importInto = (org: Org, source: ImportSource, files: readonly ImportFile[], more: Partial<ImportOptions> = {}) =>
  importFiles({ source, files, service: serviceOf(org), projectId: org.project.id, users: USERS, ...more })

/** Everything that the API returns about a project's traces, newest first. */
async function shown(org: Org) {
  const { traces } = (await org.read.get('/api/traces?projectSlug=support&limit=200')).body
  return Promise.all(traces.map(async ({ id }: { id: string }) => (await org.read.get(`/api/traces/${id}`)).body))
}

/** The rows of the tables that an import writes, except `items_due_at`, which only makes cron check a trace again. */
async function rows(): Promise<Record<string, unknown[]>> {
  const tables = [
    'traces',
    'spans',
    'observations',
    'feedback',
    'reviews',
    'trace_fields',
    'attribution_jobs',
    'users',
    'dataset_entries',
  ]
  const found = await stored.batch<object>(tables.map(name => stored.prepare(`select * from "${name}"`)))
  return Object.fromEntries(
    tables.map((name, index) => [name, (found[index]?.results ?? []).map(row => ({ ...row, items_due_at: null }))]),
  )
}

async function newTenant() {
  const org = await newOrg()
  await reviewerOf(org, 'ada@example.com')
  await org.owner.patch(`/api/projects/${org.project.id}`, { autoAttribute: true })
  return org
}

const stepsOf = (trace: { spans: { stepId: string }[] }) => trace.spans.map(({ stepId }) => stepId)

const byName = (feedback: { name: string }[]) => feedback.toSorted((a, b) => a.name.localeCompare(b.name))

const SOURCES = [
  ['langfuse', LANGFUSE],
  ['langsmith', LANGSMITH],
  ['phoenix', PHOENIX],
] as const

describe('an import', () => {
  it.for(SOURCES)(
    'changes nothing the second time, and starts no attribution: %s',
    async ([source, files], { expect }) => {
      const org = await newTenant()
      const first = await importInto(org, source, files)
      const [seen, written] = [await shown(org), await rows()]
      expect(seen.length).toBeGreaterThan(0)
      expect(written.attribution_jobs).toEqual([])
      const again = await importInto(org, source, files)
      expect(await shown(org)).toEqual(seen)
      expect(await rows()).toEqual(written)
      expect(again.sent).toEqual(first.sent)
      expect(again.reviews).toEqual({ added: 0, unchanged: first.reviews.added + first.reviews.unchanged })
      expect(again.unplaced).toEqual(first.unplaced)
    },
  )

  it.for(SOURCES)(
    'gives the same result in any order, and after interruptions: %s',
    async ([source, files], { expect }) => {
      const [whole, cut] = [await newTenant(), await newTenant()]
      await importInto(whole, source, files)
      for (let requests = 0; requests < 4; requests++) {
        let left = requests
        const fetch: Fetch = async (url, init) => {
          if (left-- <= 0) throw new Error('The connection broke')
          return workerFetch()(url, init)
        }
        const broken: ImportOptions['service'] = {
          attempt: async (path, request) => {
            const answer = await serviceOf(cut, fetch).attempt(path, request)
            return answer.status === 0 ? { status: 401, body: { code: 'stopped', error: 'Stopped' } } : answer
          },
        }
        await importInto(cut, source, files, { service: broken }).catch(error => {
          expect(error.message).toBe('Stopped')
        })
      }
      await importInto(cut, source, files.toReversed())
      const comparable = async (org: Org) =>
        JSON.parse(
          JSON.stringify(await shown(org), (name, value) =>
            [
              'id',
              'spanId',
              'parentSpanId',
              'userId',
              'by',
              'updatedAt',
              'receivedAt',
              'etag',
              'project',
              'reviewedBy',
            ].includes(name)
              ? undefined
              : value,
          ),
        )
      expect(await comparable(cut)).toEqual(await comparable(whole))
    },
  )

  it('sends nothing in a dry run, and prints the same report', async ({ expect }) => {
    const org = await newTenant()
    const dry = await importInto(org, 'langfuse', LANGFUSE, { service: undefined })
    expect(await shown(org)).toEqual([])
    const { isDryRun, sent, unplaced } = await importInto(org, 'langfuse', LANGFUSE)
    expect([dry.isDryRun, dry.sent, dry.unplaced]).toEqual([!isDryRun, sent, unplaced])
  })
})

describe('Langfuse', () => {
  it('keeps traces, observations, scores, and corrections', async ({ expect }) => {
    const org = await newTenant()
    const report = await importInto(org, 'langfuse', LANGFUSE)
    const [strange, trace] = await shown(org)
    expect(report.errors).toEqual([])
    expect(trace).toMatchObject({
      traceId: 'trace_lf-trace-1',
      name: 'support-answer',
      status: 'completed',
      createdAt: '2025-03-01T09:00:00.123Z',
      metadata: {
        group_id: 'chat-7',
        user_id: 'u-42',
        tags: ['beta', 'web'],
        customer: { tier: 'gold' },
        release: '2.3.1',
      },
      model: 'gpt-4.1-mini',
    })
    expect(stepsOf(trace)).toEqual(['support-answer', 'support-agent', 'search-docs', 'embed', 'generate-answer'])
    const [root, agent, search, , answer] = trace.spans
    expect(root).toMatchObject({
      input: { question: 'How long is the warranty?' },
      output: 'The warranty lasts 12 months.',
    })
    expect(search.parentSpanId).toBe(agent.id)
    expect(answer).toMatchObject({
      parentSpanId: agent.id,
      createdAt: '2025-03-01T09:00:00.800Z',
      durationMs: 1101,
      model: 'gpt-4.1-mini',
      usage: { inputTokens: 412, outputTokens: 36, totalTokens: 448 },
      costUsd: 0.0002224,
      approvedOutput: { role: 'assistant', content: 'The warranty lasts 24 months.' },
      review: { state: 'corrected', at: '2025-03-02T08:00:04.000Z' },
    })
    expect(trace.feedback).toMatchObject([
      {
        name: 'faithfulness',
        rating: 0.2,
        content: 'The docs say 24.',
        spanId: answer.id,
        createdAt: '2025-03-02T08:00:00.250Z',
      },
      { name: 'resolved', rating: 'negative', spanId: root.id },
      { name: 'tone', rating: null, content: 'friendly: Nice' },
      { name: 'output', correction: { output: '24 months' }, labeller: { email: 'ada@example.com' } },
    ])
    expect(strange.traceId).toMatch(/^trace_[0-9a-f]{32}$/)
    expect(strange.metadata).toMatchObject({ langfuse_trace_id: 'order #2 / é' })
    expect(strange.spans[1]).toMatchObject({ stepId: 'cancel-order', status: 'error', input: { order: 7 } })
    expect(strange.feedback).toMatchObject([{ name: 'stars', rating: null, content: '4.5' }])
    expect(report.unplaced).toMatchObject([
      { path: 'score', example: 's-session', count: 1 },
      { path: 'score.metadata', example: 's-big' },
      { path: 'score.stringValue', example: 's-cat' },
      { path: 'score.value', example: 's-big' },
    ])
    const { spans } = (await org.owner.get('/api/review-queue?projectSlug=support')).body
    expect(spans.map(({ stepId }: { stepId: string }) => stepId)).not.toContain('search-docs')
    expect(spans.map(({ stepId }: { stepId: string }) => stepId)).not.toContain('embed')
  })

  it('also accepts the API’s form: camel case, with observations and scores in their trace', async ({ expect }) => {
    const org = await newTenant()
    const trace = {
      id: 'api-1',
      timestamp: '2025-03-01T09:00:00.123Z',
      name: 'support-answer',
      sessionId: 'chat-7',
      output: { answer: '12 months' },
      observations: [
        {
          id: 'o-1',
          traceId: 'api-1',
          type: 'GENERATION',
          startTime: '2025-03-01T09:00:00.5Z',
          endTime: '2025-03-01T09:00:01Z',
          name: 'answer',
          model: 'gpt-4.1',
          usage: { input: 3, output: 4, total: 7, unit: 'TOKENS' },
          calculatedTotalCost: 0.5,
          output: 'Twelve.',
        },
      ],
      scores: [
        {
          id: 's-1',
          traceId: 'api-1',
          observationId: 'o-1',
          name: 'ok',
          value: 1,
          dataType: 'NUMERIC',
          source: 'API',
          timestamp: '2025-03-02T00:00:00.000Z',
        },
      ],
    }
    const report = await importInto(org, 'langfuse', [
      fileOf('page.json', JSON.stringify({ data: [trace], meta: { page: 1 } }, null, 2)),
    ])
    const [seen] = await shown(org)
    expect(report).toMatchObject({ records: 1, errorCount: 0, sent: { traces: 1, spans: 1, feedback: 1 } })
    expect(seen.spans[1]).toMatchObject({ stepId: 'answer', model: 'gpt-4.1', usage: { totalTokens: 7 }, costUsd: 0.5 })
    expect(seen.feedback).toMatchObject([{ name: 'ok', rating: 1, spanId: seen.spans[1].id }])
  })
})

describe('LangSmith', () => {
  it('keeps runs, feedback, and corrections', async ({ expect }) => {
    const org = await newTenant()
    const report = await importInto(org, 'langsmith', LANGSMITH)
    const [failed, trace] = await shown(org)
    expect(trace).toMatchObject({
      traceId: 'trace_0198a1b2-0000-7000-8000-000000000001',
      name: 'support-answer',
      createdAt: '2025-04-01T09:00:00.123Z',
      metadata: { group_id: 'chat-7', user_id: 'u-42', tags: ['beta', 'web'], customer: { tier: 'gold' } },
    })
    expect(stepsOf(trace)).toEqual(['support-answer', 'search-docs', 'ChatOpenAI'])
    const [root, search, answer] = trace.spans
    expect(root).toMatchObject({
      input: { question: 'How long is the warranty?' },
      output: { answer: 'The warranty lasts 12 months.' },
    })
    expect(search.parentSpanId).toBe(root.id)
    expect(answer).toMatchObject({
      parentSpanId: root.id,
      model: 'gpt-4.1-mini',
      provider: 'openai',
      usage: { inputTokens: 412, outputTokens: 36 },
      costUsd: 0.0002224,
      review: { state: 'corrected', at: '2025-04-02T08:00:00.250Z', comment: 'It is 24 months.' },
    })
    expect(trace.feedback.filter(({ source }: { source: string }) => source === 'api')).toMatchObject([
      { name: 'thumbs', rating: 'positive', spanId: root.id },
      { name: 'topic', rating: null, content: 'warranty' },
      { name: 'stars', rating: null, content: '4' },
      { name: 'correctness', rating: 0, spanId: answer.id, labeller: { email: 'ada@example.com' } },
    ])
    expect(failed.spans[0]).toMatchObject({
      stepId: 'cancel-order',
      status: 'error',
      metadata: { error: { type: 'ValueError' } },
    })
    expect(report.errors).toMatchObject([
      { file: 'langsmith-feedback.jsonl', line: 6, id: '0198a1b2-1111-4000-8000-000000000006' },
    ])
    expect(report.unplaced.map(({ path }) => path)).toEqual([
      'feedback',
      'feedback.extra',
      'feedback.feedback_source.metadata',
      'feedback.score',
      'feedback.value',
      'run.attachments',
      'run.events',
      'run.feedback_stats',
    ])
  })
})

describe('Phoenix', () => {
  it('keeps spans and annotations from a real export', async ({ expect }) => {
    const org = await newTenant()
    const report = await importInto(org, 'phoenix', PHOENIX)
    const traces = await shown(org)
    expect(report).toMatchObject({ errorCount: 0, warnings: [], sent: { spans: 15, feedback: 6 } })
    expect(traces).toHaveLength(3)
    const [failed, , trace] = traces
    expect(trace).toMatchObject({
      name: 'answer-question',
      metadata: { group_id: 'chat-7', user_id: 'u-42', tags: ['beta', 'web'], customer: { tier: 'gold' } },
    })
    expect(stepsOf(trace)).toEqual(['answer-question', 'search-docs', 'embed', 'ChatCompletion', 'send-mail'])
    const [root, search, , answer] = trace.spans
    expect(root).toMatchObject({ output: { answer: 'The warranty lasts 12 months.' }, status: 'ok' })
    expect(search.state.retrieved_chunks).toHaveLength(2)
    expect(answer).toMatchObject({ model: 'gpt-4.1-mini', usage: { totalTokens: 448 }, parentSpanId: root.id })
    expect(byName(trace.feedback)).toMatchObject([
      {
        name: 'correctness',
        rating: 0,
        content: 'incorrect: It is 24 months.',
        labeller: { email: 'ada@example.com' },
        spanId: answer.id,
      },
      { name: 'faithfulness', rating: 0.2, content: 'unfaithful: The docs say 24.', labeller: { name: 'llm' } },
    ])
    expect(failed.feedback).toMatchObject([{ name: 'resolved', rating: 0, content: 'no', spanId: failed.spans[0].id }])
    expect(failed.spans[3]).toMatchObject({
      status: 'error',
      metadata: { error: { type: 'RuntimeError', message: 'Rate limit reached' } },
    })
    expect(report.unplaced.map(({ path }) => path)).toEqual([
      'annotation.metadata',
      'annotation.result.score',
      'annotation.result.score',
    ])
  })

  it('reads the same traces from dataframes that the Python client wrote', async ({ expect }) => {
    const [rest, frames] = [await newTenant(), await newTenant()]
    await importInto(rest, 'phoenix', PHOENIX)
    const report = await importInto(
      frames,
      'phoenix',
      exported('phoenix-dataframe-spans.jsonl', 'phoenix-dataframe-annotations.jsonl'),
    )
    expect(report).toMatchObject({ errorCount: 0, sent: { spans: 15, feedback: 5 } })
    const outputs = async (org: Org) =>
      (await shown(org)).map(({ traceId, spans }) => [
        traceId,
        spans
          .map(({ stepId, input, output, state, model }: Record<string, unknown>) => ({
            stepId,
            input,
            output,
            state,
            model,
          }))
          .toSorted((a: { stepId: string }, b: { stepId: string }) => a.stepId.localeCompare(b.stepId)),
      ])
    expect(await outputs(frames)).toEqual(await outputs(rest))
  })
})

describe('Countersign', () => {
  it('imports what another project exported: spans, traces, and their details', async ({ expect }) => {
    const [from, to] = [await newTenant(), await newTenant()]
    const spanId = crypto.randomUUID()
    const trace = { trace_id: 'trace_a', name: 'answer', timestamp: '2025-01-01T00:00:00.000Z', status: 'completed' }
    const span = {
      trace_id: 'trace_a',
      span_id: spanId,
      step_id: 'generate',
      input: { question: 'How long?' },
      output: 'x'.repeat(10_000),
      timestamp: '2025-01-01T00:00:00.100Z',
      duration_ms: 5,
      model: 'gpt-4.1',
      usage: { input_tokens: 1, output_tokens: 2 },
    }
    const feedback = { trace_id: 'trace_a', feedback_id: 'f', name: 'ok', rating: 0, span_id: spanId }
    const data = { trace_id: 'trace_a', timestamp: '2025-01-01T00:00:01.000Z' }
    const observations = [
      { ...data, type: 'output', data: { answer: '12' } },
      { ...data, type: 'state', key: 'docs', data: [1], span_id: spanId },
    ]
    const events = [
      { type: 'feedback', body: { ...feedback, timestamp: '2025-01-02T00:00:00.000Z' } },
      ...observations.map(body => ({ type: 'observation', body })),
      { type: 'span', body: span },
      { type: 'trace', body: { ...trace, metadata: { tier: 'gold' } } },
    ]
    const lines = events.map(event => JSON.stringify(event)).join('\n')
    expect(await importInto(from, 'jsonl', [fileOf('events.jsonl', lines)])).toMatchObject({
      errorCount: 0,
      sent: { traces: 1, spans: 1, observations: 2, feedback: 1 },
    })
    expect((await importInto(from, 'jsonl', [fileOf('events.jsonl', lines)])).errorCount).toBe(0)
    const [original] = await shown(from)
    expect(original.spans[0]).toMatchObject({ output: { answer: '12' } })
    await from.owner.post('/api/reviews', {
      reviews: [
        {
          spanId,
          decision: 'correct',
          approvedOutput: 'y',
          source: 'import',
          by: 'ada@example.com',
          at: '2025-01-03T00:00:00.000Z',
        },
      ],
    })
    const [reviewed] = await shown(from)
    const users = new Map([[reviewed.spans[1].review.by, 'ada@example.com']])
    const spans = (await from.read.get('/api/spans/export?projectSlug=support&format=jsonl')).body
    const traces = (await from.read.get('/api/traces/export?projectSlug=support&format=jsonl')).body
    const files = [fileOf('spans.jsonl', spans), fileOf('traces.jsonl', traces)]
    const report = await importInto(to, 'jsonl', files, { users })
    expect(report).toMatchObject({ errorCount: 0, reviews: { added: 1 } })
    expect(report.unplaced.map(({ path }) => path)).toEqual(['trace.spans'])
    const [seen] = await shown(to)
    expect(seen).toMatchObject({
      traceId: 'trace_a',
      name: 'answer',
      createdAt: trace.timestamp,
      metadata: { tier: 'gold' },
    })
    const [, copied] = seen.spans
    const { id, input, output, state, model, usage, durationMs, approvedOutput } = reviewed.spans[1]
    expect(copied).toMatchObject({ id, input, output, state, model, usage, durationMs, approvedOutput })
    expect(copied.review).toMatchObject({ state: 'corrected', at: '2025-01-03T00:00:00.000Z' })

    const detail = await newTenant()
    const details = await importInto(detail, 'jsonl', [fileOf('trace.json', JSON.stringify(reviewed, null, 2))], {
      users,
    })
    expect(details).toMatchObject({ errorCount: 0, unplaced: [], reviews: { added: 1 } })
    const [detailed] = await shown(detail)
    expect(detailed.spans[1]).toMatchObject({ id, output, state, review: { state: 'corrected' } })
    expect(detailed.feedback).toMatchObject(
      reviewed.feedback.map(({ name, rating, content }: Record<string, unknown>) => ({ name, rating, content })),
    )
  })
})

describe('bad input', () => {
  it('is reported by file, line, and id, and nothing else is lost', async ({ expect }) => {
    const org = await newTenant()
    const event = (body: object, type = 'trace') => JSON.stringify({ type, body })
    const trace = { trace_id: 'trace_a', name: 'answer', timestamp: '2025-01-01T00:00:00.000Z', status: 'completed' }
    const lines = [
      event(trace),
      '{"type":"trace","body":',
      event({ ...trace, trace_id: 'a' }),
      '{"hello":"there"}',
      '42',
      event({ trace_id: 'trace_gone', feedback_id: 'f', rating: 1 }, 'feedback'),
      event({ trace_id: 'trace_a', feedback_id: 'g', rating: 7 }, 'feedback'),
      event({ trace_id: 'trace_a', feedback_id: 'h', rating: 1 }, 'feedback'),
      event(
        {
          trace_id: 'trace_a',
          observation_id: crypto.randomUUID(),
          type: 'output',
          timestamp: trace.timestamp,
          data: 'x'.repeat(5 * 1024 * 1024),
        },
        'observation',
      ),
    ]
    const report = await importInto(org, 'jsonl', [fileOf('f', lines.join('\n'))])
    expect(report).toMatchObject({ records: 9, errorCount: 7, sent: { traces: 1, feedback: 1, observations: 0 } })
    expect(report.errors.map(({ file, line, id }) => [file, line, id]).toSorted()).toEqual([
      ['f', 2, null],
      ['f', 3, 'a'],
      ['f', 4, null],
      ['f', 5, null],
      ['f', 6, 'f'],
      ['f', 7, 'g'],
      ['f', 9, 'trace_a'],
    ])
  })

  it('includes scores of unexpected types, which are kept without an invented rating', async ({ expect }) => {
    const org = await newTenant()
    const timestamp = '2025-03-01T09:00:00Z'
    const score = (id: string, fields: object) => ({ id, traceId: 't', name: id, source: 'API', timestamp, ...fields })
    const records = [
      { id: 't', timestamp, name: 'answer' },
      score('a', { dataType: 'BOOLEAN', value: null, stringValue: 'True' }),
      score('b', { dataType: 'BOOLEAN', value: '0' }),
      score('c', { dataType: 'BOOLEAN', value: null, comment: 'Unsure' }),
      score('d', { dataType: 'NUMERIC', value: 'NaN' }),
      score('e', { dataType: 'NEW', value: 0.5 }),
      score('f', { dataType: 'NEW', stringValue: 'good' }),
      score('g', { dataType: 'NUMERIC', value: [1] }),
    ]
    await importInto(org, 'langfuse', [fileOf('f', JSON.stringify(records))])
    const [trace] = await shown(org)
    const judged = trace.feedback.map(({ name, rating, content }: Record<string, unknown>) => [name, rating, content])
    expect(judged.toSorted()).toEqual([
      ['a', 'positive', ''],
      ['b', 'negative', ''],
      ['c', null, 'Unsure'],
      ['d', null, 'NaN'],
      ['e', 0.5, ''],
      ['f', null, 'good'],
      ['g', null, '[1]'],
    ])
  })

  it.for([
    ['langfuse', { id: 7, timestamp: '2025-03-01T09:00:00Z', name: 'answer' }],
    ['langsmith', { id: 7, run_type: 'chain', start_time: '2025-03-01T09:00:00Z', name: 'answer' }],
    ['langfuse', { id: 'a', timestamp: 1e300, name: 'answer' }],
    ['langsmith', { id: 'a', run_type: 'chain', start_time: 1e300, name: 'answer' }],
  ] as const)('is reported as an error if its id or time is invalid: %s %o', async ([source, record], { expect }) => {
    const org = await newTenant()
    const report = await importInto(org, source, [fileOf('f', JSON.stringify(record))])
    expect(report).toMatchObject({ errorCount: 1, sent: { traces: 0, spans: 0 } })
    expect(await shown(org)).toEqual([])
  })

  it('is truncated to what the service accepts, and the report says so', async ({ expect }) => {
    const org = await newTenant()
    const big = 'é'.repeat(40_000)
    const trace = {
      id: 'a',
      timestamp: '2025-01-01T00:00:00Z',
      name: 'n'.repeat(300),
      metadata: { keep: 1, big, late: 2 },
    }
    const run = {
      id: 'o',
      traceId: 'a',
      type: 'SPAN',
      startTime: '2025-01-01T00:00:00Z',
      name: 'step',
      output: 'x'.repeat(5 * 1024 * 1024 + 1),
    }
    const score = {
      id: 's'.repeat(200),
      traceId: 'a',
      name: 'm'.repeat(300),
      dataType: 'TEXT',
      stringValue: 'c'.repeat(20_000),
      timestamp: '2025-01-01T00:00:00Z',
    }
    const report = await importInto(org, 'langfuse', [
      fileOf('f', [trace, run, score].map(record => JSON.stringify(record)).join('\n')),
    ])
    expect(report.errors).toEqual([])
    expect(report.unplaced.map(({ path }) => path)).toEqual([
      'observation.langfuse.observation.output',
      'score.comment',
      'score.name',
      'score.stringValue',
      'trace.metadata.big',
      'trace.name',
    ])
    expect(report.warnings).toMatchObject([{ message: expect.stringContaining('output') }])
    const [seen] = await shown(org)
    expect(seen.metadata).toEqual({ keep: 1, late: 2 })
    expect(seen.feedback[0].content).toHaveLength(16 * 1024)
  })
})

describe('sending', () => {
  const record = (id: number) =>
    JSON.stringify({
      context: { trace_id: 'a'.repeat(31) + (id % 10), span_id: `s${id}` },
      name: 'step',
      start_time: 1716990379,
    })
  const records = (count: number) => fileOf('f', Array.from({ length: count }, (_, id) => record(id)).join('\n'))

  it('retries temporary failures when the service asks for it', async ({ expect }) => {
    const org = await newTenant()
    let calls = 0
    const fetch: Fetch = async (url, init) => {
      calls++
      if (calls % 2 === 1)
        return new Response('{"error":"Busy","code":"x"}', { status: 503, headers: { 'retry-after': '0' } })
      return workerFetch()(url, init)
    }
    const report = await importInto(org, 'langfuse', LANGFUSE, { service: serviceOf(org, fetch) })
    expect(report).toMatchObject({ errorCount: 0, sent: { traces: 2, spans: 5, feedback: 5, reviews: 1 } })
  })

  it('leaves out only the record that makes the service reject a request', async ({ expect }) => {
    const rejected = async (status: number, body: object) => {
      let spans = 0
      const service = {
        attempt: async (_path: string, { body: text = '' }: { body?: string }) => {
          const count = text.split('"spanId"').length - 1
          if (!text.includes('"step-bad"')) spans += count
          return text.includes('"step-bad"') ? { status, body } : { status: 200, body: {} }
        },
      }
      const org = { project: { id: crypto.randomUUID() } }
      const bad = JSON.stringify({ ...JSON.parse(record(7)), name: 'step-bad' })
      const files = [records(5), fileOf('bad', `\n\n${bad}`), records(9)]
      const report = await importFiles({ source: 'phoenix', files, service, projectId: org.project.id })
      return { report, spans }
    }
    for (const [status, body] of [
      [400, { message: 'Invalid' }],
      [413, { message: 'Too large' }],
      [200, { partialSuccess: { rejectedSpans: '1', errorMessage: '1 rejected' } }],
    ] as const) {
      const { report, spans } = await rejected(status, body)
      expect(spans).toBe(14)
      expect(report).toMatchObject({ errorCount: 1, errors: [{ file: 'bad', line: 3, id: 's7' }], sent: { spans: 14 } })
    }
  })

  it('stops immediately if the key is rejected', async ({ expect }) => {
    let calls = 0
    const service = {
      attempt: async () => {
        calls++
        return { status: 401, body: { error: 'Not authenticated', code: 'unauthorized' } }
      },
    }
    const options = { source: 'phoenix', files: [records(9)], service, projectId: crypto.randomUUID() } as const
    await expect(importFiles(options)).rejects.toMatchObject({ status: 401 })
    expect(calls).toBe(1)
  })

  it('keeps requests within the service’s limits', async ({ expect }) => {
    const sizes: number[] = []
    const service = {
      attempt: async (_path: string, { body = '' }: { body?: string }) => {
        sizes.push(body.split('"spanId"').length - 1)
        return { status: 200, body: {} }
      },
    }
    const report = await importFiles({
      source: 'phoenix',
      files: [records(2500)],
      service,
      projectId: crypto.randomUUID(),
    })
    expect([report.sent.spans, sizes]).toEqual([2500, [1000, 1000, 500]])
  })

  it('stops when asked to', async ({ expect }) => {
    const stop = new AbortController()
    stop.abort(new Error('Stopped'))
    const options = {
      source: 'phoenix',
      files: [records(9)],
      service: undefined,
      projectId: '',
      signal: stop.signal,
    } as const
    await expect(importFiles(options)).rejects.toThrow('Stopped')
  })
})
