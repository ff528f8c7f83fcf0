import { env } from 'cloudflare:workers'
import * as fc from 'fast-check'
import { describe, inject, it } from 'vitest'
import { rootSpanUuid } from '../../src/domain/ids.ts'
import { searchableFields } from '../../src/domain/metadata.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import { RESEND_AFTER_MS, ROOT_WAIT_MS } from '../../src/limits.ts'
import { timeAfter } from '../support/builders.ts'
import { exportSpans, newRun, type SpanFields } from '../support/telemetry.ts'
import { mustEqual, textOf } from './view.ts'

/*
 * A trace is told of in many ways: exports of its spans, in any parts and order, calls of clients, observations, feedback,
 * reviews. However exports are parted and placed among the others, what can be read in the end is the same, as if all spans
 * had come in one export before the rest.
 */

const THOROUGHNESS = inject('propertyRuns')
const TIMEOUT_MS = 60_000 * THOROUGHNESS

/** A span of the trace: its place is its id, and `parent` another's place, which may never come; null is a root. */
interface Told {
  place: number
  parent: number | null
  start: number
  end: number
  isGeneric: boolean
  output: 'none' | 'null' | 'text'
  fields: Record<string, string>
}

const told = (place: number): fc.Arbitrary<Told> =>
  fc.record({
    place: fc.constant(place),
    parent: fc.option(
      fc.integer({ min: 0, max: 6 }).filter(parent => parent !== place),
      { freq: 3 },
    ),
    // No two at once: these are listed in the order of their ids, which differ from run to run.
    start: fc.integer({ min: 0, max: 5 }).map(start => 4 * start + place),
    end: fc.integer({ min: 25, max: 40 }),
    isGeneric: fc.boolean(),
    output: fc.constantFrom('none', 'null', 'text'),
    fields: fc.dictionary(fc.constantFrom('plan', 'region', 'user_id'), fc.constantFrom('a', 'b'), { maxKeys: 2 }),
  })

/** What happens to the trace beside exports, in this order. */
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

/** What an export said of a span before it ended: less, and other things. */
const earlierOf = (span: Told): Told => ({
  ...span,
  end: span.end - 1,
  output: span.output === 'text' ? 'none' : 'text',
})

const spanFieldsOf = ({ place, parent, start, end, isGeneric, output, fields }: Told): SpanFields => ({
  spanId: spanIdOf(place),
  ...(parent !== null && { parentSpanId: spanIdOf(parent) }),
  name: `step ${place}`,
  start,
  end: end + 100,
  attributes: {
    ...(isGeneric ? { 'http.request.method': 'POST' } : { 'gen_ai.operation.name': 'chat' }),
    ...(!isGeneric && output !== 'none' && { 'output.value': output === 'null' ? 'null' : `output ${place}` }),
    ...(!isGeneric && output === 'null' && { 'output.mime_type': 'application/json' }),
    ...Object.fromEntries(Object.entries(fields).map(([field, value]) => [`langfuse.trace.metadata.${field}`, value])),
  },
})

type Run = Awaited<ReturnType<typeof newRun>>

/** Does one act; its ids are made of `index`, so that two runs name the same things. */
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

/** Accepts every other span that there is. A review does not depend on how exports came, once the span is there. */
async function review({ org, uuidOf }: Run, places: readonly number[]): Promise<void> {
  for (const place of places)
    await org.owner.put(`/api/spans/${await uuidOf(spanIdOf(place))}/review`, {
      decision: 'correct',
      approvedOutput: 'right',
    })
}

