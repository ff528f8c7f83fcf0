import { type SQLWrapper, sql } from 'drizzle-orm'

/** The different epochs of an organization's projects, each on a line. Null if no project has any. */
export const epochsOf = (organizationKey: SQLWrapper) => sql<string | null>`(
  select group_concat(placed.epochs, char(10)) from (
    select distinct epochs from projects
    where projects.organization_key = ${organizationKey} and projects.epochs is not null) placed)`
