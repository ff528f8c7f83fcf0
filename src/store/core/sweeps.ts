import { eq } from 'drizzle-orm'
import { sweeps } from '../schema/sweeps.ts'
import type { UnscopedStore } from './store.ts'

/** The name in `sweeps` of a pass over the data, which cron makes in pieces. */
type Pass =
  | 'orphans'
  | 'audit'
  | 'retention'
  | 'outputs'
  | 'labellers'
  | 'items'
  | 'cases'
  | 'watches'
  | 'webhooks'
  | 'problems'
  | 'copies'
  | 'epochs'

/** Returns the cursor where a pass resumes, or '' at the beginning. Undefined if the pass's next piece isn't due. */
export async function findDuePass({ database }: UnscopedStore, name: Pass, now: number): Promise<string | undefined> {
  const [pass] = await database.select().from(sweeps).where(eq(sweeps.name, name))
  return pass && pass.dueAt > now ? undefined : (pass?.cursor ?? '')
}

/** Saves where and when a pass resumes. */
export async function savePass(
  { database }: UnscopedStore,
  name: Pass,
  next: { cursor: string; dueAt: number },
): Promise<void> {
  await database
    .insert(sweeps)
    .values({ name, ...next })
    .onConflictDoUpdate({ target: sweeps.name, set: next })
}
