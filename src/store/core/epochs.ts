import { type SQLWrapper, sql } from 'drizzle-orm'
import { Unanswered } from '../../domain/failures.ts'
import { ONE_DATABASE } from '../../domain/shards.ts'

/**
 * The name of the row in `sweeps` that lists the shards for new traces, in the format of an epoch. The row is missing
 * if there's only one database.
 */
export const NEW_SHARDS = 'shards'

/**
 * The name of the row that lists the previous shards for new traces. New projects start with these shards for a while,
 * because isolates may not have the new list yet. The row is ignored from its `due_at` on.
 */
export const OLD_SHARDS = 'old_shards'

/** The time according to a database's own clock, in milliseconds since 1970. */
export const CLOCK = sql<number>`(unixepoch('subsec') * 1000)`

/**
 * The distinct epochs of an organization's projects, and those that a new project may have, each on its own line. Code
 * that has cached them can tell where traces will be. Null if there's only one database.
 */
export const epochsOf = (organizationKey: SQLWrapper) => sql<string | null>`(
  select group_concat(placed.epochs, char(10)) from (
    select epochs from projects
    where projects.organization_key = ${organizationKey} and projects.epochs is not null
    union select '0@' || cursor from sweeps
    where name = ${sql.raw(`'${NEW_SHARDS}'`)} or name = ${sql.raw(`'${OLD_SHARDS}'`)} and due_at > ${CLOCK}
    union select ${sql.raw(`'${ONE_DATABASE}'`)}
    where exists (select 1 from sweeps where name = ${sql.raw(`'${NEW_SHARDS}'`)}) and exists (
      select 1 from projects where projects.organization_key = ${organizationKey} and projects.epochs is null)
  ) placed)`

/** An epoch has begun according to some clocks but not according to others, so a trace can't be created yet. */
export class EpochBegins extends Unanswered {
  constructor() {
    super(1, new Error('an epoch is beginning'))
  }
}
