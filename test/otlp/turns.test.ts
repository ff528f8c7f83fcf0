import { describe, it } from 'vitest'
import { inPieces, type Work } from '../../src/domain/turns.ts'
import { decodeTraces } from '../../src/otlp/decode.ts'
import { aHexSpanId, anExport, anExportedSpan } from '../support/telemetry.ts'

/** Counts how many times a generator pauses. */
function pausesOf(work: Work<unknown>): number {
  let pauses = 0
  while (!work.next().done) pauses++
  return pauses
}

const attributes = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, 1]))

const asJson = (body: object) => decodeTraces(new TextEncoder().encode(JSON.stringify(body)), 'application/json')
const spansWith = (spans: number, attributesEach: number) =>
  asJson(
    anExport(
      Array.from({ length: spans }, () =>
        anExportedSpan({ spanId: aHexSpanId(), attributes: attributes(attributesEach) }),
      ),
    ),
  )

describe('reading an export yields to other requests', () => {
  it('in proportion to the size of its spans, not just their number', ({ expect }) => {
    expect(pausesOf(spansWith(90, 1))).toBe(0)
    expect(pausesOf(spansWith(300, 1))).toBeGreaterThanOrEqual(3)
    expect(pausesOf(spansWith(10, 9_999))).toBeGreaterThanOrEqual(10)
  })

  it('even for resources without spans', ({ expect }) => {
    const resources = 100_000
    // Each pair of bytes is field 1 with an empty message.
    const protobuf = new Uint8Array(2 * resources).map((_, index) => (index % 2 === 0 ? 0x0a : 0))
    expect(pausesOf(decodeTraces(protobuf, 'application/x-protobuf'))).toBeGreaterThanOrEqual(10)
    expect(pausesOf(asJson({ resourceSpans: Array.from({ length: resources }, () => ({})) }))).toBeGreaterThanOrEqual(
      10,
    )
  })
})

it('splits work into pieces that weigh at most the limit, or contain just one item that weighs more', ({ expect }) => {
  const pieces = (weights: number[], size: number) => [...inPieces(weights, size, weight => weight)]
  expect(pieces([1, 1, 1, 5, 9, 1, 1], 3)).toEqual([[1, 1, 1], [5], [9], [1, 1]])
  expect([...inPieces(['a', 'b', 'c'], 2)]).toEqual([['a', 'b'], ['c']])
  expect(pieces([], 3)).toEqual([])
  expect([...inPieces([1, 1, 1, 9], 9, weight => weight, 2)]).toEqual([[1, 1], [1], [9]])
})
