import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { call } from '../../../scripts/call.ts'
import { newTenant, type Tenant } from '../clients/tenant.ts'
import { newServer, PROJECT, type Server } from '../server.ts'
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

/** Creates a tenant with a home folder, and functions that run commands and call the API as the tenant. */
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
  it('checks the key, shows whose it is, and stores it in a file that only the user can read', async ({ expect }) => {
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
    for (const profile of ['third', '__proto__', 'toString']) {
      expect((await runCli(['traces', 'list', '--profile', profile], { environment })).code).toBe(3)
    }
  })

  it.for([
    ['an unknown key', 'cs_000000000000000000000000', 3, 'not_authenticated'],
    ['no key', '', 2, 'usage'],
    ['text with two lines', 'a key\nwith two lines', 2, 'usage'],
  ] as const)('stores nothing for %s', async ([, stdin, code, error], { expect }) => {
    const { home, url } = await newUser()
    const ran = await runCli(['login', '--json', '--url', url], { environment: { HOME: home }, stdin })
    expect(ran).toMatchObject({ code, stdout: '' })
    expect(errorOf(ran)).toMatchObject({ code: error, exitCode: code })
    await expect(stat(join(home, '.config'))).rejects.toThrow()
  })

  it("rejects an address that isn't a Countersign server", async ({ expect }) => {
    const { home } = await newUser()
    const login = (url: string) => runCli(['login', '--url', url], { environment: { HOME: home }, stdin: 'cs_key' })
    expect((await login('ftp://localhost')).code).toBe(2)
    const withPassword = await login('http://ada:secret@localhost')
    expect(withPassword.code).toBe(2)
    expect(withPassword.stderr).not.toContain('secret')
    expect((await login(`${server.url}/docs`)).code).toBe(4)
  })
})

