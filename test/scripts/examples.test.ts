import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import * as v from 'valibot'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { call } from '../../scripts/call.ts'
import { blocksOf } from './clients/page.ts'
import { newTenant, type Tenant } from './clients/tenant.ts'
import { settledDeliveries, startReceiver } from './receiver.ts'
import { freePort, newServer, PROJECT, type Server } from './server.ts'

/*
 * Runs the programs in examples/ and on the pages about datasets, experiments, and webhooks as a reader would: in a
 * separate folder, with the packages that they need, against a running service. An agent also connects to that service.
 */

const run = promisify(execFile)
const QUESTION = { question: 'How long is the warranty on order 7?' }
const ANSWER = { answer: 'The warranty is 24 months.' }

let server: Server
let folder: string
let python: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-examples-'))
  python = join(folder, 'venv/bin/python')
  await cp(join(PROJECT, 'examples'), folder, { recursive: true })
  server = await newServer()
  await Promise.all([server.start({ SEED: 'none', ALLOW_LOCAL_WEBHOOKS: '1' }), installClient()])
}, 600_000)

afterAll(async () => {
  await server?.remove()
  await rm(folder, { recursive: true, force: true })
})

/** Builds the client in this test's folder, because another test uses the client's own folder at the same time. */
async function installClient(): Promise<void> {
  const installed = join(folder, 'node_modules/countersign')
  await mkdir(installed, { recursive: true })
  await cp(join(PROJECT, 'src/client/package.json'), join(installed, 'package.json'))
  const build = ['build', '--config', 'vite.client.config.ts', '--outDir', join(installed, 'dist/client')]
  await run('vite', [...build, '--emptyOutDir', '--logLevel', 'warn'], { cwd: PROJECT })
}

/** Links a package and its dependencies from the project's own packages. */
async function installPackage(name: string): Promise<void> {
  const { dependencies = {} } = JSON.parse(await readFile(join(PROJECT, 'node_modules', name, 'package.json'), 'utf8'))
  for (const each of [name, ...Object.keys(dependencies)]) {
    const installed = join(folder, 'node_modules', each)
    await mkdir(dirname(installed), { recursive: true })
    await symlink(join(PROJECT, 'node_modules', each), installed)
  }
}

/** Whether there is a Python that can create a virtual environment. */
const hasPython = await run('python3', ['-c', 'import ensurepip, venv']).then(
  () => true,
  () => false,
)
if (!hasPython) console.warn('examples/pipeline.py is not run: there is no python3 with venv')

/** Runs a program for a tenant and returns the lines that it printed. */
async function printed({ url, key }: Tenant, program: string, ...args: string[]): Promise<string[]> {
  const env = { PATH: process.env.PATH, COUNTERSIGN_URL: url, COUNTERSIGN_KEY: key }
  const { stdout, stderr } = await run(program, args, { cwd: folder, env, timeout: 120_000 })
  if (stderr !== '') throw new Error(stderr)
  return stdout.trimEnd().split('\n')
}

const Trace = v.object({
  name: v.string(),
  status: v.string(),
  metadata: v.looseObject({ group_id: v.optional(v.string()) }),
  spans: v.array(
    v.object({
      id: v.string(),
      stepId: v.string(),
      input: v.unknown(),
      output: v.unknown(),
      approvedOutput: v.unknown(),
      state: v.record(v.string(), v.unknown()),
      review: v.object({ state: v.string(), comment: v.nullable(v.string()) }),
    }),
  ),
})

async function readTrace({ url, key, projectSlug }: Tenant, traceId = '') {
  return v.parse(Trace, await call(url, key, 'GET', `/api/traces/${traceId}?projectSlug=${projectSlug}`))
}

const PIPELINES: [name: string, isRun: boolean, run: (tenant: Tenant) => Promise<string[]>][] = [
  ['pipeline.ts', true, tenant => printed(tenant, process.execPath, 'pipeline.ts', QUESTION.question)],
  [
    'pipeline.py',
    hasPython,
    async tenant => {
      await run('python3', ['-m', 'venv', 'venv'], { cwd: folder })
      await run(python, ['-m', 'pip', 'install', '--quiet', '-r', 'requirements.txt'], { cwd: folder })
      return printed(tenant, python, 'pipeline.py', QUESTION.question)
    },
  ],
]

