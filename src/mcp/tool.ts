import type * as v from 'valibot'
import { isIngestion } from '../api/contract.ts'
import type { Endpoint } from '../api/endpoint.ts'
import { inputSchema } from '../api/openapi.ts'
import type { Caller } from '../auth/authenticate.ts'
import type { Scope } from '../domain/api-key.ts'
import { isJsonObject, type Json, type JsonObject } from '../domain/json.ts'
import { type ErrorDetail, invalidRequest } from '../http/errors.ts'
import { PROJECT_HEADER } from '../ingest/project.ts'

/**
 * A tool is a name for an endpoint. A call to the tool is a request to that endpoint, so scopes, tenancy, blindness,
 * validation, and timeouts are the endpoint's, and no tool can bypass them.
 */
export interface Tool {
  /** Never change a tool's name, because agents' settings and prompts refer to it. */
  readonly name: string
  readonly title: string
  /** Says what the call changes. */
  readonly description: string
  readonly endpoint: Endpoint
  /** The query parameters and body fields that agents may set, in addition to the path parameters. */
  readonly offers: readonly string[]
  /** Values for other parameters and fields, which agents can't change. */
  readonly fixed?: Readonly<Record<string, string | boolean>>
  /** Values for offered parameters and fields that the agent doesn't set. */
  readonly defaults?: Readonly<Record<string, string | number>>
  /** Schemas to show in place of the endpoint's, for a body that has several forms. */
  readonly shown?: Readonly<Record<string, JsonObject>>
  /** The arguments in `shown` that are required. */
  readonly required?: readonly string[]
  /** Whether a call with these arguments needs a project, if the endpoint accepts one. Default: true. */
  readonly needsProject?: (sent: JsonObject) => boolean
  /** Whether repeating a call with the same arguments changes nothing more. Default: true if the tool only reads. */
  readonly isIdempotent?: boolean
  /** Whether a call replaces or ends something. */
  readonly isDestructive?: boolean
}

/** The arguments that choose which part of the response to show. Every tool that reads has them. */
const PART = {
  path: {
    type: 'string',
    description: 'The only part of `data` to show, as a JSON Pointer',
  },
  offset: {
    type: 'integer',
    minimum: 0,
    description: 'Where to continue in that part: the `continuesAt` from the previous answer',
  },
} as const satisfies Record<string, JsonObject>

const PROJECT = {
  type: 'string',
  description: "The project's slug. Required if the key is for all projects.",
}

const contractOf = ({ endpoint }: Tool) => endpoint.contract

/** Whether a tool only reads. */
export const isReading = (tool: Tool): boolean => contractOf(tool).method === 'GET'

/** The scopes that allow a tool. Any one of them is enough. */
export function scopesOf(tool: Tool): readonly Scope[] {
  const { scope } = contractOf(tool)
  if (scope === 'admin' || scope === 'public') return []
  return typeof scope === 'string' ? [scope] : scope
}

/** Whether a caller may use a tool. */
export const isAllowed = (tool: Tool, { scopes }: Pick<Caller, 'scopes'>): boolean =>
  scopesOf(tool).some(scope => scopes.includes(scope))

const takesProject = (tool: Tool): boolean => {
  const { query, body } = contractOf(tool)
  return isIngestion(contractOf(tool)) || hasField(query, 'projectSlug') || hasField(body, 'projectSlug')
}

const hasField = (schema: object | undefined, name: string): boolean =>
  schema !== undefined && 'entries' in schema && isRecord(schema.entries) && Object.hasOwn(schema.entries, name)

const isRecord = (value: unknown): value is object => typeof value === 'object' && value !== null

/** Whether a call names no project although it has to. A caller whose key is limited to one project never has to. */
export const lacksProject = (tool: Tool, sent: JsonObject, { project }: Pick<Caller, 'project'>): boolean =>
  takesProject(tool) && !project && (sent.project ?? null) === null && (tool.needsProject?.(sent) ?? true)

/** A tool as `tools/list` describes it. */
export function describeTool(tool: Tool) {
  const { method } = contractOf(tool)
  const readOnlyHint = method === 'GET'
  return {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: argumentsOf(tool),
    outputSchema: OUTPUT,
    annotations: {
      title: tool.title,
      readOnlyHint,
      destructiveHint: tool.isDestructive ?? false,
      idempotentHint: tool.isIdempotent ?? readOnlyHint,
      openWorldHint: false,
    },
  }
}

/** The schema is short, because every conversation contains it once per tool. */
const OUTPUT = {
  type: 'object' as const,
  properties: { notice: { type: 'string' }, data: {}, shortened: { type: 'array' } },
  required: ['notice'],
}

/** Where an argument goes in the request, and its name there. */
interface Place {
  in: 'path' | 'query' | 'metadata' | 'header' | 'body'
  name: string
}

