import { eq } from 'drizzle-orm'
import { sweeps } from '../schema/sweeps.ts'
import { type Database, openDatabase } from './database.ts'
import type { Deadline } from './deadline.ts'

/** An organization as the rows know it (`key`) and as the world does (`id`, `slug`). */
export interface Organization {
  key: number
  id: string
  slug: string
}

/** D1 and R2, bound to one organization: the first argument of every query on tenants' data. */
export interface Store {
  readonly organization: Organization
  readonly database: Database
  readonly payloads: R2Bucket
  readonly deadline: Deadline
}

/**
 * D1 and R2 where no organization is known or all are meant: keys by their hash, the creation of organizations, what cron
 * does (`purge.ts`, `orphans.ts`, `output-days.ts`), and `ownership.ts`. A query that takes one is one to look at twice.
 */
export interface UnscopedStore {
  /** Keeps a store, which has all the rest, from passing for one. */
  readonly scope: 'deployment'
  readonly database: Database
  readonly payloads: R2Bucket
  readonly deadline: Deadline
}

/** The bindings that hold the data. */
export interface StoreBindings {
  DB: D1Database
  PAYLOADS: R2Bucket
}

/** Opens the store of one organization, for one request or one step of a job. */
export function openStore({ DB, PAYLOADS }: StoreBindings, organization: Organization, deadline: Deadline): Store {
  return { organization, database: openDatabase(DB, deadline), payloads: PAYLOADS, deadline }
}

/** Opens what is not bound to an organization. */
export function openUnscopedStore({ DB, PAYLOADS }: StoreBindings, deadline: Deadline): UnscopedStore {
  return { scope: 'deployment', database: openDatabase(DB, deadline), payloads: PAYLOADS, deadline }
}

/** 503 where D1 does not answer, or lacks the tables of this release. */
export async function requireDatabase({ database }: UnscopedStore): Promise<void> {
  await database.select({ name: sweeps.name }).from(sweeps).where(eq(sweeps.name, ''))
}