describe('traces', () => {
  it('are listed, shown, and exported, with filters for the review state and metadata', async ({ expect }) => {
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

  it('are reported if they don’t exist, and denied to keys without the scope', async ({ expect }) => {
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

  it('imports what it can, and reports which lines are invalid', async ({ expect }) => {
    const user = await newUser()
    await writeFile(join(user.home, 'runs.jsonl'), `${run({})}\n{"id":\n${run({ id: 'r2', start_time: 'soon' })}\n`)
    const ran = await user.cli(['import', 'langsmith', 'runs.jsonl'])
    expect(ran.code).toBe(7)
    expect(ran.stdout).toContain('Not imported: 2')
    expect(ran.stdout).toContain('runs.jsonl:2: Not JSON')
    expect(ran.stdout).toContain('runs.jsonl:3 r2: start_time isn’t a time')
    expect(jsonOf(await user.cli(['traces', 'list', '--json'])).traces).toHaveLength(1)
  })

  it.for([
    ['an unknown source', ['import', 'other', 'a'], ALL, 2, "isn't a source"],
    ['no file', ['import', 'langfuse'], ALL, 2, 'files'],
    ['a missing file', ['import', 'langfuse', 'missing.jsonl'], ALL, 2, 'There is no file'],
    ['a folder', ['import', 'langfuse', '.'], ALL, 2, "isn't a regular file"],
    ['a user without an email', ['import', 'langfuse', '.', '--user', 'ada'], ALL, 2, '--user'],
    ['a key with only the ingest scope', ['import', 'langfuse', 'a.jsonl'], ['ingest'], 3, 'manage, review'],
  ] as const)('fails before it sends anything: %s', async ([, argv, scopes, code, message], { expect }) => {
    const user = await newUser(scopes)
    await writeFile(join(user.home, 'a.jsonl'), '')
    const ran = await user.cli([...argv, '--json'])
    expect(ran.code).toBe(code)
    expect(errorOf(ran).error).toContain(message)
  })
})

describe('an export that is cut off', () => {
  it('is read again, and fails with an error if it is cut off every time', async ({ expect }) => {
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

describe('an export to a file', () => {
  it.for([
    ['in a folder that does not exist', 'missing/out.jsonl'],
    ['that is a folder', '.'],
  ] as const)('%s fails, and leaves nothing behind', async ([, file], { expect }) => {
    const user = await newUser(['ingest', 'read'])
    const before = await readdir(folder)
    const ran = await user.cli(['traces', 'export', '-o', file, '--json'])
    expect(ran.code).toBe(2)
    expect(errorOf(ran)).toMatchObject({ code: 'file', error: expect.stringContaining(user.home) })
    expect(await readdir(user.home)).toEqual([])
    expect(await readdir(folder)).toEqual(before)
  })

  it("doesn't write to a file that a link points to", async ({ expect }) => {
    const user = await newUser(['ingest', 'read'])
    await writeFile(join(user.home, 'victim'), 'keep')
    await symlink(join(user.home, 'victim'), join(user.home, 'out.jsonl.part'))
    await symlink(join(user.home, 'victim'), join(user.home, 'out.jsonl'))
    expect((await user.cli(['traces', 'export', '-o', 'out.jsonl'])).code).toBe(0)
    expect(await readFile(join(user.home, 'victim'), 'utf8')).toBe('keep')
  })
})

describe('prompts', () => {
  const read = (home: string, name: string) => readFile(join(home, 'prompts', name), 'utf8')
  const write = (home: string, name: string, text: string) => writeFile(join(home, 'prompts', name), text)

  it('are pulled and pushed byte for byte, whatever they contain', async ({ expect }) => {
    const user = await newUser()
    const texts = [
      'No newline',
      'A newline\n',
      'Two\n\n',
      'Windows\r\nnewlines\r\n',
      '\ufeffWith a byte order mark',
      '---\nstep: "other"\n---\nLike front matter\n---\n',
      '---',
      ' \n\t\u0000\u001b[2J\u2028\u202e{{input.question}} 日本語 🙂',
      '\n',
      ...fc.sample(fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }), { numRuns: 20, seed: 1 }),
    ].filter(text => !/\p{Surrogate}/u.test(text))
    for (const [index, content] of texts.entries()) {
      await user.api('POST', '/api/prompts', { projectSlug: user.projectSlug, stepId: `step ${index}`, content })
    }
    expect((await user.cli(['prompts', 'pull'])).code).toBe(0)
    for (const [index, content] of texts.entries()) {
      const file = await readFile(join(user.home, 'prompts', `step%20${index}.md`))
      expect(file.subarray(-Buffer.byteLength(content)).toString()).toBe(content)
    }
    const pushed = jsonOf(await user.cli(['prompts', 'push', '--json']))
    expect(new Set(pushed.prompts.map(({ change }: { change: string }) => change))).toEqual(new Set(['unchanged']))
    expect((await user.cli(['prompts', 'diff'])).code).toBe(0)

    // Uses the same files in a project that has none of these prompts.
    const other = await newUser()
    await cp(join(user.home, 'prompts'), join(other.home, 'prompts'), { recursive: true })
    await rm(join(other.home, 'prompts', 'answer.md'))
    expect((await other.cli(['prompts', 'push'])).code).toBe(6)
    expect(jsonOf(await other.cli(['prompts', 'push', '--force', '--json'])).prompts).toHaveLength(texts.length)
    for (const [index, content] of texts.entries()) {
      const query = `projectSlug=${other.projectSlug}&stepId=${encodeURIComponent(`step ${index}`)}`
      expect(await other.api('GET', `/api/prompts?${query}`)).toMatchObject({ prompts: [{ content }] })
    }
  })

  it('go from an edit to production', async ({ expect }) => {
    const user = await newUser()
    await user.cli(['prompts', 'pull'])
    const pulled = await read(user.home, 'answer.md')
    expect(pulled).toMatch(/^---\nstep: "answer"\nversion: [0-9a-f-]{36}\n---\nAnswer in one sentence\.$/)
    await write(user.home, 'answer.md', `${pulled} Be kind.`)
    await write(user.home, 'answer.schema.json', '{"type": "object"}')
    expect((await user.cli(['prompts', 'pull'])).code).toBe(6)

    const dry = await user.cli(['prompts', 'push', '--dry-run'])
    expect(dry.stdout).toContain('- Answer in one sentence.\n  + Answer in one sentence. Be kind.')
    expect(dry.stdout).toContain('+ schema type: "object"')
    expect((await user.cli(['prompts', 'diff'])).code).toBe(1)
    const first = jsonOf(await user.cli(['prompts', 'push', '--json', '--note', 'Kinder'])).prompts[0]
    expect(first).toMatchObject({ step: 'answer', number: 3, change: 'pushed', isActive: false, unmet: [] })
    expect(await read(user.home, 'answer.md')).toContain(`version: ${first.versionId}\n`)
    expect(jsonOf(await user.cli(['prompts', 'push', '--json'])).prompts[0]).toMatchObject({
      change: 'unchanged',
      number: 3,
    })
    // The file has a newer version than the active one, so the pull keeps it.
    expect(jsonOf(await user.cli(['prompts', 'pull', '--json'])).prompts[0]).toMatchObject({ change: 'kept' })
    // A push from a checkout that predates the first push finds the same version.
    await write(user.home, 'answer.md', `${pulled} Be kind.`)
    expect(jsonOf(await user.cli(['prompts', 'push', '--json', '--activate'])).prompts[0]).toMatchObject({
      change: 'unchanged',
      number: 3,
      isActive: true,
    })
    expect((await user.cli(['prompts', 'diff'])).code).toBe(0)
    expect((await user.cli(['prompts', 'activate', 'answer', '--version', '2'])).stdout).toContain(
      'v2 of answer is active',
    )
  })

  it("don't undo what others have activated", async ({ expect }) => {
    const user = await newUser()
    await user.cli(['prompts', 'pull'])
    const pulled = await read(user.home, 'answer.md')
    const { prompts } = JSON.parse(
      JSON.stringify(await user.api('GET', `/api/prompts?projectSlug=${user.projectSlug}`)),
    )
    await user.api('POST', `/api/prompts/${prompts[0].id}/versions`, { content: 'Others.', activate: true })
    const stale = await user.cli(['prompts', 'push', '--activate', '--json'])
    expect(stale.code).toBe(6)
    expect(errorOf(stale).details).toEqual([
      { path: 'prompts/answer.md', message: 'v3 is active, but the file is based on v2' },
    ])
    await write(user.home, 'answer.md', `${pulled} Mine.`)
    expect((await user.cli(['prompts', 'push'])).code).toBe(6)
    expect(jsonOf(await user.cli(['prompts', 'push', '--force', '--json'])).prompts[0]).toMatchObject({ number: 4 })
    expect((await user.cli(['prompts', 'pull', '--force'])).code).toBe(0)
    expect(await read(user.home, 'answer.md')).toMatch(/\nOthers\.$/)
  })

  it('are not activated before they meet their gate, which reports what is missing', async ({ expect }) => {
    const user = await newUser()
    await user.cli(['prompts', 'pull'])
    expect((await user.cli(['prompts', 'gate'])).stdout).toContain('The step has no gate.')
    await user.api('PUT', `/api/projects/${user.projectId}/gates/answer`, { minItems: 1, minPassRate: 1 })
    await write(user.home, 'answer.md', `${await read(user.home, 'answer.md')} Be kind.`)
    const refused = await user.cli(['prompts', 'push', '--activate', '--json'])
    expect(refused.code).toBe(1)
    expect(jsonOf(refused).prompts[0]).toMatchObject({
      number: 3,
      isActive: false,
      unmet: [{ path: 'minItems' }, { path: 'minPassRate' }],
    })
    const gate = await user.cli(['prompts', 'gate', '--json'])
    expect(gate.code).toBe(1)
    expect(jsonOf(gate).gates).toMatchObject([
      { step: 'answer', number: 3, met: false, unmet: [{ condition: 'minItems' }, {}] },
    ])
    const activated = await user.cli(['prompts', 'activate', 'answer', '--json'])
    expect(activated.code).toBe(1)
    expect(errorOf(activated)).toMatchObject({ code: 'gate_not_met', exitCode: 1 })
    expect((await user.cli(['prompts', 'activate', 'answer', '--override', 'A test'])).code).toBe(0)

    const nested = { projectSlug: user.projectSlug, stepId: 'a/b', content: 'Nested.' }
    await user.api('POST', '/api/prompts', nested)
    await user.api('PUT', `/api/projects/${user.projectId}/gates/a%2Fb`, { minItems: 1 })
    expect((await user.cli(['prompts', 'gate', 'a/b'])).code).toBe(1)
  })

  it.for([
    ['No front matter', 'has no front matter'],
    ['---\nversion: 1\n---\n', "doesn't say which step it's for"],
    ['---\nstep: "answer\n---\n', "isn't a JSON string"],
    ['---\nstep: a\nstep: b\n---\n', 'has two lines that begin with step:'],
  ] as const)("%j isn't a prompt", async ([text, message], { expect }) => {
    const user = await newUser()
    await mkdir(join(user.home, 'prompts'))
    await write(user.home, 'x.md', text)
    const { code, stderr } = await user.cli(['prompts', 'push'])
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) })
  })
})

describe('reviews', () => {
  const newQueue = async (scopes?: readonly string[]) => {
    const user = await newUser(scopes)
    await recordTrace(user, 'trace_one', { answer: 'Yes.' })
    return user
  }

  it('are claimed, accepted, and corrected', async ({ expect }) => {
    const user = await newQueue()
    await recordTrace(user, 'trace_two', 'Just text.')
    const { span } = jsonOf(await user.cli(['review', 'next', '--json']))
    expect(span).toMatchObject({ output: { answer: 'Yes.' } })
    expect(await user.cli(['review', 'accept', '--comment', 'Right'])).toMatchObject({
      code: 0,
      stdout: `${span.id} is accepted.\n`,
    })
    expect((await user.cli(['review', 'next'])).stdout).toContain('output: Just text.')
    const text = ['review', 'correct', '--json', '--text', '--error-type', 'outdated_reference']
    expect(jsonOf(await user.cli(text, { stdin: 'Other text.' }))).toMatchObject({
      approvedOutput: 'Other text.',
      review: { state: 'corrected', errorType: 'outdated_reference' },
    })
    expect(jsonOf(await user.cli(['review', 'next', '--json']))).toEqual({ span: null, remaining: 0 })
  })

  it('are limited to the requested step', async ({ expect }) => {
    const user = await newQueue()
    const span = { trace_id: 'trace_one', step_id: 'sort', output: 'Sorted.', timestamp: new Date().toISOString() }
    await user.api('POST', '/api/v1/spans', { ...span, span_id: crypto.randomUUID() })
    const next = async (step: string) => jsonOf(await user.cli(['review', 'next', '--json', '--step', step])).span
    expect(await next('sort')).toMatchObject({ output: 'Sorted.' })
    expect(await next('support-answer')).toMatchObject({ output: { answer: 'Yes.' } })
    expect(await next('other')).toBeNull()
  })

  it('apply only to the output that was shown', async ({ expect }) => {
    const user = await newQueue()
    expect((await user.cli(['review', 'accept'])).code).toBe(2)
    const { span } = jsonOf(await user.cli(['review', 'next', '--json']))
    await recordTrace(user, 'trace_one', { answer: 'Changed.' })
    const late = await user.cli(['review', 'accept', '--json'])
    expect(late.code).toBe(6)
    expect(errorOf(late)).toMatchObject({ code: 'precondition_failed', hint: expect.stringContaining('review next') })
    expect((await user.cli(['review', 'accept', span.id, '--if-match', '"other"'])).code).toBe(6)
  })

  it('report the fields that violate the schema, and keep the text', async ({ expect }) => {
    const user = await newUser()
    const outputSchema = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] }
    await user.api('POST', '/api/prompts', {
      projectSlug: user.projectSlug,
      stepId: 'support-answer',
      content: 'A',
      outputSchema,
    })
    await recordTrace(user, 'trace_one', { answer: 'Yes.' })
    await user.cli(['review', 'next'])
    const wrong = await user.cli(['review', 'correct', '--json'], { stdin: '{"answer": 1}' })
    expect(wrong.code).toBe(2)
    expect(errorOf(wrong)).toMatchObject({
      details: [{ path: expect.stringContaining('answer') }],
      hint: expect.stringContaining('--force'),
    })
    expect((await user.cli(['review', 'correct'], { stdin: '{"answer"' })).stderr).toContain("isn't JSON")

    const EDITOR = `sed -i 's/"Yes."/2/'`
    const edited = await user.cli(['review', 'correct', '--json'], {
      isTerminal: true,
      environment: { ...user.environment, EDITOR, PATH: process.env.PATH ?? '' },
    })
    const file = /Your text is in (\S+):/.exec(errorOf(edited).hint)?.[1] ?? ''
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ answer: 2 })
    const forced = await user.cli(['review', 'correct', '--json', '--force', '--file', file])
    expect(jsonOf(forced)).toMatchObject({ approvedOutput: { answer: 2 } })
    await rm(dirname(file), { recursive: true })
  })

  it('report who holds an output', async ({ expect }) => {
    const user = await newQueue()
    const { span } = jsonOf(await user.cli(['review', 'next', '--json']))
    const project = { name: 'Other', projectSlug: user.projectSlug, scopes: ['review', 'read'] }
    const { key } = JSON.parse(JSON.stringify(await user.api('POST', '/api/api-keys', project)))
    const environment = { ...user.environment, COUNTERSIGN_KEY: key }
    const held = await user.cli(['review', 'accept', span.id, '--json'], { environment })
    expect(held.code).toBe(6)
    expect(errorOf(held)).toMatchObject({
      heldBy: expect.any(String),
      until: expect.any(String),
      hint: expect.stringContaining('--take-over'),
    })
    expect((await user.cli(['review', 'accept', span.id, '--take-over'], { environment })).code).toBe(0)
  })
})

