/**
 * `npm run deploy`: deploys the whole service to the Cloudflare account that wrangler is logged in to. Creates what is
 * missing, migrates the databases, deploys the Worker, and gives it a WEBHOOK_KEY and an ADMIN_TOKEN. Every step checks
 * what exists, so the next run completes a deploy that failed or was interrupted. Migrations run before the code is
 * deployed: they remove nothing, so the running code works with the new schema, and new code never sees an old one.
 *
 * Environment: ADMIN_TOKEN (generated and printed if unset), WEBHOOK_KEY (generated if unset), CI or no terminal (plain
 * output), and what wrangler reads: CLOUDFLARE_API_TOKEN, CLOUDFLARE_ACCOUNT_ID.
 */
import { type SpawnSyncOptions, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs, styleText } from 'node:util'
import * as v from 'valibot'
import { MAX_SHARDS, parseShards, SHARDS_RANGE, shardBindings, shardsToHave } from './shards.ts'

const PROJECT = dirname(dirname(fileURLToPath(import.meta.url)))
const LOCATIONS = ['weur', 'eeur', 'apac', 'oc', 'wnam', 'enam']
const JURISDICTIONS = ['eu', 'us', 'fedramp']
/** The same as in src/limits/webhooks.ts, which is missing if only this script is copied. */
const MIN_WEBHOOK_KEY_LENGTH = 22
const READY_ATTEMPTS = 5
const READY_PAUSE_MS = 2_000

const USAGE = `npm run deploy [-- flags]

  --location <place>      create the database and the bucket near ${LOCATIONS.join(', ')}
  --jurisdiction <place>  create both within ${JURISDICTIONS.join(', ')}
  --shards <n>            spread new traces over n databases, 1 to 16; you can add more later, but not remove any
  --new-admin-token       replace the secret ADMIN_TOKEN
  --workers-ai            find causes with a Workers AI model from now on; --no-workers-ai switches back to the rules
  --help

If neither Workers AI flag is given, the first deploy in a terminal asks. Later deploys keep that choice and the number
of shards. An existing database or bucket stays where it is and can't be moved. See docs/operations.md.`

/** What the first deploy prints before it asks about Workers AI. */
const WORKERS_AI = `When a person disagrees with an output, rules in the Worker find the cause. A Workers AI model, Llama 3.3 70B, can find
it instead. Each analysis then sends up to 16,000 tokens of the trace, its feedback, prompts, and knowledge docs to
Cloudflare's GPUs, which may be outside the database's jurisdiction. An analysis typically costs less than a cent, and
at most 4 cents, billed to this account. A project makes at most 500 calls a day; MODEL_DAILY_LIMIT changes that.
To change this later, run npm run deploy with --workers-ai or --no-workers-ai.`

const Config = v.looseObject({
  name: v.string(),
  ai: v.optional(v.unknown()),
  d1_databases: v.array(
    v.looseObject({ binding: v.string(), database_name: v.string(), database_id: v.optional(v.string()) }),
  ),
  r2_buckets: v.array(
    v.looseObject({ binding: v.string(), bucket_name: v.string(), jurisdiction: v.optional(v.string()) }),
  ),
})
/** `$schema`, the file's only other field, isn't copied, because it describes only that file. */
const Overlay = v.object({ ai: v.looseObject({ binding: v.literal('AI') }) })
const Database = v.looseObject({ uuid: v.string(), name: v.string(), jurisdiction: v.nullish(v.string()) })
type Database = v.InferOutput<typeof Database>
const DatabaseInfo = v.looseObject({ running_in_region: v.string() })
const Secret = v.looseObject({ name: v.string() })
/** The Worker's latest deployment, and one of its versions. */
const Deployed = v.looseObject({ versions: v.tupleWithRest([v.looseObject({ version_id: v.string() })], v.unknown()) })
const Version = v.looseObject({
  resources: v.looseObject({
    bindings: v.array(v.looseObject({ type: v.string(), name: v.optional(v.string()) })),
  }),
})
/** The rows that a statement returned to `wrangler d1 execute`. */
const Names = v.tuple([v.looseObject({ results: v.array(v.object({ name: v.string() })) })])
/** What wrangler writes to WRANGLER_OUTPUT_FILE_PATH after a successful deployment. */
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
requireLongWebhookKey()
process.chdir(PROJECT)
const { config, configFile, bound, overlay } = await readConfig()
step(`Looking for the database ${bound.database.database_name}`)
const databases = listDatabases()
const database = ensureDatabase()
const deployed = readDeployedBindings()
const bindsWorkersAi = await chooseWorkersAi()
const shards = ensureShards()
const withConfig = ['--config', writeConfig()]
if (flags.location) ensureBucket(flags.location)
migrate()
const worker = deployWorker()
const secrets = listSecrets()
ensureWebhookKey()
const isTokenNew = ensureAdminToken()
await report()

