import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { convertV4MiniflareOptions, Miniflare, type V4WorkerOptions } from 'miniflare'
import { unstable_getMiniflareWorkerOptions as optionsOfConfig, unstable_splitSqlQuery as statementsIn } from 'wrangler'
import { localShards, shardBindings } from './shards.ts'

type LocalDatabase = Awaited<ReturnType<Miniflare['getD1Database']>>

interface Migration {
  /** The file's name. */
  name: string
  statements: string[]
}

/** The migrations of a project, in the order in which they apply. */
export async function migrationsOf(project: string): Promise<Migration[]> {
  const directory = resolve(project, 'migrations')
  const names = (await readdir(directory)).filter(file => file.endsWith('.sql')).sort()
  return Promise.all(
    names.map(async name => ({ name, statements: statementsIn(await readFile(join(directory, name), 'utf8')) })),
  )
}

/** Where `wrangler d1 migrations` also records what it applied. */
const APPLIED = `CREATE TABLE IF NOT EXISTS d1_migrations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT UNIQUE,
  applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
)`

/**
 * Applies the migrations that a local installation's databases lack, each in a transaction. `wrangler d1 migrations apply
 * --local` does the same, but starts workerd for each migration.
 */
export async function migrateLocally(project: string, stateDirectory: string, shards = 0): Promise<void> {
  const { d1Databases = {} } = optionsOfConfig(resolve(project, 'wrangler.toml')).workerOptions as V4WorkerOptions
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      cf: false,
      resourcePersistencePath: join(stateDirectory, 'v3'),
      modules: [{ type: 'ESModule', path: 'none.js', contents: 'export default {}' }],
      d1Databases: { ...d1Databases, ...localShards(shards) },
    }),
  )
  try {
    const migrations = await migrationsOf(project)
    for (const binding of ['DB', ...shardBindings(shards)]) {
      await migrate(await miniflare.getD1Database(binding), migrations)
    }
  } finally {
    await miniflare.dispose()
  }
}

async function migrate(database: LocalDatabase, migrations: readonly Migration[]): Promise<void> {
  await database.prepare(APPLIED).run()
  const { results } = await database.prepare('SELECT name FROM d1_migrations').all<{ name: string }>()
  const applied = new Set(results.map(({ name }) => name))
  for (const { name, statements } of migrations) {
    if (applied.has(name)) continue
    const record = database.prepare('INSERT INTO d1_migrations (name) VALUES (?)').bind(name)
    await database.batch([...statements.map(sql => database.prepare(sql)), record]).catch(error => {
      throw new Error(`${name}: ${error.message}`, { cause: error })
    })
  }
}
