import { and, eq, ne, type SQL, sql } from 'drizzle-orm'
import { newId, newRevision } from '../../domain/ids.ts'
import { type Act, recordAct } from '../accounts/audit.ts'
import { requestAutomaticJobs } from '../attribution/requests.ts'
import { hasNegative } from '../core/ratings.ts'
import { selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { isCommentShown, isOnVeiledSpan } from '../core/veil.ts'
import { feedback, reviews } from '../schema/reviews.ts'
import { traces } from '../schema/traces.ts'
import { locatedSpans } from '../spans/located-rows.ts'
import { isLive } from '../traces/live.ts'
import { isOnOtherTrace } from '../traces/span-ids.ts'
import { reopenTraces, touchTraces } from '../traces/traces.ts'
import { recordFeedback } from './feedback-events.ts'

/**
 * A reviewer's comment on a span, alone or with a decision. It's stored as feedback and shown with the trace's
 * feedback.
 */
export interface Comment {
  id: string
  spanId: string
  /** The author: a user's id, or the id of a key that acts for no user. */
  userId: string
  content: string
  /** Negative if the author marked the output as wrong. */
  rating: 'negative' | null
  createdAt: number
}

/** The trace of a commented span. */
interface CommentPlace {
  traceKey: number
  traceUuid: string
  projectKey: number
}

/** Finds the trace of a span to comment on. Undefined if the organization has no such span. */
export async function findCommentPlace(store: Store, spanId: string): Promise<CommentPlace | undefined> {
  const [trace] = await store.database
    .select({ traceKey: traces.key, traceUuid: traces.id, projectKey: traces.projectKey })
    .from(traces)
    .where(sql`${traces.key} = (select located.trace_key from ${locatedSpans(store, [spanId])} as located)`)
  return trace
}

/**
 * Adds a comment. Does nothing if its author has already added it with the same id. Returns `taken` if different
 * feedback already has the id, or `trace_missing` if the trace was deleted in the meantime. A negative comment may
 * request an attribution of the trace.
 */
export async function addComment(
  store: Store,
  act: Act,
  { traceKey, traceUuid, projectKey }: CommentPlace,
  comment: Comment,
): Promise<{ comment: Comment; toAttribute: number[] } | 'taken' | 'trace_missing'> {
  const { database } = store
  const { id, spanId, userId, content, rating, createdAt } = comment
  const createdBy = newRevision()
  const ofTrace = isLive(store, eq(traces.key, traceKey))
  const isThis = and(eq(feedback.id, id), eq(feedback.traceKey, traceKey))
  const isCreated = sql`exists (select 1 from ${feedback} where ${isThis} and ${feedback.createdBy} = ${createdBy})`
  const isTaken = isOnOtherTrace(store, feedback, { id: sql`${id}`, traceUuid: sql`${traceUuid}` })
  const isThisTrace = sql`${traces.key} = ${traceKey} and ${isCreated} and ${rating} is not null`
  const [, , requested, , , [stored], [trace]] = await database.batch([
    database
      .insert(feedback)
      .select(
        selectFor(
          feedback,
          {
            id,
            traceKey: traces.key,
            spanId,
            userId,
            rating: rating === null ? null : JSON.stringify(rating),
            comment: content,
            correction: null,
            name: null,
            labeller: null,
            timestamp: createdAt,
            receivedAt: createdAt,
            createdBy,
            source: 'review',
          },
          sql`from ${traces} where ${ofTrace} and not ${isTaken}`,
        ),
      )
      .onConflictDoNothing(),
    touchTrace(store, and(ofTrace, isCreated), isThis, act.at),
    requestAutomaticJobs(store, isThisTrace, act.at),
    flagNegative(store, and(ofTrace, isCreated), hasNegative()),
    recordAct(store, act, { action: 'comment.create', targetId: id, projectKey, afterId: id }, isCreated),
    database.select().from(feedback).where(isThis),
    database.select({ key: traces.key }).from(traces).where(ofTrace),
    ...(rating === null ? [] : [reopenTraces(store, and(ofTrace, isCreated))]),
    ...recordFeedback(store, projectKey, {
      id: newId(),
      at: act.at,
      isNew: and(ofTrace, isThis, eq(feedback.createdBy, createdBy)),
    }),
  ])
  if (!trace) return 'trace_missing'
  const isSame =
    stored?.source === 'review' &&
    stored.spanId === spanId &&
    stored.userId === userId &&
    stored.rating === rating &&
    (stored.comment === content || stored.createdBy === createdBy)
  if (!isSame) return 'taken'
  const toAttribute = requested.map(each => each.traceKey)
  return { comment: { ...comment, createdAt: stored.timestamp }, toAttribute }
}

/** The fields of feedback that determine who may change it. */
export interface FeedbackHead {
  traceKey: number
  projectKey: number
  userId: string
  /** Whether this is a reviewer's comment. */
  isComment: boolean
}

/** Finds feedback on a live trace in the organization, if the viewer may see it. */
export async function findFeedbackHead(store: Store, id: string): Promise<FeedbackHead | undefined> {
  const [row] = await store.database
    .select({
      traceKey: feedback.traceKey,
      projectKey: traces.projectKey,
      userId: feedback.userId,
      source: feedback.source,
    })
    .from(feedback)
    .crossJoin(traces)
    .where(and(eq(feedback.id, id), isLive(store, eq(traces.key, feedback.traceKey)), isCommentShown(store)))
  return row && { ...row, isComment: row.source === 'review' }
}

/** Changes a comment's text. The same text changes nothing. Undefined if the comment is gone. */
export async function changeComment(
  store: Store,
  act: Act,
  { traceKey, projectKey }: FeedbackHead,
  { id, content }: { id: string; content: string },
): Promise<Comment | undefined> {
  const { database } = store
  const isThis = isCommentOf(store, id, traceKey)
  const differs = and(isThis, ne(feedback.comment, content))
  const isChange = sql`exists (select 1 from ${feedback} where ${differs})`
  const [, , , , [row]] = await database.batch([
    touchTrace(store, isLive(store, eq(traces.key, traceKey), isChange), isThis, act.at),
    recordAct(store, act, { action: 'comment.change', targetId: id, projectKey }, isChange),
    changeInHistory(store, differs, content),
    database.update(feedback).set({ comment: content }).where(differs),
    database.select().from(feedback).where(isThis),
  ])
  if (!row) return undefined
  const rating = row.rating === null ? null : 'negative'
  return { id, content, rating, spanId: row.spanId ?? '', userId: row.userId, createdAt: row.timestamp }
}

export async function deleteComment(
  store: Store,
  act: Act,
  { traceKey, projectKey }: FeedbackHead,
  id: string,
): Promise<void> {
  const { database } = store
  const isThis = isCommentOf(store, id, traceKey)
  const isStored = sql`exists (select 1 from ${feedback} where ${isThis})`
  await database.batch([
    touchTrace(store, isLive(store, eq(traces.key, traceKey), isStored), isThis, act.at),
    flagNegative(store, isLive(store, eq(traces.key, traceKey), isStored), hasNegative(id)),
    recordAct(store, act, { action: 'comment.delete', targetId: id, projectKey, beforeId: id }, isStored),
    changeInHistory(store, isThis, null),
    database.delete(feedback).where(isThis),
  ])
}

/**
 * The statement that updates the trace's `updatedAt`, unless the commented span is veiled, because the change would
 * then reveal to others that there is a comment.
 */
const touchTrace = (store: Store, ofTrace: SQL | undefined, isThis: SQL | undefined, at: number) =>
  touchTraces(
    store,
    and(ofTrace, sql`exists (select 1 from ${feedback} where ${and(isThis, sql`not ${isOnVeiledSpan}`)})`),
    at,
  )

/** The statement that updates a trace's flag for negative feedback. Writes nothing if the flag is already right. */
const flagNegative = ({ database }: Store, ofTrace: SQL | undefined, value: SQL) =>
  database
    .update(traces)
    .set({ isNegative: value })
    .where(and(ofTrace, sql`${traces.isNegative} <> ${value}`))

/** The statement that copies a comment to its decision, which has the same id. */
const changeInHistory = ({ database }: Store, ofComment: SQL | undefined, comment: string | null) =>
  database
    .update(reviews)
    .set({ comment })
    .where(
      sql`(${reviews.traceKey}, ${reviews.spanId}, ${reviews.id}) in (
        select ${feedback.traceKey}, ${feedback.spanId}, ${feedback.id} from ${feedback} where ${ofComment})`,
    )

/** Checks that the trace belongs to the organization, because feedback rows don't identify their organization. */
const isCommentOf = (store: Store, id: string, traceKey: number): SQL | undefined =>
  and(
    eq(feedback.id, id),
    eq(feedback.source, 'review'),
    sql`${feedback.traceKey} = (select ${traces.key} from ${traces} where ${isLive(store, eq(traces.key, traceKey))})`,
  )
