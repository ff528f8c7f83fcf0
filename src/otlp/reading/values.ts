import type { Json, JsonObject } from '../../domain/json.ts'
import { MAX_ATTRIBUTE_DEPTH } from '../../limits.ts'
import type { TelemetrySpan } from './telemetry.ts'

/** Replaces attribute values that are nested too deeply. */
export const CUT_VALUE = `[nested deeper than ${MAX_ATTRIBUTE_DEPTH}]`

/** A 64-bit integer as JSON: a decimal string above 2^53, where a number would lose digits. */
export function integerValue(value: bigint): number | string {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value.toString()
}

/** A double as JSON. NaN and the infinities are strings, as in OTLP/JSON. */
export const doubleValue = (value: number): number | string => (Number.isFinite(value) ? value : String(value))

/** Like `Object.fromEntries`, in a third of the time. The last duplicate wins, and `__proto__` is an ordinary field. */
export function objectValue(fields: Iterable<readonly [string, Json]>): JsonObject {
  const object: JsonObject = {}
  for (const [field, value] of fields) {
    if (field === '__proto__') Object.defineProperty(object, field, { ...OWN_FIELD, value })
    else object[field] = value
  }
  return object
}

const OWN_FIELD = { enumerable: true, writable: true, configurable: true }

/** Statuses in the order of their protocol numbers, like `SPAN_KINDS`. */
export const STATUSES = ['unset', 'ok', 'error'] as const satisfies TelemetrySpan['status'][]

/** Whether a span's flags say that its parent is in another process. One bit means "known", the other "remote". */
export const isRemoteParent = (flags: number): boolean => (flags & 0x300) === 0x300
