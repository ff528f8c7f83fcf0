import { closed } from '../domain/derived-trace.ts'
import type { Env } from '../env.ts'
import { CLOSING_STEPS } from '../limits.ts'
import { openShard, type UnscopedStore } from '../store/core/store.ts'
import { findDueTraces } from '../store/traces/closing.ts'
import { traceUpdate, updateTraces } from '../store/traces/trace-updates.ts'

/**
 * In one database, completes the traces whose root didn't arrive in time, a bounded number per minute. If a trace has
 * changed since it was read, its state is computed again, because the root may have arrived.
 */
export async function closeTraces(env: Env, unscoped: UnscopedStore, now: number): Promise<void> {
  for (let step = 0; step < CLOSING_STEPS; step++) {
    const due = await findDueTraces(unscoped, now)
    if (due.size === 0) return
    for (const [organization, traces] of due) {
      const updates = await Promise.all(traces.map(trace => traceUpdate(trace, closed(trace), now)))
      await updateTraces(openShard(env, organization, unscoped.deadline, unscoped.shard), updates)
    }
  }
}
