/**
 * `npm run deploy`: the whole service on Cloudflare, in the account that wrangler is logged in to. Creates what is
 * missing, migrates the database, deploys the Worker and gives it an ADMIN_TOKEN. Every step looks at what is there, so a
 * run that failed or was cut off anywhere is completed by the next one. Migrations go before the code: they take nothing
 * away, so the running code works on the new schema, and new code never meets an old one.
 *
 * Environment: ADMIN_TOKEN (else one is made and printed), CI or no terminal (plain output), and what wrangler reads:
 * CLOUDFLARE_API_TOKEN, CLOUDFLARE_ACCOUNT_ID.
 */
import { type SpawnSyncOptions, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs, styleText } from 'node:util'
import * as v from 'valibot'

const PROJECT = dirname(dirname(fileURLToPath(import.meta.url)))
const LOCATIONS = ['weur', 'eeur', 'apac', 'oc', 'wnam', 'enam']
const JURISDICTIONS = ['eu', 'us', 'fedramp']
const READY_ATTEMPTS = 5
const READY_PAUSE_MS = 2_000

const USAGE = `npm run deploy [-- flags]

  --location <place>      create the database and the bucket near ${LOCATIONS.join(', ')}
  --jurisdiction <place>  create both to stay within ${JURISDICTIONS.join(', ')}
  --new-admin-token       replace the secret ADMIN_TOKEN
  --workers-ai            bind Workers AI, as wrangler.workers-ai.toml says; without it, it is unbound
  --help

What exists stays where it is: neither can be moved. docs/operations.md says more.`

const Config = v.looseObject({
  d1_databases: v.array(
    v.looseObject({ binding: v.string(), database_name: v.string(), database_id: v.optional(v.string()) }),
  ),
  r2_buckets: v.array(
    v.looseObject({ binding: v.string(), bucket_name: v.string(), jurisdiction: v.optional(v.string()) }),
  ),
})
/** What it has besides is the schema's address, which is the file's own. */
const Overlay = v.object({ ai: v.looseObject({ binding: v.literal('AI') }) })
const Database = v.looseObject({ uuid: v.string(), name: v.string(), jurisdiction: v.nullish(v.string()) })
type Database = v.InferOutput<typeof Database>
const DatabaseInfo = v.looseObject({ running_in_region: v.string() })
const Secret = v.looseObject({ name: v.string() })
/** What wrangler writes to WRANGLER_OUTPUT_FILE_PATH of a deployment that came about. */
const Deployment = v.looseObject({
  type: v.literal('deploy'),
  timestamp: v.string(),
  worker_name: v.string(),
  version_id: v.string(),
  targets: v.array(v.string()),
})

const isPlain = Boolean(process.env.CI) || !process.stdout.isTTY
let task = ''
const flags = readFlags()
process.chdir(PROJECT)
const { config, configFile, bound } = await readConfig()
const database = ensureDatabase()
const withConfig = ['--config', writeConfig()]
if (flags.location) ensureBucket(flags.location)
migrate()
const worker = deployWorker()
const isTokenNew = ensureAdminToken()
await report()

function readFlags() {
  for (const name of ['jurisdiction', 'new-admin-token', 'workers-ai']) {
    const isTaken = process.env[`npm_config_${name.replaceAll('-', '_')}`] !== undefined
    if (isTaken) fail(`npm kept --${name} for itself: write npm run deploy -- --${name} ...`)
  }
  const { location, jurisdiction, help, ...others } = parseFlags()
  if (help) {
    console.log(USAGE)
    process.exit(0)
  }
  requireOneOf('location', LOCATIONS, location)
  requireOneOf('jurisdiction', JURISDICTIONS, jurisdiction)
  if (location && jurisdiction) fail('Give --location or --jurisdiction, not both: a jurisdiction chooses the location')
  return { location, jurisdiction, newAdminToken: others['new-admin-token'], workersAi: others['workers-ai'] }
}

function parseFlags() {
  const place = { type: 'string' } as const
  const no = { type: 'boolean', default: false } as const
  try {
    const options = { location: place, jurisdiction: place, 'new-admin-token': no, 'workers-ai': no, help: no }
    return parseArgs({ options }).values
  } catch (error) {
    fail(`${error instanceof Error ? error.message : error}\n\n${USAGE}`)
  }
}

function requireOneOf(flag: string, known: readonly string[], value: string | undefined): void {
  if (value !== undefined && !known.includes(value)) fail(`--${flag} must be one of ${known.join(', ')}, not ${value}`)
}

