import { queueOf } from '../api/queue.ts'
import { type Env, inShard, type Job } from '../env.ts'
import { logFault } from '../http/errors.ts'
import {
  JOB_ATTEMPT_MS,
  JOB_DEADLINE_MS,
  POLICY_PASS_STEPS,
  POLICY_PASS_TRACES,
  RESEND_BATCH,
  SESSION_SWEEP_ROWS,
} from '../limits.ts'
import { deleteExpiredSessions } from '../store/accounts/sessions.ts'
import { takeDueAttributions } from '../store/attribution/leases.ts'
import { Deadline } from '../store/core/deadline.ts'
import { boundShards, openUnscopedStore, type UnscopedStore } from '../store/core/store.ts'
import { backfillCases } from '../store/counts/backfill-cases.ts'
import { backfillItems, takeDueItems } from '../store/datasets/due.ts'
import { takeDueModelJobs } from '../store/model-jobs/leases.ts'
import { continuePolicyPasses } from '../store/reviews/policy-passes.ts'
import { takeDueDeletions } from '../store/reviews/user-deletion.ts'
import { sweepOrphans } from '../store/traces/orphans.ts'
import { takeDueProjects } from '../store/traces/project-purge.ts'
import { takeDuePurges } from '../store/traces/purge.ts'
import { listDueProjects } from '../store/webhooks/sending.ts'
import { closeTraces } from './close-traces.ts'
import { runJob } from './consumer.ts'
import { countOutputs } from './count-outputs.ts'
import { deleteUnusedLabelers } from './delete-labelers.ts'
import { expireAuditLog } from './expire-audit-log.ts'
import { expireEvents } from './expire-events.ts'
import { followShards } from './follow-shards.ts'
import { followAllWatches } from './follow-watches.ts'
import { noticeProblems } from './notice-problems.ts'
import { applyRetention } from './retention.ts'

/**
 * Cron's work, every minute. It brings new shards into use; sends lost jobs again, or runs them if there's no queue;
 * completes traces whose root didn't arrive; brings dataset items up to date; follows watches; records how far along
 * each problem's fix is; takes spans off the queue if a review policy leaves them out; deletes expired data and
 * labelers without records; counts outputs; and if there's nothing to purge, looks for objects without a row.
 */
export async function sweep(env: Env, now: number): Promise<void> {
  const run: Run = { env, now, limit: env.JOBS ? RESEND_BATCH : 1 }
  // A database that doesn't respond uses up only its own time.
  const open = (shard: number) => openUnscopedStore(env, new Deadline(JOB_DEADLINE_MS, JOB_ATTEMPT_MS), shard)
  const control = open(0)
  await attempt({ kind: 'shards' }, () => followShards(env, now))
  const databases = [control, ...boundShards(env).map(open)]
  const purges = await Promise.all(databases.map(each => sweepTraces(each, run)))
  await sweepAccounts(control, run)
  if (purges.every(count => count === 0)) await attempt({ kind: 'orphans' }, () => sweepOrphans(control, now))
  for (const each of databases) await sweepEvents(each, run)
  // This comes last, because a job runs here for up to a minute or so if there's no queue.
  await attempt({ kind: 'model_jobs' }, async () => {
    const due = await takeDueModelJobs(control, now, run.limit)
    for (const job of due) await resend({ kind: 'model_job', ...job }, env)
  })
}

/** One run of cron. */
interface Run {
  env: Env
  now: number
  /** How many jobs of each kind this run sends again. */
  limit: number
}

/** The work on one database's traces, and on other rows that each database has. Returns the number of due purges. */
async function sweepTraces(store: UnscopedStore, { env, now, limit }: Run): Promise<number> {
  const shard = inShard(store.shard)
  const purges = await attempt({ kind: 'purges', ...shard }, () => takeDuePurges(store, now, limit))
  for (const purge of purges ?? []) await resend({ kind: 'purge_trace', ...purge, ...shard }, env)
  await attempt({ kind: 'attributions', ...shard }, async () => {
    const due = await takeDueAttributions(store, now, limit)
    for (const attribution of due) await resend({ kind: 'attribute_trace', ...attribution, ...shard }, env)
  })
  await attempt({ kind: 'items', ...shard }, async () => {
    await backfillItems(store, now)
    const due = await takeDueItems(store, now, limit)
    for (const items of due) await resend({ kind: 'settle_items', ...items, ...shard }, env)
  })
  await attempt({ kind: 'cases', ...shard }, () => backfillCases(store, now))
  await attempt({ kind: 'closing', ...shard }, () => closeTraces(env, store, now))
  await attempt({ kind: 'retention', ...shard }, () => applyRetention(env, store, now))
  await attempt({ kind: 'audit_retention', ...shard }, () => expireAuditLog(env, store, now))
  await attempt({ kind: 'event_retention', ...shard }, () => expireEvents(store, now))
  await attempt({ kind: 'outputs', ...shard }, () => countOutputs(store, now))
  return purges?.length ?? 0
}

/** Sends a database's events. A database that doesn't respond has used up its time by now. */
async function sweepEvents(store: UnscopedStore, { env, now, limit }: Run): Promise<void> {
  const shard = inShard(store.shard)
  await attempt({ kind: 'webhooks', ...shard }, async () => {
    const due = await listDueProjects(store, now, limit)
    for (const project of due.slice(0, limit)) await resend({ kind: 'send_events', ...project, ...shard }, env)
  })
}

/** The work that covers all databases, with its progress in the control database. */
async function sweepAccounts(control: UnscopedStore, { env, now, limit }: Run): Promise<void> {
  await attempt({ kind: 'projects' }, async () => {
    const due = await takeDueProjects(control, now, limit)
    for (const project of due) await resend({ kind: 'purge_project', ...project }, env)
  })
  await attempt({ kind: 'deletions' }, async () => {
    const due = await takeDueDeletions(control, now, limit)
    for (const deletion of due) await resend({ kind: 'forget_user', ...deletion }, env)
  })
  await attempt({ kind: 'watches' }, () => followAllWatches(env, control, now))
  await attempt({ kind: 'problems' }, () => noticeProblems(env, control, now))
  await attempt({ kind: 'policies' }, () =>
    continuePolicyPasses(control, { now, steps: POLICY_PASS_STEPS, limit: POLICY_PASS_TRACES }),
  )
  await attempt({ kind: 'sessions' }, () => deleteExpiredSessions(control, now, SESSION_SWEEP_ROWS))
  await attempt({ kind: 'labelers' }, () => deleteUnusedLabelers(env, control, now))
}

/** Sends a job again, or runs it if there's no queue. */
const resend = (job: Job, env: Env): Promise<unknown> =>
  attempt(job, async () => queueOf(job, env)?.send(job) ?? runJob(job, env))

/** Runs one part of the work. If it fails, the other parts still run. */
async function attempt<Result>(
  part: Readonly<Record<string, string | number | null>>,
  run: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await run()
  } catch (error) {
    logFault('sweep_failed', part, error)
    return undefined
  }
}
