import { type SQLWrapper, sql } from 'drizzle-orm'
import { Unanswered } from '../../domain/failures.ts'
import { ONE_DATABASE } from '../../domain/shards.ts'

/**
 * The row of `sweeps` with the shards that new traces go to, written as in an epoch. Missing if there's only one
 * database.
 */
export const NEW_SHARDS = 'shards'

/**
 * The row with the shards that new traces went to before. New projects start with them for a while, because isolates
 * don't know about the new ones yet. From its `due_at` on, the row no longer counts.
 */
export const OLD_SHARDS = 'old_shards'

/** The time according to a database's own clock, in milliseconds since 1970. */
export const CLOCK = sql<number>`(unixepoch('subsec') * 1000)`

/**
 * The distinct epochs of an organization's projects, and those that a new project may have, each on its own line. Code
 * that caches them knows where the traces will be. Null if there's only one database.
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

/**
 * According to some clocks, an epoch has begun, but according to others, it hasn't, so a trace can't be created yet.
 */
export class EpochBegins extends Unanswered {
  constructor() {
    super(1, new Error('an epoch begins'))
  }
}
