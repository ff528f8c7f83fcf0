import { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Inspector } from '../../bench/inspector.ts'
import type { Fields } from '../properties/model.ts'
import { Client } from './crash/client.ts'
import { ADMIN_TOKEN, freePort, newServer, runCron, type Server } from './server.ts'

/*
 * Runs a mixed load at half of what the server can do: traces, reviews, deletions, experiments, webhooks, and the pages
 * that people open. Nothing may fail, the Worker's memory must stay flat, and at the end, every figure in Insights must
 * match the acknowledged calls. `npm run test:soak` takes 30 minutes, or the number of minutes in SOAK_MINUTES. In
 * `npm test`, this test takes 6 seconds, and everything happens at least twice.
 */

const { minutes, everyMs, measuredMs, isThorough } = process.env.SOAK_MINUTES
  ? {
      minutes: Number(process.env.SOAK_MINUTES),
      everyMs: { memory: 5000, cron: 20_000, experiment: 15_000 },
      measuredMs: 3000,
      isThorough: true,
    }
  : { minutes: 0.1, everyMs: { memory: 1500, cron: 3000, experiment: 3000 }, measuredMs: 500, isThorough: false }

/**
 * The number of concurrent callers, both in the main load and during the measurement of the server's capacity. The
 * measurement takes `measuredMs`.
 */
const CALLERS = 8

/**
 * How much the Worker's memory may grow from the second third to the last, in bytes. At 10 calls a second, a leak of 1
 * KiB a call adds 6 MiB in a run of half an hour. The memory of the process isn't a useful measure: workerd's own
 * memory grows by 14 KiB with each local call, even to a one-line Worker.
 */
const MAX_GROWTH = 2 * 1024 ** 2

const STEP = 'answer'

let server: Server
let receiver: HttpServer
const delivered = new Set<string>()

beforeEach(async () => {
  server = await newServer()
  receiver = createServer((request, response) => {
    delivered.add(String(request.headers['webhook-id']))
    request.resume().on('end', () => response.end())
  })
  receiver.listen(0, 'localhost')
})

afterEach(async () => {
  await server.remove()
  receiver.close()
  receiver.closeAllConnections()
})

/** What Insights must show, according to the calls that the service has acknowledged. */
interface Counts {
  outputs: number
  accepted: number
  corrected: number
}

it('answers every call, counts correctly, and doesn’t grow under a mixed load', {
  timeout: (minutes + 12) * 60_000,
}, async ({ annotate }) => {
  const port = String(await freePort())
  const settings = { SEED: 'none', ALLOW_LOCAL_WEBHOOKS: '1', INSPECTOR_PORT: port }
  expect(await server.start(settings)).toContain('Countersign is running')
  using inspector = await Inspector.open(new URL(`ws://127.0.0.1:${port}`), 'countersign')
  const client = await newTenant()
  const startedAt = Date.now()
  const counts: Counts = { outputs: 0, accepted: 0, corrected: 0 }
  const runs = newRuns(client, counts)
  let calls = 0
  /** Runs pipelines until the given time. If `isHalf` is true, pauses after each run for as long as the run took. */
  const load = async (until: number, isHalf: boolean) => {
    while (Date.now() < until) {
      const started = Date.now()
      // `calls += await` would read the sum before other callers add to it.
      const made = await runs()
      calls += made
      if (isHalf) await setTimeout(Date.now() - started)
    }
  }
  const loadAll = (milliseconds: number, isHalf: boolean) =>
    Promise.all(Array.from({ length: CALLERS }, () => load(Date.now() + milliseconds, isHalf)))
  await loadAll(measuredMs, false)
  await annotate(`At full speed: ${Math.round(calls / (measuredMs / 1000))} calls a second`)
  calls = 0
  const memory: number[] = []
  const end = Date.now() + minutes * 60_000
  await Promise.all([
    loadAll(minutes * 60_000, true),
    untilThen(end, everyMs.memory, async () => memory.push(await heapOf(inspector))),
    untilThen(end, everyMs.cron, () => runCron(server.url)),
    untilThen(end, everyMs.experiment, () => runExperiment(client)),
  ])
  await annotate(`At half speed: ${calls} calls, ${Math.round(calls / (minutes * 60))} a second`)
  const [warm, last] = [median(memory.slice(third(memory), 2 * third(memory))), median(memory.slice(-third(memory)))]
  await annotate(`Memory: ${mebibytes(warm)} MiB in the second third, ${mebibytes(last)} MiB in the last`)
  await mustShow(client, counts, startedAt)
  // A shorter run ends before caches are full.
  if (isThorough) expect(last - warm).toBeLessThan(MAX_GROWTH)
  expect(counts.accepted).toBeGreaterThan(0)
  expect(counts.corrected).toBeGreaterThan(0)
  expect(delivered.size).toBeGreaterThan(0)
})

