import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { FEEDBACK_ID } from '../api/story.ts'
import type { Caller } from '../auth/authenticate.ts'
import { RATINGS } from '../domain/feedback.ts'
import { feedbackUuid, newId, traceUuid } from '../domain/ids.ts'
import { described, Email, object, objectOfBytes, Timestamp, text, Uuid } from '../http/atoms.ts'
import { conflict, forbidden, IMPORT_NEEDS_MANAGE, notFound } from '../http/errors.ts'
import {
  ENVELOPE_BYTES,
  escaped,
  MAX_COMMENT_LENGTH,
  MAX_CORRECTION_BYTES,
  MAX_FEEDBACK_ID_LENGTH,
  MAX_NAME_LENGTH,
} from '../limits.ts'
import { actorOf } from '../store/accounts/audit.ts'
import type { Project } from '../store/accounts/projects.ts'
import { attributionMessages } from '../store/attribution/requests.ts'
import {
  type FeedbackDraft,
  type FeedbackOutcome,
  withdrawFeedback as removeFeedback,
  saveFeedback,
} from '../store/reviews/feedback.ts'
import { storeInProject } from '../store/traces/placed.ts'
import { feedback } from './examples.ts'
import { ingestProject } from './project.ts'
import { SPAN_OF_OTHER_TRACE, TRACE_NOT_FOUND, TraceId } from './wire.ts'

const NO_RATING = 'must be positive, negative, or a number from 0.0 to 1.0'
const Rating = v.union(
  [v.picklist(RATINGS), v.pipe(v.number(), v.minValue(0, NO_RATING), v.maxValue(1, NO_RATING))],
  NO_RATING,
)

const LabelerFields = v.object({
  name: v.nullish(text(0, MAX_NAME_LENGTH)),
  email: v.nullish(Email),
})

const Labeler = v.pipe(
  object(LabelerFields),
  v.transform(({ name, email }) => ({ ...(isGiven(name) && { name }), ...(isGiven(email) && { email }) })),
)

const isGiven = (value: string | null | undefined): value is string => typeof value === 'string'

const FeedbackName = v.pipe(
  text(1, MAX_NAME_LENGTH),
  v.metadata({ description: 'What the feedback is about', examples: ['helpfulness'] }),
)

const Source = v.pipe(
  v.literal('import'),
  v.metadata({
    description:
      "Set this for feedback that was given elsewhere. Such feedback doesn't start an attribution. Requires the manage scope.",
  }),
)

export const Feedback = v.object({
  trace_id: TraceId,
  feedback_id: v.nullish(
    described(text(1, MAX_FEEDBACK_ID_LENGTH), 'An ID that you choose. Sending it again updates the feedback.'),
  ),
  span_id: v.nullish(Uuid),
  name: v.nullish(FeedbackName),
  rating: v.nullish(Rating),
  comment: v.nullish(text(0, MAX_COMMENT_LENGTH)),
  correction: v.nullish(objectOfBytes(MAX_CORRECTION_BYTES)),
  labeller: v.nullish(Labeler),
  timestamp: v.nullish(Timestamp),
  source: v.nullish(Source),
})

const TAKEN = 'This feedback_id belongs to another trace'
const NOT_FOUND = 'Feedback not found'

const Saved = v.object({ status: v.literal('success'), feedback_id: v.string() })

export const createFeedback = endpoint({
  family: 'ingest',
  method: 'POST',
  path: '/api/v1/feedback',
  summary: 'Create or update feedback',
  description:
    'Rates, comments on, or corrects a trace. If the feedback_id exists, this updates the fields you send. Sending the same feedback again changes nothing.',
  scope: 'ingest',
  body: Feedback,
  maxBytes: escaped(4 * MAX_COMMENT_LENGTH + MAX_CORRECTION_BYTES) + ENVELOPE_BYTES,
  errors: { 404: TRACE_NOT_FOUND, 409: TAKEN },
  location: 201,
  responses: { 200: Saved, 201: Saved },
  example: {
    body: feedback,
    answers: {
      200: { status: 'success', feedback_id: FEEDBACK_ID },
      201: { status: 'success', feedback_id: FEEDBACK_ID },
    },
  },
}).handle(async ({ body, caller, store, headers, now, enqueue }) => {
  const project = await ingestProject({ caller, store, headers })
  requireImporter(caller, body)
  const draft = await feedbackDraft({ caller, project }, body, now)
  const shard = await storeInProject(store, project, draft.fields.traceUuid)
  const {
    outcomes: [outcome = 'trace_missing'],
    toAttribute,
  } = await saveFeedback(shard, project, [draft.fields])
  enqueue(...attributionMessages(shard, toAttribute))
  const reply = feedbackReply(draft, outcome)
  return reply.status === 201 ? { ...reply, location: `/api/traces/${draft.fields.traceUuid}` } : reply
})

