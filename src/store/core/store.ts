import { eq } from 'drizzle-orm'
import { sweeps } from '../schema/sweeps.ts'
import { type Database, openDatabase } from './database.ts'
import type { Deadline } from './deadline.ts'

/** An organization: `key` in the database, `id` and `slug` in the API. */
export interface Organization {
  key: number
  id: string
  slug: string
}

/** D1 and R2, bound to one organization. The first argument of every query on tenants' data. */
export interface Store {
  readonly organization: Organization
  readonly database: Database
  readonly payloads: R2Bucket
  readonly deadline: Deadline
}

/**
 * D1 and R2 for code that runs before the organization is known or covers all organizations: looking up keys by hash,
 * creating organizations, cron jobs (`purge.ts`, `orphans.ts`, `output-days.ts`), and `ownership.ts`. Review any query
 * that takes one carefully.
 */
export interface UnscopedStore {
  /** Prevents passing a `Store` instead, which has all the other fields. */
  readonly scope: 'deployment'
  readonly database: Database
  readonly payloads: R2Bucket
  readonly deadline: Deadline
}

/** The bindings for data storage. */
export interface StoreBindings {
  DB: D1Database
  PAYLOADS: R2Bucket
}

/** Opens one organization's store, for one request or one step of a job. */
export function openStore({ DB, PAYLOADS }: StoreBindings, organization: Organization, deadline: Deadline): Store {
  return { organization, database: openDatabase(DB, deadline), payloads: PAYLOADS, deadline }
}

/** Opens a store that isn't bound to an organization. */
export function openUnscopedStore({ DB, PAYLOADS }: StoreBindings, deadline: Deadline): UnscopedStore {
  return { scope: 'deployment', database: openDatabase(DB, deadline), payloads: PAYLOADS, deadline }
}

/** Throws a 503 if D1 doesn't answer or lacks this release's tables. */
export async function requireDatabase({ database }: UnscopedStore): Promise<void> {
  await database.select({ name: sweeps.name }).from(sweeps).where(eq(sweeps.name, ''))
}
