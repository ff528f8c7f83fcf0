/// <reference types="vite/types/importMeta.d.ts" />

import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, it, vi } from 'vitest'
import { answer } from '../../src/app.ts'
import { traceUuid } from '../../src/domain/ids.ts'
import { MAX_EXPORT_BYTES, MAX_EXPORT_RECORDS, MAX_EXPORTED_STATES } from '../../src/limits.ts'
import { failing, recordingBindings, wrapBindings } from '../support/bindings.ts'
import { aTrace } from '../support/builders.ts'
import { compressed } from '../support/compressed.ts'
import { stored } from '../support/database.ts'
import { newOrg, type Org } from '../support/org.ts'
import { recorded } from '../support/recorded.ts'
import { aHexTraceId, aLogExport, aMessage, anExport, anExportedSpan } from '../support/telemetry.ts'

const PROTOBUF = 'application/x-protobuf'
const JSON_TYPE = 'application/json'

/** Sends bytes as an exporter does, and returns the response's bytes. */
async function post(path: string, headers: Record<string, string>, body: BodyInit, bindings = env) {
  const context = createExecutionContext()
  const request = new Request(`https://countersign.test${path}`, { method: 'POST', headers, body })
  const response = await answer(request, bindings, context)
  const bytes = new Uint8Array(await response.arrayBuffer())
  await waitOnExecutionContext(context)
  return { status: response.status, headers: response.headers, bytes, text: new TextDecoder().decode(bytes) }
}

const bearer = ({ projectKey }: Org) => ({ authorization: `Bearer ${projectKey}` })
const jsonOf = (value: object) => JSON.stringify(value)

/** A model call that OpenTelemetry's JavaScript exporter sent in protobuf. */
function aRecordedExport(): Uint8Array {
  const found = recorded().find(({ directory, signal }) => directory === 'otel-js2-proto' && signal === 'traces')
  if (!found) throw new Error('the recording is missing')
  return found.bytes
}

/** The Collector's requests with `compression: zstd`, by signal. */
const collected = Object.entries(
  import.meta.glob<string>('./compressed/*', { query: '?url&inline', import: 'default', eager: true }),
).map(([file, url]) => [/collector-(\w+)/.exec(file)?.[1], url] as const)

const namesOf = async (org: Org): Promise<string[]> =>
  (await org.read.get('/api/traces?projectSlug=support')).body.traces.map(({ name }: { name: string }) => name)

