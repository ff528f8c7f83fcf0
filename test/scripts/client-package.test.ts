import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { PROJECT } from './server.ts'

const run = promisify(execFile)

const WORKSPACE = ['--workspace', 'countersign', '--loglevel=error']
const DECLARATIONS = [
  'countersign',
  'errors',
  'experiment',
  'feedback',
  'fetch',
  'index',
  'loss',
  'prompts',
  'run',
  'traces',
  'wire',
]
const FILES = [
  'LICENSE',
  'README.md',
  'dist/cli/main.js',
  ...DECLARATIONS.map(name => `dist/client/${name}.d.ts`),
  'dist/client/index.js',
  'dist/client/index.js.map',
  'package.json',
].sort()

/** A project that contains only the packed client. */
let consumer: string
let installed: string
let tarball: string

beforeAll(async () => {
  consumer = await mkdtemp(join(tmpdir(), 'countersign-consumer-'))
  installed = join(consumer, 'node_modules/countersign')
  await run('npm', ['pack', ...WORKSPACE, '--pack-destination', consumer], { cwd: PROJECT })
  const [name = ''] = (await readdir(consumer)).filter(file => file.endsWith('.tgz'))
  tarball = join(consumer, name)
  await writeFile(join(consumer, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }))
  const flags = ['--offline', '--no-audit', '--no-fund', '--loglevel=error']
  await run('npm', ['install', ...flags, tarball], { cwd: consumer })
})

afterAll(() => rm(consumer, { recursive: true, force: true }))

