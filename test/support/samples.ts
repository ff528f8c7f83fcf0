import { aFeedback, anObservation, aTrace } from './builders.ts'
import type { Answer, Org } from './org.ts'

/** A tenant with one trace that has an observation and feedback: what samples refer to. */
export interface World {
  org: Org
  traceId: string
  id: string
}

/** A valid request to one endpoint. */
export interface Sample {
  path: (world: World) => string
  body?: (world: World) => object
  /** What the request names that belongs to a tenant, if anything: another tenant's must not be reached. */
  names?: 'trace' | 'project'
}

export async function newWorld(org: Org): Promise<World> {
  const trace = aTrace()
  const created: Answer = await org.ingest.post('/api/v1/traces', trace)
  await org.ingest.post('/api/v1/observations', anObservation({ trace_id: trace.trace_id }))
  await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id: trace.trace_id }))
  return { org, traceId: trace.trace_id, id: created.body.id }
}

const freshSlug = () => `slug-${crypto.randomUUID()}`

/** A valid request to every endpoint. The suites over the endpoint list fail for an endpoint that has none here. */
export const samples: Readonly<Record<string, Sample>> = {
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
  'GET /api/v1/traces/search': { path: () => '/api/v1/traces/search?group_id=session-1' },
  'GET /api/traces': { path: ({ org }) => `/api/traces?projectId=${org.project.id}`, names: 'project' },
  'GET /api/traces/{traceId}': { path: ({ id }) => `/api/traces/${id}`, names: 'trace' },
  'DELETE /api/traces/{traceId}': { path: ({ id }) => `/api/traces/${id}`, names: 'trace' },
  'POST /api/orgs': { path: () => '/api/orgs', body: () => ({ slug: freshSlug(), name: 'Sample' }) },
  'POST /api/orgs/{slug}/api-keys': { path: ({ org }) => `/api/orgs/${org.slug}/api-keys` },
  'GET /api/projects': { path: () => '/api/projects' },
  'POST /api/projects': { path: () => '/api/projects', body: () => ({ slug: freshSlug(), name: 'Sample' }) },
  'GET /api/api-keys': { path: () => '/api/api-keys' },
  'GET /openapi.json': { path: () => '/openapi.json' },
  'POST /api/api-keys': { path: () => '/api/api-keys', body: () => ({ name: 'Sample', scopes: ['read'] }) },
}
