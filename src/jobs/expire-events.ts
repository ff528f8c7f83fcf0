import { EVENT_EXPIRY_STEPS } from '../limits.ts'
import type { UnscopedStore } from '../store/core/store.ts'
import { deleteOldEvents } from '../store/webhooks/cleanup.ts'

/** Deletes some of the expired events, and what deleted webhooks left behind. */
export async function expireEvents(unscoped: UnscopedStore, now: number): Promise<void> {
  for (let step = 0; step < EVENT_EXPIRY_STEPS; step++) if (!(await deleteOldEvents(unscoped, now))) return
}
