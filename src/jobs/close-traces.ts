import { closed } from '../domain/derived-trace.ts'
import type { Env } from '../env.ts'
import { findDueTraces } from '../store/closing.ts'
import { openStore, type Registry } from '../store/store.ts'
import { traceUpdate, updateTraces } from '../store/traces.ts'

/**
 * Completes traces whose root did not come in time, some a minute. What was written meanwhile is left to the next minute: it
 * may have been the root.
 */
export async function closeTraces(env: Env, registry: Registry, now: number): Promise<void> {
  for (const { organization, traces } of await findDueTraces(registry, now)) {
    const updates = traces.map(trace => traceUpdate(trace, closed(trace), now))
    await updateTraces(openStore(env, organization, registry.patience), await Promise.all(updates))
  }
}
