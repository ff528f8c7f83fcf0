import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import {
  CORRECTION,
  CURSOR,
  FEEDBACK_UUID,
  JUDGED,
  PROJECT_ID,
  ROOT_SPAN_ID,
  TRACE_UUID,
  USER_ID,
} from '../api/story.ts'
import { requireFound } from '../auth/require-project.ts'
import { traceUuid } from '../domain/ids.ts'
import { described, Uuid } from '../http/atoms.ts'
import { cursorOf, limitParameter, NextCursor, pageOf, pageParameters, placeOf } from '../http/cursor.ts'
import { badRequest, notFound } from '../http/errors.ts'
import { feedback } from '../ingest/examples.ts'
import { TraceId } from '../ingest/wire.ts'
import { MAX_DETAIL_FEEDBACK, MAX_DETAIL_SPANS, MAX_SCANNED_TRACES, MAX_WHOLE_SPANS } from '../limits.ts'
import { isForeignTrace } from '../store/accounts/ownership.ts'
import { searchTraces } from '../store/search/traces.ts'
import { type DetailPage, findTraceDetail } from '../store/spans/trace-detail.ts'
import { countGoneAnswers } from '../store/traces/answered-traces.ts'
import { storeOfTrace } from '../store/traces/placed.ts'
import { listSorted, type SortedPlace, TRACE_ORDERS } from '../store/traces/sorted-list.ts'
import { listTraces as readTraces } from '../store/traces/trace-list.ts'
import { listedTrace, rootSpan, span, traceItem } from './examples.ts'
import { projectSelector, selectedProject } from './project.ts'
import { SEARCH_DESCRIPTION, searchAnswer, searchFields } from './text-search.ts'
import { traceListFilter, traceListFilters } from './trace-filters.ts'
import { ListedTrace, Payloads, Trace, toListedTrace, toTrace, writeSpan } from './wire.ts'

const SortedOver = v.optional(
  v.pipe(
    v.object({
      traces: v.number(),
      isAll: described(v.boolean(), 'Whether all matching traces were sorted. If not, older traces may also match.'),
    }),
    v.metadata({ description: 'With `sort`: how many matching traces were sorted' }),
  ),
)

export const listTraces = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/traces',
  summary: "List a project's traces, newest first",
  description: SEARCH_DESCRIPTION,
  scope: 'read',
  query: v.strictObject({
    ...projectSelector,
    ...traceListFilters,
    sort: described(
      v.optional(v.picklist(TRACE_ORDERS)),
      `Sorts the matches among the newest ${MAX_SCANNED_TRACES} traces in each database, highest value first. Traces without a value come last.`,
    ),
    ...pageParameters,
  }),
  metadataPrefix: 'metadata.',
  errors: { 404: 'Not found' },
  responses: {
    200: v.object({
      traces: v.array(ListedTrace),
      expired: described(
        v.optional(v.number()),
        "On the first page of a list that has only `engine…` filters: how many more of the engines' answers that match are counted in insights, although their traces can't be listed because they have expired. Includes answers on deleted traces until a job corrects the counts, within a minute or so.",
      ),
      ...searchFields,
      sortedOver: SortedOver,
      nextCursor: NextCursor,
    }),
  },
  example: {
    query: { projectId: PROJECT_ID },
    answers: { 200: { traces: [listedTrace], nextCursor: CURSOR } },
  },
}).handle(async context => {
  const { query, store } = context
  const project = await selectedProject(context, query)
  const { filter, contained } = await traceListFilter(context, project)
  const list = (...order: string[]) => ['traces', store.organization.id, project.id, ...order]
  const order = query.sort
  if (order && contained) throw badRequest("can't be combined with `contains`", 'sort')
  const { items, ...more } = order
    ? await pageOf({
        list: list(order),
        query,
        place: ['number', 'number', 'string', 'number', 'string'],
        read: async (limit, place) => {
          const after = place && toSortedPlace(place)
          const { items, nextPlace, ...sorted } = await listSorted(store, project, filter, { order, limit, after })
          const sortedOver = { traces: sorted.sorted, isAll: sorted.isAll }
          return { items, sortedOver, nextPlace: nextPlace && fromSortedPlace(nextPlace) }
        },
      })
    : contained
      ? await pageOf({
          list: list('contains'),
          query,
          place: ['number', 'string', 'string'],
          read: async (limit, place) => {
            const after = place && { timestamp: place[0], id: place[1], spanId: place[2] }
            const page = { limit, after }
            const { items, nextPlace, ...unsearched } = await searchTraces(store, project, filter, contained, page)
            const answer = searchAnswer(nextPlace?.timestamp, unsearched)
            return { items, ...answer, nextPlace: nextPlace && [nextPlace.timestamp, nextPlace.id, nextPlace.spanId] }
          },
        })
      : await pageOf({
          list: list(),
          query,
          place: ['number', 'string'],
          read: async (limit, place) => {
            const after = place && { timestamp: place[0], id: place[1] }
            const isCounted = !after && isOfAnswers(query) && filter.fields.length === 0
            const [{ items, nextPlace }, expired] = await Promise.all([
              readTraces(store, project, filter, { limit, after }),
              isCounted ? countGoneAnswers(store, project, filter) : undefined,
            ])
            return { items, expired, nextPlace: nextPlace && [nextPlace.timestamp, nextPlace.id] }
          },
        })
  return { status: 200, body: { traces: items.map(toListedTrace), ...more } }
})

