import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { OBSERVATION_ID } from '../api/story.ts'
import { newId, traceUuid } from '../domain/ids.ts'
import { Timestamp, text, Uuid } from '../http/atoms.ts'
import { conflict, notFound } from '../http/errors.ts'
import { ENVELOPE_BYTES, MAX_OBSERVATION_BYTES, MAX_STATE_KEY_LENGTH } from '../limits.ts'
import type { Project } from '../store/accounts/projects.ts'
import { addObservations, type ObservationDraft, type ObservationOutcome } from '../store/spans/observations.ts'
import { placeValues } from '../store/traces/payloads.ts'
import { storeInProject } from '../store/traces/placed.ts'
import { observation } from './examples.ts'
import { ingestProject } from './project.ts'
import { JsonPayload, SPAN_OF_OTHER_TRACE, TOO_LARGE, TRACE_NOT_FOUND, TraceId } from './wire.ts'

const common = {
  data: JsonPayload,
  trace_id: TraceId,
  timestamp: Timestamp,
  observation_id: v.nullish(Uuid),
  span_id: v.nullish(Uuid),
}

const StateKey = v.pipe(text(1, MAX_STATE_KEY_LENGTH), v.metadata({ examples: ['retrieved_chunks'] }))

export const Observation = v.variant('type', [
  v.object({ ...common, type: v.literal('state'), key: StateKey }),
  v.object({ ...common, type: v.picklist(['input', 'output']) }),
])

export const createObservation = endpoint({
  family: 'ingest',
  method: 'POST',
  path: '/api/v1/observations',
  summary: 'Create an input, output, or state observation',
  scope: 'ingest',
  body: Observation,
  maxBytes: MAX_OBSERVATION_BYTES + ENVELOPE_BYTES,
  location: 201,
  errors: { 404: TRACE_NOT_FOUND, 409: SPAN_OF_OTHER_TRACE, 413: TOO_LARGE },
  responses: { 201: v.object({ status: v.literal('created'), observation_id: v.string() }) },
  example: {
    body: observation,
    answers: { 201: { status: 'created', observation_id: OBSERVATION_ID } },
  },
}).handle(async ({ body, caller, store, headers, now }) => {
  const project = await ingestProject({ caller, store, headers })
  const draft = await observationDraft(project, body, now)
  const shard = await storeInProject(store, project, draft.traceUuid)
  const [outcome = 'trace_missing'] = await addObservations(shard, [draft], await placeValues(shard, [draft.data]))
  const location = `/api/v1/traces/${body.trace_id}/observations`
  return { ...observationReply(draft, outcome), location }
})

/** Converts a body to the store's form. If the client sends no id, each call creates a new observation. */
export async function observationDraft(
  project: Project,
  body: v.InferOutput<typeof Observation>,
  receivedAt: number,
): Promise<ObservationDraft> {
  const uuid = await traceUuid(project.id, body.trace_id)
  return {
    id: body.observation_id ?? newId(),
    traceUuid: uuid,
    spanId: body.span_id ?? null,
    type: body.type,
    stateKey: body.type === 'state' ? body.key : null,
    data: { traceUuid: uuid, json: body.data },
    timestamp: body.timestamp,
    receivedAt,
  }
}

/** The response for one observation. 404 if its trace doesn't exist, 409 if its span belongs to another trace. */
export function observationReply({ id }: ObservationDraft, outcome: ObservationOutcome) {
  if (outcome === 'trace_missing') throw notFound(TRACE_NOT_FOUND)
  if (outcome === 'span_on_other_trace') throw conflict(SPAN_OF_OTHER_TRACE, 'span_id')
  return { status: 201 as const, body: { status: 'created' as const, observation_id: id } }
}
