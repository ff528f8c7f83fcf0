import fc from 'fast-check'
import { describe, it } from 'vitest'
import { closed, mergeExport, posted, type TraceFacts } from '../../src/domain/derived-trace.ts'
import type { Json } from '../../src/domain/json.ts'
import { mergeCall, newState, type TraceState } from '../../src/domain/trace-status.ts'
import { MAX_METADATA_BYTES, REMOTE_ROOT_WAIT_MS, ROOT_WAIT_MS } from '../../src/limits.ts'

const DERIVED_ROOT = 'derived-root'
const NOW = 1_000_000

const facts = (fields: Partial<TraceFacts> = {}): TraceFacts => ({
  name: { rank: '5', value: 'step' },
  fields: new Map(),
  startMs: 100,
  endMs: 200,
  root: null,
  hasRemoteParent: false,
  isGeneric: false,
  ...fields,
})

const merged = (...exports: TraceFacts[]): TraceState | undefined =>
  exports.reduce<TraceState | undefined>(
    (before, each) => mergeExport(before, each, { rootSpanId: DERIVED_ROOT, now: NOW }).state,
    undefined,
  )

const root = { rank: '1', value: 'span-1' }

describe('a trace derived from telemetry', () => {
  it('runs until a span without a parent arrives, and then stays completed', ({ expect }) => {
    expect(merged(facts())).toMatchObject({ status: 'running', rootSpanId: DERIVED_ROOT, isPosted: false })
    expect(merged(facts({ root }))).toMatchObject({ status: 'completed', rootSpanId: 'span-1', closesAt: null })
    expect(merged(facts({ root }), facts())).toMatchObject({ status: 'completed', rootSpanId: 'span-1' })
  })

  it('waits less time for its root if a parent is in another process', ({ expect }) => {
    expect(merged(facts())?.closesAt).toBe(NOW + ROOT_WAIT_MS)
    expect(merged(facts({ hasRemoteParent: true }), facts())?.closesAt).toBe(NOW + REMOTE_ROOT_WAIT_MS)
  })

  it('lasts from its first span to its last', ({ expect }) => {
    const late = facts({ startMs: 50, endMs: 120 })
    expect(merged(facts(), late)).toMatchObject({ timestamp: 50, durationMs: 150 })
  })

  it('is marked incomplete after it times out, until its root arrives', ({ expect }) => {
    const incomplete = closed(merged(facts()) ?? newState({ name: '', timestamp: 0, rootSpanId: '' }))
    expect(incomplete).toMatchObject({ status: 'completed', metadata: { otel_incomplete: true }, closesAt: null })
    const options = { rootSpanId: DERIVED_ROOT, now: NOW }
    const late = mergeExport(incomplete, facts(), options).state
    expect(late).toMatchObject({ status: 'completed', metadata: { otel_incomplete: true }, closesAt: null })
    const whole = mergeExport(late, facts({ root }), options).state
    expect(whole).toMatchObject({ status: 'completed', metadata: {}, rootSpanId: 'span-1' })
  })

  it("keeps a client's own otel_incomplete field", ({ expect }) => {
    const own = merged(facts({ fields: new Map([['otel_incomplete', { rank: '2', value: 'mine' }]]) }))
    expect(closed(own ?? newState({ name: '', timestamp: 0, rootSpanId: '' })).metadata).toEqual({
      otel_incomplete: 'mine',
    })
  })

  it('is generic until a step of a pipeline arrives', ({ expect }) => {
    const generic = facts({ isGeneric: true })
    expect(merged(generic, generic)?.isGeneric).toBe(true)
    expect(merged(generic, facts(), generic)?.isGeneric).toBe(false)
  })

  it('leaves out fields that no longer fit, and reports their names', ({ expect }) => {
    const large = (field: string) =>
      facts({ fields: new Map([[field, { rank: '1', value: 'x'.repeat(MAX_METADATA_BYTES - 100) }]]) })
    const first = merged(large('first'))
    const { state, leftOut } = mergeExport(first, large('second'), { rootSpanId: DERIVED_ROOT, now: NOW })
    expect(leftOut).toEqual(['second'])
    expect(Object.keys(state.metadata)).toEqual(['first'])
  })
})

describe('a trace that a client also posts', () => {
  const draft = { name: 'posted', timestamp: 7, rootSpanId: DERIVED_ROOT }
  const call = { status: 'running', metadata: { tier: 'gold' }, durationMs: null } as const
  const exported = facts({
    root,
    fields: new Map<string, { rank: string; value: Json }>([
      ['tier', { rank: '0', value: 'silver' }],
      ['region', { rank: '0', value: 'eu' }],
    ]),
  })
  const options = { rootSpanId: DERIVED_ROOT, now: NOW }

  it('has the client’s fields, and all other fields from telemetry, regardless of which arrives first', ({
    expect,
  }) => {
    const postedFirst = mergeExport(mergeCall(newState(draft), call).state, exported, options).state
    const exportedFirst = mergeExport(undefined, exported, options).state
    const postedLast = mergeCall(posted(exportedFirst, draft), call).state
    for (const state of [postedFirst, postedLast, mergeExport(postedLast, exported, options).state]) {
      expect(state).toMatchObject({
        isPosted: true,
        name: 'posted',
        timestamp: 7,
        rootSpanId: DERIVED_ROOT,
        status: 'running',
        durationMs: null,
        metadata: { tier: 'gold', region: 'eu' },
        isGeneric: false,
        closesAt: null,
      })
    }
  })
})

/** Facts whose ranks never tie. Real spans don't tie either, because the rank contains the span. */
const someFacts = fc
  .array(
    fc.record({
      startMs: fc.nat(50),
      lengthMs: fc.nat(50),
      isRoot: fc.boolean(),
      isGeneric: fc.boolean(),
      hasRemoteParent: fc.boolean(),
      fields: fc.dictionary(fc.constantFrom('group_id', 'user_id', '__proto__', 'tags'), fc.jsonValue({ maxDepth: 1 })),
    }),
    { minLength: 1, maxLength: 8 },
  )
  .map(spans =>
    spans.map(({ startMs, lengthMs, isRoot, isGeneric, hasRemoteParent, fields }, index) => {
      const rank = `${isRoot ? 0 : 1}${String(startMs).padStart(3, '0')}${index}`
      return facts({
        name: { rank, value: `name-${index}` },
        startMs,
        endMs: startMs + lengthMs,
        root: isRoot ? { rank, value: `span-${index}` } : null,
        isGeneric,
        hasRemoteParent,
        fields: new Map(
          Object.entries(fields as Record<string, Json>).map(([field, value]) => [field, { rank, value }]),
        ),
      })
    }),
  )

describe('exports', () => {
  it('give the same trace in any order, even if repeated', ({ expect }) => {
    fc.assert(
      fc.property(
        someFacts.chain(exports =>
          fc.tuple(
            fc.constant(exports),
            fc.shuffledSubarray([...exports, ...exports], { minLength: 2 * exports.length }),
          ),
        ),
        ([exports, shuffled]) => {
          expect(merged(...shuffled)).toEqual(merged(...exports))
        },
      ),
    )
  })
})
