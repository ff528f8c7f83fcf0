import { randomUUID } from 'node:crypto'
import type { Client } from './client.ts'
import { type BatchEvent, postEvents } from './events.ts'
import type { Benchmark } from './report.ts'
import { startServer } from './server.ts'
import { median, spreadOf } from './statistics.ts'
import { newTenant } from './tenant.ts'

/** Concurrent clients. */
const STREAMS = 4
const EVENTS_PER_RUN = 5

/** Events per second by batch size, relative to single calls. */
export const batches: Benchmark = async ({ isQuick }) => {
  await using server = await startServer([{ name: 'countersign', program: 'countersign', database: 'countersign' }])
  const client = await newTenant(server, 'countersign')
  const [rounds, leastRuns, sizes] = isQuick ? [1, 2, [1, 10]] : [9, 10, [1, 10, 100, 1000]]
  const ways = [
    { what: 'single calls', post: postSingly, runs: leastRuns },
    ...sizes.map(size => ({
      what: `batches of ${size.toLocaleString('en')}`,
      post: (client: Client, events: Iterable<BatchEvent>) => postEvents(client, events, size),
      runs: Math.max(leastRuns, size / EVENTS_PER_RUN),
    })),
  ]
  const rates: number[][] = ways.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (const [index, { post, runs }] of ways.entries()) {
      const start = performance.now()
      await Promise.all(Array.from({ length: STREAMS }, () => post(client, pipelineRuns(runs))))
      rates[index]?.push((STREAMS * runs * EVENTS_PER_RUN * 1000) / (performance.now() - start))
    }
  }
  const [singly = []] = rates
  return [
    {
      title: 'Events per second by batch size, relative to single calls',
      notes: [
        `A pipeline run has a trace, a span, an input, an output, and feedback. ${STREAMS} clients post concurrently.`,
      ],
      measurements: ways.map(({ what }, index) => {
        const ratios = (rates[index] ?? []).map((rate, round) => rate / (singly[round] ?? Number.NaN))
        return {
          what,
          value: median(ratios),
          spread: spreadOf(ratios),
          more: { 'events/s': median(rates[index] ?? []) },
        }
      }),
    },
  ]
}

/** The events of this many pipeline runs. */
export function* pipelineRuns(count: number): Generator<BatchEvent> {
  const timestamp = new Date().toISOString()
  for (let index = 0; index < count; index++) {
    const trace_id = `trace_${randomUUID()}`
    const metadata = { group_id: randomUUID(), environment: 'production', customer: { tier: 'gold' } }
    const question = { question: 'How long is the warranty?' }
    const answer = { answer: '24 months from the day of purchase.' }
    const step = { span_id: randomUUID(), step_id: 'answer', input: question, output: answer }
    yield { type: 'trace', body: { trace_id, name: 'support-answer', timestamp, status: 'completed', metadata } }
    yield { type: 'span', body: { trace_id, ...step, timestamp } }
    yield { type: 'observation', body: { trace_id, type: 'input', data: question, timestamp } }
    yield { type: 'observation', body: { trace_id, type: 'output', data: answer, timestamp } }
    yield { type: 'feedback', body: { trace_id, rating: 'positive', timestamp } }
  }
}

/** Posts each event in its own call. */
async function postSingly(client: Client, events: Iterable<BatchEvent>): Promise<void> {
  for (const { type, body } of events) await client.call('POST', SINGLE_CALLS[type], body)
}

/** The path of the call that posts a single event, by the event's type. */
export const SINGLE_CALLS = {
  trace: '/api/v1/traces',
  span: '/api/v1/spans',
  observation: '/api/v1/observations',
  feedback: '/api/v1/feedback',
}
