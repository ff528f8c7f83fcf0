import { afterEach, describe, it, vi } from 'vitest'
import type { ExperimentProgress, ExperimentReport, Fetch } from '../../src/client/index.ts'
import { MAX_VALUE_BYTES } from '../../src/client/limits.ts'
import { newOrg } from '../support/org.ts'
import { errorResponse, jsonResponse, newWorkerClient, workerFetch } from './service.ts'

const STEP = 'classify'

interface Ticket {
  number: number
}

/** The expected output for a ticket. */
const categoryOf = ({ number }: Ticket) => ({ category: `category-${number}` })

/** A tenant with a dataset of imported examples, and functions that read experiments. */
async function newDataset(count: number) {
  const org = await newOrg()
  const dataset = (await org.owner.put('/api/datasets', { projectSlug: 'support', stepId: STEP })).body
  const items = Array.from({ length: count }, (_, number) => ({
    id: crypto.randomUUID(),
    input: { number },
    expected: categoryOf({ number }),
    state: { documents: [`document-${number}`] },
    metadata: { number },
  }))
  for (let start = 0; start < count; start += 200) {
    await org.owner.post(`/api/datasets/${dataset.id}/items`, { items: items.slice(start, start + 200) })
  }
  const list = async (): Promise<{ id: string; state: string }[]> =>
    (await org.read.get('/api/experiments?projectSlug=support')).body.experiments
  const read = async (id: string) => (await org.read.get(`/api/experiments/${id}`)).body
  const results = async (id: string, query = '') =>
    (await org.read.get(`/api/experiments/${id}/items?limit=200&${query}`)).body.items
  return { org, dataset, items, list, read, results }
}

const turn = (milliseconds = 1) => new Promise(resolve => setTimeout(resolve, milliseconds))

/** A connection to the Worker that a test can cut, and the requests sent over it. */
function newConnection() {
  const sent: { method: string; path: string; results: number }[] = []
  const connection = {
    isOpen: true,
    sent,
    before: (_: { path: string; body: string }): Response | undefined => undefined,
  }
  const toWorker = workerFetch()
  const fetch: Fetch = async (url, init) => {
    if (!connection.isOpen) throw new TypeError('Network connection lost')
    const body = typeof init.body === 'string' ? init.body : ''
    const { pathname: path } = new URL(url)
    sent.push({
      method: init.method ?? '',
      path,
      results: path.endsWith('/results') ? JSON.parse(body).results.length : 0,
    })
    return connection.before({ path, body }) ?? toWorker(url, init)
  }
  return { connection, fetch }
}

afterEach(() => {
  vi.useRealTimers()
})