/** Reads wrangler.toml, and the names in it: the deploy button lets everybody choose their own, and writes in ids. */
async function readConfig() {
  const { experimental_readRawConfig: readRawConfig } = await import('wrangler')
  const { rawConfig, configPath } = readRawConfig({})
  const configFile = basename(configPath)
  const read = v.safeParse(Config, rawConfig)
  if (!read.success) fail(`${configFile} lacks what a deploy needs:\n${v.summarize(read.issues)}`)
  const overlay = flags.workersAi
    ? v.parse(Overlay, readRawConfig({ config: 'wrangler.workers-ai.toml' }).rawConfig)
    : {}
  const config = { ...read.output, ...overlay }
  const database = config.d1_databases.find(({ binding }) => binding === 'DB')
  const bucket = config.r2_buckets.find(({ binding }) => binding === 'PAYLOADS')
  if (!database || !bucket) fail(`${configFile} must bind a D1 database as DB and an R2 bucket as PAYLOADS`)
  return { config, configFile, bound: { database, bucket } }
}

/** Finds the database, or creates it where the flags say. */
function ensureDatabase() {
  const { database_name: name, database_id: id } = bound.database
  step(`Looking for the database ${name}`)
  const find = () =>
    ask(['d1', 'list', '--json'], json(v.array(Database))).find(each => (id ? each.uuid === id : each.name === name))
  const found = find()
  if (found) {
    checkPlace(found)
    return found
  }
  if (id) fail(`This account has no database ${id}, which ${configFile} names. Without the id, one would be created.`)
  const place = placeFlags()
  step(`Creating it ${place.join(' ') || 'near this machine, for good, as no --location was given'}`)
  ask(['d1', 'create', name, ...place], says('Successfully created DB'))
  return find() ?? stop('')
}

function placeFlags(): string[] {
  if (flags.jurisdiction) return ['--jurisdiction', flags.jurisdiction]
  return flags.location ? ['--location', flags.location] : []
}

/** A jurisdiction is a promise, so another one stops the deploy; a location is a wish, and this may be the nearest. */
function checkPlace({ name, jurisdiction }: Database): void {
  if (flags.jurisdiction && flags.jurisdiction !== jurisdiction) {
    fail(
      `The database ${name} exists outside the jurisdiction ${flags.jurisdiction} and cannot be moved there. ` +
        'Nothing was changed; docs/operations.md, "Moving", says what can be done.',
    )
  }
  if (!flags.location) return
  // It asks for statistics too, which a token may not see.
  const info = ask(['d1', 'info', name, '--json'], stdout => json(DatabaseInfo)(stdout) ?? null)
  if (info?.running_in_region.toLowerCase() === flags.location) return
  const place = info ? `in ${info.running_in_region}` : 'created'
  console.warn(`The database is ${place} already: it stays where it is, --location cannot move it.`)
}

/**
 * Writes the configuration that is deployed: wrangler.toml, with what flags add, the database that was found by its id, and the bucket
 * in the jurisdiction of the database. Without them wrangler would look for the Worker's last database, be it deleted or
 * not, and create and bind another bucket of the same name. Beside wrangler.toml, where its paths hold; git ignores it.
 */
function writeConfig(): string {
  const file = 'wrangler.deploy.json'
  const d1_databases = config.d1_databases.map(each =>
    each === bound.database ? { ...each, database_id: database.uuid } : each,
  )
  const r2_buckets = config.r2_buckets.map(each => (each === bound.bucket ? placedBucket() : each))
  writeFileSync(file, JSON.stringify({ ...config, d1_databases, r2_buckets }, null, 2))
  return file
}

/** Where there is none, the deploy creates the bucket, near this machine or in the jurisdiction. */
function ensureBucket(location: string): void {
  const { bucket_name: name, jurisdiction } = placedBucket()
  if (jurisdiction) return
  step(`Creating the bucket ${name} near ${location}, if it is not there`)
  // 10004: it is there.
  ask(['r2', 'bucket', 'create', name, '--location', location], says('Created bucket', '[code: 10004]'))
}

/** The bucket as it is bound: in the jurisdiction of the database, if wrangler.toml names no other. */
function placedBucket() {
  return { jurisdiction: database.jurisdiction ?? undefined, ...bound.bucket }
}

function migrate(): void {
  step('Migrating the database')
  run(['d1', 'migrations', 'apply', 'DB', '--remote', ...withConfig], { CI: 'true' })
  ask(['d1', 'migrations', 'list', 'DB', '--remote', ...withConfig], says('No migrations to apply'))
}

/** Deploys the Worker, with the bucket and queues that are missing. Returns its name, which CI may set, and its URL. */
function deployWorker(): { name: string; url: string | undefined } {
  step('Deploying the Worker')
  // In the folder that CI reads, if it reads one.
  const file = resolve(process.env.WRANGLER_OUTPUT_FILE_DIRECTORY || '.wrangler', 'wrangler-output-deploy.json')
  const startedAt = new Date().toISOString()
  run(['deploy', ...withConfig], { WRANGLER_OUTPUT_FILE_PATH: file })
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
  const deployment = lines.flatMap(line => json(Deployment)(line) ?? []).find(({ timestamp }) => timestamp >= startedAt)
  if (!deployment) stop('')
  return { name: deployment.worker_name, url: deployment.targets.find(target => /^https?:/.test(target)) }
}

