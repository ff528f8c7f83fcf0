import { eq, type SQL, sql } from 'drizzle-orm'
import { type Attribution, type AttributionCost, citedDoc } from '../../domain/attribution.ts'
import { LOW_CONFIDENCE } from '../../domain/review-policy.ts'
import { readPlain, runLast } from '../core/database.ts'
import { selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { updateCases } from '../counts/problem-cases.ts'
import { countAnswer } from '../counts/review-days.ts'
import { attributionJobs, attributions } from '../schema/attribution.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { isLive } from '../traces/live.ts'
import { reopenTraces } from '../traces/traces.ts'
import { recordAnswer } from './attribution-events.ts'
import {
  type AttributionStatus,
  type Claim,
  hasLiveTrace,
  isHeld,
  isJob,
  isPending,
  NO_LEASE,
  statusQuery,
} from './jobs.ts'

/** An engine's answer. The caller chooses `id`, so a retry doesn't add a second result. */
export interface AttributionDraft {
  id: string
  attribution: Attribution
  version: string
  cost: AttributionCost
}

/**
 * Ends a run with its result. Does nothing if the job's lease was lost or its trace is gone. Returns the job's status:
 * `pending` if another request has come in since the claim, or undefined if the job is gone.
 */
export async function finishAttribution(
  store: Store,
  claim: Claim,
  draft: AttributionDraft,
  now: number,
): Promise<AttributionStatus | undefined> {
  const { database } = store
  const [job] = await runLast(database, [
    database
      .insert(attributions)
      .select(
        selectFor(
          attributions,
          resultColumns(draft, now),
          sql`from ${attributionJobs} where ${isClaimed(store, claim)}`,
        ),
      )
      .onConflictDoNothing()
      .returning({ id: attributions.id }),
    // Count while the job is still held, so a retry after a lost reply doesn't count again.
    countAnswer(store, isClaimed(store, claim)),
    completion(store, claim, now, {
      attributionNumber: sql`${attributionJobs.attributionNumber} + 1`,
      errorType: draft.attribution.errorType,
    }),
    ...updateCases(store, isLive(store, eq(traces.key, claim.traceKey))),
    ...(draft.attribution.confidence < LOW_CONFIDENCE
      ? [reopenTraces(store, isLive(store, eq(traces.key, claim.traceKey)))]
      : []),
    ...recordAnswer(store, claim, draft.id, now),
    statusQuery(store, claim.traceKey),
  ])
  return job?.status
}

/**
 * Ends a run that found no changes since the last result, and keeps that result. Returns the same as
 * `finishAttribution`.
 */
export async function settleAttribution(
  store: Store,
  claim: Claim,
  now: number,
): Promise<AttributionStatus | undefined> {
  const [, [job]] = await readPlain(store.database, [completion(store, claim, now), statusQuery(store, claim.traceKey)])
  return job?.status
}

const isClaimed = (store: Store, { traceKey, token }: Claim) =>
  isJob(store, traceKey, isPending, isHeld(token), hasLiveTrace(store))

/** The statement that completes a job, or makes it pending again if another request has come in since the claim. */
function completion(
  store: Store,
  claim: Claim,
  now: number,
  result: { attributionNumber?: SQL; errorType?: string } = {},
) {
  const isAnswered = sql`${attributionJobs.requests} = ${claim.requests}`
  return store.database
    .update(attributionJobs)
    .set({
      ...NO_LEASE,
      status: sql`iif(${isAnswered}, 'done', 'pending')`,
      dueAt: sql`iif(${isAnswered}, null, ${now})`,
      attempts: 0,
      failure: null,
      basis: claim.basis,
      ...result,
    })
    .where(isClaimed(store, claim))
    .returning({ traceKey: attributionJobs.traceKey })
}

/** The columns of a result for the current job. */
const resultColumns = ({ id, attribution, version, cost }: AttributionDraft, now: number) => ({
  ...cost,
  traceKey: attributionJobs.traceKey,
  number: sql`${attributionJobs.attributionNumber} + 1`,
  id,
  projectKey: attributionJobs.projectKey,
  createdAt: now,
  errorType: attribution.errorType,
  confidence: attribution.confidence,
  spanId: attribution.spanId,
  reasoning: attribution.reasoning,
  alternatives: JSON.stringify(attribution.alternatives),
  evidence: JSON.stringify(attribution.evidence),
  docSlug: citedDoc(attribution.evidence),
  engine: attribution.engine,
  engineVersion: version,
  stepId: sql`coalesce((select blamed.step_id from ${spans} blamed
    where blamed.id = ${attribution.spanId} and blamed.trace_key = ${attributionJobs.traceKey}), '')`,
})
