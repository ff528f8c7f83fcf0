import * as v from 'valibot'
import { RATINGS } from '../domain/feedback.ts'
import { comparableFields, type SearchableField } from '../domain/metadata.ts'
import { TRACE_REVIEW_STATES } from '../domain/review-state.ts'
import { TRACE_STATUSES } from '../domain/trace-status.ts'
import { timestamp, uuid } from '../http/atoms.ts'
import { badRequest } from '../http/errors.ts'
import { MAX_SEARCH_FILTERS } from '../limits.ts'
import type { TraceFilter } from '../store/traces/trace-filter.ts'

/** A yes or no in a query. */
export const TrueOrFalse = v.pipe(
  v.picklist(['true', 'false']),
  v.transform(value => value === 'true'),
)

/** The query parameters that filter lists of traces and of their parts. */
export const traceFilters = {
  status: v.optional(v.picklist(TRACE_STATUSES)),
  name: v.optional(v.string()),
  from: v.optional(timestamp('Traces at or after this time')),
  to: v.optional(timestamp('Traces before this time')),
  stepId: v.optional(v.pipe(v.string(), v.metadata({ description: 'Traces with a span for this step' }))),
  promptVersionId: v.optional(uuid('Traces with a span that used this version')),
  hasFeedback: v.optional(TrueOrFalse),
  rating: v.optional(
    v.pipe(
      v.picklist(RATINGS),
      v.metadata({
        description: 'Traces with this feedback. Numbers above 0.5 are positive, and numbers below 0.5 are negative.',
      }),
    ),
  ),
  review: v.optional(
    v.pipe(v.picklist(TRACE_REVIEW_STATES), v.metadata({ description: 'Traces in this review state' })),
  ),
  errorType: v.optional(
    v.pipe(
      v.string(),
      v.metadata({
        description: "Traces whose reviews name this type. If no review names a type, the engine's answer counts.",
      }),
    ),
  ),
  kind: v.optional(
    v.pipe(
      v.literal('all'),
      v.metadata({
        description:
          "Includes telemetry that isn't from an AI pipeline and, in the queue, outputs that don't need review",
      }),
    ),
  ),
}

type TraceFilters = v.InferOutput<v.StrictObjectSchema<typeof traceFilters, undefined>>

/** A list's filters in the store's form. 400 if there are too many metadata filters. */
export async function traceFilter({
  query,
  metadataFilters,
}: {
  query: TraceFilters
  metadataFilters: readonly SearchableField[]
}): Promise<TraceFilter> {
  if (metadataFilters.length > MAX_SEARCH_FILTERS) {
    throw badRequest(`At most ${MAX_SEARCH_FILTERS} metadata filters are allowed`)
  }
  return { ...query, fields: await comparableFields(metadataFilters) }
}
