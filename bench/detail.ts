import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { type BatchEvent, makeLargeTrace, textOf } from './events.ts'
import type { Benchmark } from './report.ts'
import { startServer } from './server.ts'
import { median, spreadOf } from './statistics.ts'
import { newTenant } from './tenant.ts'

const SPAN_BYTES = 500

const Measured = v.object({ d1Ms: v.number(), sqlMs: v.number(), answeredMs: v.number() })

/** How long it takes to read a trace with thousands of spans. */
export const detail: Benchmark = async ({ isQuick }) => {
  await using server = await startServer([
    { name: 'countersign', program: 'countersign', database: 'countersign' },
    { name: 'measured', program: 'measured', database: 'countersign' },
  ])
  const client = await newTenant(server, 'countersign')
  const measured = client.at(await server.urlOf('measured'))
  const [spans, rounds] = isQuick ? [100, 1] : [10_000, 15]
  const id = await makeLargeTrace(client, 'trace_large', spans, spanOf)
  const measurements = []
  for (const [what, query, goal] of [
    ['full payloads', '', { atMost: 300 }],
    ['payloads=preview', '?payloads=preview', undefined],
  ] as const) {
    const path = `/api/traces/${id}${query}`
    for (const each of [client, measured]) await each.call('GET', path)
    const answers = []
    const parts: v.InferOutput<typeof Measured>[] = []
    for (let round = 0; round < rounds; round++) {
      answers.push(await client.call('GET', path))
      const { headers } = await measured.call('GET', path)
      parts.push(v.parse(Measured, JSON.parse(String(headers['x-measured']))))
    }
    const times = answers.map(({ ms }) => ms)
    const partMs = (partOf: (part: (typeof parts)[number]) => number) => median(parts.map(partOf))
    measurements.push({
      what,
      value: median(times),
      unit: 'ms',
      spread: spreadOf(times),
      ...(goal && { goal }),
      more: {
        'SQLite ms': partMs(({ sqlMs }) => sqlMs),
        'D1 without SQLite': partMs(({ sqlMs, d1Ms }) => d1Ms - sqlMs),
        'Worker before it responds': partMs(({ d1Ms, answeredMs }) => answeredMs - d1Ms),
        'body, MB': (answers[0]?.body.length ?? 0) / 1e6,
      },
    })
  }
  return [
    {
      title: `Detail of a trace with ${spans.toLocaleString('en')} spans of ${SPAN_BYTES} B each: p50 for the whole body`,
      notes: ['The rest of the time is the transfer: a large body is written piece by piece as the client reads it.'],
      measurements,
    },
  ]
}

const VALUE = { text: textOf(SPAN_BYTES / 2 - '{"text":""}'.length) }

/** A span whose input and output total `SPAN_BYTES`. */
const spanOf = (index: number): BatchEvent => ({
  type: 'span',
  body: { span_id: randomUUID(), step_id: `step-${index % 20}`, input: VALUE, output: VALUE },
})
