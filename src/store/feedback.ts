import { and, eq, notExists, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Labeller, Rating } from '../domain/feedback.ts'
import { newRevision } from '../domain/ids.ts'
import type { JsonObject } from '../domain/json.ts'
import { feedback, traces, users } from './schema.ts'
import type { Store } from './store.ts'
import { isLive, liveTraceKey, notBefore } from './traces.ts'

/** Feedback as a client sent it; what is null was not sent, and an update leaves it as it is. */
export interface FeedbackDraft {
  id: string
  traceUuid: string
  spanId: string | null
  rating: Rating | null
  comment: string | null
  correction: JsonObject | null
  labeller: Labeller | null
  timestamp: number | null
  receivedAt: number
  /** Whose feedback it is where the labeller is not known by an e-mail. */
  fallbackUserId: string
  /** The labeller, made a user on first sight. */
  user: { id: string; email: string; name: string } | null
}

type FeedbackOutcome = 'created' | 'updated' | 'trace_missing' | 'on_other_trace'

/**
 * Stores feedback, or updates the fields that it sends where the record is there. One round trip, two where refused.
 * `on_other_trace`: another live trace has the record with this id.
 */
export async function saveFeedback(store: Store, draft: FeedbackDraft): Promise<FeedbackOutcome> {
  const { database } = store
  const createdBy = newRevision()
  const userId = draft.user?.id ?? draft.fallbackUserId
  const target = isLive(store, eq(traces.id, draft.traceUuid), notExists(onOtherTrace(store, draft)))
  const upsert = database
    .insert(feedback)
    .select(
      database
        .select({
          id: sql<string>`${draft.id}`.as('id'),
          traceKey: traces.key,
          spanId: sql<string | null>`${draft.spanId}`.as('span_id'),
          userId: sql<string>`${userId}`.as('user_id'),
          rating: sql<string | null>`${jsonOrNull(draft.rating)}`.as('rating'),
          comment: sql<string | null>`${draft.comment}`.as('comment'),
          correction: sql<string | null>`${jsonOrNull(draft.correction)}`.as('correction'),
          labeller: sql<string | null>`${jsonOrNull(draft.labeller)}`.as('labeller'),
          timestamp: sql<number>`${draft.timestamp ?? draft.receivedAt}`.as('timestamp'),
          receivedAt: sql<number>`${draft.receivedAt}`.as('received_at'),
          createdBy: sql<string>`${createdBy}`.as('created_by'),
        })
        .from(traces)
        .where(target),
    )
    .onConflictDoUpdate({
      target: [feedback.id, feedback.traceKey],
      set: {
        spanId: sql`coalesce(excluded.span_id, ${feedback.spanId})`,
        rating: sql`coalesce(excluded.rating, ${feedback.rating})`,
        comment: sql`coalesce(excluded.comment, ${feedback.comment})`,
        correction: sql`coalesce(excluded.correction, ${feedback.correction})`,
        labeller: sql`coalesce(excluded.labeller, ${feedback.labeller})`,
        ...(draft.labeller && { userId }),
        ...(draft.timestamp !== null && { timestamp: draft.timestamp }),
      },
    })
    .returning({ createdBy: feedback.createdBy })
  const touchTrace = database
    .update(traces)
    .set({ updatedAt: notBefore(draft.receivedAt) })
    .where(target)
  for (;;) {
    const [[row]] = await (draft.user
      ? database.batch([upsert, touchTrace, addLabeller(store, draft, draft.user)])
      : database.batch([upsert, touchTrace]))
    if (row) return row.createdBy === createdBy ? 'created' : 'updated'
    const [[trace], [other]] = await database.batch([liveTraceKey(store, draft.traceUuid), onOtherTrace(store, draft)])
    if (!trace) return 'trace_missing'
    if (other) return 'on_other_trace'
    // Whatever stood in the way is gone since.
  }
}

const jsonOrNull = (value: unknown) => (value === null ? null : JSON.stringify(value))

/** The record with this id on a live trace other than the named one; on a deleted trace it no longer counts. */
function onOtherTrace({ database, organization }: Store, { id, traceUuid }: FeedbackDraft) {
  const other = alias(traces, 'other')
  return database
    .select({ id: feedback.id })
    .from(feedback)
    .innerJoin(other, eq(other.key, feedback.traceKey))
    .where(
      and(
        eq(feedback.id, id),
        eq(other.organizationKey, organization.key),
        sql`${other.deletedAt} is null and ${other.id} <> ${traceUuid}`,
      ),
    )
}

/** Only a labeller whose feedback is there becomes a user: refused feedback leaves no trace. */
const addLabeller = (store: Store, draft: FeedbackDraft, user: NonNullable<FeedbackDraft['user']>) =>
  store.database
    .insert(users)
    .select(
      store.database
        .select({
          organizationKey: sql<number>`${store.organization.key}`.as('organization_key'),
          id: sql<string>`${user.id}`.as('id'),
          email: sql<string>`${user.email}`.as('email'),
          name: sql<string>`${user.name}`.as('name'),
          createdAt: sql<number>`${draft.receivedAt}`.as('created_at'),
        })
        .from(feedback)
        .innerJoin(traces, eq(traces.key, feedback.traceKey))
        .where(and(eq(feedback.id, draft.id), isLive(store, eq(traces.id, draft.traceUuid))))
        .limit(1),
    )
    .onConflictDoNothing()
