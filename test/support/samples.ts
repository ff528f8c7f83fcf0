import type { Contract } from '../../src/http/endpoint.ts'
import { aFeedback, anObservation, aSpan, aTrace } from './builders.ts'
import type { Answer, Client, Org } from './org.ts'

/** A tenant with one trace that has an observation and feedback: what samples refer to. */
export interface World {
  org: Org
  traceId: string
  id: string
  spanId: string
}

/** A valid request to one endpoint. */
interface Sample {
  path: (world: World) => string
  /** `scopes` are those of the calling key. */
  body?: (world: World, scopes?: readonly string[]) => object
  /** What the request names that belongs to a tenant, if anything: another tenant's must not be reached. */
  names?: 'trace' | 'span' | 'project'
}

export async function newWorld(org: Org): Promise<World> {
  const trace = aTrace()
  const created: Answer = await org.ingest.post('/api/v1/traces', trace)
  await org.ingest.post('/api/v1/observations', anObservation({ trace_id: trace.trace_id }))
  await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id: trace.trace_id }))
  const span = aSpan({ trace_id: trace.trace_id })
  await org.ingest.post('/api/v1/spans', span)
  return { org, traceId: trace.trace_id, id: created.body.id, spanId: span.span_id }
}

const freshSlug = () => `slug-${crypto.randomUUID()}`

const samples: Readonly<Record<string, Sample>> = {
  'POST /api/v1/traces': { path: () => '/api/v1/traces', body: () => aTrace() },
  'POST /api/v1/observations': {
    path: () => '/api/v1/observations',
    body: ({ traceId }) => anObservation({ trace_id: traceId }),
    names: 'trace',
  },
  'POST /api/v1/feedback': {
    path: () => '/api/v1/feedback',
    body: ({ traceId }) => aFeedback({ trace_id: traceId }),
    names: 'trace',
  },
  'POST /api/v1/spans': {
    path: () => '/api/v1/spans',
    body: ({ traceId }) => aSpan({ trace_id: traceId }),
    names: 'trace',
  },
  // What it names, its events name: a foreign trace is their 404, not the batch's.
  'POST /api/v1/batch': { path: () => '/api/v1/batch', body: () => ({ events: [{ type: 'trace', body: aTrace() }] }) },
  'GET /api/v1/traces/search': { path: () => '/api/v1/traces/search?group_id=session-1' },
  'GET /api/traces': { path: ({ org }) => `/api/traces?projectId=${org.project.id}`, names: 'project' },
  'GET /api/traces/{traceId}': { path: ({ id }) => `/api/traces/${id}`, names: 'trace' },
  'GET /api/spans/{spanId}': { path: ({ spanId }) => `/api/spans/${spanId}`, names: 'span' },
  'DELETE /api/traces/{traceId}': { path: ({ id }) => `/api/traces/${id}`, names: 'trace' },
  'POST /api/orgs': { path: () => '/api/orgs', body: () => ({ slug: freshSlug(), name: 'Sample' }) },
  'POST /api/orgs/{slug}/api-keys': { path: ({ org }) => `/api/orgs/${org.slug}/api-keys`, body: () => ({}) },
  'GET /api/projects': { path: () => '/api/projects' },
  'POST /api/projects': { path: () => '/api/projects', body: () => ({ slug: freshSlug(), name: 'Sample' }) },
  'GET /api/api-keys': { path: () => '/api/api-keys' },
  'GET /openapi.json': { path: () => '/openapi.json' },
  'POST /api/api-keys': { path: () => '/api/api-keys', body: (_, scopes = ['read']) => ({ name: 'Sample', scopes }) },
}

/** A valid request to an endpoint. Every endpoint must have one: the suites over the endpoint list are made of them. */
export function sampleOf({ method, path }: Contract): Sample {
  const sample = samples[`${method} ${path}`]
  if (!sample) throw new Error(`test/support/samples.ts has no sample for ${method} ${path}`)
  return sample
}

const METHODS = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'delete' } as const

/** The client's function for an endpoint's method. */
export const methodOf = ({ method }: Contract): keyof Client => METHODS[method]
