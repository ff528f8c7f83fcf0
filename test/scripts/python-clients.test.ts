import { afterAll, beforeAll, describe, it } from 'vitest'
import type { Environment } from './clients/client.ts'
import { type LocalServer, startOpenAi } from './clients/openai-server.ts'
import { readPage } from './clients/page.ts'
import { installedPackages, type PythonClient, runPython } from './clients/python-client.ts'
import { readAsText } from './clients/shown-trace.ts'
import { newTenant, type Tenant } from './clients/tenant.ts'
import { newServer, type Server } from './server.ts'

/*
 * Tests the real Python SDKs with the programs on their pages in docs/sdks. Only `npm run test:clients` runs it, because
 * the packages take a gigabyte. `clients/python/` has the expected trace of each program. To write it, add `-- -u`, and
 * review the changes as you would for a page.
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
  await server.start({ SEED: 'none' })
}, 600_000)

afterAll(async () => {
  openAi?.close()
  await server?.remove()
})

const environmentOf = ({ key }: Tenant): Environment => ({
  COUNTERSIGN_URL: server.url,
  COUNTERSIGN_KEY: key,
  OPENAI_BASE_URL: openAi.url,
  // LlamaIndex and LiteLLM read this one.
  OPENAI_API_BASE: openAi.url,
  OPENAI_API_KEY: 'none',
})

describe.for(CLIENTS)('%s in Python', ([name, client]) => {
  it('sends a trace that reads like its program', { timeout: 900_000 }, async ({ expect }) => {
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
