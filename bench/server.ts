import { type ChildProcess, execFile } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { convertV4MiniflareOptions, Miniflare, type V4WorkerOptions } from 'miniflare'
import type { WorkerModule } from '../scripts/serve.ts'

// Turn off wrangler's telemetry and most of its output. It reads these variables when it's imported.
process.env.WRANGLER_SEND_METRICS ??= 'false'
process.env.WRANGLER_LOG ??= 'warn'
const { unstable_getMiniflareWorkerOptions: optionsOfConfig } = await import('wrangler')
const { migrationsOf } = await import('../scripts/migrate.ts')
const { readModules, withoutTypes } = await import('../scripts/serve.ts')

export const PROJECT = resolve(import.meta.dirname, '..')
export const ADMIN_TOKEN = 'admin-token-of-the-benchmarks'

/**
 * A Worker's program: `countersign` as deployed; `measured`, which also reports the cost of its responses;
 * `evaluated`, which reports how long the script takes to evaluate; `bare` and `bare-exports`, the minimal Workers that
 * ingest an observation or an export.
 */
type Program = 'countersign' | 'measured' | 'evaluated' | 'bare' | 'bare-exports'

/** A Worker in a benchmark. Workers that specify the same database share it. */
export interface WorkerSetup {
  name: string
  program: Program
  database: string
  /** Additional variables of the Worker. */
  variables?: Readonly<Record<string, string>>
}

export type Database = Awaited<ReturnType<Miniflare['getD1Database']>>

export interface Server extends AsyncDisposable {
  /** A Worker's URL. Requests to it go directly to the Worker. */
  urlOf: (worker: string) => Promise<URL>
  databaseOf: (worker: string) => Promise<Database>
  runCron: (worker: string) => Promise<void>
  /** The URL for inspecting isolates, if the server was started with an inspector. */
  inspectorUrl: () => Promise<URL>
  /** The process in which all Workers run, and the value of `performance.now()` when it started. */
  processId: number
  startedAt: number
}

interface ServerOptions {
  isInspected?: boolean
  /** Whether the first Worker processes jobs. Only one Worker may, because two would take jobs from each other. */
  consumesJobs?: boolean
  v8Flags?: readonly string[]
}

/**
 * Starts Workers in a single workerd, so that compared Workers run in the same process, on the same disk, and at the
 * same time. Their bindings are those of wrangler.toml, except that there are no assets, which are served before the
 * Worker runs, and that jobs aren't processed unless `consumesJobs` is set. Databases start empty, and all data is
 * discarded when the server stops.
 */
export async function startServer(
  workers: readonly WorkerSetup[],
  { isInspected = false, consumesJobs = false, v8Flags = [] }: ServerOptions = {},
): Promise<Server> {
  const options = await Promise.all(workers.map((worker, index) => optionsOf(worker, consumesJobs && index === 0)))
  const spawned: { child: ChildProcess; startedAt: number }[] = []
  const onSpawn = (message: unknown) => {
    spawned.push({ child: (message as { process: ChildProcess }).process, startedAt: performance.now() })
  }
  subscribe('child_process', onSpawn)
  process.env.MINIFLARE_WORKERD_V8_FLAGS = v8Flags.join(' ')
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({ cf: false, workers: options, ...(isInspected && { inspectorPort: 0 }) }),
  )
  await miniflare.ready
  unsubscribe('child_process', onSpawn)
  const workerd = spawned.find(({ child }) => child.spawnfile.includes('workerd'))
  if (workerd?.child.pid === undefined) throw new Error('Miniflare started no workerd')
  return {
    urlOf: worker => miniflare.unsafeGetDirectURL(worker),
    databaseOf: worker => miniflare.getD1Database('DB', worker),
    runCron: async worker => {
      const { outcome } = await (await miniflare.getWorker(worker)).scheduled({ cron: '* * * * *' })
      if (outcome !== 'ok') throw new Error(`cron ended with ${outcome}`)
    },
    inspectorUrl: () => miniflare.getInspectorURL(),
    processId: workerd.child.pid,
    startedAt: workerd.startedAt,
    [Symbol.asyncDispose]: () => miniflare.dispose(),
  }
}

