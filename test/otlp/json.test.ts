import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/domain/json.ts'
import { MAX_ATTRIBUTE_DEPTH, MAX_EXPORT_ITEMS, MAX_EXPORT_RECORDS } from '../../src/limits.ts'
import { countDataPoints, decodeLogs, decodeTraces } from '../support/decode.ts'
import { jsonBytes, jsonExport, jsonSpan, SPAN_ID, TRACE_ID } from '../support/otlp.ts'

const encode = (text: string) => new TextEncoder().encode(text)
const traces = (body: Uint8Array) => decodeTraces(body, 'application/json')

/** The only span of an export. */
const span = (fields?: Readonly<Record<string, Json>>) => traces(jsonExport(jsonSpan(fields))).records[0]

/** An attribute's value, read from its AnyValue. */
const value = (anyValue: Json) => span({ attributes: [{ key: 'a', value: anyValue }] })?.attributes.get('a')

const refusal = (path: string, message = '') =>
  expect.objectContaining({ status: 400, details: [{ path, message: expect.stringContaining(message) }] })

describe('a value', () => {
  it.for<[string, Json, Json]>([
    ['an empty string', { stringValue: '' }, ''],
    ['a number instead of a string', { stringValue: 5 }, '5'],
    ['half a surrogate pair', { stringValue: 'a\ud800b' }, 'a\ufffdb'],
    ['true', { boolValue: true }, true],
    ['false', { boolValue: false }, false],
    ['a boolean as a string', { boolValue: 'false' }, false],
    ['an integer as a string', { intValue: '-7' }, -7],
    ['an integer as a number', { intValue: -7 }, -7],
    ['2^53 - 1', { intValue: '9007199254740991' }, Number.MAX_SAFE_INTEGER],
    ['2^53 + 1', { intValue: '9007199254740993' }, '9007199254740993'],
    ['2^53 as a number', { intValue: 2 ** 53 }, '9007199254740992'],
    ['the largest integer', { intValue: '9223372036854775807' }, '9223372036854775807'],
    ['the smallest integer', { intValue: '-9223372036854775808' }, '-9223372036854775808'],
    ['an invalid integer', { intValue: 1.5 }, 1.5],
    ['an integer that is not a number', { intValue: 'many' }, 'many'],
    ['a double', { doubleValue: 42 }, 42],
    ['a double as a string', { doubleValue: '-1.5e3' }, -1500],
    ['NaN', { doubleValue: 'NaN' }, 'NaN'],
    ['infinity', { doubleValue: '-Infinity' }, '-Infinity'],
    ['an out-of-range double as a string', { doubleValue: '1e400' }, 'Infinity'],
    ['bytes', { bytesValue: 'AQL/' }, 'AQL/'],
    ['bytes as a list', { bytesValue: [1, 2, 255] }, 'AQL/'],
    ['bytes as a Node buffer', { bytesValue: { type: 'Buffer', data: [1, 2, 255] } }, 'AQL/'],
    ['an empty list', { arrayValue: {} }, []],
    ['a list', { arrayValue: { values: [{ stringValue: 'a' }, {}, { arrayValue: { values: [] } }] } }, ['a', null, []]],
    ['an empty object', { kvlistValue: {} }, {}],
    [
      'an object with a duplicate key',
      { kvlistValue: { values: [{ key: 'k', value: { intValue: 1 } }, { key: 'k' }] } },
      { k: null },
    ],
    ['nothing', {}, null],
    ['null', null, null],
    ['a null kind and a non-null kind', { stringValue: null, intValue: 3 }, 3],
    ['a future kind of value', { futureValue: 1 }, null],
    ['a string index, which only profiles use', { stringValueStrindex: 1 }, null],
  ])('is read: %s', ([, anyValue, expected]) => {
    expect(value(anyValue)).toEqual(expected)
  })

  it('becomes text if it is out of range for JSON', () => {
    const text = JSON.stringify(jsonSpan({ attributes: [{ key: 'a', value: { doubleValue: 12345 } }] }))
    const body = encode(`{"resourceSpans":[{"scopeSpans":[{"spans":[${text.replace('12345', '1e400')}]}]}]}`)
    expect(traces(body).records[0]?.attributes.get('a')).toBe('Infinity')
  })

  it('may have a field with any name', () => {
    const read = value({ kvlistValue: { values: [{ key: '__proto__', value: { boolValue: true } }] } })
    expect(JSON.stringify(read)).toBe('{"__proto__":true}')
  })

  it.for([
    ['lists', (inner: Json) => ({ arrayValue: { values: [inner] } }), (inner: Json) => [inner]],
    [
      'objects',
      (inner: Json) => ({ kvlistValue: { values: [{ key: 'k', value: inner }] } }),
      (inner: Json) => ({ k: inner }),
    ],
  ] as const)('is truncated if its %s are nested too deeply', ([, wrap, wrapJson]) => {
    const nested = (levels: number, innermost: Json, wrapOnce: (inner: Json) => Json): Json =>
      levels === 0 ? innermost : nested(levels - 1, wrapOnce(innermost), wrapOnce)
    const deepest = MAX_ATTRIBUTE_DEPTH - 1
    expect(value(nested(deepest, { stringValue: 'kept' }, wrap))).toEqual(nested(deepest, 'kept', wrapJson))
    for (const levels of [MAX_ATTRIBUTE_DEPTH, 200]) {
      const cut = nested(MAX_ATTRIBUTE_DEPTH, '[nested deeper than 64]', wrapJson)
      expect(value(nested(levels, { stringValue: 'cut' }, wrap))).toEqual(cut)
    }
  })
})

