import { describe, it } from 'vitest'
import type { Json } from '../../src/domain/json.ts'
import { MAX_ATTRIBUTE_DEPTH, MAX_EXPORT_ITEMS, MAX_EXPORT_RECORDS } from '../../src/limits.ts'
import { countDataPoints, decodeLogs, decodeTraces } from '../support/decode.ts'
import {
  type Field,
  message,
  protobufAttribute,
  protobufExport,
  protobufSpan,
  SPAN_ID,
  TRACE_ID,
} from '../support/otlp.ts'

const traces = (body: Uint8Array) => decodeTraces(body, 'application/x-protobuf')

/** The only span of an export. */
const span = (...fields: Field[]) => traces(protobufExport(protobufSpan(...fields))).records[0]

/** An attribute's value, read from its AnyValue. */
const value = (anyValue: Uint8Array) => span([9, protobufAttribute('a', anyValue)])?.attributes.get('a')

const varint = (field: number, ...bytes: number[]) => Uint8Array.of(field << 3, ...bytes)
const double = (number: number) => Uint8Array.of(0x21, ...new Uint8Array(new Float64Array([number]).buffer))
const list = (...values: Uint8Array[]) => message([5, message(...values.map(item => [1, item] as const))])
const object = (...fields: Uint8Array[]) => message([6, message(...fields.map(field => [1, field] as const))])
const text = (content: string) => message([1, content])

describe('a value', () => {
  it.for([
    ['a string', text('é\u{1f600}'), 'é\u{1f600}'],
    ['an empty string', text(''), ''],
    ['a string with a byte order mark', text('\ufeffa'), '\ufeffa'],
    ['true', varint(2, 1), true],
    ['false', varint(2, 0), false],
    ['2^53 - 1', varint(3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f), Number.MAX_SAFE_INTEGER],
    ['2^53', varint(3, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10), '9007199254740992'],
    ['2^53 + 1', varint(3, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10), '9007199254740993'],
    ['the largest integer', varint(3, ...Array(8).fill(0xff), 0x7f), '9223372036854775807'],
    ['the smallest integer', varint(3, ...Array(9).fill(0x80), 0x01), '-9223372036854775808'],
    ['-1', varint(3, ...Array(9).fill(0xff), 0x01), -1],
    ['a double', double(0.1), 0.1],
    ['NaN', double(Number.NaN), 'NaN'],
    ['infinity', double(Number.POSITIVE_INFINITY), 'Infinity'],
    ['minus infinity', double(Number.NEGATIVE_INFINITY), '-Infinity'],
    ['bytes', message([7, Uint8Array.of(1, 2, 255)]), 'AQL/'],
    ['no bytes', message([7, new Uint8Array()]), ''],
    ['a list', list(text('a'), varint(3, 1), list()), ['a', 1, []]],
    ['an object', object(protobufAttribute('k', varint(2, 1))), { k: true }],
    [
      'an object with a duplicate key',
      object(protobufAttribute('k', text('1')), protobufAttribute('k', text('2'))),
      { k: '2' },
    ],
    ['an empty object', object(), {}],
    ['nothing', new Uint8Array(), null],
    ['a string index, which only profiles use', varint(8, 1), null],
    ['a future kind of value', message([99, 'x']), null],
    ['two values at once, the last of which is used', concatenated(text('a'), varint(3, 5)), 5],
    ['two values at once in the opposite order', concatenated(varint(3, 5), text('a')), 'a'],
  ] as const)('is read: %s', ([, anyValue, expected], { expect }) => {
    expect(value(anyValue)).toEqual(expected)
  })

  it('may have a field with any name', ({ expect }) => {
    const read = value(object(protobufAttribute('__proto__', object(protobufAttribute('polluted', varint(2, 1))))))
    expect(JSON.stringify(read)).toBe('{"__proto__":{"polluted":true}}')
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype)
    expect({}).not.toHaveProperty('polluted')
  })

  it.for([
    ['lists', list, (inner: Json) => [inner]],
    ['objects', (inner: Uint8Array) => object(protobufAttribute('k', inner)), (inner: Json) => ({ k: inner })],
  ] as const)('is truncated if its %s are nested too deeply', ([, wrap, wrapJson], { expect }) => {
    const nested = <Value>(levels: number, innermost: Value, wrapOnce: (inner: Value) => Value): Value =>
      levels === 0 ? innermost : nested(levels - 1, wrapOnce(innermost), wrapOnce)
    const deepest = MAX_ATTRIBUTE_DEPTH - 1
    expect(value(nested(deepest, text('kept'), wrap))).toEqual(nested<Json>(deepest, 'kept', wrapJson))
    for (const levels of [MAX_ATTRIBUTE_DEPTH, 200, 2000]) {
      const deep = protobufAttribute('deep', nested(levels, text('cut'), wrap))
      const attributes = span([9, deep], [9, protobufAttribute('b', text('kept'))])?.attributes
      expect(attributes?.get('deep')).toEqual(nested<Json>(MAX_ATTRIBUTE_DEPTH, '[nested deeper than 64]', wrapJson))
      expect(attributes?.get('b')).toBe('kept')
    }
  })

  it('may nest as deeply in a second attribute as in the first', ({ expect }) => {
    const deep = list(list(list(text('x'))))
    const attributes = Array.from({ length: 100 }, (_, index) => [9, protobufAttribute(String(index), deep)] as const)
    expect(span(...attributes)?.attributes.get('99')).toEqual([[['x']]])
  })
})