describe('an export', () => {
  it.for([
    ['/v1/traces'],
    ['/api/v1/otel/v1/traces'],
    ['/api/v1/traces'],
    ['/api/public/otel/v1/traces'],
    ['/otel/v1/traces'],
  ] as const)('is accepted at %s, in either encoding', async ([path], { expect }) => {
    const org = await newOrg()
    const asProtobuf = await post(path, { ...bearer(org), 'content-type': PROTOBUF }, aRecordedExport())
    expect(asProtobuf).toMatchObject({ status: 200, text: '' })
    expect(asProtobuf.headers.get('content-type')).toBe(PROTOBUF)
    const span = anExportedSpan({ name: 'from-json', attributes: { 'gen_ai.operation.name': 'chat' } })
    const asJson = await post(
      path,
      { ...bearer(org), 'content-type': 'application/json; charset=utf-8' },
      jsonOf(anExport([span])),
    )
    expect(asJson).toMatchObject({ status: 200, text: '{}' })
    expect(asJson.headers.get('content-type')).toBe(JSON_TYPE)
    expect(await namesOf(org)).toHaveLength(2)
  })

  it('is accepted with the Collector’s zstd compression', async ({ expect }) => {
    const org = await newOrg()
    const headers = { ...bearer(org), 'content-type': PROTOBUF, 'content-encoding': 'zstd' }
    expect(collected.map(([signal]) => signal)).toEqual(['logs', 'traces'])
    for (const [signal, url] of collected) {
      const body = await (await fetch(url)).arrayBuffer()
      expect((await post(`/api/v1/otel/v1/${signal}`, headers, body)).status).toBe(200)
    }
    expect(await namesOf(org)).toEqual(['support-answer'])
  })

  it.for(['gzip', 'deflate', 'zstd'] as const)(
    'is accepted if compressed with %s and sent in chunks',
    async (format, { expect }) => {
      const org = await newOrg()
      const body = new Blob([await compressed(format, aRecordedExport())]).stream()
      const headers = { ...bearer(org), 'content-type': PROTOBUF, 'content-encoding': format }
      expect((await post('/v1/traces', headers, body)).status).toBe(200)
      expect(
        (await post('/api/v1/traces', headers, new Blob([await compressed(format, aRecordedExport())]).stream()))
          .status,
      ).toBe(200)
      expect(await namesOf(org)).toEqual(['support'])
    },
  )

  it.for([
    ['a Bearer token', (key: string) => ({ authorization: `Bearer ${key}` })],
    ['a bare key', (key: string) => ({ authorization: key })],
    ['x-api-key', (key: string) => ({ 'x-api-key': key })],
    ['a Basic password', (key: string) => ({ authorization: `Basic ${btoa(`pk-lf-any:${key}`)}` })],
  ] as const)('may pass its key as %s', async ([, credentials], { expect }) => {
    const org = await newOrg()
    const body = jsonOf(anExport([anExportedSpan()]))
    const headers = { ...credentials(org.projectKey), 'content-type': JSON_TYPE }
    expect((await post('/v1/traces', headers, body)).status).toBe(200)
    const others = { ...credentials(`${org.projectKey}x`), 'content-type': JSON_TYPE }
    expect((await post('/v1/traces', others, body)).status).toBe(401)
  })

  it.for([
    [PROTOBUF, new Uint8Array(), ''],
    [JSON_TYPE, '{}', '{}'],
  ] as const)('may be empty: %s', async ([type, body, text], { expect }) => {
    const org = await newOrg()
    for (const signal of ['traces', 'logs', 'metrics']) {
      expect(await post(`/v1/${signal}`, { ...bearer(org), 'content-type': type }, body)).toMatchObject({
        status: 200,
        text,
      })
    }
  })

  it.for([
    ['a trace for the native interface', JSON_TYPE, jsonOf(aTrace()), 'resourceSpans: is required'],
    ['a span outside an export', JSON_TYPE, jsonOf({ name: 'a' }), 'resourceSpans: is required'],
    ['protobuf with only unknown fields', PROTOBUF, new Uint8Array([0x7a, 0x01, 0x61]), "isn't an OTLP export"],
  ] as const)('is rejected rather than treated as empty if it is %s', async ([, type, body, reason], { expect }) => {
    const org = await newOrg()
    for (const path of ['/v1/traces', '/api/v1/otel/v1/traces']) {
      const rejected = await post(path, { ...bearer(org), 'content-type': type }, body)
      expect(rejected.status).toBe(400)
      expect(rejected.text).toContain(reason)
    }
  })

  it('reports how many records were rejected and why, and keeps the others', async ({ expect }) => {
    const org = await newOrg()
    const spans = [anExportedSpan(), anExportedSpan({ spanId: '0000000000000000' }), anExportedSpan({ traceId: 'ab' })]
    const partly = await org.ingest.post('/v1/traces', anExport(spans))
    expect(partly.body.partialSuccess.rejectedSpans).toBe('2')
    expect(partly.body.partialSuccess.errorMessage).toMatch(
      /1 rejected: .*trace id.*; 1 rejected: .*span id|1 rejected: .*span id.*; 1 rejected: .*trace id/,
    )
    expect(await namesOf(org)).toHaveLength(1)
    const logs = await org.ingest.post('/v1/logs', aLogExport([aMessage(), aMessage({ eventName: 'any.other' })]))
    expect(logs.body.partialSuccess).toMatchObject({ rejectedLogRecords: '1' })
    const metrics = {
      resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name: 'x', sum: { dataPoints: [{}, {}] } }] }] }],
    }
    expect((await org.ingest.post('/v1/metrics', metrics)).body.partialSuccess).toMatchObject({
      rejectedDataPoints: '2',
    })
  })

  it('is limited to a certain number of records', async ({ expect }) => {
    const org = await newOrg()
    const [traceId, parentSpanId] = [aHexTraceId(), '00000000000000aa']
    const spans = Array.from({ length: MAX_EXPORT_RECORDS + 5 }, () =>
      anExportedSpan({ traceId, parentSpanId, attributes: { a: 1 } }),
    )
    const { body } = await org.ingest.post('/v1/traces', anExport(spans))
    expect(body.partialSuccess.rejectedSpans).toBe('5')
  })

  it('may contain more traces than one millisecond has keys for, and never binds a string too large for D1', async ({
    expect,
  }) => {
    const org = await newOrg()
    const { bindings, statements } = recordingBindings()
    const metadata = Object.fromEntries(
      Array.from({ length: 10 }, (_, index) => [`langfuse.trace.metadata.f${index}`, 'v'.repeat(50)]),
    )
    const attributes = { 'gen_ai.operation.name': 'chat', ...metadata }
    const spans = Array.from({ length: 5000 }, () => anExportedSpan({ attributes }))
    expect((await org.bearer(bindings).post('/v1/traces', anExport(spans))).body).toEqual({})
    const count = 'select count(*) as n from traces where project_key = (select key from projects where id = ?)'
    expect(await stored.prepare(count).bind(org.project.id).first('n')).toBe(5000)
    const lengths = statements.flatMap(({ values }) => values.map(value => String(value).length))
    expect(Math.max(...lengths)).toBeLessThan(2_000_000)
  })

  it('keeps only a limited number of states per span', async ({ expect }) => {
    const org = await newOrg()
    const names = Array.from({ length: MAX_EXPORTED_STATES + 1 }, (_, index) => `countersign.state.key-${index}`)
    // Each level of JSON (the span, the row, and the list of rows) doubles the backslashes before each quote.
    const attributes = Object.fromEntries(names.map(name => [name, '"'.repeat(4000)]))
    const { bindings, statements } = recordingBindings()
    const { body } = await org.bearer(bindings).post('/v1/traces', anExport([anExportedSpan({ attributes })]))
    expect(body.partialSuccess).toMatchObject({
      rejectedSpans: '0',
      errorMessage: `truncated state, which had ${names.length} values`,
    })
    expect(Math.max(...statements.flatMap(({ values }) => values.map(value => String(value).length)))).toBeLessThan(
      2_000_000,
    )
  })

  it('truncates and reports a value that is too large, and keeps all others', async ({ expect }) => {
    const org = await newOrg()
    const large = anExportedSpan({
      attributes: { 'gen_ai.operation.name': 'chat', 'output.value': 'x'.repeat(6 * 1024 * 1024) },
    })
    const { body } = await org.ingest.post('/v1/traces', anExport([large, anExportedSpan()]))
    expect(body.partialSuccess.rejectedSpans).toBe('0')
    expect(body.partialSuccess.errorMessage).toContain('truncated output')
    expect(await namesOf(org)).toHaveLength(2)
  })
})

