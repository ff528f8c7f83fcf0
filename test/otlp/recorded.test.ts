import { describe, it } from 'vitest'
import type { JsonObject } from '../../src/domain/json.ts'
import { mediaTypeOf } from '../../src/otlp/media-type.ts'
import type { TelemetrySpan } from '../../src/otlp/reading/telemetry.ts'
import { countDataPoints, decodeLogs, decodeTraces } from '../support/decode.ts'
import { type Recorded, recorded, recordedDecodes, unpacked } from '../support/recorded.ts'

/** Each recorded body as OTLP/JSON, converted by an independent decoder (protobufjs with reflection). */
const decodes = await recordedDecodes()

const clientRecordings = recorded().filter(({ directory }) => directory !== 'quirks')
const nameOf = ({ directory, file }: Recorded) => `${directory}/${file}`

const decoders = { traces: decodeTraces, logs: decodeLogs, metrics: countDataPoints }

async function decode(recording: Recorded) {
  return decoders[recording.signal](await unpacked(recording), mediaTypeOf(recording.headers['content-type'] ?? null))
}

const asJson = (request: JsonObject) => new TextEncoder().encode(JSON.stringify(request))

describe('a recorded export', () => {
  it('has a reference decoding', ({ expect }) => {
    expect(clientRecordings.map(nameOf)).toEqual(Object.keys(decodes))
  })

  it.for(clientRecordings.map(recording => [nameOf(recording), recording] as const))(
    '%s matches its reference decoding',
    async ([name, recording], { expect }) => {
      const decoded = await decode(recording)
      expect(decoded).toEqual(decoders[recording.signal](asJson(decodes[name] ?? {}), 'application/json'))
      if (typeof decoded === 'number') return expect(decoded).toBeGreaterThan(0)
      expect(decoded.records.length).toBeGreaterThan(0)
      expect(decoded.rejected).toEqual(new Map())
    },
  )

  it('decodes the same way in all four encodings, except for its ids and times', async ({ expect }) => {
    const encodings = ['otel-js2-proto', 'otel-js2-proto-gzip', 'otel-js2-json', 'otel-js2-json-gzip']
    const sent = clientRecordings.filter(({ directory }) => encodings.includes(directory))
    const [first, ...others] = await Promise.all(
      sent.map(async recording => shape((await tracesOf(recording)).records)),
    )
    expect(others).toHaveLength(3)
    for (const other of others) expect(other).toEqual(first)
  })

  it('keeps nanoseconds, large integers, bytes, and nested values', async ({ expect }) => {
    const spans = (await tracesOf(find('otel-js3-proto'))).records
    const chat = spans.find(({ name }) => name === 'chat gpt-4.1-mini')
    expect(chat?.startNs).toBe(1795260364224000000n)
    expect(chat?.endNs).toBe(1795260364224065447n)
    expect(Object.fromEntries(chat?.attributes ?? [])).toMatchObject({
      'x.null': null,
      'x.mixed': [1, 'a', true, null, { k: 1.5 }],
      'x.bytes': 'AQL/',
      'x.big': '9007199254740994',
      'x.int': 7,
      'x.float': 7,
    })
  })

  it('is rejected as an export of traces if it contains logs', async ({ expect }) => {
    for (const recording of clientRecordings.filter(({ signal }) => signal === 'logs')) {
      const bytes = await unpacked(recording)
      const type = mediaTypeOf(recording.headers['content-type'] ?? null)
      expect(() => decodeTraces(bytes, type)).toThrow(expect.objectContaining({ status: 400 }))
    }
  })
})

const find = (directory: string): Recorded => {
  const found = clientRecordings.find(recording => recording.directory === directory)
  if (!found) throw new Error(`no recording of ${directory}`)
  return found
}

const tracesOf = async (recording: Recorded) =>
  decodeTraces(await unpacked(recording), mediaTypeOf(recording.headers['content-type'] ?? null))

/** Spans without the fields that differ from run to run, and with their parents' names instead of ids. */
const shape = (spans: readonly TelemetrySpan[]) => {
  const names = new Map(spans.map(({ spanId, name }) => [spanId, name]))
  return spans.map(span => ({
    ...span,
    ...{ traceId: '', spanId: '', startNs: 0n, endNs: 0n },
    parentSpanId: span.parentSpanId && names.get(span.parentSpanId),
    events: span.events.map(({ name, attributes }) => ({ name, attributes })),
    links: span.links.length,
  }))
}