describe('an id', () => {
  const bytes = (hex: string) => (hex.match(/../g) ?? []).map(pair => Number.parseInt(pair, 16))
  const base64 = (hex: string) => btoa(String.fromCharCode(...bytes(hex)))

  it.for<[string, (hex: string) => Json]>([
    ['hex', hex => hex],
    ['upper-case hex', hex => hex.toUpperCase()],
    ['base64', base64],
    ['base64 without padding', hex => base64(hex).replaceAll('=', '')],
    ['URL-safe base64', hex => base64(hex).replaceAll('+', '-').replaceAll('/', '_')],
    ['a list of bytes', bytes],
    ['a Node buffer', hex => ({ type: 'Buffer', data: bytes(hex) })],
  ])('is read as %s', ([, write]) => {
    const ids = { traceId: write(TRACE_ID), spanId: write(SPAN_ID), parentSpanId: write('fbefbefffffffffa') }
    const links = [{ traceId: write(TRACE_ID), spanId: write(SPAN_ID) }]
    expect(span({ ...ids, links })).toMatchObject({
      ...{ traceId: TRACE_ID, spanId: SPAN_ID, parentSpanId: 'fbefbefffffffffa' },
      links: [{ traceId: TRACE_ID, spanId: SPAN_ID }],
    })
  })

  it.for<Json>([
    'x',
    `${TRACE_ID}00`,
    SPAN_ID,
    5,
    true,
    {},
    [],
    [256],
    ['a'],
    Array(17).fill(1),
    'é'.repeat(16),
    { type: 'Buffer' },
    '\u{1f600}',
  ])('%j is invalid for a trace', traceId => {
    const { records, rejected } = traces(jsonExport(jsonSpan(), jsonSpan({ traceId })))
    expect(records).toHaveLength(1)
    expect([...rejected]).toEqual([[expect.stringMatching(/^the trace id/), 1]])
  })

  it.for<Json>(['', '0', '0000000000000000', null, [], Array(8).fill(0)])('%j means no parent', parentSpanId => {
    expect(span({ parentSpanId })?.parentSpanId).toBeNull()
  })
})

