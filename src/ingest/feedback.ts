import * as v from 'valibot'
import { type Labeller as LabellerFields, RATINGS } from '../domain/feedback.ts'
import { feedbackUuid, newId, traceUuid, userUuid } from '../domain/ids.ts'
import { isJsonObject } from '../domain/json.ts'
import { documented, JsonObjectValue, Timestamp, text, Uuid } from '../http/atoms.ts'
import { endpoint } from '../http/endpoint.ts'
import { conflict, notFound } from '../http/errors.ts'
import { MAX_COMMENT_LENGTH, MAX_EMAIL_LENGTH, MAX_FEEDBACK_ID_LENGTH, MAX_NAME_LENGTH } from '../limits.ts'
import { saveFeedback } from '../store/feedback.ts'
import { ingestProject } from './project.ts'
import { TraceId } from './wire.ts'

const NO_RATING = 'must be positive, negative or a number from 0.0 to 1.0'
const Rating = v.union(
  [v.picklist(RATINGS), v.pipe(v.number(), v.minValue(0, NO_RATING), v.maxValue(1, NO_RATING))],
  NO_RATING,
)

/** To valibot a list is an object without fields, so what is no object is refused before its fields are looked at. */
const Labeller = v.pipe(
  documented(v.custom<LabellerFields>(isJsonObject, 'must be an object'), {
    type: 'object',
    properties: {
      name: { type: 'string', maxLength: MAX_NAME_LENGTH },
      email: { type: 'string', minLength: 1, maxLength: MAX_EMAIL_LENGTH },
    },
  }),
  v.object({ name: v.optional(text(0, MAX_NAME_LENGTH)), email: v.optional(text(1, MAX_EMAIL_LENGTH)) }),
)

const Feedback = v.object({
  trace_id: TraceId,
  feedback_id: v.optional(
    v.pipe(text(1, MAX_FEEDBACK_ID_LENGTH), v.metadata({ description: "The client's own id: sent again, it updates" })),
  ),
  span_id: v.optional(Uuid),
  rating: v.optional(Rating),
  comment: v.optional(text(0, MAX_COMMENT_LENGTH)),
  correction: v.optional(JsonObjectValue),
  labeller: v.optional(Labeller),
  timestamp: v.optional(Timestamp),
})

const Saved = v.object({ status: v.literal('success'), feedback_id: v.string() })

export const createFeedback = endpoint({
  method: 'POST',
  path: '/api/v1/feedback',
  summary: 'Rate, comment on or correct a trace; with a feedback_id that is known, update the fields that are sent',
  scope: 'ingest',
  body: Feedback,
  errors: { 404: 'Trace not found', 409: 'This feedback_id belongs to another trace' },
  responses: { 200: Saved, 201: Saved },
}).handle(async ({ body, caller, store, headers, now }) => {
  const project = await ingestProject({ caller, store, headers })
  const feedbackId = body.feedback_id ?? newId()
  const outcome = await saveFeedback(store, {
    id: await feedbackUuid(project.id, feedbackId),
    traceUuid: await traceUuid(project.id, body.trace_id),
    spanId: body.span_id ?? null,
    rating: body.rating ?? null,
    comment: body.comment ?? null,
    correction: body.correction ?? null,
    labeller: body.labeller ?? null,
    timestamp: body.timestamp ?? null,
    receivedAt: now,
    fallbackUserId: caller.userId ?? caller.keyId,
    user: await userOf(body.labeller, store.organization.id),
  })
  const saved = { status: 'success', feedback_id: feedbackId } as const
  switch (outcome) {
    case 'created':
      return { status: 201, body: saved }
    case 'updated':
      return { status: 200, body: saved }
    case 'trace_missing':
      throw notFound('Trace not found')
    case 'on_other_trace':
      throw conflict('This feedback_id belongs to another trace', 'feedback_id')
  }
})

/** The user that a labeller's e-mail stands for. */
async function userOf(labeller: v.InferOutput<typeof Labeller> | undefined, organizationId: string) {
  if (labeller?.email === undefined) return null
  const email = labeller.email.toLowerCase()
  return { id: await userUuid(organizationId, email), email, name: labeller.name ?? '' }
}
