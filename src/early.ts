import type { Endpoint } from './api/endpoint.ts'
import { checkHealth } from './health.ts'
import { postBatch } from './ingest/batch.ts'
import { createFeedback } from './ingest/feedback.ts'
import { createObservation } from './ingest/observations.ts'
import { postSpan } from './ingest/spans.ts'
import { postTraceOrExport } from './otlp/by-content.ts'

/*
 * The endpoints that a new isolate loads with its entry point, because a pipeline calls them in every run. All others
 * are loaded with `app.ts` when a request needs one, because compiling them takes several times as long as compiling
 * these.
 */

const EARLY: readonly Endpoint[] = [
  postTraceOrExport,
  postSpan,
  createObservation,
  createFeedback,
  postBatch,
  checkHealth,
]

const byRoute = new Map(EARLY.map(each => [`${each.contract.method} ${each.contract.path}`, each]))

/** The early endpoint for a request. Early endpoints' paths have no parameters. */
export const findEarly = ({ method, url }: Request): Endpoint | undefined =>
  byRoute.get(`${method} ${new URL(url).pathname}`)