const EXAMPLES = Array.from({ length: 5 }, (_, index) => ({ input: { n: index }, expected: { double: 2 * index } }))

/** Creates a user with a dataset of five examples for the step `double`. */
async function newDataset() {
  const user = await newUser()
  const file = EXAMPLES.map(example => JSON.stringify(example)).join('\n')
  const imported = await user.cli(['datasets', 'import', 'double', '-', '--json'], { stdin: file })
  return { ...user, file, imported }
}

describe('datasets', () => {
  it('are imported once, no matter how many times the file is sent', async ({ expect }) => {
    const { imported, cli, file } = await newDataset()
    expect(jsonOf(imported)).toMatchObject({ created: 5, repeated: 0, refused: 0 })
    const lines = [file, file, '{"input": 1}', 'no JSON', '[]', '', '{"input": 1, "expected": 2, "extra": 3}'].join(
      '\r\n',
    )
    const again = await cli(['datasets', 'import', 'double', '-', '--json'], { stdin: lines })
    expect(again.code).toBe(7)
    expect(jsonOf(again)).toMatchObject({ created: 0, repeated: 10, refused: 4 })
    expect(
      jsonOf(again)
        .errors.map(({ line }: { line: number }) => line)
        .sort(),
    ).toEqual([11, 12, 13, 15])
  })

  it('are exported in all formats, and imported into another project', async ({ expect }) => {
    const { cli, home } = await newDataset()
    expect(jsonOf(await cli(['datasets', 'export', 'double', '-o', 'd.jsonl', '--json']))).toEqual({
      file: 'd.jsonl',
      items: 5,
    })
    expect((await cli(['datasets', 'export', 'double', '--format', 'csv'])).stdout).toContain('expected.double')
    expect((await cli(['datasets', 'export', 'double', '--format', 'chat'])).stdout).toContain('"messages"')
    expect((await cli(['datasets', 'export', 'none'])).code).toBe(4)
    const other = await newUser()
    const imported = await other.cli(['datasets', 'import', 'double', join(home, 'd.jsonl'), '--json'])
    expect(jsonOf(imported)).toMatchObject({ created: 5, refused: 0 })
    expect((await other.cli(['datasets', 'import', 'double', 'missing.jsonl'])).code).toBe(2)
  })
})