describe.for(PIPELINES.filter(([, isRun]) => isRun))('%s', ([, , runPipeline]) => {
  it('records a run with its steps, its input, its output, and its state', async ({ expect }) => {
    const tenant = await newTenant(server.url)
    const [traceId, ...others] = await runPipeline(tenant)
    expect(others).toEqual([])
    const { name, status, metadata, spans } = await readTrace(tenant, traceId)
    expect({ name, status, group: metadata.group_id }).toEqual({
      name: 'support-answer',
      status: 'completed',
      group: 'example',
    })
    const [root, ...steps] = spans
    expect(root).toMatchObject({ input: QUESTION, output: ANSWER })
    expect(steps.map(({ stepId }) => stepId).sort()).toEqual(['answer', 'retrieve'])
    expect(steps.find(({ stepId }) => stepId === 'answer')).toMatchObject({ input: QUESTION, output: ANSWER })
    expect(spans.some(({ state }) => 'retrieved_chunks' in state)).toBe(true)
  })
})

describe('review-next.ts', () => {
  it('shows, accepts, and corrects outputs until nothing is left', async ({ expect }) => {
    const tenant = await newTenant(server.url, ['ingest', 'read', 'review'])
    const review = (...args: string[]) => printed(tenant, process.execPath, 'review-next.ts', ...args)
    const at = (second: number) => new Date(Date.now() + 1000 * second).toISOString()
    const post = (path: string, body: object) => call(tenant.url, tenant.key, 'POST', `/api/v1/${path}`, body)
    const trace = { trace_id: 'trace_example', name: 'support-answer', timestamp: at(0), status: 'completed' }
    await post('traces', trace)
    for (const [index, step_id] of ['first', 'second'].entries()) {
      await post('spans', {
        trace_id: trace.trace_id,
        span_id: crypto.randomUUID(),
        step_id,
        output: ANSWER,
        timestamp: at(index),
      })
    }

    expect((await review()).join('\n')).toContain('"stepId": "first"')
    expect((await review('accept')).at(-1)).toBe('Accepted.')
    const correction = { answer: '36 months.' }
    expect((await review('correct', JSON.stringify(correction), 'It was extended.')).at(-1)).toBe('Corrected.')
    expect(await review('accept')).toEqual(['Nothing to review.'])

    const { spans } = await readTrace(tenant, trace.trace_id)
    const reviewed = spans.filter(({ review }) => review.state !== 'unreviewed')
    expect(reviewed.map(({ stepId, approvedOutput, review }) => [stepId, approvedOutput, review])).toMatchObject([
      ['first', ANSWER, { state: 'accepted', comment: null }],
      ['second', correction, { state: 'corrected', comment: 'It was extended.' }],
    ])
  })
})

const Datasets = v.object({ datasets: v.array(v.object({ id: v.string(), stepId: v.string() })) })
const Queue = v.object({
  spans: v.array(v.object({ id: v.string(), input: v.object({ text: v.string() }), output: v.looseObject({}) })),
})

describe('loop.ts', () => {
  it('posts tickets, and runs the experiments that are waiting for results', async ({ expect }) => {
    const tenant = await newTenant(server.url, ['ingest', 'read', 'review', 'manage'])
    const { url, key, projectSlug } = tenant
    const loop = (command: string) => printed(tenant, process.execPath, 'loop.ts', command)
    expect(await loop('run')).toEqual(['No experiment is waiting for results. Start one in the app.'])
    expect(await loop('post')).toEqual([expect.stringContaining('Posted 10 tickets.')])
    const queue = await call(url, key, 'GET', `/api/review-queue?projectSlug=${projectSlug}&stepId=sort-ticket`)
    const { spans } = v.parse(Queue, queue)
    expect(spans).toHaveLength(10)
    const isReturn = ({ text }: { text: string }) => /(lamp|give|kettle) back|exchange/.test(text)
    const reviews = spans.map(({ id, input, output }) =>
      isReturn(input)
        ? { spanId: id, decision: 'correct', approvedOutput: { ...output, label: 'returns' } }
        : { spanId: id, decision: 'accept' },
    )
    await call(url, key, 'POST', '/api/reviews', { reviews })
    const { datasets } = v.parse(Datasets, await call(url, key, 'GET', `/api/datasets?projectSlug=${projectSlug}`))
    const datasetId = datasets.find(({ stepId }) => stepId === 'sort-ticket')?.id
    const begin = (split: string) =>
      call(url, key, 'POST', '/api/experiments', { projectSlug, datasetId, split, runner: 'client' })
    // The call doesn't specify a version, so the experiment tries the first prompt, which is wrong about three items.
    await begin('test')
    expect(await loop('run')).toEqual([
      '2 passed, 3 failed, 0 unjudged; 0 fixed, 0 regressed',
      expect.stringMatching(/\/experiments\/[0-9a-f-]{36}\?project=support$/),
    ])
    await begin('train')
    expect((await loop('run'))[0]).toBe('4 passed, 1 failed, 0 unjudged; 0 fixed, 0 regressed')
    expect(await loop('more')).toEqual([expect.stringContaining('Posted 20 tickets.')])
  })
})

