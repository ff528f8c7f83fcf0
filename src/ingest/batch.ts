import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { OBSERVATION_ID, TRACE_ID, TRACE_UUID } from '../api/story.ts'
import type { Caller } from '../auth/authenticate.ts'
import { rootSpanUuid, traceUuid } from '../domain/ids.ts'
import { mapInTurns } from '../domain/turns.ts'
import { shownAs } from '../http/atoms.ts'
import { findApiError, notFound } from '../http/errors.ts'
import { BatchResult, Results } from '../http/results.ts'
import { parse } from '../http/validation.ts'
import { ARRIVALS_PER_MILLISECOND, EVENTS_PER_TURN, MAX_BATCH_BYTES, MAX_BATCH_EVENTS } from '../limits.ts'
import type { PlacedProject, Project } from '../store/accounts/projects.ts'
import { attributionMessages } from '../store/attribution/requests.ts'
import { changeSome } from '../store/core/across.ts'
import type { Store } from '../store/core/store.ts'
import { saveFeedback } from '../store/reviews/feedback.ts'
import { addObservations } from '../store/spans/observations.ts'
import { saveSpans } from '../store/spans/spans.ts'
import { placeValues } from '../store/traces/payloads.ts'
import { groupByStore } from '../store/traces/placed.ts'
import { mergeFeedback, mergeSpans, roundsOf } from './batch-rounds.ts'
import { observation, trace } from './examples.ts'
import { Feedback, feedbackDraft, feedbackReply, requireImporter } from './feedback.ts'
import { Observation, observationDraft, observationReply } from './observations.ts'
import { ingestProject } from './project.ts'
import { recordCalls } from './record-calls.ts'
import { Span, spanDraft, spanReply, valuesOf } from './spans.ts'
import { Trace, traceCall, traceDraft, traceReply } from './traces.ts'
import { TRACE_NOT_FOUND } from './wire.ts'

const TraceEvent = v.object({ type: v.literal('trace'), body: Trace })
const SpanEvent = v.object({ type: v.literal('span'), body: Span })
const ObservationEvent = v.object({ type: v.literal('observation'), body: Observation })
const FeedbackEvent = v.object({ type: v.literal('feedback'), body: Feedback })
const Event = v.variant('type', [TraceEvent, SpanEvent, ObservationEvent, FeedbackEvent])

/** Events are parsed one by one, so a bad one doesn't affect others. */
const Events = v.pipe(
  shownAs(v.array(v.unknown()), v.array(Event)),
  v.maxLength(MAX_BATCH_EVENTS, `must have at most ${MAX_BATCH_EVENTS} events`),
)

export const postBatch = endpoint({
  family: 'ingest',
  method: 'POST',
  path: '/api/v1/batch',
  summary: 'Send events in a batch',
  description: 'Each event gets the result that it would have gotten in its own call.',
  scope: 'ingest',
  body: v.object({ events: Events }),
  maxBytes: MAX_BATCH_BYTES,
  responses: { 207: v.object({ results: v.array(BatchResult) }) },
  example: {
    body: {
      events: [
        { type: 'trace', body: trace },
        { type: 'observation', body: observation },
      ],
    },
    answers: {
      207: {
        results: [
          { status: 202, body: { status: 'accepted', trace_id: TRACE_ID, id: TRACE_UUID } },
          { status: 201, body: { status: 'created', observation_id: OBSERVATION_ID } },
        ],
      },
    },
  },
}).handle(async ({ body, caller, store, headers, now, requestId, enqueue }) => {
  const project = await ingestProject({ caller, store, headers })
  const results = new Results(requestId)
  const parsed = await mapInTurns(body.events, EVENTS_PER_TURN, async (input, index) =>
    results.take(index, `events.${index}`, () => {
      const event = parse(Event, input)
      if (event.type === 'feedback') requireImporter(caller, event.body)
      return { ...event, index }
    }),
  )
  const grouped = await groupByStore(store, project, parsed.flat(), ({ body }) => traceUuid(project.id, body.trace_id))
  await changeSome(
    grouped,
    async (shard, events) => {
      for (const part of await splitIntoParts(project, events)) {
        const scope = { caller, store: shard, project, now }
        const toAttribute = await storeDependents(await storeTraces(part, scope, results), scope, results)
        enqueue(...attributionMessages(shard, toAttribute))
      }
    },
    // The other databases' events are stored, so only this database's events need to be sent again.
    (events, error) => {
      for (const { index } of events.filter(({ index }) => !results.has(index))) {
        results.settle(index, `events.${index}`, () => {
          throw findApiError(error) ?? error
        })
      }
    },
  )
  return { status: 207, body: { results: results.inOrder() } }
})

type IndexedEvent = v.InferOutput<typeof Event> & { index: number }

/**
 * Splits events into parts that are stored one after another. Nearly always, there's only one. A part stores traces and
 * spans before observations and feedback. An observation or feedback that names a span must not fail because a later
 * event assigns that span to another trace, so such an event starts a new part.
 */
async function splitIntoParts(project: Project, events: readonly IndexedEvent[]): Promise<IndexedEvent[][]> {
  const parts: IndexedEvent[][] = []
  const namingTraces = new Map<string, Set<string>>()
  for (const event of events) {
    const { trace_id } = event.body
    const assigned = namingTraces.size > 0 ? await assignedSpan(project, event) : null
    const part = parts.at(-1)
    const isTaken = assigned !== null && [...(namingTraces.get(assigned) ?? [])].some(traceId => traceId !== trace_id)
    if (part && !isTaken) part.push(event)
    else parts.push([event])
    if (isTaken) namingTraces.clear()
    const named = event.type === 'observation' || event.type === 'feedback' ? event.body.span_id : null
    if (named) namingTraces.set(named, (namingTraces.get(named) ?? new Set()).add(trace_id))
  }
  return parts
}

