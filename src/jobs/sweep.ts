import { queueOf } from '../api/queue.ts'
import type { Env, Job } from '../env.ts'
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
import { openUnscopedStore } from '../store/core/store.ts'
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
import { deleteUnusedLabellers } from './delete-labellers.ts'
import { expireAuditLog } from './expire-audit-log.ts'
import { expireEvents } from './expire-events.ts'
import { followAllWatches } from './follow-watches.ts'
import { noticeProblems } from './notice-problems.ts'
import { applyRetention } from './retention.ts'

/**
 * Cron's work, every minute. It sends lost jobs again, or runs them if there's no queue; completes traces whose root
 * didn't arrive; brings dataset items up to date; follows watches; notices how far problems are fixed; removes spans that
 * review policies leave out from the queue; deletes expired data and labelers without records; counts outputs; and if
 * there's nothing to purge, looks for objects without a row.
 */
export async function sweep(env: Env, now: number): Promise<void> {
  const unscoped = openUnscopedStore(env, new Deadline(JOB_DEADLINE_MS, JOB_ATTEMPT_MS))
  const limit = env.JOBS ? RESEND_BATCH : 1
  const purges = await takeDuePurges(unscoped, now, limit)
  for (const purge of purges) await resend({ kind: 'purge_trace', ...purge }, env)
  await attempt({ kind: 'projects' }, async () => {
    const due = await takeDueProjects(unscoped, now, limit)
    for (const project of due) await resend({ kind: 'purge_project', ...project }, env)
  })
  await attempt({ kind: 'attributions' }, async () => {
    const due = await takeDueAttributions(unscoped, now, limit)
    for (const attribution of due) await resend({ kind: 'attribute_trace', ...attribution }, env)
  })
  await attempt({ kind: 'deletions' }, async () => {
    const due = await takeDueDeletions(unscoped, now, limit)
    for (const deletion of due) await resend({ kind: 'forget_user', ...deletion }, env)
  })
  await attempt({ kind: 'items' }, async () => {
    await backfillItems(unscoped, now)
    const due = await takeDueItems(unscoped, now, limit)
    for (const items of due) await resend({ kind: 'settle_items', ...items }, env)
  })
  await attempt({ kind: 'cases' }, () => backfillCases(unscoped, now))
  await attempt({ kind: 'watches' }, () => followAllWatches(env, unscoped, now))
  await attempt({ kind: 'problems' }, () => noticeProblems(env, unscoped, now))
  await attempt({ kind: 'policies' }, () =>
    continuePolicyPasses(unscoped, { now, steps: POLICY_PASS_STEPS, limit: POLICY_PASS_TRACES }),
  )
  await attempt({ kind: 'closing' }, () => closeTraces(env, unscoped, now))
  await attempt({ kind: 'retention' }, () => applyRetention(env, unscoped, now))
  await attempt({ kind: 'audit_retention' }, () => expireAuditLog(env, unscoped, now))
  await attempt({ kind: 'event_retention' }, () => expireEvents(unscoped, now))
  await attempt({ kind: 'outputs' }, () => countOutputs(unscoped, now))
  await attempt({ kind: 'sessions' }, () => deleteExpiredSessions(unscoped, now, SESSION_SWEEP_ROWS))
  await attempt({ kind: 'labellers' }, () => deleteUnusedLabellers(env, unscoped, now))
  if (purges.length === 0) await attempt({ kind: 'orphans' }, () => sweepOrphans(unscoped, now))
  await attempt({ kind: 'webhooks' }, async () => {
    const due = await listDueProjects(unscoped, now, limit)
    for (const project of due.slice(0, limit)) await resend({ kind: 'send_events', ...project }, env)
  })
  // This comes last, because without a queue, a job runs here for up to a minute or so.
  await attempt({ kind: 'model_jobs' }, async () => {
    const due = await takeDueModelJobs(unscoped, now, limit)
    for (const job of due) await resend({ kind: 'model_job', ...job }, env)
  })
}

/** Sends a job again, or runs it if there's no queue. */
const resend = (job: Job, env: Env): Promise<void> =>
  attempt(job, () => queueOf(job, env)?.send(job) ?? runJob(job, env))

/** Runs one part of the work. If it fails, the others still run. */
async function attempt(
  part: Readonly<Record<string, string | number | null>>,
  run: () => Promise<unknown>,
): Promise<void> {
  try {
    await run()
  } catch (error) {
    logFault('sweep_failed', part, error)
  }
}
