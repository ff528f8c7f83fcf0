import type { Endpoint } from '../api/endpoint.ts'
import { attributeTrace, getAttribution } from './attribute.ts'
import { postBatch } from './batch.ts'
import { createFeedback, deleteFeedback } from './feedback.ts'
import { listObservations } from './observation-list.ts'
import { createObservation } from './observations.ts'
import { searchTraces } from './search.ts'
import { postSpan } from './spans.ts'

/** All ingestion endpoints except `postTrace`, which is in `otlp`'s list because exports use the same path. */
export const ingest: readonly Endpoint[] = [
  postSpan,
  createObservation,
  createFeedback,
  deleteFeedback,
  postBatch,
  searchTraces,
  listObservations,
  attributeTrace,
  getAttribution,
]
