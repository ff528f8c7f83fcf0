import { and, eq, gt, isNull, ne, or, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import type { TextKind } from '../../domain/versioned-text.ts'
import { isOneOf } from '../core/rows.ts'
import type { Organization, UnscopedStore } from '../core/store.ts'
import { apiKeys, organizations, projects, users } from '../schema/accounts.ts'
import { datasets } from '../schema/datasets.ts'
import { experiments } from '../schema/experiments.ts'
import { problemIds } from '../schema/problems.ts'
import { feedback } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { versionedTexts } from '../schema/texts.ts'
import { traces } from '../schema/traces.ts'
import { webhooks } from '../schema/webhooks.ts'

/*
 * The only queries in a request that read tenants' data without being bound to an organization. They run after a miss
 * and check whether another organization has the record. They return only yes or no, so the read interface can respond
 * with a 403 or a 404.
 */

/** Whether a record's project isn't deleted. */
const isOfProject = (projectKey: SQLiteColumn) =>
  sql`exists (select 1 from ${projects} where ${projects.key} = ${projectKey} and ${projects.deletedAt} is null)`

/** Whether a trace isn't deleted. */
const isLiveTrace = and(isNull(traces.deletedAt), isOfProject(traces.projectKey))

/**
 * Asks all databases of the deployment, because another organization's traces may be in databases that the caller's
 * organization doesn't use.
 */
const askAll = async <Row>(
  { shards }: UnscopedStore,
  ask: (database: UnscopedStore['database']) => PromiseLike<Row[]>,
): Promise<Row[]> => (await Promise.all(shards.map(({ database }) => ask(database)))).flat()

/** Whether another organization has a trace with this id. */
export async function isForeignTrace(unscoped: UnscopedStore, own: Organization, id: string): Promise<boolean> {
  const rows = await askAll(unscoped, database =>
    database
      .select({ key: traces.key })
      .from(traces)
      .where(and(eq(traces.id, id), isLiveTrace, ne(traces.organizationKey, own.key))),
  )
  return rows.length > 0
}

/** Whether another organization has a span with this id. */
export const isForeignSpan = async (unscoped: UnscopedStore, own: Organization, id: string): Promise<boolean> =>
  (await foreignSpans(unscoped, own, [id])).has(id)

/** Which of these ids belong to another organization's spans. */
export async function foreignSpans(
  unscoped: UnscopedStore,
  own: Organization,
  ids: readonly string[],
): Promise<Set<string>> {
  const rows = await askAll(unscoped, database =>
    database
      .select({ id: spans.id })
      .from(spans)
      .innerJoin(traces, eq(traces.key, spans.traceKey))
      .where(and(isOneOf(spans.id, ids), isLiveTrace, ne(traces.organizationKey, own.key))),
  )
  return new Set(rows.map(({ id }) => id))
}

/** Whether another organization has feedback with this id. */
export async function isForeignFeedback(unscoped: UnscopedStore, own: Organization, id: string): Promise<boolean> {
  const rows = await askAll(unscoped, database =>
    database
      .select({ key: traces.key })
      .from(feedback)
      .innerJoin(traces, eq(traces.key, feedback.traceKey))
      .where(and(eq(feedback.id, id), isLiveTrace, ne(traces.organizationKey, own.key))),
  )
  return rows.length > 0
}

/** Whether another organization has an API key with this id. */
export async function isForeignApiKey({ database }: UnscopedStore, own: Organization, id: string): Promise<boolean> {
  const rows = await database
    .select({ key: apiKeys.key })
    .from(apiKeys)
    .where(and(eq(apiKeys.id, id), ne(apiKeys.organizationKey, own.key)))
  return rows.length > 0
}

/**
 * Whether another organization has a user with this id. Seeks once in each organization, because maintaining an index
 * by id would cost a write for each new labeler.
 */
export async function isForeignUser({ database }: UnscopedStore, own: Organization, id: string): Promise<boolean> {
  const rows = await database
    .select({ id: users.id })
    .from(organizations)
    .crossJoin(users)
    .where(
      and(
        gt(organizations.key, 0),
        ne(organizations.key, own.key),
        eq(users.organizationKey, organizations.key),
        eq(users.id, id),
      ),
    )
    .limit(1)
  return rows.length > 0
}

/** Whether another organization has a prompt or knowledge doc with this id. */
export async function isForeignText(
  { database }: UnscopedStore,
  own: Organization,
  { kind, id }: { kind: TextKind; id: string },
): Promise<boolean> {
  const rows = await database
    .select({ key: versionedTexts.key })
    .from(versionedTexts)
    .where(
      and(
        eq(versionedTexts.id, id),
        eq(versionedTexts.kind, kind),
        ne(versionedTexts.organizationKey, own.key),
        isOfProject(versionedTexts.projectKey),
      ),
    )
  return rows.length > 0
}

/** Whether another organization has a dataset with this id. */
export async function isForeignDataset(unscoped: UnscopedStore, own: Organization, id: string): Promise<boolean> {
  const rows = await askAll(unscoped, database =>
    database
      .select({ id: datasets.id })
      .from(datasets)
      .where(and(eq(datasets.id, id), ne(datasets.organizationKey, own.key), isOfProject(datasets.projectKey))),
  )
  return rows.length > 0
}

/**
 * Whether another organization has an experiment with this id. Clients may choose ids, so check this only if the
 * caller's own organization has none.
 */
export async function isForeignExperiment(
  { database }: UnscopedStore,
  own: Organization,
  id: string,
): Promise<boolean> {
  const rows = await database
    .select({ key: experiments.key })
    .from(experiments)
    .where(and(eq(experiments.id, id), ne(experiments.organizationKey, own.key), isOfProject(experiments.projectKey)))
  return rows.length > 0
}

/**
 * Whether another organization has a problem with this id. False if nobody has requested the problem yet, because its
 * id is then unknown.
 */
export async function isForeignProblem(unscoped: UnscopedStore, own: Organization, id: string): Promise<boolean> {
  const rows = await askAll(unscoped, database =>
    database
      .select({ id: problemIds.id })
      .from(problemIds)
      .innerJoin(projects, eq(projects.key, problemIds.projectKey))
      .where(and(eq(problemIds.id, id), isNull(projects.deletedAt), ne(projects.organizationKey, own.key))),
  )
  return rows.length > 0
}

/**
 * Whether another organization has a webhook with this id. Clients may choose ids, so check this only if the caller's
 * own organization has none.
 */
export async function isForeignWebhook({ database }: UnscopedStore, own: Organization, id: string): Promise<boolean> {
  const rows = await database
    .select({ key: webhooks.key })
    .from(webhooks)
    .where(
      and(
        eq(webhooks.id, id),
        ne(webhooks.organizationKey, own.key),
        or(isNull(webhooks.projectKey), isOfProject(webhooks.projectKey)),
      ),
    )
  return rows.length > 0
}

/** Whether another organization has a project with this id. */
export async function isForeignProject({ database }: UnscopedStore, own: Organization, id: string): Promise<boolean> {
  const rows = await database
    .select({ key: projects.key })
    .from(projects)
    .where(and(eq(projects.id, id), isNull(projects.deletedAt), ne(projects.organizationKey, own.key)))
  return rows.length > 0
}
