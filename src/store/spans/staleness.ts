import { sql } from 'drizzle-orm'
import { hashOutput } from '../../domain/review-state.ts'
import { turnsByLength } from '../../domain/turns.ts'
import { isDecidedBy, outputRevision } from '../core/reviewable.ts'
import { rowSet } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { reviews } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { hasIdIn, isLive } from '../traces/live.ts'
import { judgeAgain } from '../traces/roots.ts'

/*
 * `spans.is_stale` is written by what changes an output or decides on one, so that every read and count has the same truth
 * at no cost. Outputs are compared by a hash of their canonical JSON, which the request that brings one computes only if
 * its span has a review.
 */

/** An output that was stored for a span with a review. */
export interface NewOutput {
  traceUuid: string
  /** Null: the root. */
  spanId: string | null
  /** Its observation's id, or the name of an output given to the span itself. */
  revision: string
  json: string
}

const OUTPUTS = rowSet(['traceUuid', 'spanId', 'revision', 'hash'])

/** Marks the reviews of spans stale if these outputs, where they are the spans' outputs now, differ from what was judged. */
export async function markStale(store: Store, outputs: readonly NewOutput[]): Promise<void> {
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
  const isOfTrace = isLive(store, sql`${traces.id} = ${row.traceUuid}`)
  // Null if the output that counts is none of these. The plus below keeps an index of all reviewed spans out of it.
  const isOther = sql`(select ${reviews.outputHash} <> ${row.hash} from ${given} cross join ${reviews}
    where ${isOfTrace} and ${traces.key} = ${spans.traceKey} and ${row.revision} = ${outputRevision} and ${isDecidedBy})`
  await database.batch([
    database
      .update(spans)
      .set({ isStale: isOther })
      .where(
        sql`(${spans.id}, ${spans.traceKey}) in (
            select coalesce(${row.spanId}, ${traces.rootSpanId}), ${traces.key} from ${given} where ${isOfTrace})
          and +${spans.reviewState} is not null and ${spans.isStale} <> ${isOther}`,
      ),
    judgeAgain(store, isLive(store, hasIdIn(outputs.map(({ traceUuid }) => traceUuid)))),
  ])
}
