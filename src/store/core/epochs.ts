import { type SQLWrapper, sql } from 'drizzle-orm'
import { ONE_DATABASE } from '../../domain/shards.ts'

/**
 * The different epochs of an organization's projects, each on a line. Null if no project has any. Otherwise, those of a
 * project without epochs are among them as well.
 */
export const epochsOf = (organizationKey: SQLWrapper) => sql<string | null>`(
  select group_concat(placed.epochs, char(10)) from (
    select distinct epochs from projects
    where projects.organization_key = ${organizationKey} and projects.epochs is not null
    union all select ${sql.raw(`'${ONE_DATABASE}'`)}
    where exists (select 1 from projects where projects.organization_key = ${organizationKey} and projects.epochs is not null)
      and exists (select 1 from projects where projects.organization_key = ${organizationKey} and projects.epochs is null)
  ) placed)`
