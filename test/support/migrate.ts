import { reset } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { vi } from 'vitest'

/*
 * The files share Workers, because starting one and loading its modules takes longer than most files. Files share
 * nothing else: each starts with empty storage, the real clock, and no mocks.
 */

vi.useRealTimers()
vi.restoreAllMocks()
vi.unstubAllGlobals()

const isEmpty = async () => (await env.DB.prepare("select 1 from sqlite_master where name = 'traces'").first()) === null

// A job that's still running from the last file may reopen the database during the deletion, which then leaves it
// behind.
for (let attempt = 0; attempt === 0 || (attempt < 10 && !(await isEmpty())); attempt++) await reset()
// One batch takes a tenth of the time of one for each migration.
await env.DB.batch(env.MIGRATIONS.flatMap(({ queries }) => queries.map(query => env.DB.prepare(query))))
