import type { Env } from '../env.ts'
import { JOB_ATTEMPT_MS, JOB_DEADLINE_MS } from '../limits.ts'
import { Deadline } from '../store/core/deadline.ts'
import { openStore, type UnscopedStore } from '../store/core/store.ts'
import { findDuePass, savePass } from '../store/core/sweeps.ts'
import { followWatches } from '../store/experiments/rollback.ts'
import { listWatchedPrompts } from '../store/texts/watch.ts'

/**
 * Continues a pass over all prompts' watches, a few per minute. It finds what reviewers' requests missed, because those
 * requests follow watches only after they have responded.
 */
export async function followAllWatches(env: Env, unscoped: UnscopedStore, now: number): Promise<void> {
  const cursor = await findDuePass(unscoped, 'watches', now)
  if (cursor === undefined) return
  const { prompts, nextKey } = await listWatchedPrompts(unscoped, Number(cursor))
  for (const ofOrganization of Map.groupBy(prompts, ({ organization }) => organization.key).values()) {
    const [first] = ofOrganization
    if (!first) continue
    const store = openStore(env, first.organization, new Deadline(JOB_DEADLINE_MS, JOB_ATTEMPT_MS))
    const promptIds = ofOrganization.map(({ id }) => id)
    await followWatches(store, { promptIds }, { at: now, requestId: crypto.randomUUID() })
  }
  await savePass(unscoped, 'watches', { cursor: nextKey === null ? '' : String(nextKey), dueAt: now })
}
