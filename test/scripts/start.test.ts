import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterEach, beforeEach, describe, it } from 'vitest'

const START = resolve(import.meta.dirname, '../../scripts/start.ts')

let stateDirectory: string
let port: number
let server: ChildProcess | undefined

beforeEach(async () => {
  stateDirectory = await mkdtemp(join(tmpdir(), 'countersign-'))
  port = await freePort()
})

afterEach(async () => {
  await stop('SIGKILL')
  await rm(stateDirectory, { recursive: true, force: true })
})

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, 'localhost')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  await promisify(probe.close.bind(probe))()
  return port
}

/** Runs the script as `npm start` would and returns all that it printed until it served. */
async function start(environment: Record<string, string> = {}): Promise<string> {
  const child = spawn(process.execPath, [START], {
    env: {
      ...process.env,
      CI: 'true',
      PORT: String(port),
      STATE_DIR: stateDirectory,
      ADMIN_TOKEN: 'token',
      ...environment,
    },
    detached: true,
  })
  server = child
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', data => (printed += data))
  const exited = once(child, 'exit')
  while (!printed.includes('Ctrl-C stops it.')) {
    const code = await Promise.race([exited, new Promise(wake => setTimeout(wake, 50))])
    if (code) return printed
  }
  return printed
}

/** Sends a signal to the script alone, or SIGKILL to all that it started, and waits until it is gone. */
async function stop(signal: 'SIGINT' | 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (!server?.pid) return
  if (server.exitCode === null && server.signalCode === null) {
    const exited = once(server, 'exit')
    process.kill(signal === 'SIGKILL' ? -server.pid : server.pid, signal)
    await exited
  }
  server = undefined
}

const isServing = () =>
  fetch(`http://localhost:${port}/openapi.json`).then(
    response => response.ok,
    () => false,
  )

/** Runs a printed curl and returns its answer. */
async function paste(command: string): Promise<{ [field: string]: unknown }> {
  const shell = spawn('sh', ['-c', `${command} --silent`])
  let printed = ''
  shell.stdout.on('data', data => (printed += data))
  await once(shell, 'close')
  return JSON.parse(printed)
}

describe('npm start', () => {
  it('serves a seeded demo, prints curls that work, keeps its state, and stops all that it started', async ({
    expect,
  }) => {
    const first = await start()
    expect(first).toContain(`http://localhost:${port}`)
    expect(first).not.toContain('\u001b')
    const key = /Demo key: (cs_\w{24})/.exec(first)?.[1]
    const [post = '', read = ''] = first.split('\n').filter(line => line.startsWith('curl'))
    expect(await paste(post)).toMatchObject({ status: 'accepted', trace_id: 'trace_hello' })
    expect(await paste(read)).toMatchObject({ traces: [{ traceId: 'trace_hello' }] })
    await stop('SIGINT')
    expect(await isServing()).toBe(false)

    const second = await start()
    expect(second).toContain(`Demo key: ${key}`)
    const { traces, nextCursor } = await paste(read.replace('&limit=1', ''))
    expect(traces).toHaveLength(50)
    expect(nextCursor).not.toBeNull()
    const other = /Another: {2}(cs_\w{24}) \(project back-office\)/.exec(second)?.[1]
    const url = `http://localhost:${port}/api/traces?projectSlug=back-office`
    expect(await paste(`curl '${url}' -H 'x-api-key: ${other}'`)).toMatchObject({ traces: expect.any(Array) })
    await stop('SIGTERM')
    expect(await isServing()).toBe(false)
  })

  it('makes no demo with SEED=none', async ({ expect }) => {
    const printed = await start({ SEED: 'none' })
    expect(printed).not.toContain('cs_')
    const answer = await fetch(`http://localhost:${port}/api/orgs`, {
      method: 'POST',
      headers: { authorization: 'Bearer token', 'content-type': 'application/json' },
      body: JSON.stringify({ slug: 'demo', name: 'Free to take' }),
    })
    expect(answer.status).toBe(201)
  })

  it('gets the app for a browser’s navigation to an unknown path, and JSON for anything else', async ({ expect }) => {
    await start({ SEED: 'none' })
    // fetch() may not set Sec-Fetch-Mode itself.
    const shell = spawn('curl', ['-si', '-H', 'Sec-Fetch-Mode: navigate', `http://localhost:${port}/review/1`])
    let page = ''
    shell.stdout.on('data', data => (page += data))
    await once(shell, 'close')
    expect(page).toMatch(/^HTTP\/1.1 200/)
    expect(page).toMatch(/content-security-policy: default-src 'self'/i)
    expect(page).toContain('<title>Countersign</title>')
    const answer = await fetch(`http://localhost:${port}/review/1`)
    expect(answer.status).toBe(404)
    expect(await answer.json()).toMatchObject({ code: 'not_found' })
  })

  it('serves the API’s documentation at /docs, from its own assets, and loads them nowhere else', async ({
    expect,
  }) => {
    await start({ SEED: 'none' })
    const origin = `http://localhost:${port}`
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
    expect(await (await fetch(`${origin}/licenses.md`)).text()).toContain('@scalar/api-reference')

    const specification = JSON.parse(await (await fetch(`${origin}/openapi.json`)).text())
    expect(await new Validator().validate(specification)).toMatchObject({ valid: true })

    // Scripts run from files alone, everywhere; only styles may be inline, only here.
    const rest = "frame-ancestors 'none'; object-src 'none'; base-uri 'none'; form-action 'self'"
    const policy = ({ headers }: Response) => headers.get('content-security-policy')
    expect(policy(docs)).toBe(`default-src 'self'; style-src 'self' 'unsafe-inline'; ${rest}`)
    expect(policy(app)).toBe(`default-src 'self'; ${rest}`)
    for (const path of ['/docs/', '/docs.html']) expect((await fetch(origin + path)).url).toBe(`${origin}/docs`)
  })

  it('says so where the port is taken or is none', async ({ expect }) => {
    const other = createServer().listen(port, 'localhost')
    await once(other, 'listening')
    expect(await start()).toContain(`Port ${port} is taken`)
    await promisify(other.close.bind(other))()
    expect(await start({ PORT: 'http' })).toContain('PORT must be a number from 1 to 65535, not http')
  })
})