/** What the Worker keeps in memory, in bytes. */
async function heapOf(inspector: Inspector): Promise<number> {
  await inspector.collectGarbage(() => fetch(`${server.url}/healthz`))
  const { heap, buffers } = await inspector.memory()
  return heap + buffers
}

/**
 * Creates a project with a webhook in a new organization, and a key for the project that has practically no rate limit.
 */
async function newTenant(): Promise<Client> {
  const admin = new Client(server.url, ADMIN_TOKEN)
  const created = await admin.make('POST', '/api/orgs', { slug: 'soak', name: 'Soak' })
  const owner = admin.withKey(textIn(created.apiKey, 'key'))
  await owner.make('POST', '/api/projects', { slug: 'soak', name: 'Soak' })
  const { port } = receiver.address() as AddressInfo
  await owner.make('POST', '/api/webhooks', { url: `http://localhost:${port}`, events: ['span.reviewed'] })
  const scopes = ['ingest', 'read', 'review', 'manage']
  const draft = { name: 'Soak', projectSlug: 'soak', scopes, rateLimitPerMinute: 1_000_000 }
  const client = owner.withKey(textIn(await owner.make('POST', '/api/api-keys', draft), 'key'))
  await client.make('POST', '/api/prompts', { projectSlug: 'soak', stepId: STEP, content: 'Answer.' })
  return client
}

/**
 * Returns a function that makes the calls for one run of a pipeline, counts their effect on Insights, and returns the
 * number of calls. Most runs are reviewed, and some are deleted.
 */
function newRuns(client: Client, counts: Counts): () => Promise<number> {
  let number = 0
  return async () => {
    const nth = number++
    const [traceId, spanId] = [`trace_${crypto.randomUUID()}`, crypto.randomUUID()]
    const timestamp = new Date().toISOString()
    const trace = { trace_id: traceId, name: 'run', timestamp, status: 'completed', metadata: { nth } }
    const span = {
      trace_id: traceId,
      span_id: spanId,
      step_id: STEP,
      timestamp,
      input: { question: nth },
      // One in 20 is large enough for R2.
      output: { answer: nth, text: 'x'.repeat(nth % 20 === 0 ? 20_000 : 200) },
      duration_ms: nth % 1000,
    }
    const feedback = { trace_id: traceId, feedback_id: crypto.randomUUID(), rating: 'positive', timestamp }
    const sent = await client.make('POST', '/api/v1/batch', {
      events: [
        { type: 'trace', body: trace },
        { type: 'span', body: span },
        { type: 'feedback', body: feedback },
      ],
    })
    expect(statusesIn(sent)).toEqual([202, 202, 201])
    const [first] = listIn(sent, 'results')
    const id = textIn(first?.body, 'id')
    await client.make('GET', `/api/traces/${id}`)
    const isDeleted = nth % 10 === 9
    let calls = 2
    if (nth % 3 < 2) {
      const decision =
        nth % 3 === 0 ? { decision: 'accept' } : { decision: 'correct', approvedOutput: { answer: `not ${nth}` } }
      await client.make('PUT', `/api/spans/${spanId}/review`, decision)
      calls++
      if (!isDeleted) counts[nth % 3 === 0 ? 'accepted' : 'corrected']++
    }
    if (isDeleted) {
      await client.make('DELETE', `/api/traces/${id}`)
      calls++
    } else counts.outputs++
    for (const [every, path] of PAGES) {
      if (nth % every !== 0) continue
      await client.make('GET', path)
      calls++
    }
    return calls
  }
}

