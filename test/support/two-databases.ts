import { env } from 'cloudflare:workers'
import { expect } from 'vitest'
import type { Env } from '../../src/env.ts'
import { logChanges } from '../../src/store/core/copies.ts'
import { Deadline } from '../../src/store/core/deadline.ts'
import { databaseOf, openUnscopedStore } from '../../src/store/core/store.ts'
import { aFeedback, aSpan, aTrace, timeAfter } from './builders.ts'
import { isSharded } from './database.ts'
import { migrate } from './migrations.ts'
import { type Client, client, newOrg, type Org } from './org.ts'

/*
 * Creates tenants with traces in two databases, ONE and TWO, whether or not the test run has shards.
 */

/** If there are no shards, the second database is a spare one. */
export const bindings: Env = isSharded ? env : { ...env, DB_1: env.REPLICA }
export const [ONE, TWO] = isSharded ? ([1, 2] as const) : ([0, 1] as const)

/** Prepares the second database. Call this before a file's tests. */
export async function prepareTwoDatabases(): Promise<void> {
  if (isSharded) return
  await migrate(env.REPLICA)
  await logChanges(openUnscopedStore(env, new Deadline(60_000)))
}

/** A tenant whose project is in several databases. */
export interface Tenant {
  org: Org
  /**
   * A client for the organization, and one for writing to the project. Their keys were created in the current epoch.
   */
  api: Client
  pipeline: Client
  epochs: string
}

/** A tenant whose traces go to these databases. */
export async function newTenant(shards: readonly number[]): Promise<Tenant> {
  const tenant = { org: await newOrg(), api: client({}), pipeline: client({}), epochs: '' }
  await enterEpoch(tenant, shards)
  return tenant
}

/**
 * Begins an epoch, and creates new keys. With a cached key, the service would use the previous epochs for 30 seconds.
 */
export async function enterEpoch(
  tenant: Tenant,
  shards: readonly number[],
  from = tenant.epochs === '' ? 0 : tenant.epochs.split(' ').length,
): Promise<void> {
  const { org, epochs } = tenant
  tenant.epochs = `${epochs} ${from}@${shards.join('.')}`.trim()
  await env.DB.prepare('update projects set epochs = ? where id = ?').bind(tenant.epochs, org.project.id).run()
  tenant.api = org.clientOf(await org.keyFor({ projectSlug: undefined }), bindings)
  tenant.pipeline = org.clientOf(await org.keyFor({}), bindings)
  // When the service changes the project, it copies the project to the other databases.
  await tenant.api.patch(`/api/projects/${org.project.id}`, { name: `Epoch ${from}` })
}

let time = 0

/** Writes a trace with a step. The trace is later than all previous traces. Returns the ids for reading it. */
export async function write({ pipeline }: Tenant, name = 'wanted') {
  const timestamp = timeAfter(1000 * ++time)
  const group = `group-${time % 3}`
  const trace = aTrace({ name, timestamp, metadata: { group_id: group } })
  const { id } = (await pipeline.post('/api/v1/traces', trace)).body
  const span = aSpan({ trace_id: trace.trace_id, timestamp, output: { answer: `Answer ${time}` } })
  expect((await pipeline.post('/api/v1/spans', span)).status).toBe(202)
  if (time % 2 === 0) await pipeline.post('/api/v1/feedback', aFeedback({ trace_id: trace.trace_id }))
  return { id: String(id), spanId: span.span_id, traceId: trace.trace_id, group }
}

async function writeMany(tenant: Tenant, count: number) {
  const written = []
  for (let n = 0; n < count; n++) written.push(await write(tenant))
  return written
}

/** A tenant with traces from three epochs, oldest first. */
export async function newHistory() {
  const tenant = await newTenant([ONE])
  const traces = await writeMany(tenant, 4)
  await enterEpoch(tenant, [TWO])
  traces.push(...(await writeMany(tenant, 4)))
  await enterEpoch(tenant, [ONE, TWO])
  traces.push(...(await writeMany(tenant, 6)))
  return { tenant, traces }
}

/** The databases in which this trace exists and isn't deleted. */
export async function placesOf(id: string): Promise<number[]> {
  const found = await Promise.all(
    [ONE, TWO].map(async shard => {
      const statement = 'select 1 from traces where id = ? and deleted_at is null'
      return (await databaseOf(bindings, shard).prepare(statement).bind(id).first()) ? [shard] : []
    }),
  )
  return found.flat()
}

/** All items of a list, read page by page. */
export async function walk(api: Client, path: string, list: string, limit: number) {
  const items: Record<string, unknown>[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { status, body } = await api.get(`${path}&limit=${limit}${cursor && `&cursor=${cursor}`}`)
    expect(status).toBe(200)
    expect(body[list].length).toBeLessThanOrEqual(limit)
    items.push(...body[list])
    cursor = body.nextCursor
  }
  return items
}

/** Bindings without queues, so that jobs wait until cron or a test runs them. */
export const alone = ({ JOBS: _, EVENTS: __, ...others }: Env): Env => others

/** The bindings while one database fails every call. */
export function without(shard: number): Env {
  const fail = async () => {
    throw new Error('D1_ERROR: D1 DB is overloaded. Requests queued for too long.')
  }
  const statement = { bind: () => statement, all: fail, run: fail, raw: fail, first: fail }
  const session = { prepare: () => statement, batch: fail, getBookmark: () => null }
  const down = { ...session, withSession: () => session } as unknown as D1Database
  return { ...bindings, [shard === 0 ? 'DB' : `DB_${shard}`]: down }
}

/** The filter for a tenant's project. */
export const projectOf = ({ org }: Tenant) => `projectId=${org.project.id}`
