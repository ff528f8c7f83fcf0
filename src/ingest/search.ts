import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { METADATA, STARTED, TRACE_ID, TRACE_UUID } from '../api/story.ts'
import { comparableFields } from '../domain/metadata.ts'
import { IsoTime, isoTime, StoredObject, shownAs, Uuid } from '../http/atoms.ts'
import { badRequest } from '../http/errors.ts'
import { MAX_SCANNED_TRACES, MAX_SEARCH_FILTERS, SEARCH_DEFAULT_LIMIT, SEARCH_MAX_LIMIT } from '../limits.ts'
import { findMatches } from '../store/traces/trace-list.ts'
import { ingestProject } from './project.ts'
import { Status, TraceId } from './wire.ts'

const Query = v.strictObject({
  group_id: v.optional(
    v.pipe(v.string(), v.metadata({ description: 'The ID of the conversation or session, from the metadata' })),
  ),
  name: v.optional(v.string()),
  status: v.optional(Status),
  limit: shownAs(
    v.optional(
      v.pipe(
        v.string(),
        v.regex(/^0*[1-9]\d*$/, 'must be a positive whole number'),
        v.transform(value => Math.min(Number(value), SEARCH_MAX_LIMIT)),
      ),
      String(SEARCH_DEFAULT_LIMIT),
    ),
    v.optional(
      v.pipe(
        // Any size is allowed; the search caps it.
        v.number(),
        v.integer(),
        v.minValue(1),
        v.metadata({
          description: `The maximum number of traces to return. Values over ${SEARCH_MAX_LIMIT} are treated as ${SEARCH_MAX_LIMIT}.`,
        }),
      ),
      SEARCH_DEFAULT_LIMIT,
    ),
  ),
})

export const Hit = v.object({
  id: v.pipe(Uuid, v.metadata({ description: 'The ID for GET /api/traces/{traceId}' })),
  trace_id: TraceId,
  name: v.string(),
  status: Status,
  metadata: StoredObject,
  timestamp: IsoTime,
})

const CUT = `Only the newest ${MAX_SCANNED_TRACES} traces that could match were searched in each database; GET /api/traces pages through all of them`

export const searchTraces = endpoint({
  family: 'ingest',
  method: 'GET',
  path: '/api/v1/traces/search',
  summary: 'Search traces by name, status, and metadata',
  description: 'Returns the traces that match all filters.',
  scope: ['ingest', 'read'],
  query: Query,
  metadataPrefix: '',
  responses: {
    200: v.object({
      traces: v.array(Hit),
      count: v.number(),
      warnings: v.optional(
        v.pipe(
          v.array(v.string()),
          v.metadata({ description: 'Present if the search skipped older traces that might match.' }),
        ),
      ),
    }),
  },
  example: {
    query: { group_id: 'session-1' },
    answers: {
      200: {
        traces: [
          {
            id: TRACE_UUID,
            trace_id: TRACE_ID,
            name: 'support-answer',
            status: 'completed',
            metadata: METADATA,
            timestamp: STARTED,
          },
        ],
        count: 1,
      },
    },
  },
}).handle(async ({ query, metadataFilters, caller, store, headers }) => {
  const { group_id, name, status, limit } = query
  const filters = group_id === undefined ? metadataFilters : [{ path: 'group_id', value: group_id }, ...metadataFilters]
  const count = [name, status, ...filters].filter(filter => filter !== undefined).length
  if (count === 0) throw badRequest('No search parameter given')
  if (count > MAX_SEARCH_FILTERS) throw badRequest(`At most ${MAX_SEARCH_FILTERS} search parameters are allowed`)
  const project = await ingestProject({ caller, store, headers })
  const filter = { name, status, fields: await comparableFields(filters) }
  const { items, nextPlace } = await findMatches(store, project, filter, { limit, after: undefined })
  const traces = items.map(({ id, traceId, name, status, metadata, timestamp }) => ({
    id,
    trace_id: traceId,
    name,
    status,
    metadata,
    timestamp: isoTime(timestamp),
  }))
  const isCut = nextPlace !== null && traces.length < limit
  return { status: 200, body: { traces, count: traces.length, ...(isCut && { warnings: [CUT] }) } }
})