/** Where each argument goes. */
function placesOf(tool: Tool): Map<string, Place> {
  const { params, query, body, metadataPrefix } = contractOf(tool)
  const places = new Map<string, Place>()
  for (const name of Object.keys(params?.entries ?? {})) places.set(argumentName(name), { in: 'path', name })
  for (const name of [...tool.offers, ...Object.keys(tool.fixed ?? {})]) {
    const isFilter = name === 'metadata' && metadataPrefix !== undefined
    places.set(name, { in: isFilter ? 'metadata' : hasField(query, name) ? 'query' : 'body', name })
  }
  if (isIngestion(contractOf(tool))) places.set('project', { in: 'header', name: PROJECT_HEADER })
  else if (takesProject(tool)) {
    places.set('project', { in: hasField(body, 'projectSlug') ? 'body' : 'query', name: 'projectSlug' })
  }
  return places
}

/** Ingestion's parameters are in snake_case. Arguments are all in camelCase, like the names that tools show. */
const argumentName = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

/** The JSON Schema of a tool's arguments. */
export function argumentsOf(tool: Tool) {
  const { params, query, body } = contractOf(tool)
  const converted = { path: fieldsOf(params), query: fieldsOf(query), body: fieldsOf(body) }
  const properties: Record<string, unknown> = {}
  const required: string[] = []
  for (const [argument, place] of placesOf(tool)) {
    if (tool.fixed && argument in tool.fixed) continue
    if (argument === 'project') properties.project = PROJECT
    else if (place.in === 'metadata') properties.metadata = METADATA
    else if (place.in !== 'header') {
      const { fields, needed } = converted[place.in]
      properties[argument] = tool.shown?.[argument] ?? fields[place.name]
      if (needed.includes(place.name) || tool.required?.includes(argument)) required.push(argument)
    }
  }
  return {
    type: 'object' as const,
    properties: { ...properties, ...(isReading(tool) && PART) },
    required,
    additionalProperties: false,
  }
}

function fieldsOf(schema: v.GenericSchema<unknown, unknown> | undefined) {
  const { properties = {}, required = [] } = schema ? inputSchema(schema) : {}
  return { fields: properties as Record<string, unknown>, needed: required as readonly string[] }
}

const METADATA = {
  type: 'object',
  description: "The values that the trace's metadata fields must have, keyed by dotted path",
  additionalProperties: { type: 'string' },
}

/**
 * The request that a call makes to a tool's endpoint. 400 if an argument is unknown, missing, or of a type that can't
 * be sent.
 */
export function requestOf(
  tool: Tool,
  sent: JsonObject,
  { project }: Pick<Caller, 'project'>,
  { url, signal }: Request,
): { request: Request; params: Record<string, string> } {
  const { method, path, body } = contractOf(tool)
  const places = placesOf(tool)
  const params: Record<string, string> = {}
  const query: [name: string, value: string][] = []
  const headers = new Headers(body && { 'content-type': 'application/json' })
  const content: JsonObject = {}
  const faults: ErrorDetail[] = []
  const scalar = (argument: string, value: Json): string => {
    if (typeof value === 'object') faults.push({ path: argument, message: 'must be a string' })
    // A URL can't contain half of a surrogate pair.
    return String(value).toWellFormed()
  }
  const put = (argument: string, value: Json, place: Place) => {
    if (place.in === 'body') content[place.name] = value
    else if (place.in === 'path') params[place.name] = encodeURIComponent(scalar(argument, value))
    else if (place.in === 'query') query.push([place.name, scalar(argument, value)])
    else if (place.in === 'header') headers.set(place.name, encodeURIComponent(scalar(argument, value)))
    else if (!isJsonObject(value)) faults.push({ path: argument, message: 'must be an object' })
    else {
      for (const [field, wanted] of Object.entries(value)) {
        query.push([`${contractOf(tool).metadataPrefix}${field}`, scalar(`${argument}.${field}`, wanted)])
      }
    }
  }

  const own: JsonObject = project && takesProject(tool) ? { project: project.slug } : {}
  // Models send null for arguments that they don't use. Only a value in the body can really be meant as null.
  const given = Object.entries(withoutPart(tool, sent)).filter(
    ([argument, value]) => value !== null || (places.get(argument)?.in === 'body' && argument !== 'project'),
  )
  for (const [argument, value] of Object.entries({ ...own, ...tool.defaults, ...Object.fromEntries(given) })) {
    const place = places.get(argument)
    if (!place || (tool.fixed && argument in tool.fixed)) faults.push({ path: argument, message: 'is not recognized' })
    else put(argument, value, place)
  }
  for (const [argument, value] of Object.entries(tool.fixed ?? {})) {
    const place = places.get(argument)
    if (place) put(argument, value, place)
  }
  for (const [argument, place] of places) {
    if (place.in === 'path' && !Object.hasOwn(params, place.name)) {
      faults.push({ path: argument, message: 'is required' })
    }
  }
  if (faults.length > 0) throw invalidRequest(faults)
  const target = new URL(
    path.replace(/{(\w+)}/g, (_, name: string) => params[name] ?? ''),
    url,
  )
  target.search = new URLSearchParams(query).toString()
  const request = new Request(target, { method, headers, signal, ...(body && { body: JSON.stringify(content) }) })
  return { request, params }
}

/** The arguments to send to the endpoint: all except those that choose a part of the response. */
function withoutPart(tool: Tool, sent: JsonObject): JsonObject {
  if (!isReading(tool)) return sent
  const { path: _, offset: __, ...others } = sent
  return others
}
