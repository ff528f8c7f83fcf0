import { env } from 'cloudflare:workers'
import { followShards } from '../../src/jobs/follow-shards.ts'
import { boundShards, databaseOf } from '../../src/store/core/store.ts'
import { HOMES } from '../../src/store/schema/homes.ts'

/**
 * Makes the test's databases as strict as homes.ts: DB has no tables for traces, and the shards have none of the
 * control database's tables. So a statement fails if it's sent to the wrong database. Also makes new projects use both
 * shards.
 */
export async function separateHomes(): Promise<void> {
  await drop(env.DB, 'trace')
  await env.DB.batch(ASKED_EVERYWHERE.map(sql => env.DB.prepare(sql)))
  for (const shard of boundShards(env)) await drop(databaseOf(env, shard), 'control')
  await followShards(env, Date.now())
}

/**
 * The tables that `ownership.ts` reads in each of the deployment's databases. They have only the columns that it reads,
 * so any other statement still fails.
 */
const ASKED_EVERYWHERE = [
  'create table traces (key, id, organization_key, project_key, deleted_at)',
  'create table spans (id, trace_key)',
  'create table feedback (id, trace_key)',
  'create table problem_ids (id, project_key)',
]

const drop = (database: D1Database, unwanted: string) =>
  database.batch(
    Object.entries(HOMES).flatMap(([table, home]) =>
      home === unwanted ? [database.prepare(`drop table "${table}"`)] : [],
    ),
  )
