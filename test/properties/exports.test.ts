import { env } from 'cloudflare:workers'
import * as fc from 'fast-check'
import { describe, inject, it } from 'vitest'
import { rootSpanUuid } from '../../src/domain/ids.ts'
import { searchableFields } from '../../src/domain/metadata.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import { RESEND_AFTER_MS, ROOT_WAIT_MS } from '../../src/limits.ts'
import { timeAfter } from '../support/builders.ts'
import { stored } from '../support/database.ts'
import { exportSpans, newRun, type SpanFields } from '../support/telemetry.ts'
import { mustEqual, textOf } from './view.ts'

/*
 * A trace's data arrives in many ways: exports of its spans (split into any parts and in any order), client calls,
 * observations, feedback, and reviews. No matter how the exports are split up and interleaved with the rest, the final
 * trace is the same as if all spans had arrived in one export before everything else.
 */

const THOROUGHNESS = inject('propertyRuns')
const TIMEOUT_MS = 60_000 * THOROUGHNESS

/**
 * A span of the trace. `place` determines its id. `parent` is the place of another span, which may never arrive, or
 * null for a root.
 */
interface PlannedSpan {
  place: number
  parent: number | null
  start: number
  end: number
  kind: 'chat' | 'chain' | 'http'
  output: 'none' | 'null' | 'text'
  fields: Record<string, string>
}

const plannedSpan = (place: number): fc.Arbitrary<PlannedSpan> =>
  fc.record({
    place: fc.constant(place),
    parent: fc.option(
      fc.integer({ min: 0, max: 6 }).filter(parent => parent !== place),
      { freq: 3 },
    ),
    // No two spans start at the same time, because such spans are listed in the order of their ids, which differ from
    // run to run.
    start: fc.integer({ min: 0, max: 5 }).map(start => 4 * start + place),
    end: fc.integer({ min: 25, max: 40 }),
    kind: fc.constantFrom('chat', 'chain', 'http'),
    output: fc.constantFrom('none', 'null', 'text'),
    fields: fc.dictionary(fc.constantFrom('plan', 'region', 'user_id'), fc.constantFrom('a', 'b'), { maxKeys: 2 }),
  })

/**
 * Something that happens to the trace, other than an export. Unless acts are concurrent, they happen in the same order
 * in every run.
 */
type Act =
  | { type: 'post'; status: 'running' | 'completed'; metadata: Record<string, string> }
  | { type: 'observe'; kind: 'input' | 'output'; data: string | null; at: number; place: number | null }
  | { type: 'feedback'; rating: 'positive' | 'negative'; place: number | null }
  | { type: 'span'; place: number; output: string | undefined }
  | { type: 'sweep' }

const place = fc.option(fc.integer({ min: 0, max: 3 }))
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({
    type: fc.constant('post' as const),
    status: fc.constantFrom('running', 'completed'),
    metadata: fc.dictionary(fc.constantFrom('plan', 'region', 'mine'), fc.constantFrom('a', 'c'), { maxKeys: 2 }),
  }),
  fc.record({
    type: fc.constant('observe' as const),
    kind: fc.constantFrom('input', 'output'),
    data: fc.constantFrom('one', 'two', null),
    at: fc.integer({ min: 0, max: 3 }),
    place,
  }),
  fc.record({ type: fc.constant('feedback' as const), rating: fc.constantFrom('positive', 'negative'), place }),
  fc.record({
    type: fc.constant('span' as const),
    place: fc.integer({ min: 0, max: 3 }),
    output: fc.constantFrom(undefined, 'given'),
  }),
  fc.constant({ type: 'sweep' as const }),
)

const spanIdOf = (place: number): string => (0xa0 + place).toString(16).padStart(16, '0')

/** The span as it was exported before it ended, with an earlier end and a different output. */
const earlierVersion = (span: PlannedSpan): PlannedSpan => ({
  ...span,
  end: span.end - 1,
  output: span.output === 'text' ? 'none' : 'text',
})

const ATTRIBUTES = {
  chat: { 'gen_ai.operation.name': 'chat' },
  chain: { 'openinference.span.kind': 'CHAIN' },
  http: { 'http.request.method': 'POST' },
}

