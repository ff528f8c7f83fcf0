import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import type { EventType } from '../../domain/webhook.ts'
import { webhookEvents } from '../schema/webhooks.ts'
import { isOneOf, selectFor } from './rows.ts'
import type { Organization, Store } from './store.ts'

/*
 * The outbox. Every write that causes an event for webhooks adds the statement from `recordEvents` to its batch. If no
 * webhook subscribes to the event, there's no statement.
 */

/**
 * The events that an organization's projects send: a line for each enabled webhook, with its project's key (or `*` for
 * all projects) and its events.
 */
export const sentEventsOf = (organizationKey: SQLWrapper): SQL<string | null> => sql<string | null>`(
  select group_concat(coalesce(sending.project_key, '*') || sending.events, char(10)) from webhooks sending
  where sending.organization_key = ${organizationKey} and sending.is_enabled = 1)`

/** The keys of the projects with a webhook that subscribes to a type of event. `*` means every project. */
const projectsSending = ({ sentEvents }: Organization, type: EventType): Set<string> =>
  new Set(sentEvents?.split('\n').flatMap(line => (line.includes(` ${type} `) ? line.slice(0, line.indexOf(' ')) : [])))

/** An event's columns. Each one is a constant or comes from the rows of a query. */
interface EventColumns {
  /** Chosen by the caller, so that a retry doesn't record a second event. */
  id: string | SQL
  traceKey: number | SQL | SQLiteColumn | null
  /** The id of what the event is about. */
  subjectId: string | SQL | SQLiteColumn
  actorId: string | SQL | SQLiteColumn | null
  at: number | SQL
  /** The rest of the payload: ids and enum values, never values from traces. */
  data: Readonly<Record<string, string | number | boolean | null | SQLWrapper>>
}

/**
 * Returns a list with the statement that records a project's events, or an empty list if no webhook subscribes to them.
 * Run it in the same batch as the change that causes the events. `from` returns a row for each event and ends with a
 * `where` clause.
 */
export function recordEvents(store: Store, type: EventType, projectKey: number, event: EventColumns, from: SQL) {
  const senders = projectsSending(store.organization, type)
  if (!senders.has('*') && !senders.has(String(projectKey))) return []
  store.outbox.add(projectKey)
  return [insertEvents(store, type, projectKey, event, from)]
}

/**
 * Like `recordEvents`, but for a change that may affect several projects. Each row has its project's key. After the
 * batch, the caller adds the projects to the outbox.
 */
export function recordEventsOfProjects(
  store: Store,
  type: EventType,
  projectKey: SQL | SQLiteColumn,
  event: EventColumns,
  from: SQL,
) {
  const senders = projectsSending(store.organization, type)
  if (senders.size === 0) return []
  const isSender = senders.has('*') ? sql`` : sql` and ${isOneOf(sql`cast(${projectKey} as text)`, [...senders])}`
  return [insertEvents(store, type, projectKey, event, sql`${from}${isSender}`)]
}

const insertEvents = (
  { database, organization }: Store,
  type: EventType,
  projectKey: number | SQL | SQLiteColumn,
  { data, ...event }: EventColumns,
  from: SQL,
) => {
  const fields = Object.entries(data).flatMap(([name, value]) => [sql`${name}`, jsonOf(value)])
  const place = { sequence: null, organizationKey: organization.key, projectKey, type }
  const values = { ...place, ...event, data: sql`json_object(${sql.join(fields, sql`, `)})`, isNew: 1 }
  return database
    .insert(webhookEvents)
    .select(selectFor(webhookEvents, values, from))
    .onConflictDoNothing()
}

/** D1 binds a boolean as a number. */
const jsonOf = (value: string | number | boolean | null | SQLWrapper): SQL =>
  typeof value === 'boolean' ? sql.raw(value ? `json('true')` : `json('false')`) : sql`${value}`
