import * as v from 'valibot'
import { RATINGS } from '../domain/feedback.ts'
import { traceUuid } from '../domain/ids.ts'
import { comparableFields, type SearchableField } from '../domain/metadata.ts'
import { TRACE_REVIEW_STATES } from '../domain/review-state.ts'
import type { SoughtText } from '../domain/text-search.ts'
import { TRACE_STATUSES } from '../domain/trace-status.ts'
import { described, timestamp, uuid } from '../http/atoms.ts'
import { badRequest } from '../http/errors.ts'
import { TraceId } from '../ingest/wire.ts'
import { DAY_MS, MAX_SEARCH_FILTERS } from '../limits.ts'
import type { Project } from '../store/accounts/projects.ts'
import type { TraceFilter } from '../store/traces/trace-filter.ts'
import { containsParameter, nameContains, sought } from './text-search.ts'

/** A query parameter that is either `true` or `false`. */
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
        description:
          'Traces with feedback that has this rating. Ratings above 0.5 are positive, and ratings below 0.5 are negative.',
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
  engineErrorType: described(
    v.optional(v.pipe(v.string(), v.minLength(1, 'must not be empty'))),
    "Traces for which the engine's latest answer names this type, even if a review sets another type. Insights count these answers.",
  ),
  engineStepId: described(v.optional(v.string()), "Traces for which the engine's latest answer blames this step"),
  engineHasStep: described(v.optional(TrueOrFalse), "Whether the engine's latest answer blames a step"),
  engineFrom: v.optional(timestamp("The first UTC day of the engine's latest answers, given as any time on that day")),
  engineTo: v.optional(
    timestamp(
      "The last UTC day of the engine's latest answers, given as any time on that day. If the time is exactly midnight, the day that begins then isn't included.",
    ),
  ),
  kind: v.optional(
    v.pipe(
      v.literal('all'),
      v.metadata({
        description:
          "`all` also includes telemetry that isn't from an AI pipeline and, in the queue, outputs that don't need review",
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
  const engineFrom = query.engineFrom === undefined ? undefined : Math.floor(query.engineFrom / DAY_MS)
  const engineTo = query.engineTo === undefined ? undefined : Math.ceil(query.engineTo / DAY_MS)
  if (engineFrom !== undefined && engineTo !== undefined && engineFrom >= engineTo) {
    throw badRequest('must be before `engineTo`', 'engineFrom')
  }
  return { ...query, engineFrom, engineTo, fields: await comparableFields(metadataFilters) }
}

/** The query parameters that filter lists of traces themselves. */
export const traceListFilters = {
  traceId: described(v.optional(TraceId), 'The trace with this trace_id'),
  nameContains,
  contains: containsParameter('Traces'),
  ...traceFilters,
}

/** The filter of a list of a project's traces, and the text that its traces must contain. */
export async function traceListFilter(
  context: {
    query: v.InferOutput<v.StrictObjectSchema<typeof traceListFilters, undefined>>
    metadataFilters: readonly SearchableField[]
  },
  project: Project,
): Promise<{ filter: TraceFilter; contained: SoughtText | undefined }> {
  const { traceId, nameContains, contains } = context.query
  const id = traceId === undefined ? undefined : await traceUuid(project.id, traceId)
  return {
    filter: { ...(await traceFilter(context)), id, nameContains: sought(nameContains) },
    contained: sought(contains),
  }
}
