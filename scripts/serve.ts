import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare, type V4WorkerOptions } from 'miniflare'
import { transformWithOxc } from 'vite'
import { unstable_getMiniflareWorkerOptions as optionsOfConfig } from 'wrangler'

const WRANGLER = resolve(import.meta.dirname, '../node_modules/wrangler/bin/wrangler.js')

/**
 * Bundles the Worker as a deploy would, in the folder of its wrangler.toml, and returns the resulting module. Rejects
 * with the command's error, whose `stderr` says what can't be built.
 */
export async function bundleWorker(project: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'countersign-bundle-'))
  try {
    await promisify(execFile)(process.execPath, [WRANGLER, 'deploy', '--dry-run', '--outdir', directory], {
      cwd: project,
    })
    return await readFile(join(directory, 'index.js'), 'utf8')
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** A TypeScript module with its types stripped. */
export async function withoutTypes(file: string): Promise<string> {
  return (await transformWithOxc(await readFile(file, 'utf8'), file)).code
}

export interface Setup {
  /** The folder of wrangler.toml. */
  project: string
  /** The Worker's bundle. */
  bundle: string
  port: number
  stateDirectory: string
  adminToken: string
  cronSecret: string
  /** Encrypts webhooks' secrets. */
  webhookKey: string
  /** Whether webhooks may go to http and local addresses. */
  allowsLocalWebhooks: boolean
}

/**
 * Serves the Worker with the bindings of wrangler.toml, behind the door. Miniflare's own entry, which the door
 * bypasses, listens on a random port of 127.0.0.1. It also leads to the door, and its other functions need a secret of
 * this process.
 */
export async function serve({
  project,
  bundle,
  port,
  stateDirectory,
  adminToken,
  cronSecret,
  webhookKey,
  allowsLocalWebhooks,
}: Setup): Promise<Miniflare> {
  const { modulesRules: _, ...workerOptions } = optionsOfConfig(resolve(project, 'wrangler.toml')).workerOptions
  const configured = workerOptions as V4WorkerOptions
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      cf: false,
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
          modules: [{ type: 'ESModule', path: 'index.js', contents: bundle }],
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
