import { describe, expect, it } from 'vitest'
import { ERROR_STATUSES, type ErrorStatus } from '../../src/http/errors.ts'
import { encodeStatus, encodeSuccess, type PartialSuccess } from '../../src/otlp/encode.ts'
import { type MediaType, mediaTypeOf } from '../../src/otlp/media-type.ts'
import { Outcome } from '../../src/otlp/outcome.ts'
import type { Signal } from '../../src/otlp/reading/telemetry.ts'

const PROTOBUF = 'application/x-protobuf'
const JSON_TYPE = 'application/json'

/** The bytes as hex, without the text at the end. */
const show = (bytes: Uint8Array, text = '') =>
  [...new Uint8Array(bytes.subarray(0, bytes.length - new TextEncoder().encode(text).length))]
    .map(byte => byte.toString(16).padStart(2, '0'))
    .join(' ')
const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

describe('the response to an export', () => {
  it.for<[string, Signal, string]>([
    ['spans', 'traces', 'rejectedSpans'],
    ['log records', 'logs', 'rejectedLogRecords'],
    ['data points', 'metrics', 'rejectedDataPoints'],
  ])('reports how many %s were rejected', ([, signal, field]) => {
    expect(encodeSuccess(PROTOBUF, signal)).toEqual(new Uint8Array())
    expect(textOf(encodeSuccess(JSON_TYPE, signal))).toBe('{}')
    const refusal = { count: 2, message: 'no' }
    expect(show(encodeSuccess(PROTOBUF, signal, refusal))).toBe('0a 06 08 02 12 02 6e 6f')
    expect(encodeSuccess('application/protobuf', signal, refusal)).toEqual(encodeSuccess(PROTOBUF, signal, refusal))
    expect(textOf(encodeSuccess(JSON_TYPE, signal, refusal))).toBe(
      `{"partialSuccess":{"${field}":"2","errorMessage":"no"}}`,
    )
  })

  it.for<[string, PartialSuccess, string, string]>([
    ['a warning', { count: 0, message: 'no' }, '0a 04 12 02 6e 6f', '{"rejectedSpans":"0","errorMessage":"no"}'],
    ['a large count', { count: 10_000, message: '' }, '0a 03 08 90 4e', '{"rejectedSpans":"10000","errorMessage":""}'],
    [
      'a very large count',
      { count: 2 ** 40 + 1, message: '' },
      '0a 07 08 81 80 80 80 80 20',
      `{"rejectedSpans":"${2 ** 40 + 1}","errorMessage":""}`,
    ],
    [
      'non-ASCII text',
      { count: 1, message: 'ü' },
      '0a 06 08 01 12 02 c3 bc',
      '{"rejectedSpans":"1","errorMessage":"ü"}',
    ],
  ])('may contain %s', ([, refusal, protobuf, json]) => {
    expect(show(encodeSuccess(PROTOBUF, 'traces', refusal))).toBe(protobuf)
    expect(textOf(encodeSuccess(JSON_TYPE, 'traces', refusal))).toBe(`{"partialSuccess":${json}}`)
  })

  it('may have a long message', () => {
    const message = 'x'.repeat(300)
    const bytes = encodeSuccess(PROTOBUF, 'traces', { count: 1, message })
    expect(show(bytes, message)).toBe('0a b1 02 08 01 12 ac 02')
    expect(textOf(bytes.subarray(-300))).toBe(message)
  })

  it.for<[ErrorStatus, number, string]>([
    [400, 3, '08 03 12 02 6e 6f'],
    [401, 16, '08 10 12 02 6e 6f'],
    [403, 7, '08 07 12 02 6e 6f'],
    [404, 5, '08 05 12 02 6e 6f'],
    [405, 12, '08 0c 12 02 6e 6f'],
    [409, 6, '08 06 12 02 6e 6f'],
    [412, 9, '08 09 12 02 6e 6f'],
    [413, 8, '08 08 12 02 6e 6f'],
    [415, 3, '08 03 12 02 6e 6f'],
    [422, 9, '08 09 12 02 6e 6f'],
    [429, 8, '08 08 12 02 6e 6f'],
    [500, 13, '08 0d 12 02 6e 6f'],
    [502, 14, '08 0e 12 02 6e 6f'],
    [503, 14, '08 0e 12 02 6e 6f'],
  ])('for status %i has the gRPC code %i', ([status, code, protobuf]) => {
    expect(show(encodeStatus(PROTOBUF, status, 'no'))).toBe(protobuf)
    expect(textOf(encodeStatus(JSON_TYPE, status, 'no'))).toBe(`{"code":${code},"message":"no"}`)
  })

  it('has an encoding for every status', () => {
    for (const status of ERROR_STATUSES) expect(encodeStatus(PROTOBUF, status, '').length).toBe(2)
  })
})

describe('the outcome of an export', () => {
  it('is reported only if something was rejected or changed', () => {
    expect(new Outcome().partialSuccess).toBeUndefined()
    const outcome = new Outcome()
    outcome.rejectAll(new Map([['its span id is missing', 2]]))
    outcome.reject('its span id is missing', 1)
    outcome.reject('it is late', 1)
    outcome.warn('truncated output', 'truncated output')
    expect(outcome.partialSuccess).toEqual({
      count: 4,
      message: '3 rejected: its span id is missing; 1 rejected: it is late; truncated output',
    })
  })
})

describe('the media type of an export', () => {
  it.for<[string, MediaType]>([
    ['application/x-protobuf', 'application/x-protobuf'],
    ['application/protobuf', 'application/protobuf'],
    ['application/json', 'application/json'],
    ['application/json; charset=utf-8', 'application/json'],
    [' Application/X-Protobuf ;x=y', 'application/x-protobuf'],
  ])('is recognized: %j', ([header, type]) => {
    expect(mediaTypeOf(header)).toBe(type)
  })

  it.for([null, '', 'text/plain', 'application/x-www-form-urlencoded', 'application/jsonx', 'json', '__proto__'])(
    'is rejected: %j',
    header => {
      expect(() => mediaTypeOf(header)).toThrow(
        expect.objectContaining({
          status: 415,
          message: expect.stringMatching(/application\/x-protobuf.*application\/json/),
        }),
      )
    },
  )
})