/** All that can be read of the trace, with ids and times that differ from run to run in other words. */
async function readingOf(run: Run) {
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

/** What must be true of a trace's rows, whatever happened. */
async function mustBeSound({ id }: Run): Promise<void> {
  const trace = await env.DB.prepare('select * from traces where id = ? and deleted_at is null').bind(id).first<{
    key: number
    root_span_id: string
    project_key: number
    timestamp: number
    metadata: string
    is_posted: number
    needs_review: number
  }>()
  if (!trace) throw new Error('the trace is not there')
  const { results: roots } = await env.DB.prepare('select id from spans where trace_key = ? and is_root = 1')
    .bind(trace.key)
    .all<{ id: string }>()
  const { results: named } = await env.DB.prepare('select id from spans where trace_key = ? and id = ?')
    .bind(trace.key, trace.root_span_id)
    .all<{ id: string }>()
  mustEqual('the rows of the root', roots, named)
  if (trace.is_posted === 1 && roots.length === 0) throw new Error('a posted trace has no root')
  const { results: fields } = await env.DB.prepare(
    'select project_key, path, value, timestamp from trace_fields where trace_key = ? order by path, value',
  )
    .bind(trace.key)
    .all()
  const expected = (await searchableFields(JSON.parse(trace.metadata)))
    .map(({ path, value }) => ({ project_key: trace.project_key, path, value, timestamp: trace.timestamp }))
    .sort((left, right) => (left.path + left.value < right.path + right.value ? -1 : 1))
  mustEqual('the searchable fields', fields, expected)
}

/** Deletes the trace, and expects that nothing of it stays. */
async function mustLeaveNothing({ org, id }: Run): Promise<void> {
  const key = await env.DB.prepare('select key from traces where id = ?').bind(id).first<number>('key')
  await org.owner.delete(`/api/traces/${id}`)
  await sweep({ ...env, JOBS: undefined as never }, Date.now() + RESEND_AFTER_MS + 1)
  const tables = ['spans', 'observations', 'feedback', 'reviews', 'trace_fields']
  const counts = await env.DB.batch<{ n: number }>([
    env.DB.prepare('select count(*) as n from traces where key = ?').bind(key),
    ...tables.map(table => env.DB.prepare(`select count(*) as n from ${table} where trace_key = ?`).bind(key)),
  ])
  mustEqual(
    'what is left',
    counts.map(({ results }) => results[0]?.n ?? 0),
    [0, 0, 0, 0, 0, 0],
  )
}

interface ReadSpan {
  id: string
  output: unknown
  metadata: { kind?: string }
  review: { state: string; stale: boolean }
}

/** The queue of a trace that is a pipeline's has what has an output and no review of it, but for what is no step of it. */
function mustQueue({ trace, list, queue }: Awaited<ReturnType<typeof readingOf>>): void {
  const open = (trace as { spans: ReadSpan[] }).spans.filter(
    ({ output, review }) => output !== null && (review.state === 'unreviewed' || review.stale),
  )
  const steps = open.filter(({ metadata }) => metadata.kind !== 'generic').map(({ id }) => id)
  const others = queue.filter((id: string) => !open.some(span => span.id === id))
  mustEqual('what is in the queue without an output', others, [])
  if (list.length === 0) return
  mustEqual(
    'what is not in the queue',
    steps.filter(id => !queue.includes(id)),
    [],
  )
}

/** The lines that differ say enough: what can be read fills pages. */
function mustRead(actual: object, expected: object): void {
  const [is, shouldBe] = [textOf(actual).split('\n'), textOf(expected).split('\n')]
  mustEqual(
    'what can be read',
    is.filter(line => !shouldBe.includes(line)),
    shouldBe.filter(line => !is.includes(line)),
  )
  mustEqual('what can be read', actual, expected)
}

const story = fc.tuple(told(0), told(1), told(2), told(3)).chain(spans =>
  fc.record({
    spans: fc.constant(spans),
    acts: fc.array(act, { maxLength: 6 }),
    /** Before which act each part is exported; spans that no part has come at the end. */
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

describe('exports of a trace', () => {
  it('come to the same however they are parted and placed among all else', { timeout: TIMEOUT_MS }, () =>
    fc.assert(
      fc.asyncProperty(story, async ({ spans, acts, parts, reviewed }) => {
        const whole = await newRun()
        const send = (run: Run, some: readonly Told[]) =>
          exportSpans(
            run.org,
            some.map(each => run.span(spanFieldsOf(each))),
          )
        const parted = await newRun()
        const first = spans[0]
        // What belongs to a trace finds it: one span is there from the start.
        await send(parted, [first])
        // Where a client sent the span, too, exports fill in what is left out, the first one first.
        const given = acts.flatMap(act => (act.type === 'span' ? [act.place] : []))
        const earlier = (some: readonly Told[]) => some.filter(({ place }) => !given.includes(place)).map(earlierOf)
        await send(whole, [...spans, ...earlier(spans)])
        await review(
          whole,
          reviewed.filter(place => place === 0),
        )
        await review(
          parted,
          reviewed.filter(place => place === 0),
        )
        for (let index = 0; index <= 6; index++) {
          for (const { places, isEarlier } of parts.filter(({ before }) => before === index)) {
            const some = spans.filter(({ place }) => places.includes(place))
            await send(parted, isEarlier ? earlier(some) : some)
          }
          const act = acts[index]
          if (!act) continue
          await doAct(whole, act, index)
          await doAct(parted, act, index)
        }
        await send(parted, spans.toReversed())
        await send(parted, earlier(spans))
        for (const run of [whole, parted]) {
          await review(
            run,
            reviewed.filter(place => place !== 0),
          )
          await doAct(run, { type: 'sweep' }, 0)
          await mustBeSound(run)
        }
        mustQueue(await readingOf(whole))
        mustRead(await readingOf(parted), await readingOf(whole))
        for (const run of [whole, parted]) await mustLeaveNothing(run)
      }),
      { numRuns: 15 * THOROUGHNESS, interruptAfterTimeLimit: TIMEOUT_MS - 10_000 },
    ),
  )

  it('come to the same at once, with what else there is', { timeout: TIMEOUT_MS }, () =>
    fc.assert(
      fc.asyncProperty(story, async ({ spans, acts, parts }) => {
        // Of several calls the later one counts, which here is either.
        const some = acts.filter(
          ({ type }, index) => type !== 'sweep' && acts.findIndex(act => act.type === type) === index,
        )
        const whole = await newRun()
        const crowded = await newRun()
        const send = (run: Run, some: readonly Told[]) =>
          exportSpans(
            run.org,
            some.map(each => run.span(spanFieldsOf(each))),
          )
        await send(whole, spans)
        for (const [index, act] of some.entries()) await doAct(whole, act, index)
        await send(crowded, spans.slice(0, 1))
        await Promise.all([
          ...some.map((act, index) => doAct(crowded, act, index)),
          ...parts.map(({ places }) =>
            send(
              crowded,
              spans.filter(({ place }) => places.includes(place)),
            ),
          ),
          ...spans.map(span => send(crowded, [span])),
        ])
        for (const run of [whole, crowded]) await mustBeSound(run)
        mustRead(await readingOf(crowded), await readingOf(whole))
        for (const run of [whole, crowded]) await mustLeaveNothing(run)
      }),
      { numRuns: 8 * THOROUGHNESS, interruptAfterTimeLimit: TIMEOUT_MS - 10_000 },
    ),
  )
})
