import { checkLogs, checkSpans } from './check.ts'
import { countJsonDataPoints, logsOfJson, spansOfJson } from './json.ts'
import { isJsonType, type MediaType } from './media-type.ts'
import { countProtobufDataPoints, logsOfProtobuf, spansOfProtobuf } from './protobuf.ts'
import type { Decoded, TelemetryLog, TelemetrySpan } from './telemetry.ts'

/** The spans of an export that was sent to a path of traces. Errors: 400 where nothing of it can be read as spans. */
export const decodeTraces = (body: Uint8Array, type: MediaType): Decoded<TelemetrySpan> =>
  checkSpans(isJsonType(type) ? spansOfJson(body) : spansOfProtobuf(body))

/** The log records of an export that was sent to a path of logs. Errors: 400. */
export const decodeLogs = (body: Uint8Array, type: MediaType): Decoded<TelemetryLog> =>
  checkLogs(isJsonType(type) ? logsOfJson(body) : logsOfProtobuf(body))

/** How many data points an export of metrics has: of them no more is wanted, they are all refused. Errors: 400. */
export const countDataPoints = (body: Uint8Array, type: MediaType): number =>
  isJsonType(type) ? countJsonDataPoints(body) : countProtobufDataPoints(body)