describe('invalid UTF-8', () => {
  const broken = Uint8Array.of(0x61, 0xff, 0xc3, 0x28, 0xed, 0xa0, 0x80, 0x62)
  const replaced = new TextDecoder().decode(broken)

  it('is replaced everywhere', ({ expect }) => {
    const attribute = message([1, broken], [2, message([1, broken])])
    const read = span([3, broken], [5, broken], [9, attribute], [11, message([2, broken])], [15, message([2, broken])])
    expect(read).toMatchObject({
      ...{ traceState: replaced, name: replaced, statusMessage: replaced },
      attributes: new Map([[replaced, replaced]]),
      events: [{ name: replaced }],
    })
    expect(replaced).toMatch(/^a\ufffd\ufffd\(\ufffd+b$/)
  })

  it('is replaced in the middle of long text', ({ expect }) => {
    const long = new Uint8Array(1000).fill(0x61).with(500, 0x80)
    expect(value(message([1, long]))).toBe(`${'a'.repeat(500)}\ufffd${'a'.repeat(499)}`)
  })
})

describe('a span', () => {
  it('keeps all its exported fields', ({ expect }) => {
    const link = message(
      [1, new Uint8Array(16).fill(0xab)],
      [2, new Uint8Array(8).fill(0xcd)],
      [3, 'a=b'],
      [4, protobufAttribute('l', text('1'))],
    )
    const event = message([1, 1n], [2, 'e'], [3, protobufAttribute('e', text('2'))])
    const read = span(
      ...([
        [3, 'vendor=1'],
        [4, new Uint8Array(8).fill(0xef)],
        [5, 'chat'],
        [6, 3],
        [7, 1544712660000000001n],
        [8, 2n ** 64n - 1n],
      ] as const),
      ...([
        [9, protobufAttribute('k', text('v'))],
        [10, 1],
        [11, event],
        [12, 2],
        [13, link],
        [14, 3],
      ] as const),
      [15, message([2, 'failed'], [3, 2])],
    )
    expect(read).toEqual({
      source: { resource: new Map(), scope: { name: '', version: '', attributes: new Map() } },
      traceId: TRACE_ID,
      spanId: SPAN_ID,
      parentSpanId: 'ef'.repeat(8),
      hasRemoteParent: false,
      traceState: 'vendor=1',
      name: 'chat',
      spanKind: 'client',
      startNs: 1544712660000000001n,
      endNs: 2n ** 64n - 1n,
      attributes: new Map([['k', 'v']]),
      events: [{ name: 'e', timeNs: 1n, attributes: new Map([['e', '2']]) }],
      links: [
        { traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8), traceState: 'a=b', attributes: new Map([['l', '1']]) },
      ],
      status: 'error',
      statusMessage: 'failed',
      dropped: { attributes: 1, events: 2, links: 3 },
    })
  })

  it.for([
    [0x100, false],
    [0x200, false],
    [0x301, true],
  ] as const)('has a remote parent with the flags %i: %s', ([flags, expected], { expect }) => {
    const fixed32 = Uint8Array.of(0x85, 0x01, ...new Uint8Array(new Uint32Array([flags]).buffer))
    const decoded = traces(protobufExport(concatenated(protobufSpan(), fixed32)))
    expect(decoded.records[0]?.hasRemoteParent).toBe(expected)
  })

  it.for([
    [6, 99, { spanKind: 'unspecified' }],
    [15, message([3, 99]), { status: 'unset' }],
  ] as const)('drops an unknown kind or status', ([field, content, expected], { expect }) => {
    expect(span([field, content])).toMatchObject(expected)
  })

  it.for([
    ['no trace id', message([2, new Uint8Array(8).fill(1)]), /trace id/],
    ['a trace id of 8 bytes', message([1, new Uint8Array(8).fill(1)], [2, new Uint8Array(8).fill(1)]), /trace id/],
    ['a trace id of all zeros', message([1, new Uint8Array(16)], [2, new Uint8Array(8).fill(1)]), /trace id/],
    ['no span id', message([1, new Uint8Array(16).fill(1)]), /span id/],
    ['a span id of 16 bytes', message([1, new Uint8Array(16).fill(1)], [2, new Uint8Array(16).fill(1)]), /span id/],
    ['a span id of all zeros', message([1, new Uint8Array(16).fill(1)], [2, new Uint8Array(8)]), /span id/],
    ['a parent id of 3 bytes', protobufSpan([4, Uint8Array.of(1, 2, 3)]), /parent span id/],
  ] as const)('is rejected without affecting other spans if it has %s', ([, refused, reason], { expect }) => {
    const { records, rejected } = traces(protobufExport(protobufSpan([5, 'kept']), refused, refused))
    expect(records.map(({ name }) => name)).toEqual(['kept'])
    expect([...rejected]).toEqual([[expect.stringMatching(reason), 2]])
  })

  it('is a root if its parent’s id is all zeros', ({ expect }) => {
    expect(span([4, new Uint8Array(8)])?.parentSpanId).toBeNull()
    expect(span()?.parentSpanId).toBeNull()
  })
})