/**
 * Gives the Worker an ADMIN_TOKEN unless it has one. A new one is printed before it is stored: whatever moment cuts this
 * off, the token in place is one that was shown.
 */
function ensureAdminToken(): boolean {
  step('Looking for the secret ADMIN_TOKEN')
  const secrets = ask(['secret', 'list', '--name', worker.name, '--format', 'json'], json(v.array(Secret)))
  if (secrets.some(({ name }) => name === 'ADMIN_TOKEN') && !flags.newAdminToken) return false
  const given = process.env.ADMIN_TOKEN
  const token = given || randomBytes(24).toString('base64url')
  if (!given) {
    console.log('\nThe admin token, shown this once. It counts when the next step is done:')
    console.log(`\n${bold(`export ADMIN_TOKEN=${token}`)}\n`)
  }
  step('Storing it as the secret ADMIN_TOKEN')
  ask(['secret', 'put', 'ADMIN_TOKEN', '--name', worker.name], says('Uploaded secret ADMIN_TOKEN'), token)
  return true
}

async function report(): Promise<void> {
  const { url } = worker
  if (url) await waitUntilReady(url)
  console.log(`\nCountersign is deployed${url ? ` at ${bold(url)}` : ''}`)
  if (isTokenNew) {
    const headers = '-H "Authorization: Bearer $ADMIN_TOKEN" -H "Content-Type: application/json"'
    const body = JSON.stringify({ slug: 'acme', name: 'Acme' })
    console.log('\nCreate the first organization; the answer holds its key:')
    console.log(`curl -X POST ${url ?? 'https://<your domain>'}/api/orgs ${headers} -d '${body}'`)
  } else {
    console.log('ADMIN_TOKEN is kept as it is; npm run deploy -- --new-admin-token replaces it.')
  }
}

async function waitUntilReady(url: string): Promise<void> {
  step('Asking whether it is ready')
  for (let attempt = 1; attempt <= READY_ATTEMPTS; attempt++) {
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(READY_PAUSE_MS) }).catch(() => undefined)
    if (answer?.ok) return
    await pause(READY_PAUSE_MS)
  }
  console.warn(`${url}/readyz does not answer yet. The first address of an account can take some minutes to be known.`)
}

/** Runs wrangler in this terminal, where it may ask questions. Whether it did its work must be looked up: see `ask`. */
function run(args: readonly string[], environment: Record<string, string>): void {
  const { status } = wrangler(args, { stdio: 'inherit', env: { ...process.env, ...environment } })
  if (status !== 0) stop('')
}

/**
 * Runs wrangler unseen and returns what `read` makes of its output. Undefined stops the deploy: wrangler's launcher exits
 * with 0 even where the process that it started was killed, so what it said decides, not the exit code.
 */
function ask<T>(args: readonly string[], read: (stdout: string, stderr: string) => T | undefined, input = ''): T {
  const env = { ...process.env, WRANGLER_LOG: 'log' }
  const { stdout, stderr } = wrangler(args, { input, env, maxBuffer: Number.POSITIVE_INFINITY })
  const answer = read(stdout, stderr)
  return answer === undefined ? stop(stdout + stderr) : answer
}

function wrangler(args: readonly string[], options: SpawnSyncOptions) {
  const result = spawnSync('wrangler', args, { ...options, encoding: 'utf8' })
  if (result.error) fail(`wrangler cannot be started (${result.error.message}). Use npm run deploy, which installs it.`)
  return result
}

/** Reads an output that says one of these. */
function says(...words: readonly string[]) {
  return (stdout: string, stderr: string): true | undefined =>
    words.some(each => stdout.includes(each) || stderr.includes(each)) || undefined
}

/** Reads an output that is JSON of this shape. */
function json<const Shape extends v.GenericSchema>(shape: Shape) {
  return (stdout: string): v.InferOutput<Shape> | undefined => {
    const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), shape), stdout)
    return parsed.success ? parsed.output : undefined
  }
}

function step(text: string): void {
  task = text
  console.log(isPlain ? `${text} ...` : styleText('dim', `${text} ...`))
}

function bold(text: string): string {
  return isPlain ? text : styleText('bold', text)
}

/** Ends the deploy at the step under way, with what wrangler said of it. */
function stop(output: string): never {
  process.stderr.write(output)
  const isLoggedOut = /logged in|CLOUDFLARE_API_TOKEN|Authentication error/i.test(output)
  if (isLoggedOut) console.error('Log in with `npx wrangler login`, or set CLOUDFLARE_API_TOKEN.')
  fail(`\nNot done: ${task}. Run the same command again when its cause is mended: it goes on from there.`)
}

function fail(message: string): never {
  console.error(message)
  process.exit(1)
}
