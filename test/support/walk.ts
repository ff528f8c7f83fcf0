import type { Contract } from '../../src/api/contract.ts'
import { endpoints } from '../../src/app.ts'
import { isReading } from '../../src/mcp/tool.ts'
import { tools } from '../../src/mcp/tools.ts'
import { argumentsFor } from './mcp.ts'
import type { ApiResponse, Client } from './org.ts'
import { sampleOf, type World } from './samples.ts'

/* Calls every GET endpoint, with each of its query parameters. */

const gets: readonly Contract[] = endpoints
  .map(({ contract }) => contract)
  .filter(({ method, scope }) => method === 'GET' && scope !== 'public' && scope !== 'admin')

/**
 * More calls at the same time wouldn't be faster. On a busy machine, they would take so long that they would miss their
 * deadlines.
 */
const CONCURRENT_CALLS = 4

/** A trace with the span that people review. */
export type Place = Pick<World, 'traceId' | 'id' | 'spanId'>

/**
 * The paths of each GET endpoint in a world: a path for each resource that it can name, and a path for each value of
 * each query parameter. `values` has the values for parameters that accept any value. Throws if a parameter has no
 * values.
 */
export function pathsOf(world: World, places: readonly Place[], values: Readonly<Record<string, readonly string[]>>) {
  const unfiltered = gets.flatMap(contract =>
    places.map(place => unlimited(sampleOf(contract).path({ ...world, ...place }))),
  )
  const filtered = gets.flatMap(contract => {
    const path = unlimited(sampleOf(contract).path(world))
    return Object.entries(contract.query?.entries ?? {}).flatMap(([name, schema]) =>
      (optionsOf(schema) ?? values[name] ?? missing(contract, name)).map(value => withParameter(path, name, value)),
    )
  })
  return { unfiltered: [...new Set(unfiltered)], all: [...new Set([...unfiltered, ...filtered])] }
}

const missing = ({ path }: Contract, name: string): never => {
  throw new Error(`The walk has no value for ${name} in ${path}`)
}

/** Removes the limit that keeps some samples' pages short. */
function unlimited(path: string): string {
  const url = new URL(path, 'https://countersign.test')
  url.searchParams.delete('limit')
  return url.pathname + url.search
}

function withParameter(path: string, name: string, value: string): string {
  const url = new URL(path, 'https://countersign.test')
  url.searchParams.set(name, value)
  return url.pathname + url.search
}

/** The values that a parameter accepts. Undefined if it accepts any value. */
function optionsOf(schema: unknown): readonly string[] | undefined {
  if (typeof schema !== 'object' || schema === null) return undefined
  if ('wrapped' in schema) return optionsOf(schema.wrapped)
  if ('options' in schema && Array.isArray(schema.options)) {
    return schema.options.every(option => typeof option === 'string') ? schema.options : undefined
  }
  return 'literal' in schema ? [String(schema.literal)] : undefined
}

/** The response that a caller gets at each path: the status, the headers, and the body. */
export async function see(caller: Client, paths: readonly string[]): Promise<Map<string, Seen>> {
  const seen = new Map<string, Seen>()
  const left = paths.values()
  await Promise.all(
    Array.from({ length: CONCURRENT_CALLS }, async () => {
      for (const path of left) {
        // Calls with a key for all projects must name the project when they read from `/api/v1/`.
        const headers = path.startsWith('/api/v1/') ? { 'x-project-slug': 'support' } : {}
        const response = await caller.get(path, undefined, headers)
        if (response.status >= 500) throw new Error(`${path} returned ${response.status}`)
        seen.set(path, seenIn(response))
      }
    }),
  )
  return seen
}

/** What a caller's agent gets from each read-only tool, for each place that the tool can name. */
export async function seeTools(caller: Client, world: World, places: readonly Place[]): Promise<Map<string, Seen>> {
  const calls = tools
    .filter(isReading)
    .flatMap(tool => places.map(place => ({ name: tool.name, arguments: argumentsFor(tool, { ...world, ...place }) })))
  const seen = new Map<string, Seen>()
  const left = new Map(calls.map(params => [JSON.stringify(params), params])).entries()
  await Promise.all(
    Array.from({ length: CONCURRENT_CALLS }, async () => {
      for (const [key, params] of left) {
        const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: withProject(params) }
        const { status, headers, body } = seenIn(await caller.post('/mcp', message))
        seen.set(key, { status, headers, body: dataIn(body) })
      }
    }),
  )
  return seen
}

/** Adds the project, because calls with a key for all projects must name one. */
const withProject = (params: { name: string; arguments: Record<string, unknown> }) => {
  const tool = tools.find(({ name }) => name === params.name)
  const needsProject = tool?.endpoint.contract.query && 'projectSlug' in tool.endpoint.contract.query.entries
  return needsProject ? { ...params, arguments: { projectSlug: 'support', ...params.arguments } } : params
}

/** The data in a tool's answer, or the whole answer if the call failed. */
function dataIn(body: unknown): unknown {
  if (!isObject(body) || !isObject(body.result) || !isObject(body.result.structuredContent)) return body
  const { structuredContent } = body.result
  return structuredContent.data ?? structuredContent
}

export interface Seen {
  status: number
  headers: Record<string, string>
  body: unknown
}

/** Headers that differ from response to response. */
const PASSING = ['x-request-id', 'date', 'ratelimit']

const seenIn = ({ status, headers, body }: ApiResponse): Seen => ({
  status,
  headers: Object.fromEntries([...headers].filter(([name]) => !PASSING.includes(name))),
  body: JSON.parse(JSON.stringify(body ?? null), (name, value) => (name === 'requestId' ? undefined : value)),
})

/** Where two JSON values first differ, and how. Undefined if they're equal. */
export function differenceOf(before: unknown, after: unknown, at = ''): string | undefined {
  if (Object.is(before, after)) return undefined
  if (!isObject(before) || !isObject(after)) return `${at} ${JSON.stringify(before)} → ${JSON.stringify(after)}`
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const found = differenceOf(before[key], after[key], `${at}.${key}`)
    if (found !== undefined) return found
  }
  return undefined
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