describe('a span', () => {
  it.for<[string, Json, string]>([
    ['a number', 3, 'client'],
    ['a name', 'SPAN_KIND_CLIENT', 'client'],
    ['a number as a string', '3', 'client'],
    ['a future number', 99, 'unspecified'],
    ['a future name', 'SPAN_KIND_FUTURE', 'unspecified'],
    ['an object', {}, 'unspecified'],
    ['a negative number', -1, 'unspecified'],
  ])('reads a kind given as %s', ([, kind, expected]) => {
    expect(span({ kind })?.spanKind).toBe(expected)
  })

  it.for<[Json, bigint]>([
    ['1544712660000000001', 1544712660000000001n],
    [1544712660000000000, 1544712660000000000n],
    ['18446744073709551615', 2n ** 64n - 1n],
    ['', 0n],
    [null, 0n],
  ])('starts at %j', ([startTimeUnixNano, expected]) => {
    expect(span({ startTimeUnixNano })).toMatchObject({ startNs: expected, endNs: expected })
  })

  it.for<Json>([
    'yesterday',
    '2026-11-21T00:00:00Z',
    -1,
    '-1',
    1.5,
    '18446744073709551616',
    '1'.repeat(100_000),
    true,
    {},
  ])('invalidates the whole export if it starts at %j', startTimeUnixNano => {
    const path = 'resourceSpans.0.scopeSpans.0.spans.0.startTimeUnixNano'
    expect(() => span({ startTimeUnixNano })).toThrow(refusal(path, 'nanoseconds'))
  })

  it('keeps all its fields', () => {
    const given = {
      flags: 0x301,
      traceState: 'a=b',
      droppedAttributesCount: 1,
      droppedEventsCount: '2',
      droppedLinksCount: 3,
    }
    const status = { code: 'STATUS_CODE_ERROR', message: 'failed' }
    const events = [{ name: 'e', timeUnixNano: '5', attributes: [{ key: 'k', value: { intValue: '1' } }] }]
    expect(span({ ...given, status, events })).toMatchObject({
      ...{ hasRemoteParent: true, traceState: 'a=b', dropped: { attributes: 1, events: 2, links: 3 } },
      ...{ status: 'error', statusMessage: 'failed' },
      events: [{ name: 'e', timeNs: 5n, attributes: new Map([['k', 1]]) }],
    })
  })

  it('is read even if its counts and flags are invalid', () => {
    expect(
      span({ flags: 'x', droppedAttributesCount: {}, droppedEventsCount: -1, droppedLinksCount: 1e300 }),
    ).toMatchObject({
      hasRemoteParent: false,
      dropped: { attributes: 0, events: 0, links: 0 },
    })
  })

  it('is read the same whether optional fields are null or missing', () => {
    const nothing = Object.fromEntries(
      [
        'parentSpanId',
        'traceState',
        'flags',
        'name',
        'kind',
        'startTimeUnixNano',
        'endTimeUnixNano',
        'attributes',
        'events',
        'links',
        'status',
      ].map(name => [name, null]),
    )
    expect(span(nothing)).toEqual(span())
  })
})

