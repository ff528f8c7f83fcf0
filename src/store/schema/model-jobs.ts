import { isNotNull } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { MODEL_JOB_KINDS, MODEL_JOB_STATUSES } from '../../domain/model-job.ts'

/**
 * The state of all jobs that ask a model, except attribution: one row for each subject that was ever requested. This
 * row is authoritative; a queue message is only a hint.
 */
export const modelJobs = sqliteTable(
  'model_jobs',
  {
    organizationKey: integer('organization_key').notNull(),
    projectKey: integer('project_key').notNull(),
    kind: text('kind', { enum: MODEL_JOB_KINDS }).notNull(),
    /** The id of the job's subject, such as an experiment. */
    subject: text('subject').notNull(),
    status: text('status', { enum: MODEL_JOB_STATUSES }).notNull(),
    /** Counts the requests. If a request arrives during a run, the job may be pending again after the run. */
    requests: integer('requests').notNull(),
    requestedAt: integer('requested_at').notNull(),
    /** The number of claims since the last request, or since a run last handed the job over to the next run. */
    attempts: integer('attempts').notNull(),
    /** Identifies the run that works on the job. Only this run may write results. */
    leaseToken: text('lease_token'),
    leaseUntil: integer('lease_until'),
    /** When cron sends the job again. Null if there is nothing to do. */
    dueAt: integer('due_at'),
    /** When the job may run, if it's waiting for the provider or for the next day. Otherwise null. */
    waitsUntil: integer('waits_until'),
    /** Why the job failed, or why it's waiting. Contains nothing from the project's data. */
    failure: text('failure'),
    /** The result of the last run that ended, as JSON. */
    result: text('result'),
  },
  table => [
    primaryKey({ columns: [table.organizationKey, table.kind, table.subject] }),
    index('model_jobs_due').on(table.dueAt).where(isNotNull(table.dueAt)),
    index('model_jobs_by_project').on(table.projectKey),
  ],
)
