import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { migrateLocally, migrationsOf } from '../../scripts/migrate.ts'
import { serve } from '../../scripts/serve.ts'
import { directoryForData } from './in-memory.ts'
import { freePort, PROJECT } from './server.ts'

const WRANGLER = join(PROJECT, 'node_modules/wrangler/bin/wrangler.js')

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(directoryForData(), 'countersign-migrate-'))
})

afterEach(() => rm(folder, { recursive: true, force: true }))

/** The local database's rows for a query. */
async function rowsOf(sql: string): Promise<unknown[]> {
  const directory = join(folder, 'v3/d1/miniflare-D1DatabaseObject')
  const file = (await readdir(directory)).find(name => /^[0-9a-f]{64}\.sqlite$/.test(name)) ?? 'none'
  const database = new DatabaseSync(join(directory, file))
  const rows = database.prepare(sql).all()
  database.close()
  return rows
}

describe('migrating the local database', () => {
  it('records applied migrations in the same way as wrangler', async ({ expect }) => {
    await migrateLocally(PROJECT, folder)
    const list = ['d1', 'migrations', 'list', 'DB', '--local', '--persist-to', folder]
    const { stdout } = await promisify(execFile)(process.execPath, [WRANGLER, ...list], { cwd: PROJECT })
    expect(stdout).toContain('No migrations to apply')
  })

  it('migrates shards like the main database, and binds them to the Worker', async ({ expect }) => {
    // Replaces the Worker. It returns its databases and the number of migrations in each one.
    const contents = `export class RateLimiter {}
      export default {
        async fetch(request, env) {
          const count = name => env[name].prepare('SELECT count(*) AS n FROM d1_migrations').first('n')
          const names = Object.keys(env).filter(name => name.startsWith('DB')).sort()
          return Response.json(Object.fromEntries(await Promise.all(names.map(async name => [name, await count(name)]))))
        }
      }`
    const { length } = await migrationsOf(PROJECT)
    for (const [shards, bound] of [
      [0, { DB: length }],
      [2, { DB: length, DB_1: length, DB_2: length }],
    ] as const) {
      await migrateLocally(PROJECT, folder, shards)
      const server = await serve({
        project: PROJECT,
        worker: [{ path: 'index.mjs', contents }],
        port: await freePort(),
        stateDirectory: folder,
        shards,
        adminToken: '',
        cronSecret: '',
        webhookKey: '',
        allowsLocalWebhooks: false,
      })
      try {
        expect(await (await server.dispatchFetch('http://localhost/databases')).json()).toEqual(bound)
      } finally {
        await server.dispose()
      }
    }
  })

  it('applies each migration once and completely, and reports the name of one that fails', async ({ expect }) => {
    const project = join(folder, 'project')
    const add = (name: string, sql: string) => writeFile(join(project, 'migrations', name), sql)
    await mkdir(join(project, 'migrations'), { recursive: true })
    await cp(join(PROJECT, 'wrangler.toml'), join(project, 'wrangler.toml'))
    await add('0000_one.sql', "create table t (v text);\n--> statement-breakpoint\ninsert into t values ('a;b');")
    await migrateLocally(project, folder)

    await add('0001_two.sql', "insert into t values ('c');")
    await add('0002_three.sql', "insert into t values ('d');\ninsert into missing values (1);")
    await expect(migrateLocally(project, folder)).rejects.toThrow(/^0002_three\.sql: .*no such table: missing/)
    expect(await rowsOf('select v from t')).toEqual([{ v: 'a;b' }, { v: 'c' }])

    await add('0002_three.sql', "insert into t values ('e');")
    await migrateLocally(project, folder)
    await migrateLocally(project, folder)
    expect(await rowsOf('select v from t')).toEqual([{ v: 'a;b' }, { v: 'c' }, { v: 'e' }])
    expect(await rowsOf('select name from d1_migrations order by id')).toEqual(
      ['0000_one.sql', '0001_two.sql', '0002_three.sql'].map(name => ({ name })),
    )
  })
})
