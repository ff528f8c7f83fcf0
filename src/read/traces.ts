import * as v from 'valibot'
import { requireProject } from '../auth/require-project.ts'
import { Uuid } from '../http/atoms.ts'
import { NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { endpoint } from '../http/endpoint.ts'
import { forbidden, notFound } from '../http/errors.ts'
import { isForeignTrace } from '../store/ownership.ts'
import { findTraceDetail } from '../store/trace-detail.ts'
import { listTraces as readTraces } from '../store/traces.ts'
import { projectSelector, selectedProject } from './project.ts'
import { Trace, TraceItem, toTrace, toTraceItem } from './wire.ts'

export const listTraces = endpoint({
  method: 'GET',
  path: '/api/traces',
  summary: "List a project's traces, newest first",
  scope: 'read',
  query: v.strictObject({ ...projectSelector, ...pageParameters }),
  errors: { 404: 'Not found' },
  responses: { 200: v.object({ traces: v.array(TraceItem), nextCursor: NextCursor }) },
}).handle(async context => {
  const { query, store } = context
  const project = await selectedProject(context, query)
  const { items, nextCursor } = await pageOf({
    list: ['traces', store.organization.id, project.id],
    query,
    place: ['number', 'string'],
    read: (limit, after) =>
      readTraces(store, project, { limit, after: after && { timestamp: Number(after[0]), id: String(after[1]) } }),
    placeOf: ({ timestamp, id }) => [timestamp, id],
  })
  return { status: 200, body: { traces: items.map(toTraceItem), nextCursor } }
})

export const getTrace = endpoint({
  method: 'GET',
  path: '/api/traces/{traceId}',
  summary: 'Read a trace with its spans and feedback',
  scope: 'read',
  params: v.object({ traceId: Uuid }),
  responses: { 200: Trace },
}).handle(async ({ params, caller, store, registry }) => {
  const trace = await findTraceDetail(store, params.traceId)
  if (!trace) throw (await isForeignTrace(registry, store.organization, params.traceId)) ? forbidden() : notFound()
  requireProject(caller, trace.projectKey)
  return { status: 200, body: toTrace(trace) }
})
