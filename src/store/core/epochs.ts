import { type SQLWrapper, sql } from 'drizzle-orm'
import { ONE_DATABASE } from '../../domain/shards.ts'

/** The row of `sweeps` with the shards that new traces go to, as an epoch has them. Missing with one database. */
export const NEW_SHARDS = 'shards'

/**
 * The different epochs of an organization's projects, each on a line, and those that a new project would have: whoever
 * caches them knows where its traces will be. Null with one database.
 */
export const epochsOf = (organizationKey: SQLWrapper) => sql<string | null>`(
  select group_concat(placed.epochs, char(10)) from (
    select epochs from projects
    where projects.organization_key = ${organizationKey} and projects.epochs is not null
    union select '0@' || cursor from sweeps where name = ${sql.raw(`'${NEW_SHARDS}'`)}
    union select ${sql.raw(`'${ONE_DATABASE}'`)}
    where exists (select 1 from sweeps where name = ${sql.raw(`'${NEW_SHARDS}'`)}) and exists (
      select 1 from projects where projects.organization_key = ${organizationKey} and projects.epochs is null)
  ) placed)`
