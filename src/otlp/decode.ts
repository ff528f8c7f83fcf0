import type { Work } from '../domain/turns.ts'
import { ApiError, badRequest } from '../http/errors.ts'
import { checkLogs, checkSpans } from './check.ts'
import { countJsonDataPoints, logsOfJson, parseExport, spansOfJson } from './json.ts'
import { isJsonType, type MediaType } from './media-type.ts'
import { countProtobufDataPoints, logsOfProtobuf, spansOfProtobuf } from './protobuf.ts'
import type { Decoded, TelemetryLog, TelemetrySpan } from './reading/telemetry.ts'

/** The spans of an export that was sent to a path of traces. Errors: 400 where it cannot be read as such, 413. */
export const decodeTraces = (body: Uint8Array, type: MediaType): Work<Decoded<TelemetrySpan>> =>
  decoded(function* () {
    return yield* checkSpans(isJsonType(type) ? spansOfJson(yield* parseExport(body, 'traces')) : spansOfProtobuf(body))
  })

/** The log records of an export that was sent to a path of logs. Errors: 400, 413. */
export const decodeLogs = (body: Uint8Array, type: MediaType): Work<Decoded<TelemetryLog>> =>
  decoded(function* () {
    return yield* checkLogs(isJsonType(type) ? logsOfJson(yield* parseExport(body, 'logs')) : logsOfProtobuf(body))
  })

/** How many data points an export of metrics has: no more of them is wanted, they are all refused. Errors: 400, 413. */
export const countDataPoints = (body: Uint8Array, type: MediaType): Work<number> =>
  decoded(function* () {
    return yield* isJsonType(type)
      ? countJsonDataPoints(yield* parseExport(body, 'metrics'))
      : countProtobufDataPoints(body)
  })

/** What protobufjs throws, plain errors and range errors, is about the bytes; a TypeError would be a mistake of ours. */
function* decoded<Result>(decode: () => Work<Result>): Work<Result> {
  try {
    return yield* decode()
  } catch (error) {
    if (error instanceof ApiError || error instanceof TypeError) throw error
    throw badRequest('The body cannot be decoded as an OTLP export')
  }
}
