import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { CURSOR, PROJECT_ID, SPAN_ID, TRACE_ID, TRACE_UUID } from '../api/story.ts'
import type { Caller } from '../auth/authenticate.ts'
import { requireFound } from '../auth/require-project.ts'
import { isUuid } from '../domain/ids.ts'
import { NAMED_BY } from '../domain/problem.ts'
import { SPAN_REVIEW_FILTERS } from '../domain/review-state.ts'
import { WATCHED_SIDES } from '../domain/watch.ts'
import { described, timestamp, Uuid, uuid } from '../http/atoms.ts'
import { NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { badRequest, notFound } from '../http/errors.ts'
import { DAY_MS, MAX_FILTERED_VERSIONS, MAX_SCANNED_DECISIONS, MAX_SCANNED_TRACES } from '../limits.ts'
import { isForeignSpan } from '../store/accounts/ownership.ts'
import type { Project } from '../store/accounts/projects.ts'
import type { Store } from '../store/core/store.ts'
import { findProblem } from '../store/problems/problem-ids.ts'
import { type DecisionFilter, type DecisionPlace, listDecidedSpans } from '../store/reviews/decided-spans.ts'
import { searchDecidedSpans, searchSpans } from '../store/search/spans.ts'
import { findSpan } from '../store/spans/located-spans.ts'
import { listSpans as walkSpans } from '../store/spans/span-list.ts'
import type { SpanPlace } from '../store/spans/spans-in-traces.ts'
import { findWatchedDecisions } from '../store/texts/watch.ts'
import { assigneeFor, assigneeParameter } from './assignee.ts'
import { reviewedSpan, span } from './examples.ts'
import { projectSelector, selectedProject } from './project.ts'
import { containsParameter, SEARCH_DESCRIPTION, searchAnswer, searchFields, sought } from './text-search.ts'
import { TrueOrFalse } from './trace-filters.ts'
import { Payloads, SpanOfTrace, toSpanOfTrace } from './wire.ts'

export const getSpan = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/spans/{spanId}',
  summary: 'Get a span',
  scope: 'read',
  at: 'span',
  params: v.object({ spanId: Uuid }),
  etag: 'own',
  responses: { 200: SpanOfTrace },
  example: {
    params: { spanId: SPAN_ID },
    answers: { 200: { ...span, trace: { id: TRACE_UUID, traceId: TRACE_ID, name: 'support-answer' } } },
  },
}).handle(async ({ params, caller, store, unscoped }) => {
  const { spanId } = params
  const isForeign = () => isForeignSpan(unscoped, store.organization, spanId)
  const span = toSpanOfTrace(await requireFound(caller, await findSpan(store, spanId), isForeign))
  return { status: 200, body: span, etag: span.etag }
})

const STATES = { accept: 'accepted', correct: 'corrected' } as const

/** Selects spans without a prompt version. */
const NO_VERSION = 'none'
const versionsIn = (value: string): string[] => value.toLowerCase().split(',')

function areVersions(value: string): boolean {
  const versions = versionsIn(value)
  return (
    versions.length <= MAX_FILTERED_VERSIONS && versions.every(version => version === NO_VERSION || isUuid(version))
  )
}

const spanFilters = {
  stepId: described(v.optional(v.string()), 'Spans of this step'),
  promptVersionId: described(
    v.optional(
      v.pipe(
        v.string(),
        v.check(areVersions, `must be up to ${MAX_FILTERED_VERSIONS} UUIDs or none, separated by commas`),
        v.transform(value => versionsIn(value).map(version => (version === NO_VERSION ? '' : version))),
      ),
    ),
    `Spans that used this version or, if you give up to ${MAX_FILTERED_VERSIONS} versions separated by commas, any of them. \`none\` selects spans without a version.`,
  ),
  model: described(v.optional(v.string()), 'Spans with this model'),
  review: described(
    v.optional(v.picklist(SPAN_REVIEW_FILTERS)),
    "Spans in this review state. unreviewed: the output still needs a first review; stale: the output has changed since the review. accepted and corrected leave out stale reviews; reviewed is accepted or corrected, and waiting is unreviewed or stale. Roots that show another span's review are left out.",
  ),
  hasOutput: v.optional(TrueOrFalse),
  reviewable: described(v.optional(v.literal('true')), 'Only outputs that people review, counted as in Insights'),
  assignee: assigneeParameter,
  from: v.optional(timestamp('Spans of traces at or after this time')),
  to: v.optional(timestamp('Spans of traces before this time')),
  kind: described(
    v.optional(v.literal('all')),
    "`all` also includes telemetry that isn't from an AI pipeline. Lists of decisions always include it.",
  ),
}

