import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { TRACE_UUID } from '../api/story.ts'
import { requireProject } from '../auth/require-project.ts'
import { Uuid } from '../http/atoms.ts'
import { notFound } from '../http/errors.ts'
import { findTrace, deleteTrace as removeTrace } from '../store/traces/traces.ts'

export const deleteTrace = endpoint({
  family: 'manage',
  method: 'DELETE',
  path: '/api/traces/{traceId}',
  summary: 'Delete a trace with its spans and feedback',
  scope: 'manage',
  params: v.object({ traceId: Uuid }),
  responses: { 200: v.object({ id: Uuid }) },
  example: {
    params: { traceId: TRACE_UUID },
    answers: { 200: { id: TRACE_UUID } },
  },
}).handle(async ({ params, caller, store, act, enqueue }) => {
  const traceKey = await removeTrace(store, act, params.traceId, caller.project)
  if (traceKey === undefined) {
    const trace = await findTrace(store, params.traceId)
    if (trace) requireProject(caller, trace.projectKey)
    throw notFound()
  }
  enqueue({ kind: 'purge_trace', organizationKey: store.organization.key, traceKey })
  return { status: 200, body: { id: params.traceId } }
})
