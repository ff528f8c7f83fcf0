import { eq } from 'drizzle-orm'
import { sweeps } from '../schema/sweeps.ts'
import type { UnscopedStore } from './store.ts'

/** A pass over the data that cron makes in pieces, by its name in `sweeps`. */
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

/** The cursor where a pass resumes; '' at the beginning. Undefined if no piece of the pass is due. */
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
