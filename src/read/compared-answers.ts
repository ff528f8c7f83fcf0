import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { CURSOR, JUDGED, PROJECT_ID, SPAN_ID, TRACE_UUID, USER_ID } from '../api/story.ts'
import { described, IsoTime, isoTime, Uuid } from '../http/atoms.ts'
import { NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { MAX_COMPARED_DECISIONS } from '../limits.ts'
import { type ComparedTrace, listComparedTraces } from '../store/attribution/quality.ts'
import { comparisonFilters } from './attribution-quality.ts'
import { projectSelector, selectedProject } from './project.ts'

const ComparedAnswer = v.object({
  traceId: Uuid,
  spanId: described(Uuid, 'The span with the review that sets the error type'),
  stepId: v.string(),
  errorType: described(v.string(), "The engine's error type"),
  confidence: v.number(),
  engine: v.string(),
  engineVersion: v.string(),
  reviewedErrorType: described(v.string(), "The reviewer's error type"),
  reviewedBy: Uuid,
  reviewedAt: IsoTime,
})

export const listComparedAnswers = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/attribution-quality/answers',
  summary: 'List the answers behind attribution quality',
  description:
    "Lists the traces that `GET /api/attribution-quality` counts, each with the engine's answer and the error type that a " +
    `reviewer chose, newest review first. Considers only the newest ${MAX_COMPARED_DECISIONS} reviews with an error type.`,
  scope: 'read',
  query: v.strictObject({
    ...projectSelector,
    ...comparisonFilters,
    errorType: v.optional(described(v.string(), 'Only answers with this error type')),
    reviewedErrorType: v.optional(described(v.string(), 'Only answers for which the reviewer chose this error type')),
    agrees: v.optional(described(v.picklist(['true', 'false']), 'Whether the two error types are the same')),
    tenth: v.optional(
      described(
        v.picklist([...'0123456789']),
        'Only answers whose confidence is in this range. For example, 7 is from 0.7 to below 0.8, and 9 is 0.9 and above.',
      ),
    ),
    ...pageParameters,
  }),
  errors: { 404: 'Not found' },
  responses: { 200: v.object({ answers: v.array(ComparedAnswer), nextCursor: NextCursor }) },
  example: {
    query: { projectId: PROJECT_ID, errorType: 'hallucinated_content', agrees: 'false' },
    answers: {
      200: {
        answers: [
          {
            traceId: TRACE_UUID,
            spanId: SPAN_ID,
            stepId: 'generate-answer',
            errorType: 'hallucinated_content',
            confidence: 0.58,
            engine: 'rules',
            engineVersion: '2',
            reviewedErrorType: 'context_misinterpretation',
            reviewedBy: USER_ID,
            reviewedAt: JUDGED,
          },
        ],
        nextCursor: CURSOR,
      },
    },
  },
}).handle(async context => {
  const { query, store } = context
  const { from, to, engine, engineVersion, errorType, reviewedErrorType, agrees, tenth } = query
  const project = await selectedProject(context, query)
  const filter = {
    from,
    to,
    engine,
    engineVersion,
    answered: errorType,
    named: reviewedErrorType,
    isAgreed: agrees === undefined ? undefined : agrees === 'true',
    tenth: tenth === undefined ? undefined : Number(tenth),
  }
  const { items, nextCursor } = await pageOf({
    list: ['compared-answers', store.organization.id, project.id],
    query,
    place: ['number', 'string'],
    read: (limit, after) =>
      listComparedTraces(store, project, filter, {
        limit,
        after: after && { reviewedAt: after[0], spanId: after[1] },
      }),
  })
  return { status: 200, body: { answers: items.map(toComparedAnswer), nextCursor } }
})

const toComparedAnswer = ({ answered, named, reviewerId, reviewedAt, ...trace }: ComparedTrace) => ({
  ...trace,
  errorType: answered,
  reviewedErrorType: named,
  reviewedBy: reviewerId,
  reviewedAt: isoTime(reviewedAt),
})