const node = process.execPath
/** Reads an input, and prints its number times two. */
const DOUBLE = `
const chunks = []
process.stdin.on('data', chunk => chunks.push(chunk)).on('end', () => {
  const { n } = JSON.parse(Buffer.concat(chunks))
  if (process.env.WRONG === String(n)) { console.error('no \\x1b[31mway'); process.exit(3) }
  console.log(JSON.stringify({ double: 2 * n }))
})`
const DOUBLE_LINES = `
let answered = 0
require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
  const { id, input: { n } } = JSON.parse(line)
  if (process.env.CRASH && answered++ === 2) { console.error('crashed'); process.exit(1) }
  if (process.env.CHATTY) console.log('hello')
  const result = n === 1 && !process.env.CRASH ? { id, error: 'I dislike 1' } : { id, output: { double: 2 * n }, usage: { inputTokens: 1, outputTokens: 2 } }
  console.log(JSON.stringify(result))
})`

describe('experiments', () => {
  const START = ['experiment', 'run', '--step', 'double'] as const

  it('run a command for each item, and print a report', async ({ expect }) => {
    const user = await newDataset()
    const passed = await user.cli([...START, '--json', '--', node, '-e', DOUBLE])
    expect(passed.stderr).toBe('')
    expect(passed.code).toBe(0)
    expect(jsonOf(passed)).toMatchObject({ state: 'finished', counts: { passed: 5, error: 0 } })
    const failed = await user.cli([...START, '--', node, '-e', DOUBLE], {
      environment: { ...user.environment, WRONG: '3' },
    })
    expect(failed.stdout).toContain('4 passed, 0 failed, 0 unjudged, 1 error')
    expect(failed.stdout).toContain('The command exited with code 3: no \\x1b[31mway')
    const text = await user.cli([...START, '--json', '--output', 'text', '--', 'echo', '1'])
    expect(jsonOf(text).counts.passed).toBe(0)
  })

  it('run a command as one process for all items', async ({ expect }) => {
    const user = await newDataset()
    const ran = await user.cli([...START, '--json', '--jsonl', '--', node, '-e', DOUBLE_LINES])
    expect(jsonOf(ran)).toMatchObject({ counts: { passed: 4, error: 1 }, usage: { inputTokens: 4, outputTokens: 8 } })
    // A process that crashes is restarted, and only the items that it hadn't answered become errors.
    const environment = { ...user.environment, CRASH: 'yes' }
    const crashed = jsonOf(
      await user.cli([...START, '--json', '--jsonl', '--concurrency', '1', '--', node, '-e', DOUBLE_LINES], {
        environment,
      }),
    )
    expect(crashed).toMatchObject({ state: 'finished', counts: { passed: 4, error: 1 } })
  })

  it.for([
    ["doesn't exist", ['/no/such/program'], [], 'command_not_found'],
    ['prints something else', [node, '-e', DOUBLE_LINES], ['--jsonl'], 'unexpected_output'],
    ['exits immediately', [node, '-e', 'process.exit(1)'], ['--jsonl'], 'command_failed'],
  ] as const)('stop if the command %s, and can be resumed', async ([, command, options, code], { expect }) => {
    const user = await newDataset()
    const id = crypto.randomUUID()
    const environment = { ...user.environment, CHATTY: 'yes' }
    const failed = await user.cli([...START, '--id', id, ...options, '--json', '--', ...command], { environment })
    expect(failed.code).toBe(2)
    expect(errorOf(failed)).toMatchObject({ code })
    const resumed = await user.cli(['experiment', 'run', '--id', id, '--json', '--', node, '-e', DOUBLE])
    expect(jsonOf(resumed)).toMatchObject({ id, state: 'finished' })
    expect(jsonOf(resumed).counts.passed).toBeGreaterThanOrEqual(4)
  })

  it('stop an item that takes too long, and every process that it started', async ({ expect }) => {
    const user = await newDataset()
    const marker = join(user.home, 'marker')
    const script = `sleep 3600 & echo $! >> ${marker}; wait`
    const slow = await user.cli([...START, '--json', '--timeout', '1', '--concurrency', '5', '--', 'sh', '-c', script])
    expect(jsonOf(slow).counts).toMatchObject({ error: 5 })
    const pids = (await readFile(marker, 'utf8')).trim().split('\n').map(Number)
    expect(pids).toHaveLength(5)
    for (const pid of pids) await expect.poll(() => isRunning(pid)).toBe(false)
  })

  it("don't wait for a process that left its process group and keeps the output open", async ({ expect }) => {
    const user = await newDataset()
    const marker = join(user.home, 'marker')
    const daemon = `
      const { pid } = require('node:child_process').spawn('sleep', ['30'], { detached: true, stdio: 'inherit' })
      require('node:fs').appendFileSync(${JSON.stringify(marker)}, pid + '\\n')
      process.exit()`
    const slow = await user.cli([...START, '--json', '--timeout', '1', '--concurrency', '5', '--', node, '-e', daemon])
    const pids = (await readFile(marker, 'utf8')).trim().split('\n').map(Number)
    expect(pids).toHaveLength(5)
    for (const pid of pids) {
      expect(await isRunning(pid)).toBe(true)
      process.kill(pid)
    }
    expect(jsonOf(slow).counts).toMatchObject({ error: 5 })
  })

  it("exit with 1 if the gate isn't met", async ({ expect }) => {
    const user = await newDataset()
    const prompt = { projectSlug: user.projectSlug, stepId: 'double', content: 'Double it.' }
    await user.api('POST', '/api/prompts', prompt)
    await user.api('PUT', `/api/projects/${user.projectId}/gates/double`, {
      minItems: 1,
      minPassRate: 1,
      split: 'train',
    })
    await user.cli(['prompts', 'pull', 'double'])
    const argv = [...START, '--prompt-version', 'local', '--']
    const environment = { ...user.environment, WRONG: '2' }
    const bad = await user.cli([...argv, 'sh', '-c', `test -n "$COUNTERSIGN_PROMPT_VERSION_ID" && exit 3`], {
      environment,
    })
    expect(bad).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("The gate isn't met:\n  minPassRate must be at least 1, but is 0"),
    })
    const good = await user.cli([...argv, node, '-e', DOUBLE])
    expect(good).toMatchObject({ code: 0, stdout: expect.stringContaining('The gate is met.') })
    expect((await user.cli(['prompts', 'gate', 'double'])).code).toBe(0)
  })

  it('lose nothing when interrupted or killed', async ({ expect }) => {
    const user = await newDataset()
    const program = await builtProgram()
    // Two items get an output, and the others wait.
    const log = join(user.home, 'log')
    const wait = DOUBLE.replace(
      'console.log',
      `require('node:fs').appendFileSync(${JSON.stringify(log)}, n + '\\n'); if (process.env.WAIT && n > 1) setTimeout(process.exit, 300_000); else console.log`,
    )
    // Node 20 is the oldest version that the program runs on.
    const nodes = [node, '/usr/bin/node'].filter(existsSync)
    const signals = [
      ['SIGKILL', null],
      ['SIGINT', 130],
      ['SIGTERM', 143],
    ] as const
    for (const [index, [signal, code]] of signals.entries()) {
      const id = crypto.randomUUID()
      const command = ['--', node, '-e', wait]
      const child = spawn(
        nodes[index % nodes.length] ?? node,
        [program, ...START, '--id', id, '--concurrency', '5', ...command],
        {
          env: { ...user.environment, PATH: process.env.PATH, WAIT: 'yes' },
          cwd: user.home,
        },
      )
      let stderr = ''
      child.stderr.on('data', part => (stderr += part))
      const report = async () =>
        JSON.parse(JSON.stringify(await user.api('GET', `/api/experiments/${id}`).catch(() => ({ pending: 5 }))))
      await expect.poll(async () => (await report()).pending, { timeout: 60_000, interval: 100 }).toBe(3)
      child.kill(signal)
      const [ended] = await once(child, 'close')
      expect(ended).toBe(code)
      if (code !== null) expect(stderr).toContain(`countersign experiment run --id ${id} --concurrency 5 -- `)
      await writeFile(log, '')
      const resumed = jsonOf(await user.cli(['experiment', 'run', '--json', '--id', id, ...command]))
      expect(resumed).toMatchObject({ id, state: 'finished', counts: { passed: 5 } })
      expect((await readFile(log, 'utf8')).trim().split('\n').sort()).toEqual(['2', '3', '4'])
    }
  })
})

