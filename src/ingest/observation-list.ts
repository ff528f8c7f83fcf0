import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { ANSWER, ANSWERED, OBSERVATION_ID, ROOT_SPAN_ID, TRACE_ID } from '../api/story.ts'
import { OBSERVATION_TYPES } from '../domain/fold.ts'
import { traceUuid } from '../domain/ids.ts'
import { IsoTime, isoTime, StoredValue, Uuid } from '../http/atoms.ts'
import { NextCursor, pageOf, pageParametersOf } from '../http/cursor.ts'
import { notFound } from '../http/errors.ts'
import { OBSERVATIONS_DEFAULT_LIMIT, OBSERVATIONS_MAX_LIMIT } from '../limits.ts'
import { listObservations as readObservations } from '../store/spans/observation-list.ts'
import { storeInProject } from '../store/traces/placed.ts'
import { ingestProject } from './project.ts'
import { TRACE_NOT_FOUND, TraceId } from './wire.ts'

export const Observation = v.object({
  observation_id: Uuid,
  span_id: Uuid,
  type: v.picklist(OBSERVATION_TYPES),
  key: v.nullable(v.string()),
  data: StoredValue,
  timestamp: IsoTime,
  received_at: IsoTime,
})

export const listObservations = endpoint({
  family: 'ingest',
  method: 'GET',
  path: '/api/v1/traces/{trace_id}/observations',
  summary: "List a trace's observations",
  description:
    'Returns the observations as they were sent, in the order in which they merge. Pages with large observations have fewer items.',
  scope: 'read',
  params: v.object({ trace_id: TraceId }),
  query: v.strictObject(pageParametersOf(OBSERVATIONS_DEFAULT_LIMIT, OBSERVATIONS_MAX_LIMIT)),
  errors: { 404: TRACE_NOT_FOUND },
  responses: { 200: v.object({ observations: v.array(Observation), next_cursor: NextCursor }) },
  example: {
    params: { trace_id: TRACE_ID },
    answers: {
      200: {
        observations: [
          {
            observation_id: OBSERVATION_ID,
            span_id: ROOT_SPAN_ID,
            type: 'output',
            key: null,
            data: ANSWER,
            timestamp: ANSWERED,
            received_at: ANSWERED,
          },
        ],
        next_cursor: null,
      },
    },
  },
}).handle(async ({ params, query, caller, store, headers }) => {
  const project = await ingestProject({ caller, store, headers })
  const id = await traceUuid(project.id, params.trace_id)
  const shard = await storeInProject(store, project, id)
  const { items, nextCursor } = await pageOf({
    list: ['observations', store.organization.id, id],
    query,
    place: ['number', 'number', 'string'],
    read: async (limit, place) => {
      const after = place && { timestamp: place[0], receivedAt: place[1], id: place[2] }
      const page = await readObservations(shard, id, { limit, after })
      if (!page) throw notFound(TRACE_NOT_FOUND)
      const { items, nextPlace } = page
      return { items, nextPlace: nextPlace && [nextPlace.timestamp, nextPlace.receivedAt, nextPlace.id] }
    },
  })
  const observations = items.map(({ id, spanId, type, stateKey, data, timestamp, receivedAt }) => ({
    observation_id: id,
    span_id: spanId,
    type,
    key: type === 'state' ? stateKey : null,
    data,
    timestamp: isoTime(timestamp),
    received_at: isoTime(receivedAt),
  }))
  return { status: 200, body: { observations, next_cursor: nextCursor } }
})