describe('an experiment', () => {
  it('runs each item once, sends its outputs, and finishes', async ({ expect }) => {
    const { org, dataset, items, read, results } = await newDataset(7)
    const { countersign } = newWorkerClient(org)
    const seen: unknown[] = []
    const progress: ExperimentProgress[] = []
    const report = await countersign.experiment<Ticket>(
      { step: STEP, name: 'First', metadata: { branch: 'main' }, model: 'gpt-4.1-mini' },
      async (item, run) => {
        seen.push(item)
        run.record({
          usage: { inputTokens: 10, outputTokens: 2, cachedTokens: 4 },
          traceId: `trace_${item.input.number}`,
        })
        run.record({ costUsd: 0.25 })
        return item.input.number === 0 ? { category: 'other' } : categoryOf(item.input)
      },
      { onProgress: each => progress.push(each) },
    )
    expect(seen).toHaveLength(7)
    expect(seen).toContainEqual({
      id: items[3]?.id,
      input: { number: 3 },
      state: { documents: ['document-3'] },
      metadata: { number: 3 },
      split: expect.stringMatching(/^(train|test)$/),
    })
    expect(report).toMatchObject({
      state: 'finished',
      datasetId: dataset.id,
      name: 'First',
      metadata: { branch: 'main' },
      model: 'gpt-4.1-mini',
      counts: { passed: 6, failed: 1, unjudged: 0, error: 0 },
      usage: { inputTokens: 70, outputTokens: 14, totalTokens: 84 },
      cost: { usd: 1.75 },
      durationMs: { results: 7 },
    })
    expect(report.url).toBe(`https://countersign.test/experiments/${report.id}?project=support`)
    expect(await read(report.id)).toMatchObject({ state: 'finished', counts: report.counts })
    const [result] = await results(report.id, 'outcome=failed')
    expect(result).toMatchObject({ input: { number: 0 }, output: { category: 'other' }, resultTraceId: 'trace_0' })
    const { id, url } = report
    expect(progress[0]).toEqual({ id, url, items: 7, done: 0, errors: 0 })
    expect(progress.at(-1)).toEqual({ id, url, items: 7, done: 7, errors: 0 })
  })

  it('tries a prompt version on a split or a sample', async ({ expect }) => {
    const { org, dataset, results } = await newDataset(20)
    const { countersign } = newWorkerClient(org)
    const prompt = (await org.owner.post('/api/prompts', { projectSlug: 'support', stepId: STEP, content: 'First' }))
      .body
    const report = await countersign.experiment<Ticket>(
      { step: STEP, project: 'support', promptVersionId: prompt.versionId, split: 'train', sample: 5 },
      ({ input }) => categoryOf(input),
    )
    expect(report).toMatchObject({ promptVersionId: prompt.versionId, split: 'train', sample: 5, items: 5 })
    const ran = await results(report.id)
    expect(ran.map(({ split }: { split: string }) => split)).toEqual(Array(5).fill('train'))
    const next = await countersign.experiment<Ticket>(
      { step: STEP, sample: 5, split: 'train', baseline: report.id },
      ({ input }) => categoryOf(input),
    )
    expect(next).toMatchObject({ datasetId: dataset.id, baseline: report.id, counts: { stillRight: 5 } })
  })

  it('reads all pages of items, and sends up to 200 results per request', async ({ expect }) => {
    const { org } = await newDataset(450)
    const { connection, fetch } = newConnection()
    const { countersign } = newWorkerClient(org, { fetch })
    const report = await countersign.experiment<Ticket>({ step: STEP }, ({ input }) => categoryOf(input), {
      concurrency: 64,
    })
    expect(report.counts).toMatchObject({ passed: 450 })
    const sizes = connection.sent.flatMap(({ results }) => results || [])
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(450)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(200)
    expect(sizes.length).toBeLessThan(20)
    expect(connection.sent.some(({ path }) => path.endsWith('/finish'))).toBe(false)
  })

  it.for([1, 3])('runs at most %i items at a time', async (concurrency, { expect }) => {
    const { org } = await newDataset(12)
    const { countersign } = newWorkerClient(org)
    let running = 0
    let most = 0
    await countersign.experiment<Ticket>(
      { step: STEP },
      async ({ input }) => {
        most = Math.max(most, ++running)
        await turn(input.number % 4)
        running--
        return categoryOf(input)
      },
      { concurrency },
    )
    expect(most).toBe(concurrency)
  })

  it.for([0, 65, 1.5, Number.NaN])('rejects a concurrency of %d', async (concurrency, { expect }) => {
    const { org, list } = await newDataset(0)
    const { countersign } = newWorkerClient(org)
    await expect(countersign.experiment({ step: STEP }, () => 1, { concurrency })).rejects.toThrow(RangeError)
    expect(await list()).toEqual([])
  })

  it('fails for a step without a dataset, and for an unknown id', async ({ expect }) => {
    const { org } = await newDataset(1)
    const { countersign } = newWorkerClient(org)
    await expect(countersign.experiment({ step: 'other' }, () => 1)).rejects.toMatchObject({
      code: 'dataset_not_found',
      message: expect.stringContaining('other'),
    })
    await expect(countersign.experiment({ id: crypto.randomUUID() }, () => 1)).rejects.toMatchObject({ status: 404 })
    const { countersign: reader } = newWorkerClient(org, { apiKey: await org.keyFor({ scopes: ['read'] }) })
    await expect(reader.experiment({ step: STEP }, () => 1)).rejects.toMatchObject({ status: 403 })
  })
})

