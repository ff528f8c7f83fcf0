import { randomBytes } from 'node:crypto'
import { deflateSync, gzipSync } from 'node:zlib'
import { MAX_EXPORT_BYTES } from '../../../src/limits.ts'
import { type Attack, type Attacks, part, TIMESTAMP, times } from '../attack.ts'

/** OpenTelemetry exports, and bodies that are small until decompressed. */
export const exports: Attacks = share => ({
  '10,000 spans': exported(() =>
    times(part(share, 10_000), index => otlpSpan(`step ${index % 20}`, [text('input.value', 'a'.repeat(500))])),
  ),
  '16 MB of spans': exported(() =>
    times(part(share, 10_000), index => otlpSpan(`step ${index % 20}`, [text('input.value', 'a'.repeat(1200))])),
  ),
  'a span with 16 MB in one value': exported(() => [
    otlpSpan('chat', [text('input.value', 'a'.repeat(part(share, MAX_EXPORT_BYTES - 1000)))]),
  ]),
  'a span with 200,000 attributes': exported(() => [
    otlpSpan(
      'chat',
      times(part(share, 200_000), index => text(`key.${index}`, 'v')),
    ),
  ]),
  'messages at huge indices': exported(() => [
    otlpSpan(
      'chat',
      times(part(share, 20_000), index => text(`gen_ai.prompt.${index * 1_000_003}.content`, 'v')),
    ),
  ]),
  '4 MB of messages as JSON': exported(() => [
    otlpSpan('chat', [
      text(
        'gen_ai.input.messages',
        JSON.stringify(times(part(share, 60_000), () => ({ role: 'user', parts: [{ type: 'text', content: 'a' }] }))),
      ),
    ]),
  ]),
  'JSON in JSON': exported(() => [otlpSpan('chat', [text('output.value', '['.repeat(part(share, 4_000_000)))])]),
  'lists in lists': exported(() => [otlpSpan('chat', [{ key: 'input.value', value: nested(60) }])]),
  'many small lists': exported(() => [
    otlpSpan('chat', [
      {
        key: 'input.value',
        value: { arrayValue: { values: times(part(share, 400_000), () => ({ arrayValue: {} })) } },
      },
    ]),
  ]),
  '10,000 log records': async client => {
    const logRecords = times(part(share, 10_000), index => ({
      timeUnixNano: '1763632800000000000',
      traceId: randomBytes(16).toString('hex'),
      spanId: randomBytes(8).toString('hex'),
      attributes: [text('event.name', 'gen_ai.user.message')],
      body: { kvlistValue: { values: [text('content', `Question ${index}`)] } },
    }))
    const body = Buffer.from(JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }))
    return () => client.send('POST', '/v1/logs', body)
  },
  '1 GB compressed with gzip': compressed(
    '/v1/traces',
    'gzip',
    gzipSync(Buffer.alloc(part(share, 1_000_000_000), ' ')),
  ),
  '1 GB compressed with gzip, to the ingestion API': compressed(
    '/api/v1/batch',
    'gzip',
    gzipSync(Buffer.alloc(part(share, 1_000_000_000), ' ')),
  ),
  '1 GB compressed with deflate, to the review API': compressed(
    '/api/reviews',
    'deflate',
    deflateSync(Buffer.alloc(part(share, 1_000_000_000), ' ')),
  ),
  'protobuf of empty messages': async client => {
    const body = Buffer.alloc(part(share, MAX_EXPORT_BYTES), Buffer.from([0x0a, 0x00]))
    return () => client.adding({ 'content-type': 'application/x-protobuf' }).send('POST', '/v1/traces', body)
  },
  'random bytes sent as protobuf': async client => {
    const body = randomBytes(part(share, MAX_EXPORT_BYTES))
    return () => client.adding({ 'content-type': 'application/x-protobuf' }).send('POST', '/v1/traces', body)
  },
})

const text = (key: string, stringValue: string) => ({ key, value: { stringValue } })

const nested = (depth: number): object =>
  depth === 0 ? { stringValue: 'a' } : { arrayValue: { values: [nested(depth - 1), { stringValue: TIMESTAMP }] } }

const traceId = randomBytes(16).toString('hex')

const otlpSpan = (name: string, attributes: object[]) => ({
  traceId,
  spanId: randomBytes(8).toString('hex'),
  name,
  startTimeUnixNano: '1763632800000000000',
  endTimeUnixNano: '1763632801000000000',
  attributes: [text('openinference.span.kind', 'LLM'), ...attributes],
})

function exported(spansOf: () => object[]): Attack {
  return async client => {
    const body = Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: spansOf() }] }] }))
    return () => client.send('POST', '/v1/traces', body)
  }
}

function compressed(path: string, encoding: string, body: Buffer): Attack {
  return async client => {
    const sender = client.adding({ 'content-encoding': encoding })
    return () => sender.send('POST', path, body)
  }
}
