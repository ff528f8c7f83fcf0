import { and, asc, eq, lte, type SQL, sql } from 'drizzle-orm'
import type { SQLiteUpdateSetSource } from 'drizzle-orm/sqlite-core'
import { parseEpochs } from '../../domain/shards.ts'
import { LEFT_OUT_AFTER_MS, POLICY_PASS_MS, RESEND_AFTER_MS } from '../../limits.ts'
import { placeOrder } from '../core/across.ts'
import { isPicked } from '../core/review-policy.ts'
import { isUnreviewedStep, ofTrace } from '../core/reviewable.ts'
import { JOB, type UnscopedStore } from '../core/store.ts'
import { projects } from '../schema/accounts.ts'
import { reviewPolicies, reviewPolicySteps } from '../schema/review-policies.ts'
import { spans } from '../schema/spans.ts'
import { isLeftOut, isOpenForReview, traces } from '../schema/traces.ts'

/*
 * A policy may leave out nearly all of a project's traces, and the queue must not search all of them for each page. So
 * cron walks through a project's traces, newest first. If the policy selects nothing from a trace, cron takes the trace
 * out of the index that the queue reads. After the policy changes, cron first walks through the traces that were taken
 * out earlier.
 */

/** A project's pass over its traces. */
interface Pass {
  projectKey: number
  revision: string
  isOverLeftOut: boolean
  timestamp: number
  traceId: string
}

/**
 * Continues the passes that are due, by at most `steps` pieces of `limit` traces. Safe to run twice or concurrently.
 */
export async function continuePolicyPasses(
  unscoped: UnscopedStore,
  { now, steps, limit }: { now: number; steps: number; limit: number },
): Promise<void> {
  for (let step = 0; step < steps; step++) {
    const pass = await findDuePass(unscoped, now)
    if (!pass) return
    await continuePass(unscoped, pass, now, limit)
  }
}

/** The pass that has waited longest. */
async function findDuePass({ database }: UnscopedStore, now: number): Promise<Pass | undefined> {
  const [pass] = await database
    .select({
      projectKey: reviewPolicies.projectKey,
      revision: reviewPolicies.revision,
      isOverLeftOut: reviewPolicies.isPassOverLeftOut,
      timestamp: reviewPolicies.passTimestamp,
      traceId: reviewPolicies.passTraceId,
    })
    .from(reviewPolicies)
    .where(lte(reviewPolicies.passDueAt, now))
    .orderBy(asc(reviewPolicies.passDueAt))
    .limit(1)
  return pass
}

async function continuePass(unscoped: UnscopedStore, pass: Pass, now: number, limit: number): Promise<void> {
  const isUnchanged = and(
    eq(reviewPolicies.projectKey, pass.projectKey),
    eq(reviewPolicies.revision, pass.revision),
    eq(reviewPolicies.isPassOverLeftOut, pass.isOverLeftOut),
    eq(reviewPolicies.passTimestamp, pass.timestamp),
    eq(reviewPolicies.passTraceId, pass.traceId),
  )
  const move = (next: SQLiteUpdateSetSource<typeof reviewPolicies>) =>
    unscoped.database.update(reviewPolicies).set(next).where(isUnchanged)
  try {
    const last = await checkPiece(await databasesOf(unscoped, pass.projectKey), pass, now, limit)
    // This isn't in a batch, because the policy and the traces may be in different databases. If this write fails, the
    // piece is processed again.
    await move(
      last
        ? { passTimestamp: last.timestamp, passTraceId: last.id, passDueAt: now }
        : nextPass(pass.isOverLeftOut, now),
    )
  } catch (error) {
    // A project must not have to wait for a database that it doesn't use.
    if (unscoped.shards.length > 1) await move({ passDueAt: now + RESEND_AFTER_MS })
    throw error
  }
}