describe('an item', () => {
  it('that throws gets an error, and the other items continue', async ({ expect }) => {
    const { org, results } = await newDataset(6)
    const { connection, fetch } = newConnection()
    const { countersign } = newWorkerClient(org, { fetch })
    const thrown = [new TypeError('No such category'), 'a text', new Error(''), new Error(`${'x'.repeat(1999)}😀`)]
    let errors = 0
    const report = await countersign.experiment<Ticket>(
      { step: STEP },
      ({ input }, run) => {
        run.record({ costUsd: 0.5, usage: { inputTokens: Number.NaN, outputTokens: 1 } })
        if (input.number in thrown) throw thrown[input.number]
        return categoryOf(input)
      },
      { onProgress: progress => (errors = progress.errors) },
    )
    expect(report).toMatchObject({ state: 'finished', counts: { passed: 2, error: 4 }, cost: { usd: 3 }, usage: null })
    expect(errors).toBe(4)
    const failed: { input: Ticket; error: string }[] = await results(report.id, 'outcome=error')
    const messages = Object.fromEntries(failed.map(({ input, error }) => [input.number, error]))
    expect(messages).toEqual({
      0: 'TypeError: No such category',
      1: 'a text',
      2: 'Error',
      3: `Error: ${'x'.repeat(1993)}`,
    })
    expect(connection.sent.filter(({ path }) => path.endsWith('/finish'))).toHaveLength(1)
  })

  const cycle: { self?: unknown } = {}
  cycle.self = cycle
  it.for([
    ['over 5 MiB', 'x'.repeat(MAX_VALUE_BYTES), "The output can't be sent: More than 5242880 bytes as JSON"],
    ['undefined', undefined, "The output can't be sent: JSON can't represent this value"],
    ['a cycle', cycle, /^The output can't be sent: .*circular/],
  ] as const)('whose output is %s gets an error that says so', async ([, output, message], { expect }) => {
    const { org, results } = await newDataset(4)
    const { countersign } = newWorkerClient(org)
    const report = await countersign.experiment<Ticket>({ step: STEP }, ({ input }) =>
      input.number === 2 ? output : categoryOf(input),
    )
    expect(report.counts).toMatchObject({ passed: 3, error: 1 })
    const [failed] = await results(report.id, 'outcome=error')
    expect(failed).toMatchObject({ input: { number: 2 }, output: null, error: expect.stringMatching(message) })
  })

  it('whose output the service rejects gets an error that says so', async ({ expect }) => {
    const { org, results } = await newDataset(1)
    const { connection, fetch } = newConnection()
    connection.before = ({ body }) => {
      if (!body.includes('To be refused')) return undefined
      const refusal = { status: 400, body: { error: 'Not like this', code: 'invalid' } }
      return jsonResponse(207, { results: JSON.parse(body).results.map(() => refusal) })
    }
    const { countersign } = newWorkerClient(org, { fetch })
    const report = await countersign.experiment({ step: STEP }, () => 'To be refused')
    expect(report.counts).toMatchObject({ error: 1 })
    const [failed] = await results(report.id, 'outcome=error')
    expect(failed).toMatchObject({ error: 'The output was refused: Not like this' })
  })

  it('may have a large output', async ({ expect }) => {
    const { org, items } = await newDataset(5)
    const { connection, fetch } = newConnection()
    const { countersign } = newWorkerClient(org, { fetch })
    const text = 'x'.repeat(2 * 1024 * 1024)
    const report = await countersign.experiment<Ticket>({ step: STEP }, ({ input }) =>
      input.number === 4 ? 'y'.repeat(MAX_VALUE_BYTES - 2) : text,
    )
    expect(report.counts).toMatchObject({ error: 0 })
    // Together, the outputs would exceed a request's limit.
    expect(connection.sent.flatMap(({ results }) => results || [])).toEqual([1, 1, 1, 1, 1])
    const page = await org.read.get(`/api/experiments/${report.id}/items?limit=1`)
    const [{ id, output }] = page.body.items
    expect(output).toHaveLength(id === items[4]?.id ? MAX_VALUE_BYTES - 2 : text.length)
  })

  it('is sent with fewer other items if a proxy has a lower request limit than the service', async ({ expect }) => {
    const { org } = await newDataset(9)
    const { connection, fetch } = newConnection()
    connection.before = ({ path, body }) =>
      path.endsWith('/results') && body.length > 5000 ? new Response('Too large', { status: 413 }) : undefined
    const { countersign } = newWorkerClient(org, { fetch })
    const report = await countersign.experiment<Ticket>({ step: STEP }, ({ input }) =>
      input.number === 8 ? 'x'.repeat(5000) : { ...categoryOf(input), note: 'x'.repeat(1000) },
    )
    expect(report).toMatchObject({ state: 'finished', counts: { error: 1 } })
  })
})

describe('traces that an item starts', () => {
  it('are marked, and the first one becomes the trace of the result', async ({ expect }) => {
    const { org, items, results } = await newDataset(2)
    const { countersign, losses } = newWorkerClient(org)
    // A pipeline has its own client.
    const pipeline = newWorkerClient(org).countersign
    const answer = async (ticket: Ticket) => {
      await turn()
      using trace = pipeline.startTrace('triage', { metadata: { group_id: 'session-1' } })
      const output = await trace.span(STEP, () => categoryOf(ticket), { input: ticket })
      pipeline.startTrace('another').complete()
      return output
    }
    const report = await countersign.experiment<Ticket>({ step: STEP }, ({ input }) => answer(input))
    await pipeline.flush()
    expect(losses).toEqual([])
    const ran: { id: string; resultTraceId: string }[] = await results(report.id)
    expect(ran.map(({ id }) => id).sort()).toEqual(items.map(({ id }) => id).sort())
    for (const { id, resultTraceId } of ran) {
      const trace = await countersign.traces.get(resultTraceId)
      expect(trace).toMatchObject({
        name: 'triage',
        metadata: { group_id: 'session-1', experiment_id: report.id, experiment_item_id: id },
      })
    }
    const listed: string[] = []
    for await (const { name } of countersign.traces.list({ metadata: { experiment_id: report.id } })) listed.push(name)
    expect(listed.sort()).toEqual(['another', 'another', 'triage', 'triage'])
    // Outside the experiment, nothing is marked.
    await answer({ number: 0 })
    await pipeline.flush()
    const unmarked: unknown[] = []
    for await (const { metadata } of countersign.traces.list()) if (!metadata.experiment_id) unmarked.push(metadata)
    expect(unmarked).toHaveLength(2)
  })

  it("aren't sent if `recordTraces` is false", async ({ expect }) => {
    const { org, results } = await newDataset(2)
    const { countersign, losses } = newWorkerClient(org)
    const report = await countersign.experiment<Ticket>(
      { step: STEP },
      ({ input }) =>
        countersign.startTrace('triage').span(STEP, async () => {
          await turn()
          expect(countersign.currentSpan()?.trace.id).toMatch(/^trace_/)
          return categoryOf(input)
        }),
      { recordTraces: false },
    )
    expect(report.counts).toMatchObject({ passed: 2 })
    for await (const trace of countersign.traces.list()) expect(trace).toBe('not there')
    expect(await results(report.id)).toMatchObject([{ resultTraceId: null }, { resultTraceId: null }])
    expect(losses).toEqual([])
  })
})

describe('an interrupted experiment', () => {
  /** Runs an experiment and collects the numbers of the items that ran. */
  async function newRun(count: number) {
    const { connection, fetch } = newConnection()
    const data = await newDataset(count)
    const { countersign } = newWorkerClient(data.org, { fetch, flushIntervalMs: 1 })
    const ran: number[] = []
    const run = (ticket: Ticket): unknown => {
      ran.push(ticket.number)
      return categoryOf(ticket)
    }
    const finish = (id: string): Promise<ExperimentReport> =>
      countersign.experiment<Ticket>({ id, step: STEP }, ({ input }) => run(input))
    return { ...data, connection, countersign, ran, run, finish }
  }

  it('continues with the pending items after its process is killed', async ({ expect }) => {
    const { connection, countersign, ran, run, finish, read } = await newRun(8)
    const id = crypto.randomUUID()
    let stored = 0
    const progress = Promise.withResolvers<void>()
    countersign
      .experiment<Ticket>(
        { step: STEP, id },
        // The process dies while it runs two items.
        ({ input }) => (ran.length < 5 ? run(input) : new Promise(() => {})),
        {
          concurrency: 2,
          onProgress: ({ done }) => {
            stored = done
            if (done === 5) progress.resolve()
          },
        },
      )
      .catch(() => {})
    await progress.promise
    expect(await read(id)).toMatchObject({ state: 'running', pending: 3 })
    const before = ran.splice(0)
    const report = await finish(id)
    expect(report).toMatchObject({ id, state: 'finished', counts: { passed: 8 } })
    expect([stored, ran.length]).toEqual([5, 3])
    expect(new Set([...before, ...ran]).size).toBe(8)
    // Another call runs no items.
    connection.sent.length = 0
    expect(await finish(id)).toEqual(report)
    expect(ran).toHaveLength(3)
    expect(connection.sent.filter(({ method }) => method === 'POST')).toEqual([])
  })

  it('keeps the results that arrived before it was aborted', async ({ expect }) => {
    const { countersign, run, finish, read, ran } = await newRun(8)
    const id = crypto.randomUUID()
    const controller = new AbortController()
    const signals: AbortSignal[] = []
    const aborted = countersign.experiment<Ticket>(
      { step: STEP, id },
      async ({ input }, { signal }) => {
        signals.push(signal)
        if (signals.length < 4) return run(input)
        // This call ignores the signal.
        if (signals.length === 4) return new Promise(() => {})
        setTimeout(() => controller.abort(new Error('Enough')), 1)
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      },
      { concurrency: 2, signal: controller.signal },
    )
    await expect(aborted).rejects.toThrow('Enough')
    expect(signals).toHaveLength(5)
    expect(signals.every(({ aborted }) => aborted)).toBe(true)
    expect(await read(id)).toMatchObject({ state: 'running', pending: 5, counts: { passed: 3, error: 0 } })
    expect(await finish(id)).toMatchObject({ state: 'finished', counts: { passed: 8 } })
    expect(ran).toHaveLength(8)
  })

  it("doesn't begin if its signal is already aborted", async ({ expect }) => {
    const { countersign, list } = await newRun(1)
    const signal = AbortSignal.abort(new Error('Enough'))
    await expect(countersign.experiment({ step: STEP }, () => 1, { signal })).rejects.toThrow('Enough')
    expect(await list()).toEqual([])
  })

  it('throws if results cannot be sent, and loses only those results', async ({ expect }) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { connection, countersign, ran, run, finish, read } = await newRun(8)
    const id = crypto.randomUUID()
    const failing = countersign.experiment<Ticket>(
      { step: STEP, id },
      ({ input }) => {
        if (ran.length === 3) connection.isOpen = false
        return run(input)
      },
      { concurrency: 1 },
    )
    const thrown = expect(failing).rejects.toMatchObject({ code: 'unreachable', message: 'Network connection lost' })
    for (let second = 0; second < 20; second++) await vi.advanceTimersByTimeAsync(1000)
    await thrown
    vi.useRealTimers()
    connection.isOpen = true
    const { pending } = await read(id)
    ran.length = 0
    expect(await finish(id)).toMatchObject({ state: 'finished', counts: { passed: 8 } })
    expect(ran).toHaveLength(pending)
  })

  it('is created once, and its results are stored once, even if responses are lost', async ({ expect }) => {
    const { org, list } = await newDataset(3)
    const toWorker = workerFetch()
    const lost = new Set<string>()
    const fetch: Fetch = async (url, init) => {
      const response = await toWorker(url, init)
      const call = `${init.method} ${new URL(url).pathname}`
      if (lost.has(call)) return response
      lost.add(call)
      return errorResponse(503, 'unavailable', { 'retry-after': '0' })
    }
    const { countersign } = newWorkerClient(org, { fetch })
    const ran: number[] = []
    const report = await countersign.experiment<Ticket>({ step: STEP }, ({ input }) => {
      ran.push(input.number)
      return categoryOf(input)
    })
    expect(report).toMatchObject({ state: 'finished', counts: { passed: 3, error: 0 } })
    expect(ran.sort()).toEqual([0, 1, 2])
    expect(await list()).toMatchObject([{ id: report.id }])
    expect(lost.size).toBeGreaterThan(4)
  })

  it('that began elsewhere needs only its id to continue', async ({ expect }) => {
    const { org, dataset, countersign, run } = await newRun(3)
    const id = crypto.randomUUID()
    const draft = { id, projectSlug: 'support', datasetId: dataset.id, runner: 'client', split: 'train' }
    await org.owner.post('/api/experiments', draft)
    await expect(countersign.experiment({ id, split: 'test' }, () => 1)).rejects.toMatchObject({
      status: 409,
      message: `The experiment ${id} has a different split`,
    })
    const report = await countersign.experiment<Ticket>({ id }, ({ input }) => run(input))
    expect(report).toMatchObject({ id, state: 'finished', split: 'train' })
  })

  it('accepts no more results if it is canceled while it runs', async ({ expect }) => {
    const { org, countersign, finish, run } = await newRun(4)
    const id = crypto.randomUUID()
    const cancelled = countersign.experiment<Ticket>(
      { step: STEP, id },
      async ({ input }) => {
        if (input.number === 2) await org.owner.post(`/api/experiments/${id}/cancel`)
        return run(input)
      },
      { concurrency: 1 },
    )
    await expect(cancelled).rejects.toMatchObject({ status: 409 })
    await expect(finish(id)).rejects.toMatchObject({ status: 409, code: 'experiment_ended' })
  })
})