describe('the program', () => {
  it('exits quietly if nobody reads its output, and immediately if it is interrupted', async ({ expect }) => {
    const user = await newDataset()
    const program = await builtProgram()
    const environment = { ...user.environment, PATH: process.env.PATH }
    const unread = spawn(node, [program, 'datasets', 'export', 'double'], { env: environment })
    unread.stdout.destroy()
    expect(await text(unread.stderr)).toBe('')
    expect(await once(unread, 'close')).toEqual([141, null])

    // This service never answers.
    let called = () => {}
    const isCalled = new Promise<void>(resolve => {
      called = resolve
    })
    const silent = createServer(() => called()).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    try {
      const env = { ...environment, COUNTERSIGN_URL: `http://127.0.0.1:${port}` }
      const child = spawn(node, [program, 'traces', 'list'], { env })
      await isCalled
      child.kill('SIGINT')
      expect(await once(child, 'close')).toEqual([130, null])
    } finally {
      silent.closeAllConnections()
      silent.close()
    }
  })
})

/** Whether a process is running. A zombie process doesn't count. */
async function isRunning(pid: number): Promise<boolean> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'stat=', '-p', String(pid)]).catch(() => ({ stdout: 'Z' }))
  return !stdout.trim().startsWith('Z')
}

describe('attribute', () => {
  it("reports what went wrong, or why it can't tell", async ({ expect }) => {
    const user = await newUser()
    await recordTrace(user, 'trace_wrong', { answer: 'Yes.' })
    expect((await user.cli(['attribute', 'trace_wrong', '--json'])).code).toBe(2)
    await user.api('POST', '/api/v1/feedback', {
      trace_id: 'trace_wrong',
      rating: 'negative',
      correction: { answer: 'No.' },
    })
    const answer = jsonOf(await user.cli(['attribute', 'trace_wrong', '--json']))
    expect(answer).toMatchObject({ trace_id: 'trace_wrong', error_type: expect.any(String) })
    expect((await user.cli(['attribute', answer.trace_id])).stdout).toContain(answer.error_type)
    expect((await user.cli(['attribute', 'trace_none'])).code).toBe(4)
  })
})

