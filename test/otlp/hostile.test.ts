import { describe, expect, it } from 'vitest'
import { findJsonFault, type Json } from '../../src/domain/json.ts'
import { ApiError } from '../../src/http/errors.ts'
import { type MediaType, mediaTypeOf } from '../../src/otlp/media-type.ts'
import type { Attributes, TelemetryLog, TelemetrySpan } from '../../src/otlp/reading/telemetry.ts'
import { countDataPoints, decodeLogs, decodeTraces } from '../support/decode.ts'
import { recorded, unpacked } from '../support/recorded.ts'

/** The bodies that real clients sent. */
const bodies = await Promise.all(
  recorded().map(async recording => ({
    name: `${recording.directory}/${recording.file}`,
    type: mediaTypeOf(recording.headers['content-type'] ?? null),
    bytes: await unpacked(recording),
  })),
)
/** The bodies that are short enough to decode many times. */
const short = bodies.filter(({ bytes }) => bytes.length < 25_000)
const byName = new Map(bodies.map(body => [body.name, body]))

/**
 * Decodes a body as each type that it could be sent as. The decoder must return only storable values and throw only an
 * `ApiError`.
 */
function decodeAll(bytes: Uint8Array, type: MediaType): void {
  attempt(() => decodeTraces(bytes, type).records.forEach(expectSpan))
  attempt(() => decodeLogs(bytes, type).records.forEach(expectLog))
  attempt(() => expect(countDataPoints(bytes, type)).toBeGreaterThanOrEqual(0))
}

function attempt(decode: () => void): void {
  try {
    decode()
  } catch (error) {
    if (!(error instanceof ApiError) || (error.status !== 400 && error.status !== 413)) throw error
  }
}

function expectSpan(span: TelemetrySpan): void {
  const { traceId, spanId, parentSpanId, startNs, endNs, events, links, name, statusMessage, traceState } = span
  if (!/^[0-9a-f]{32}$/.test(traceId) || !/^[0-9a-f]{16}$/.test(spanId)) throw new Error(`ids ${traceId} ${spanId}`)
  if (parentSpanId !== null && !/^[0-9a-f]{16}$/.test(parentSpanId)) throw new Error(`parent ${parentSpanId}`)
  if (startNs < 0n || endNs < startNs || endNs >= 2n ** 64n) throw new Error(`times ${startNs} ${endNs}`)
  for (const text of [name, statusMessage, traceState])
    if (!text.isWellFormed()) throw new Error('half a surrogate pair')
  for (const { attributes } of [span, ...events, ...links, span.source.scope]) expectAttributes(attributes)
  expectAttributes(span.source.resource)
}

function expectLog({ timeNs, body, attributes }: TelemetryLog): void {
  if (timeNs < 0n || timeNs >= 2n ** 64n) throw new Error(`time ${timeNs}`)
  expectJson(body)
  expectAttributes(attributes)
}

const expectAttributes = (attributes: Attributes) => attributes.forEach(expectJson)

function expectJson(value: Json): void {
  const fault = findJsonFault(value)
  if (fault) throw new Error(fault.message)
}

/** A generator of numbers from 0 to 1 that yields the same numbers in each run (Mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A body with a few bytes changed, missing, or repeated. */
function mutated(bytes: Uint8Array, random: () => number): Uint8Array {
  const below = (limit: number) => Math.floor(random() * limit)
  let mutant: Uint8Array = bytes.slice()
  for (let times = below(5); times >= 0; times--) {
    const start = below(mutant.length)
    const end = start + below(Math.min(40, mutant.length - start))
    const kind = below(4)
    if (kind === 0) mutant[start] = below(256)
    else if (kind === 1) mutant[start] = (mutant[start] ?? 0) ^ (1 << below(8))
    else if (kind === 2) mutant = joined(mutant.subarray(0, start), mutant.subarray(end))
    else mutant = joined(mutant.subarray(0, end), mutant.subarray(start))
  }
  return mutant
}

function joined(left: Uint8Array, right: Uint8Array): Uint8Array {
  const whole = new Uint8Array(left.length + right.length)
  whole.set(left)
  whole.set(right, left.length)
  return whole
}

describe('a damaged body', () => {
  it.for([
    'otel-js2-proto/001-traces.pb',
    'otel-js3-proto/001-traces.pb.gz',
    'otel-js2-json/001-traces.json',
    'quirks/any-value-all-kinds.json',
  ])('is rejected if it is truncated anywhere: %s', name => {
    const { bytes, type } = byName.get(name) ?? { bytes: new Uint8Array(), type: 'application/json' }
    expect(decodeTraces(bytes, type).records.length).toBeGreaterThan(0)
    const badRequest = expect.objectContaining({ status: 400 })
    // An empty protobuf body is an empty export.
    for (let length = 1; length < bytes.length; length++) {
      expect(() => decodeTraces(bytes.subarray(0, length), type), `${length} of ${bytes.length}`).toThrow(badRequest)
    }
  })

  it('is decoded or rejected after random changes', () => {
    const random = randomFrom(20261121)
    for (let round = 0; round < 2000; round++) {
      const body = short[round % short.length]
      if (body) decodeAll(mutated(body.bytes, random), body.type)
    }
  })

  it('is decoded or rejected if its bytes are random', () => {
    const random = randomFrom(7)
    for (let round = 0; round < 500; round++) {
      const bytes = Uint8Array.from({ length: Math.floor(random() * 200) }, () => random() * 256)
      decodeAll(bytes, 'application/x-protobuf')
      decodeAll(bytes, 'application/json')
    }
  })

  it('is rejected if it is sent as the wrong type', () => {
    for (const { bytes, type, name } of bodies) {
      const other = type === 'application/json' ? 'application/x-protobuf' : 'application/json'
      expect(() => decodeTraces(bytes, other), name).toThrow(expect.objectContaining({ status: 400 }))
    }
  })
})
