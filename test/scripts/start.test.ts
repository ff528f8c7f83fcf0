import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { appendFile, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { newServer, PROJECT, type Server } from './server.ts'

let server: Server

/** Runs a printed curl command and returns the response. */
async function paste(command: string): Promise<{ [field: string]: unknown }> {
  const shell = spawn('sh', ['-c', `${command} --silent`])
  let printed = ''
  shell.stdout.on('data', data => (printed += data))
  await once(shell, 'close')
  return JSON.parse(printed)
}

/** The token in the printed link. */
const linkIn = (printed: string): string =>
  printed.split(`\nSign in: ${server.url}/sign-in#`)[1]?.split('\n')[0] ?? 'no link was printed'

/** Signs in as the app does, and returns the session that the cookie gives access to. */
async function signIn(link: string): Promise<unknown> {
  const headers = { origin: server.url, 'content-type': 'application/json' }
  const answer = await fetch(`${server.url}/api/session`, { method: 'POST', headers, body: JSON.stringify({ link }) })
  if (!answer.ok) throw new Error(`signing in returned ${answer.status}`)
  const [cookie = ''] = answer.headers.getSetCookie()
  expect(cookie).toMatch(/^countersign=\w{32}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/)
  return (await fetch(`${server.url}/api/session`, { headers: { cookie } })).json()
}

interface Call {
  path: string
  method: string
  headers: Record<string, string>
}

/** The status of the response to a request whose path is sent verbatim. */
async function statusOf({ path, method, headers }: Call, body?: string): Promise<number> {
  const sent = request({ host: 'localhost', port: server.port, path, method, headers, agent: false }).end(body)
  return new Promise((settle, fail) => {
    sent.on('error', fail)
    sent.on('upgrade', ({ statusCode = 0 }, socket) => {
      socket.destroy()
      settle(statusCode)
    })
    sent.on('response', response => {
      response.resume()
      settle(response.statusCode ?? 0)
    })
  })
}

describe('npm start', () => {
  beforeEach(async () => {
    server = await newServer()
  })

  afterEach(() => server.remove())

  it('serves a seeded demo, prints working curl commands, keeps any release’s state, and stops all its processes', async ({
    expect,
  }) => {
    const first = await server.start()
    expect(first).toContain(server.url)
    expect(first).not.toContain('\u001b')
    const key = /Demo key: (cs_\w{24})/.exec(first)?.[1]
    const link = linkIn(first)
    expect(await signIn(link)).toMatchObject({ user: { name: 'Ada Lopez' }, project: null })
    await expect(signIn(link)).rejects.toThrow('401')
    const [post = '', read = ''] = first.split('\n').filter(line => line.startsWith('curl'))
    expect(await paste(post)).toMatchObject({ status: 'accepted', trace_id: 'trace_hello' })
    expect(await paste(read)).toMatchObject({ traces: [{ traceId: 'trace_hello' }] })
    await server.stop('SIGINT')
    expect(await server.isServing()).toBe(false)

    const second = await server.start()
    expect(second).toContain(`Demo key: ${key}`)
    expect(linkIn(second)).not.toBe(link)
    expect(await signIn(linkIn(second))).toMatchObject({ user: { name: 'Ada Lopez' } })
    const { traces, nextCursor } = await paste(read.replace('&limit=1', ''))
    expect(traces).toHaveLength(50)
    expect(nextCursor).not.toBeNull()
    const other = /Another: {2}(cs_\w{24}) \(project back-office\)/.exec(second)?.[1]
    const url = `${server.url}/api/traces?projectSlug=back-office`
    expect(await paste(`curl '${url}' -H 'x-api-key: ${other}'`)).toMatchObject({ traces: expect.any(Array) })
    await server.stop('SIGTERM')
    expect(await server.isServing()).toBe(false)

    // An earlier release stored only the projects' keys, and not the key for a sign-in link.
    const { projectKeys } = JSON.parse(await readFile(server.keysFile, 'utf8'))
    await writeFile(server.keysFile, JSON.stringify(projectKeys))
    const third = await server.start()
    expect(third).toContain(`Demo key: ${key}`)
    expect(await signIn(linkIn(third))).toMatchObject({ user: { name: 'Ada Lopez' } })
  })

  it('locks its data against other servers, and leaves no processes and no lock when it is killed', async ({
    expect,
  }) => {
    await server.start({ SEED: 'none' })
    const other = await server.another()
    expect(await other.start({ SEED: 'none' })).toMatch(/^Another npm start is using \S+\. .+\n$/)
    expect([await other.isServing(), await server.isServing()]).toEqual([false, true])
    await server.stop('SIGKILL')
    expect(await server.isServing()).toBe(false)
    expect(await other.start({ SEED: 'none' })).toContain('Countersign is running')
    await other.stop('SIGINT')
  })

  it('reports in one line which database is damaged', async ({ expect }) => {
    const folder = join(server.stateDirectory, 'v3/d1/miniflare-D1DatabaseObject')
    await mkdir(folder, { recursive: true })
    const file = join(folder, 'any.sqlite')
    const database = new DatabaseSync(file)
    database.exec('create table t (v text); create index i on t (v)')
    for (let row = 0; row < 500; row++) database.prepare('insert into t values (?)').run(`value ${row}`.repeat(20))
    database.close()
    const whole = await readFile(file)
    for (const damaged of [
      Buffer.from('This was a database. '.repeat(1_000)),
      Buffer.concat([whole.subarray(0, 4096), Buffer.alloc(whole.length - 4096, 'x')]),
      whole.subarray(0, 20_000),
    ]) {
      await writeFile(file, damaged)
      expect(await server.start({ SEED: 'none' })).toMatch(/^The database \S+any\.sqlite is damaged\. .+\n$/)
    }
  })

  it("reports in one line that a path can't be a data directory", async ({ expect }) => {
    const file = join(server.stateDirectory, 'file')
    await writeFile(file, '')
    for (const path of [file, join(file, 'below')]) {
      expect(await server.start({ SEED: 'none', STATE_DIR: path })).toMatch(
        /^\S+ can't be used as a data directory .+\n$/,
      )
    }
  })

  it("keeps its data's number of shards, and reports a number that is smaller or invalid", async ({ expect }) => {
    for (const SHARDS of ['0', '17', 'two'])
      expect(await server.start({ SEED: 'none', SHARDS })).toBe(`SHARDS must be a number from 1 to 16, not ${SHARDS}\n`)
    const databases = () => readdir(join(server.stateDirectory, 'v3/d1/miniflare-D1DatabaseObject'))
    expect(await server.start({ SEED: 'none', SHARDS: '2' })).toContain('Countersign is running')
    const files = await databases()
    await server.stop('SIGINT')
    expect(await server.start({ SEED: 'none', SHARDS: '1' })).toBe(
      `SHARDS must be at least 2: ${server.stateDirectory} has 2 shards, and traces can't be moved out of them\n`,
    )
    expect(await server.start({ SEED: 'none', SHARDS: '' })).toContain('Countersign is running')
    expect(await databases()).toEqual(files)
  })

  it('reports that a port is taken or invalid', async ({ expect }) => {
    const other = createServer().listen(server.port, 'localhost')
    await once(other, 'listening')
    expect(await server.start()).toContain(`Port ${server.port} is in use`)
    await promisify(other.close.bind(other))()
    expect(await server.start({ PORT: 'http' })).toContain('PORT must be a number from 1 to 65535, not http')
    expect(await server.start({ INSPECTOR_PORT: '0' })).toContain(
      'INSPECTOR_PORT must be a number from 1 to 65535, not 0',
    )
  })

  it('exits if the Worker cannot be built', async ({ expect }) => {
    const copy = await mkdtemp(join(tmpdir(), 'countersign-copy-'))
    try {
      for (const part of ['src', 'scripts', 'migrations', 'tsconfig.json', 'wrangler.toml', 'vite.worker.config.ts']) {
        await cp(join(PROJECT, part), join(copy, part), { recursive: true })
      }
      await symlink(join(PROJECT, 'node_modules'), join(copy, 'node_modules'))
      // Skips the build of the pages, because only the build of the Worker should fail.
      const scripts = { build: 'vite build --config vite.worker.config.ts' }
      await writeFile(join(copy, 'package.json'), JSON.stringify({ type: 'module', scripts }))
      await appendFile(join(copy, 'src/index.ts'), "import './missing.ts'\n")
      const printed = await server.start({ SEED: 'none' }, copy)
      expect(printed).toContain("Could not resolve './missing.ts'")
      expect(printed).toContain('The Worker could not be built')
      expect(await server.isServing()).toBe(false)
    } finally {
      await rm(copy, { recursive: true, force: true })
    }
  })
})

describe('a server started with SEED=none', () => {
  let printed: string

  beforeAll(async () => {
    server = await newServer()
    printed = await server.start({ SEED: 'none', CRON_SECRET: 'of this run' })
  })

  afterAll(() => server.remove())

  it('creates no demo', async ({ expect }) => {
    expect(printed).not.toContain('cs_')
    const answer = await fetch(`${server.url}/api/orgs`, {
      method: 'POST',
      headers: { authorization: 'Bearer token', 'content-type': 'application/json' },
      body: JSON.stringify({ slug: 'demo', name: 'Free to take' }),
    })
    expect(answer.status).toBe(201)
  })

  it('returns the app when a browser navigates to an unknown path, and JSON for any other request', async ({
    expect,
  }) => {
    // fetch() doesn't allow setting Sec-Fetch-Mode.
    const shell = spawn('curl', ['-si', '-H', 'Sec-Fetch-Mode: navigate', `${server.url}/review/1`])
    let page = ''
    shell.stdout.on('data', data => (page += data))
    await once(shell, 'close')
    expect(page).toMatch(/^HTTP\/1.1 200/)
    expect(page).toMatch(/content-security-policy: default-src 'self'/i)
    expect(page).toContain('<title>Countersign</title>')
    const answer = await fetch(`${server.url}/review/1`)
    expect(answer.status).toBe(404)
    expect(await answer.json()).toMatchObject({ code: 'not_found' })
  })

  it('serves the API documentation at /docs from its own assets, which no other page loads', async ({ expect }) => {
    const origin = server.url
    const [docs, app] = await Promise.all([fetch(`${origin}/docs`), fetch(origin)])
    expect(docs.status).toBe(200)
    expect(docs.headers.get('content-type')).toContain('text/html')
    const page = await docs.text()
    const resources = [...page.matchAll(/ (?:src|href)="([^"]+)"/g)].map(([, path = '']) => new URL(path, docs.url))
    for (const resource of resources) {
      expect(resource.origin).toBe(origin)
      expect((await fetch(resource)).status, resource.pathname).toBe(200)
    }
    const script = resources.find(({ pathname }) => /^\/assets\/docs-.*\.js$/.test(pathname))?.pathname
    expect(page).toContain(`<script type="module" crossorigin src="${script}">`)
    expect(await app.text()).not.toContain(script)
    expect(await (await fetch(`${origin}/licenses.md`)).text()).toContain('@mantine/core')

    const specification = JSON.parse(await (await fetch(`${origin}/openapi.json`)).text())
    expect(await new Validator().validate(specification)).toMatchObject({ valid: true })

    // Scripts run only from files. Only styles may be inline.
    for (const { headers } of [docs, app]) {
      expect(headers.get('content-security-policy')?.split('; ')).toEqual([
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "frame-ancestors 'none'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
      ])
    }
    for (const path of ['/docs/', '/docs.html']) expect((await fetch(origin + path)).url).toBe(`${origin}/docs`)
  })

  it('blocks everything under /cdn-cgi/, in any spelling', async ({ expect }) => {
    const paths = [
      ...['explorer', 'explorer/api/d1', 'handler/scheduled', 'handler/scheduled?time=99999999999999', 'handler/email'],
      ...['mf/scheduled', 'mf/stream', 'live-reload', 'ProxyWorker/play', '', 'any'],
      ...[
        'explorer',
        'explorer/api/d1',
        'scheduled',
        'scheduled?time=9',
        'email',
        'platform-proxy',
        'r2/s3',
        'r2/public',
      ].map(path => `local/${path}`),
    ].flatMap(path => [
      `/cdn-cgi/${path}`,
      `//cdn-cgi//${path}`,
      `/%63dn-cgi/${path}`,
      `/cdn-cgi%2F${path}`,
      `/x/../cdn-cgi/./${path}`,
      `/x/%2e%2e/cdn-cgi/${path}`,
      `/CDN-CGI/${path}`,
      `http://localhost:${server.port}/cdn-cgi/${path}`,
    ])
    const callers: Record<string, string>[] = [
      {},
      { host: 'countersign.example.com' },
      { host: 'countersign.example.com', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'localhost' },
      { origin: 'http://localhost:5173' },
      { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image', 'sec-fetch-site': 'same-site' },
      { 'x-cron-secret': '' },
      { 'x-cron-secret': 'of another run' },
      { 'mf-original-url': 'http://localhost/cdn-cgi/local/scheduled' },
      { 'mf-op': 'GET', 'mf-op-target': '1', 'mf-op-secret': '00' },
      {
        upgrade: 'websocket',
        connection: 'upgrade',
        'sec-websocket-protocol': 'WRANGLER_PROXYWORKER_LIVE_RELOAD_PROTOCOL',
      },
    ]
    const calls: Call[] = [
      ...paths.flatMap(path => ['GET', 'HEAD', 'POST', 'OPTIONS'].map(method => ({ path, method, headers: {} }))),
      ...callers.flatMap(headers => paths.map(path => ({ path, method: 'GET', headers }))),
    ]
    const opened: object[] = []
    const ask = async () => {
      for (let each = calls.pop(); each; each = calls.pop()) {
        const status = await statusOf(each)
        if (status !== 404) opened.push({ ...each, status })
      }
    }
    await Promise.all(Array.from({ length: 10 }, ask))
    expect(opened).toEqual([])
    // Navigations to other unknown paths get the app.
    expect(await statusOf({ path: '/cdn-cgi/any', method: 'GET', headers: { 'sec-fetch-mode': 'navigate' } })).toBe(404)
    const cron = { path: '/cdn-cgi/handler/scheduled', method: 'GET', headers: { 'x-cron-secret': 'of this run' } }
    expect(await statusOf(cron)).toBe(200)

    // The ports that the local runtime opens for itself don't serve these paths either.
    for (const port of existsSync('/proc/net/tcp') ? await server.otherPorts() : []) {
      for (const path of ['explorer/api/d1', 'local/explorer/api/d1', 'local/scheduled', 'handler/scheduled']) {
        const answer = await fetch(`http://127.0.0.1:${port}/cdn-cgi/${path}`)
        expect([403, 404], `${port} ${path}`).toContain(answer.status)
      }
    }

    // Behind a tunnel, the forwarded protocol determines whether an origin is the service's own.
    const host = 'countersign.example.com'
    const signIn = (headers: Record<string, string>) =>
      statusOf(
        { path: '/api/session', method: 'POST', headers: { host, 'content-type': 'application/json', ...headers } },
        '{"apiKey":"none"}',
      )
    expect(await signIn({ origin: `https://${host}`, 'x-forwarded-proto': 'https' })).toBe(401)
    expect(await signIn({ origin: `https://${host}` })).toBe(403)
    expect(await signIn({ origin: 'https://evil.example', 'x-forwarded-proto': 'https' })).toBe(403)
  })
})
