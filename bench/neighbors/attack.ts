import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import type { Answer, Client } from '../client.ts'
import { type BatchEvent, postEvents } from '../events.ts'

/** Prepares a request. Returns a function that sends it. Every call causes the same amount of work. */
export type Attack = (client: Client) => Promise<() => Promise<Answer>>

/** Attacks by name. `share` is the share of each limit that they use; 1 is all of it. */
export type Attacks = (share: number) => Readonly<Record<string, Attack>>

export const PROJECT = 'projectSlug=bench'
export const TIMESTAMP = '2026-11-20T10:00:00.000Z'

/** A share of a number, at least 1. */
export const part = (share: number, of: number): number => Math.max(1, Math.floor(share * of))

/** A string whose JSON is six times as long. */
export const escapedText = (length: number): string => '\u0001'.repeat(length)

/** The results of `itemAt`, joined by spaces, up to this many characters. */
export function textFrom(length: number, itemAt: (index: number) => string): string {
  const items: string[] = []
  for (let index = 0, size = 0; size < length; index++) {
    const item = itemAt(index)
    items.push(item)
    size += item.length + 1
  }
  return items.join(' ').slice(0, length)
}

export const times = <Item>(count: number, itemAt: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => itemAt(index))

const Created = v.object({ id: v.string() })

export const idIn = ({ body }: Answer): string => v.parse(Created, JSON.parse(body)).id

export interface NewTrace {
  traceId: string
  id: string
}

/** Creates a trace with these events, which get its `trace_id` and a timestamp. */
export async function addTrace(
  client: Client,
  events: Iterable<BatchEvent> = [],
  metadata: object = {},
  eventsPerBatch?: number,
): Promise<NewTrace> {
  const traceId = `trace_${randomUUID()}`
  const trace = { trace_id: traceId, name: 'attack', timestamp: TIMESTAMP, status: 'completed', metadata }
  const id = idIn(await client.call('POST', '/api/v1/traces', trace))
  const placed = function* (): Generator<BatchEvent> {
    for (const { type, body } of events) yield { type, body: { trace_id: traceId, timestamp: TIMESTAMP, ...body } }
  }
  await postEvents(client, placed(), eventsPerBatch)
  return { traceId, id }
}

export const span = (fields: object): BatchEvent => ({
  type: 'span',
  body: { span_id: randomUUID(), step_id: 'attacked', ...fields },
})
