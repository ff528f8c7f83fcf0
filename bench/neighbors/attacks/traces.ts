import { randomUUID } from 'node:crypto'
import { MAX_BATCH_EVENTS, MAX_METADATA_BYTES } from '../../../src/limits.ts'
import { type Attack, type Attacks, addTrace, escapedText, PROJECT, part, span, TIMESTAMP, times } from '../attack.ts'

/** Writes and reads of traces with many spans, values, and observations, and lots of metadata. */
export const traces: Attacks = share => ({
  ...read('20,000 spans', share, async client =>
    addTrace(
      client,
      times(part(share, 20_000), index => span({ input: { index }, output: { index } })),
    ),
  ),
  ...read('1,200 spans with 8 MB in rows', share, async client =>
    addTrace(
      client,
      times(part(share, 1200), () => span({ input: { a: 1 }, output: { text: 'a'.repeat(7000) } })),
    ),
  ),
  ...read('30 MB of large values', share, async client =>
    addTrace(
      client,
      times(part(share, 30), () => span({ output: { text: 'a'.repeat(1_000_000) } })),
      {},
      7,
    ),
  ),
  ...read('2,000 spans with 16 KB of metadata', share, async client =>
    addTrace(
      client,
      times(part(share, 2000), () => span({ output: 1, metadata: { text: 'a'.repeat(16_000) } })),
      {},
      400,
    ),
  ),
  ...read('10,000 comments', share, async client =>
    addTrace(
      client,
      times(part(share, 10_000), index => ({
        type: 'feedback' as const,
        body: { rating: 'negative', comment: `${index} ${'a'.repeat(2000)}`, labeller: { name: 'Ada' } },
      })),
    ),
  ),
  ...read('4 MB of comments with control characters', share, async client =>
    addTrace(
      client,
      times(part(share, 280), () => ({
        type: 'feedback' as const,
        body: { rating: 'negative', comment: escapedText(15_000), labeller: { name: 'Ada' } },
      })),
      {},
      50,
    ),
  ),
  ...read('20,000 observations that merge', share, async client =>
    addTrace(
      client,
      times(part(share, 20_000), index => ({
        type: 'observation' as const,
        body: { type: 'input', data: { [`key-${index}`]: index } },
      })),
    ),
  ),
  ...read('5,000 states on one span', share, async client =>
    addTrace(
      client,
      times(part(share, 5000), index => ({
        type: 'observation' as const,
        body: { type: 'state', key: `key-${index}`, data: { index, text: 'a'.repeat(1000) } },
      })),
    ),
  ),
  'raw observations of 1 MB': async client => {
    const events = times(part(share, 60), () => ({
      type: 'observation' as const,
      body: { type: 'input', data: 'a'.repeat(1_000_000) },
    }))
    const { traceId } = await addTrace(client, events, {}, 7)
    return () => client.send('GET', `/api/v1/traces/${traceId}/observations?limit=1000`)
  },
  'a batch of small events': batched(share, () => ({ type: 'state', key: randomUUID(), data: 1 })),
  'a batch of 8 MB': batched(share, () => ({ type: 'input', data: 'a'.repeat(8000) })),
  'a batch of spans': async client => {
    const { traceId } = await addTrace(client)
    const events = () =>
      times(part(share, MAX_BATCH_EVENTS), index => {
        const { type, body } = span({ input: { index, text: 'a'.repeat(3500) }, output: times(1000, () => index) })
        return { type, body: { trace_id: traceId, timestamp: TIMESTAMP, ...body } }
      })
    return () => client.send('POST', '/api/v1/batch', { events: events() })
  },
  'a batch of values with many items': batched(share, () => ({ type: 'input', data: times(1500, index => index) })),
  'an observation with 5 MB of numbers': observed(times(part(share, 2_400_000), index => index % 10)),
  'an observation with 5 MB of objects': observed(times(part(share, 400_000), index => ({ a: index }))),
  'an observation with one long name': observed({ ['a'.repeat(part(share, 5_000_000))]: 1 }),
  'an observation with many quotes': observed('"'.repeat(part(share, 2_500_000))),
  'a body of brackets': sent('/api/v1/observations', '['.repeat(part(share, 5_000_000))),
  'a body of backslashes': sent('/api/v1/observations', `"${'\\'.repeat(part(share, 5_000_000))}`),
  'metadata with many keys': async client => {
    const metadata = Object.fromEntries(times(part(share, 5000), index => [`k${index}`, index]))
    return () => client.send('POST', '/api/v1/traces', trace(metadata))
  },
  'deeply nested metadata': async client => {
    const deep = (depth: number): object => (depth === 0 ? {} : { [`k${depth}`]: deep(depth - 1), v: depth })
    return () => client.send('POST', '/api/v1/traces', trace(deep(120)))
  },
  'a list with a lot of metadata': async client => {
    const metadata = { text: 'a'.repeat(part(share, MAX_METADATA_BYTES - 100)) }
    for (let index = 0; index < part(share, 200); index++) await client.call('POST', '/api/v1/traces', trace(metadata))
    return () => client.send('GET', `/api/traces?${PROJECT}&limit=200`)
  },
  'a deletion of 20,000 spans': async client => {
    const spans = () => times(part(share, 20_000), index => span({ output: { index } }))
    const made = [await addTrace(client, spans()), await addTrace(client, spans())]
    return () => client.send('DELETE', `/api/traces/${made.pop()?.id ?? randomUUID()}`)
  },
})

const trace = (metadata: object) => ({
  trace_id: `trace_${randomUUID()}`,
  name: 'attack',
  timestamp: TIMESTAMP,
  status: 'completed',
  metadata,
})

/** Reads a trace in full and as a preview. */
const read = (name: string, _: number, add: (client: Parameters<Attack>[0]) => ReturnType<typeof addTrace>) => ({
  [`detail of ${name}`]: async (client: Parameters<Attack>[0]) => {
    const { id } = await add(client)
    return () => client.send('GET', `/api/traces/${id}`)
  },
  [`preview of ${name}`]: async (client: Parameters<Attack>[0]) => {
    const { id } = await add(client)
    return () => client.send('GET', `/api/traces/${id}?payloads=preview`)
  },
})

function batched(share: number, bodyAt: () => object): Attack {
  return async client => {
    const { traceId } = await addTrace(client)
    const events = () =>
      times(part(share, MAX_BATCH_EVENTS), () => ({
        type: 'observation',
        body: { trace_id: traceId, timestamp: TIMESTAMP, ...bodyAt() },
      }))
    const body = Buffer.from(JSON.stringify({ events: events() }))
    return () => client.send('POST', '/api/v1/batch', body)
  }
}

function observed(data: unknown): Attack {
  return async client => {
    const { traceId } = await addTrace(client)
    const body = Buffer.from(JSON.stringify({ trace_id: traceId, type: 'input', data, timestamp: TIMESTAMP }))
    return () => client.send('POST', '/api/v1/observations', body)
  }
}

const sent =
  (path: string, text: string): Attack =>
  async client => {
    const body = Buffer.from(text)
    return () => client.send('POST', path, body)
  }