const spanFieldsOf = ({ place, parent, start, end, kind, output, fields }: PlannedSpan): SpanFields => ({
  spanId: spanIdOf(place),
  ...(parent !== null && { parentSpanId: spanIdOf(parent) }),
  name: `step ${place}`,
  start,
  end: end + 100,
  attributes: {
    ...ATTRIBUTES[kind],
    ...(kind !== 'http' && output !== 'none' && { 'output.value': output === 'null' ? 'null' : `output ${place}` }),
    ...(kind !== 'http' && output === 'null' && { 'output.mime_type': 'application/json' }),
    ...Object.fromEntries(Object.entries(fields).map(([field, value]) => [`langfuse.trace.metadata.${field}`, value])),
  },
})

type Run = Awaited<ReturnType<typeof newRun>>

/** Performs one act. Its ids are derived from `index`, so that two runs use the same ids. */
async function doAct({ org, trace_id, uuidOf }: Run, act: Act, index: number): Promise<void> {
  const idOf = async (place: number | null) => (place === null ? {} : { span_id: await uuidOf(spanIdOf(place)) })
  if (act.type === 'post') {
    const { status, metadata } = act
    const times = { timestamp: timeAfter(-10), ...(status === 'completed' && { duration_ms: 7 }) }
    await org.ingest.post('/api/v1/traces', { trace_id, name: 'posted', status, metadata, ...times })
  } else if (act.type === 'observe') {
    const observation_id = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`
    const { kind: type, data, at, place } = act
    const body = { trace_id, observation_id, type, data, timestamp: timeAfter(at), ...(await idOf(place)) }
    await org.ingest.post('/api/v1/observations', body)
  } else if (act.type === 'feedback') {
    const feedback_id = `feedback-${index}`
    const body = { trace_id, feedback_id, rating: act.rating, timestamp: timeAfter(index), ...(await idOf(act.place)) }
    await org.ingest.post('/api/v1/feedback', body)
  } else if (act.type === 'span') {
    const { output, place } = act
    const body = {
      trace_id,
      step_id: `given ${place}`,
      timestamp: timeAfter(30 + place),
      output,
      ...(await idOf(place)),
    }
    await org.ingest.post('/api/v1/spans', body)
  } else await sweep(env, Date.now() + 2 * ROOT_WAIT_MS)
}

/** Corrects the spans at these places. Once a span exists, a review doesn't depend on how the exports arrived. */
async function review({ org, uuidOf }: Run, places: readonly number[]): Promise<void> {
  for (const place of places)
    await org.owner.put(`/api/spans/${await uuidOf(spanIdOf(place))}/review`, {
      decision: 'correct',
      approvedOutput: 'right',
    })
}

/** Reads everything about the trace, and replaces or drops ids and times that differ from run to run. */
async function readEverything(run: Run) {
  const { org, trace_id, uuidOf, read } = run
  const names = new Map([
    [run.id, 'trace'],
    [await rootSpanUuid(org.project.id, trace_id), 'derived root'],
    [trace_id, 'trace_id'],
    [run.traceId, 'traceId'],
    [org.project.id, 'project'],
  ])
  for (let place = 0; place <= 6; place++) names.set(await uuidOf(spanIdOf(place)), `span ${place}`)
  const hide = (value: unknown): unknown => {
    if (typeof value === 'string') return names.get(value) ?? value
    if (Array.isArray(value)) return value.map(hide)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value)
        .filter(([field]) => !['updatedAt', 'receivedAt', 'at', 'by', 'etag', 'userId'].includes(field))
        .map(([field, each]) => [field, field === 'id' && !names.has(String(each)) ? 'an id' : hide(each)]),
    )
  }
  const search = async (field: string) => (await org.ingest.get(`/api/v1/traces/search?${field}`)).body.count
  const queue = (await org.owner.get('/api/review-queue?projectSlug=support')).body
  const ofKind = async (query: string) =>
    (await org.read.get(`/api/traces?projectSlug=support${query}`)).body.traces.map(hide)
  const searches = ['plan=a', 'plan=b', 'plan=c', 'region=a', 'mine=a', 'otel_incomplete=true', 'name=posted']
  return {
    trace: hide(await read()),
    list: await ofKind(''),
    all: await ofKind('&kind=all'),
    queue: queue.spans.map(({ id }: { id: string }) => names.get(id) ?? id).sort(),
    remaining: queue.remaining,
    searches: await Promise.all(searches.map(search)),
  }
}

/** Asserts the invariants of a trace's rows. */
async function mustBeSound({ id }: Run): Promise<void> {
  const trace = await stored.prepare('select * from traces where id = ? and deleted_at is null').bind(id).first<{
    key: number
    root_span_id: string
    project_key: number
    timestamp: number
    metadata: string
    is_posted: number
    needs_review: number
  }>()
  if (!trace) throw new Error('the trace does not exist')
  const { results: roots } = await stored
    .prepare('select id from spans where trace_key = ? and is_root = 1')
    .bind(trace.key)
    .all<{ id: string }>()
  const { results: named } = await stored
    .prepare('select id from spans where trace_key = ? and id = ?')
    .bind(trace.key, trace.root_span_id)
    .all<{ id: string }>()
  mustEqual('the rows of the root', roots, named)
  if (trace.is_posted === 1 && roots.length === 0) throw new Error('a posted trace has no root')
  const { results: fields } = await stored
    .prepare('select project_key, path, value, timestamp from trace_fields where trace_key = ? order by path, value')
    .bind(trace.key)
    .all()
  const expected = (await searchableFields(JSON.parse(trace.metadata)))
    .map(({ path, value }) => ({ project_key: trace.project_key, path, value, timestamp: trace.timestamp }))
    .sort((left, right) => (left.path + left.value < right.path + right.value ? -1 : 1))
  mustEqual('the searchable fields', fields, expected)
}

/** Deletes the trace, and asserts that none of its data remains. */
async function mustLeaveNothing({ org, id }: Run): Promise<void> {
  const key = await stored.prepare('select key from traces where id = ?').bind(id).first<number>('key')
  await org.owner.delete(`/api/traces/${id}`)
  await sweep({ ...env, JOBS: undefined as never }, Date.now() + RESEND_AFTER_MS + 1)
  const tables = ['spans', 'observations', 'feedback', 'reviews', 'trace_fields']
  const counts = await stored.batch<{ n: number }>([
    stored.prepare('select count(*) as n from traces where key = ?').bind(key),
    ...tables.map(table => stored.prepare(`select count(*) as n from ${table} where trace_key = ?`).bind(key)),
  ])
  mustEqual(
    'the remaining rows',
    counts.map(({ results }) => results[0]?.n ?? 0),
    [0, 0, 0, 0, 0, 0],
  )
}

interface ReadSpan {
  id: string
  parentId: string | null
  output: unknown
  metadata: { kind?: string }
  review: { state: string; stale: boolean }
}

/**
 * Asserts that the queue contains only spans with an unreviewed output. If the trace comes from a pipeline, the queue
 * must also contain every step among those spans.
 */
function mustQueue({ trace, list, queue }: Awaited<ReturnType<typeof readEverything>>): void {
  const open = (trace as { spans: ReadSpan[] }).spans.filter(
    ({ output, review }) => output !== null && (review.state === 'unreviewed' || review.stale),
  )
  const needsReview = ({ parentId, metadata: { kind = 'task' } }: ReadSpan): boolean =>
    kind !== 'generic' && (kind !== 'chain' || parentId === null)
  const steps = open.filter(needsReview).map(({ id }) => id)
  const others = queue.filter((id: string) => !open.some(span => span.id === id))
  mustEqual('queued spans without an unreviewed output', others, [])
  if (list.length === 0) return
  mustEqual(
    'steps missing from the queue',
    steps.filter(id => !queue.includes(id)),
    [],
  )
}

/** Compares the differing lines first, because a full reading is pages long. */
function mustRead(actual: object, expected: object): void {
  const [actualLines, expectedLines] = [textOf(actual).split('\n'), textOf(expected).split('\n')]
  mustEqual(
    'the lines that differ',
    actualLines.filter(line => !expectedLines.includes(line)),
    expectedLines.filter(line => !actualLines.includes(line)),
  )
  mustEqual('the reading', actual, expected)
}

const story = fc.tuple(plannedSpan(0), plannedSpan(1), plannedSpan(2), plannedSpan(3)).chain(spans =>
  fc.record({
    spans: fc.constant(spans),
    acts: fc.array(act, { maxLength: 6 }),
    /** The parts, each exported before the act at the index `before`. All spans are exported again at the end. */
    parts: fc.array(
      fc.record({
        before: fc.integer({ min: 0, max: 6 }),
        isEarlier: fc.boolean(),
        places: fc.uniqueArray(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 3 }),
      }),
      { maxLength: 5 },
    ),
    reviewed: fc.uniqueArray(fc.integer({ min: 0, max: 3 }), { maxLength: 2 }),
  }),
)

describe('exports for a trace', () => {
  it('give the same trace, no matter how they are split up and interleaved', { timeout: TIMEOUT_MS }, () =>
    fc.assert(
      fc.asyncProperty(story, async ({ spans, acts, parts, reviewed }) => {
        const whole = await newRun()
        const send = (run: Run, some: readonly PlannedSpan[]) =>
          exportSpans(
            run.org,
            some.map(each => run.span(spanFieldsOf(each))),
          )
        const split = await newRun()
        const first = spans[0]
        // Export one span first, so that the trace exists before everything else arrives.
        await send(split, [first])
        // If a client also sent a span, each export of it only fills in missing fields, so its earlier version would
        // take precedence.
        const sentByClients = acts.flatMap(act => (act.type === 'span' ? [act.place] : []))
        const earlier = (some: readonly PlannedSpan[]) =>
          some.filter(({ place }) => !sentByClients.includes(place)).map(earlierVersion)
        await send(whole, [...spans, ...earlier(spans)])
        await review(
          whole,
          reviewed.filter(place => place === 0),
        )
        await review(
          split,
          reviewed.filter(place => place === 0),
        )
        for (let index = 0; index <= 6; index++) {
          for (const { places, isEarlier } of parts.filter(({ before }) => before === index)) {
            const some = spans.filter(({ place }) => places.includes(place))
            await send(split, isEarlier ? earlier(some) : some)
          }
          const act = acts[index]
          if (!act) continue
          await doAct(whole, act, index)
          await doAct(split, act, index)
        }
        await send(split, spans.toReversed())
        await send(split, earlier(spans))
        for (const run of [whole, split]) {
          await review(
            run,
            reviewed.filter(place => place !== 0),
          )
          await doAct(run, { type: 'sweep' }, 0)
          await mustBeSound(run)
        }
        mustQueue(await readEverything(whole))
        mustRead(await readEverything(split), await readEverything(whole))
        for (const run of [whole, split]) await mustLeaveNothing(run)
      }),
      { numRuns: 15 * THOROUGHNESS, interruptAfterTimeLimit: TIMEOUT_MS - 10_000 },
    ),
  )

  it('give the same trace when sent at the same time as other calls', { timeout: TIMEOUT_MS }, () =>
    fc.assert(
      fc.asyncProperty(story, async ({ spans, acts, parts }) => {
        // Keep one act of each type. If there were several, only the last would take effect, and in this test, any of
        // them could be the last.
        const some = acts.filter(
          ({ type }, index) => type !== 'sweep' && acts.findIndex(act => act.type === type) === index,
        )
        const whole = await newRun()
        const concurrent = await newRun()
        const send = (run: Run, some: readonly PlannedSpan[]) =>
          exportSpans(
            run.org,
            some.map(each => run.span(spanFieldsOf(each))),
          )
        await send(whole, spans)
        for (const [index, act] of some.entries()) await doAct(whole, act, index)
        await send(concurrent, spans.slice(0, 1))
        await Promise.all([
          ...some.map((act, index) => doAct(concurrent, act, index)),
          ...parts.map(({ places }) =>
            send(
              concurrent,
              spans.filter(({ place }) => places.includes(place)),
            ),
          ),
          ...spans.map(span => send(concurrent, [span])),
        ])
        for (const run of [whole, concurrent]) await mustBeSound(run)
        mustRead(await readEverything(concurrent), await readEverything(whole))
        for (const run of [whole, concurrent]) await mustLeaveNothing(run)
      }),
      { numRuns: 8 * THOROUGHNESS, interruptAfterTimeLimit: TIMEOUT_MS - 10_000 },
    ),
  )
})
