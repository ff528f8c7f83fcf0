import * as v from 'valibot'
import type { EventLedger } from './events.ts'
import { random, type Subject, type Tenant, Tracked } from './subject.ts'

const Reviews = v.array(v.object({ after: v.string() }))

/** Creates a function that writes decisions on one span, and returns the number of acknowledged calls. */
export async function reviewWriter(
  { client }: Tenant,
  ledger: Subject[],
  events: EventLedger,
): Promise<() => Promise<number>> {
  const [trace_id, span_id] = [`trace_${random.hex(22)}`, random.uuid()]
  const timestamp = '2026-11-20T00:00:00.000Z'
  await client.make('POST', '/api/v1/traces', { trace_id, name: 'reviewed', timestamp, status: 'completed' })
  await client.make('POST', '/api/v1/spans', { trace_id, span_id, step_id: 'step', output: 'first', timestamp })
  const path = `/api/spans/${span_id}`
  /** The approved outputs, newest first. */
  const read = async () => {
    const reviews = await client.pages(`${path}/reviews?limit=200`, 'reviews', 'nextCursor')
    return v.parse(Reviews, reviews).map(({ after }) => after)
  }
  const decisions = new Tracked<readonly string[]>(
    [],
    read,
    state => state,
    (before, after) => {
      if (after.length > before.length) events.expect('span.reviewed', span_id)
    },
  )
  ledger.push(decisions)
  return async () => {
    const approvedOutput = random.hex(16)
    await decisions.write([approvedOutput, ...decisions.state], () =>
      client.make('PUT', `${path}/review`, { decision: 'correct', approvedOutput }),
    )
    return 1
  }
}