function readFlags() {
  for (const name of ['jurisdiction', 'shards', 'new-admin-token', 'workers-ai', 'no-workers-ai']) {
    const isTaken = process.env[`npm_config_${name.replaceAll('-', '_')}`] !== undefined
    if (isTaken) fail(`npm used the flag --${name} itself. Run npm run deploy -- --${name} ...`)
  }
  const { location, jurisdiction, help, ...others } = parseFlags()
  if (help) {
    console.log(USAGE)
    process.exit(0)
  }
  requireOneOf('location', LOCATIONS, location)
  requireOneOf('jurisdiction', JURISDICTIONS, jurisdiction)
  if (location && jurisdiction) fail('Give --location or --jurisdiction, not both: a jurisdiction sets the location')
  if (others['workers-ai'] && others['no-workers-ai']) fail('Give --workers-ai or --no-workers-ai, not both')
  const workersAi = others['workers-ai'] ? true : others['no-workers-ai'] ? false : undefined
  const shards = others.shards === undefined ? undefined : parseShards(others.shards)
  if (others.shards !== undefined && !shards) fail(`--shards must be ${SHARDS_RANGE}, not ${others.shards}`)
  return { location, jurisdiction, shards, newAdminToken: others['new-admin-token'], workersAi }
}

/** Stops before anything changes. The Worker doesn't accept a shorter key either. */
function requireLongWebhookKey(): void {
  const { WEBHOOK_KEY } = process.env
  if (!WEBHOOK_KEY || (WEBHOOK_KEY.length >= MIN_WEBHOOK_KEY_LENGTH && WEBHOOK_KEY.trim() === WEBHOOK_KEY)) return
  fail(
    `WEBHOOK_KEY needs at least ${MIN_WEBHOOK_KEY_LENGTH} random characters and no surrounding spaces. ` +
      'Leave it unset to have one generated, or run: export WEBHOOK_KEY=$(openssl rand -base64 32)',
  )
}

function parseFlags() {
  const text = { type: 'string' } as const
  const no = { type: 'boolean', default: false } as const
  try {
    const options = { 'new-admin-token': no, 'workers-ai': no, 'no-workers-ai': no, help: no }
    return parseArgs({ options: { location: text, jurisdiction: text, shards: text, ...options } }).values
  } catch (error) {
    fail(`${error instanceof Error ? error.message : error}\n\n${USAGE}`)
  }
}

function requireOneOf(flag: string, known: readonly string[], value: string | undefined): void {
  if (value !== undefined && !known.includes(value)) fail(`--${flag} must be one of ${known.join(', ')}, not ${value}`)
}

