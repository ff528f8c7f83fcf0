import { eq } from 'drizzle-orm'
import { sweeps } from '../schema/sweeps.ts'
import { type Database, openDatabase } from './database.ts'
import type { Patience } from './patience.ts'

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
  readonly patience: Patience
}

/**
 * D1 and R2 where no organization is known or all are meant: keys by their hash, the creation of organizations, what cron
 * does (`purge.ts`, `orphans.ts`, `output-days.ts`), and `ownership.ts`. A query that takes a registry is one to look at twice.
 */
export interface Registry {
  /** Keeps a store, which has all the rest, from passing for a registry. */
  readonly scope: 'deployment'
  readonly database: Database
  readonly payloads: R2Bucket
  readonly patience: Patience
}

/** The bindings that hold the data. */
export interface StoreBindings {
  DB: D1Database
  PAYLOADS: R2Bucket
}

/** Opens the store of one organization, for one request or one step of a job. */
export function openStore({ DB, PAYLOADS }: StoreBindings, organization: Organization, patience: Patience): Store {
  return { organization, database: openDatabase(DB, patience), payloads: PAYLOADS, patience }
}

/** Opens what is not bound to an organization. */
export function openRegistry({ DB, PAYLOADS }: StoreBindings, patience: Patience): Registry {
  return { scope: 'deployment', database: openDatabase(DB, patience), payloads: PAYLOADS, patience }
}

/** 503 where D1 does not answer, or lacks the tables of this release. */
export async function requireDatabase({ database }: Registry): Promise<void> {
  await database.select({ name: sweeps.name }).from(sweeps).where(eq(sweeps.name, ''))
}
