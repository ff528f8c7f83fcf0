import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare, type V4WorkerOptions } from 'miniflare'
import { transformWithOxc } from 'vite'
import { unstable_getMiniflareWorkerOptions as optionsOfConfig } from 'wrangler'
import { localShards } from './shards.ts'

/** A module of the Worker, identified by its path. */
export interface WorkerModule {
  path: string
  contents: string
}

/**
 * Builds the Worker and its pages as a deploy does, and returns the Worker's modules. Rejects with the command's error,
 * whose `stderr` says what can't be built.
 */
export async function buildWorker(project: string): Promise<WorkerModule[]> {
  await promisify(execFile)('npm', ['run', 'build'], { cwd: project })
  return readModules(join(project, 'dist/worker'))
}

/** The modules of a built Worker, the entry first. Their paths are relative to the folder. */
export async function readModules(directory: string): Promise<WorkerModule[]> {
  const names = (await readdir(directory)).filter(name => name.endsWith('.mjs'))
  const paths = ['index.mjs', ...names.filter(name => name !== 'index.mjs')]
  return Promise.all(paths.map(async path => ({ path, contents: await readFile(join(directory, path), 'utf8') })))
}

/** A TypeScript module with its types stripped. */
export async function withoutTypes(file: string): Promise<string> {
  return (await transformWithOxc(await readFile(file, 'utf8'), file)).code
}

export interface Setup {
  /** The folder that contains wrangler.toml. */
  project: string
  worker: readonly WorkerModule[]
  port: number
  stateDirectory: string
  /** How many databases the Worker has besides DB. */
  shards: number
  adminToken: string
  cronSecret: string
  /** Encrypts webhooks' secrets. */
  webhookKey: string
  /** Whether webhooks may go to http and local addresses. */
  allowsLocalWebhooks: boolean
  /** The port at which debuggers on this machine can inspect the Worker. */
  inspectorPort?: number | undefined
}

/**
 * Serves the Worker with the bindings in wrangler.toml, behind the door. Miniflare's own entry, which the door
 * bypasses, listens on a random port of 127.0.0.1. That entry also leads to the door, and its other functions need a
 * secret that only this process has.
 */
export async function serve({
  project,
  worker,
  port,
  stateDirectory,
  shards,
  adminToken,
  cronSecret,
  webhookKey,
  allowsLocalWebhooks,
  inspectorPort,
}: Setup): Promise<Miniflare> {
  const { modulesRules: _, ...workerOptions } = optionsOfConfig(resolve(project, 'wrangler.toml')).workerOptions
  const configured = workerOptions as V4WorkerOptions
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      cf: false,
      ...(inspectorPort !== undefined && { inspectorPort }),
      log: new Log(LogLevel.WARN),
      resourcePersistencePath: join(stateDirectory, 'v3'),
      workers: [
        {
          name: 'door',
          compatibilityDate: '2026-10-01',
          // Service bindings have scheduled() only with this flag.
          compatibilityFlags: ['service_binding_extra_handlers'],
          modules: [
            {
              type: 'ESModule',
              path: 'door.js',
              contents: await withoutTypes(resolve(import.meta.dirname, 'worker/door.ts')),
            },
          ],
          bindings: { CRON_SECRET: cronSecret },
          serviceBindings: { COUNTERSIGN: 'countersign' },
          unsafeDirectSockets: [{ host: 'localhost', port }],
        },
        {
          ...configured,
          name: 'countersign',
          d1Databases: { ...configured.d1Databases, ...localShards(shards) },
          modules: worker.map(module => ({ type: 'ESModule', ...module })),
          bindings: {
            ...configured.bindings,
            ADMIN_TOKEN: adminToken,
            WEBHOOK_KEY: webhookKey,
            ...(allowsLocalWebhooks && { ALLOW_LOCAL_WEBHOOKS: '1' }),
          },
        },
      ],
    }),
  )
  await miniflare.ready
  return miniflare
}
