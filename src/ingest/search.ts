import * as v from 'valibot'
import { comparable } from '../domain/metadata.ts'
import { IsoTime, isoTime, JsonObjectValue } from '../http/atoms.ts'
import { endpoint } from '../http/endpoint.ts'
import { badRequest } from '../http/errors.ts'
import { MAX_SEARCH_FILTERS, SEARCH_DEFAULT_LIMIT, SEARCH_MAX_LIMIT } from '../limits.ts'
import { searchTraces as findTraces } from '../store/trace-search.ts'
import { ingestProject } from './project.ts'
import { Status, TraceId } from './wire.ts'

const Query = v.looseObject({
  group_id: v.optional(
    v.pipe(v.string(), v.metadata({ description: 'Conversation or session id, from the metadata' })),
  ),
  name: v.optional(v.string()),
  status: v.optional(Status),
  limit: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^0*[1-9]\d*$/, 'must be a positive whole number'),
      v.metadata({
        description: `Default ${SEARCH_DEFAULT_LIMIT}; more than ${SEARCH_MAX_LIMIT} is served as ${SEARCH_MAX_LIMIT}`,
      }),
      v.transform(value => Math.min(Number(value), SEARCH_MAX_LIMIT)),
    ),
    String(SEARCH_DEFAULT_LIMIT),
  ),
})

const RESERVED = new Set(['name', 'status', 'limit'])

const Hit = v.object({
  trace_id: TraceId,
  name: v.string(),
  status: Status,
  metadata: JsonObjectValue,
  timestamp: IsoTime,
})

export const searchTraces = endpoint({
  method: 'GET',
  path: '/api/v1/traces/search',
  summary: 'Find traces by name, status and any metadata field; all that are given must match',
  scope: ['ingest', 'read'],
  query: Query,
  responses: { 200: v.object({ traces: v.array(Hit), count: v.number() }) },
}).handle(async ({ query, searchParams, caller, store, headers }) => {
  const { name, status, limit } = query
  // Not from `query`: valibot leaves out fields named __proto__ or constructor, which metadata may have.
  const filters = [...searchParams].filter(([field]) => !RESERVED.has(field))
  const filterCount = searchParams.size - (searchParams.has('limit') ? 1 : 0)
  if (filterCount === 0) throw badRequest('No search parameter given')
  if (filterCount > MAX_SEARCH_FILTERS) throw badRequest(`At most ${MAX_SEARCH_FILTERS} search parameters are allowed`)
  const project = await ingestProject({ caller, store, headers })
  const fields = await Promise.all(filters.map(async ([path, value]) => ({ path, value: await comparable(value) })))
  const found = await findTraces(store, project, { name, status, fields, limit })
  const traces = found.map(({ traceId, name, status, metadata, timestamp }) => ({
    trace_id: traceId,
    name,
    status,
    metadata,
    timestamp: isoTime(timestamp),
  }))
  return { status: 200, body: { traces, count: traces.length } }
})
