import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { call } from '../../../scripts/call.ts'
import { newTenant, type Tenant } from '../clients/tenant.ts'
import { newServer, type Server } from '../server.ts'
import { cuttingProxy } from './cutting-proxy.ts'
import { type Ran, runCli } from './run-cli.ts'

/* Runs the commands in this process, against a running service. */

let server: Server
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-cli-'))
  server = await newServer()
  await server.start({ SEED: 'none' })
}, 600_000)

afterAll(async () => {
  await server?.remove()
  await rm(folder, { recursive: true, force: true })
})

const ALL = ['ingest', 'read', 'review', 'manage'] as const

/** A tenant, with a home folder and a way to run commands as it. */
async function newUser(scopes: readonly string[] = ALL) {
  const tenant = await newTenant(server.url, scopes)
  const home = await mkdtemp(join(folder, 'home-'))
  const environment = { HOME: home, COUNTERSIGN_URL: tenant.url, COUNTERSIGN_KEY: tenant.key }
  const cli = (argv: readonly string[], options: Parameters<typeof runCli>[1] = {}) =>
    runCli(argv, { environment, directory: home, ...options })
  const api = (method: 'GET' | 'POST' | 'PUT' | 'PATCH', path: string, body?: object) =>
    call(tenant.url, tenant.key, method, path, body)
  return { ...tenant, home, environment, cli, api }
}

const jsonOf = ({ stdout }: Ran) => JSON.parse(stdout)
const errorOf = ({ stderr }: Ran) => JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '')

async function recordTrace({ url, key }: Tenant, traceId: string, output: unknown, more: object = {}): Promise<void> {
  const timestamp = new Date().toISOString()
  const trace = { trace_id: traceId, name: 'support-answer', timestamp, status: 'completed', ...more }
  await call(url, key, 'POST', '/api/v1/traces', trace)
  const observe = (type: string, data: unknown) =>
    call(url, key, 'POST', '/api/v1/observations', { trace_id: traceId, type, data, timestamp })
  await observe('input', { question: 'How long?' })
  await observe('output', output)
}

describe('login', () => {
  it('checks the key, says whose it is, and stores it where only its owner can read it', async ({ expect }) => {
    const { home, url, key, projectSlug } = await newUser()
    const environment = { HOME: home }
    const ran = await runCli(['login', '--url', `${url}/`], { environment, stdin: `${key}\n` })
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('Logged in to Clients, project support') })
    expect(ran.stdout).toContain('Scopes: ingest, read, review, manage')
    expect(ran.stdout + ran.stderr).not.toContain(key)
    const file = join(home, '.config/countersign/config.json')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(JSON.parse(await readFile(file, 'utf8')).profiles.default).toEqual({ url, key, project: projectSlug })
    expect(await runCli(['traces', 'list'], { environment })).toMatchObject({ code: 0 })

    const elsewhere = await runCli(['traces', 'list', '--json'], {
      environment: { ...environment, COUNTERSIGN_URL: 'http://127.0.0.1:9' },
    })
    expect(elsewhere.code).toBe(2)
    expect(errorOf(elsewhere).error).toContain('the stored key is for')

    expect(await runCli(['logout'], { environment })).toMatchObject({ code: 0 })
    expect(await runCli(['logout', '--json'], { environment })).toMatchObject({ code: 4 })
    expect(await readFile(file, 'utf8')).not.toContain(key)
  })

  it('keeps several logins', async ({ expect }) => {
    const [one, other] = [await newUser(), await newUser(['read'])]
    const environment = { HOME: one.home }
    for (const [profile, { key }] of [
      ['default', one],
      ['second', other],
    ] as const) {
      const argv = ['login', '--json', '--url', one.url, '--profile', profile]
      expect(jsonOf(await runCli(argv, { environment, stdin: key })).profile).toBe(profile)
    }
    await recordTrace(one, 'trace_of_one', 'Yes.')
    const list = async (...argv: string[]) =>
      jsonOf(await runCli(['traces', 'list', '--json', ...argv], { environment }))
    expect((await list()).traces).toHaveLength(1)
    expect((await list('--profile', 'second')).traces).toHaveLength(0)
    expect((await runCli(['traces', 'list', '--profile', 'third'], { environment })).code).toBe(3)
  })

  it.for([
    ['an unknown key', 'cs_000000000000000000000000', 3, 'not_authenticated'],
    ['no key', '', 2, 'usage'],
    ['something else', 'a key\nwith two lines', 2, 'usage'],
  ] as const)('stores nothing for %s', async ([, stdin, code, error], { expect }) => {
    const { home, url } = await newUser()
    const ran = await runCli(['login', '--json', '--url', url], { environment: { HOME: home }, stdin })
    expect(ran).toMatchObject({ code, stdout: '' })
    expect(errorOf(ran)).toMatchObject({ code: error, exitCode: code })
    await expect(stat(join(home, '.config'))).rejects.toThrow()
  })

  it("rejects a server that isn't Countersign, and one that isn't there", async ({ expect }) => {
    const { home } = await newUser()
    const login = (url: string) => runCli(['login', '--url', url], { environment: { HOME: home }, stdin: 'cs_key' })
    expect((await login('ftp://localhost')).code).toBe(2)
    expect((await login(`${server.url}/docs`)).code).toBe(4)
  })
})

