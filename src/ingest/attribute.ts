import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { TRACE_ID } from '../api/story.ts'
import { NO_FEEDBACK } from '../attribution/run.ts'
import { traceUuid } from '../domain/ids.ts'
import { IsoTime, isoTime } from '../http/atoms.ts'
import { ERRORS, failedPermanently, forbidden, modelLimitReached, notFound, unprocessable } from '../http/errors.ts'
import { attributionMessages, requestAttribution } from '../store/attribution/requests.ts'
import { type AttributionState, findAttribution } from '../store/attribution/state.ts'
import { storeInProject } from '../store/traces/placed.ts'
import { Attribution, toAttribution } from './attribution-wire.ts'
import { awaitAttribution } from './await-attribution.ts'
import { attribution, pendingAttribution } from './examples.ts'
import { ingestProject } from './project.ts'
import { TRACE_NOT_FOUND, TraceId } from './wire.ts'

const NOT_REQUESTED = 'No attribution was requested for this trace'

const LIMITED = "Rate limit exceeded, or the project has used up today's model calls (code `model_limit_reached`)"

export const Pending = v.object({
  status: v.literal('pending'),
  trace_id: v.string(),
  waits_until: v.optional(
    v.pipe(
      IsoTime,
      v.metadata({ description: "When the analysis continues, if the project has used up today's model calls" }),
    ),
  ),
})

export const attributeTrace = endpoint({
  family: 'ingest',
  method: 'POST',
  path: '/api/v1/traces/{trace_id}/attribute',
  summary: 'Find the root cause of a disagreement',
  description:
    "If there has been no new data since the last analysis, this returns the previous result. Under a blind review policy, reviewers get a 202 until the trace's reviewable spans are decided.",
  scope: ['ingest', 'read'],
  params: v.object({ trace_id: TraceId }),
  query: v.strictObject({
    force: v.optional(
      v.pipe(
        v.picklist(['true', 'false']),
        v.metadata({
          description: 'Whether to analyze the trace again even if there is no new data. Requires the manage scope.',
        }),
      ),
      'false',
    ),
  }),
  location: 202,
  errors: { 404: TRACE_NOT_FOUND, 422: NO_FEEDBACK, 429: LIMITED, 502: ERRORS[502].message },
  responses: { 200: Attribution, 202: Pending },
  example: {
    params: { trace_id: TRACE_ID },
    answers: { 200: attribution, 202: pendingAttribution },
  },
}).handle(async ({ params: { trace_id }, query, caller, store, headers, now, enqueue, runtime, signal }) => {
  const force = query.force === 'true'
  if (force && !caller.scopes.includes('manage')) throw forbidden('`force` requires the manage scope')
  const project = await ingestProject({ caller, store, headers })
  const id = await traceUuid(project.id, trace_id)
  const shard = await storeInProject(store, project, id)
  const requested = await requestAttribution(shard, id, { force, now })
  if (!requested) throw notFound(TRACE_NOT_FOUND)
  if (!requested.hasFeedback) throw unprocessable(NO_FEEDBACK, 'trace_id')
  if (!requested.isHidden && requested.status !== 'pending') return replyOf(trace_id, requested)
  const { traceKey } = requested
  const sent = enqueue(...attributionMessages(shard, [traceKey]))
  if (requested.isHidden || prefersAsync(headers)) return replyOf(trace_id, asPending(requested))
  const state = asPending(await awaitAttribution({ runtime, store: shard, traceKey, sent, signal }))
  const waitMs = waitOf(state)
  if (waitMs > 0) throw modelLimitReached(Math.ceil(waitMs / 1000))
  return replyOf(trace_id, state)
})

export const getAttribution = endpoint({
  family: 'ingest',
  method: 'GET',
  path: '/api/v1/traces/{trace_id}/attribution',
  summary: 'Get the root cause of a disagreement',
  description:
    "Returns 404 if no attribution was requested. Under a blind review policy, reviewers also get a 404 until the trace's reviewable spans are decided.",
  scope: ['ingest', 'read'],
  params: v.object({ trace_id: TraceId }),
  errors: { 404: TRACE_NOT_FOUND, 502: ERRORS[502].message },
  responses: { 200: Attribution, 202: Pending },
  example: {
    params: { trace_id: TRACE_ID },
    answers: { 200: attribution, 202: pendingAttribution },
  },
}).handle(async ({ params: { trace_id }, caller, store, headers }) => {
  const project = await ingestProject({ caller, store, headers })
  const id = await traceUuid(project.id, trace_id)
  return replyOf(trace_id, await findAttribution(await storeInProject(store, project, id), { id }))
})

/** Milliseconds until a pending job may run. */
const waitOf = (state: AttributionState | undefined): number =>
  state?.status === 'pending' ? Math.max(0, (state.waitsUntil ?? 0) - Date.now()) : 0

/** If the caller may not see a state, shows it as pending: the result can be read once the spans are decided. */
const asPending = (state: AttributionState | undefined): AttributionState | undefined =>
  state?.isHidden ? { ...state, status: 'pending' } : state

/**
 * The response for an attribution's state: the result, or 202 with its future location. 404 if there is none, 502 if it
 * failed.
 */
function replyOf(traceId: string, state: AttributionState | undefined) {
  if (!state) throw notFound(TRACE_NOT_FOUND)
  const { status, failure, result } = state
  if (status === 'failed') throw failedPermanently(failure ?? ERRORS[502].message)
  if (status === 'done' && result) return { status: 200 as const, body: toAttribution(traceId, result) }
  if (status === null) throw notFound(NOT_REQUESTED)
  const until = waitOf(state) > 0 && state.waitsUntil !== null && { waits_until: isoTime(state.waitsUntil) }
  const body = { status: 'pending' as const, trace_id: traceId, ...until }
  return { status: 202 as const, body, location: `/api/v1/traces/${traceId}/attribution` }
}

/** Whether the client prefers polling to waiting (RFC 7240). */
const prefersAsync = (headers: Headers): boolean =>
  (headers.get('prefer') ?? '').split(',').some(preference => /^respond-async\s*(;|$)/i.test(preference.trim()))
