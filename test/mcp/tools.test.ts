import { beforeAll, describe, it } from 'vitest'
import guide from '../../docs/mcp.md?raw'
import { SCOPES, type Scope } from '../../src/domain/api-key.ts'
import { argumentsOf } from '../../src/mcp/tool.ts'
import { tools } from '../../src/mcp/tools.ts'
import { agentOf, argumentsFor } from '../support/mcp.ts'
import { newOrg, type Org } from '../support/org.ts'
import { newWorld, renew, sampleOf, type World } from '../support/samples.ts'

/** The scopes that allow the use of each tool. Any one of them is enough. */
const NEEDED: Readonly<Record<string, readonly Scope[]>> = {
  search_traces: ['read'],
  get_trace: ['read'],
  search_spans: ['read'],
  get_span: ['read'],
  next_review_item: ['review'],
  suggest_decision: ['review'],
  list_error_types: ['read'],
  attribute_trace: ['ingest', 'read'],
  get_attribution: ['ingest', 'read'],
  list_prompts: ['read'],
  get_prompt: ['read'],
  add_prompt_version: ['manage'],
  list_datasets: ['read'],
  list_experiments: ['read'],
  start_experiment: ['review'],
  get_experiment: ['read'],
  list_experiment_items: ['read'],
  add_experiment_results: ['review', 'manage'],
  finish_experiment: ['review'],
  cancel_experiment: ['review'],
  list_problems: ['read'],
  get_problem: ['read'],
}

const named = tools.map(tool => [tool.name, tool] as const)

let org: Org
let world: World
let stranger: Org
beforeAll(async () => {
  org = await newOrg()
  world = await newWorld(org)
  stranger = await newOrg()
})

describe('the list of tools', () => {
  it.for(SCOPES)('contains the tools that a key with the scope %s may use', async (scope, { expect }) => {
    const agent = agentOf(await org.keyFor({ scopes: [scope] }))
    const expected = tools.map(({ name }) => name).filter(name => NEEDED[name]?.includes(scope))
    expect(await agent.tools()).toEqual(expected)
  })

  it('is short enough to be in every conversation', async ({ expect }) => {
    const { body } = await agentOf(org.projectKey).send('tools/list')
    expect(JSON.stringify(body.result.tools).length).toBeLessThan(34_000)
  })
})

describe.for(named)('%s', ([name, tool]) => {
  it('describes every argument, and says so if it changes nothing', ({ expect }) => {
    const { properties, required } = argumentsOf(tool)
    const { params } = tool.endpoint.contract
    const names = [...Object.keys(params?.entries ?? {}), ...tool.offers, ...Object.keys(tool.fixed ?? {})]
    expect(names).toEqual([...new Set(names)])
    for (const reserved of ['project', 'path', 'offset']) expect(names).not.toContain(reserved)
    expect(tool.description).toMatch(tool.endpoint.contract.method === 'GET' ? /Changes nothing\.$/ : /\.$/)
    for (const argument of [...tool.offers, ...required]) {
      expect(Object.entries(properties).find(([name]) => name === argument)?.[1], argument).toBeTypeOf('object')
    }
  })

  it('works with a key for the project, and with one for all projects', async ({ expect }) => {
    for (const key of [org.projectKey, org.ownerKey]) {
      world = await renew(world, sampleOf(tool.endpoint.contract))
      const takesProject = 'project' in argumentsOf(tool).properties
      const sent = { ...argumentsFor(tool, world), ...(key === org.ownerKey && takesProject && { project: 'support' }) }
      const { isError, structured } = await agentOf(key).call(name, sent)
      expect(structured.data, JSON.stringify(structured)).toBeTypeOf('object')
      expect(isError).toBe(false)
    }
  })

  it('needs its scope', async ({ expect }) => {
    const scopes = SCOPES.filter(scope => !NEEDED[name]?.includes(scope))
    const { isError, structured } = await agentOf(await org.keyFor({ scopes })).call(name, argumentsFor(tool, world))
    expect(isError).toBe(true)
    expect(structured).toMatchObject({ code: 'forbidden' })
    expect(structured.details[0].message).toContain(NEEDED[name]?.join(' or '))
  })

  it("neither shows nor changes another organization's data", async ({ expect }) => {
    const sent = { ...argumentsFor(tool, world) }
    for (const key of [stranger.ownerKey, stranger.projectKey]) {
      const takesProject = 'project' in argumentsOf(tool).properties
      const { isError, text, structured } = await agentOf(key).call(name, {
        ...sent,
        ...(key === stranger.ownerKey && takesProject && { project: 'support' }),
      })
      expect(text).not.toContain(org.project.id)
      expect(text).not.toContain(world.id)
      const namesIds = tool.endpoint.contract.path.includes('{') || JSON.stringify(sent).includes(world.dataset.id)
      if (!namesIds) continue
      expect([isError, ['forbidden', 'not_found']]).toEqual([true, expect.arrayContaining([structured.code])])
    }
  })

  it('refuses unknown arguments', async ({ expect }) => {
    const sent = { ...argumentsFor(tool, world), override: 'now', projectId: org.project.id, ...tool.fixed }
    const { isError, structured } = await agentOf(org.projectKey).call(name, sent)
    expect(isError).toBe(true)
    const paths = structured.details.map(({ path }: { path: string }) => path)
    expect(paths).toEqual(expect.arrayContaining(['override', 'projectId', ...Object.keys(tool.fixed ?? {})]))
  })
})

