import * as v from 'valibot'
import type { Client } from './client.ts'

/** One event of `POST /batch`. */
export interface BatchEvent {
  type: 'trace' | 'span' | 'observation' | 'feedback'
  body: object
}

const MAX_EVENTS = 1000

const Results = v.object({ results: v.array(v.object({ status: v.number(), body: v.unknown() })) })

/** Posts events in batches. Throws if one is rejected. */
export async function postEvents(
  client: Client,
  events: Iterable<BatchEvent>,
  eventsPerBatch: number = MAX_EVENTS,
): Promise<void> {
  const post = async (batch: BatchEvent[]) => {
    const answer = await client.call('POST', '/api/v1/batch', { events: batch })
    const { results } = v.parse(Results, JSON.parse(answer.body))
    const refused = results.find(({ status }) => status >= 300)
    if (refused) throw new Error(`An event was rejected: ${JSON.stringify(refused)}`)
  }
  let batch: BatchEvent[] = []
  for (const event of events) {
    batch.push(event)
    if (batch.length < eventsPerBatch) continue
    await post(batch)
    batch = []
  }
  if (batch.length > 0) await post(batch)
}

/** The timestamp of all events of a large trace. */
const TIMESTAMP = '2026-11-20T10:00:00.000Z'

const Created = v.object({ id: v.string() })

/**
 * Creates a trace with this many events. `eventOf` returns an event, which gets the trace's id and a timestamp. Returns
 * the trace's id.
 */
export async function makeLargeTrace(
  client: Client,
  trace_id: string,
  count: number,
  eventOf: (index: number) => BatchEvent,
  eventsPerBatch: number = MAX_EVENTS,
): Promise<string> {
  const trace = { trace_id, name: 'large', timestamp: TIMESTAMP, status: 'completed', metadata: {} }
  const created = await client.call('POST', '/api/v1/traces', trace)
  const events = function* (): Generator<BatchEvent> {
    for (let index = 0; index < count; index++) {
      const { type, body } = eventOf(index)
      yield { type, body: { trace_id, timestamp: TIMESTAMP, ...body } }
    }
  }
  await postEvents(client, events(), eventsPerBatch)
  return v.parse(Created, JSON.parse(created.body)).id
}

/** A string with this many characters. */
export const textOf = (length: number): string =>
  'The quick brown fox jumps over the lazy dog. '.repeat(length / 45 + 1).slice(0, length)
