import { describe, it } from 'vitest'
import { type Countersign, CountersignError } from '../../src/client/index.ts'
import { traceUuid } from '../../src/domain/ids.ts'
import { newOrg } from '../support/org.ts'
import { errorResponse, newPrompt, newWorkerClient, workerFetch } from './service.ts'

/** Returns a trace from the API, with its root and a function that finds the span of a step. */
async function readBack(countersign: Countersign, traceId: string) {
  await countersign.flush()
  const trace = await countersign.traces.get(traceId)
  const spanOf = (stepId: string) => {
    const span = trace.spans.find(each => each.stepId === stepId)
    if (!span) throw new Error(`no span of step ${stepId}`)
    return span
  }
  return { ...trace, root: spanOf(trace.name), spanOf }
}

/** Lets other tasks run. */
const turn = () => new Promise(resolve => setTimeout(resolve, 1))

describe('a run', () => {
  it('is recorded with its steps, observations, state, and feedback, and can be read back', async ({ expect }) => {
    const org = await newOrg()
    const { countersign, losses } = newWorkerClient(org)
    const { created } = await newPrompt(org, 'generate-answer')
    const prompt = await countersign.prompts.active('generate-answer')
    expect(prompt).toMatchObject({ stepId: 'generate-answer', content: 'First', isStale: false })

    const trace = countersign.startTrace('support-answer', { metadata: { group_id: 'session-1' } })
    expect(trace.id).toMatch(/^trace_[0-9a-f]{22}$/)
    trace.observe('input', { question: 'How long is the warranty?' })
    trace.observe('input', { language: 'en' })
    trace.state('config', { temperature: 0 })
    const answer = await trace.span(
      'generate-answer',
      async span => {
        const documents = await span.span('retrieve', async () => ['warranty'], { input: 'warranty' })
        span.state('documents', documents)
        span.modelCall({ usage: { inputTokens: 412, outputTokens: 36, cachedTokens: 256 }, costUsd: 0.5 })
        return { answer: '12 months' }
      },
      {
        input: { question: 'How long?' },
        promptVersionId: prompt.versionId,
        model: 'gpt-4.1-mini',
        provider: 'openai',
        usage: { inputTokens: 1 },
        metadata: { attempt: 1 },
      },
    )
    expect(answer).toEqual({ answer: '12 months' })
    trace.complete({ output: answer, metadata: { tokens: 12 } })
    const feedbackId = trace.feedback({
      rating: 'negative',
      comment: 'It is 24 months.',
      correction: { answer: '24 months' },
      labeller: { name: 'Ada', email: 'ada@example.com' },
    })

    const read = await readBack(countersign, trace.id)
    expect(losses).toEqual([])
    expect(countersign.lost).toBe(0)
    expect(read).toMatchObject({
      traceId: trace.id,
      name: 'support-answer',
      status: 'completed',
      metadata: { group_id: 'session-1', tokens: 12 },
      spanCount: 3,
      feedback: [{ content: 'It is 24 months.', rating: 'negative', correction: { answer: '24 months' } }],
    })
    expect(read.durationMs).toBeGreaterThanOrEqual(0)
    expect(read.root).toMatchObject({
      input: { question: 'How long is the warranty?', language: 'en' },
      output: { answer: '12 months' },
      state: { config: { temperature: 0 } },
    })
    const generate = read.spanOf('generate-answer')
    expect(generate).toMatchObject({
      parentSpanId: read.root.id,
      status: 'ok',
      input: { question: 'How long?' },
      output: { answer: '12 months' },
      state: { documents: ['warranty'] },
      promptVersionId: created.versionId,
      model: 'gpt-4.1-mini',
      provider: 'openai',
      usage: { inputTokens: 412, outputTokens: 36, totalTokens: 448, cachedTokens: 256 },
      costUsd: 0.5,
      metadata: { attempt: 1 },
    })
    expect(read.spanOf('retrieve')).toMatchObject({
      parentSpanId: generate.id,
      input: 'warranty',
      output: ['warranty'],
    })
    expect(await countersign.spans.get(generate.id)).toMatchObject({ id: generate.id, trace: { traceId: trace.id } })

    countersign.feedback(trace.id, { feedbackId, rating: 0 })
    const [feedback] = (await readBack(countersign, trace.id)).feedback
    expect(feedback).toMatchObject({ rating: 0, content: 'It is 24 months.' })
    const mistaken = countersign.feedback(trace.id, { rating: 'positive' })
    expect([await countersign.deleteFeedback(mistaken), await countersign.deleteFeedback(mistaken)]).toEqual([
      true,
      false,
    ])
    expect((await readBack(countersign, trace.id)).feedback).toHaveLength(1)

    expect(await countersign.search({ group_id: 'session-1', status: 'completed' })).toMatchObject({
      count: 1,
      traces: [{ trace_id: trace.id, name: 'support-answer', metadata: { tokens: 12 } }],
    })
  })

  it('finds the cause of a disagreement that was recorded just before', async ({ expect }) => {
    const { countersign } = newWorkerClient(await newOrg())
    const trace = countersign.startTrace('support-answer')
    await trace.span('generate-answer', span => {
      span.input({ question: 'What is 17 times 3?' })
      return { answer: '17 times 3 is 41.' }
    })
    trace.complete()
    const undisputed = countersign.attribute(trace.id)
    await expect(undisputed).rejects.toMatchObject({ status: 422, code: 'unprocessable' })
    trace.feedback({ rating: 'negative', comment: 'It is 51.', correction: { answer: '17 times 3 is 51.' } })
    const attribution = await countersign.attribute(trace.id)
    expect(attribution).toMatchObject({ trace_id: trace.id, engine: 'rules' })
    expect(await countersign.attribute(trace.id)).toEqual(attribution)
    expect(await countersign.attribute(trace.id, { force: true })).toMatchObject({ error_type: attribution.error_type })
  })

  it('records an error that a step throws, and rethrows it unchanged', async ({ expect }) => {
    const { countersign } = newWorkerClient(await newOrg())
    const trace = countersign.startTrace('support-answer')
    const failure = new RangeError('The model is gone')
    const thrown = trace.span(
      'generate-answer',
      span => {
        span.output('half an ans')
        throw failure
      },
      { metadata: { model: 'small' } },
    )
    await expect(thrown).rejects.toBe(failure)
    await expect(trace.span('no-error', () => Promise.reject('a text'))).rejects.toBe('a text')
    trace.complete()
    const read = await readBack(countersign, trace.id)
    expect(read.spanOf('generate-answer')).toMatchObject({
      status: 'error',
      output: 'half an ans',
      metadata: { model: 'small', error: { name: 'RangeError', message: 'The model is gone' } },
    })
    expect(read.spanOf('no-error')).toMatchObject({
      status: 'error',
      output: null,
      metadata: { error: { message: 'a text' } },
    })
  })

  it('nests parallel steps, by context or explicitly', async ({ expect }) => {
    const { countersign } = newWorkerClient(await newOrg())
    const trace = countersign.startTrace('support-answer')
    const other = countersign.startTrace('other')
    expect(countersign.currentSpan()).toBeUndefined()
    await Promise.all(
      ['left', 'right'].map(side =>
        trace.span(side, async span => {
          await turn()
          await trace.span(`${side}-by-context`, async inner => {
            await turn()
            expect(countersign.currentSpan()).toBe(inner)
            await span.span(`${side}-by-hand`, turn)
            await countersign.currentSpan()?.span(`${side}-deep`, turn)
          })
          expect(countersign.currentSpan()).toBe(span)
          await other.span(`${side}-of-another`, turn)
        }),
      ),
    )
    const read = await readBack(countersign, trace.id)
    for (const side of ['left', 'right']) {
      const { id, parentSpanId } = read.spanOf(side)
      expect(parentSpanId).toBe(read.root.id)
      expect(read.spanOf(`${side}-by-context`).parentSpanId).toBe(id)
      expect(read.spanOf(`${side}-by-hand`).parentSpanId).toBe(id)
      expect(read.spanOf(`${side}-deep`).parentSpanId).toBe(read.spanOf(`${side}-by-context`).id)
    }
    const read2 = await readBack(countersign, other.id)
    expect(read2.spanOf('left-of-another').parentSpanId).toBe(read2.root.id)
  })

  it('requires explicit parents if there is no context', async ({ expect }) => {
    const without = { run: <Result>(_: unknown, run: () => Result) => run(), getStore: () => undefined }
    const { countersign } = newWorkerClient(await newOrg(), { asyncLocalStorage: without })
    const trace = countersign.startTrace('support-answer')
    await trace.span('outer', async span => {
      await span.span('by-hand', turn)
      await trace.span('of-the-trace', turn)
    })
    const read = await readBack(countersign, trace.id)
    expect(read.spanOf('by-hand').parentSpanId).toBe(read.spanOf('outer').id)
    expect(read.spanOf('of-the-trace').parentSpanId).toBe(read.root.id)
  })

  it('keeps inputs as recorded, and accepts an output after a step ends, such as one from a stream', async ({
    expect,
  }) => {
    const { countersign } = newWorkerClient(await newOrg())
    const trace = countersign.startTrace('support-answer')
    const messages = ['first']
    const span = await trace.span(
      'generate-answer',
      async span => {
        messages.push('second')
        span.output('nothing yet')
        return span
      },
      { input: messages },
    )
    await countersign.flush()
    span.output('all of it')
    const { readable } = new TransformStream()
    expect(await trace.span('stream', () => readable)).toBe(readable)
    const read = await readBack(countersign, trace.id)
    expect(read.spanOf('generate-answer')).toMatchObject({ status: 'ok', input: ['first'], output: 'all of it' })
    expect(read.spanOf('stream')).toMatchObject({ status: 'ok', output: null })
  })

  it('can continue by id in another process, and completes at the end of a block', async ({ expect }) => {
    const org = await newOrg()
    const [first, second] = [newWorkerClient(org), newWorkerClient(org)]
    const id = await (async () => {
      using trace = first.countersign.startTrace('support-answer', { metadata: { a: 1 } })
      await trace.span('here', async span => {
        const there = second.countersign.startTrace('support-answer', { traceId: trace.id })
        await there.span('there', turn, { parentSpanId: span.id })
        await second.countersign.flush()
      })
      return trace.id
    })()
    const read = await readBack(first.countersign, id)
    expect(read).toMatchObject({ status: 'completed', metadata: { a: 1 }, spanCount: 3 })
    expect(read.spanOf('there').parentSpanId).toBe(read.spanOf('here').id)
  })

  it('accepts two values that don’t fit in one batch', async ({ expect }) => {
    const { countersign, losses } = newWorkerClient(await newOrg())
    const trace = countersign.startTrace('support-answer')
    const large = (letter: string) => letter.repeat(5 * 1024 * 1024 - 2)
    const { id } = await trace.span(
      'generate-answer',
      span => {
        span.output(large('b'))
        return span
      },
      { input: large('a'), metadata: { model: 'small' } },
    )
    await countersign.flush()
    expect(losses).toEqual([])
    const { input, output, metadata, status } = await countersign.spans.get(id)
    expect({ metadata, status }).toEqual({ metadata: { model: 'small' }, status: 'ok' })
    expect(input === large('a') && output === large('b')).toBe(true)
  })

  it('loses only the events that the service rejects', async ({ expect }) => {
    const org = await newOrg()
    const { countersign, losses } = newWorkerClient(org)
    const trace = countersign.startTrace('support-answer')
    await trace.span('good', () => 'yes')
    await trace.span('bad', () => 'no', { promptVersionId: crypto.randomUUID() })
    trace.feedback({ rating: 7 })
    countersign.feedback('trace_unknown', { rating: 'positive' })
    const read = await readBack(countersign, trace.id)
    expect(read.spans.map(({ stepId }) => stepId)).toEqual(['support-answer', 'good'])
    expect(losses).toMatchObject([
      { reason: 'refused', type: 'span', traceId: trace.id, status: 422 },
      { reason: 'refused', type: 'feedback', traceId: trace.id, status: 400 },
      { reason: 'refused', type: 'feedback', traceId: 'trace_unknown', status: 404, message: 'Trace not found' },
    ])
    expect(countersign.lost).toBe(3)
  })

  it('takes effect only once, even if a response is lost', async ({ expect }) => {
    const org = await newOrg()
    let calls = 0
    const { countersign, losses } = newWorkerClient(org, {
      fetch: async (url, init) => {
        const response = await workerFetch()(url, init)
        return ++calls === 1 ? errorResponse(502, 'bad_gateway', { 'retry-after': '0' }) : response
      },
    })
    const trace = countersign.startTrace('support-answer')
    trace.observe('input', 'once')
    await trace.span('generate-answer', () => 'yes')
    trace.feedback({ comment: 'once' })
    trace.complete()
    const read = await readBack(countersign, trace.id)
    expect(losses).toEqual([])
    expect(read).toMatchObject({ status: 'completed', spanCount: 2, feedbackCount: 1, spans: [{ input: 'once' }, {}] })
    const id = await traceUuid(org.project.id, trace.id)
    expect(read.id).toBe(id)
    const observations = await org.ingest.get(`/api/v1/traces/${trace.id}/observations`)
    expect(observations.body.observations).toHaveLength(1)
  })

  it('needs a project if its key is valid for several projects', async ({ expect }) => {
    const org = await newOrg()
    const named = newWorkerClient(org, { apiKey: org.ownerKey })
    const unnamed = newWorkerClient(org, { apiKey: org.ownerKey, projectSlug: undefined })
    for (const { countersign } of [named, unnamed]) {
      countersign.startTrace('support-answer')
      await countersign.flush()
    }
    expect(named.losses).toEqual([])
    expect(unnamed.losses).toMatchObject([{ reason: 'refused', status: 400, message: /x-project-slug/ }])
    await expect(unnamed.countersign.search({ group_id: 'a' })).rejects.toBeInstanceOf(CountersignError)
  })
})
