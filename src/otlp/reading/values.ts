import type { Json, JsonObject } from '../../domain/json.ts'
import { MAX_ATTRIBUTE_DEPTH } from '../../limits.ts'
import type { TelemetrySpan } from './telemetry.ts'

/** What stands where a value of an attribute nests too deep. */
export const CUT_VALUE = `[nested deeper than ${MAX_ATTRIBUTE_DEPTH}]`

/** A 64-bit integer as JSON: past 2^53, where a number would lose digits, its decimal text. */
export function integerValue(value: bigint): number | string {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value.toString()
}

/** A double as JSON, in which NaN and the infinities are texts, as they are in OTLP/JSON. */
export const doubleValue = (value: number): number | string => (Number.isFinite(value) ? value : String(value))

/**
 * An object of these fields, the last one of a name winning; `__proto__` is a field like any other. As `Object.fromEntries`
 * makes it, in a third of the time.
 */
export function objectValue(fields: Iterable<readonly [string, Json]>): JsonObject {
  const object: JsonObject = {}
  for (const [field, value] of fields) {
    if (field === '__proto__') Object.defineProperty(object, field, { ...OWN_FIELD, value })
    else object[field] = value
  }
  return object
}

const OWN_FIELD = { enumerable: true, writable: true, configurable: true }

const BYTES_AS_HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** Bytes as lower-case hex. */
export function hex(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += BYTES_AS_HEX[byte]
  return text
}

/** In the order of their numbers in the protocol, as `SPAN_KINDS` are. */
export const STATUSES = ['unset', 'ok', 'error'] as const satisfies TelemetrySpan['status'][]

/** Whether a span's flags tell that its parent is in another process: one bit says that it is known, one that it is so. */
export const isRemoteParent = (flags: number): boolean => (flags & 0x300) === 0x300