describe('traces', () => {
  it('are listed, shown, and exported by name, review, and metadata', async ({ expect }) => {
    const user = await newUser(['ingest', 'read'])
    await recordTrace(user, 'trace_a', { answer: 'Yes.' }, { metadata: { tier: 'gold' } })
    await recordTrace(user, 'trace_b', { answer: 'No.' }, { metadata: { tier: 'iron' } })
    const listed = jsonOf(await user.cli(['traces', 'list', '--json', '--metadata', 'tier=gold']))
    expect(listed).toMatchObject({ traces: [{ traceId: 'trace_a' }], hasMore: false })
    expect(jsonOf(await user.cli(['traces', 'list', '--json', '--limit', '1']))).toMatchObject({ hasMore: true })
    expect((await user.cli(['traces', 'list'])).stdout).toMatch(/trace_b .*\n {2}No\.\n.*trace_a /)

    const shown = jsonOf(await user.cli(['traces', 'show', 'trace_a', '--json']))
    expect(shown).toMatchObject({ traceId: 'trace_a', spans: [{ output: { answer: 'Yes.' } }], nextSpanCursor: null })
    const page = (await user.cli(['traces', 'show', shown.id])).stdout
    expect(page).toContain('output: {"answer":"Yes."}')

    const exported = await user.cli(['traces', 'export', '--review', 'unreviewed'])
    const lines = exported.stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line).traceId)
    expect(lines).toEqual(['trace_b', 'trace_a'])
    const csv = await user.cli(['traces', 'export', '--format', 'csv', '-o', 'traces.csv', '--json'])
    expect(jsonOf(csv)).toEqual({ file: 'traces.csv', items: 2 })
    expect(await readFile(join(user.home, 'traces.csv'), 'utf8')).toMatch(/^id,traceId,name,.*\r\n/)
  })

  it("can't control the terminal", async ({ expect }) => {
    const user = await newUser(['ingest', 'read'])
    await recordTrace(user, 'trace_hostile', 'a\x1b[2J\x1b]0;title\x07b\u202ec', { name: 'x\x9b31m' })
    for (const argv of [
      ['traces', 'list'],
      ['traces', 'show', 'trace_hostile', '--full'],
      ['traces', 'export'],
      ['traces', 'show', 'trace_hostile', '--json'],
    ]) {
      const { stdout } = await user.cli(argv, { isTerminal: true, environment: { ...user.environment, NO_COLOR: '1' } })
      expect(stdout).not.toMatch(/(?![\n\t])[\p{Cc}\u202e]/u)
      expect(stdout).toMatch(/[\\]x1b\[2J|[\\]u001b\[2J/)
    }
  })

  it("that don't exist are missing, and keys without the scope are denied", async ({ expect }) => {
    const user = await newUser(['ingest'])
    const denied = await user.cli(['traces', 'show', 'trace_a', '--json'])
    expect(denied.code).toBe(3)
    const reader = await newUser(['read'])
    const missing = await reader.cli(['traces', 'show', 'trace_none', '--json'])
    expect(missing.code).toBe(4)
    expect(errorOf(missing)).toMatchObject({ code: 'not_found', exitCode: 4, requestId: expect.any(String) })
    expect((await reader.cli(['traces', 'list', '--project', 'other'])).code).toBe(4)
    expect((await reader.cli(['traces', 'list', '--prompt-version', 'x', '--json'])).code).toBe(2)
  })
})

