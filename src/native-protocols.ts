import { type ApiError, notFound } from './http/errors.ts'

/** A path in another service's API, and what its users can do instead. */
interface Foreign {
  path: RegExp
  advice: string
}

/** The prefixes that an SDK may put between the service's address and its own paths, depending on its configuration. */
const BASE = '(?:/api/v1/otel|/api/v1|/api|/otel)?'

const LANGSMITH =
  "Countersign doesn't have LangSmith's own API. To send traces, set LANGSMITH_TRACING_MODE=otel. See docs/sdks/langsmith.md"
const LANGFUSE_TRACES =
  "Countersign doesn't have Langfuse's ingestion API, which its older SDKs use. Langfuse's SDKs have sent OpenTelemetry since version 3 for Python and version 4 for JavaScript. See docs/sdks/langfuse.md"
const LANGFUSE_SCORES =
  "Countersign doesn't have Langfuse's scores. Send them to POST /api/v1/feedback. See docs/sdks/langfuse.md"
const LANGFUSE_PROMPTS =
  "Countersign doesn't have Langfuse's prompts. Pass a fallback, or read prompts from GET /api/prompts. See docs/sdks/langfuse.md"
const LANGFUSE =
  "Countersign has only the part of Langfuse's API that receives traces, /api/public/otel. See docs/sdks/langfuse.md"
const MLFLOW =
  "Countersign doesn't have MLflow's tracking API. To send traces, leave the tracking URI as it is and set OTEL_EXPORTER_OTLP_TRACES_ENDPOINT to /api/v1/otel/v1/traces at this address. See docs/sdks/mlflow.md"
const OPIK =
  "Countersign doesn't have Opik's own API. Send traces with OpenTelemetry to /api/v1/otel at this address. See docs/sdks/README.md"

/**
 * The paths that other services' SDKs call unless they're configured to send OpenTelemetry. Most of these SDKs log the
 * body of a 404 and drop the traces.
 */
const FOREIGN: readonly Foreign[] = [
  { path: new RegExp(`^${BASE}/info$`), advice: LANGSMITH },
  { path: new RegExp(`^${BASE}/runs(/|$)`), advice: LANGSMITH },
  { path: new RegExp(`^${BASE}/(v1/)?platform/`), advice: LANGSMITH },
  { path: /^\/api\/public\/ingestion$/, advice: LANGFUSE_TRACES },
  { path: /^\/api\/public\/(v2\/)?scores(\/|$)/, advice: LANGFUSE_SCORES },
  { path: /^\/api\/public\/(v2\/)?prompts(\/|$)/, advice: LANGFUSE_PROMPTS },
  { path: /^\/api\/public\//, advice: LANGFUSE },
  { path: /^\/(ajax-)?api\/[23]\.0\/mlflow(-artifacts)?\//, advice: MLFLOW },
  { path: new RegExp(`^${BASE}/v1/private/`), advice: OPIK },
  { path: new RegExp(`^${BASE}/is-alive/(ping|ver)$`), advice: OPIK },
]

/** The 404 for a path without an endpoint. If the path is another service's, the error says what to use instead. */
export const unknownPath = (path: string): ApiError =>
  notFound(FOREIGN.find(foreign => foreign.path.test(path))?.advice)
