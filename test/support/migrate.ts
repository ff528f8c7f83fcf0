import { reset } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import { boundShards, databaseOf } from '../../src/store/core/store.ts'
import { migrate } from './migrations.ts'
import { replicate, stopReplicating } from './replicas.ts'
import { separateHomes } from './shards.ts'

/*
 * The test files share Workers, because starting one and loading its modules takes longer than running most files. The
 * files share nothing else: each starts with empty storage, the real clock, and no mocks.
 */

stopReplicating()
vi.useRealTimers()
vi.restoreAllMocks()
vi.unstubAllGlobals()

const shards = boundShards(env).map(shard => databaseOf(env, shard))
const replicas = [env.REPLICA, ...boundShards(env).flatMap(shard => env[`REPLICA_${shard}`] ?? [])]

const isEmptied = async (database: D1Database) =>
  (await database.prepare("select 1 from sqlite_master where name in ('traces', 'projects')").first()) === null
const isEmpty = async () => (await Promise.all([env.DB, ...shards, ...replicas].map(isEmptied))).every(Boolean)

// A job from the previous file may still be running and reopen a database during the deletion, which then doesn't
// delete that database.
for (let attempt = 0; attempt === 0 || (attempt < 10 && !(await isEmpty())); attempt++) await reset()
await Promise.all([env.DB, ...shards].map(migrate))
// This comes before all other writes, so that the replicas get every write.
if (env.REPLICA_LAG !== '') await replicate(Number(env.REPLICA_LAG))
if (shards.length > 0) await separateHomes()
