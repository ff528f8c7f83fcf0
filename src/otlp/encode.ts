import type { ErrorStatus } from '../http/errors.ts'
import { isJsonType, type MediaType } from './media-type.ts'
import type { Signal } from './reading/telemetry.ts'

/*
 * Responses to exports, in the media type of the request. Source: the specification of OTLP 1.11, and
 * collector/{trace,logs,metrics}/v1, google/rpc/status.proto and code.proto.
 */

/** The response field that counts a signal's rejected records. */
const REJECTED_RECORDS: Readonly<Record<Signal, string>> = {
  traces: 'rejectedSpans',
  logs: 'rejectedLogRecords',
  metrics: 'rejectedDataPoints',
}

/** How many records of an export were rejected, and why. A count of 0 with a message is a warning. */
export interface PartialSuccess {
  count: number
  message: string
}

/** The body of a 200. It must not contain `partialSuccess` if everything was accepted. */
export function encodeSuccess(type: MediaType, signal: Signal, partial?: PartialSuccess): Uint8Array {
  if (isJsonType(type)) {
    return json(
      partial && {
        partialSuccess: { [REJECTED_RECORDS[signal]]: String(partial.count), errorMessage: partial.message },
      },
    )
  }
  if (!partial) return new Uint8Array()
  return Uint8Array.from(bytesField(1, [...integerField(1, partial.count), ...textField(2, partial.message)]))
}

/** The codes of google.rpc.Code. */
const RPC_CODES: Readonly<Record<ErrorStatus, number>> = {
  400: 3, // invalid argument
  401: 16, // unauthenticated
  403: 7, // permission denied
  404: 5, // not found
  405: 12, // unimplemented
  409: 6, // already exists
  410: 9,
  412: 9, // failed precondition
  413: 8, // resource exhausted
  415: 3, // invalid argument
  422: 9, // failed precondition
  429: 8, // resource exhausted
  500: 13, // internal
  502: 14, // unavailable
  503: 14, // unavailable
}

/** The body of an error: a google.rpc.Status. */
export function encodeStatus(type: MediaType, status: ErrorStatus, message: string): Uint8Array {
  const code = RPC_CODES[status]
  if (isJsonType(type)) return json({ code, message })
  return Uint8Array.from([...integerField(1, code), ...textField(2, message)])
}

const encoder = new TextEncoder()

const json = (body: object = {}): Uint8Array => encoder.encode(JSON.stringify(body))

const VARINT = 0
const LENGTH_DELIMITED = 2

/** A numeric field. Zero is omitted, because an absent field means zero. */
const integerField = (field: number, value: number): number[] =>
  value === 0 ? [] : [(field << 3) | VARINT, ...varint(value)]

const textField = (field: number, text: string): number[] =>
  text === '' ? [] : bytesField(field, [...encoder.encode(text)])

const bytesField = (field: number, bytes: readonly number[]): number[] => [
  (field << 3) | LENGTH_DELIMITED,
  ...varint(bytes.length),
  ...bytes,
]

/** Encodes seven bits per byte, lowest bits first. A set eighth bit means that more bytes follow. */
const varint = (value: number): number[] =>
  value < 128 ? [value] : [(value % 128) | 128, ...varint(Math.floor(value / 128))]
