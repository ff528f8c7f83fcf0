import * as v from 'valibot'
import { requireFound } from '../auth/require-project.ts'
import { Uuid } from '../http/atoms.ts'
import { NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { endpoint } from '../http/endpoint.ts'
import { isForeignTrace } from '../store/ownership.ts'
import { findTraceDetail } from '../store/trace-detail.ts'
import { listTraces as readTraces } from '../store/trace-list.ts'
import { projectSelector, selectedProject } from './project.ts'
import { traceFilter, traceFilters } from './trace-filters.ts'
import { Payloads, Trace, TraceItem, toTrace, toTraceItem } from './wire.ts'

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
  const { query, store } = context
  const project = await selectedProject(context, query)
  const filter = await traceFilter(context)
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
    payloads: Payloads,
  }),
  responses: { 200: Trace },
}).handle(async ({ params, query, caller, store, registry }) => {
  const { traceId } = params
  const isForeign = () => isForeignTrace(registry, store.organization, traceId)
  const trace = await requireFound(caller, await findTraceDetail(store, traceId, query.payloads), isForeign)
  return { status: 200, body: toTrace(trace) }
})
