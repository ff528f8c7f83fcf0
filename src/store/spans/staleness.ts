import { sql } from 'drizzle-orm'
import { hashOutput } from '../../domain/review-state.ts'
import { turnsByLength } from '../../domain/turns.ts'
import { refreshAssignments } from '../core/assignees.ts'
import { isDecisionInForce, outputRevision } from '../core/reviewable.ts'
import { rowSet } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { reviews } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { hasIdIn, isLive } from '../traces/live.ts'
import { markItemsDue, updateNeedsReview } from '../traces/roots.ts'

/*
 * `spans.is_stale` is updated whenever an output changes or a decision is made, so reads and counts agree at no extra
 * cost. Outputs are compared by a hash of their canonical JSON. Only outputs of reviewed spans are hashed.
 */

/** An output that was stored in a trace with reviews. */
export interface NewOutput {
  traceUuid: string
  /** Null for the root span. */
  spanId: string | null
  /** The id of the output's observation or, if the output was sent with the span itself, its revision. */
  revision: string
  json: string
}

const OUTPUTS = rowSet(['traceUuid', 'spanId', 'revision', 'hash'])

/**
 * Handles outputs that arrived in traces with reviews: marks reviewed spans stale if one of these outputs is current
 * and differs from the reviewed output, and has cron bring the traces' dataset items up to date.
 */
export async function markStale(store: Store, outputs: readonly NewOutput[], now: number): Promise<void> {
  if (outputs.length === 0) return
  const { database } = store
  const rows: (Omit<NewOutput, 'json'> & { hash: string })[] = []
  const giveTurns = turnsByLength()
  for (const { json, ...output } of outputs) {
    await giveTurns(json.length)
    rows.push({ ...output, hash: await hashOutput(json) })
  }
  const { row } = OUTPUTS
  const given = sql`${OUTPUTS.from(OUTPUTS.encodeAll(rows))} cross join ${traces}`
  const ofOutputs = isLive(store, hasIdIn(outputs.map(({ traceUuid }) => traceUuid)))
  const isOfTrace = isLive(store, sql`${traces.id} = ${row.traceUuid}`)
  // Null if none of these outputs is the current one. The plus below keeps SQLite from using the index of all reviewed
  // spans.
  const differs = sql`(select ${reviews.outputHash} <> ${row.hash} from ${given} cross join ${reviews}
    where ${isOfTrace} and ${traces.key} = ${spans.traceKey} and ${row.revision} = ${outputRevision} and ${isDecisionInForce})`
  await database.batch([
    database
      .update(spans)
      .set({ isStale: differs })
      .where(
        sql`(${spans.id}, ${spans.traceKey}) in (
            select coalesce(${row.spanId}, ${traces.rootSpanId}), ${traces.key} from ${given} where ${isOfTrace})
          and +${spans.reviewState} is not null and ${spans.isStale} <> ${differs}`,
      ),
    updateNeedsReview(store, ofOutputs),
    markItemsDue(store, ofOutputs, now),
    refreshAssignments(store, ofOutputs),
  ])
}
