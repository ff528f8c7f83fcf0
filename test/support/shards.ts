import { env } from 'cloudflare:workers'
import { followShards } from '../../src/jobs/follow-shards.ts'
import { boundShards, databaseOf } from '../../src/store/core/store.ts'
import { HOMES } from '../../src/store/schema/homes.ts'

/**
 * Makes the test's databases as strict as homes.ts: DB has no tables for traces, and the shards have none of the control
 * database. So a statement fails if it's sent to the wrong database. Also has new projects use both shards.
 */
export async function separateHomes(): Promise<void> {
  await drop(env.DB, 'trace')
  for (const shard of boundShards(env)) await drop(databaseOf(env, shard), 'control')
  await followShards(env, Date.now())
}

const drop = (database: D1Database, unwanted: string) =>
  database.batch(
    Object.entries(HOMES).flatMap(([table, home]) =>
      home === unwanted ? [database.prepare(`drop table "${table}"`)] : [],
    ),
  )
