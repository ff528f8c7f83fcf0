import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { convertV4MiniflareOptions, Miniflare, type V4WorkerOptions } from 'miniflare'
import { unstable_getMiniflareWorkerOptions as optionsOfConfig, unstable_splitSqlQuery as statementsIn } from 'wrangler'
import { withoutTypes } from './serve.ts'
import { localShards, shardBindings } from './shards.ts'

interface Migration {
  /** The file's name. */
  name: string
  statements: string[]
}

/** The migrations of a project, in the order in which they're applied. */
export async function migrationsOf(project: string): Promise<Migration[]> {
  const directory = resolve(project, 'migrations')
  const names = (await readdir(directory)).filter(file => file.endsWith('.sql')).sort()
  return Promise.all(
    names.map(async name => ({ name, statements: statementsIn(await readFile(join(directory, name), 'utf8')) })),
  )
}

/**
 * Applies the migrations that a local installation's databases lack, each in a transaction.
 * `wrangler d1 migrations apply --local` does the same, but starts workerd for each migration.
 */
export async function migrateLocally(project: string, stateDirectory: string, shards = 0): Promise<void> {
  const { d1Databases = {} } = optionsOfConfig(resolve(project, 'wrangler.toml')).workerOptions as V4WorkerOptions
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      cf: false,
      resourcePersistencePath: join(stateDirectory, 'v3'),
      modules: [
        {
          type: 'ESModule',
          path: 'migrator.js',
          contents: await withoutTypes(resolve(import.meta.dirname, 'worker/migrator.ts')),
        },
      ],
      d1Databases: { ...d1Databases, ...localShards(shards) },
    }),
  )
  try {
    const migrations = await migrationsOf(project)
    for (const binding of ['DB', ...shardBindings(shards)]) {
      const body = JSON.stringify({ binding, migrations })
      const failure = await (await miniflare.dispatchFetch('http://localhost', { method: 'POST', body })).text()
      if (failure) throw new Error(failure)
    }
  } finally {
    await miniflare.dispose()
  }
}
