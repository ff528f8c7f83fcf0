import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { ATTRIBUTION_STATUSES } from '../../domain/attribution.ts'
import type { Store } from '../core/store.ts'
import { attributionJobs } from '../schema/attribution.ts'
import { traces } from '../schema/traces.ts'
import { isLive } from '../traces/live.ts'

/*
 * Jobs that attribute disagreements. A job's row is authoritative; queue messages only point to it. A worker holds a
 * job under a lease that has a token, and can write only with that token.
 */

export type AttributionStatus = (typeof ATTRIBUTION_STATUSES)[number]

/**
 * A trace's fingerprint, which changes with its feedback, decisions, observations, spans, and metadata. Column names
 * include their tables, because drizzle drops the table's name from some selections.
 */
export const currentBasis = sql<string>`(traces.revision || '/' || traces.updated_at
  || (select '/' || count(*) || '/' || coalesce(max(observed.received_at), 0)
      from observations observed where observed.trace_key = traces.key)
  || (select '/' || count(*) || '/' || coalesce(sum(coalesce(octet_length(given.comment), 0)
      + coalesce(octet_length(given.correction), 0) + coalesce(octet_length(given.rating), 0)), 0)
      from feedback given where given.trace_key = traces.key)
  || (select '/' || count(*) from reviews decided where decided.trace_key = traces.key))`

export const isPending = sql`${attributionJobs.status} = 'pending'`

/** A job that a run holds. */
export interface Claim {
  traceKey: number
  projectKey: number
  token: string
  /** The number of requests at the time of the claim. */
  requests: number
  /** The trace's fingerprint at the time of the claim, and the fingerprint that the last result was based on. */
  basis: string
  basisBefore: string | null
}

/** Whether a row is the given job, in the store's organization. */
export const isJob = ({ organization }: Store, traceKey: number, ...conditions: SQL[]) =>
  and(eq(attributionJobs.traceKey, traceKey), eq(attributionJobs.organizationKey, organization.key), ...conditions)

export const isFree = (now: number) =>
  sql`(${attributionJobs.leaseUntil} is null or ${attributionJobs.leaseUntil} <= ${now})`

/** A job that waits for the next day isn't leased but must not be claimed. */
export const isWaiting = (now: number) => sql`coalesce(${attributionJobs.waitsUntil}, 0) > ${now}`

export const isHeld = (token: string) => sql`${attributionJobs.leaseToken} is ${token}`

/** Whether a job's trace still exists. */
export const hasLiveTrace = (store: Store) =>
  sql`exists (select 1 from ${traces} where ${isLive(store, eq(traces.key, attributionJobs.traceKey))})`

export const NO_LEASE = { leaseToken: null, leaseUntil: null }

export const statusQuery = (store: Store, traceKey: number) =>
  store.database
    .select({ status: sql<AttributionStatus>`${attributionJobs.status}`.as('status') })
    .from(attributionJobs)
    .where(isJob(store, traceKey))