/** The paths that people and pipelines read. Each path is read once per `every` runs. */
const PAGES: readonly (readonly [every: number, path: string])[] = [
  [2, `/api/prompts?projectSlug=soak&stepId=${STEP}`],
  [5, '/api/traces?projectSlug=soak'],
  [10, '/api/review-queue?projectSlug=soak&limit=10'],
  [25, '/api/insights?projectSlug=soak'],
  [25, '/api/problems?projectSlug=soak'],
]

/** Runs an experiment on the reviewed outputs, from its creation to its report. */
async function runExperiment(client: Client): Promise<void> {
  const { id: datasetId } = await client.make('PUT', '/api/datasets', { projectSlug: 'soak', stepId: 'imported' })
  const items = Array.from({ length: 20 }, (_, index) => ({
    id: crypto.randomUUID(),
    input: { index },
    expected: { index },
  }))
  await client.make('POST', `/api/datasets/${datasetId}/items`, { items })
  const draft = { projectSlug: 'soak', datasetId, runner: 'client', name: 'Soak' }
  const { id } = await client.make('POST', '/api/experiments', draft)
  const results = items.map(({ id: itemId, expected }) => ({ itemId, output: expected }))
  await client.make('POST', `/api/experiments/${id}/results`, { results })
  await client.make('POST', `/api/experiments/${id}/finish`)
  await client.make('GET', `/api/experiments/${id}`)
}

/**
 * Waits until jobs and cron have counted everything, and compares Insights with the acknowledged calls. A day with many
 * traces may not be recounted for up to an hour, unless one of its traces is deleted.
 */
async function mustShow(client: Client, counts: Counts, startedAt: number): Promise<void> {
  await expect
    .poll(
      async () => {
        for (const time of [startedAt, Date.now()]) await addAndDelete(client, new Date(time).toISOString())
        await runCron(server.url)
        return shownIn(await client.make('GET', '/api/insights?projectSlug=soak'))
      },
      { timeout: 8 * 60_000, interval: 1000 },
    )
    .toEqual({
      outputs: counts.outputs,
      accepted: counts.accepted,
      corrected: counts.corrected,
      days: counts.accepted + counts.corrected,
      reviewed: counts.accepted + counts.corrected,
    })
}

async function addAndDelete(client: Client, timestamp: string): Promise<void> {
  const trace = { trace_id: `trace_${crypto.randomUUID()}`, name: 'run', timestamp, status: 'completed', metadata: {} }
  const { id } = await client.make('POST', '/api/v1/traces', trace)
  await client.make('DELETE', `/api/traces/${id}`)
}

function shownIn(insights: Fields) {
  const step = listIn(insights, 'steps').find(({ stepId }) => stepId === STEP)
  const sum = (list: string, of: (row: Fields) => unknown) =>
    listIn(insights, list).reduce((total, row) => total + Number(of(row)), 0)
  return {
    outputs: step?.outputs,
    accepted: step?.accepted,
    corrected: step?.corrected,
    days: sum('days', row => Number(row.accepted) + Number(row.corrected)),
    reviewed: step?.reviewed,
  }
}

/** Repeats an action until a given time. */
async function untilThen(end: number, everyMs: number, act: () => Promise<unknown>): Promise<void> {
  while (Date.now() < end) {
    await act()
    await setTimeout(Math.max(0, Math.min(everyMs, end - Date.now())))
  }
}

const third = ({ length }: readonly number[]): number => Math.floor(length / 3)

const median = (values: readonly number[]): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0

const mebibytes = (bytes: number): string => (bytes / 1024 ** 2).toFixed(1)

const fieldsIn = (value: unknown): Fields => (typeof value === 'object' && value !== null ? { ...value } : {})

const textIn = (value: unknown, field: string): string => String(fieldsIn(value)[field])

const listIn = (body: Fields, field: string): Fields[] => {
  const list = body[field]
  return Array.isArray(list) ? list.map(fieldsIn) : []
}

const statusesIn = (body: Fields): unknown[] => listIn(body, 'results').map(({ status }) => status)
