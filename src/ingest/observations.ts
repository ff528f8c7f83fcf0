import * as v from 'valibot'
import { newId, traceUuid } from '../domain/ids.ts'
import { utf8Length } from '../domain/text.ts'
import { JsonValue, Timestamp, text, Uuid } from '../http/atoms.ts'
import { endpoint } from '../http/endpoint.ts'
import { notFound, tooLarge } from '../http/errors.ts'
import { ENVELOPE_BYTES, MAX_JSON_DEPTH, MAX_OBSERVATION_BYTES, MAX_STATE_KEY_LENGTH } from '../limits.ts'
import { addObservation } from '../store/observations.ts'
import { ingestProject } from './project.ts'
import { TraceId } from './wire.ts'

const TOO_LARGE = 'Observation data too large'

/** As JSON, measured before anything else of the body is judged: too large is a 413, whatever else is wrong. */
const Data = v.pipe(
  JsonValue,
  v.metadata({
    description: `Any JSON value of at most ${MAX_OBSERVATION_BYTES} bytes, nested at most ${MAX_JSON_DEPTH} deep`,
  }),
  v.transform(value => {
    const json = JSON.stringify(value)
    if (utf8Length(json) > MAX_OBSERVATION_BYTES) throw tooLarge(TOO_LARGE)
    return json
  }),
)

const common = {
  data: Data,
  trace_id: TraceId,
  timestamp: Timestamp,
  observation_id: v.optional(Uuid),
  span_id: v.optional(Uuid),
}

const StateKey = v.pipe(text(1, MAX_STATE_KEY_LENGTH), v.metadata({ examples: ['retrieved_chunks'] }))

const Observation = v.variant('type', [
  v.object({ ...common, type: v.literal('state'), key: StateKey }),
  v.object({ ...common, type: v.picklist(['input', 'output']) }),
])

export const createObservation = endpoint({
  method: 'POST',
  path: '/api/v1/observations',
  summary: 'Record an input, output or state observation on a trace',
  scope: 'ingest',
  body: Observation,
  maxBytes: MAX_OBSERVATION_BYTES + ENVELOPE_BYTES,
  errors: { 404: 'Trace not found', 413: TOO_LARGE },
  responses: { 201: v.object({ status: v.literal('created'), observation_id: v.string() }) },
}).handle(async ({ body, caller, store, headers, now }) => {
  const project = await ingestProject({ caller, store, headers })
  const id = body.observation_id ?? newId()
  const added = await addObservation(store, {
    id,
    traceUuid: await traceUuid(project.id, body.trace_id),
    spanId: body.span_id ?? null,
    type: body.type,
    stateKey: body.type === 'state' ? body.key : null,
    json: body.data,
    timestamp: body.timestamp,
    receivedAt: now,
  })
  if (!added) throw notFound('Trace not found')
  return { status: 201, body: { status: 'created', observation_id: id } }
})