describe('import', () => {
  const run = (fields: object) =>
    JSON.stringify({
      id: 'r1',
      trace_id: 'r1',
      name: 'support-answer',
      run_type: 'llm',
      start_time: '2025-04-01T09:00:00.123456',
      end_time: '2025-04-01T09:00:01',
      outputs: { answer: '12 months' },
      ...fields,
    })
  const feedback = JSON.stringify({
    id: 'f1',
    run_id: 'r1',
    key: 'correctness',
    score: 0,
    created_at: '2025-04-02T00:00:00',
    feedback_source: { type: 'app', user_id: '4f0c' },
    correction: { answer: '24 months' },
  })

  it('sends files, reports what it did, and changes nothing the second time', async ({ expect }) => {
    const user = await newUser()
    await call(user.url, user.ownerKey, 'POST', '/api/users', { email: 'ada@example.com', name: 'Ada' })
    await writeFile(join(user.home, 'feedback.jsonl'), feedback)
    await writeFile(join(user.home, 'runs.jsonl.gz'), gzipSync(`${run({ events: [{ name: 'start' }] })}\n`))
    const argv = ['import', 'langsmith', 'feedback.jsonl', 'runs.jsonl.gz', '--user', '4f0c=ada@example.com']
    const dry = await user.cli([...argv, '--dry-run', '--json'], { environment: { HOME: user.home } })
    const sent = { traces: 0, spans: 1, observations: 0, feedback: 1, reviews: 1 }
    expect([dry.code, jsonOf(dry)]).toMatchObject([0, { isDryRun: true, records: 2, sent }])
    const first = jsonOf(await user.cli([...argv, '--json']))
    expect(first).toMatchObject({ isDryRun: false, sent, reviews: { added: 1, unchanged: 0 }, errors: [] })
    expect(first.unplaced).toEqual([{ path: 'run.events', note: null, count: 1, example: 'r1' }])
    const again = await user.cli(argv)
    expect(again.code).toBe(0)
    expect(again.stdout).toContain('0 are new, and 1 changed nothing')
    expect(again.stdout).toContain('run.events: 1, for example in r1')
    const shown = jsonOf(await user.cli(['traces', 'show', 'trace_r1', '--json']))
    expect(shown).toMatchObject({ createdAt: '2025-04-01T09:00:00.123Z' })
    expect(shown.spans).toMatchObject([{ approvedOutput: { answer: '24 months' } }])
  })

  it('imports what it can, and says which lines were wrong', async ({ expect }) => {
    const user = await newUser()
    await writeFile(join(user.home, 'runs.jsonl'), `${run({})}\n{"id":\n${run({ id: 'r2', start_time: 'soon' })}\n`)
    const ran = await user.cli(['import', 'langsmith', 'runs.jsonl'])
    expect(ran.code).toBe(7)
    expect(ran.stdout).toContain('2 records were not imported:')
    expect(ran.stdout).toContain('runs.jsonl:2: Not JSON')
    expect(ran.stdout).toContain('runs.jsonl:3 r2: start_time isn’t a time')
    expect(jsonOf(await user.cli(['traces', 'list', '--json'])).traces).toHaveLength(1)
  })

  it.for([
    ['an unknown source', ['import', 'other', 'a'], ALL, 2, "isn't a source"],
    ['no file', ['import', 'langfuse'], ALL, 2, 'files'],
    ['a missing file', ['import', 'langfuse', 'missing.jsonl'], ALL, 2, 'There is no file'],
    ['a folder', ['import', 'langfuse', '.'], ALL, 2, "isn't a file"],
    ['a user without an email', ['import', 'langfuse', '.', '--user', 'ada'], ALL, 2, '--user'],
    ['a key that can only record', ['import', 'langfuse', 'a.jsonl'], ['ingest'], 3, 'manage, review'],
  ] as const)('fails before it sends anything: %s', async ([, argv, scopes, code, message], { expect }) => {
    const user = await newUser(scopes)
    await writeFile(join(user.home, 'a.jsonl'), '')
    const ran = await user.cli([...argv, '--json'])
    expect(ran.code).toBe(code)
    expect(errorOf(ran).error).toContain(message)
  })
})

describe('an export that breaks off', () => {
  it("is read again, and fails loudly if that doesn't help", async ({ expect }) => {
    const user = await newUser(['ingest', 'read'])
    await recordTrace(user, 'trace_cut', 'Yes.')
    const proxy = await cuttingProxy(user.url)
    try {
      const environment = { ...user.environment, COUNTERSIGN_URL: proxy.url }
      proxy.cut(1)
      const once = await user.cli(['traces', 'export'], { environment })
      expect(once).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\{.*\}\n$/) })
      proxy.cut(Number.POSITIVE_INFINITY)
      await writeFile(join(user.home, 'old.jsonl'), 'old')
      const always = await user.cli(['traces', 'export', '-o', 'old.jsonl', '--json'], { environment })
      expect(always).toMatchObject({ code: 7, stdout: '' })
      expect(errorOf(always)).toMatchObject({ code: 'cut_off' })
      expect(await readFile(join(user.home, 'old.jsonl'), 'utf8')).toBe('old')
    } finally {
      proxy.close()
    }
  })
})