async function optionsOf(
  { name, program, database, variables }: WorkerSetup,
  consumesJobs: boolean,
): Promise<V4WorkerOptions> {
  const { modulesRules: _, ...workerOptions } = optionsOfConfig(resolve(PROJECT, 'wrangler.toml')).workerOptions
  // The inferred types lack the names of the fields, because their declaration uses Omit<>.
  const { assets: __, durableObjects, ...configured } = workerOptions as V4WorkerOptions
  const hasDurableObjects = program === 'countersign' || program === 'measured'
  return {
    ...configured,
    ...(hasDurableObjects && durableObjects && { durableObjects }),
    ...(!consumesJobs && { queueConsumers: {} }),
    bindings: { ADMIN_TOKEN, ...variables },
    name,
    modules: await modulesOf(program),
    modulesRoot: PROJECT,
    d1Databases: { DB: database },
    unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }],
  }
}

/**
 * The source files of each program except Countersign, entry first. Imports of `src/index.ts` resolve to the built
 * Worker.
 */
const SOURCES: Readonly<Record<Program, readonly string[]>> = {
  countersign: [],
  measured: ['bench/worker/measured.ts', 'bench/worker/measured-bindings.ts', 'test/support/bindings.ts'],
  evaluated: ['bench/worker/evaluated.ts'],
  bare: ['bench/worker/bare.ts'],
  'bare-exports': ['bench/worker/bare-exports.ts'],
}

async function modulesOf(program: Program) {
  const module = (path: string, contents: string) => ({
    type: 'ESModule' as const,
    path: resolve(PROJECT, path),
    contents,
  })
  const sources = await Promise.all(
    SOURCES[program].map(async path => module(path, await withoutTypes(resolve(PROJECT, path)))),
  )
  if (program.startsWith('bare')) return sources
  const built = (await buildWorker()).map(({ path, contents }) => module(`src/${path}`, contents))
  return program === 'countersign' ? built : [...sources, module('src/index.ts', BUILT_ENTRY), ...built]
}

/**
 * The module that programs import as `src/index.ts`. It reexports the entry, which built modules import by its own
 * name.
 */
const BUILT_ENTRY = "export * from './index.mjs'\nexport { default } from './index.mjs'\n"

let modules: Promise<WorkerModule[]> | undefined

/** Builds the Worker as a deploy does, but only once. Returns its modules. */
export function buildWorker(): Promise<WorkerModule[]> {
  modules ??= build()
  return modules
}

/** Builds in a separate folder, because a running server or another benchmark may be using `dist/`. */
async function build(): Promise<WorkerModule[]> {
  const directory = await mkdtemp(join(tmpdir(), 'countersign-bench-'))
  try {
    const command = ['run', 'build:worker', '--', '--outDir', directory]
    await promisify(execFile)('npm', command, { cwd: PROJECT })
    return await readModules(directory)
  } finally {
    await rm(directory, { recursive: true })
  }
}

/** Creates the tables in an empty database. */
export async function migrate(database: Database): Promise<void> {
  const migrations = await migrationsOf(PROJECT)
  // Runs all statements in a single call. Preparing each one from outside workerd would take ten times as long.
  await database.prepare(migrations.flatMap(({ statements }) => statements).join(';\n')).run()
}

/**
 * Runs a statement that may take seconds and that changes nothing when it's repeated. During such a statement, its
 * Worker closes idle connections. The next statement may be sent on one of them, so a statement that fails is sent
 * again.
 */
export async function runRepeatable(statement: ReturnType<Database['prepare']>): Promise<void> {
  await statement.run().catch(() => statement.run())
}