/** The calls in the given pages. A test selects a call by a string that the call contains. */
function callsOn(pages: readonly string[], tenant: Tenant) {
  const calls = pages.flatMap(page => blocksOf(page, 'sh'))
  const unused = new Set(calls)
  /** The block that contains a string, with records' ids in place of its placeholders. */
  const scriptOf = (text: string, records: Record<string, string>) => {
    const block = calls.find(each => each.includes(text)) ?? ''
    unused.delete(block)
    return Object.entries(records).reduce((script, [name, id]) => script.replaceAll(`<${name}>`, id), block)
  }
  const runScript = async (script: string, flags: string) => {
    const quiet = script.replace(/^curl /gm, `curl --silent --show-error ${flags}`)
    const lines = await printed(tenant, 'sh', '-ec', quiet)
    return JSON.parse(`[${lines.join('').replaceAll('}{', '},{')}]`)
  }
  return {
    runCalls: (text: string, records: Record<string, string> = {}) =>
      runScript(scriptOf(text, records), '--fail-with-body '),
    /** Runs calls that need a model, which this deployment doesn't have. */
    runRefused: (text: string, records: Record<string, string>) => runScript(scriptOf(text, records), ''),
    /** The calls that haven't been run yet. */
    unused,
  }
}

const Experiments = v.object({ experiments: v.array(v.object({ id: v.string(), state: v.string() })) })
const Items = v.object({ items: v.array(v.object({ id: v.string(), outcome: v.string() })) })
const Report = v.object({ counts: v.object({ passed: v.number(), failed: v.number(), unjudged: v.number() }) })

describe('docs/datasets.md and docs/experiments.md', () => {
  it('have calls and programs that work as written', async ({ expect }) => {
    const tenant = await newTenant(server.url, ['ingest', 'read', 'review', 'manage'])
    const [datasets = '', experiments = ''] = await Promise.all(
      ['datasets', 'experiments'].map(name => readFile(join(PROJECT, `docs/${name}.md`), 'utf8')),
    )
    const { runCalls, runRefused, unused } = callsOn([datasets, experiments], tenant)

    const [{ id: dataset }] = await runCalls('"stepId"')
    const [imported] = await runCalls('"items": [', { dataset })
    expect(imported.results).toMatchObject([{ status: 201 }, { status: 201 }, { status: 201 }])
    expect(await runCalls('/api/datasets?projectSlug', { dataset })).toMatchObject([
      { datasets: [{ id: dataset, items: 3 }] },
      { items: expect.any(Array) },
    ])

    await runCalls('curl -OJ', { dataset })
    await runCalls('cursor=', { dataset })
    expect(await readFile(join(folder, 'dataset-1.jsonl'), 'utf8')).toMatch(/{"end": ?true, ?"items": ?3}\s*$/)

    await writeFile(join(folder, 'experiment.ts'), blocksOf(experiments, 'ts').join(''))
    await printed(tenant, process.execPath, 'experiment.ts')
    const [python = ''] = blocksOf(experiments, 'python')
    expect(python.trim().split('\n').length).toBeLessThanOrEqual(20)
    await writeFile(join(folder, 'experiment.py'), python)
    if (hasPython)
      expect(await printed(tenant, 'python3', 'experiment.py')).toEqual([expect.stringMatching(/^finished /)])
    else await printed(tenant, process.execPath, 'experiment.ts')

    const read = (path: string) => call(tenant.url, tenant.key, 'GET', `/api/experiments${path}`)
    const list = v.parse(Experiments, await read(`?projectSlug=${tenant.projectSlug}`)).experiments
    expect(list.map(({ state }) => state)).toEqual(['finished', 'finished'])
    for (const { id } of list) {
      expect(v.parse(Report, await read(`/${id}`)).counts).toEqual({ passed: 1, failed: 0, unjudged: 2 })
    }

    const [one = '', other = ''] = list.map(({ id }) => id)
    const [item = ''] = v.parse(Items, await read(`/${one}/items?outcome=unjudged`)).items.map(({ id }) => id)
    const [, review] = await runCalls('/review"', { experiment: one, item })
    expect(review).toMatchObject({ itemId: item, outcome: 'passed' })
    expect(v.parse(Report, await read(`/${one}`)).counts).toEqual({ passed: 2, failed: 0, unjudged: 1 })
    expect(await runCalls('/compare/', { one, other })).toMatchObject([
      { counts: { bothPassed: 1, unjudged: 2 }, sameItems: true, mcNemar: { verdict: 'too few to tell' } },
    ])
    await runCalls('hard-cases', { dataset, item })
    expect(await runCalls('"excluded": true', { dataset, item })).toMatchObject([
      { split: 'hard-cases', excluded: true },
    ])
    expect(await runCalls('/evaluator', { dataset })).toMatchObject([{ evaluator: { type: 'fields' } }])
    expect(await runRefused('"runner": "model"', { dataset })).toMatchObject([{ code: 'model_not_configured' }])
    expect(await runRefused('/judgments"', { experiment: one })).toMatchObject([{ code: 'model_not_configured' }])
    expect(await runCalls('/api/judgments?')).toMatchObject([{ judgments: [] }])
    expect([...unused]).toEqual([])
  })
})

