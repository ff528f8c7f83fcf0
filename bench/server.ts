import type { ChildProcess } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { convertV4MiniflareOptions, Miniflare, type V4WorkerOptions } from 'miniflare'

// Read by wrangler when it is imported: no telemetry, no chatter.
process.env.WRANGLER_SEND_METRICS ??= 'false'
process.env.WRANGLER_LOG ??= 'warn'
const { unstable_getMiniflareWorkerOptions: optionsOfConfig } = await import('wrangler')
const { bundleWorker, withoutTypes } = await import('../scripts/serve.ts')

export const PROJECT = resolve(import.meta.dirname, '..')
export const ADMIN_TOKEN = 'admin-token-of-the-benchmarks'

/**
 * What a Worker runs: `countersign` as it is deployed; `measured`, the same one telling what its answers cost; `evaluated`,
 * how long its script takes to evaluate; `bare`, the least that takes in an observation.
 */
type Program = 'countersign' | 'measured' | 'evaluated' | 'bare'

/** One Worker of a benchmark. Those that name the same database share it. */
export interface WorkerSetup {
  name: string
  program: Program
  database: string
}

export type Database = Awaited<ReturnType<Miniflare['getD1Database']>>

export interface Server extends AsyncDisposable {
  /** Where a Worker listens; nothing stands between it and the client. */
  urlOf: (worker: string) => Promise<URL>
  databaseOf: (worker: string) => Promise<Database>
  /** Where the isolates can be looked into, if the server was started for that. */
  inspectorUrl: () => Promise<URL>
  /** The one process in which all Workers run, and when it was started, as `performance.now()` tells time. */
  processId: number
  startedAt: number
}

interface ServerOptions {
  isInspected?: boolean
  /** Whether jobs are done; two Workers that do them would take them from each other. */
  consumesJobs?: boolean
  v8Flags?: readonly string[]
}

/**
 * Starts Workers, all in one workerd, so that what is compared shares its process, its storage and its moment. Their bindings
 * are those of wrangler.toml, but for the assets, which are served before the Worker is asked, and jobs, which lie undone
 * unless `consumesJobs`. Databases are empty; all data goes with the server.
 */
export async function startServer(
  workers: readonly WorkerSetup[],
  { isInspected = false, consumesJobs = false, v8Flags = [] }: ServerOptions = {},
): Promise<Server> {
  const options = await Promise.all(workers.map(worker => optionsOf(worker, consumesJobs)))
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
    inspectorUrl: () => miniflare.getInspectorURL(),
    processId: workerd.child.pid,
    startedAt: workerd.startedAt,
    [Symbol.asyncDispose]: () => miniflare.dispose(),
  }
}

async function optionsOf({ name, program, database }: WorkerSetup, consumesJobs: boolean): Promise<V4WorkerOptions> {
  const { modulesRules: _, ...workerOptions } = optionsOfConfig(resolve(PROJECT, 'wrangler.toml')).workerOptions
  // An Omit<> in its declaration took the names of its fields.
  const { assets: __, durableObjects, ...configured } = workerOptions as V4WorkerOptions
  const hasDurableObjects = program === 'countersign' || program === 'measured'
  return {
    ...configured,
    ...(hasDurableObjects && durableObjects && { durableObjects }),
    ...(!consumesJobs && { queueConsumers: {} }),
    bindings: { ADMIN_TOKEN },
    name,
    modules: await modulesOf(program),
    modulesRoot: PROJECT,
    d1Databases: { DB: database },
    unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }],
  }
}

/** The sources of each program but Countersign's own, the entry first. What imports `src/index.ts` gets the bundle. */
const SOURCES: Readonly<Record<Program, readonly string[]>> = {
  countersign: [],
  measured: ['bench/worker/measured.ts', 'bench/worker/measured-bindings.ts', 'test/support/bindings.ts'],
  evaluated: ['bench/worker/evaluated.ts'],
  bare: ['bench/worker/bare.ts'],
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
  return program === 'bare'
    ? sources
    : [...sources, module('src/index.ts', await readFile(await buildWorker(), 'utf8'))]
}

let bundle: Promise<string> | undefined

/** Bundles the Worker as a deploy would, once. Returns the bundle's path. */
export function buildWorker(): Promise<string> {
  bundle ??= build()
  return bundle
}

/** In a folder where the pages need no build: theirs would empty `dist/` under a server that runs. */
async function build(): Promise<string> {
  const directory = resolve(PROJECT, '.wrangler/bench')
  await rm(directory, { recursive: true, force: true })
  await mkdir(resolve(directory, 'dist/ui'), { recursive: true })
  await writeFile(resolve(directory, 'package.json'), JSON.stringify({ type: 'module', scripts: { build: ':' } }))
  for (const name of ['src', 'node_modules', 'tsconfig.json', 'wrangler.toml']) {
    await symlink(resolve(PROJECT, name), resolve(directory, name))
  }
  const file = resolve(directory, 'index.js')
  await writeFile(file, await bundleWorker(directory))
  return file
}

/** Makes the tables of an empty database. */
export async function migrate(database: Database): Promise<void> {
  const directory = resolve(PROJECT, 'migrations')
  const files = (await readdir(directory)).filter(file => file.endsWith('.sql')).sort()
  for (const file of files) {
    const sql = await readFile(resolve(directory, file), 'utf8')
    for (const statement of sql.split('--> statement-breakpoint')) await database.prepare(statement).run()
  }
}
