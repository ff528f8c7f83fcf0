import { describe, it } from 'vitest'
import { endpoints } from '../../src/app.ts'
import { unknownPath } from '../../src/native-protocols.ts'
import { countingBindings } from '../support/bindings.ts'
import { send } from '../support/org.ts'

const LANGSMITH = 'set LANGSMITH_TRACING_MODE=otel. See docs/sdks/langsmith.md'
const OPIK = 'Send traces with OpenTelemetry to /api/v1/otel at this address. See docs/sdks/README.md'

/** Requests that SDKs send to their own services. */
const REQUESTS = [
  ['LangSmith', 'GET', '/info', LANGSMITH],
  ['LangSmith', 'POST', '/runs/multipart', LANGSMITH],
  ['LangSmith', 'POST', '/runs/batch', LANGSMITH],
  ['LangSmith', 'PATCH', '/runs/b7c1a5d0-0000-4000-8000-000000000000', LANGSMITH],
  ['LangSmith', 'POST', '/runs', LANGSMITH],
  ['LangSmith under /api/v1', 'POST', '/api/v1/runs/multipart', LANGSMITH],
  ['LangSmith under /api', 'GET', '/api/info', LANGSMITH],
  ['LangSmith at the path for exports', 'POST', '/api/v1/otel/runs/multipart', LANGSMITH],
  ['LangSmith’s datasets', 'POST', '/v1/platform/datasets/1/examples', LANGSMITH],
  ['Langfuse 2', 'POST', '/api/public/ingestion', 'since version 3 for Python and version 4 for JavaScript'],
  ['Langfuse’s scores', 'POST', '/api/public/scores', 'Send them to POST /api/v1/feedback.'],
  [
    'Langfuse’s prompts',
    'GET',
    '/api/public/v2/prompts/answer?label=production',
    'or read prompts from GET /api/prompts',
  ],
  ['Langfuse’s projects', 'GET', '/api/public/projects', '/api/public/otel. See docs/sdks/langfuse.md'],
  [
    'MLflow',
    'GET',
    '/api/2.0/mlflow/experiments/get-by-name?experiment_name=support',
    'set OTEL_EXPORTER_OTLP_TRACES_ENDPOINT to /api/v1/otel/v1/traces at this address. See docs/sdks/mlflow.md',
  ],
  ['MLflow 3', 'POST', '/api/3.0/mlflow/traces', 'docs/sdks/mlflow.md'],
  ['Opik', 'POST', '/api/v1/private/traces/batch', OPIK],
  ['Opik’s check', 'GET', '/api/is-alive/ping', OPIK],
] as const

describe('a request in another service’s protocol', () => {
  it.for(REQUESTS)('from %s, %s %s, gets a 404 with instructions', async ([, method, path, advice], { expect }) => {
    const { bindings, counts } = countingBindings()
    const response = await send(new Request(`https://countersign.test${path}`, { method }), bindings)
    expect(response.status).toBe(404)
    expect(response.body).toEqual({
      error: expect.stringContaining(advice),
      code: 'not_found',
      requestId: response.headers.get('x-request-id'),
    })
    expect(Object.values(counts).every(count => count === 0)).toBe(true)
  })

  it.for([
    '/runsheet',
    '/infos',
    '/nope/runs',
    '/api/v1/information',
    '/api/publicity',
    '/api/2.0/other',
    '/v1/privateer',
  ])('is not recognized from the path %s', (path, { expect }) => {
    expect(unknownPath(path).message).toBe('Not found')
  })

  it('matches no endpoints except Langfuse’s paths for exports', ({ expect }) => {
    const taken = endpoints
      .map(({ contract }) => contract.path)
      .filter(path => unknownPath(path).message !== 'Not found')
    expect(taken).toEqual(['/api/public/otel/v1/traces', '/api/public/otel/v1/logs', '/api/public/otel/v1/metrics'])
  })
})
