import * as v from 'valibot'
import { traceUuid } from '../domain/ids.ts'
import { endpoint } from '../http/endpoint.ts'
import { notFound, notImplemented, unprocessable } from '../http/errors.ts'
import { findTraceFeedback } from '../store/feedback.ts'
import { ingestProject } from './project.ts'
import { TRACE_NOT_FOUND, TraceId } from './wire.ts'

const NO_FEEDBACK = 'The trace has no feedback to analyze'
const NOT_YET = 'Attribution is not there yet'

export const attributeTrace = endpoint({
  method: 'POST',
  path: '/api/v1/traces/{trace_id}/attribute',
  summary: 'Ask for the root cause of a disagreement; this release checks the request and does not analyze yet',
  scope: ['ingest', 'read'],
  params: v.object({ trace_id: TraceId }),
  errors: { 404: TRACE_NOT_FOUND, 422: NO_FEEDBACK, 501: NOT_YET },
  responses: {},
}).handle(async ({ params, caller, store, headers }) => {
  const project = await ingestProject({ caller, store, headers })
  const trace = await findTraceFeedback(store, await traceUuid(project.id, params.trace_id))
  if (!trace) throw notFound(TRACE_NOT_FOUND)
  if (!trace.hasFeedback) throw unprocessable(NO_FEEDBACK, 'trace_id')
  throw notImplemented(NOT_YET)
})