/** Reads wrangler.toml, whose names and ids vary: the deploy button lets users choose names, and it adds ids. */
async function readConfig() {
  const { experimental_readRawConfig: readRawConfig } = await import('wrangler')
  const { rawConfig, configPath } = readRawConfig({})
  const configFile = basename(configPath)
  const read = v.safeParse(Config, rawConfig)
  if (!read.success) fail(`${configFile} is missing required settings:\n${v.summarize(read.issues)}`)
  const overlay = v.parse(Overlay, readRawConfig({ config: 'wrangler.workers-ai.toml' }).rawConfig)
  const config = read.output
  const database = config.d1_databases.find(({ binding }) => binding === 'DB')
  const bucket = config.r2_buckets.find(({ binding }) => binding === 'PAYLOADS')
  if (!database || !bucket) fail(`${configFile} must bind a D1 database as DB and an R2 bucket as PAYLOADS`)
  const shard = config.d1_databases.find(({ binding }) => /^DB_\d+$/.test(binding))
  if (shard) fail(`${configFile} binds ${shard.binding} itself. Remove it there: --shards creates and binds it.`)
  return { config, configFile, bound: { database, bucket }, overlay }
}

/** Finds the database, or creates it in the place that the flags specify. */
function ensureDatabase(): Database {
  const { database_name: name, database_id: id } = bound.database
  const find = (all: Database[]) => all.find(each => (id ? each.uuid === id : each.name === name))
  const found = find(databases)
  if (found) {
    checkPlace(found)
    return found
  }
  if (id) fail(`This account has no database ${id}, which is in ${configFile}. Remove the id to create a new one.`)
  const shards = shardCandidates(name).filter(each => each.found && contentsOf(each.name) === 'shard')
  if (shards.length > 0) {
    // Organizations in a new database would get the same numbers as those in the old database, and so would see the
    // old organizations' traces.
    const names = shards.map(each => each.name).join(', ')
    fail(`The database ${name} doesn't exist, but its shards do. To start over, delete them first: ${names}`)
  }
  const place = placeFlags()
  step(`Creating the database ${place.join(' ') || 'near this machine, permanently, because there is no --location'}`)
  createDatabase(name, place)
  return find(listDatabases()) ?? stop('')
}

function listDatabases(): Database[] {
  return ask(['d1', 'list', '--json'], json(v.array(Database)))
}

function createDatabase(name: string, place: readonly string[]): void {
  ask(['d1', 'create', name, ...place], says('Successfully created DB'))
}

/** The bindings of the deployed Worker. Null if no Worker has been deployed. */
function readDeployedBindings() {
  const name = process.env.WRANGLER_CI_OVERRIDE_NAME || config.name
  step(`Looking for the Worker ${name}`)
  const latest = ask(['deployments', 'status', '--name', name, '--json'], (stdout, stderr) => {
    const isMissing = /\[code: 10007\]|has no deployments/.test(stdout + stderr)
    return isMissing ? null : json(Deployed)(stdout)
  })
  if (!latest) return null
  const [{ version_id }] = latest.versions
  return ask(['versions', 'view', version_id, '--name', name, '--json'], json(Version)).resources.bindings
}

/**
 * Finds the existing shards, and creates those that are missing. Without --shards, the number stays the same. A
 * database is an existing shard if the Worker binds it or if it has a shard's tables, because the Worker may have been
 * rolled back or deleted. Changes nothing if a database can't be a shard.
 */
function ensureShards() {
  const isBound = new Set(deployed?.map(({ name }) => name))
  const candidates = shardCandidates(database.name).map(each => {
    const contents = isBound.has(each.binding) ? 'shard' : each.found && contentsOf(each.name)
    return { ...each, contents }
  })
  const existing = candidates.findLastIndex(({ contents }) => contents === 'shard') + 1
  const count = shardsToHave(flags.shards, existing)
  if (count === undefined) {
    fail(
      `--shards must be at least ${existing}: this deployment has the database ${database.name}-${existing}, and traces ` +
        "can't be moved out of it. Nothing was changed.",
    )
  }
  const wanted = candidates.slice(0, count)
  for (const { name, found, contents } of wanted) {
    if (contents === 'other') {
      fail(`The database ${name} contains other data, so it can't be a shard. Nothing was changed.`)
    }
    if (found && database.jurisdiction) requireJurisdiction(found, database.jurisdiction)
  }
  const missing = wanted.filter(({ found }) => !found)
  const place = missing.length > 0 ? shardPlace() : []
  for (const { name } of missing) {
    step(`Creating the database ${name} ${place.join(' ')}`.trimEnd())
    createDatabase(name, place)
  }
  const created = missing.length > 0 ? listDatabases() : []
  return wanted.map(({ binding, name, found }) => {
    const { uuid } = found ?? created.find(each => each.name === name) ?? stop('')
    return { binding, name, uuid }
  })
}

