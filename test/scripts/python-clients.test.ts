import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as v from 'valibot'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { call } from '../../scripts/call.ts'
import type { Environment } from './clients/client.ts'
import { type LocalServer, startOpenAi } from './clients/openai-server.ts'
import { blocksOf, readPage } from './clients/page.ts'
import { installedPackages, installPython, type PythonClient, runPython } from './clients/python-client.ts'
import { readAsText } from './clients/shown-trace.ts'
import { newTenant, type Tenant } from './clients/tenant.ts'
import { settledDeliveries, startReceiver } from './receiver.ts'
import { freePort, newServer, PROJECT, type Server } from './server.ts'

/*
 * Tests the real Python SDKs with the programs on their pages in docs/sdks. Only `npm run test:clients` runs these
 * tests, because the packages take a gigabyte. `clients/python/` has the expected trace of each program. To update the
 * traces, add `-- -u`, and review the changes as you would review changes to a page.
 */

/** Output that a client prints even if nothing is wrong. */
const CHATTER = /Traceloop exporting traces|approximate input token count/

const CLIENTS: readonly (readonly [name: string, client: PythonClient])[] = [
  ['opentelemetry-python', { page: 'opentelemetry-python' }],
  ['opentelemetry-python-openai', { page: 'opentelemetry-python', program: 'app_openai.py' }],
  ['openinference', { page: 'openinference' }],
  ['langgraph', { page: 'langgraph' }],
  ['llamaindex', { page: 'llamaindex' }],
  ['traceloop', { page: 'traceloop' }],
  ['langfuse', { page: 'langfuse' }],
  ['langsmith', { page: 'langsmith' }],
  ['logfire', { page: 'logfire' }],
  ['mlflow', { page: 'mlflow' }],
  ['crewai', { page: 'crewai' }],
]

let server: Server
let openAi: LocalServer

beforeAll(async () => {
  server = await newServer()
  openAi = await startOpenAi()
  await server.start({ SEED: 'none', ALLOW_LOCAL_WEBHOOKS: '1' })
}, 600_000)

afterAll(async () => {
  openAi?.close()
  await server?.remove()
})

const environmentOf = ({ key }: Tenant): Environment => ({
  COUNTERSIGN_URL: server.url,
  COUNTERSIGN_KEY: key,
  OPENAI_BASE_URL: openAi.url,
  // LlamaIndex and LiteLLM read this variable.
  OPENAI_API_BASE: openAi.url,
  OPENAI_API_KEY: 'none',
})

describe.for(CLIENTS)('%s in Python', ([name, client]) => {
  it('sends a trace that matches its program', { timeout: 900_000 }, async ({ expect }) => {
    const tenant = await newTenant(server.url)
    const { traceIds, warnings } = await runPython(client, environmentOf(tenant))
    await expect(await readAsText(tenant, traceIds[0])).toMatchFileSnapshot(`clients/python/${name}.txt`)
    expect(warnings.filter(line => !CHATTER.test(line))).toEqual([])
  })

  it('is tested with the packages that its page installs', async ({ expect }) => {
    const [{ pythonPackages }, installed] = await Promise.all([readPage(client.page), installedPackages(client)])
    expect(pythonPackages).not.toEqual([])
    expect(pythonPackages.filter(name => !installed.has(name))).toEqual([])
  })
})

const Webhook = v.object({ id: v.string(), secret: v.string() })

describe('the receiver on docs/webhooks.md in Python', () => {
  it('accepts only events with a valid signature', { timeout: 300_000 }, async ({ expect }) => {
    const bin = join(await installPython({ page: 'webhooks' }), 'bin')
    const folder = await mkdtemp(join(tmpdir(), 'countersign-webhooks-'))
    const page = await readFile(join(PROJECT, 'docs/webhooks.md'), 'utf8')
    await writeFile(join(folder, 'receive.py'), blocksOf(page, 'python').join(''))
    const tenant = await newTenant(server.url, ['manage'])
    const post = (path: string, body?: object) => call(server.url, tenant.key, 'POST', path, body)
    const port = await freePort()
    const draft = { projectSlug: 'support', url: `http://localhost:${port}`, events: ['trace.deleted'] }
    const { id, secret } = v.parse(Webhook, await post('/api/webhooks', draft))
    const receiver = await startReceiver([join(bin, 'python'), 'receive.py'], { folder, port, secret })
    try {
      await post(`/api/webhooks/${id}/test`)
      expect(await settledDeliveries(tenant, id)).toHaveLength(1)
      // During a rotation, the old secret is still valid.
      await post(`/api/webhooks/${id}/rotate-secret`)
      await post(`/api/webhooks/${id}/test`)
      expect(await settledDeliveries(tenant, id)).toHaveLength(2)
      expect(receiver.printed().match(/webhook\.test/g)).toHaveLength(2)
      // After another rotation, it isn't.
      await post(`/api/webhooks/${id}/rotate-secret`)
      await post(`/api/webhooks/${id}/test`)
      await expect(settledDeliveries(tenant, id)).rejects.toThrow('an attempt failed')
      expect(receiver.printed().match(/webhook\.test/g)).toHaveLength(2)
    } finally {
      receiver.stop()
      await rm(folder, { recursive: true, force: true })
    }
  })
})
