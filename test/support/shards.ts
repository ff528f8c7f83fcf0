import { env } from 'cloudflare:workers'
import { logChanges } from '../../src/store/core/copies.ts'
import { Deadline } from '../../src/store/core/deadline.ts'
import { boundShards, databaseOf, openUnscopedStore } from '../../src/store/core/store.ts'
import { HOMES } from '../../src/store/schema/homes.ts'

/**
 * Makes the test's databases as strict as homes.ts: DB has no tables for traces, and the shards have none of the control
 * database. So a statement fails if it's sent to the wrong database. Also starts copying.
 */
export async function separateHomes(): Promise<void> {
  await drop(env.DB, 'trace')
  for (const shard of boundShards(env)) await drop(databaseOf(env, shard), 'control')
  await logChanges(openUnscopedStore(env, new Deadline(10_000)))
}

const drop = (database: D1Database, unwanted: string) =>
  database.batch(
    Object.entries(HOMES).flatMap(([table, home]) =>
      home === unwanted ? [database.prepare(`drop table "${table}"`)] : [],
    ),
  )