describe('examples/github-workflow', () => {
  const run = promisify(execFile)

  it('blocks a pull request with a prompt that regresses, and activates a prompt that is merged', async ({
    expect,
  }) => {
    const user = await newUser()
    const { key } = JSON.parse(
      JSON.stringify(
        await user.api('POST', '/api/api-keys', {
          name: 'CI',
          projectSlug: user.projectSlug,
          scopes: ['read', 'review', 'manage'],
          actsAs: 'pipeline',
        }),
      ),
    )
    const model = await obedientModel()
    const repository = join(user.home, 'repository')
    const workflow = await readFile(join(PROJECT, 'examples/github-workflow/prompts.yml'), 'utf8')
    const environment = {
      ...user.environment,
      COUNTERSIGN_KEY: key,
      PATH: process.env.PATH,
      GITHUB_HEAD_REF: 'kinder',
      GITHUB_SHA: 'f00',
      MODEL_URL: model.url,
      MODEL_KEY: 'key',
    }
    /** Runs the commands of a job the way GitHub does. */
    const runJob = async (name: string) => {
      for (const script of scriptsOf(workflow, name)) {
        const flags = ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script]
        await run('bash', flags, { cwd: repository, env: environment })
      }
    }
    const git = async (...args: string[]) => {
      const identity = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com']
      return (await run('git', [...identity, ...args], { cwd: repository })).stdout
    }
    try {
      const examples = Array.from({ length: 40 }, (_, n) =>
        JSON.stringify({ input: `ticket ${n}`, expected: 'refund' }),
      )
      await user.cli(['datasets', 'import', 'answer', '-'], { stdin: examples.join('\n') })
      const gate = { minItems: 3, minPassRate: 0.9 }
      await user.api('PUT', `/api/projects/${user.projectId}/gates/answer`, gate)
      await run('git', ['init', '--quiet', '--bare', join(user.home, 'remote')])
      await run('git', ['clone', '--quiet', join(user.home, 'remote'), repository])
      await cp(join(PROJECT, 'examples/github-workflow/run-step.mjs'), join(repository, 'run-step.mjs'))
      await installProgram(repository)
      await user.cli(['prompts', 'pull', '--folder', join(repository, 'prompts')])
      await git('add', 'prompts')
      await git('commit', '--quiet', '--message', 'Add the prompts')
      await git('push', '--quiet')

      const file = join(repository, 'prompts/answer.md')
      const pulled = await readFile(file, 'utf8')
      const change = async (text: string) => {
        await git('checkout', '--quiet', '.')
        await writeFile(file, pulled.replace('Answer in one sentence.', text))
      }
      const active = () => user.api('GET', `/api/prompts?projectSlug=${user.projectSlug}&stepId=answer`)
      await change('Say complaint')
      await expect(runJob('try')).rejects.toMatchObject({
        code: 1,
        stdout: expect.stringContaining("The gate isn't met"),
      })
      await change('Say refund')
      await runJob('try')
      expect(await active()).toMatchObject({ prompts: [{ content: 'Answer in one sentence.' }] })

      await change('Say refund')
      await git('commit', '--quiet', '--all', '--message', 'Say refund')
      await runJob('activate')
      expect(await active()).toMatchObject({ prompts: [{ content: 'Say refund', versionNumber: 4 }] })
      expect(await git('log', '--format=%s', '-1', '@{upstream}', '--', 'prompts')).toBe(
        'Record the versions of the prompts\n',
      )
      // Nothing is left to do.
      await runJob('try')
      await runJob('activate')
      expect(await git('status', '--porcelain', 'prompts')).toBe('')
    } finally {
      model.close()
    }
  })
})

