/**
 * Replaces the `wrangler` command in the tests of `npm run deploy`. It supports the commands and flags that the deploy
 * uses, on an account in a JSON file. Output and failures match wrangler 4.156.2. Comments refer to wrangler's source
 * files.
 *
 * The command is a shell script that passes each call on to the process that runs the tests. Starting Node for each of
 * a thousand calls would take ten times as long as everything else in the tests.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'

/** The resources in the Cloudflare account. */
export interface Account {
  isLoggedIn: boolean
  /** Whether a deploy may overwrite changes that were made in the dashboard. */
  mayOverwrite: boolean
  /** The URL of the Worker. */
  url: string
  databases: {
    uuid: string
    name: string
    jurisdiction: string | null
    region: string
    migrations: string[]
    /** SQL that adds content that no shard of the deployment has. */
    content?: string
  }[]
  buckets: { name: string; jurisdiction: string | undefined; location: string | undefined }[]
  queues: string[]
  workers: Worker[]
}

interface Worker {
  name: string
  secrets: Record<string, string>
  /** One entry per deploy, with its bindings and the migrations of its database. */
  versions: {
    database: string
    bucket: string
    jurisdiction: string | undefined
    migrations: string[]
    /** The other databases: their bindings, names, and migrations. */
    shards?: { binding: string; name: string; migrations: string[] }[]
    ai?: object
  }[]
  consumes: string[]
}

/** The parts of a configuration that the stub reads. */
interface Config {
  name: string
  d1_databases: { binding: string; database_name: string; database_id?: string }[]
  r2_buckets: { binding: string; bucket_name: string; jurisdiction?: string }[]
  queues: { producers: { queue: string }[]; consumers: { queue: string }[] }
  ai?: object
}

/** How a call is cut off: wrangler's process is killed, the whole deploy is killed, or the API rejects the call. */
export type Cut = 'wrangler' | 'deploy' | 'api'

/** A call to the command. */
interface Call {
  /** The folder with account.json, the log of calls, and a mark for each moment that has passed. */
  folder: string
  /** `<moment>:<how>` cuts off the call at that moment. */
  cut: string
  /** The process that made the call. */
  caller: number
  directory: string
  isInteractive: boolean
  /** wrangler's variables, which are empty if unset. */
  workerName: string
  outputFile: string
  stdin: string
  args: string[]
}

/** The shell variables that the script sends before the arguments, in this order. */
const SENT = [
  '"$STUB_FOLDER"',
  '"$STUB_CUT"',
  '"$PPID"',
  '"$PWD"',
  '"$terminal"',
  '"$CI"',
  '"$WRANGLER_CI_OVERRIDE_NAME"',
  '"$WRANGLER_OUTPUT_FILE_PATH"',
  '"$stdin"',
]

