import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { ANSWERED, ATTRIBUTION_ID, JUDGED, REVIEW_ID, SPAN_ID, TRACE_UUID, USER_ID } from '../api/story.ts'
import { requireFound } from '../auth/require-project.ts'
import { type AttributionCost, citedDoc, ERROR_CATEGORIES, reviewersStatement } from '../domain/attribution.ts'
import { described, IsoTime, isoTime, Uuid } from '../http/atoms.ts'
import { NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { isForeignTrace } from '../store/accounts/ownership.ts'
import {
  type EngineAnswer,
  type ReviewersAnswer,
  listAttributions as readAttributions,
} from '../store/attribution/history.ts'
import { builtInErrorType, review } from './examples.ts'

const typeFields = {
  errorType: v.string(),
  errorTypeId: v.pipe(v.nullable(Uuid), v.metadata({ description: 'Null if the type no longer exists' })),
  errorTypeName: v.pipe(v.string(), v.metadata({ description: 'Equals errorType if the type no longer exists' })),
  errorTypeCategory: v.nullable(v.picklist(ERROR_CATEGORIES)),
  createdAt: IsoTime,
}

const Confidence = v.pipe(
  v.number(),
  v.metadata({ description: 'The probability that this is the cause, from 0 to 1' }),
)

const Alternatives = v.array(v.object({ errorType: v.string(), confidence: Confidence }))
const Evidence = v.array(
  v.object({
    spanId: v.pipe(
      v.nullable(Uuid),
      v.metadata({
        description:
          'The span that the evidence is from. Null if the evidence is about the whole trace or something outside it.',
      }),
    ),
    path: v.string(),
    note: v.string(),
  }),
)

export const PastAttribution = v.variant('kind', [
  v.object({
    kind: v.literal('engine'),
    id: Uuid,
    ...typeFields,
    confidence: Confidence,
    spanId: v.pipe(
      v.nullable(Uuid),
      v.metadata({
        description:
          'The earliest span whose output should have been different or, for errors by users and reviewers, the first span ' +
          'whose output was disputed. Null for an unsupported request, a step that never ran, or a trace that has only a root.',
      }),
    ),
    reasoning: v.string(),
    alternatives: Alternatives,
    evidence: Evidence,
    docSlug: described(
      v.nullable(v.string()),
      'The knowledge doc that the evidence cites first. Null if it cites none.',
    ),
    engine: v.pipe(v.string(), v.metadata({ description: "`rules`, or a model's name" })),
    engineVersion: described(
      v.string(),
      'The version of the rules or, for a model, of the question that the service asks it',
    ),
    durationMs: v.number(),
    usage: v.pipe(
      v.nullable(
        v.object({
          inputTokens: v.nullable(v.number()),
          outputTokens: v.nullable(v.number()),
          costUsd: v.nullable(v.number()),
        }),
      ),
      v.metadata({ description: "A model's usage. Null if it didn't report any." }),
    ),
  }),
  v.object({
    kind: v.literal('review'),
    reviewId: Uuid,
    spanId: Uuid,
    ...typeFields,
    by: Uuid,
    comment: v.nullable(v.string()),
    confidence: v.pipe(v.null(), v.metadata({ description: 'Always null' })),
    reasoning: v.pipe(v.string(), v.metadata({ description: "The reviewer's comment, or a note that there is none" })),
    alternatives: v.pipe(Alternatives, v.metadata({ description: 'Always empty' })),
    evidence: v.pipe(Evidence, v.metadata({ description: 'The decision' })),
    inForce: v.pipe(v.boolean(), v.metadata({ description: "Whether this is the span's current decision" })),
  }),
])

export const listAttributions = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/traces/{traceId}/attributions',
  summary: "List a trace's attributions, oldest first",
  description: "Includes engines' answers and the error types that reviewers named.",
  scope: 'read',
  at: 'trace',
  params: v.object({ traceId: Uuid }),
  query: v.strictObject(pageParameters),
  responses: { 200: v.object({ attributions: v.array(PastAttribution), nextCursor: NextCursor }) },
  example: {
    params: { traceId: TRACE_UUID },
    answers: {
      200: {
        attributions: [
          {
            kind: 'engine',
            id: ATTRIBUTION_ID,
            errorType: 'hallucinated_content',
            errorTypeId: '6dccd9ed-11cf-54ec-8538-fb9527a03852',
            errorTypeName: 'Hallucinated content',
            errorTypeCategory: 'AI Error',
            createdAt: ANSWERED,
            confidence: 0.58,
            spanId: SPAN_ID,
            reasoning: 'The answer says 12 months, but the retrieved chunk says 24.',
            alternatives: [
              { errorType: 'context_misinterpretation', confidence: 0.31 },
              { errorType: 'reasoning_error', confidence: 0.04 },
            ],
            evidence: [
              { spanId: SPAN_ID, path: 'output.answer', note: '12 appears in neither the input nor the chunks' },
            ],
            docSlug: null,
            engine: 'rules',
            engineVersion: '2',
            durationMs: 3,
            usage: null,
          },
          {
            kind: 'review',
            reviewId: REVIEW_ID,
            spanId: SPAN_ID,
            errorType: builtInErrorType.errorType,
            errorTypeId: builtInErrorType.id,
            errorTypeName: builtInErrorType.name,
            errorTypeCategory: builtInErrorType.category,
            createdAt: JUDGED,
            by: USER_ID,
            comment: review.comment,
            confidence: null,
            reasoning: review.comment,
            alternatives: [],
            evidence: [{ spanId: SPAN_ID, path: 'review', note: `names "${builtInErrorType.name}" as the cause` }],
            inForce: true,
          },
        ],
        nextCursor: null,
      },
    },
  },
}).handle(async ({ params: { traceId }, query, caller, store, unscoped }) => {
  const isForeign = () => isForeignTrace(unscoped, store.organization, traceId)
  const { items, nextCursor } = await pageOf({
    list: ['attributions', store.organization.id, traceId],
    query,
    place: ['number', 'string'],
    read: async (limit, after) => {
      const page = { limit, after: after && { createdAt: after[0], id: after[1] } }
      const found = await requireFound(caller, await readAttributions(store, traceId, page), isForeign)
      return { items: found.items, nextPlace: found.nextPlace && [found.nextPlace.createdAt, found.nextPlace.id] }
    },
  })
  return { status: 200, body: { attributions: items.map(toPastAttribution), nextCursor } }
})

