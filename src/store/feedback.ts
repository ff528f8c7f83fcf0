import { and, eq, notExists, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { JsonObject } from '../domain/json.ts'
import { feedback, type Labeller, traces, users } from './schema.ts'
import type { Store } from './store.ts'
import { inOrganization } from './traces.ts'

/** Feedback as a client sent it; what is null was not sent, and an update leaves it as it is. */
export interface FeedbackDraft {
  id: string
  traceUuid: string
  spanId: string | null
  rating: 'positive' | 'negative' | number | null
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

export type FeedbackOutcome = 'created' | 'updated' | 'trace_missing' | 'on_other_trace'

/**
 * Stores feedback, or updates the fields that it sends where the record is there. One round trip, two where refused.
 * `on_other_trace`: another live trace has the record with this id.
 */
export async function saveFeedback(store: Store, draft: FeedbackDraft): Promise<FeedbackOutcome> {
  const { database } = store
  const target = inOrganization(store, eq(traces.id, draft.traceUuid), notExists(onOtherTrace(store, draft)))
  const upsert = database
    .insert(feedback)
    .select(
      database
        .select({
          id: sql<string>`${draft.id}`.as('id'),
          traceKey: traces.key,
          spanId: sql<string | null>`${draft.spanId}`.as('span_id'),
          userId: sql<string>`${draft.user?.id ?? draft.fallbackUserId}`.as('user_id'),
          rating: sql<string | null>`${jsonOrNull(draft.rating)}`.as('rating'),
          comment: sql<string | null>`${draft.comment}`.as('comment'),
          correction: sql<string | null>`${jsonOrNull(draft.correction)}`.as('correction'),
          labeller: sql<string | null>`${jsonOrNull(draft.labeller)}`.as('labeller'),
          timestamp: sql<number>`${draft.timestamp ?? draft.receivedAt}`.as('timestamp'),
          receivedAt: sql<number>`${draft.receivedAt}`.as('received_at'),
          updatedAt: sql<number | null>`null`.as('updated_at'),
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
        ...(draft.user && { userId: draft.user.id }),
        ...(draft.timestamp !== null && { timestamp: draft.timestamp }),
        updatedAt: draft.receivedAt,
      },
    })
    .returning({ updatedAt: feedback.updatedAt })
  const touchTrace = database.update(traces).set({ updatedAt: draft.receivedAt }).where(target)
  const [[row]] = await (draft.user
    ? database.batch([upsert, touchTrace, addLabeller(store, draft, draft.user)])
    : database.batch([upsert, touchTrace]))
  if (row) return row.updatedAt === null ? 'created' : 'updated'
  const [trace] = await database
    .select({ key: traces.key })
    .from(traces)
    .where(inOrganization(store, eq(traces.id, draft.traceUuid)))
  return trace ? 'on_other_trace' : 'trace_missing'
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
const addLabeller = (
  { database, organization }: Store,
  draft: FeedbackDraft,
  user: NonNullable<FeedbackDraft['user']>,
) =>
  database
    .insert(users)
    .select(
      database
        .select({
          organizationKey: sql<number>`${organization.key}`.as('organization_key'),
          id: sql<string>`${user.id}`.as('id'),
          email: sql<string>`${user.email}`.as('email'),
          name: sql<string>`${user.name}`.as('name'),
          createdAt: sql<number>`${draft.receivedAt}`.as('created_at'),
        })
        .from(feedback)
        .innerJoin(traces, eq(traces.key, feedback.traceKey))
        .where(and(eq(feedback.id, draft.id), eq(traces.organizationKey, organization.key)))
        .limit(1),
    )
    .onConflictDoNothing()