describe('the package', () => {
  it('contains the client in under 9 KiB and the command line, and has no dependencies', async ({ expect }) => {
    expect((await run('tar', ['-tzf', tarball])).stdout.trim().split('\n').sort()).toEqual(
      FILES.map(file => `package/${file}`),
    )
    expect(await manifestIn(installed)).not.toHaveProperty('dependencies')
    expect(await readdir(join(consumer, 'node_modules'))).toEqual(['.bin', '.package-lock.json', 'countersign'])
    const code = await readFile(join(installed, 'dist/client/index.js'))
    expect(gzipSync(code).byteLength).toBeLessThan(9 * 1024)
    expect(code.toString()).not.toMatch(/\bimport\b|\brequire\b/)
    const { sources } = JSON.parse(await readFile(join(installed, 'dist/client/index.js.map'), 'utf8'))
    // Each file is a module from `src/client`, so nothing from the Worker is included.
    expect(sources.filter((source: string) => !/^\.\.\/\.\.\/\w+\.ts$/.test(source))).toEqual([])
  })

  it('has a command line that needs only Node', async ({ expect }) => {
    const code = await readFile(join(installed, 'dist/cli/main.js'), 'utf8')
    const modules = [...code.matchAll(/^import .*"(.+)";$|\bimport\("(.+?)"\)/gm)].map(([, name, lazy]) => name ?? lazy)
    expect(modules).not.toEqual([])
    expect(modules.filter(name => !name?.startsWith('node:'))).toEqual([])
    const { stdout } = await run('npx', ['countersign', '--version'], { cwd: consumer })
    expect(stdout.trim()).toBe((await manifestIn(PROJECT)).version)
  })

  it("has the service's version and license", async ({ expect }) => {
    const [{ version, license }, service] = await Promise.all([manifestIn(installed), manifestIn(PROJECT)])
    expect({ version, license }).toEqual({ version: service.version, license: service.license })
    const [text, ofService] = await Promise.all(
      [installed, PROJECT].map(folder => readFile(join(folder, 'LICENSE'), 'utf8')),
    )
    expect(text).toBe(ofService)
  })

  it('includes its own type declarations', async ({ expect }) => {
    const declarations = await Promise.all(
      DECLARATIONS.map(name => readFile(join(installed, 'dist/client', `${name}.d.ts`), 'utf8')),
    )
    const modules = declarations.flatMap(text =>
      [...text.matchAll(/(?:from |import\()['"](.+?)['"]/g)].map(([, name]) => name),
    )
    expect(modules).not.toEqual([])
    expect(modules.filter(name => !DECLARATIONS.some(own => name === `./${own}.js`))).toEqual([])
    const references = declarations.flatMap(text => text.match(/<reference .+/g) ?? [])
    expect(references.filter(reference => !reference.startsWith('<reference lib="esnext.disposable"'))).toEqual([])
  })

  it('can be published from the packed file', async ({ expect }) => {
    // A dry run doesn't need a registry, so no server listens at this address.
    const nowhere = ['--registry', 'http://127.0.0.1:9/', '--fetch-retries', '0']
    const { stdout } = await run('npm', ['publish', '--dry-run', '--json', ...WORKSPACE, ...nowhere], { cwd: PROJECT })
    const { countersign } = JSON.parse(stdout)
    const digest = createHash('sha512')
      .update(await readFile(tarball))
      .digest('base64')
    expect(countersign).toMatchObject({ name: 'countersign', integrity: `sha512-${digest}` })
  })
})

async function manifestIn(folder: string): Promise<{ version: unknown; license: unknown }> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
}

const CONSUMER = `
import { AsyncLocalStorage } from 'node:async_hooks'
import { Countersign, CountersignError, type ExperimentItem, type Loss, type Span, type TraceDetail } from 'countersign/client'

interface Ticket { category: string; priority?: number }
declare const environment: Record<string, string | undefined>
const losses: Loss[] = []
const countersign = new Countersign({
  baseUrl: 'https://countersign.test',
  apiKey: 'cs_key',
  projectSlug: environment.PROJECT,
  onLoss: loss => losses.push(loss),
  fetch,
  asyncLocalStorage: new AsyncLocalStorage<Span>(),
})
const ticket: Ticket = { category: 'refund' }

export async function handle(question: string): Promise<Ticket> {
  const prompt = await countersign.prompts.active('classify')
  using trace = countersign.startTrace('triage', { metadata: { group_id: 'session-1' } })
  const answer: Ticket = await trace.span('classify', async span => {
    const count: number = await span.span('retrieve', () => 3)
    span.state('config', { count })
    return ticket
  }, { input: { question }, promptVersionId: prompt.versionId })
  trace.complete({ output: answer, metadata: ticket })
  trace.feedback({ rating: 'negative', correction: ticket, labeller: { email: 'ada@example.com' } })
  // @ts-expect-error: must be one of two words or a number
  trace.feedback({ rating: 'bad' })
  // @ts-expect-error: state has its own method
  trace.observe('state', {})
  return answer
}

const triage = async ({ input, state }: ExperimentItem<Ticket>) => [input.category, state.documents]

export async function tryOut(signal: AbortSignal): Promise<number | null> {
  const { passRate, counts } = await countersign.experiment({ step: 'classify', split: 'test' }, triage, { signal })
  await countersign.experiment<Ticket>({ id: environment.EXPERIMENT ?? '' }, (item, run) => {
    run.record({ usage: { inputTokens: 12, outputTokens: 3 }, costUsd: 0.01 })
    // @ts-expect-error: the candidate must not see it
    return item.expected
  }, { onProgress: ({ done, items, url }) => console.log(done / items, url) })
  // @ts-expect-error: no step and no id
  countersign.experiment({ split: 'test' }, triage)
  return counts.unjudged > 0 ? null : passRate
}

export async function read(): Promise<TraceDetail | undefined> {
  for await (const { id, metadata, reviewState } of countersign.traces.list({ from: new Date(), hasFeedback: true })) {
    const state: 'unreviewed' | 'accepted' | 'corrected' | 'mixed' = reviewState
    const tier: unknown = metadata.tier
    const trace = await countersign.traces.get(id)
    const ratings: (string | number | null)[] = trace.feedback.map(({ rating }) => rating)
    if (state && tier && ratings.length > 0) return trace
  }
  try {
    const { error_type, confidence } = await countersign.attribute('trace_a')
    const { traces: [hit] } = await countersign.search({ group_id: 'a', limit: 3 })
    console.log(error_type.length + (confidence ?? 0), hit?.metadata.group_id)
  } catch (error) {
    if (error instanceof CountersignError && error.status === 422) console.log(error.code, error.requestId)
  }
  // @ts-expect-error: not an existing filter
  countersign.traces.list({ color: 'red' })
  await countersign.flush()
  return undefined
}
`

const exampleOf = (name: string) => readFileSync(join(PROJECT, 'examples', name), 'utf8')

describe('its types', () => {
  const inNode = { lib: ['es2022'], types: ['node'], typeRoots: [join(PROJECT, 'node_modules/@types')] }
  const withNodeModules = 'node:async_hooks'
  it.for([
    ['Node', 'node16', inNode, CONSUMER],
    ['Node and a bundler', 'bundler', inNode, CONSUMER],
    ['Node, in the pipeline example', 'node16', inNode, exampleOf('pipeline.ts')],
    ["Node, in the reviewer's script example", 'node16', inNode, exampleOf('review-next.ts')],
    [
      'a browser and a bundler',
      'bundler',
      { lib: ['es2022', 'dom'], types: [] },
      CONSUMER.replace(`import { AsyncLocalStorage } from '${withNodeModules}'`, '').replace(/ {2}asyncLocal.*\n/, ''),
    ],
  ] as const)(
    'pass type checks for %s, including the declarations themselves',
    async ([, resolution, options, code], { expect }) => {
      await writeFile(join(consumer, 'consumer.ts'), code)
      const compilerOptions = {
        ...options,
        target: 'es2022',
        module: resolution === 'node16' ? 'node16' : 'esnext',
        moduleResolution: resolution,
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        skipLibCheck: false,
        noEmit: true,
      }
      await writeFile(join(consumer, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['consumer.ts'] }))
      const { stdout } = await run('tsc', ['-p', consumer]).catch(error => error)
      expect(stdout).toBe('')
    },
  )
})

const PIPELINE = `
import { Countersign } from 'countersign/client'

const losses = []
const countersign = new Countersign({
  baseUrl: process.env.BASE_URL,
  apiKey: 'cs_key',
  onLoss: loss => losses.push(loss),
})
const trace = countersign.startTrace('support-answer')
await Promise.all(['left', 'right'].map(side => trace.span(side, async () => {
  await new Promise(resolve => setTimeout(resolve, 5))
  await trace.span(side + '-inner', () => side)
})))
trace.complete()
if (process.argv.includes('flush')) await countersign.flush()
console.log(JSON.stringify({ losses, lost: countersign.lost }))
`

interface Event {
  type: string
  body: { step_id?: string; span_id?: string; parent_span_id?: string; output?: unknown }
}

/** Starts a service that responds to the first batch with 503. Returns its URL and the events in the batches. */
async function newService() {
  const batches: Event[][] = []
  const server = createServer(async (request, response) => {
    const { events } = await bodyOf(request)
    batches.push(events)
    if (batches.length === 1) response.writeHead(503, { 'retry-after': '1' }).end()
    else response.writeHead(207).end(JSON.stringify({ results: events.map(() => ({ status: 202, body: {} })) }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, batches, close: () => server.close() }
}

async function bodyOf(request: IncomingMessage): Promise<{ events: Event[] }> {
  const chunks: Uint8Array[] = []
  for await (const chunk of request) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString())
}

const nodes = [process.execPath, '/usr/bin/node'].filter(existsSync)

describe.for(nodes)('in %s', node => {
  it('runs the command line', async ({ expect }) => {
    const program = join(installed, 'dist/cli/main.js')
    const { stdout, stderr } = await run(node, [program, '--help'])
    expect(stderr).toBe('')
    expect(stdout).toContain('countersign <command> [options]')
    const failed = await run(node, [program, 'traces', 'list', '--json'], { env: { HOME: consumer } }).catch(
      error => error,
    )
    expect(failed).toMatchObject({ code: 3, stdout: '' })
    expect(JSON.parse(failed.stderr)).toMatchObject({ code: 'not_authenticated', exitCode: 3 })
  })

  it('delivers flushed events despite a failure, and nests steps by their context', async ({ expect }) => {
    await writeFile(join(consumer, 'pipeline.js'), PIPELINE)
    const service = await newService()
    try {
      const { stdout, stderr } = await run(node, [join(consumer, 'pipeline.js'), 'flush'], {
        env: { ...process.env, BASE_URL: service.url },
      })
      expect(stderr).toBe('')
      expect(JSON.parse(stdout)).toEqual({ losses: [], lost: 0 })
      const [first, second] = service.batches
      expect(second).toEqual(first)
      const spans = new Map(second?.map(({ body }) => [body.step_id, body]))
      for (const side of ['left', 'right']) {
        expect(spans.get(side)?.parent_span_id).toBeUndefined()
        expect(spans.get(`${side}-inner`)).toMatchObject({ parent_span_id: spans.get(side)?.span_id, output: side })
      }
    } finally {
      service.close()
    }
  })

  it('doesn’t keep a finished process alive', async ({ expect }) => {
    await writeFile(join(consumer, 'pipeline.js'), PIPELINE)
    const service = await newService()
    try {
      await run(node, [join(consumer, 'pipeline.js')], { env: { ...process.env, BASE_URL: service.url } })
      // If a timer kept the process alive, it would send the events.
      expect(service.batches).toEqual([])
    } finally {
      service.close()
    }
  })
})
