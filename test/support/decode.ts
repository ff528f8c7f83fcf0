import { atOnce } from '../../src/domain/turns.ts'
import * as decode from '../../src/otlp/decode.ts'
import type { MediaType } from '../../src/otlp/media-type.ts'

/* Runs `otlp/decode.ts` without pauses. */

export const decodeTraces = (body: Uint8Array, type: MediaType) => atOnce(decode.decodeTraces(body, type))
export const decodeLogs = (body: Uint8Array, type: MediaType) => atOnce(decode.decodeLogs(body, type))
export const countDataPoints = (body: Uint8Array, type: MediaType) => atOnce(decode.countDataPoints(body, type))
