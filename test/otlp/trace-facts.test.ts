import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import { mergeExport } from '../../src/domain/derived-trace.ts'
import type { Json } from '../../src/domain/json.ts'
import type { TraceState } from '../../src/domain/trace-status.ts'
import { stepOf } from '../../src/otlp/map.ts'
import type { ReadSpan } from '../../src/otlp/span-step.ts'
import { factsOf } from '../../src/otlp/trace-facts.ts'
import { aSpan } from '../support/decoded-telemetry.ts'

interface Given {
  /** Numbers that determine the ids of the span and of its parent. */
  id: number
  parent?: number | null
  name?: string
  /** The start time and the duration, both in seconds. */
  start?: number
  took?: number
  attributes?: Record<string, Json>
  isRemote?: boolean
}

const hex = (id: number): string => id.toString(16).padStart(16, '0')
const START_MS = 1_795_260_983_000

function read({
  id,
  parent = null,
  name = `span ${id}`,
  start = 0,
  took = 1,
  attributes = {},
  isRemote,
}: Given): ReadSpan {
  const startNs = BigInt(START_MS + start * 1000) * 1_000_000n
  const span = {
    ...aSpan({ name, attributes, parentSpanId: parent === null ? null : hex(parent) }),
    spanId: hex(id),
    startNs,
    endNs: startNs + BigInt(took) * 1_000_000_000n,
    hasRemoteParent: isRemote ?? false,
  }
  return { span, step: stepOf(span) }
}

const valuesOf = (spans: Given[]) => {
  const { name, fields } = factsOf(spans.map(read))
  return { name: name.value, ...Object.fromEntries([...fields].map(([field, { value }]) => [field, value])) }
}

describe('the facts of a trace', () => {
  it('span the time from the start of its first span to the end of its last', ({ expect }) => {
    const { startMs, endMs, root, hasRemoteParent, isGeneric } = factsOf(
      [
        { id: 2, parent: 1, start: 5, took: 30 },
        { id: 1, start: 1, took: 10 },
        { id: 3, parent: 9, start: 3, attributes: { 'gen_ai.operation.name': 'chat' }, isRemote: true },
      ].map(read),
    )
    expect({ startMs, endMs, root: root?.value.spanId, hasRemoteParent, isGeneric }).toEqual({
      startMs: START_MS + 1000,
      endMs: START_MS + 35_000,
      root: hex(1),
      hasRemoteParent: true,
      isGeneric: false,
    })
  })

  it('include no root until one arrives, and the earlier root if there are two', ({ expect }) => {
    expect(factsOf([read({ id: 2, parent: 1 })]).root).toBeNull()
    expect(factsOf([read({ id: 2, start: 2 }), read({ id: 1, start: 1 })]).root?.value.spanId).toBe(hex(1))
    const asRoot = read({ id: 2, parent: 1, attributes: { 'langfuse.internal.as_root': true } })
    expect(factsOf([asRoot]).root?.value.spanId).toBe(hex(2))
  })

  it.for<[string, Given[], string]>([
    [
      'the earliest span’s name',
      [
        { id: 1, parent: 9, start: 1 },
        { id: 2, parent: 9 },
      ],
      'span 2',
    ],
    [
      'the root’s name',
      [
        { id: 1, start: 1 },
        { id: 2, parent: 9 },
      ],
      'span 1',
    ],
    [
      'a name in the root’s attributes',
      [
        { id: 1, start: 1, attributes: { 'gen_ai.workflow.name': 'refunds' } },
        { id: 2, parent: 1, attributes: { 'gen_ai.workflow.name': 'of a child' } },
      ],
      'refunds',
    ],
    [
      'a trace name in any span’s attributes',
      [{ id: 1 }, { id: 2, parent: 1, attributes: { 'langfuse.trace.name': 'answer' } }],
      'answer',
    ],
    ['the step’s name if the span has none', [{ id: 1, name: '' }], 'span'],
  ])('include a name, which comes from %s', ([, spans, name], { expect }) => {
    expect(valuesOf(spans).name).toBe(name)
    expect(valuesOf(spans.toReversed()).name).toBe(name)
  })

  it('come from the root first, and then from the span that started first', ({ expect }) => {
    const spans: Given[] = [
      { id: 1, start: 3, attributes: { 'session.id': 'root’s', 'langfuse.trace.tags': ['root’s'] } },
      {
        id: 2,
        parent: 1,
        start: 1,
        attributes: { 'session.id': 'early', 'user.id': 'early', metadata: '{"a":1,"b":1}' },
      },
      { id: 3, parent: 1, start: 2, attributes: { 'user.id': 'late', metadata: '{"b":2,"c":2}' } },
    ]
    const expected = { name: 'span 1', group_id: 'root’s', tags: ['root’s'], user_id: 'early', a: 1, b: 1, c: 2 }
    expect(valuesOf(spans)).toEqual(expected)
    expect(valuesOf(spans.toReversed())).toEqual(expected)
  })
})

