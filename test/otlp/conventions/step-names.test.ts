import { describe, it } from 'vitest'
import { nameInGraph, splitMetadata, stableName } from '../../../src/otlp/reading/step-names.ts'

const UUID = 'a994f42f-721c-428c-b47e-abb3fb51fb9b'

describe('the name of a step', () => {
  it.for([
    [`Crew_${UUID}.kickoff`, 'Crew.kickoff'],
    [`autogen process support_agent_${UUID}.(${UUID})-A`, 'autogen process support_agent-A'],
    [`run ${UUID}`, 'run'],
    [UUID, ''],
    ['agent 9f86d081884c7d659a2feaa0c55ad015', 'agent'],
    ['<function answer at 0x7f66529cf6a0>', '<function answer at>'],
    ['Step 12', 'Step'],
    ['iteration_3', 'iteration'],
    ['agent loop #4', 'agent loop'],
  ] as const)('%s becomes %s', ([given, name], { expect }) => {
    expect(stableName(given)).toBe(name)
  })

  it.for([
    'answer',
    'chat gpt-4.1-mini-2026-01-01',
    'stage 2',
    'GET /orders/1234567890123456',
    'feedface',
    'deadbeefdeadbeef',
    'sidestep 2',
  ])('%s stays unchanged', (name, { expect }) => {
    expect(stableName(name)).toBe(name)
  })

  it.for(['-'.repeat(1e6), 'a1'.repeat(5e5), `${'_'.repeat(5e5)}${UUID}`.repeat(2), ' '.repeat(1e6)])(
    'is computed quickly, even from a huge string',
    (name, { expect }) => {
      const start = performance.now()
      stableName(name)
      expect(performance.now() - start).toBeLessThan(500)
    },
  )

  it('combines the names of the agent and the node in a graph', ({ expect }) => {
    expect(nameInGraph('chain', 'model', { langgraph_node: 'model' })).toBe('model')
    expect(nameInGraph('llm', 'ChatOpenAI', { langgraph_node: 'model', lc_agent_name: 'support' })).toBe(
      'support.model.ChatOpenAI',
    )
    expect(nameInGraph('tool', 'get_order', { langgraph_node: 'tools' })).toBe(undefined)
    expect(nameInGraph('llm', 'ChatOpenAI', {})).toBe(undefined)
  })
})

it('splits metadata into the caller’s and the run’s, and drops empty values', ({ expect }) => {
  const metadata = {
    tenant: 'acme',
    langgraph_node: 'plan',
    checkpoint_ns: `plan:${UUID}`,
    ls_provider: 'openai',
    team_id: '',
    headers: {},
    tags: [],
    user: null,
    count: 0,
  }
  expect(splitMetadata(metadata)).toEqual({
    own: { tenant: 'acme', count: 0 },
    run: { langgraph_node: 'plan', checkpoint_ns: `plan:${UUID}` },
  })
  expect(splitMetadata(undefined)).toEqual({ own: undefined, run: undefined })
})