/** The span that an event adds to its trace. */
async function assignedSpan({ id }: Project, { type, body }: IndexedEvent): Promise<string | null> {
  if (type === 'span') return body.span_id
  return type === 'trace' ? await rootSpanUuid(id, body.trace_id) : null
}

interface Scope {
  caller: Caller
  store: Store
  project: PlacedProject
  now: number
}

/**
 * Records the trace events. Returns the other events, except those that came before the event that created their trace:
 * each of those gets its 404 here.
 */
async function storeTraces(events: readonly IndexedEvent[], { store, project, now }: Scope, results: Results) {
  const calls = await mapInTurns(
    events.filter(event => event.type === 'trace'),
    EVENTS_PER_TURN,
    async ({ index, body }) => ({ index, draft: await traceDraft(project, body, now), call: traceCall(body) }),
  )
  const groups = Map.groupBy(calls, ({ draft }) => draft.id)
  const recorded = await recordCalls(
    store,
    project,
    [...groups.values()].flatMap(group =>
      group.slice(0, 1).map(({ draft }) => ({ draft, calls: group.map(({ call }) => call) })),
    ),
  )
  const creationIndexes = new Map<string, number>()
  for (const { index, draft, call } of calls) {
    const outcome = recorded.get(draft.id)
    results.settle(index, bodyPath(index), () => traceReply(draft, call, outcome))
    if (outcome?.isNew && !creationIndexes.has(draft.traceId)) creationIndexes.set(draft.traceId, index)
  }
  return events
    .filter(event => event.type !== 'trace')
    .filter(({ index, body }) => {
      const isTooEarly = index < (creationIndexes.get(body.trace_id) ?? 0)
      if (isTooEarly) {
        results.settle(index, bodyPath(index), () => {
          throw notFound(TRACE_NOT_FOUND)
        })
      }
      return !isTooEarly
    })
}

/** The path of an event's errors. */
const bodyPath = (index: number): string => `events.${index}.body`

/** Gives a batch's events increasing arrival times within one millisecond, in the batch's order. */
const arrivalTime = (now: number, index: number): number => now + index / ARRIVALS_PER_MILLISECOND

/**
 * Stores spans, observations, and feedback: each trace's large values in one object, then each kind in as few
 * statements as possible. Returns the keys of the traces to analyze.
 */
async function storeDependents(
  events: Awaited<ReturnType<typeof storeTraces>>,
  { caller, store, project, now }: Scope,
  results: Results,
): Promise<Set<number>> {
  const spans = await mapInTurns(
    events.filter(event => event.type === 'span'),
    EVENTS_PER_TURN,
    toIndexedDraft(body => spanDraft(project, body, now)),
  )
  const observations = await mapInTurns(
    events.filter(event => event.type === 'observation'),
    EVENTS_PER_TURN,
    toIndexedDraft((body, index) => observationDraft(project, body, arrivalTime(now, index))),
  )
  const feedback = await mapInTurns(
    events.filter(event => event.type === 'feedback'),
    EVENTS_PER_TURN,
    toIndexedDraft((body, index) => feedbackDraft({ caller, project }, body, arrivalTime(now, index))),
  )
  const spanRounds = roundsOf(spans, ({ id }) => id, mergeSpans)
  const feedbackRounds = roundsOf(feedback, ({ fields }) => fields.id, mergeFeedback)
  const placement = await placeValues(store, [
    ...spanRounds.flat().flatMap(({ draft }) => valuesOf(draft)),
    ...observations.map(({ draft }) => draft.data),
  ])
  for (const round of spanRounds) {
    const outcomes = await saveSpans(store, project, draftsOf(round), placement)
    for (const [place, { indexes, draft }] of round.entries()) {
      for (const index of indexes)
        results.settle(index, bodyPath(index), () => spanReply(draft, outcomes[place] ?? 'trace_missing'))
    }
  }
  const outcomes = await addObservations(store, draftsOf(observations), placement)
  for (const [place, { index, draft }] of observations.entries()) {
    results.settle(index, bodyPath(index), () => observationReply(draft, outcomes[place] ?? 'trace_missing'))
  }
  const disputed = new Set<number>()
  for (const round of feedbackRounds) {
    const { outcomes, toAttribute } = await saveFeedback(
      store,
      project,
      draftsOf(round).map(({ fields }) => fields),
    )
    for (const traceKey of toAttribute) disputed.add(traceKey)
    for (const [place, { indexes, draft }] of round.entries()) {
      const outcome = outcomes[place] ?? 'trace_missing'
      for (const [nth, index] of indexes.entries()) {
        results.settle(index, bodyPath(index), () =>
          feedbackReply(draft, nth > 0 && outcome === 'created' ? 'updated' : outcome),
        )
      }
    }
  }
  return disputed
}

/** Creates an event's draft, with the event's index. */
const toIndexedDraft =
  <Body, Draft>(draftOf: (body: Body, index: number) => Promise<Draft>) =>
  async ({ index, body }: { index: number; body: Body }) => ({ index, draft: await draftOf(body, index) })

const draftsOf = <Draft>(items: readonly { draft: Draft }[]): Draft[] => items.map(({ draft }) => draft)
