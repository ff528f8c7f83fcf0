import { describe, it } from 'vitest'
import { LENGTH_PER_TURN, RECORDS_PER_TURN } from '../../src/limits.ts'
import { event, sendBatch } from '../support/batch.ts'
import { anObservation, aSpan, aTrace } from '../support/builders.ts'
import { type ApiResponse, newOrg, type Org } from '../support/org.ts'
import { aLogExport, aMessage, anyValue } from '../support/telemetry.ts'
import { longestPieceOf } from '../support/turns.ts'

const times = <Item>(count: number, itemAt: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => itemAt(index))

const CALLS: readonly [what: string, prepare: (org: Org) => Promise<() => Promise<ApiResponse>>][] = [
  [
    'an export of log records',
    async org => {
      const traceId = crypto.randomUUID().replaceAll('-', '')
      const records = times(8 * RECORDS_PER_TURN, index =>
        aMessage({
          traceId,
          spanId: (index + 1).toString(16).padStart(16, '0'),
          eventName: 'gen_ai.user.message',
          body: anyValue({ content: `Question ${index}` }),
        }),
      )
      return () => org.ingest.post('/v1/logs', aLogExport(records))
    },
  ],
  [
    'a batch',
    async org => {
      const { trace_id } = (await org.ingest.post('/api/v1/traces', aTrace())).body
      const events = times(1000, () => event('observation', anObservation({ trace_id, type: 'input', data: 1 })))
      return () => sendBatch(org, events)
    },
  ],
]

describe('a long call yields to other requests', () => {
  it.for(CALLS)('between groups of records: %s', async ([, prepare], { expect }) => {
    const send = await prepare(await newOrg())
    const { hashes } = await longestPieceOf(async () => expect((await send()).status).toBeLessThan(300))
    // Each record takes a few hashes, for its ids and its name.
    expect(hashes).toBeLessThan(5 * RECORDS_PER_TURN)
  })

  it.for(['accept', 'correct'] as const)(
    'between the outputs in a list of reviews: %s',
    async (decision, { expect }) => {
      const org = await newOrg()
      const trace = aTrace()
      await org.ingest.post('/api/v1/traces', trace)
      const text = 'a'.repeat(LENGTH_PER_TURN)
      const spans = times(12, index => aSpan({ trace_id: trace.trace_id, output: { a: index, text } }))
      for (const span of spans) await org.ingest.post('/api/v1/spans', span)
      // The fields are in a different order than in the stored output, so both must be parsed to compare them.
      const approvedOutput = (index: number) => ({ text, a: index })
      const reviews = spans.map(({ span_id: spanId }, index) => ({
        spanId,
        decision,
        ...(decision === 'correct' && { approvedOutput: approvedOutput(index) }),
      }))
      const sent = JSON.stringify({ reviews })
      const { parsed } = await longestPieceOf(async () => {
        const { body } = await org.owner.post('/api/reviews', sent)
        expect(body.results.map(({ body }: { body: { review: unknown } }) => body.review)).toEqual(
          spans.map(() => expect.objectContaining({ state: 'accepted' })),
        )
      })
      expect(parsed).toBeLessThan(Math.max(4 * LENGTH_PER_TURN, 1.1 * sent.length))
    },
  )
})