/** Starts the stub. `command` is the script to install as `wrangler`. */
export async function startStub(): Promise<{ command: string; close: () => void }> {
  const server = createServer(socket => {
    let received = ''
    socket.setEncoding('utf8').on('data', data => {
      received += data
      const [count, ...fields] = received.split('\0')
      // The last field is empty.
      if (fields.length <= SENT.length + Number(count)) return
      const [
        folder = '',
        cut = '',
        caller,
        directory = '',
        terminal,
        ci,
        workerName = '',
        outputFile = '',
        stdin = '',
      ] = fields
      const { status, stdout, stderr } = perform({
        folder,
        cut,
        caller: Number(caller),
        directory,
        isInteractive: terminal === 'yes' && !ci,
        workerName,
        outputFile,
        stdin,
        args: fields.slice(SENT.length, -1),
      })
      socket.end([status, stdout, stderr, ''].join('\0'))
    })
    // The caller may have been killed.
    socket.on('error', () => undefined)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const command = `#!/usr/bin/env bash
if [ -t 0 ]; then terminal=yes; else IFS= read -r -d '' stdin; fi
exec 3<>/dev/tcp/127.0.0.1/${port}
printf '%s\\0' "$#" ${SENT.join(' ')} "$@" >&3
for each in status stdout stderr; do IFS= read -r -d '' "$each" <&3; done
printf %s "$stdout"
printf %s "$stderr" >&2
exit "$status"
`
  return { command, close: () => server.close() }
}

/** Thrown to end a call. */
class Exit extends Error {
  readonly status: number

  constructor(status: number) {
    super()
    this.status = status
  }
}

// The state of the current call. Each call ends before the next one starts.
let call: Call
let account: Account
let rest: string[]
let stdout: string
let stderr: string

function perform(next: Call): { status: number; stdout: string; stderr: string } {
  call = next
  account = JSON.parse(readFileSync(join(call.folder, 'account.json'), 'utf8'))
  rest = call.args.slice(1)
  stdout = ''
  stderr = ''
  let status = 0
  try {
    appendFileSync(join(call.folder, 'calls'), `${JSON.stringify(call.args)}\n`)
    passMoment()
    // Runs before every command: src/user/user.ts requireAuth, which doesn't prompt if there's no terminal.
    if (!account.isLoggedIn) {
      fail("In a non-interactive environment, it's necessary to set a CLOUDFLARE_API_TOKEN environment variable")
    }
    const name = `${call.args[0]} ${rest[0]}`
    const command = call.args[0] === 'deploy' ? deploy : COMMANDS[name]
    if (!command) fail(`Unknown argument: ${name}`)
    command()
  } catch (error) {
    status = error instanceof Exit ? error.status : 1
    if (!(error instanceof Exit)) stderr += error
  }
  return { status, stdout, stderr }
}

const COMMANDS: Readonly<Record<string, () => void>> = {
  'd1 list': listDatabases,
  'd1 create': createDatabase,
  'd1 info': describeDatabase,
  'd1 execute': execute,
  'd1 migrations': () => (rest[1] === 'apply' ? applyMigrations() : listMigrations()),
  'r2 bucket': createBucket,
  'deployments status': describeDeployment,
  'versions view': describeVersion,
  'secret list': listSecrets,
  'secret put': putSecret,
}

/** src/d1/list.ts. The fields are the API's (D1 Database Response). */
function listDatabases(): void {
  read(rest.slice(1), { json: { type: 'boolean' } }, 0)
  const shown = account.databases.map(({ uuid, name, jurisdiction }) => ({
    uuid,
    name,
    version: 'production',
    jurisdiction,
  }))
  print(JSON.stringify(shown, null, 2))
}

/** src/d1/create.ts, src/d1/constants.ts */
function createDatabase(): void {
  const { positionals, values } = read(
    rest.slice(1),
    { location: { type: 'string' }, jurisdiction: { type: 'string' } },
    1,
  )
  const { location, jurisdiction } = values
  choose('location', location, ['weur', 'eeur', 'apac', 'oc', 'wnam', 'enam'])
  choose('jurisdiction', jurisdiction, ['eu', 'fedramp', 'us'])
  const [name = ''] = positionals
  const region = (location ?? (jurisdiction === 'eu' ? 'eeur' : 'enam')).toUpperCase()
  effect(() => addDatabase(name, jurisdiction ?? null, region))
  print(`✅ Successfully created DB '${name}' in region ${region}\nCreated your new D1 database.\n`)
}

function addDatabase(name: string, jurisdiction: string | null, region: string) {
  if (account.databases.some(database => database.name === name)) fail('A database with that name already exists')
  const database = { uuid: randomUUID(), name, jurisdiction, region, migrations: [] }
  account.databases.push(database)
  return database
}

/** src/d1/info.ts. The fields are the API's, with `running_in_region`. */
function describeDatabase(): void {
  const { positionals } = read(rest.slice(1), { json: { type: 'boolean' } }, 1)
  const found = account.databases.find(({ name }) => name === positionals[0])
  if (!found) fail(`Couldn't find a D1 DB with name or binding '${positionals[0]}' in your config or the API.`)
  const { uuid, name, region, jurisdiction } = found
  print(JSON.stringify({ uuid, name, num_tables: 0, running_in_region: region, jurisdiction }, null, 2))
}

/** src/d1/execute.ts. Runs the statement on a database with one of our tables, if it has been migrated. */
function execute(): void {
  const options = { remote: { type: 'boolean' }, json: { type: 'boolean' }, command: { type: 'string' } } as const
  const { positionals, values } = read(rest.slice(1), options, 1)
  if (!values.remote) fail('The stub has no local database')
  const found = account.databases.find(({ name }) => name === positionals[0])
  if (!found) fail(`Couldn't find a D1 DB with the name or binding '${positionals[0]}'`)
  const database = new DatabaseSync(':memory:')
  database.exec('CREATE TABLE _cf_KV (key TEXT); CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT)')
  if (found.migrations.length > 0) database.exec('CREATE TABLE organizations (key INTEGER PRIMARY KEY, name TEXT)')
  database.exec(found.content ?? '')
  const results = database.prepare(values.command ?? '').all()
  print(JSON.stringify([{ results, success: true, meta: { duration: 0 } }], null, 2))
}

/** src/d1/utils.ts getDatabaseByNameOrBinding: by the id in the config, otherwise by name. */
function findDatabase(binding: string | undefined, config: Config) {
  const bound = config.d1_databases.find(each => each.binding === binding)
  if (!bound) fail(`Couldn't find a D1 DB with the name or binding '${binding}' in your wrangler.toml file.`)
  return (
    databaseOf(bound) ??
    fail(`Couldn't find a D1 DB named '${bound.database_name}' (bound as '${binding}') in the API.`)
  )
}

function databaseOf({ database_id: id, database_name }: Config['d1_databases'][number]) {
  return account.databases.find(({ uuid, name }) => (id ? uuid === id : name === database_name))
}

/** src/d1/migrations/apply.ts: one API call per migration, which also records it. */
function applyMigrations(): void {
  const database = databaseToMigrate()
  if (call.isInteractive) fail('The stub answers no questions')
  const unapplied = migrationFiles().filter(name => !database.migrations.includes(name))
  if (unapplied.length === 0) print('✅ No migrations to apply!')
  for (const name of unapplied) {
    effect(() => database.migrations.push(name))
    print(`│ ${name} │ ✅     │`)
  }
}

/** src/d1/migrations/list.ts */
function listMigrations(): void {
  const { migrations } = databaseToMigrate()
  const unapplied = migrationFiles().filter(name => !migrations.includes(name))
  print(unapplied.length === 0 ? '✅ No migrations to apply!' : `Migrations to be applied:\n${unapplied.join('\n')}`)
}

function databaseToMigrate() {
  const options = { remote: { type: 'boolean' }, config: { type: 'string' } } as const
  const { positionals, values } = read(rest.slice(2), options, 1)
  // Without the flag, wrangler migrates the local database.
  if (!values.remote) fail('The stub has no local database')
  return findDatabase(positionals[0], configOf(values.config))
}

function migrationFiles(): string[] {
  const names = readdirSync(resolve(call.directory, 'migrations')).filter(name => name.endsWith('.sql'))
  return names.sort()
}

/** src/r2/bucket.ts. The error is the API's. */
function createBucket(): void {
  const { positionals, values } = read(rest.slice(2), { location: { type: 'string' } }, 1)
  const [name = ''] = positionals
  print(`Creating bucket '${name}'...`)
  if (hasBucket(name, undefined)) {
    fail(
      'A request to the Cloudflare API (/accounts/1/r2/buckets) failed.\n\n' +
        '  The bucket you tried to create already exists, and you own it. [code: 10004]',
    )
  }
  effect(() => account.buckets.push({ name, jurisdiction: undefined, location: values.location }))
  print(`✅ Created bucket '${name}' with default storage class of Standard.`)
}

/** Buckets in different jurisdictions may have the same name. */
function hasBucket(name: string, jurisdiction: string | undefined): boolean {
  return account.buckets.some(bucket => bucket.name === name && bucket.jurisdiction === jurisdiction)
}

/**
 * deploy-helpers/src/deploy/deploy.ts, helpers/provision-bindings.ts: creates missing resources of the bindings, by
 * name and without a location, then uploads the Worker, then sets the triggers. src/output.ts: writes the result to
 * WRANGLER_OUTPUT_FILE_PATH.
 */
function deploy(): void {
  const { values } = read(rest, { config: { type: 'string' } }, 0)
  const config = configOf(values.config)
  tell({ type: 'wrangler-session', version: 1, wrangler_version: '4.156.2', command_line_args: call.args })
  const name = call.workerName || config.name
  if (!account.mayOverwrite) {
    tell({ type: 'deploy', version: 1, worker_name: name, version_id: null })
    return
  }
  const database = provisionDatabase(config, name)
  const shards = config.d1_databases.slice(1).map(({ binding }) => {
    const { name, migrations } = findDatabase(binding, config)
    return { binding, name, migrations: [...migrations] }
  })
  const [bucket] = config.r2_buckets
  if (!bucket) fail('The stub requires a bucket')
  const { bucket_name, jurisdiction } = bucket
  if (!hasBucket(bucket_name, jurisdiction)) {
    effect(() => account.buckets.push({ name: bucket_name, jurisdiction, location: undefined }))
  }
  for (const { queue } of config.queues.producers) {
    if (!account.queues.includes(queue)) effect(() => account.queues.push(queue))
  }
  const missing = config.queues.consumers.find(({ queue }) => !account.queues.includes(queue))
  if (missing) fail(`Queue "${missing.queue}" does not exist.`)
  const worker = effect(() => {
    const worker = openWorker(name)
    const { uuid, migrations } = database
    const { ai } = config
    worker.versions.push({
      database: uuid,
      bucket: bucket_name,
      jurisdiction,
      migrations: [...migrations],
      ...(shards.length > 0 && { shards }),
      ...(ai && { ai }),
    })
    return worker
  })
  effect(() => {
    worker.consumes = config.queues.consumers.map(({ queue }) => queue)
  })
  const targets = [account.url, 'schedule: * * * * *', ...worker.consumes.map(queue => `Consumer for ${queue}`)]
  const version_id = randomUUID()
  print(`Uploaded ${name} (1.00 sec)\n  ${targets.join('\n  ')}\nCurrent Version ID: ${version_id}`)
  tell({ type: 'deploy', version: 1, worker_name: name, version_id, targets })
}

/**
 * D1Handler: if there's no id, it first looks up the database that the Worker was bound to, even if that database no
 * longer exists.
 */
function provisionDatabase({ d1_databases: [bound] }: Config, name: string) {
  if (!bound) fail('The stub requires a database')
  const found = databaseOf(bound)
  if (bound.database_id)
    return found ?? fail(`D1 binding 'DB' references database '${bound.database_id}' which was not found.`)
  const inherited = account.workers.find(worker => worker.name === name)?.versions.at(-1)?.database
  if (inherited && !account.databases.some(({ uuid }) => uuid === inherited)) {
    fail(`A request to the Cloudflare API failed.\n\n  The database could not be found [code: 7404]`)
  }
  return found ?? effect(() => addDatabase(bound.database_name, null, 'ENAM'))
}

function tell(entry: object): void {
  if (!call.outputFile) return
  mkdirSync(dirname(call.outputFile), { recursive: true })
  appendFileSync(call.outputFile, `${JSON.stringify({ ...entry, timestamp: new Date().toISOString() })}\n`)
}

/**
 * src/versions/deployments/status.ts. The error is the API's. A Worker that has only secrets has no deployments here.
 */
function describeDeployment(): void {
  const { values } = read(rest.slice(1), { name: { type: 'string' }, json: { type: 'boolean' } }, 0)
  const worker = account.workers.find(({ name }) => name === values.name)
  if (!worker) {
    fail(
      `A request to the Cloudflare API (/accounts/1/workers/scripts/${values.name}/deployments) failed.\n\n` +
        '  This Worker does not exist on your account. [code: 10007]',
    )
  }
  if (worker.versions.length === 0) fail(`The Worker ${values.name} has no deployments.`)
  const versions = [{ version_id: `version-${worker.versions.length}`, percentage: 100 }]
  print(JSON.stringify({ id: 'deployment', source: 'wrangler', strategy: 'percentage', versions }, null, 2))
}

/** src/versions/view.ts */
function describeVersion(): void {
  const { positionals, values } = read(rest.slice(1), { name: { type: 'string' }, json: { type: 'boolean' } }, 1)
  const [id = ''] = positionals
  const worker = account.workers.find(({ name }) => name === values.name)
  const version = worker?.versions[Number(id.replace('version-', '')) - 1] ?? fail(`Version ${id} not found.`)
  const databases = ['DB', ...(version.shards ?? []).map(({ binding }) => binding)]
  const bindings = [
    ...databases.map(name => ({ type: 'd1', name })),
    ...(version.ai ? [{ type: 'ai', name: 'AI' }] : []),
  ]
  print(JSON.stringify({ id, resources: { bindings, script: {}, script_runtime: {} } }, null, 2))
}

/** src/secret/index.ts secretListCommand */
function listSecrets(): void {
  const { values } = read(rest.slice(1), { name: { type: 'string' }, format: { type: 'string' } }, 0)
  const worker = account.workers.find(({ name }) => name === values.name)
  if (!worker) fail(`Worker "${values.name}" not found.`)
  const shown = Object.keys(worker.secrets).map(name => ({ name, type: 'secret_text' }))
  print(JSON.stringify(shown, null, '  '))
}

/** src/secret/index.ts secretPutCommand: reads the value from stdin, and creates an empty Worker if there is none. */
function putSecret(): void {
  const { positionals, values } = read(rest.slice(1), { name: { type: 'string' } }, 1)
  const [key = ''] = positionals
  const name = values.name ?? configOf(undefined).name
  print(`🌀 Creating the secret for the Worker "${name}"`)
  effect(() => {
    openWorker(name).secrets[key] = call.stdin.trimEnd()
  })
  print(`✨ Success! Uploaded secret ${key}`)
}

function openWorker(name: string): Worker {
  const found = account.workers.find(each => each.name === name)
  if (found) return found
  const worker = { name, secrets: {}, versions: [], consumes: [] }
  account.workers.push(worker)
  return worker
}

/** The configuration at `--config`, or the wrangler.toml that the test has parsed. */
function configOf(file: string | undefined): Config {
  return JSON.parse(
    readFileSync(file ? resolve(call.directory, file) : join(call.folder, 'wrangler.toml.json'), 'utf8'),
  )
}

/** Parses a command's flags and `count` positional arguments. Rejects unknown flags, as wrangler does. */
function read<const Options extends ParseArgsOptionsConfig>(args: string[], options: Options, count: number) {
  const parsed = parseArgs({ args, options, allowPositionals: true })
  if (parsed.positionals.length !== count) fail(`Not enough or unknown arguments: ${parsed.positionals.join(' ')}`)
  return parsed
}

function choose(flag: string, value: string | undefined, choices: readonly string[]): void {
  if (value === undefined || choices.includes(value)) return
  fail(`Invalid values:\n\n    Argument: ${flag}, Given: "${value}", Choices: ${choices.join(', ')}`)
}

/** Makes one change to the account. The API makes a change either completely or not at all. */
function effect<Result>(change: () => Result): Result {
  const result = change()
  writeFileSync(join(call.folder, 'account.json'), JSON.stringify(account, null, 2))
  passMoment()
  return result
}

/** Records a moment at which a deploy can be cut off: when a command starts, and after each change that it makes. */
function passMoment(): void {
  const marks = join(call.folder, 'moments')
  appendFileSync(marks, '.')
  const [moment, how] = call.cut.split(':')
  if (statSync(marks).size !== Number(moment)) return
  if (how === 'api') fail('A request to the Cloudflare API failed.\n\n  Internal error [code: 10013]')
  if (how === 'deploy') process.kill(call.caller, 'SIGKILL')
  // bin/wrangler.js: exits with 0 if its child process was killed.
  throw new Exit(0)
}

function print(text: string): void {
  stdout += `${text}\n`
}

function fail(message: string): never {
  stderr += `✘ [ERROR] ${message}\n\n`
  throw new Exit(1)
}
