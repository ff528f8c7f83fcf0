import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { requireFound } from '../auth/require-project.ts'
import { type AttributionCost, ERROR_CATEGORIES, reviewersStatement } from '../domain/attribution.ts'
import { IsoTime, isoTime, Uuid } from '../http/atoms.ts'
import { NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { isForeignTrace } from '../store/accounts/ownership.ts'
import {
  type EngineAnswer,
  type ReviewersAnswer,
  listAttributions as readAttributions,
} from '../store/attribution/history.ts'

const said = {
  errorType: v.string(),
  errorTypeId: v.pipe(v.nullable(Uuid), v.metadata({ description: 'null: the type is not known any more' })),
  errorTypeName: v.pipe(v.string(), v.metadata({ description: 'Of a type that is not known any more, errorType' })),
  errorTypeCategory: v.nullable(v.picklist(ERROR_CATEGORIES)),
  createdAt: IsoTime,
}

const Confidence = v.pipe(v.number(), v.metadata({ description: 'How likely it is the cause, from 0 to 1' }))

const Alternatives = v.array(v.object({ errorType: v.string(), confidence: Confidence }))
const Evidence = v.array(
  v.object({
    spanId: v.pipe(v.nullable(Uuid), v.metadata({ description: 'null: of the trace as a whole, or outside of it' })),
    path: v.string(),
    note: v.string(),
  }),
)

export const PastAttribution = v.variant('kind', [
  v.object({
    kind: v.literal('engine'),
    id: Uuid,
    ...said,
    confidence: Confidence,
    spanId: v.pipe(v.nullable(Uuid), v.metadata({ description: 'Where it went wrong; null: in none of the spans' })),
    reasoning: v.string(),
    alternatives: Alternatives,
    evidence: Evidence,
    engine: v.pipe(v.string(), v.metadata({ description: "`rules`, or a model's name" })),
    durationMs: v.number(),
    usage: v.pipe(
      v.nullable(
        v.object({
          inputTokens: v.nullable(v.number()),
          outputTokens: v.nullable(v.number()),
          costUsd: v.nullable(v.number()),
        }),
      ),
      v.metadata({ description: 'What a model took; null where it did not say' }),
    ),
  }),
  v.object({
    kind: v.literal('review'),
    reviewId: Uuid,
    spanId: Uuid,
    ...said,
    by: Uuid,
    comment: v.nullable(v.string()),
    confidence: v.pipe(v.null(), v.metadata({ description: 'A person gives none' })),
    reasoning: v.pipe(v.string(), v.metadata({ description: 'The comment, where there is one' })),
    alternatives: v.pipe(Alternatives, v.metadata({ description: 'None' })),
    evidence: v.pipe(Evidence, v.metadata({ description: 'The decision' })),
    inForce: v.pipe(v.boolean(), v.metadata({ description: 'Whether it is the decision that counts for its span' })),
  }),
])

export const listAttributions = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/traces/{traceId}/attributions',
  summary: 'List what engines answered on a trace and which error types reviewers named, oldest first',
  scope: 'read',
  params: v.object({ traceId: Uuid }),
  query: v.strictObject(pageParameters),
  responses: { 200: v.object({ attributions: v.array(PastAttribution), nextCursor: NextCursor }) },
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
  const said = {
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
    return { kind, reviewId: id, spanId, ...said, ...person, ...statement, inForce: isInForce }
  }
  const { kind, id, confidence, spanId, reasoning, alternatives, evidence, engine, durationMs } = past
  return {
    kind,
    id,
    ...said,
    confidence,
    spanId,
    reasoning,
    alternatives,
    evidence,
    engine,
    durationMs,
    usage: usageOf(past),
  }
}

const usageOf = ({ inputTokens, outputTokens, costUsd }: AttributionCost) =>
  inputTokens === null && outputTokens === null && costUsd === null ? null : { inputTokens, outputTokens, costUsd }