/** All shards that a database can have, each with its name and, if it exists, the account's database of that name. */
function shardCandidates(databaseName: string) {
  return shardBindings(MAX_SHARDS).map((binding, index) => {
    const name = `${databaseName}-${index + 1}`
    return { binding, name, found: databases.find(each => each.name === name) }
  })
}

/**
 * Distinguishes a shard from a database that only happens to be named like one, such as another deployment's DB: a
 * shard has the same tables as DB, but no organizations.
 */
function contentsOf(name: string): 'none' | 'shard' | 'other' {
  step(`Checking the database ${name}`)
  const namesIn = (sql: string) => {
    const [{ results }] = ask(['d1', 'execute', name, '--remote', '--json', '--command', sql], json(Names))
    return results.map(row => row.name)
  }
  const tables = namesIn("SELECT name FROM sqlite_schema WHERE type = 'table'")
  if (tables.every(table => /^(_cf_|sqlite_)|^d1_migrations$/.test(table))) return 'none'
  if (!tables.includes('organizations')) return 'other'
  return namesIn('SELECT name FROM organizations LIMIT 1').length === 0 ? 'shard' : 'other'
}

/**
 * Where to create shards: within the database's jurisdiction, or as close as possible to the database or to --location.
 */
function shardPlace(): string[] {
  if (database.jurisdiction) return ['--jurisdiction', database.jurisdiction]
  const location = flags.location ?? regionOf(database.name)
  return location && LOCATIONS.includes(location) ? ['--location', location] : []
}

/**
 * Whether to bind Workers AI. The flags or wrangler.toml decide. If they don't, the first deploy in a terminal asks.
 * Later deploys do what the deployed Worker does, so that the choice is kept on every machine.
 */
async function chooseWorkersAi(): Promise<boolean> {
  if (config.ai && flags.workersAi === false) fail(`${configFile} binds Workers AI itself. Remove [ai] there.`)
  if (config.ai || flags.workersAi !== undefined) return flags.workersAi ?? true
  if (deployed) return deployed.some(({ type }) => type === 'ai')
  if (process.env.CI || !process.stdin.isTTY || !process.stdout.isTTY) return false
  console.log(`\n${WORKERS_AI}\n`)
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const answer = await terminal.question('Use Workers AI? [y/N] ')
  terminal.close()
  return /^y(es)?$/i.test(answer.trim())
}

function placeFlags(): string[] {
  if (flags.jurisdiction) return ['--jurisdiction', flags.jurisdiction]
  return flags.location ? ['--location', flags.location] : []
}

/**
 * Checks an existing database's place. A jurisdiction is a guarantee, so a mismatch stops the deploy; a location is
 * only a hint.
 */
function checkPlace(found: Database): void {
  if (flags.jurisdiction) requireJurisdiction(found, flags.jurisdiction)
  if (!flags.location) return
  const region = regionOf(found.name)
  if (region === flags.location) return
  const place = region ? `in ${region.toUpperCase()}` : 'created'
  console.warn(`The database is already ${place}; --location can't move it.`)
}

function requireJurisdiction({ name, jurisdiction }: Database, required: string): void {
  if (jurisdiction === required) return
  fail(
    `The database ${name} is outside the jurisdiction ${required} and can't be moved there. ` +
      'Nothing was changed. See "Moving" in docs/operations.md for your options.',
  )
}

/**
 * The location of a database. Undefined if the token isn't allowed to read the statistics that the command also
 * requests.
 */
function regionOf(name: string): string | undefined {
  const info = ask(['d1', 'info', name, '--json'], stdout => json(DatabaseInfo)(stdout) ?? null)
  return info?.running_in_region.toLowerCase()
}

