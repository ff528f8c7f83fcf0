import { eq } from 'drizzle-orm'
import { sweeps } from '../schema/sweeps.ts'
import { type Database, openDatabase } from './database.ts'
import type { Deadline } from './deadline.ts'

/** An organization: `key` in the database, `id` and `slug` in the API. */
export interface Organization {
  key: number
  id: string
  slug: string
  /**
   * The events that its projects send to webhooks: a line for each project, as `sentEventsOf` writes it. Null if they
   * send none. Up to 30 seconds old in requests.
   */
  sentEvents: string | null
}

/** Who reads from a store. */
export interface Viewer {
  /** The reviewer: a user's id, or the id of a key that acts for no user. Null for jobs. */
  readonly viewerId: string | null
  /** Whether a blind review policy hides other people's votes from them. `core/veil.ts` has the conditions. */
  readonly isBlind: boolean
}

/** D1 and R2, bound to one organization. The first argument of every query on tenants' data. */
export interface Store extends Viewer {
  readonly organization: Organization
  readonly database: Database
  readonly payloads: R2Bucket
  readonly deadline: Deadline
  /** The keys of projects in which this request or job may have written events. Null: for webhooks of every project. */
  readonly outbox: Set<number | null>
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

/** A job sees everything. */
export const JOB: Viewer = { viewerId: null, isBlind: false }

/** Opens one organization's store, for one request or one step of a job. */
export function openStore(
  { DB, PAYLOADS }: StoreBindings,
  organization: Organization,
  deadline: Deadline,
  { viewerId, isBlind }: Viewer = JOB,
): Store {
  const database = openDatabase(DB, deadline)
  return { organization, database, payloads: PAYLOADS, deadline, viewerId, isBlind, outbox: new Set() }
}

/** Opens a request's store again, with another deadline, for work that outlasts the first one. */
export const reopenStore = (bindings: StoreBindings, store: Store, deadline: Deadline): Store =>
  openStore(bindings, store.organization, deadline, store)

/** Opens a store that isn't bound to an organization. */
export function openUnscopedStore({ DB, PAYLOADS }: StoreBindings, deadline: Deadline): UnscopedStore {
  return { scope: 'deployment', database: openDatabase(DB, deadline), payloads: PAYLOADS, deadline }
}

/** Throws a 503 if D1 doesn't respond or lacks this release's tables. */
export async function requireDatabase({ database }: UnscopedStore): Promise<void> {
  await database.select({ name: sweeps.name }).from(sweeps).where(eq(sweeps.name, ''))
}