describe('arguments', () => {
  it('may be null if they are optional', async ({ expect }) => {
    const sent = { contains: null, limit: null, metadata: null, project: null, path: null, offset: null }
    expect((await agentOf(org.projectKey).call('search_traces', sent)).isError).toBe(false)
    const { structured } = await agentOf(org.ownerKey).call('search_traces', sent)
    expect(structured.details[0].path).toBe('project')
  })

  it.for([
    ['half a character', 'get_span', { spanId: '\ud800' }, 'not_found'],
    ['half a character in a header', 'search_traces', { project: '\ud800' }, 'not_found'],
    ['a path', 'get_span', { spanId: '../traces' }, 'not_found'],
    ['an object', 'get_span', { spanId: {} }, 'invalid_request'],
    ['nothing', 'get_span', {}, 'invalid_request'],
    ['a list', 'search_traces', { contains: ['a'] }, 'invalid_request'],
    ['metadata that is a string', 'search_traces', { metadata: 'tier=gold' }, 'invalid_request'],
    ['an unknown order', 'search_traces', { sort: 'sideways' }, 'invalid_request'],
  ] as const)('are checked: %s', async ([, name, sent, code], { expect }) => {
    const { isError, structured } = await agentOf(org.projectKey).call(name, sent)
    expect([isError, structured.code]).toEqual([true, code])
  })

  it('can filter by metadata', async ({ expect }) => {
    const found = async (tier: string) =>
      (await agentOf(org.projectKey).call('search_traces', { metadata: { 'customer.tier': tier } })).structured.data
    expect((await found('gold')).traces.length).toBeGreaterThan(0)
    expect((await found('silver')).traces).toEqual([])
  })
})

describe('a key for all projects', () => {
  it('gets an error that lists the projects if a call specifies no project', async ({ expect }) => {
    const { isError, structured } = await agentOf(org.ownerKey).call('search_traces')
    expect(isError).toBe(true)
    expect(structured.details[0].path).toBe('project')
    expect(structured.details[0].message).toMatch(/The projects are: support, slug-/)
  })

  it('is needed to use more than one project', async ({ expect }) => {
    const { slug } = world.spareProject
    for (const name of ['search_traces', 'attribute_trace']) {
      const sent = { project: slug, ...(name === 'attribute_trace' && { traceId: world.traceId }) }
      const { structured } = await agentOf(org.projectKey).call(name, sent)
      expect(structured.code).toBe('forbidden')
    }
  })
})

describe('docs/mcp.md', () => {
  it('lists each tool with its scopes and what it does', ({ expect }) => {
    const rows = guide.split('\n').flatMap(line => {
      const [, name, scopes, does] = line.split('|').map(cell => cell.trim())
      return name?.startsWith('`') ? [[name, scopes, does]] : []
    })
    expect(rows).toEqual(
      tools.map(tool => [
        `\`${tool.name}\``,
        NEEDED[tool.name]?.map(scope => `\`${scope}\``).join(' or '),
        tool.description.replace(/ Changes nothing\.$/, ''),
      ]),
    )
  })
})