it('metadata never replaces a fact with the same name', ({ expect }) => {
  const attributes = { 'session.id': 's', metadata: '{"group_id":"m","environment":"m"}' }
  expect(valuesOf([{ id: 1, attributes }])).toEqual({ name: 'span 1', group_id: 's', environment: 'm' })
})

it('the facts of a trace are the same if spans arrive in any order, in parts, or repeatedly', ({ expect }) => {
  const word = fc.constantFrom('a', 'b', 'c')
  const attributes = fc.record(
    {
      'session.id': word,
      'user.id': word,
      'langfuse.trace.name': word,
      'gen_ai.workflow.name': word,
      'langfuse.environment': word,
      'langfuse.internal.as_root': fc.boolean(),
      'gen_ai.operation.name': fc.constantFrom('chat', 'other'),
      metadata: fc.dictionary(word, fc.oneof(word, fc.nat(3))).map(metadata => JSON.stringify(metadata)),
    },
    { requiredKeys: [] },
  )
  const spanArbitrary = fc.record({
    parent: fc.option(fc.nat(4)),
    name: fc.constantFrom('', 'x', 'y'),
    start: fc.nat(3),
    took: fc.nat(5),
    attributes,
    isRemote: fc.boolean(),
  })
  const trace = fc
    .array(spanArbitrary, { minLength: 1, maxLength: 6 })
    .map(spans => spans.map((span, id) => read({ ...span, id })))
  // Every span is in at least one export, and some spans are in several.
  const exported = trace.chain(spans =>
    fc.record({
      spans: fc.constant(spans),
      parts: fc
        .tuple(
          fc.shuffledSubarray(spans, { minLength: spans.length }),
          fc.array(fc.constantFrom(...spans), { maxLength: 6 }),
          fc.array(fc.nat(3), { minLength: 12, maxLength: 12 }),
        )
        .map(([all, again, parts]) => partition([...again, ...all], parts)),
    }),
  )
  const stateOf = (parts: readonly ReadSpan[][]): TraceState | undefined =>
    parts.reduce<TraceState | undefined>((before, spans) => {
      const facts = factsOf(spans)
      const root = facts.root && { rank: facts.root.rank, value: facts.root.value.spanId }
      return mergeExport(before, { ...facts, root }, { rootSpanId: 'none', now: 0 }).state
    }, undefined)

  fc.assert(
    fc.property(exported, ({ spans, parts }) => {
      expect(stateOf(parts)).toEqual(stateOf([spans]))
    }),
    { numRuns: 500 },
  )
})

/** Splits the spans into up to four parts, according to a part number for each span. */
function partition(spans: readonly ReadSpan[], parts: readonly number[]): ReadSpan[][] {
  const groups = [0, 1, 2, 3].map(part => spans.filter((_, index) => parts[index] === part))
  return groups.filter(group => group.length > 0)
}