describe('an export', () => {
  it.for<[string, Json, string, string]>([
    ['a list', [], '', 'must be a JSON object'],
    ['a string', 'x', '', 'must be a JSON object'],
    ['null', null, '', 'must be a JSON object'],
    ['field names with underscores', { resource_spans: [] }, 'resource_spans', '`resourceSpans`'],
    [
      'nested field names with underscores',
      { resourceSpans: [{ scope_spans: [] }] },
      'resourceSpans.0.scope_spans',
      '`scopeSpans`',
    ],
    ['logs', { resourceLogs: [] }, 'resourceLogs', 'accepts only traces'],
    ['logs, with underscores', { resource_logs: [] }, 'resource_logs', 'accepts only traces'],
    ['metrics', { resourceMetrics: [] }, 'resourceMetrics', 'accepts only traces'],
    ['an object instead of a list', { resourceSpans: {} }, 'resourceSpans', 'a list'],
    ['a string instead of a resource', { resourceSpans: ['x'] }, 'resourceSpans.0', 'an object'],
    ['a list instead of a resource', { resourceSpans: [{ resource: [] }] }, 'resourceSpans.0.resource', 'an object'],
    [
      'an object instead of a list of resource attributes',
      { resourceSpans: [{ resource: { attributes: {} } }] },
      'resourceSpans.0.resource.attributes',
      'a list of {key, value}',
    ],
    [
      'a string instead of a scope',
      { resourceSpans: [{ scopeSpans: [{ scope: 'x' }] }] },
      'resourceSpans.0.scopeSpans.0.scope',
      'an object',
    ],
    [
      'a number instead of a span',
      { resourceSpans: [{ scopeSpans: [{ spans: [5] }] }] },
      'resourceSpans.0.scopeSpans.0.spans.0',
      'an object',
    ],
  ])('is rejected with the path of %s', ([, body, path, message]) => {
    expect(() => traces(jsonBytes(body))).toThrow(refusal(path, message))
  })

  it.for<[string, Record<string, Json>, string, string]>([
    ['an object instead of a list of attributes', { attributes: { a: 1 } }, 'attributes', 'a list of {key, value}'],
    ['a string instead of an attribute', { attributes: [{ key: 'a' }, 'x'] }, 'attributes.1', 'an object'],
    ['a string instead of a value', { attributes: [{ key: 'a', value: 'x' }] }, 'attributes.0.value', 'stringValue'],
    ['an object instead of a key', { attributes: [{ key: {} }] }, 'attributes.0.key', 'a string'],
    [
      'a list instead of a string',
      { attributes: [{ value: { stringValue: [] } }] },
      'attributes.0.value.stringValue',
      'a string',
    ],
    [
      'a list instead of an object with values',
      { attributes: [{ value: { arrayValue: [] } }] },
      'attributes.0.value.arrayValue',
      'an object',
    ],
    [
      'an object instead of a list of values',
      { attributes: [{ value: { kvlistValue: { values: {} } } }] },
      'attributes.0.value.kvlistValue.values',
      'a list',
    ],
    [
      'a string in a list',
      { attributes: [{ value: { arrayValue: { values: [{}, 'x'] } } }] },
      'attributes.0.value.arrayValue.values.1',
      'stringValue',
    ],
    ['an object instead of a name', { name: {} }, 'name', 'a string'],
    ['a string instead of a status', { status: 'ok' }, 'status', 'an object'],
    ['an object instead of a status message', { status: { message: {} } }, 'status.message', 'a string'],
    ['an object instead of a list of events', { events: {} }, 'events', 'a list'],
    ['a broken event', { events: [{}, { name: [] }] }, 'events.1.name', 'a string'],
    ['a broken link', { links: [{ attributes: 'x' }] }, 'links.0.attributes', 'a list'],
  ])('is rejected with the path of %s in a span', ([, fields, path, message]) => {
    expect(() => span(fields)).toThrow(refusal(`resourceSpans.0.scopeSpans.0.spans.0.${path}`, message))
  })

  it.for([
    ['not JSON', encode('resourceSpans')],
    ['empty', new Uint8Array()],
    ['protobuf', Uint8Array.of(0x0a, 0x00)],
    ['too deeply nested', encode(`{"resourceSpans":${'['.repeat(5000)}${']'.repeat(5000)}}`)],
    ['too deeply nested inside an ignored field', encode(`{"x":${'{"x":'.repeat(100_000)}1${'}'.repeat(100_000)}}`)],
  ] as const)('is rejected if it is %s', ([, body]) => {
    expect(() => traces(body)).toThrow(expect.objectContaining({ status: 400 }))
  })

  it.for<[string, string]>([
    ['objects', '{},'],
    ['lists', '[],'],
    ['numbers', '0,'],
  ])('is too large if it contains too many %s anywhere', ([, item]) => {
    const items = item.repeat(MAX_EXPORT_ITEMS + 1)
    expect(() => traces(encode(`{"x":[${items}0]}`))).toThrow(expect.objectContaining({ status: 413 }))
  })

  it('may have any number of commas and brackets in strings', () => {
    const name = '{[,"\\'.repeat(MAX_EXPORT_ITEMS / 2)
    expect(span({ name })?.name).toBe(name)
  })

  it('is read with its invalid UTF-8 replaced', () => {
    const body = jsonExport(jsonSpan({ name: 'x' }))
    expect(traces(body.map(byte => (byte === 0x78 ? 0xff : byte))).records[0]?.name).toBe('\ufffd')
  })

  it('may begin with a byte order mark', () => {
    expect(traces(Uint8Array.of(0xef, 0xbb, 0xbf, ...jsonExport(jsonSpan()))).records).toHaveLength(1)
  })

  it('is read with the last value of a duplicate key, and with nothing from prototypes', () => {
    const body = encode(
      `{"__proto__":{"resourceSpans":[5]},"resourceSpans":5,"resourceSpans":[{"__proto__":{"scopeSpans":5}}]}`,
    )
    expect(traces(body).records).toEqual([])
  })

  it('is rejected if none of its spans has an id', () => {
    expect(() => traces(jsonExport({}, { name: 'x' }, null))).toThrow(
      expect.objectContaining({ status: 400, message: expect.stringContaining('only traces') }),
    )
  })

  it(`may contain at most ${MAX_EXPORT_RECORDS} spans, and any others are counted but not read`, () => {
    const spans = Array(MAX_EXPORT_RECORDS).fill(jsonSpan())
    const { records, rejected } = traces(jsonExport(...spans, 'x', jsonSpan()))
    expect(records).toHaveLength(MAX_EXPORT_RECORDS)
    expect([...rejected]).toEqual([[expect.stringContaining(String(MAX_EXPORT_RECORDS)), 2]])
  })
})