/** The shell commands in a job, except those that install packages. */
function scriptsOf(workflow: string, job: string): string[] {
  const [, text = ''] = workflow.split(`\n  ${job}:\n`)
  const [own = ''] = text.split(/\n {2}\w+:\n/)
  const found = own.matchAll(/^ {8}run: (?:\|\n((?: {10}.*\n|\n)+)|(.+)$)/gm)
  const scripts = [...found].map(([, block, line]) => line ?? (block ?? '').replace(/^ {10}/gm, ''))
  return scripts.filter(script => script !== 'npm ci')
}

/** A model that answers with the last word of its system message. */
async function obedientModel() {
  const server = createServer(async (request, response) => {
    const { messages } = JSON.parse(await text(request))
    const content = messages[0].content.split(' ').at(-1)
    response.end(JSON.stringify({ choices: [{ message: { content } }] }))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() }
}

/** Builds the program once. */
async function builtProgram(): Promise<string> {
  build ??= promisify(execFile)(
    'vite',
    ['build', '--config', 'vite.cli.config.ts', '--outDir', join(folder, 'cli'), '--logLevel', 'warn'],
    { cwd: PROJECT },
  )
  await build
  return join(folder, 'cli/main.js')
}

let build: Promise<unknown> | undefined

/** Installs the program in a project, as npm does. */
async function installProgram(project: string): Promise<void> {
  const installed = join(project, 'node_modules/countersign')
  await mkdir(join(installed, 'dist/cli'), { recursive: true })
  await mkdir(join(project, 'node_modules/.bin'))
  await cp(join(PROJECT, 'src/client/package.json'), join(installed, 'package.json'))
  await cp(await builtProgram(), join(installed, 'dist/cli/main.js'))
  await chmod(join(installed, 'dist/cli/main.js'), 0o755)
  await symlink('../countersign/dist/cli/main.js', join(project, 'node_modules/.bin/countersign'))
  await writeFile(join(project, '.gitignore'), 'node_modules\npushed.json\n')
}