/** The databases that may have a project's traces. */
async function databasesOf(unscoped: UnscopedStore, projectKey: number): Promise<readonly UnscopedStore[]> {
  const { shards } = unscoped
  if (shards.length === 1) return shards
  const [project] = await unscoped.database
    .select({ epochs: projects.epochs })
    .from(projects)
    .where(eq(projects.key, projectKey))
  const used = new Set(parseEpochs(project?.epochs ?? null).flatMap(epoch => epoch.shards))
  return shards.filter(({ shard }) => used.has(shard))
}

/**
 * Checks up to `limit` of the next traces in each database. Returns the place it reached, or null at the end of the
 * pass.
 */
async function checkPiece(
  databases: readonly UnscopedStore[],
  pass: Pass,
  now: number,
  limit: number,
): Promise<{ timestamp: number; id: string } | null> {
  const { projectKey, isOverLeftOut } = pass
  const isPassed = isOverLeftOut ? isLeftOut : isOpenForReview
  const isAhead = sql`(${traces.projectKey} = ${projectKey} and ${traces.deletedAt} is null and ${isPassed}
    and ${traces.timestamp} <= ${pass.timestamp}
    and (${traces.timestamp}, ${traces.id}) < (${pass.timestamp}, ${pass.traceId}))`
  const ends = await Promise.all(
    databases.map(async unscoped => {
      await requireCopy(unscoped, pass)
      return unscoped.database
        .select({ timestamp: traces.timestamp, id: traces.id })
        .from(traces)
        .where(isAhead)
        .orderBy(sql`${traces.timestamp} desc, ${traces.id} desc`)
        .limit(1)
        .offset(limit - 1)
    }),
  )
  // All databases stop at the place where the first one reaches its limit.
  const [last] = ends
    .flat()
    .toSorted((one, other) => NEWEST_FIRST([one.timestamp, one.id], [other.timestamp, other.id]))
  const isPiece = last
    ? sql`(${isAhead} and ${traces.timestamp} >= ${last.timestamp}
        and (${traces.timestamp}, ${traces.id}) >= (${last.timestamp}, ${last.id}))`
    : isAhead
  const offersSpan = sql`exists (select 1 from ${spans} where ${and(ofTrace, isUnreviewedStep, isPicked(projectKey, JOB))})`
  await Promise.all(
    databases.map(({ database }) =>
      isOverLeftOut
        ? database.update(traces).set({ needsReview: true }).where(sql`${isPiece} and ${offersSpan}`)
        : database
            .update(traces)
            .set({ needsReview: sql`2` })
            // A trace that's still being sent would return to the index with its next span.
            .where(sql`${isPiece} and ${traces.updatedAt} <= ${now - LEFT_OUT_AFTER_MS} and not ${offersSpan}`),
    ),
  )
  return last ?? null
}

const NEWEST_FIRST = placeOrder('descending')

/** Throws if a database's copy of the policy is out of date, because it might leave out the wrong traces. */
async function requireCopy({ shard, database }: UnscopedStore, { projectKey, revision }: Pass): Promise<void> {
  if (shard === 0) return
  const [copy] = await database
    .select({ revision: reviewPolicies.revision })
    .from(reviewPolicies)
    .where(eq(reviewPolicies.projectKey, projectKey))
  if (copy?.revision !== revision) throw new Error(`DB_${shard} has an earlier review policy for project ${projectKey}`)
}

/** The start of the next pass. If the policy leaves nothing out, no pass is due. */
const nextPass = (wasOverLeftOut: boolean, now: number) => ({
  isPassOverLeftOut: false,
  passTimestamp: Number.MAX_SAFE_INTEGER,
  passTraceId: '',
  passDueAt: leavesOut(wasOverLeftOut ? now : now + POLICY_PASS_MS),
})

const leavesOut = (dueAt: number): SQL => sql`iif(exists (select 1 from ${reviewPolicySteps} step
  where step.project_key = ${reviewPolicies.projectKey} and step.sample < 1), ${dueAt}, ${Number.MAX_SAFE_INTEGER})`