describe('an export', () => {
  it('may be zero bytes long', ({ expect }) => {
    expect(traces(new Uint8Array())).toEqual({ records: [], rejected: new Map() })
  })

  it('may have many resources and scopes, whose fields may be split and in any order', ({ expect }) => {
    const attribute = (key: string, content: string) =>
      [1, message([1, protobufAttribute(key, text(content))])] as const
    const scope = (name: string, version: string) => [1, message([1, name], [2, version])] as const
    const spans = (name: string) => [2, protobufSpan([5, name])] as const
    const body = message(
      [
        1,
        message(
          [2, message(spans('a'), scope('s', ''), spans('b'), scope('', '1'))],
          attribute('x', '1'),
          attribute('y', '2'),
        ),
      ],
      [
        1,
        message([2, message(scope('t', '2'), spans('c'))], [2, message(spans('d'))], [3, 'schema'], [1000, 'to come']),
      ],
      [7, 'to come'],
    )
    const read = traces(body).records.map(({ name, source: { resource, scope } }) => [
      name,
      Object.fromEntries(resource),
      scope.name,
      scope.version,
    ])
    expect(read).toEqual([
      ['a', { x: '1', y: '2' }, 's', '1'],
      ['b', { x: '1', y: '2' }, 's', '1'],
      ['c', {}, 't', '2'],
      ['d', {}, '', ''],
    ])
  })

  it('is rejected as an export of logs if its spans have no ids', ({ expect }) => {
    const log = message([1, 1n], [5, text('a body')], [6, protobufAttribute('k', text('v'))])
    expect(() => traces(protobufExport(log, log))).toThrow(
      expect.objectContaining({ status: 400, message: expect.stringContaining('only traces') }),
    )
    expect(decodeLogs(protobufExport(log), 'application/x-protobuf').records).toHaveLength(1)
  })

  it(`may contain at most ${MAX_EXPORT_RECORDS} spans, and any others are counted`, ({ expect }) => {
    const one = protobufSpan()
    const { records, rejected } = traces(protobufExport(...Array(MAX_EXPORT_RECORDS + 5).fill(one)))
    expect(records).toHaveLength(MAX_EXPORT_RECORDS)
    expect([...rejected]).toEqual([[expect.stringContaining(String(MAX_EXPORT_RECORDS)), 5]])
  })

  it.for([
    ['resources', (empty: Uint8Array) => empty],
    ['scopes', (empty: Uint8Array) => message([1, empty.map((byte, index) => (index % 2 ? byte : 0x12))])],
    ['spans', (empty: Uint8Array) => message([1, message([2, empty.map((byte, index) => (index % 2 ? byte : 0x12))])])],
    [
      'attributes',
      (empty: Uint8Array) =>
        protobufExport(
          concatenated(
            protobufSpan(),
            empty.map((byte, index) => (index % 2 ? byte : 0x4a)),
          ),
        ),
    ],
    [
      'events',
      (empty: Uint8Array) =>
        protobufExport(
          concatenated(
            protobufSpan(),
            empty.map((byte, index) => (index % 2 ? byte : 0x5a)),
          ),
        ),
    ],
    ['values', (empty: Uint8Array) => protobufExport(protobufSpan([9, protobufAttribute('a', message([5, empty]))]))],
  ] as const)('is too large if it contains 8,000,000 empty %s', ([, make], { expect }) => {
    const empty = new Uint8Array(16_000_000).map((_, index) => (index % 2 ? 0 : 0x0a))
    expect(() => traces(make(empty))).toThrow(
      expect.objectContaining({ status: 413, message: expect.stringContaining(String(MAX_EXPORT_ITEMS)) }),
    )
  })

  it.for([
    ['not protobuf at all', new TextEncoder().encode('{"resourceSpans":[]}')],
    ['a length past the end', Uint8Array.of(0x0a, 0x05, 0x01)],
    ['an endless length', Uint8Array.of(0x0a, ...Array(12).fill(0xff))],
    ['a length of 4 GB', Uint8Array.of(0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f)],
    ['a field with the number 0', Uint8Array.of(0x02, 0x00)],
    ['an invalid wire type', Uint8Array.of(0x0f)],
    ['nested groups', new Uint8Array(5000).fill(0x1b)],
    ['nested groups in a span', protobufExport(new Uint8Array(5000).fill(0x1b))],
    ['the end of a group without its start', Uint8Array.of(0x0c)],
  ] as const)('is rejected: %s', ([, body], { expect }) => {
    expect(() => traces(body)).toThrow(expect.objectContaining({ status: 400 }))
    expect(() => decodeLogs(body, 'application/x-protobuf')).toThrow(expect.objectContaining({ status: 400 }))
  })
})

