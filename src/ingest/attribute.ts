import * as v from 'valibot'
import { NO_FEEDBACK } from '../attribution/run.ts'
import { traceUuid } from '../domain/ids.ts'
import { endpoint } from '../http/endpoint.ts'
import { ERRORS, failedForGood, forbidden, notFound, unprocessable } from '../http/errors.ts'
import { type AttributionState, attributionJobsOf, findAttribution, requestAttribution } from '../store/attributions.ts'
import { Attribution, toAttribution } from './attribution-wire.ts'
import { awaitAttribution } from './await-attribution.ts'
import { ingestProject } from './project.ts'
import { TRACE_NOT_FOUND, TraceId } from './wire.ts'

const NEVER_ASKED = 'Nobody has asked for the attribution of this trace'

export const Pending = v.object({ status: v.literal('pending'), trace_id: v.string() })

export const attributeTrace = endpoint({
  method: 'POST',
  path: '/api/v1/traces/{trace_id}/attribute',
  summary: 'Name the root cause of a disagreement; with nothing new since the last time, the same answer',
  scope: ['ingest', 'read'],
  params: v.object({ trace_id: TraceId }),
  query: v.strictObject({
    force: v.optional(
      v.pipe(
        v.picklist(['true', 'false']),
        v.metadata({ description: 'Whether to analyze again with nothing new; needs the scope manage' }),
      ),
      'false',
    ),
  }),
  isAwaitable: true,
  errors: { 404: TRACE_NOT_FOUND, 422: NO_FEEDBACK, 502: ERRORS[502].message },
  responses: { 200: Attribution, 202: Pending },
}).handle(async ({ params: { trace_id }, query, caller, store, headers, now, enqueue, runtime, signal }) => {
  const force = query.force === 'true'
  if (force && !caller.scopes.includes('manage')) throw forbidden('force needs the scope manage')
  const project = await ingestProject({ caller, store, headers })
  const id = await traceUuid(project.id, trace_id)
  const asked = await requestAttribution(store, id, { force, now })
  if (!asked) throw notFound(TRACE_NOT_FOUND)
  if (!asked.hasFeedback) throw unprocessable(NO_FEEDBACK, 'trace_id')
  if (asked.status !== 'pending') return replyOf(trace_id, asked)
  const { organization } = store
  const { traceKey } = asked
  const sent = enqueue(...attributionJobsOf(store, [traceKey]))
  if (prefersAsync(headers)) return replyOf(trace_id, asked)
  return replyOf(trace_id, await awaitAttribution({ runtime, organization, traceKey, sent, signal }))
})

export const getAttribution = endpoint({
  method: 'GET',
  path: '/api/v1/traces/{trace_id}/attribution',
  summary: 'Read the root cause of a disagreement, once it was asked for',
  scope: ['ingest', 'read'],
  params: v.object({ trace_id: TraceId }),
  errors: { 404: TRACE_NOT_FOUND, 502: ERRORS[502].message },
  responses: { 200: Attribution, 202: Pending },
}).handle(async ({ params: { trace_id }, caller, store, headers }) => {
  const project = await ingestProject({ caller, store, headers })
  return replyOf(trace_id, await findAttribution(store, { id: await traceUuid(project.id, trace_id) }))
})

/** The answer to how far the analysis of a trace is: the result, or 202 with where it will be; 404, or 502 where it failed. */
function replyOf(traceId: string, state: AttributionState | undefined) {
  if (!state) throw notFound(TRACE_NOT_FOUND)
  const { status, failure, result } = state
  if (status === 'failed') throw failedForGood(failure ?? ERRORS[502].message)
  if (status === 'done' && result) return { status: 200 as const, body: toAttribution(traceId, result) }
  if (status === null) throw notFound(NEVER_ASKED)
  const body = { status: 'pending' as const, trace_id: traceId }
  return { status: 202 as const, body, location: `/api/v1/traces/${traceId}/attribution` }
}

/** Whether a client would rather ask later than wait (RFC 7240). */
const prefersAsync = (headers: Headers): boolean =>
  (headers.get('prefer') ?? '').split(',').some(preference => /^respond-async\s*(;|$)/i.test(preference.trim()))
