import { type SQL, sql } from 'drizzle-orm'
import type { Decision } from '../../domain/review-state.ts'
import { MAX_SUGGESTIONS } from '../../limits.ts'
import { type Act, actorOf } from '../accounts/audit.ts'
import { chunkRows } from '../core/chunks.ts'
import { outputRevision } from '../core/reviewable.ts'
import { rowSet, selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { suggestions } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { isLive } from '../traces/live.ts'
import type { StoredValue } from '../traces/payloads.ts'

/** An agent's suggestion for a span, based on an earlier read of the span. */
export interface SuggestionDraft {
  id: string
  traceKey: number
  spanId: string
  /** The number of decisions when the span was read. */
  reviewNumber: number
  outputRevision: string
  decision: Decision
  /** The correction, with a hash of its value. Null for other decisions. */
  approved: StoredValue | null
  approvedHash: string | null
  comment: string | null
  errorType: string | null
}

const PLACE = ['id', 'traceKey', 'spanId', 'reviewNumber', 'outputRevision'] as const
const DRAFTS = rowSet([...PLACE, 'decision', 'approved', 'approvedRef', 'approvedHash', 'comment', 'errorType'])
const PLACES = rowSet(PLACE)

const rowOf = ({ approved, ...draft }: SuggestionDraft) =>
  DRAFTS.encode({ ...draft, approved: approved?.text, approvedRef: approved?.ref })

/**
 * Stores an agent's suggestions. Each replaces the agent's earlier one on the span; sending the same suggestion again
 * changes nothing. Deletes other agents' suggestions for earlier outputs of the spans. Returns, by draft id, whether
 * the suggestion is stored or the span is full because it has suggestions from `MAX_SUGGESTIONS` other agents. Leaves
 * out drafts whose span has changed since it was read. Takes one round trip. Spans must be unique.
 */
export async function addSuggestions(
  store: Store,
  act: Act,
  drafts: readonly SuggestionDraft[],
): Promise<Map<string, 'stored' | 'full'>> {
  const { database } = store
  const userId = actorOf(act) ?? ''
  const outcomes = new Map<string, 'stored' | 'full'>()
  for (const { items, json } of chunkRows(drafts, rowOf)) {
    const places = PLACES.encodeAll(items)
    const given = sql`from ${PLACES.from(places)} cross join ${traces} cross join ${spans}`
    const [, , , rows] = await database.batch([
      database.delete(suggestions).where(
        sql`(${suggestions.traceKey}, ${suggestions.spanId}, ${suggestions.userId}) in (
          select earlier.trace_key, earlier.span_id, earlier.user_id ${given} cross join ${suggestions} earlier
          where ${isUnchanged(store, PLACES.row)} and earlier.trace_key = ${spans.traceKey}
            and earlier.span_id = ${spans.id} and earlier.output_revision <> ${PLACES.row.outputRevision})`,
      ),
      database
        .insert(suggestions)
        .select(
          selectFor(
            suggestions,
            { ...DRAFTS.row, traceKey: spans.traceKey, spanId: spans.id, userId, createdAt: act.at },
            sql`from ${DRAFTS.from(json)} cross join ${traces} cross join ${spans}
              where ${isUnchanged(store, DRAFTS.row)} and (${hasSuggestionOf(userId)} or (
                select count(*) from ${suggestions} other
                where other.trace_key = ${spans.traceKey} and other.span_id = ${spans.id}) < ${MAX_SUGGESTIONS})`,
          ),
        )
        .onConflictDoUpdate({
          target: [suggestions.traceKey, suggestions.spanId, suggestions.userId],
          set: {
            id: sql`excluded.id`,
            createdAt: sql`excluded.created_at`,
            decision: sql`excluded.decision`,
            outputRevision: sql`excluded.output_revision`,
            approved: sql`excluded.approved`,
            approvedRef: sql`excluded.approved_ref`,
            approvedHash: sql`excluded.approved_hash`,
            comment: sql`excluded.comment`,
            errorType: sql`excluded.error_type`,
          },
          setWhere: sql`(${suggestions.decision}, ${suggestions.outputRevision}, ${suggestions.approvedHash},
              ${suggestions.comment}, ${suggestions.errorType})
            is not (excluded.decision, excluded.output_revision, excluded.approved_hash, excluded.comment, excluded.error_type)`,
        }),
      database
        .update(spans)
        .set({ hasSuggestions: true })
        .where(
          sql`(${spans.id}, ${spans.traceKey}) in (
              select ${PLACES.row.spanId}, ${PLACES.row.traceKey} from ${PLACES.from(places)})
            and ${spans.hasSuggestions} = 0 and ${hasSuggestionOf(userId)}`,
        ),
      database
        .select({ id: sql<string>`${PLACES.row.id}`, isStored: sql<number>`${hasSuggestionOf(userId)}` })
        .from(PLACES.from(places))
        .crossJoin(traces)
        .crossJoin(spans)
        .where(isUnchanged(store, PLACES.row)),
    ])
    for (const { id, isStored } of rows) outcomes.set(id, isStored === 1 ? 'stored' : 'full')
  }
  return outcomes
}

type Place = Readonly<Record<(typeof PLACE)[number], SQL>>

/** Whether a draft's trace is live and its span hasn't changed since it was read. */
const isUnchanged = (store: Store, row: Place) =>
  isLive(
    store,
    sql`${traces.key} = ${row.traceKey} and ${spans.id} = ${row.spanId} and ${spans.traceKey} = ${row.traceKey}
      and ${spans.reviewNumber} = ${row.reviewNumber} and ${outputRevision} = ${row.outputRevision}`,
  )

/** Whether an agent's suggestion on the current span is stored. */
const hasSuggestionOf = (userId: string): SQL => sql`exists (select 1 from ${suggestions} own
  where own.trace_key = ${spans.traceKey} and own.span_id = ${spans.id} and own.user_id = ${userId})`
