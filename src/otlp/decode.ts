import type { Work } from '../domain/turns.ts'
import { ApiError, badRequest } from '../http/errors.ts'
import { checkLogs, checkSpans } from './check.ts'
import { countJsonDataPoints, logsOfJson, parseExport, spansOfJson } from './json.ts'
import { isJsonType, type MediaType } from './media-type.ts'
import { countProtobufDataPoints, logsOfProtobuf, spansOfProtobuf } from './protobuf.ts'
import type { Decoded, TelemetryLog, TelemetrySpan } from './reading/telemetry.ts'

/**
 * Decodes the spans in an export sent to a traces path. Errors: 400 if the body isn't an export of spans, 413 if it's
 * too large.
 */
export const decodeTraces = (body: Uint8Array, type: MediaType): Work<Decoded<TelemetrySpan>> =>
  decoded(function* () {
    return yield* checkSpans(isJsonType(type) ? spansOfJson(yield* parseExport(body, 'traces')) : spansOfProtobuf(body))
  })

/** Decodes the log records in an export sent to a logs path. Errors: 400, 413. */
export const decodeLogs = (body: Uint8Array, type: MediaType): Work<Decoded<TelemetryLog>> =>
  decoded(function* () {
    return yield* checkLogs(isJsonType(type) ? logsOfJson(yield* parseExport(body, 'logs')) : logsOfProtobuf(body))
  })

/**
 * Counts the data points of a metrics export. All data points are rejected, so nothing else is read. Errors: 400, 413.
 */
export const countDataPoints = (body: Uint8Array, type: MediaType): Work<number> =>
  decoded(function* () {
    return yield* isJsonType(type)
      ? countJsonDataPoints(yield* parseExport(body, 'metrics'))
      : countProtobufDataPoints(body)
  })

/**
 * Maps protobufjs's plain errors and range errors, which invalid bytes cause, to a 400 error. A TypeError would be our
 * bug.
 */
function* decoded<Result>(decode: () => Work<Result>): Work<Result> {
  try {
    return yield* decode()
  } catch (error) {
    if (error instanceof ApiError || error instanceof TypeError) throw error
    throw badRequest("The body can't be decoded as an OTLP export")
  }
}
