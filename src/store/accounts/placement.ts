import { and, asc, desc, eq, gt, isNull, or, sql } from 'drizzle-orm'
import { withEpoch } from '../../domain/shards.ts'
import { EPOCH_DELAY_MS, MAX_EPOCH_LATENESS_MS, NEW_PROJECT_DELAY_MS, PLACED_PROJECTS } from '../../limits.ts'
import { CLOCK, NEW_SHARDS, OLD_SHARDS } from '../core/epochs.ts'
import { isOneOf, rowSet, selectFor } from '../core/rows.ts'
import type { Store, UnscopedStore } from '../core/store.ts'
import { organizations, projects } from '../schema/accounts.ts'
import { sweeps } from '../schema/sweeps.ts'

/*
 * Which shards new traces go to. Cron decides this for the deployment and gives each project an epoch.
 */

/** The shards that new traces go to. Empty if they go to DB. */
export async function findNewShards({ database }: UnscopedStore): Promise<number[]> {
  const [row] = await database.select({ shards: sweeps.cursor }).from(sweeps).where(eq(sweeps.name, NEW_SHARDS))
  return shardsIn(row)
}

const shardsIn = (row: { shards: string } | undefined): number[] => row?.shards.split('.').map(Number) ?? []

/**
 * The shards of a project that's created now. Empty if its traces go to DB. For a minute after a change, these are the
 * old shards, because an isolate that doesn't know about the new ones yet wouldn't find the project's traces.
 */
export async function findShardsOfNewProject({ database }: Store): Promise<number[]> {
  const isRecent = sql`${sweeps.dueAt} > ${CLOCK} + ${EPOCH_DELAY_MS - NEW_PROJECT_DELAY_MS}`
  const [row] = await database
    .select({ shards: sweeps.cursor })
    .from(sweeps)
    .where(or(eq(sweeps.name, NEW_SHARDS), and(eq(sweeps.name, OLD_SHARDS), isRecent)))
    .orderBy(desc(eq(sweeps.name, OLD_SHARDS)))
    .limit(1)
  return shardsIn(row)
}

/** Changes the shards that new traces go to. On an empty deployment, projects use them immediately. */
export async function saveNewShards({ database }: UnscopedStore, shards: readonly number[]): Promise<void> {
  const cursor = shards.join('.')
  const before = sql`coalesce((select cursor from sweeps where name = ${NEW_SHARDS}), '0')`
  await database.batch([
    database
      .insert(sweeps)
      .select(
        selectFor(
          sweeps,
          { name: sql`${OLD_SHARDS}`, cursor: before, dueAt: sql`${CLOCK} + ${EPOCH_DELAY_MS}` },
          sql`where exists (select 1 from ${organizations})`,
        ),
      )
      // If the last change is recent, new projects still get the shards from before that change.
      .onConflictDoUpdate({
        target: sweeps.name,
        set: {
          cursor: sql`iif(${sweeps.dueAt} > ${CLOCK}, ${sweeps.cursor}, excluded.cursor)`,
          dueAt: sql`excluded.due_at`,
        },
      }),
    database
      .insert(sweeps)
      .values({ name: NEW_SHARDS, cursor, dueAt: 0 })
      .onConflictDoUpdate({ target: sweeps.name, set: { cursor } }),
  ])
}

const CHANGES = rowSet(['before', 'after'])

/**
 * Looks at the next projects after the key `after`, and gives those that need one an epoch with these shards. Returns
 * the last project's key, or null if there are no more. Safe to run twice or concurrently, because a change is based on
 * the epochs that it replaces. A write changes nothing if it takes effect too late for every isolate to know about the
 * epoch in time.
 */
export async function placeProjects(
  { database }: UnscopedStore,
  shards: readonly number[],
  { after, now, from }: { after: number; now: number; from: number },
): Promise<number | null> {
  const found = await database
    .select({ key: projects.key, epochs: projects.epochs })
    .from(projects)
    .where(and(gt(projects.key, after), isNull(projects.deletedAt)))
    .orderBy(asc(projects.key))
    .limit(PLACED_PROJECTS)
  const changes = [...new Set(found.map(({ epochs }) => epochs))]
    .map(before => ({ before, after: withEpoch(before, shards, { now, from }) }))
    .filter(change => change.after !== change.before)
  if (changes.length > 0) {
    const { row } = CHANGES
    const isFound = isOneOf(
      projects.key,
      found.map(({ key }) => key),
    )
    await database
      .update(projects)
      .set({ epochs: row.after })
      .from(CHANGES.from(CHANGES.encodeAll(changes)))
      .where(
        and(
          isFound,
          sql`${projects.epochs} is ${row.before}`,
          isNull(projects.deletedAt),
          sql`${CLOCK} < ${from - EPOCH_DELAY_MS + MAX_EPOCH_LATENESS_MS}`,
        ),
      )
  }
  return found.length < PLACED_PROJECTS ? null : (found.at(-1)?.key ?? null)
}
