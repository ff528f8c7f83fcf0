import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { SINGLE_CALLS } from './batches.ts'
import type { Client } from './client.ts'
import type { Benchmark, Measurement } from './report.ts'
import { compare } from './rivals.ts'
import { type Server, startServer } from './server.ts'
import { newTenant } from './tenant.ts'

const TRACE_ID = 'trace_bench'
const timestamp = '2026-11-20T10:00:00.000Z'
const EVENTS = ['feedback.created', 'span.reviewed', 'trace.deleted']

/** Ingestion calls, and whether each causes an event for the webhook. */
const CASES = [
  {
    type: 'observation',
    isEvent: false,
    body: () => ({ trace_id: TRACE_ID, type: 'input', data: { question: 'How long is the warranty?' }, timestamp }),
    goal: { atLeast: 0.9 },
  },
  {
    type: 'feedback',
    isEvent: true,
    body: () => ({ trace_id: TRACE_ID, feedback_id: randomUUID(), rating: 'positive', timestamp }),
  },
] as const

const Costs = v.object({
  d1RoundTrips: v.number(),
  statements: v.number(),
  rowsWritten: v.number(),
  queueSends: v.number(),
})

const variables = { WEBHOOK_KEY: 'webhook-key-of-the-benchmarks' }

/** Ingestion with a webhook whose receiver is down, compared with ingestion without webhooks. */
export const webhooks: Benchmark = async options => {
  // Only the first Worker runs jobs, which attempt the deliveries.
  await using server = await startServer(
    [
      { name: 'hooked', program: 'countersign', database: 'hooked', variables },
      { name: 'plain', program: 'countersign', database: 'plain' },
      { name: 'hooked-measured', program: 'measured', database: 'hooked', variables },
      { name: 'plain-measured', program: 'measured', database: 'plain' },
    ],
    { consumesJobs: true },
  )
  const hooked = await newTenant(server, 'hooked', async manager => {
    await manager.call('POST', '/api/webhooks', { url: 'https://receiver.invalid/in', events: EVENTS })
  })
  const plain = await newTenant(server, 'plain')
  for (const client of [hooked, plain]) {
    const trace = { trace_id: TRACE_ID, name: 'support-answer', timestamp, status: 'running' }
    await client.call('POST', SINGLE_CALLS.trace, trace)
  }
  const speeds: Measurement[] = []
  const costs: Measurement[] = []
  for (const { type, isEvent, body, ...goal } of CASES) {
    const path = SINGLE_CALLS[type]
    const rivals = {
      countersign: () => hooked.call('POST', path, body()),
      bare: () => plain.call('POST', path, body()),
    }
    const what = `${type}, ${isEvent ? 'which is an event' : "which isn't an event"}`
    const { value, spread } = await compare(rivals, 8, server.processId, options)
    speeds.push({ what, value, spread, ...goal })
    const [withWebhook, without] = [
      await costOf(server, 'hooked', hooked, () => [path, body()]),
      await costOf(server, 'plain', plain, () => [path, body()]),
    ]
    costs.push(
      { what: `${type}, with the webhook`, more: withWebhook },
      { what: `${type}, without the webhook`, more: without },
    )
  }
  return [
    {
      title: 'Ingestion with a webhook whose receiver is down, relative to ingestion without webhooks',
      notes: ['The two alternate in short blocks over 8 connections. The ratio is the median over neighboring blocks.'],
      measurements: speeds,
    },
    {
      title: 'The cost of one of these calls',
      notes: [
        "A call that isn't an event must cost the same with and without the webhook. An event adds a",
        'statement, a row and its index entries, and a message.',
      ],
      measurements: costs,
    },
  ]
}

/** The cost of a call whose key is cached. */
async function costOf(server: Server, worker: string, client: Client, request: () => [path: string, body: object]) {
  const measured = client.at(await server.urlOf(`${worker}-measured`))
  await measured.call('POST', ...request())
  const { headers } = await measured.call('POST', ...request())
  const costs = v.parse(Costs, JSON.parse(String(headers['x-measured'])))
  return {
    'D1 round trips': costs.d1RoundTrips,
    statements: costs.statements,
    'rows written': costs.rowsWritten,
    'queue sends': costs.queueSends,
  }
}