/**
 * Writes the configuration to deploy: wrangler.toml with the flags' additions, the ids of the databases that were
 * found, and the bucket in the database's jurisdiction. Without these, wrangler would look for the Worker's last
 * database, even a deleted one, and would create and bind a second bucket with the same name. The file is next to
 * wrangler.toml, so that its relative paths stay valid; git ignores it.
 */
function writeConfig(): string {
  const file = 'wrangler.deploy.json'
  const d1_databases = [
    ...config.d1_databases.map(each => (each === bound.database ? { ...each, database_id: database.uuid } : each)),
    ...shards.map(({ binding, name, uuid }) => ({
      ...bound.database,
      binding,
      database_name: name,
      database_id: uuid,
    })),
  ]
  const r2_buckets = config.r2_buckets.map(each => (each === bound.bucket ? placedBucket() : each))
  const ai = bindsWorkersAi ? overlay : {}
  writeFileSync(file, JSON.stringify({ ...config, ...ai, d1_databases, r2_buckets }, null, 2))
  return file
}

/**
 * Creates a missing bucket near the location. If a jurisdiction applies or no location is given, the deploy itself
 * creates it.
 */
function ensureBucket(location: string): void {
  const { bucket_name: name, jurisdiction } = placedBucket()
  if (jurisdiction) return
  step(`Creating the bucket ${name} near ${location} if it doesn't exist`)
  // 10004: it already exists.
  ask(['r2', 'bucket', 'create', name, '--location', location], says('Created bucket', '[code: 10004]'))
}

/** The bucket binding, in the database's jurisdiction unless wrangler.toml names a different one. */
function placedBucket() {
  return { jurisdiction: database.jurisdiction ?? undefined, ...bound.bucket }
}

/**
 * Migrates every database. The last shard gets its tables first, so that an interrupted deploy leaves either no shards
 * or the last one, which tells the next deploy how many there should be.
 */
function migrate(): void {
  for (const { binding, name } of [{ ...database, binding: 'DB' }, ...shards.toReversed()]) {
    step(`Migrating the database ${name}`)
    run(['d1', 'migrations', 'apply', binding, '--remote', ...withConfig], { CI: 'true' })
    ask(['d1', 'migrations', 'list', binding, '--remote', ...withConfig], says('No migrations to apply'))
  }
}

/**
 * Deploys the Worker, and creates missing buckets and queues. Returns the Worker's name, which CI may set, and its URL.
 */
function deployWorker(): { name: string; url: string | undefined } {
  step('Deploying the Worker')
  // wrangler's output goes to the folder that CI reads, if there is one.
  const file = resolve(process.env.WRANGLER_OUTPUT_FILE_DIRECTORY || '.wrangler', 'wrangler-output-deploy.json')
  const startedAt = new Date().toISOString()
  run(['deploy', ...withConfig], { WRANGLER_OUTPUT_FILE_PATH: file })
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
  const deployment = lines.flatMap(line => json(Deployment)(line) ?? []).find(({ timestamp }) => timestamp >= startedAt)
  if (!deployment) stop('')
  return { name: deployment.worker_name, url: deployment.targets.find(target => /^https?:/.test(target)) }
}

/** The names of the Worker's secrets. */
function listSecrets(): ReadonlySet<string> {
  step("Looking for the Worker's secrets")
  const listed = ask(['secret', 'list', '--name', worker.name, '--format', 'json'], json(v.array(Secret)))
  return new Set(listed.map(({ name }) => name))
}

/**
 * Gives the Worker a WEBHOOK_KEY unless it has one. Never replaces it, because stored webhooks can't be read with
 * another key. Nobody needs to know the key, so it isn't printed.
 */
function ensureWebhookKey(): void {
  if (secrets.has('WEBHOOK_KEY')) return
  putSecret('WEBHOOK_KEY', process.env.WEBHOOK_KEY || randomBytes(32).toString('base64url'))
}

/**
 * Gives the Worker an ADMIN_TOKEN unless it has one. Prints a new token before storing it, so that a stored token has
 * always been shown, even if the deploy is interrupted.
 */