/** Whether a query filters only by engines' answers. Only those filters match what insights count. */
const isOfAnswers = (query: object): boolean => {
  const filters = Object.keys(query).filter(name => !UNFILTERED.includes(name))
  return filters.length > 0 && filters.every(name => name.startsWith('engine'))
}
const UNFILTERED: readonly string[] = [...Object.keys(projectSelector), ...Object.keys(pageParameters), 'kind']

/* A place in a sorted list, as cursors store it. */

const fromSortedPlace = ({ value, timestamp, id, newest }: SortedPlace) =>
  [value, timestamp, id, newest.timestamp, newest.id] as const

const toSortedPlace = ([value, timestamp, id, newestAt, newestId]: ReturnType<
  typeof fromSortedPlace
>): SortedPlace => ({ value, timestamp, id, newest: { timestamp: newestAt, id: newestId } })

export const getTrace = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/traces/{traceId}',
  summary: 'Get a trace with its spans and feedback',
  description: 'A page requested with spanCursor or feedbackCursor continues only that list.',
  scope: 'read',
  params: v.object({
    traceId: described(v.union([Uuid, TraceId]), "The trace's ID or, with a project selector, its trace_id"),
  }),
  query: v.strictObject({
    ...projectSelector,
    payloads: Payloads,
    spanLimit: limitParameter(
      MAX_DETAIL_SPANS,
      `The number of spans per page. If you ask for at most ${MAX_WHOLE_SPANS}, all values are shown in full, and the page ends when they reach 8 MiB. ` +
        `Default: up to ${MAX_DETAIL_SPANS} spans or 16 MiB; if there are more than ${MAX_WHOLE_SPANS} spans or 8 MiB of values, ` +
        'each value over 256 bytes is replaced with a string: the first 256 bytes of its JSON.',
    ),
    spanCursor: described(v.optional(v.string()), 'The nextSpanCursor of the previous page'),
    feedbackLimit: limitParameter(
      MAX_DETAIL_FEEDBACK,
      `The number of pieces of feedback per page. Default: ${MAX_DETAIL_FEEDBACK}.`,
    ),
    feedbackCursor: described(v.optional(v.string()), 'The nextFeedbackCursor of the previous page'),
  }),
  responses: { 200: Trace },
  example: {
    params: { traceId: TRACE_UUID },
    answers: {
      200: {
        ...traceItem,
        project: { id: PROJECT_ID, slug: 'support' },
        spans: [rootSpan, span],
        nextSpanCursor: null,
        feedback: [
          {
            id: FEEDBACK_UUID,
            spanId: ROOT_SPAN_ID,
            userId: USER_ID,
            content: feedback.comment,
            name: feedback.name,
            rating: 'negative',
            correction: CORRECTION,
            labeller: feedback.labeller,
            source: 'api',
            truncated: [],
            createdAt: JUDGED,
            receivedAt: JUDGED,
          },
        ],
        nextFeedbackCursor: null,
      },
    },
  },
}).handle(async ({ params, query, caller, store, unscoped }) => {
  const isNamed = params.traceId.startsWith('trace_')
  const isSelected = isNamed || query.projectSlug !== undefined || query.projectId !== undefined
  const project = isSelected ? await selectedProject({ caller, store, unscoped }, query) : undefined
  const traceId = project && isNamed ? await traceUuid(project.id, params.traceId) : params.traceId
  // A client's id can't refer to another organization's trace, because it's looked up in the selected project.
  const isForeign = async () => !isNamed && isForeignTrace(unscoped, store.organization, traceId)
  const list = (name: string) => [name, store.organization.id, traceId]
  const afterSpan = await placeOf(list('spans'), ['number', 'number', 'string'], query.spanCursor, 'spanCursor')
  const afterFeedback = await placeOf(
    list('feedback'),
    ['number', 'number', 'string'],
    query.feedbackCursor,
    'feedbackCursor',
  )
  const page: DetailPage = {
    mode: query.payloads,
    spanLimit: query.spanLimit ?? null,
    afterSpan: afterSpan && { rank: afterSpan[0], timestamp: afterSpan[1], id: afterSpan[2] },
    feedbackLimit: query.feedbackLimit ?? MAX_DETAIL_FEEDBACK,
    afterFeedback: afterFeedback && { timestamp: afterFeedback[0], receivedAt: afterFeedback[1], id: afterFeedback[2] },
  }
  const shard = await storeOfTrace(store, traceId)
  const trace = await requireFound(caller, await findTraceDetail(shard, traceId, page, writeSpan), isForeign)
  if (project && project.key !== trace.projectKey) throw notFound()
  const { nextSpan, nextFeedback } = trace
  const nextSpanCursor = await cursorOf(list('spans'), nextSpan && [nextSpan.rank, nextSpan.timestamp, nextSpan.id])
  const nextFeedbackCursor = await cursorOf(
    list('feedback'),
    nextFeedback && [nextFeedback.timestamp, nextFeedback.receivedAt, nextFeedback.id],
  )
  return { status: 200, body: toTrace(trace, { nextSpanCursor, nextFeedbackCursor }) }
})