const decisionFilters = {
  decision: described(
    v.optional(v.picklist(['accept', 'correct'])),
    'Spans with this current decision. Approving an unchanged output counts as `accept`, as in the history.',
  ),
  errorType: described(
    v.optional(v.pipe(v.string(), v.minLength(1, 'must not be empty'))),
    'Spans whose decision names this error type',
  ),
  reviewerId: v.optional(uuid('Spans whose decision was made by this user, or by this key if it acts for no user')),
  reviewedFrom: v.optional(timestamp('The first UTC day of the decisions, given as any time on that day')),
  reviewedTo: v.optional(
    timestamp(
      "The last UTC day of the decisions, given as any time on that day. If the time is exactly midnight, the day that begins then isn't included.",
    ),
  ),
}

const problemFilter = {
  problemId: v.optional(
    uuid(
      "The cases of this problem, newest first. `reviewedFrom` and `reviewedTo` then select the days of the cases. Can't be combined with `stepId`, `promptVersionId`, `decision`, `errorType`, or `reviewerId`.",
    ),
  ),
  namedBy: described(
    v.optional(v.picklist(NAMED_BY)),
    '`engine`: cases whose type only the engine named; `reviewer`: all other cases. Requires `problemId`.',
  ),
}

const watchFilter = {
  watchedPromptId: v.optional(
    uuid(
      "The decisions that this prompt's watch counts, whether or not they're still current. Decisions on deleted or expired traces can't be listed. Can't be combined with `problemId`.",
    ),
  ),
  watchedSide: described(
    v.optional(v.picklist(WATCHED_SIDES)),
    '`after` (the default): decisions on the active version; `before`: decisions on the previous version. Requires `watchedPromptId`.',
  ),
}

/** The query parameters that filter lists of spans. */
export const spanListFilters = {
  ...spanFilters,
  ...decisionFilters,
  ...problemFilter,
  ...watchFilter,
  contains: containsParameter('Spans'),
}

/**
 * The filters that can't be combined with a problem, because a problem's cases already determine their values, or
 * because they don't apply to cases that an engine found.
 */
const UNLIKE_PROBLEMS = ['stepId', 'promptVersionId', 'decision', 'errorType', 'reviewerId', 'watchedPromptId'] as const

/**
 * A list's filter in the store's form, the text that its spans must contain, and whether it's a list of decisions or of
 * a problem's cases. 404 if the project has no such problem, or no such prompt with a watch.
 */
export async function spanListFilter(
  { caller, store }: { caller: Caller; store: Store },
  project: Project,
  query: v.InferOutput<v.StrictObjectSchema<typeof spanListFilters, undefined>>,
) {
  const { decision, errorType, reviewerId, reviewedFrom, reviewedTo, problemId, watchedPromptId } = query
  const unlike = UNLIKE_PROBLEMS.find(name => problemId !== undefined && query[name] !== undefined)
  if (unlike) throw badRequest('must not be combined with `problemId`', unlike)
  if (query.namedBy !== undefined && problemId === undefined) throw badRequest('requires problemId', 'namedBy')
  if (query.watchedSide !== undefined && watchedPromptId === undefined) {
    throw badRequest('requires watchedPromptId', 'watchedSide')
  }
  const filter: DecisionFilter = {
    ...query,
    assignee: assigneeFor(caller, query.assignee),
    promptVersionIds: query.promptVersionId,
    reviewable: query.reviewable && true,
    state: decision && STATES[decision],
    reviewedFrom: reviewedFrom === undefined ? undefined : Math.floor(reviewedFrom / DAY_MS),
    reviewedTo: reviewedTo === undefined ? undefined : Math.ceil(reviewedTo / DAY_MS),
  }
  requireRange(filter.from, filter.to, 'from')
  requireRange(filter.reviewedFrom, filter.reviewedTo, 'reviewedFrom')
  const isByDecision = [decision, errorType, reviewerId, reviewedFrom, reviewedTo, problemId, watchedPromptId].some(
    field => field !== undefined,
  )
  const problem = problemId === undefined ? undefined : await findProblem(store, problemId)
  if (problemId !== undefined && problem?.projectKey !== project.key)
    throw notFound('No problem in the project has this ID')
  const watched =
    watchedPromptId && (await findWatchedDecisions(store, project.key, watchedPromptId, query.watchedSide ?? 'after'))
  if (watchedPromptId !== undefined && !watched)
    throw notFound('The project has no prompt with this ID, or the prompt has no watch')
  return {
    filter: { ...filter, problem, watched: watched || undefined },
    contained: sought(query.contains),
    isByDecision,
  }
}