function ensureAdminToken(): boolean {
  if (secrets.has('ADMIN_TOKEN') && !flags.newAdminToken) return false
  const given = process.env.ADMIN_TOKEN
  const token = given || randomBytes(24).toString('base64url')
  if (!given) {
    console.log('\nThis is the admin token, which is shown only once. It becomes valid in the next step:')
    console.log(`\n${bold(`export ADMIN_TOKEN=${token}`)}\n`)
  }
  putSecret('ADMIN_TOKEN', token)
  return true
}

function putSecret(name: string, value: string): void {
  step(`Storing the secret ${name}`)
  ask(['secret', 'put', name, '--name', worker.name], says(`Uploaded secret ${name}`), value)
}

async function report(): Promise<void> {
  const { url } = worker
  if (url) await waitUntilReady(url)
  console.log(`\nCountersign is deployed${url ? ` at ${bold(url)}` : ''}`)
  if (isTokenNew) {
    const headers = '-H "Authorization: Bearer $ADMIN_TOKEN" -H "Content-Type: application/json"'
    const body = JSON.stringify({ slug: 'acme', name: 'Acme' })
    console.log('\nCreate the first organization; the response contains its key:')
    console.log(`curl -X POST ${url ?? 'https://<your domain>'}/api/orgs ${headers} -d '${body}'`)
  } else {
    console.log("ADMIN_TOKEN hasn't changed; npm run deploy -- --new-admin-token replaces it.")
  }
}

async function waitUntilReady(url: string): Promise<void> {
  step('Checking that Countersign is ready')
  for (let attempt = 1; attempt <= READY_ATTEMPTS; attempt++) {
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(READY_PAUSE_MS) }).catch(() => undefined)
    if (answer?.ok) return
    await pause(READY_PAUSE_MS)
  }
  console.warn(
    `${url}/readyz doesn't respond yet. An account's first workers.dev address can take a few minutes to become reachable.`,
  )
}

/**
 * Runs wrangler in this terminal, where it may ask questions. The caller must check with `ask` whether it succeeded.
 */
function run(args: readonly string[], environment: Record<string, string>): void {
  const { status } = wrangler(args, { stdio: 'inherit', env: { ...process.env, ...environment } })
  if (status !== 0) stop('')
}

/**
 * Runs wrangler silently and returns what `read` finds in its output. If that's undefined, the deploy stops. The exit
 * code is ignored, because wrangler's launcher exits with 0 even if the process it started was killed.
 */
function ask<T>(args: readonly string[], read: (stdout: string, stderr: string) => T | undefined, input = ''): T {
  const env = { ...process.env, WRANGLER_LOG: 'log' }
  const { stdout, stderr } = wrangler(args, { input, env, maxBuffer: Number.POSITIVE_INFINITY })
  const answer = read(stdout, stderr)
  return answer === undefined ? stop(stdout + stderr) : answer
}

function wrangler(args: readonly string[], options: SpawnSyncOptions) {
  const result = spawnSync('wrangler', args, { ...options, encoding: 'utf8' })
  if (result.error) fail(`wrangler can't be started (${result.error.message}). Use npm run deploy, which installs it.`)
  return result
}

/** Accepts output that contains one of these strings. */
function says(...words: readonly string[]) {
  return (stdout: string, stderr: string): true | undefined =>
    words.some(each => stdout.includes(each) || stderr.includes(each)) || undefined
}

/** Reads JSON output of this shape. */
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

/** Stops the deploy at the current step, and prints wrangler's output. */
function stop(output: string): never {
  process.stderr.write(output)
  const isLoggedOut = /logged in|CLOUDFLARE_API_TOKEN|Authentication error/i.test(output)
  if (isLoggedOut) console.error('Log in with `npx wrangler login`, or set CLOUDFLARE_API_TOKEN.')
  fail(`\nThis step failed: ${task}. Fix the cause, and run the same command again. It continues from there.`)
}

function fail(message: string): never {
  console.error(message)
  process.exit(1)
}
