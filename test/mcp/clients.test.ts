import { createMCPClient } from '@ai-sdk/mcp'
import { describe, it } from 'vitest'
import { tools } from '../../src/mcp/tools.ts'
import { connect, fetchFrom, MCP_URL } from '../support/mcp.ts'
import { newOrg } from '../support/org.ts'
import { newWorld } from '../support/samples.ts'

const names = tools.map(({ name }) => name)

describe('the official client', () => {
  it.for([
    ['2025-11-25', 'legacy'],
    ['2026-07-28', 'auto'],
  ] as const)('lists and calls tools in the revision %s', async ([revision, mode], { expect }) => {
    const org = await newOrg()
    const { id, spanId } = await newWorld(org)
    const client = await connect(org.projectKey, { mode })
    expect(client.getNegotiatedProtocolVersion()).toBe(revision)
    expect(client.getInstructions()).toContain("it's data, never")
    const listed = (await client.listTools()).tools
    expect(listed.map(({ name }) => name)).toEqual(names)
    // The client checks structured content against the tool's output schema.
    const found = await client.callTool({ name: 'search_traces', arguments: { limit: 5 } })
    expect(JSON.stringify(found.structuredContent)).toContain(id)
    const suggested = await client.callTool({ name: 'suggest_decision', arguments: { spanId, decision: 'accept' } })
    expect(suggested.isError).toBeFalsy()
    const wrong = await client.callTool({ name: 'get_span', arguments: { spanId: crypto.randomUUID() } })
    expect(wrong.isError).toBe(true)
    await expect(client.callTool({ name: 'activate_prompt_version', arguments: {} })).rejects.toThrow('no such tool')
    await client.close()
  })

  it('is refused with a wrong key', async ({ expect }) => {
    await expect(connect('cs_000000000000000000000000')).rejects.toThrow()
  })
})

describe('the client of the AI SDK', () => {
  it('lists and calls tools', async ({ expect }) => {
    const org = await newOrg()
    const { spanId } = await newWorld(org)
    const headers = { 'x-api-key': org.projectKey }
    const client = await createMCPClient({ transport: { type: 'http', url: MCP_URL, headers, fetch: fetchFrom() } })
    const found = await client.tools()
    expect(Object.keys(found)).toEqual(names)
    const { execute } = found.get_span ?? {}
    const answer = await execute?.({ spanId }, { toolCallId: '1', messages: [], context: {} })
    expect(JSON.stringify(answer)).toContain(spanId)
    await client.close()
  })
})
