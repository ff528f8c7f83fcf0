import { reset } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import { replicate, stopReplicating } from './replicas.ts'

/*
 * The files share Workers, because starting one and loading its modules takes longer than most files. Files share
 * nothing else: each starts with empty storage, the real clock, and no mocks.
 */

stopReplicating()
vi.useRealTimers()
vi.restoreAllMocks()
vi.unstubAllGlobals()

const isEmptied = async (database: D1Database) =>
  (await database.prepare("select 1 from sqlite_master where name = 'traces'").first()) === null
const isEmpty = async () => (await isEmptied(env.DB)) && (await isEmptied(env.REPLICA))

// A job that's still running from the last file may reopen the database during the deletion, which then leaves it
// behind.
for (let attempt = 0; attempt === 0 || (attempt < 10 && !(await isEmpty())); attempt++) await reset()
// One batch takes a tenth of the time of one for each migration.
await env.DB.batch(env.MIGRATIONS.flatMap(({ queries }) => queries.map(query => env.DB.prepare(query))))
if (env.REPLICA_LAG !== '') await replicate(Number(env.REPLICA_LAG))