describe('a log record', () => {
  const logs = (...logRecords: Json[]) =>
    decodeLogs(jsonBytes({ resourceLogs: [{ scopeLogs: [{ scope: { name: 's' }, logRecords }] }] }), 'application/json')

  it('keeps all its exported fields', () => {
    const body = { kvlistValue: { values: [{ key: 'content', value: { stringValue: 'hello' } }] } }
    const attributes = [{ key: 'k', value: { stringValue: 'v' } }]
    const log = {
      timeUnixNano: '5',
      observedTimeUnixNano: '6',
      traceId: TRACE_ID,
      spanId: SPAN_ID,
      eventName: 'e',
      severityNumber: 9,
    }
    expect(logs({ ...log, body, attributes })).toEqual({
      records: [
        {
          source: { resource: new Map(), scope: { name: 's', version: '', attributes: new Map() } },
          ...{ traceId: TRACE_ID, spanId: SPAN_ID, timeNs: 5n, eventName: 'e' },
          ...{ body: { content: 'hello' }, attributes: new Map([['k', 'v']]) },
        },
      ],
      rejected: new Map(),
    })
  })

  it('uses its observed time if it has no time, and may lack a span', () => {
    const expected = { timeNs: 6n, traceId: null, spanId: null, body: null, eventName: '' }
    expect(logs({ observedTimeUnixNano: '6', traceId: '', spanId: '0000000000000000' }).records).toMatchObject([
      expected,
    ])
  })

  it('is rejected with an invalid id or body', () => {
    expect([...logs({ traceId: 'x' }, { spanId: 'x' }).rejected.values()]).toEqual([1, 1])
    expect(() => logs({}, { body: 'x' })).toThrow(
      refusal('resourceLogs.0.scopeLogs.0.logRecords.1.body', 'stringValue'),
    )
  })

  it('is rejected in an export of traces', () => {
    expect(() => decodeLogs(jsonExport(jsonSpan()), 'application/json')).toThrow(
      refusal('resourceSpans', 'accepts only logs'),
    )
  })
})

describe('metrics', () => {
  const count = (metrics: Json) =>
    countDataPoints(jsonBytes({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] }), 'application/json')

  it('of all kinds are counted by their data points', () => {
    const kinds = ['gauge', 'sum', 'histogram', 'exponentialHistogram', 'summary']
    expect(count(kinds.map((kind, index) => ({ name: 'n', [kind]: { dataPoints: Array(index + 1).fill({}) } })))).toBe(
      15,
    )
    expect(count([{ name: 'none' }, null, { gauge: {} }])).toBe(0)
    expect(countDataPoints(encode('{}'), 'application/json')).toBe(0)
  })

  it('are rejected if they cannot be read', () => {
    const path = 'resourceMetrics.0.scopeMetrics.0.metrics.1.gauge.dataPoints'
    expect(() => count([{}, { gauge: { dataPoints: 5 } }])).toThrow(refusal(path, 'a list'))
  })
})
