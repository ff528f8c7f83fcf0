import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { COMMENT_ID, SPAN_ID } from '../api/story.ts'
import type { Caller } from '../auth/authenticate.ts'
import { requireFound, requireProject } from '../auth/require-project.ts'
import { isNameBased, newId } from '../domain/ids.ts'
import { described, text, Uuid, uuid } from '../http/atoms.ts'
import { conflict, forbidden, notFound } from '../http/errors.ts'
import { ENVELOPE_BYTES, escaped, MAX_COMMENT_LENGTH } from '../limits.ts'
import { comment } from '../read/examples.ts'
import { Feedback, toComment } from '../read/wire.ts'
import { actorOf } from '../store/accounts/audit.ts'
import { isForeignFeedback, isForeignSpan } from '../store/accounts/ownership.ts'
import { attributionMessages } from '../store/attribution/requests.ts'
import { readAllShards } from '../store/core/across.ts'
import {
  addComment,
  changeComment,
  type FeedbackHead,
  findCommentPlace,
  findFeedbackHead,
  deleteComment as removeComment,
} from '../store/reviews/comments.ts'

const Content = text(1, MAX_COMMENT_LENGTH)
const MAX_BYTES = escaped(4 * MAX_COMMENT_LENGTH) + ENVELOPE_BYTES
const TAKEN = 'This ID belongs to other feedback'

export const createComment = endpoint({
  family: 'review',
  method: 'POST',
  path: '/api/spans/{spanId}/feedback',
  summary: 'Create a comment on a span',
  description: "The comment appears in the trace's feedback.",
  scope: 'review',
  at: 'span',
  params: v.object({ spanId: Uuid }),
  body: v.strictObject({
    content: Content,
    rating: v.optional(
      described(
        v.literal('negative', 'must be negative'),
        "Marks the output as wrong without recording a decision. The trace then has negative feedback. Editing the comment's text keeps the rating.",
      ),
    ),
    id: v.optional(
      v.pipe(
        uuid("An ID that you choose. Sending it again doesn't create a second comment."),
        v.check(id => !isNameBased(id), 'must not be a version 5 UUID: pipelines use those'),
      ),
    ),
  }),
  maxBytes: MAX_BYTES,
  errors: { 409: TAKEN },
  location: 201,
  responses: { 201: Feedback },
  example: {
    params: { spanId: SPAN_ID },
    body: { content: comment.content },
    answers: { 201: comment },
  },
}).handle(async ({ params: { spanId }, body, caller, store, unscoped, act, now, enqueue }) => {
  const isForeign = () => isForeignSpan(unscoped, store.organization, spanId)
  const place = await requireFound(caller, await findCommentPlace(store, spanId), isForeign)
  const { id = newId(), content, rating = null } = body
  const draft = { id, spanId, userId: actorOf(caller), content, rating, createdAt: now }
  const added = await addComment(store, act, place, draft)
  if (added === 'trace_missing') throw notFound()
  if (added === 'taken') throw conflict(TAKEN, 'id')
  const { comment, toAttribute } = added
  enqueue(...attributionMessages(store, toAttribute))
  return { status: 201, body: toComment(comment), location: `/api/traces/${place.traceUuid}` }
})

export const updateComment = endpoint({
  family: 'review',
  method: 'PATCH',
  path: '/api/feedback/{feedbackId}',
  summary: 'Update your own comment',
  scope: 'review',
  at: 'feedback',
  params: v.object({ feedbackId: Uuid }),
  body: v.strictObject({ content: Content }),
  maxBytes: MAX_BYTES,
  responses: { 200: Feedback },
  example: {
    params: { feedbackId: COMMENT_ID },
    body: { content: comment.content },
    answers: { 200: comment },
  },
}).handle(async ({ params: { feedbackId }, body: { content }, caller, store, unscoped, act }) => {
  const isForeign = () => isForeignFeedback(unscoped, store.organization, feedbackId)
  const head = await requireFound(caller, await findFeedbackHead(store, feedbackId), isForeign)
  requireAuthor(caller, head)
  const comment = await changeComment(store, act, head, { id: feedbackId, content })
  if (!comment) throw notFound()
  return { status: 200, body: toComment(comment) }
})

export const deleteComment = endpoint({
  family: 'review',
  method: 'DELETE',
  path: '/api/feedback/{feedbackId}',
  summary: 'Delete your own comment',
  scope: 'review',
  params: v.object({ feedbackId: Uuid }),
  responses: { 200: v.object({ id: Uuid }) },
  example: {
    params: { feedbackId: COMMENT_ID },
    answers: { 200: { id: comment.id } },
  },
}).handle(async ({ params: { feedbackId }, caller, store, act }) => {
  // Authors can choose comment ids, so several databases may have a comment with the same id.
  const found = await readAllShards(store, async shard => ({ shard, head: await findFeedbackHead(shard, feedbackId) }))
  const comments = found.flatMap(({ shard, head }) => (head ? [{ shard, head }] : []))
  if (comments.length === 0) throw notFound()
  for (const { head } of comments) {
    requireProject(caller, head.projectKey)
    requireAuthor(caller, head)
  }
  await Promise.all(comments.map(({ shard, head }) => removeComment(shard, act, head, feedbackId)))
  return { status: 200, body: { id: feedbackId } }
})

/** 403 for feedback from a pipeline and for another reviewer's comment. */
function requireAuthor(caller: Caller, { isComment, userId }: FeedbackHead): void {
  if (!isComment) throw forbidden('Only the pipeline that sent this feedback can change it')
  if (userId !== actorOf(caller)) throw forbidden('Only the author can change a comment')
}