describe('docs/webhooks.md and receive-webhooks.ts', () => {
  it('have calls and receivers that work as written', async ({ expect }) => {
    await installPackage('standardwebhooks')
    const page = await readFile(join(PROJECT, 'docs/webhooks.md'), 'utf8')
    await writeFile(join(folder, 'receive.ts'), blocksOf(page, 'ts').join(''))
    const tenant = await newTenant(server.url, ['ingest', 'read', 'review', 'manage'])
    for (const [program, isRepeated] of [
      ['receive.ts', true],
      ['receive-webhooks.ts', false],
    ] as const) {
      const port = await freePort()
      const local = page.replaceAll('https://hooks.example.com/countersign', `http://localhost:${port}`)
      const { runCalls, unused } = callsOn([local], tenant)
      const [{ id: webhook, secret }] = await runCalls('"trace.deleted"]')
      const receiver = await startReceiver([process.execPath, program], { folder, port, secret })
      try {
        await runCalls('/test ', { webhook })
        expect(await settledDeliveries(tenant, webhook)).toMatchObject([{ type: 'webhook.test' }])
        expect(receiver.printed()).toContain('webhook.test')
        const [{ deliveries }] = await runCalls('/deliveries"', { webhook })
        const delivery = deliveries[0].id
        await runCalls('/replay ', { webhook, delivery })
        await settledDeliveries(tenant, webhook)
        expect(receiver.printed().match(/webhook\.test/g)).toHaveLength(isRepeated ? 2 : 1)
        const [rotated] = await runCalls('/rotate-secret ', { webhook })
        expect(rotated.secret).not.toBe(secret)
        await runCalls('/test ', { webhook })
        expect(await settledDeliveries(tenant, webhook)).toHaveLength(2)
        expect(await runCalls('"slack"')).toMatchObject([{ format: 'slack' }])
      } finally {
        receiver.stop()
      }
      expect([...unused]).toEqual([])
    }
  })
})

describe('/mcp', () => {
  it('serves the official client over a socket, and refuses a wrong key', async ({ expect }) => {
    const tenant = await newTenant(server.url, ['ingest', 'read', 'review'])
    const trace = { trace_id: 'trace_mcp', name: 'mcp', timestamp: new Date().toISOString(), status: 'completed' }
    await call(tenant.url, tenant.key, 'POST', '/api/v1/traces', trace)
    const connected = async (key: string) => {
      const client = new Client({ name: 'test', version: '1' })
      const requestInit = { headers: { 'x-api-key': key } }
      await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', server.url), { requestInit }))
      return client
    }
    const client = await connected(tenant.key)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toContain('suggest_decision')
    // Many concurrent calls share sockets, and the client checks each answer against the tool's schema.
    const found = await Promise.all(
      Array.from({ length: 20 }, () => client.callTool({ name: 'search_traces', arguments: { name: 'mcp' } })),
    )
    for (const each of found) expect(JSON.stringify(each.structuredContent)).toContain('trace_mcp')
    const unknown = { name: 'get_span', arguments: { spanId: crypto.randomUUID() } }
    expect(await client.callTool(unknown)).toMatchObject({ isError: true })
    await client.close()
    await expect(connected('cs_000000000000000000000000')).rejects.toThrow()
  })
})
