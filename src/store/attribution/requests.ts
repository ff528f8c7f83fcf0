import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { inShard, type Job } from '../../env.ts'
import { RESEND_AFTER_MS } from '../../limits.ts'
import { readPlain } from '../core/database.ts'
import { selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { projects } from '../schema/accounts.ts'
import { attributionJobs } from '../schema/attribution.ts'
import { traces } from '../schema/traces.ts'
import { isLive } from '../traces/live.ts'
import { currentBasis, isPending } from './jobs.ts'
import { type AttributionState, attributionStateQueries, hasFeedback, toAttributionState } from './state.ts'

/** Whether a trace's project attributes disagreements automatically. */
const isAutomatic = sql`exists (
  select 1 from ${projects} where ${projects.key} = ${traces.projectKey} and ${projects.autoAttribute} = 1)`

/**
 * The statement that requests the attribution of traces. A pending job absorbs the request; a finished one restarts if
 * anything has changed or if `force` is set. Running the statement twice costs at most one more run. Returns the keys
 * of the traces whose jobs are now pending.
 */
const requestJobs = ({ database }: Store, ofTraces: SQL | undefined, at: number, force: boolean) => {
  const now = Math.floor(at)
  const unlessPending = (column: SQLiteColumn, value: SQL) => sql`iif(${isPending}, ${column}, ${value})`
  const jobBasis = sql`(select ${currentBasis} from traces where traces.key = ${attributionJobs.traceKey})`
  // A forced request that is retried after a lost reply must not run again.
  const isForced = force ? sql`${attributionJobs.requestedAt} <> ${now}` : sql`false`
  return database
    .insert(attributionJobs)
    .select(
      selectFor(
        attributionJobs,
        {
          traceKey: traces.key,
          organizationKey: traces.organizationKey,
          projectKey: traces.projectKey,
          status: 'pending',
          requests: 1,
          requestedAt: now,
          attempts: 0,
          leaseToken: null,
          leaseUntil: null,
          dueAt: now + RESEND_AFTER_MS,
          waitsUntil: null,
          failure: null,
          basis: null,
          attributionNumber: 0,
          errorType: null,
        },
        sql`from ${traces} where ${ofTraces}`,
      ),
    )
    .onConflictDoUpdate({
      target: attributionJobs.traceKey,
      set: {
        status: 'pending',
        requests: sql`${attributionJobs.requests} + 1`,
        requestedAt: now,
        attempts: unlessPending(attributionJobs.attempts, sql`0`),
        dueAt: unlessPending(attributionJobs.dueAt, sql`excluded.due_at`),
        failure: unlessPending(attributionJobs.failure, sql`null`),
        // If `force` is set, the job is tried right away, because the limit may have changed.
        waitsUntil: force ? null : unlessPending(attributionJobs.waitsUntil, sql`null`),
        // If the job has no basis, the run can't skip its work.
        ...(force && { basis: unlessPending(attributionJobs.basis, sql`null`) }),
      },
      setWhere: sql`${attributionJobs.status} <> 'done' or ${attributionJobs.basis} is not ${jobBasis} or ${isForced}`,
    })
    .returning({ traceKey: attributionJobs.traceKey })
}

/**
 * Like `requestJobs`, for the traces whose projects attribute automatically. Run it in the same batch as the write that
 * causes the request.
 */
export const requestAutomaticJobs = (store: Store, ofTraces: SQL, at: number) =>
  requestJobs(store, isLive(store, ofTraces, isAutomatic), at, false)

/** The queue messages for the requested traces. */
export const attributionMessages = ({ organization, shard }: Store, traceKeys: Iterable<number>): Job[] =>
  Array.from(traceKeys, traceKey => ({
    kind: 'attribute_trace',
    organizationKey: organization.key,
    traceKey,
    ...inShard(shard),
  }))

/**
 * Requests the attribution of a trace. If nothing has changed since the last result, writes nothing, unless `force` is
 * set. Returns the state, or undefined if there is no such trace. Takes one round trip.
 */
export async function requestAttribution(
  store: Store,
  traceUuid: string,
  { force, now }: { force: boolean; now: number },
): Promise<AttributionState | undefined> {
  const ofTrace = isLive(store, eq(traces.id, traceUuid))
  const request = requestJobs(store, and(ofTrace, hasFeedback(store)), now, force)
  const [, ...rows] = await readPlain(store.database, [request, ...attributionStateQueries(store, ofTrace)])
  return toAttributionState(rows)
}
