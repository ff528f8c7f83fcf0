import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, delimiter, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { experimental_readRawConfig as readRawConfig } from 'wrangler'
import { type Account, type Cut, startStub } from './wrangler-stub.ts'

const PROJECT = resolve(import.meta.dirname, '../..')
const WRANGLER = resolve(PROJECT, 'node_modules/wrangler/bin/wrangler.js')

/** `npm test` tries every fifth moment at which a deploy can be killed. `.ci/nightly` tries every moment. */
const STRIDE = process.env.ALL_FAULTS ? 1 : 5

const stub = await startStub()

let folder: string
let origin: string
/** The number of 503s that a Worker's /readyz returns before its first 200, by path. */
const unreadyTimes = new Map<string, number>()
const server = createServer(({ url = '' }, response) => {
  const left = unreadyTimes.get(url) ?? 0
  unreadyTimes.set(url, left - 1)
  response.writeHead(left > 0 ? 503 : 200).end()
})

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-'))
  server.listen(0, 'localhost')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  origin = `http://localhost:${port}`
})

afterAll(async () => {
  server.close()
  stub.close()
  await rm(folder, { recursive: true, force: true })
})

/** The output of a deploy, and its exit code, or null if it was killed. */
interface Run {
  printed: string
  code: number | null
  /** The admin tokens in the output. */
  tokens: string[]
}

interface Checkout {
  /** Changes the checkout's wrangler.toml. */
  edit?: (config: string) => string
  /**
   * Whether to parse wrangler.toml with wrangler's package, which takes most of a run's time. By default, a cached
   * result is used.
   */
  loadsWrangler?: boolean
  /** The migrations in the checkout. By default, it has all of the project's migrations. */
  applies?: readonly string[]
}

/** Creates a checkout in which the stub replaces the `wrangler` command, and an empty account to deploy to. */
async function newCheckout({ edit = config => config, loadsWrangler = false, applies = migrations }: Checkout = {}) {
  const checkout = await mkdtemp(join(folder, 'checkout-'))
  const at = (...path: string[]) => join(checkout, ...path)
  const url = `${origin}/${basename(checkout)}`
  await Promise.all(['scripts', 'stub', 'node_modules/.bin'].map(each => mkdir(at(each), { recursive: true })))
  for (const script of ['deploy.ts', 'shards.ts']) await cp(join(PROJECT, 'scripts', script), at('scripts', script))
  await mkdir(at('migrations'))
  for (const migration of applies) await cp(join(PROJECT, 'migrations', migration), at('migrations', migration))
  await writeFile(at('package.json'), '{"type": "module", "scripts": {"build": "true"}}')
  await cp(join(PROJECT, 'wrangler.workers-ai.toml'), at('wrangler.workers-ai.toml'))
  await writeFile(at('wrangler.toml'), edit(await readFile(join(PROJECT, 'wrangler.toml'), 'utf8')))
  const config = JSON.stringify(readRawConfig({ config: at('wrangler.toml') }).rawConfig)
  await writeFile(at('stub/wrangler.toml.json'), config)
  await writeFile(at('node_modules/.bin/wrangler'), stub.command, { mode: 0o755 })
  await symlink(join(PROJECT, 'node_modules/valibot'), at('node_modules/valibot'))
  if (loadsWrangler) {
    await symlink(join(PROJECT, 'node_modules/wrangler'), at('node_modules/wrangler'))
  } else {
    await mkdir(at('node_modules/wrangler'))
    await writeFile(at('node_modules/wrangler/package.json'), '{"type": "module", "exports": "./index.js"}')
    const overlay = JSON.stringify(readRawConfig({ config: at('wrangler.workers-ai.toml') }).rawConfig)
    const read = `export const experimental_readRawConfig = ({ config }) => config
      ? { rawConfig: ${overlay}, configPath: config }
      : { rawConfig: ${config}, configPath: 'wrangler.toml' }`
    await writeFile(at('node_modules/wrangler/index.js'), read)
  }

  const setAccount = (account: Account) => writeFile(at('stub/account.json'), JSON.stringify(account))
  const account = async (): Promise<Account> => JSON.parse(await readFile(at('stub/account.json'), 'utf8'))
  await setAccount({ isLoggedIn: true, mayOverwrite: true, url, databases: [], buckets: [], queues: [], workers: [] })

  /**
   * Runs the script as npm does. `cut` specifies where and how to interrupt it. If `answer` is given, the script runs
   * in a terminal from util-linux's `script`, and gets that answer to its question.
   */
  const deploy = async (
    args: readonly string[] = [],
    environment = {},
    cut?: [moment: number, Cut],
    answer?: string,
  ): Promise<Run> => {
    await writeFile(at('stub/moments'), '')
    const { CI, ADMIN_TOKEN, WEBHOOK_KEY, WRANGLER_OUTPUT_FILE_DIRECTORY, ...inherited } = process.env
    const command = [process.execPath, at('scripts/deploy.ts'), ...args]
    const [program = '', ...given] =
      answer === undefined ? command : ['script', '-qefc', command.map(each => `'${each}'`).join(' '), '/dev/null']
    const child = spawn(program, given, {
      env: {
        ...inherited,
        PATH: `${at('node_modules/.bin')}${delimiter}${process.env.PATH}`,
        NODE_COMPILE_CACHE: join(folder, 'compile-cache'),
        STUB_FOLDER: at('stub'),
        STUB_CUT: cut?.join(':') ?? '',
        ...environment,
      },
      stdio: [answer === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    })
    let printed = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', data => {
        printed += data
        if (String(data).includes('[y/N]')) child.stdin?.write(`${answer}\n`)
      })
    }
    const [code] = await once(child, 'close')
    return { printed, code, tokens: [...printed.matchAll(/ADMIN_TOKEN=([\w-]{32})$/gm)].map(([, token = '']) => token) }
  }
  /** The commands of all runs. */
  const calls = (): Promise<string> => readFile(at('stub/calls'), 'utf8')
  /** The moments at which the last run could have been interrupted. */
  const moments = async (): Promise<number> => (await readFile(at('stub/moments'))).length
  return { at, url, setAccount, account, deploy, calls, moments }
}

