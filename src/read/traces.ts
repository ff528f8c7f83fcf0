import * as v from 'valibot'
import { requireFound } from '../auth/require-project.ts'
import { RATINGS } from '../domain/feedback.ts'
import { comparableFields } from '../domain/metadata.ts'
import { TRACE_REVIEW_STATES } from '../domain/review-state.ts'
import { PAYLOAD_MODES } from '../domain/span.ts'
import { TRACE_STATUSES } from '../domain/trace-status.ts'
import { timestamp, Uuid, uuid } from '../http/atoms.ts'
import { NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { endpoint } from '../http/endpoint.ts'
import { badRequest } from '../http/errors.ts'
import { MAX_SEARCH_FILTERS } from '../limits.ts'
import { isForeignTrace } from '../store/ownership.ts'
import { findTraceDetail } from '../store/trace-detail.ts'
import { listTraces as readTraces } from '../store/trace-list.ts'
import { projectSelector, selectedProject } from './project.ts'
import { Trace, TraceItem, toTrace, toTraceItem } from './wire.ts'

/** The query parameters by which lists of traces, and of what belongs to them, are filtered. */
export const traceFilters = {
  status: v.optional(v.picklist(TRACE_STATUSES)),
  name: v.optional(v.string()),
  from: v.optional(timestamp('Traces from this time on')),
  to: v.optional(timestamp('Traces before this time')),
  stepId: v.optional(v.pipe(v.string(), v.metadata({ description: 'Traces with a span of this step' }))),
  promptVersionId: v.optional(uuid('Traces with a span that used this version')),
  hasFeedback: v.optional(
    v.pipe(
      v.picklist(['true', 'false']),
      v.transform(value => value === 'true'),
    ),
  ),
  rating: v.optional(
    v.pipe(
      v.picklist(RATINGS),
      v.metadata({ description: 'Traces with such feedback; a number above 0.5 is positive, one below it negative' }),
    ),
  ),
  review: v.optional(
    v.pipe(v.picklist(TRACE_REVIEW_STATES), v.metadata({ description: 'Traces in this review state' })),
  ),
  errorType: v.optional(v.pipe(v.string(), v.metadata({ description: 'Traces with a review that names this type' }))),
}

export const listTraces = endpoint({
  method: 'GET',
  path: '/api/traces',
  summary: "List a project's traces, newest first",
  scope: 'read',
  query: v.strictObject({ ...projectSelector, ...traceFilters, ...pageParameters }),
  metadataPrefix: 'metadata.',
  errors: { 404: 'Not found' },
  responses: { 200: v.object({ traces: v.array(TraceItem), nextCursor: NextCursor }) },
}).handle(async context => {
  const { query, metadataFilters, store } = context
  if (metadataFilters.length > MAX_SEARCH_FILTERS) {
    throw badRequest(`At most ${MAX_SEARCH_FILTERS} metadata filters are allowed`)
  }
  const project = await selectedProject(context, query)
  const filter = { ...query, fields: await comparableFields(metadataFilters) }
  const { items, nextCursor } = await pageOf({
    list: ['traces', store.organization.id, project.id],
    query,
    place: ['number', 'string'],
    read: async (limit, after) => {
      const position = after && { timestamp: after[0], id: after[1] }
      const { items, nextPlace } = await readTraces(store, project, filter, { limit, after: position })
      return { items, nextPlace: nextPlace && [nextPlace.timestamp, nextPlace.id] }
    },
  })
  return { status: 200, body: { traces: items.map(toTraceItem), nextCursor } }
})

export const getTrace = endpoint({
  method: 'GET',
  path: '/api/traces/{traceId}',
  summary: 'Read a trace with its spans and feedback',
  scope: 'read',
  params: v.object({ traceId: Uuid }),
  query: v.strictObject({
    payloads: v.optional(
      v.pipe(
        v.picklist(PAYLOAD_MODES),
        v.metadata({ description: 'preview: strings past 256 bytes cut, large values as the beginning of their JSON' }),
      ),
      'full',
    ),
  }),
  responses: { 200: Trace },
}).handle(async ({ params, query, caller, store, registry }) => {
  const { traceId } = params
  const isForeign = () => isForeignTrace(registry, store.organization, traceId)
  const trace = await requireFound(caller, await findTraceDetail(store, traceId, query.payloads), isForeign)
  return { status: 200, body: toTrace(trace) }
})