function toPastAttribution(past: EngineAnswer | ReviewersAnswer): v.InferOutput<typeof PastAttribution> {
  const typeFields = {
    errorType: past.type.errorType,
    errorTypeId: past.type.id,
    errorTypeName: past.type.name,
    errorTypeCategory: past.type.category,
    createdAt: isoTime(past.createdAt),
  }
  if (past.kind === 'review') {
    const { kind, id, spanId, userId, comment, isInForce } = past
    const statement = reviewersStatement({ spanId, name: past.type.name, comment })
    const person = { by: userId, comment, confidence: null, alternatives: [] }
    return { kind, reviewId: id, spanId, ...typeFields, ...person, ...statement, inForce: isInForce }
  }
  const { kind, id, confidence, spanId, reasoning, alternatives, evidence, engine, engineVersion, durationMs } = past
  return {
    kind,
    id,
    ...typeFields,
    confidence,
    spanId,
    reasoning,
    alternatives,
    evidence,
    docSlug: citedDoc(evidence),
    engine,
    engineVersion,
    durationMs,
    usage: usageOf(past),
  }
}

const usageOf = ({ inputTokens, outputTokens, costUsd }: AttributionCost) =>
  inputTokens === null && outputTokens === null && costUsd === null ? null : { inputTokens, outputTokens, costUsd }