describe('an invalid export', () => {
  it.for([
    ['401', {}, JSON_TYPE, '{}', 401, 16],
    ['415 for an unsupported type', undefined, 'text/plain', '{}', 415, 3],
    ['415 for an unsupported compression', undefined, JSON_TYPE, '{}', 415, 3],
    ['400 for a malformed body', undefined, JSON_TYPE, '{', 400, 3],
    [
      '400 for log records',
      undefined,
      JSON_TYPE,
      jsonOf({ resourceSpans: [{ scopeSpans: [{ spans: [{ body: {} }] }] }] }),
      400,
      3,
    ],
    ['400 for names in snake_case', undefined, JSON_TYPE, jsonOf({ resource_spans: [] }), 400, 3],
  ] as const)('gets a Status with %s', async ([name, credentials, type, body, status, code], { expect }) => {
    const org = await newOrg()
    const headers = {
      ...(credentials ?? bearer(org)),
      'content-type': type,
      ...(name.includes('compression') && { 'content-encoding': 'br' }),
    }
    const rejected = await post('/v1/traces', headers, body)
    expect(rejected.status).toBe(status)
    expect(JSON.parse(rejected.text)).toEqual({ code, message: expect.stringMatching(/./) })
  })

  it('gets a protobuf response if it was sent as protobuf', async ({ expect }) => {
    const org = await newOrg()
    const rejected = await post(
      '/v1/traces',
      { ...bearer(org), 'content-type': PROTOBUF },
      new Uint8Array([0xff, 0xff]),
    )
    expect(rejected.status).toBe(400)
    expect(rejected.headers.get('content-type')).toBe(PROTOBUF)
    // The field `code` with the value 3, and then the field `message`.
    expect([...rejected.bytes.subarray(0, 3)]).toEqual([0x08, 3, 0x12])
  })

  it('is rejected if it is over 16 MiB, even if it is small when compressed', async ({ expect }) => {
    const org = await newOrg()
    const body = await compressed('gzip', new Uint8Array(MAX_EXPORT_BYTES + 1))
    expect(body.byteLength).toBeLessThan(100_000)
    const rejected = await post(
      '/v1/traces',
      { ...bearer(org), 'content-type': PROTOBUF, 'content-encoding': 'gzip' },
      body,
    )
    expect(rejected.status).toBe(413)
  })

  it('is rejected if its key lacks the ingest scope, and counts toward its key’s limit', async ({ expect }) => {
    const org = await newOrg()
    const reader = org.clientOf(await org.keyFor({ scopes: ['read'] }))
    expect((await reader.post('/v1/traces', {})).body).toMatchObject({ code: 7 })
    const limited = org.clientOf(await org.keyFor({ rateLimitPerMinute: 1 }))
    expect((await limited.post('/v1/traces', {})).status).toBe(200)
    const denied = await limited.post('/v1/traces', {})
    expect(denied).toMatchObject({ status: 429, body: { code: 8 } })
    expect(Number(denied.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  })

  it('gets a retryable error for any fault in the service', async ({ expect }) => {
    const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
    const org = await newOrg()
    for (const message of ['D1_ERROR: D1 DB is overloaded.', 'an unknown message']) {
      const bindings = wrapBindings(failing('DB', message, Number.POSITIVE_INFINITY))
      const denied = await org.bearer(bindings).post('/v1/traces', anExport([anExportedSpan()]))
      expect(denied).toMatchObject({ status: 503, body: { code: 14 } })
      expect(Number(denied.headers.get('retry-after'))).toBeLessThanOrEqual(5)
    }
    expect(JSON.stringify(logged.mock.calls)).not.toContain('gpt-4.1-mini')
    logged.mockRestore()
  })
})

describe('the project of an export', () => {
  const span = () => anExportedSpan()

  it('comes from the key, the header, or the resource', async ({ expect }) => {
    const org = await newOrg()
    const slugs = { 'openinference.project.name': 'support' }
    expect((await org.owner.post('/v1/traces', anExport([span()]))).body).toMatchObject({
      code: 3,
      message: expect.stringContaining('x-project-slug'),
    })
    expect((await org.owner.post('/v1/traces', anExport([span()], slugs))).status).toBe(200)
    expect((await org.owner.post('/v1/traces', anExport([span()]), { 'x-project-slug': 'support' })).status).toBe(200)
    expect(
      (await org.ingest.post('/v1/traces', anExport([span()], { 'openinference.project.name': 'other' }))).status,
    ).toBe(200)
    expect(await namesOf(org)).toHaveLength(3)
    expect(
      (await org.owner.post('/v1/traces', anExport([span()], { 'openinference.project.name': 'nope' }))).body,
    ).toMatchObject({ code: 5 })
    expect((await org.ingest.post('/v1/traces', anExport([span()]), { 'x-project-slug': 'nope' })).status).toBe(403)
  })

  it('separates organizations that export the same trace', async ({ expect }) => {
    const exported = span()
    const trace_id = `trace_${exported.traceId}`
    for (const org of [await newOrg(), await newOrg()]) {
      expect((await org.ingest.post('/v1/traces', anExport([exported]))).body).toEqual({})
      const id = await traceUuid(org.project.id, trace_id)
      expect((await org.read.get(`/api/traces/${id}`)).body.spans).toHaveLength(1)
    }
  })
})

describe('the path that traces and exports share', () => {
  const encoded = async (body: string, encoding: string) =>
    encoding === 'gzip' || encoding === 'deflate' || encoding === 'zstd'
      ? compressed(encoding, new TextEncoder().encode(body))
      : new TextEncoder().encode(body)

  describe.for(['', 'identity', 'gzip', 'deflate', 'zstd'])('in the encoding "%s"', encoding => {
    it.for([
      ['a trace for the native interface', jsonOf(aTrace()), 202],
      ['a trace with resourceSpans in its metadata', jsonOf(aTrace({ metadata: { resourceSpans: [] } })), 202],
      ['a long trace', jsonOf(aTrace({ metadata: { random: randomText(30_000) } })), 202],
      ['an export', jsonOf(anExport([anExportedSpan()])), 200],
      ['an export preceded by whitespace', ` \n{ "resourceSpans" : [] }`, 200],
      ['an empty object', '{}', 400],
      ['an object that is neither a trace nor an export', '{"spans":[]}', 400],
      ['a list', '[]', 400],
      ['broken JSON', '{"resource', 400],
    ] as const)('recognizes %s', async ([, body, status], { expect }) => {
      const org = await newOrg()
      const headers = { ...bearer(org), 'content-type': JSON_TYPE, ...(encoding && { 'content-encoding': encoding }) }
      const bytes = await encoded(body, encoding)
      for (const sent of [bytes, new Blob([bytes]).stream()]) {
        expect((await post('/api/v1/traces', headers, sent)).status).toBe(status)
      }
      expect(await namesOf(org)).toHaveLength(status === 202 || body.includes('scopeSpans') ? 1 : 0)
    })
  })

  it('treats an empty body as an invalid trace', async ({ expect }) => {
    const org = await newOrg()
    expect((await post('/api/v1/traces', { ...bearer(org), 'content-type': JSON_TYPE }, '')).status).toBe(400)
  })

  it('rejects an unknown encoding if the caller is known', async ({ expect }) => {
    const org = await newOrg()
    for (const type of [JSON_TYPE, PROTOBUF]) {
      const headers = { 'content-type': type, 'content-encoding': 'br' }
      const body = jsonOf(aTrace())
      expect((await post('/api/v1/traces', { ...bearer(org), ...headers }, body)).status).toBe(415)
      expect((await post('/api/v1/traces', headers, body)).status).toBe(401)
    }
  })

  it('never inflates a native call past its limit', async ({ expect }) => {
    const org = await newOrg()
    const bomb = await compressed('gzip', new TextEncoder().encode(' '.repeat(20 * 1024 * 1024)))
    const headers = { ...bearer(org), 'content-type': JSON_TYPE, 'content-encoding': 'gzip' }
    expect((await post('/api/v1/traces', headers, bomb)).status).toBe(413)
  })
})

/** Text that barely compresses. */
const randomText = (length: number): string =>
  Array.from({ length: length / 30 }, () => crypto.randomUUID().replaceAll('-', '').slice(2)).join('')