/** An account without its random values and deployment counts, to compare two runs. */
function essence({ databases, buckets, queues, workers }: Account) {
  return {
    databases: databases.map(({ uuid, ...rest }) => rest).sort((a, b) => (a.name < b.name ? -1 : 1)),
    buckets,
    queues,
    workers: workers.map(({ name, secrets, versions, consumes }) => {
      const last = versions.at(-1)
      const { database, ...bound } = last ?? {}
      return {
        name,
        secrets: Object.keys(secrets).sort(),
        consumes,
        bound,
        hasDatabase: database === databases.find(({ name }) => name === 'countersign')?.uuid,
      }
    }),
  }
}

const migrations = (await readdir(join(PROJECT, 'migrations'))).filter(name => name.endsWith('.sql')).sort()
/** Enough migrations to interrupt a deploy between two of them. */
const FEW = migrations.slice(0, 3)
const FIRST = {
  databases: [{ name: 'countersign', jurisdiction: null, region: 'ENAM', migrations }],
  buckets: [{ name: 'countersign-payloads' }],
  queues: ['countersign-jobs', 'countersign-events', 'countersign-jobs-dead'],
  workers: [
    {
      name: 'countersign',
      secrets: ['ADMIN_TOKEN', 'WEBHOOK_KEY'],
      consumes: ['countersign-jobs', 'countersign-events', 'countersign-jobs-dead'],
      bound: { bucket: 'countersign-payloads', migrations },
      hasDatabase: true,
    },
  ],
}

