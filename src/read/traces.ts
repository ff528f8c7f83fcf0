import * as v from 'valibot'
import type { Caller } from '../auth/authenticate.ts'
import { Uuid } from '../http/atoms.ts'
import { decodeCursor, NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { endpoint } from '../http/endpoint.ts'
import { forbidden, notFound } from '../http/errors.ts'
import { traceExists } from '../store/ownership.ts'
import { findTraceDetail } from '../store/trace-detail.ts'
import { findTrace, listTraces as readTraces, deleteTrace as removeTrace } from '../store/traces.ts'
import { projectSelector, selectedProject } from './project.ts'
import { Trace, TraceItem, toTrace, toTraceItem } from './wire.ts'

const Position = v.strictTuple([v.number(), v.string()])
const params = v.object({ traceId: Uuid })

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
  const list = ['traces', store.organization.id, project.id]
  const after = await decodeCursor(list, Position, query.cursor)
  const { items, nextCursor } = await pageOf(
    list,
    query.limit,
    limit => readTraces(store, project, { limit, after: after && { timestamp: after[0], id: after[1] } }),
    ({ timestamp, id }) => [timestamp, id],
  )
  return { status: 200, body: { traces: items.map(toTraceItem), nextCursor } }
})

export const getTrace = endpoint({
  method: 'GET',
  path: '/api/traces/{traceId}',
  summary: 'Read a trace with its spans and feedback',
  scope: 'read',
  params,
  errors: { 404: 'Not found' },
  responses: { 200: Trace },
}).handle(async ({ params, caller, store, registry }) => {
  const trace = await findTraceDetail(store, params.traceId)
  if (!trace) throw (await traceExists(registry, params.traceId)) ? forbidden() : notFound()
  if (!serves(caller, trace)) throw forbidden('This key is for another project')
  return { status: 200, body: toTrace(trace) }
})

export const deleteTrace = endpoint({
  method: 'DELETE',
  path: '/api/traces/{traceId}',
  summary: 'Delete a trace, its spans and its feedback',
  scope: 'manage',
  params,
  errors: { 404: 'Not found' },
  responses: { 200: v.object({ id: Uuid }) },
}).handle(async ({ params, caller, store, now, enqueue }) => {
  const deleted = await removeTrace(store, params.traceId, caller.project, now)
  if (!deleted) {
    throw (await findTrace(store, params.traceId)) ? forbidden('This key is for another project') : notFound()
  }
  enqueue({ kind: 'purge_trace', organizationKey: store.organization.key, traceKey: deleted.key })
  return { status: 200, body: { id: params.traceId } }
})

const serves = ({ project }: Caller, trace: { projectKey: number }): boolean =>
  project === null || project.key === trace.projectKey
