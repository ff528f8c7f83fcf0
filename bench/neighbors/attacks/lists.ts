import { randomUUID } from 'node:crypto'
import { MAX_SEARCH_FILTERS } from '../../../src/limits.ts'
import type { Client } from '../../client.ts'
import { postEvents } from '../../events.ts'
import { type Attack, type Attacks, PROJECT, part, span, TIMESTAMP, times } from '../attack.ts'

/** Lists in a project with many traces, with the most expensive filters and cursors. */
export const lists: Attacks = share => {
  const traces = part(share, 6000)
  const filters = times(MAX_SEARCH_FILTERS, index => `k${index}=v`)
  const metadataFilters = times(MAX_SEARCH_FILTERS, index => `metadata.k${index}=v`).join('&')
  const listed = (query: string) => read(traces, `/api/traces?${PROJECT}&limit=200&${query}`)
  return {
    'search by ten filters, one of which never matches': read(
      traces,
      `/api/v1/traces/search?limit=100&${[...filters.slice(1), 'k0=none'].join('&')}`,
    ),
    'search by ten filters that most traces match': read(
      traces,
      `/api/v1/traces/search?limit=100&${filters.join('&')}`,
    ),
    'list by ten metadata filters': listed(metadataFilters),
    'list by a step that no trace has': listed('stepId=none'),
    'list by an error type that no trace has': listed('errorType=hallucinated_content'),
    'list by every filter at once': listed(
      `status=completed&review=unreviewed&hasFeedback=true&rating=negative&stepId=attacked&${metadataFilters}`,
    ),
    'list by reviews that no trace has': listed('review=corrected'),
    'queue in random order': read(traces, `/api/review-queue?${PROJECT}&order=random&limit=200`),
    'queue for a step that no trace has': read(traces, `/api/review-queue?${PROJECT}&order=oldest&stepId=none`),
    'insights for a year': read(
      traces,
      `/api/insights?${PROJECT}&from=2025-11-21T00:00:00.000Z&to=2026-11-20T23:59:59.000Z`,
    ),
    'attribution quality': read(traces, `/api/attribution-quality?${PROJECT}`),
    'a cursor of 12 KB': listed(`cursor=${'A'.repeat(12_000)}`),
    'a deeply nested cursor': listed(`cursor=${Buffer.from('['.repeat(8000)).toString('base64url')}`),
    '1,000 unknown parameters': listed(times(1000, index => `x${index}=1`).join('&')),
    '3,000 filters': read(traces, `/api/v1/traces/search?${times(2000, index => `x${index}=1`).join('&')}`),
  }
}

/** The project's traces, created once, because the attacks in a group share a database. */
let filled: { client: Client; done: Promise<void> } | undefined

function read(traces: number, path: string): Attack {
  return async client => {
    if (filled?.client !== client) filled = { client, done: fill(client, traces) }
    await filled.done
    return () => client.send('GET', path)
  }
}

async function fill(client: Client, traces: number): Promise<void> {
  const metadata = Object.fromEntries(times(MAX_SEARCH_FILTERS, index => [`k${index}`, 'v']))
  const events = times(traces, index => {
    const trace_id = `trace_${randomUUID()}`
    const timestamp = new Date(Date.parse(TIMESTAMP) - index * 1000).toISOString()
    const { body } = span({ trace_id, timestamp, output: { index } })
    return [
      { type: 'trace' as const, body: { trace_id, name: 'attack', timestamp, status: 'completed', metadata } },
      { type: 'span' as const, body },
    ]
  })
  await postEvents(client, events.flat())
}