describe('npm run deploy', { concurrent: true }, () => {
  it('creates everything on an empty account, migrates before it deploys, and prints the admin token once', async ({
    expect,
  }) => {
    const checkout = await newCheckout({ loadsWrangler: true })
    const { printed, code, tokens } = await checkout.deploy()
    expect(code, printed).toBe(0)
    const account = await checkout.account()
    expect(essence(account)).toEqual(FIRST)
    const token = account.workers[0]?.secrets.ADMIN_TOKEN ?? ''
    expect(tokens).toEqual([token])
    expect(printed.split(token)).toHaveLength(2)
    expect(printed).toContain(`Countersign is deployed at ${checkout.url}\n`)
    expect(printed).toContain(`curl -X POST ${checkout.url}/api/orgs -H "Authorization: Bearer $ADMIN_TOKEN"`)
    const webhookKey = account.workers[0]?.secrets.WEBHOOK_KEY ?? ''
    expect(webhookKey).toMatch(/^[\w-]{43}$/)
    expect(printed).not.toContain(webhookKey)
    const calls = await checkout.calls()
    for (const secret of [token, webhookKey]) expect(calls).not.toContain(secret)
    const original = await readFile(join(PROJECT, 'wrangler.toml'), 'utf8')
    expect(await readFile(checkout.at('wrangler.toml'), 'utf8')).toBe(original)
  })

  it('creates nothing twice, keeps the token, and migrates before it deploys new code', async ({ expect }) => {
    const checkout = await newCheckout()
    await checkout.deploy()
    const first = await checkout.account()
    const again = await checkout.deploy()
    expect(again).toMatchObject({ code: 0, tokens: [] })
    expect(again.printed).toContain("ADMIN_TOKEN hasn't changed")
    const second = await checkout.account()
    expect({ ...second, workers: [] }).toEqual({ ...first, workers: [] })
    expect(second.workers[0]?.secrets).toEqual(first.workers[0]?.secrets)

    await writeFile(checkout.at('migrations/9999_more.sql'), 'select 1;')
    await checkout.deploy()
    const { workers } = await checkout.account()
    expect(workers[0]?.versions.map(version => version.migrations)).toEqual([
      migrations,
      migrations,
      [...migrations, '9999_more.sql'],
    ])
  })

  it.for([
    // wrangler's launcher doesn't report that its child process was killed.
    ['wrangler', 1, []],
    ['the whole deploy', 2, ['--location', 'weur']],
    ['wrangler, with --shards,', 3, ['--shards', '2']],
    ['the whole deploy, with --shards,', 1, ['--shards', '2', '--jurisdiction', 'eu']],
  ] as const)(
    'reaches the same state if %s is killed at any moment',
    { timeout: 600_000 },
    async ([what, start, args], { expect }) => {
      const cutting = what.startsWith('wrangler') ? 'wrangler' : 'deploy'
      const whole = await newCheckout({ applies: FEW })
      await whole.deploy(args)
      const end = essence(await whole.account())
      for (let moment = Math.min(start, STRIDE); moment <= (await whole.moments()); moment += STRIDE) {
        const checkout = await newCheckout({ applies: FEW })
        const cut = await checkout.deploy(args, {}, [moment, cutting])
        // It reports success only if there was nothing left to do.
        if (cut.code === 0) expect(essence(await checkout.account()), `cut at ${moment}`).toEqual(end)
        const stored = (await checkout.account()).workers[0]?.secrets
        const rest = await checkout.deploy(args)
        const account = await checkout.account()
        // Webhooks that were stored in the meantime stay readable.
        expect(account.workers[0]?.secrets).toMatchObject({
          ...stored,
          WEBHOOK_KEY: stored?.WEBHOOK_KEY ?? expect.any(String),
        })
        expect(rest.code, rest.printed).toBe(0)
        expect(essence(account), `cut at ${moment}`).toEqual(end)
        // No code may run on a schema that it doesn't support.
        for (const { migrations, shards = [] } of account.workers[0]?.versions ?? []) {
          for (const each of [migrations, ...shards.map(shard => shard.migrations)]) expect(each).toEqual(FEW)
        }
        expect([...cut.tokens, ...rest.tokens]).toContain(account.workers[0]?.secrets.ADMIN_TOKEN)
        if (rest.tokens.length > 0) expect(rest.tokens).toEqual([account.workers[0]?.secrets.ADMIN_TOKEN])
        expect(await checkout.calls()).not.toMatch(new RegExp([...cut.tokens, ...rest.tokens].join('|')))
      }
    },
  )

  it('creates the database and the bucket in --location, and reports any that are elsewhere', async ({ expect }) => {
    const checkout = await newCheckout()
    await checkout.deploy(['--location', 'weur'])
    const first = await checkout.account()
    expect(first.databases).toMatchObject([{ region: 'WEUR' }])
    expect(first.buckets).toEqual([{ name: 'countersign-payloads', location: 'weur' }])

    const same = await checkout.deploy(['--location', 'weur'])
    expect(same.code).toBe(0)
    expect(same.printed).not.toContain('already')
    const other = await checkout.deploy(['--location', 'apac'])
    expect(other.code).toBe(0)
    expect(other.printed).toContain('The database is already in WEUR')
    const { databases, buckets } = await checkout.account()
    expect({ databases, buckets }).toEqual({ databases: first.databases, buckets: first.buckets })
  })

  it('keeps the database and the bucket in their original jurisdiction, with or without the flag', async ({
    expect,
  }) => {
    const checkout = await newCheckout()
    // Kills the deploy when only the database exists.
    await checkout.deploy(['--jurisdiction', 'eu'], {}, [3, 'deploy'])
    expect(await checkout.account()).toMatchObject({ databases: [{ jurisdiction: 'eu' }], buckets: [] })
    for (const args of [[], ['--jurisdiction', 'eu'], []]) {
      const { code, printed } = await checkout.deploy(args)
      expect(code, printed).toBe(0)
      const account = await checkout.account()
      expect(account.databases).toMatchObject([{ jurisdiction: 'eu' }])
      expect(account.buckets).toEqual([{ name: 'countersign-payloads', jurisdiction: 'eu' }])
      expect(account.workers[0]?.versions.at(-1)).toMatchObject({ bucket: 'countersign-payloads', jurisdiction: 'eu' })
    }
    const before = await checkout.account()
    const refused = await checkout.deploy(['--jurisdiction', 'us'])
    expect(refused).toMatchObject({ code: 1 })
    expect(refused.printed).toContain('The database countersign is outside the jurisdiction us')
    expect(await checkout.account()).toEqual(before)
  })

  it.for([3, 9, 15, 21])(
    'has all shards or none if a deploy without --shards follows one that was killed at moment %i',
    async (moment, { expect }) => {
      const checkout = await newCheckout({ applies: FEW })
      await checkout.deploy()
      await checkout.deploy(['--shards', '3'], {}, [moment, 'deploy'])
      const { code, printed } = await checkout.deploy()
      expect(code, printed).toBe(0)
      const { workers } = await checkout.account()
      expect([undefined, 3]).toContain(workers[0]?.versions.at(-1)?.shards?.length)
    },
  )

  it('adds shards with --shards, and keeps them from then on', async ({ expect }) => {
    const checkout = await newCheckout({ applies: FEW })
    const shards = [1, 2, 3, 4].map(number => ({
      binding: `DB_${number}`,
      name: `countersign-${number}`,
      migrations: FEW,
    }))
    for (const [args, bound] of [
      [['--shards', '1'], undefined],
      [['--shards', '2', '--workers-ai'], shards.slice(0, 2)],
      [[], shards.slice(0, 2)],
      [['--shards', '4'], shards],
    ] as const) {
      const { code, printed } = await checkout.deploy(args)
      expect(code, printed).toBe(0)
      expect((await checkout.account()).workers[0]?.versions.at(-1)?.shards, String(args)).toEqual(bound)
    }

    const before = await checkout.account()
    for (const fewer of ['1', '3']) {
      const refused = await checkout.deploy(['--shards', fewer])
      expect(refused.code).toBe(1)
      expect(refused.printed).toContain('--shards must be at least 4: this deployment has the database countersign-4')
      expect(await checkout.account()).toEqual(before)
    }

    // A deploy migrates all databases, even if the account doesn't list them in the order of their numbers.
    await checkout.setAccount({ ...before, databases: before.databases.toReversed() })
    await writeFile(checkout.at('migrations/9999_more.sql'), 'select 1;')
    await checkout.deploy()
    const { databases, workers } = await checkout.account()
    for (const database of databases) expect(database.migrations).toEqual([...FEW, '9999_more.sql'])
    const deployed = workers[0]?.versions.at(-1)
    expect(deployed?.database).toBe(databases.find(({ name }) => name === 'countersign')?.uuid)
    expect(deployed?.shards).toEqual(shards.map(each => ({ ...each, migrations: [...FEW, '9999_more.sql'] })))
  })

  it.for([
    ['was rolled back', (worker: Account['workers'][number]) => ({ ...worker, versions: worker.versions.slice(0, 1) })],
    ['was deleted', () => undefined],
  ] as const)('keeps the shards if the Worker %s, and replaces a missing one', async ([, change], { expect }) => {
    const checkout = await newCheckout({ applies: FEW })
    await checkout.deploy()
    await checkout.deploy(['--shards', '3'])
    const { databases, workers, ...rest } = await checkout.account()
    await checkout.setAccount({
      ...rest,
      databases: databases.filter(({ name }) => name !== 'countersign-2'),
      workers: workers.flatMap(worker => change(worker) ?? []),
    })
    const { code, printed } = await checkout.deploy()
    expect(code, printed).toBe(0)
    const account = await checkout.account()
    expect(account.workers[0]?.versions.at(-1)?.shards?.map(({ name }) => name)).toEqual(
      [1, 2, 3].map(number => `countersign-${number}`),
    )
    expect(account.databases.filter(({ name }) => name !== 'countersign-2')).toEqual(
      databases.filter(({ name }) => name !== 'countersign-2'),
    )
  })

  it.for([
    ['other tables', 'CREATE TABLE recipes (title TEXT)', []],
    ['the organizations of a different deployment', "INSERT INTO organizations VALUES (1, 'Acme')", migrations],
  ] as const)("doesn't touch a database that contains %s", async ([, content, applied], { expect }) => {
    const checkout = await newCheckout({ applies: FEW })
    const other = { uuid: 'other', name: 'countersign-2', jurisdiction: null, region: 'ENAM', content }
    const databases = [{ ...other, migrations: [...applied] }]
    await checkout.setAccount({ ...(await checkout.account()), databases })
    expect(await checkout.deploy()).toMatchObject({ code: 0 })
    const before = await checkout.account()
    expect(before.databases[0]).toEqual(databases[0])
    expect(before.workers[0]?.versions.at(-1)?.shards).toBeUndefined()

    const refused = await checkout.deploy(['--shards', '2'])
    expect(refused.code).toBe(1)
    expect(refused.printed).toContain("The database countersign-2 contains other data, so it can't be a shard")
    expect(await checkout.account()).toEqual(before)
  })

  it('creates shards near the main database, and uses no database outside its jurisdiction', async ({ expect }) => {
    const placeOf = async (first: readonly string[], second: readonly string[]) => {
      const checkout = await newCheckout({ applies: FEW })
      await checkout.deploy(first)
      await checkout.deploy(['--shards', '2', ...second])
      const { databases } = await checkout.account()
      expect(databases).toHaveLength(3)
      return databases.slice(1).map(({ region, jurisdiction }) => jurisdiction ?? region)
    }
    expect(await placeOf(['--location', 'apac'], [])).toEqual(['APAC', 'APAC'])
    expect(await placeOf([], ['--location', 'weur'])).toEqual(['WEUR', 'WEUR'])
    expect(await placeOf(['--jurisdiction', 'us'], [])).toEqual(['us', 'us'])

    const checkout = await newCheckout({ applies: FEW })
    await checkout.deploy(['--jurisdiction', 'eu'])
    const account = await checkout.account()
    const outside = { uuid: 'outside', name: 'countersign-1', jurisdiction: null, region: 'WEUR', migrations: [] }
    await checkout.setAccount({ ...account, databases: [...account.databases, outside] })
    const { code, printed } = await checkout.deploy(['--shards', '2'])
    expect(code).toBe(1)
    expect(printed).toContain('The database countersign-1 is outside the jurisdiction eu')
    expect((await checkout.account()).databases).toEqual([...account.databases, outside])
  })

  it('does not combine the shards of a deleted database with a new one', async ({ expect }) => {
    const checkout = await newCheckout({ applies: FEW })
    await checkout.deploy(['--shards', '2'])
    const account = await checkout.account()
    const databases = account.databases.filter(({ name }) => name !== 'countersign')
    await checkout.setAccount({ ...account, databases })
    const { code, printed } = await checkout.deploy()
    expect(code).toBe(1)
    expect(printed).toContain('To start over, delete them first: countersign-1, countersign-2')
    expect((await checkout.account()).databases).toEqual(databases)
  })

  it('refuses a wrangler.toml that binds a shard itself', async ({ expect }) => {
    const shard = '[[d1_databases]]\nbinding = "DB_1"\ndatabase_name = "mine"\n'
    const checkout = await newCheckout({ edit: config => `${config}\n${shard}` })
    const { code, printed } = await checkout.deploy()
    expect(code).toBe(1)
    expect(printed).toContain('wrangler.toml binds DB_1 itself. Remove it there')
    expect(await checkout.moments()).toBe(0)
  })

  it('writes a configuration that wrangler accepts and git ignores', async ({ expect }) => {
    const checkout = await newCheckout()
    await checkout.deploy(['--jurisdiction', 'eu', '--shards', '2'])
    for (const part of ['dist/ui', 'dist/worker']) await mkdir(checkout.at(part), { recursive: true })
    await writeFile(checkout.at('dist/worker/index.mjs'), 'export default { fetch: () => new Response() }')
    const args = ['deploy', '--dry-run', '--config', 'wrangler.deploy.json']
    const { stdout } = await promisify(execFile)(process.execPath, [WRANGLER, ...args], { cwd: checkout.at() })
    expect(stdout).toMatch(/env\.PAYLOADS \(countersign-payloads \(eu\)\) +R2 Bucket/)
    for (const number of [1, 2])
      expect(stdout).toMatch(new RegExp(`env\\.DB_${number} \\(countersign-${number}\\) +D1 Database`))
    expect(stdout).toContain('--dry-run: exiting now.')
    const ignored = await readFile(join(PROJECT, '.gitignore'), 'utf8')
    expect(ignored.split('\n')).toContain('wrangler.deploy.json')
  })

  it('binds Workers AI with --workers-ai, and keeps that until --no-workers-ai', async ({ expect }) => {
    const checkout = await newCheckout()
    for (const [args, ai] of [
      [[], undefined],
      [['--workers-ai'], { binding: 'AI' }],
      [[], { binding: 'AI' }],
      [['--new-admin-token'], { binding: 'AI' }],
      [['--no-workers-ai'], undefined],
      [[], undefined],
    ] as const) {
      const { code, printed } = await checkout.deploy(args)
      expect(code, printed).toBe(0)
      expect(printed).not.toContain('Use Workers AI?')
      const deployed = JSON.parse(await readFile(checkout.at('wrangler.deploy.json'), 'utf8'))
      expect(deployed.ai, String(args)).toEqual(ai)
      expect(deployed.main).toBe('dist/worker/index.mjs')
    }
  })

  it.for([
    ['y', { binding: 'AI' }],
    ['', undefined],
  ] as const)('asks about Workers AI once, in a terminal: "%s"', async ([answer, ai], { expect }) => {
    const checkout = await newCheckout()
    for (const isFirst of [true, false]) {
      const { code, printed } = await checkout.deploy([], {}, undefined, answer)
      expect(code, printed).toBe(0)
      expect(printed.includes('Use Workers AI? [y/N]')).toBe(isFirst)
      expect(/16,000 tokens of the trace.*4 cents/s.test(printed)).toBe(isFirst)
      const { workers } = await checkout.account()
      expect(workers[0]?.versions.at(-1)?.ai).toEqual(ai)
    }
  })

  it('leaves the choice to wrangler.toml if that file binds Workers AI', async ({ expect }) => {
    const checkout = await newCheckout({ edit: config => `${config}\n[ai]\nbinding = "AI"\n` })
    expect(await checkout.deploy()).toMatchObject({ code: 0 })
    expect((await checkout.account()).workers[0]?.versions.at(-1)?.ai).toEqual({ binding: 'AI' })
    const refused = await checkout.deploy(['--no-workers-ai'])
    expect(refused.code).toBe(1)
    expect(refused.printed).toContain('wrangler.toml binds Workers AI itself. Remove [ai] there.')
  })

  it('starts over if the database was deleted', async ({ expect }) => {
    const checkout = await newCheckout()
    await checkout.deploy()
    const account = await checkout.account()
    await checkout.setAccount({ ...account, databases: [] })
    const { code, printed } = await checkout.deploy()
    expect(code, printed).toBe(0)
    expect(essence(await checkout.account())).toEqual(FIRST)
  })

  it('replaces the token with --new-admin-token, but never the WEBHOOK_KEY', async ({ expect }) => {
    const checkout = await newCheckout()
    const first = await checkout.deploy()
    const before = (await checkout.account()).workers[0]?.secrets.WEBHOOK_KEY
    const second = await checkout.deploy(['--new-admin-token'], { WEBHOOK_KEY: 'another key of the environment' })
    const { workers } = await checkout.account()
    expect(workers[0]?.secrets.WEBHOOK_KEY).toBe(before)
    expect(second.tokens).toEqual([workers[0]?.secrets.ADMIN_TOKEN])
    expect(second.tokens).not.toEqual(first.tokens)
  })

  it.for(['twenty-one-characters', ' another key of the environment'])(
    'refuses the WEBHOOK_KEY "%s" before it changes anything',
    async (WEBHOOK_KEY, { expect }) => {
      const checkout = await newCheckout()
      const { code, printed } = await checkout.deploy([], { WEBHOOK_KEY })
      expect(code).toBe(1)
      expect(printed).toContain('WEBHOOK_KEY needs at least 22 random characters')
      expect(printed).not.toContain(WEBHOOK_KEY)
      expect(await checkout.account()).toMatchObject({ databases: [], workers: [] })
    },
  )

  it('uses the secrets from the environment, and never prints them', async ({ expect }) => {
    const checkout = await newCheckout()
    const secrets = { ADMIN_TOKEN: 'token-of-the-environment', WEBHOOK_KEY: 'key-of-the-environment' }
    const { printed } = await checkout.deploy([], secrets)
    const { workers } = await checkout.account()
    expect(workers[0]?.secrets).toEqual(secrets)
    expect(printed).not.toContain('of-the-environment')
    expect(await checkout.calls()).not.toContain('of-the-environment')
  })

  it('deploys to the resources that the deploy button wrote into wrangler.toml, under the name that CI sets', async ({
    expect,
  }) => {
    const id = '00000000-0000-4000-8000-000000000001'
    const edit = (config: string) =>
      config
        .replace('database_name = "countersign"', `database_name = "traces"\ndatabase_id = "${id}"`)
        .replace('bucket_name = "countersign-payloads"', 'bucket_name = "values"')
    const checkout = await newCheckout({ edit, loadsWrangler: true })
    const empty = await checkout.account()
    const traces = { name: 'traces', jurisdiction: null, region: 'ENAM', migrations: [] }
    await checkout.setAccount({ ...empty, databases: [{ ...traces, uuid: 'of another checkout' }] })
    const missing = await checkout.deploy()
    expect(missing.code).toBe(1)
    expect(missing.printed).toContain(`This account has no database ${id}, which is in wrangler.toml`)

    await checkout.setAccount({
      ...empty,
      databases: [{ ...traces, uuid: id }],
      buckets: [{ name: 'values', jurisdiction: undefined, location: undefined }],
      workers: [{ name: 'my-traces', secrets: { ADMIN_TOKEN: 'from the form' }, versions: [], consumes: [] }],
    })
    const { code, printed } = await checkout.deploy([], {
      CI: 'true',
      WRANGLER_CI_OVERRIDE_NAME: 'my-traces',
      WRANGLER_OUTPUT_FILE_DIRECTORY: checkout.at('of-ci'),
    })
    expect(code, printed).toBe(0)
    expect(await readdir(checkout.at('of-ci'))).toEqual(['wrangler-output-deploy.json'])
    const { databases, buckets, workers } = await checkout.account()
    expect(databases).toMatchObject([{ uuid: id, migrations }])
    expect(buckets).toHaveLength(1)
    expect(workers).toMatchObject([
      { name: 'my-traces', secrets: { ADMIN_TOKEN: 'from the form' }, versions: [{ database: id, bucket: 'values' }] },
    ])
  })

  it.for([
    [['--location', 'mars'], {}, '--location must be one of weur, eeur, apac, oc, wnam, enam, not mars'],
    [['--jurisdiction', 'weur'], {}, '--jurisdiction must be one of eu, us, fedramp, not weur'],
    [['--location', 'weur', '--jurisdiction', 'eu'], {}, 'Give --location or --jurisdiction, not both'],
    [['--workers-ai', '--no-workers-ai'], {}, 'Give --workers-ai or --no-workers-ai, not both'],
    [['--location'], {}, "'--location <value>' argument missing"],
    ...['0', '17', '2.0', '-1', 'two', ''].map(
      value => [[`--shards=${value}`], {}, `--shards must be a number from 1 to 16, not ${value}`] as const,
    ),
    [['--region', 'weur'], {}, "Unknown option '--region'"],
    [['weur'], {}, "Unexpected argument 'weur'"],
    [
      [],
      { npm_config_jurisdiction: 'eu' },
      'npm used the flag --jurisdiction itself. Run npm run deploy -- --jurisdiction',
    ],
    [[], { npm_config_shards: '4' }, 'npm used the flag --shards itself. Run npm run deploy -- --shards'],
  ] as const)('rejects %j %j and changes nothing', async ([args, environment, message], { expect }) => {
    const checkout = await newCheckout()
    const { code, printed } = await checkout.deploy(args, environment)
    expect(code).toBe(1)
    expect(printed).toContain(message)
    expect(await checkout.moments()).toBe(0)
  })

  it('prints its usage with --help', async ({ expect }) => {
    const checkout = await newCheckout()
    const { code, printed } = await checkout.deploy(['--help'])
    expect(code).toBe(0)
    const flags = ['--location', '--jurisdiction', '--shards', '--new-admin-token', '--workers-ai', '--no-workers-ai']
    for (const flag of flags) expect(printed).toContain(flag)
    expect(await checkout.moments()).toBe(0)
  })

  it('explains how to log in', async ({ expect }) => {
    const checkout = await newCheckout()
    await checkout.setAccount({ ...(await checkout.account()), isLoggedIn: false })
    const { code, printed } = await checkout.deploy()
    expect(code).toBe(1)
    expect(printed).toContain('Log in with `npx wrangler login`, or set CLOUDFLARE_API_TOKEN.')
  })

  it('shows wrangler’s error and the step that failed', async ({ expect }) => {
    const checkout = await newCheckout()
    const { code, printed } = await checkout.deploy([], {}, [2, 'api'])
    expect(code).toBe(1)
    expect(printed).toContain('Internal error [code: 10013]')
    expect(printed).toContain('This step failed: Creating the database near this machine')
  })

  it('fails if wrangler asks a question and the answer is no', async ({ expect }) => {
    const checkout = await newCheckout()
    await checkout.setAccount({ ...(await checkout.account()), mayOverwrite: false })
    const { code, printed } = await checkout.deploy()
    expect(code).toBe(1)
    expect(printed).toContain('This step failed: Deploying the Worker')
  })

  it.for([
    ['waits for a Worker that is not ready immediately', 1, false],
    ['reports a Worker that is not ready after a long time', 100, true],
  ] as const)('%s', async ([, times, isReported], { expect }) => {
    const checkout = await newCheckout()
    const path = `${new URL(checkout.url).pathname}/readyz`
    unreadyTimes.set(path, times)
    const { code, printed } = await checkout.deploy()
    expect(code, printed).toBe(0)
    expect(unreadyTimes.get(path)).toBeLessThan(times)
    expect(printed.includes(`${checkout.url}/readyz doesn't respond yet`)).toBe(isReported)
  })
})
