import $protobuf from 'protobufjs/minimal.js'
import type { Json } from '../../src/domain/json.ts'

/** A field's number and its content: a string, a message or bytes, a varint, or a fixed64. */
export type Field = readonly [number, string | Uint8Array | number | bigint]

/** Encodes a protobuf message. */
export function message(...fields: Field[]): Uint8Array {
  const writer = $protobuf.Writer.create()
  for (const [field, value] of fields) {
    if (typeof value === 'string') writer.uint32((field << 3) | 2).string(value)
    else if (typeof value === 'number') writer.uint32(field << 3).uint32(value)
    else if (typeof value === 'bigint') writer.uint32((field << 3) | 1).fixed64(value.toString())
    else writer.uint32((field << 3) | 2).bytes(value)
  }
  return writer.finish()
}

export const TRACE_ID = '5b8efff798038103d269b633813fc60c'
export const SPAN_ID = 'eee19b7ec3c1b174'

const bytesOfHex = (hex: string) => Uint8Array.from(hex.match(/../g) ?? [], pair => Number.parseInt(pair, 16))

/** A protobuf span with ids and the given fields. */
export const protobufSpan = (...fields: Field[]): Uint8Array =>
  message([1, bytesOfHex(TRACE_ID)], [2, bytesOfHex(SPAN_ID)], ...fields)

/** A protobuf attribute. `value` is an AnyValue. */
export const protobufAttribute = (key: string, value: Uint8Array): Uint8Array => message([1, key], [2, value])

/** An export of protobuf records in one resource and one scope. */
export const protobufExport = (...records: readonly Uint8Array[]): Uint8Array =>
  message([1, message([2, message(...records.map(record => [2, record] as const))])])

/** An OTLP/JSON span with ids and the given fields. */
export const jsonSpan = (fields: Readonly<Record<string, Json>> = {}) => ({
  traceId: TRACE_ID,
  spanId: SPAN_ID,
  ...fields,
})

/** The JSON of any value as bytes. */
export const jsonBytes = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))

/** An export of OTLP/JSON spans in one resource and one scope. */
export const jsonExport = (...spans: readonly unknown[]): Uint8Array =>
  jsonBytes({ resourceSpans: [{ scopeSpans: [{ spans }] }] })
