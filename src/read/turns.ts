import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { CURSOR, PROJECT_ID, ROOT_SPAN_ID, TRACE_ID, TRACE_UUID } from '../api/story.ts'
import { comparableFields } from '../domain/metadata.ts'
import { traceReviewState } from '../domain/review-state.ts'
import { described, isoTime } from '../http/atoms.ts'
import { NextCursor, pageOf, pageParametersOf } from '../http/cursor.ts'
import { MAX_TURN_FEEDBACK, TURNS_DEFAULT_LIMIT, TURNS_MAX_LIMIT } from '../limits.ts'
import { listTurns as readTurns, type Turn as StoredTurn } from '../store/spans/turns.ts'
import { comment, rootSpan, traceItem } from './examples.ts'
import { GroupKey } from './groups.ts'
import { projectSelector, selectedProject } from './project.ts'
import { traceFilters } from './trace-filters.ts'
import { Feedback, Payloads, SpanOfTrace, TraceItem, toFeedback, toSpanOfTrace } from './wire.ts'

const { id, traceId, name, status, createdAt, durationMs, reviewState, staleCount, feedbackCount } = TraceItem.entries

export const Turn = v.object({
  id,
  traceId,
  name,
  status,
  createdAt,
  durationMs,
  reviewState,
  staleCount,
  feedbackCount,
  span: described(
    v.nullable(SpanOfTrace),
    'The root, if it has an output. Otherwise the last step with an output, or the root if none has one. Null if the trace has no spans yet.',
  ),
  feedback: described(
    v.array(Feedback),
    `Oldest first. A page has at most ${MAX_TURN_FEEDBACK} pieces of feedback; \`feedbackCount\` is the trace's total.`,
  ),
})

export const listTurns = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/groups/turns',
  summary: 'Read a conversation, or another group of traces',
  description:
    'Lists the traces with a given value at a metadata path, each with its input and output. A page ends at ' +
    '8 MiB of values, so it may be short even if more turns follow.',
  scope: 'read',
  query: v.strictObject({
    ...projectSelector,
    key: GroupKey,
    value: described(v.string(), "The group's value"),
    order: described(v.optional(v.picklist(['oldest', 'newest']), 'oldest'), 'Which traces come first'),
    kind: traceFilters.kind,
    payloads: Payloads,
    ...pageParametersOf(TURNS_DEFAULT_LIMIT, TURNS_MAX_LIMIT),
  }),
  errors: { 404: 'Not found' },
  responses: { 200: v.object({ turns: v.array(Turn), nextCursor: NextCursor }) },
  example: {
    query: { projectId: PROJECT_ID, value: 'session-1' },
    answers: {
      200: {
        turns: [
          {
            id: TRACE_UUID,
            traceId: TRACE_ID,
            name: traceItem.name,
            status: traceItem.status,
            createdAt: traceItem.createdAt,
            durationMs: traceItem.durationMs,
            reviewState: traceItem.reviewState,
            staleCount: 0,
            feedbackCount: 1,
            span: {
              ...rootSpan,
              id: ROOT_SPAN_ID,
              trace: { id: TRACE_UUID, traceId: TRACE_ID, name: traceItem.name },
            },
            feedback: [comment],
          },
        ],
        nextCursor: CURSOR,
      },
    },
  },
}).handle(async context => {
  const { query, store } = context
  const { key, value, order, kind, payloads: mode } = query
  const project = await selectedProject(context, query)
  const fields = await comparableFields([{ path: key, value }])
  const { items, nextCursor } = await pageOf({
    list: ['turns', store.organization.id, project.id, key, value, order],
    query,
    place: ['number', 'string'],
    read: async (limit, after) => {
      const position = after && { timestamp: after[0], id: after[1] }
      const page = await readTurns(store, project, { fields, kind }, { order, limit, after: position, mode })
      return { items: page.turns, nextPlace: page.nextPlace && [page.nextPlace.timestamp, page.nextPlace.id] }
    },
  })
  return { status: 200, body: { turns: items.map(toTurn), nextCursor } }
})

const toTurn = (turn: StoredTurn): v.InferOutput<typeof Turn> => ({
  id: turn.id,
  traceId: turn.traceId,
  name: turn.name,
  status: turn.status,
  createdAt: isoTime(turn.timestamp),
  durationMs: turn.durationMs,
  reviewState: traceReviewState(turn),
  staleCount: turn.staleCount,
  feedbackCount: turn.feedbackCount,
  span: turn.span ? toSpanOfTrace(turn.span) : null,
  feedback: turn.feedback.map(toFeedback),
})