describe('a log record', () => {
  const log = (...fields: Field[]) => decodeLogs(protobufExport(message(...fields)), 'application/x-protobuf')

  it('keeps all its exported fields', ({ expect }) => {
    const body = object(protobufAttribute('content', text('hello')))
    const decoded = log(
      ...([
        [1, 5n],
        [11, 6n],
        [2, 9],
        [3, 'INFO'],
        [5, body],
        [6, protobufAttribute('k', text('v'))],
      ] as const),
      ...([
        [9, new Uint8Array(16).fill(1)],
        [10, new Uint8Array(8).fill(2)],
        [12, 'gen_ai.user.message'],
      ] as const),
    )
    expect(decoded).toEqual({
      records: [
        {
          source: { resource: new Map(), scope: { name: '', version: '', attributes: new Map() } },
          traceId: '01'.repeat(16),
          spanId: '02'.repeat(8),
          timeNs: 5n,
          eventName: 'gen_ai.user.message',
          body: { content: 'hello' },
          attributes: new Map([['k', 'v']]),
        },
      ],
      rejected: new Map(),
    })
  })

  it('uses its observed time if it has no time, and may lack a span', ({ expect }) => {
    expect(log([11, 6n], [9, new Uint8Array(16)]).records[0]).toMatchObject({
      timeNs: 6n,
      traceId: null,
      spanId: null,
      body: null,
    })
  })

  it.for([
    [9, 'trace id'],
    [10, 'span id'],
  ] as const)('is rejected with an invalid id', ([field, reason], { expect }) => {
    expect([...log([field, Uint8Array.of(1, 2, 3)]).rejected]).toEqual([[expect.stringContaining(reason), 1]])
  })
})

describe('metrics', () => {
  const points = (count: number) => message(...Array(count).fill([1, message([2, 1n])]))

  it('of all kinds are counted by their data points', ({ expect }) => {
    const metrics = [5, 7, 9, 10, 11].map((kind, index) => message([1, 'name'], [kind, points(index + 1)], [3, 'unit']))
    expect(countDataPoints(protobufExport(...metrics, message([1, 'none'])), 'application/x-protobuf')).toBe(15)
    expect(countDataPoints(new Uint8Array(), 'application/x-protobuf')).toBe(0)
  })

  it('are rejected if they cannot be read', ({ expect }) => {
    const body = protobufExport(Uint8Array.of(0x2a, 0x05, 0x0a))
    expect(() => countDataPoints(body, 'application/x-protobuf')).toThrow(expect.objectContaining({ status: 400 }))
  })
})

function concatenated(...parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let offset = 0
  for (const part of parts) {
    whole.set(part, offset)
    offset += part.length
  }
  return whole
}