export const deleteFeedback = endpoint({
  family: 'ingest',
  method: 'DELETE',
  path: '/api/v1/feedback/{feedback_id}',
  summary: 'Delete feedback',
  description: 'To create it again, send it with the same feedback_id.',
  scope: 'ingest',
  params: v.object({ feedback_id: text(1, MAX_FEEDBACK_ID_LENGTH) }),
  errors: { 404: NOT_FOUND },
  responses: { 200: Saved },
  example: {
    params: { feedback_id: FEEDBACK_ID },
    answers: { 200: { status: 'success', feedback_id: FEEDBACK_ID } },
  },
}).handle(async ({ params: { feedback_id }, caller, store, headers, now }) => {
  const project = await ingestProject({ caller, store, headers })
  const id = await feedbackUuid(project.id, feedback_id)
  // Several databases may have feedback with this id, on different traces.
  const removed = await Promise.all(store.shards.map(shard => removeFeedback(shard, id, now)))
  if (!removed.includes(true)) throw notFound(NOT_FOUND)
  return { status: 200, body: { status: 'success', feedback_id } }
})

/** A body in the store's form, and the client's id for it. */
export interface NamedFeedback {
  feedbackId: string
  fields: FeedbackDraft
}

/** 403 if feedback is imported and the caller may not import. */
export function requireImporter({ scopes }: Caller, { source }: v.InferOutput<typeof Feedback>): void {
  if (source && !scopes.includes('manage')) throw forbidden(IMPORT_NEEDS_MANAGE)
}

/** Converts a body to the store's form. If the client sends no id, each call creates a new record. */
export async function feedbackDraft(
  { caller, project }: { caller: Caller; project: Project },
  body: v.InferOutput<typeof Feedback>,
  receivedAt: number,
): Promise<NamedFeedback> {
  const feedbackId = body.feedback_id ?? newId()
  const fields = {
    id: await feedbackUuid(project.id, feedbackId),
    traceUuid: await traceUuid(project.id, body.trace_id),
    spanId: body.span_id ?? null,
    name: body.name ?? null,
    rating: body.rating ?? null,
    comment: body.comment ?? null,
    correction: body.correction ?? null,
    labeller: body.labeller ?? null,
    timestamp: body.timestamp ?? null,
    receivedAt,
    fallbackUserId: actorOf(caller),
    user: userOf(body.labeller),
    isImported: body.source === 'import',
  }
  return { feedbackId, fields }
}

/**
 * The response for one piece of feedback. 404 if its trace doesn't exist, 409 if its id or its span belongs to another
 * trace.
 */
export function feedbackReply({ feedbackId }: NamedFeedback, outcome: FeedbackOutcome) {
  if (outcome === 'trace_missing') throw notFound(TRACE_NOT_FOUND)
  if (outcome === 'on_other_trace') throw conflict(TAKEN, 'feedback_id')
  if (outcome === 'span_on_other_trace') throw conflict(SPAN_OF_OTHER_TRACE, 'span_id')
  const body = { status: 'success' as const, feedback_id: feedbackId }
  return outcome === 'created' ? { status: 201 as const, body } : { status: 200 as const, body }
}

/** The user to create for a labeler's email if none has it yet. */
function userOf(labeller: v.InferOutput<typeof Labeler> | null | undefined) {
  if (labeller?.email === undefined) return null
  const { email, name = '' } = labeller
  return { id: newId(), email, name }
}