export const listSpans = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/spans',
  summary: "List a project's spans across traces",
  description:
    `Without a review filter, the newest traces come first, and a page looks at up to ${MAX_SCANNED_TRACES} traces in each database. ` +
    'With `decision`, `errorType`, `reviewerId`, `reviewedFrom`, or `reviewedTo`, the list has one span for each current ' +
    'decision that insights count, newest decision first. Each span has the step and prompt version that were recorded at the time of the decision. ' +
    `A page looks at up to ${MAX_SCANNED_DECISIONS} decisions in each database. ` +
    "With `problemId`, the list has that problem's cases: corrections and, for each trace that has no correction but was analyzed by an engine, the span that the engine blames or, if it blames none, the root. " +
    "With `watchedPromptId`, the list has the decisions that the prompt's `watch` counts. " +
    'A page ends at 8 MiB of values and may be short even if more spans follow. ' +
    SEARCH_DESCRIPTION,
  scope: 'read',
  query: v.strictObject({
    ...projectSelector,
    ...spanListFilters,
    payloads: Payloads,
    ...pageParameters,
  }),
  errors: { 404: 'Not found' },
  responses: {
    200: v.object({
      spans: v.array(SpanOfTrace),
      expired: described(
        v.optional(v.number()),
        "On the first page of a list with a review filter and no filter by `model`, `review`, `hasOutput`, `from`, `to`, or `contains`: how many more decisions that match are counted in insights, although they can't be listed because their traces have expired. Includes decisions on deleted traces until a job corrects the counts, within a minute or so.",
      ),
      ...searchFields,
      nextCursor: NextCursor,
    }),
  },
  example: {
    query: { projectId: PROJECT_ID, decision: 'correct' },
    answers: { 200: { spans: [reviewedSpan], expired: 3, nextCursor: CURSOR } },
  },
}).handle(async context => {
  const { query, store } = context
  const { payloads: mode } = query
  const project = await selectedProject(context, query)
  const { filter, contained, isByDecision } = await spanListFilter(context, project, query)
  const list = (order: string) => ['spans', store.organization.id, project.id, order]
  const { items, ...more } = isByDecision
    ? await pageOf({
        list: list('decision'),
        query,
        place: DECISION_PLACE,
        read: async (limit, place) => {
          const asked = { limit, after: place && toDecisionPlace(place), mode }
          if (!contained) {
            const { spans, nextPlace, expired } = await listDecidedSpans(store, project, filter, asked)
            return { items: spans, expired, nextPlace: nextPlace && fromDecisionPlace(nextPlace) }
          }
          const { spans, nextPlace, ...unsearched } = await searchDecidedSpans(store, project, filter, contained, asked)
          const answer = searchAnswer(nextPlace?.createdAt, unsearched)
          return { items: spans, ...answer, nextPlace: nextPlace && fromDecisionPlace(nextPlace) }
        },
      })
    : await pageOf({
        list: list('trace'),
        query,
        place: SPAN_PLACE,
        read: async (limit, place) => {
          const asked = { limit, after: place && toSpanPlace(place), mode }
          if (!contained) {
            const { spans, nextPlace } = await walkSpans(store, project, filter, asked)
            return { items: spans, nextPlace: nextPlace && fromSpanPlace(nextPlace) }
          }
          const { spans, nextPlace, ...unsearched } = await searchSpans(store, project, filter, contained, asked)
          const answer = searchAnswer(nextPlace?.at, unsearched)
          return { items: spans, ...answer, nextPlace: nextPlace && fromSpanPlace(nextPlace) }
        },
      })
  return { status: 200, body: { spans: items.map(toSpanOfTrace), ...more } }
})

/** 400 if a range is empty. */
function requireRange(from: number | undefined, to: number | undefined, parameter: 'from' | 'reviewedFrom'): void {
  if (from === undefined || to === undefined || from < to) return
  throw badRequest(`must be before \`${parameter === 'from' ? 'to' : 'reviewedTo'}\``, parameter)
}

/* The places in the lists, as cursors store them. */

export const SPAN_PLACE = ['number', 'string', 'number', 'number', 'string'] as const

export const DECISION_PLACE = ['number', 'number', 'string', 'number'] as const

export const fromSpanPlace = ({ at, traceUuid, rank, timestamp, spanId }: SpanPlace) =>
  [at, traceUuid, rank, timestamp, spanId] as const

export const toSpanPlace = ([at, traceUuid, rank, timestamp, spanId]: ReturnType<typeof fromSpanPlace>): SpanPlace => ({
  at,
  traceUuid,
  rank,
  timestamp,
  spanId,
})

export const fromDecisionPlace = ({ createdAt, traceKey, spanId, number }: DecisionPlace) =>
  [createdAt, traceKey, spanId, number] as const

export const toDecisionPlace = ([createdAt, traceKey, spanId, number]: ReturnType<
  typeof fromDecisionPlace
>): DecisionPlace => ({ createdAt, traceKey, spanId, number })
