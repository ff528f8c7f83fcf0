/**
 * `npm start`: runs the whole service on this machine, with the same code and configuration as a deploy. Builds the
 * service, migrates the local databases, starts the server, seeds a demo the first time, runs cron every minute, and
 * stops everything on Ctrl-C.
 *
 * Environment: PORT (8787), STATE_DIR (.wrangler/state), SHARDS (the number from the last start, or 1), ADMIN_TOKEN
 * (generated and kept in .dev.vars if unset), WEBHOOK_KEY (likewise), ALLOW_LOCAL_WEBHOOKS=1 (webhooks may go to this
 * machine), SEED=none (no demo), INSPECTOR_PORT (for debuggers), CRON_SECRET (random if unset; anyone who has it can
 * run cron), CI or no terminal (plain output).
 */
import { ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { subscribe } from 'node:diagnostics_channel'
import { existsSync, readFileSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { basename, dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseEnv, styleText } from 'node:util'
import * as v from 'valibot'
import { MIN_WEBHOOK_KEY_LENGTH } from '../src/limits/webhooks.ts'
import { call } from './call.ts'
import { type DemoAccess, seedDemo } from './seed.ts'
import type { WorkerModule } from './serve.ts'
import { parseShards, SHARDS_RANGE } from './shards.ts'
import { keepShards, takeStateDirectory } from './state.ts'

const PROJECT = dirname(dirname(fileURLToPath(import.meta.url)))
const CRON_INTERVAL_MS = 60_000
const STOP_TIMEOUT_MS = 5_000

const port = portFrom('PORT') ?? 8787
const inspectorPort = portFrom('INSPECTOR_PORT')
const askedShards = shardsFromEnvironment()
const stateDirectory = resolve(process.env.STATE_DIR || resolve(PROJECT, '.wrangler/state'))
let isStopping = false
const isPlain = Boolean(process.env.CI) || !process.stdout.isTTY
process.chdir(PROJECT)

await requireFreePort(port)
const shards = takeDirectory()
const adminToken = process.env.ADMIN_TOKEN || (await ownSecret('ADMIN_TOKEN'))
const webhookKey = process.env.WEBHOOK_KEY || (await ownSecret('WEBHOOK_KEY'))
if (webhookKey.length < MIN_WEBHOOK_KEY_LENGTH) {
  fail(
    `WEBHOOK_KEY needs at least ${MIN_WEBHOOK_KEY_LENGTH} random characters. To have one generated, unset it, and remove it from .dev.vars.`,
  )
}
const cronSecret = process.env.CRON_SECRET || randomBytes(24).toString('base64url')

// wrangler reads these when it's imported. They turn off telemetry, reduce its output, and keep it from serving
// anything besides the Worker.
process.env.WRANGLER_SEND_METRICS ??= 'false'
process.env.WRANGLER_LOG ??= 'warn'
process.env.X_LOCAL_EXPLORER = 'false'
process.env.X_LOCAL_OBSERVABILITY = 'false'
const { buildWorker, serve } = await import('./serve.ts')
const { migrateLocally } = await import('./migrate.ts')

endWorkerdWithThisProcess()
step('Building, and migrating the local database')
const [worker] = await Promise.all([build(), migrate()])

step('Starting the Worker')
const server = await serve({
  project: PROJECT,
  worker,
  port,
  stateDirectory,
  shards,
  adminToken,
  cronSecret,
  webhookKey,
  allowsLocalWebhooks: process.env.ALLOW_LOCAL_WEBHOOKS === '1',
  inspectorPort,
})
stopOnSignals()
const url = `http://localhost:${port}`

if (process.env.SEED === 'none') {
  print(url)
} else {
  step('Preparing the demo')
  const demo = await seedDemo({ url, adminToken, stateDirectory })
  // Run cron now, so that the demo's counts are available within a minute.
  const counted = runCron()
  print(url, demo, await signInLink(demo.reviewerKey))
  await counted
}
setInterval(runCron, CRON_INTERVAL_MS).unref()

/** Runs cron, which never fires by itself outside Cloudflare. */
async function runCron(): Promise<void> {
  try {
    const response = await fetch(`${url}/cdn-cgi/handler/scheduled`, { headers: { 'x-cron-secret': cronSecret } })
    if (!response.ok) throw new Error(`the handler returned ${response.status}`)
  } catch (error) {
    if (!isStopping) console.error('Cron failed:', error)
  }
}

/** A link that signs in one browser, once, and expires after an hour. Undefined if the key has been revoked. */
async function signInLink(key: string): Promise<string | undefined> {
  try {
    const made = await call(url, key, 'POST', '/api/sign-in-links', { expiresInSeconds: 3600 })
    return `${url}/sign-in#${v.parse(v.object({ token: v.string() }), made).token}`
  } catch (error) {
    console.error('The sign-in link could not be created:', error instanceof Error ? error.message : error)
    return undefined
  }
}

function print(url: string, demo?: DemoAccess, signIn?: string): void {
  const bold = (text: string) => (isPlain ? text : styleText('bold', text))
  const [first, ...others] = demo?.projectKeys ?? []
  console.log(`\nCountersign is running at ${bold(url)}`)
  if (signIn) console.log(`Sign in: ${bold(signIn)}`)
  console.log(`Admin token: ${process.env.ADMIN_TOKEN ? 'from the environment (ADMIN_TOKEN)' : 'in .dev.vars'}`)
  console.log(`API documentation: ${url}/docs`)
  if (first) {
    const trace = { trace_id: 'trace_hello', name: 'hello', timestamp: new Date().toISOString(), status: 'running' }
    console.log(`Demo key: ${bold(first.key)} (organization demo, project ${first.project})`)
    for (const { key, project } of others) console.log(`Another:  ${bold(key)} (project ${project})`)
    console.log('\nPost a trace:')
    console.log(
      `curl -X POST ${url}/api/v1/traces -H 'Authorization: Bearer ${first.key}' -H 'Content-Type: application/json' -d '${JSON.stringify(trace)}'`,
    )
    console.log('\nRead it back:')
    console.log(`curl '${url}/api/traces?projectSlug=${first.project}&limit=1' -H 'x-api-key: ${first.key}'`)
  }
  console.log('\nPress Ctrl-C to stop it.')
}

function step(text: string): void {
  console.log(isPlain ? `${text} ...` : styleText('dim', `${text} ...`))
}

function portFrom(variable: 'PORT' | 'INSPECTOR_PORT'): number | undefined {
  const text = process.env[variable]
  if (!text) return undefined
  const port = Number(text)
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port
  fail(`${variable} must be a number from 1 to 65535, not ${text}`)
}

function shardsFromEnvironment(): number | undefined {
  const text = process.env.SHARDS
  if (!text) return undefined
  return parseShards(text) ?? fail(`SHARDS must be ${SHARDS_RANGE}, not ${text}`)
}

function fail(message: string): never {
  console.error(message)
  process.exit(1)
}

/** Fails early with a clear message instead of a stack trace from deep inside the server. */
async function requireFreePort(port: number): Promise<void> {
  const server = createServer()
  const isFree = await new Promise<boolean>(settle => {
    server.once('error', () => settle(false))
    server.listen(port, 'localhost', () => server.close(() => settle(true)))
  })
  if (!isFree)
    fail(`Port ${port} is in use. Stop the program that uses it, or choose a different port: PORT=8788 npm start`)
}

/** A secret in .dev.vars, created on the first start. */
async function ownSecret(name: 'ADMIN_TOKEN' | 'WEBHOOK_KEY'): Promise<string> {
  const file = resolve(PROJECT, '.dev.vars')
  const kept = existsSync(file) ? parseEnv(readFileSync(file, 'utf8'))[name] : undefined
  if (kept) return kept
  const secret = randomBytes(24).toString('base64url')
  await appendFile(file, `${name}=${secret}\n`, { mode: 0o600 })
  return secret
}

/** Locks the state directory, and returns how many databases it has besides DB. */
function takeDirectory(): number {
  try {
    takeStateDirectory(stateDirectory)
    return keepShards(stateDirectory, askedShards)
  } catch (error) {
    fail(error instanceof Error ? error.message : String(error))
  }
}

function migrate(): Promise<void> {
  return migrateLocally(PROJECT, stateDirectory, shards).catch(error =>
    fail(`The migration failed:\n${error instanceof Error ? error.message : error}`),
  )
}

function build(): Promise<WorkerModule[]> {
  return buildWorker(PROJECT).catch(({ stdout, stderr }: { stdout: string; stderr: string }) =>
    fail(`${stdout}${stderr}\nThe Worker could not be built`),
  )
}

/**
 * Stops the server on Ctrl-C or SIGTERM, or when the terminal closes or the npm process that started this one exits.
 */
function stopOnSignals(): void {
  const stop = async () => {
    if (isStopping) return
    isStopping = true
    setTimeout(() => process.exit(1), STOP_TIMEOUT_MS).unref()
    await server.dispose()
    process.exit(0)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop)
  const parent = process.ppid
  setInterval(() => process.ppid !== parent && stop(), 500).unref()
}

/**
 * Makes sure that the workerd processes that wrangler starts are killed even if this process is killed outright.
 * Otherwise, they would keep running, and the port and the database would stay in use. For each of them, a shell waits
 * for the end of a pipe that only this process keeps open, and then kills the workerd process.
 */
function endWorkerdWithThisProcess(): void {
  subscribe('child_process', message => {
    if (!(message instanceof Object && 'process' in message && message.process instanceof ChildProcess)) return
    const child = message.process
    child.once('spawn', () => {
      if (basename(child.spawnfile) !== 'workerd') return
      const shell = spawn('sh', ['-c', 'read -r line; kill -9 "$1"', 'sh', String(child.pid)], {
        stdio: ['pipe', 'ignore', 'ignore'],
        // Keeps Ctrl-C from reaching the shell, because this process handles it.
        detached: true,
      })
      // Otherwise, the shell could kill another process that later gets the same id.
      child.once('exit', () => shell.kill('SIGKILL'))
    })
  })
}
