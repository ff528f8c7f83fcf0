import { type JsonSchema as ConvertedSchema, toJsonSchema } from '@valibot/to-json-schema'
import type * as v from 'valibot'
import { BOOKMARK_HEADER } from '../domain/bookmark.ts'
import { ERROR_STATUSES, ERRORS, ErrorBody, type ErrorStatus, RpcErrorBody, StatusBody } from '../http/errors.ts'
import { type Contract, type Family, hasCaller, isIngestion, mayReadReplicas } from './contract.ts'

import type { Endpoint } from './endpoint.ts'

type JsonSchema = Record<string, unknown>

type Schemas = Readonly<Record<string, v.GenericSchema<unknown, unknown>>>

/** Named schemas of responses and request bodies. Each appears as one component, however often it's used. */
interface Components {
  output: Schemas
  input: Schemas
}

const DESCRIPTION = `Records the runs of AI pipelines, keeps the prompts and knowledge docs they used, and lets reviewers
turn outputs into ground truth.

Pipelines post to \`/api/v1/\` in snake_case; all other endpoints, for reading, reviewing, and managing, use camelCase. Give
each write an ID of your own choosing (\`trace_id\`, \`span_id\`, \`observation_id\`, \`feedback_id\`, a comment's \`id\`). You can then
safely retry any request that returns a 429, a 5xx, or nothing. Reviews are always safe to retry. Values are JSON with
IEEE 754 numbers: integers past 2^53 lose precision. Times are \`YYYY-MM-DDTHH:mm:ss.sssZ\`. Bodies may be compressed with gzip,
deflate, or zstd. Every call with a key counts toward the key's rate limit.

If you already export OpenTelemetry data, you don't need anything else: send OTLP/HTTP to \`/api/v1/otel\`, to \`/\`, or to the paths that
the Langfuse and LangSmith SDKs use; \`/api/v1/traces\` also accepts exports. An OpenTelemetry trace gets the ID \`trace_\`
followed by its hex trace ID.`

/** The OpenAPI 3.1 document of a list of endpoints, built from their contracts. */
export function openApiDocument(
  endpoints: readonly Endpoint[],
  components: Components,
): JsonSchema & { openapi: string } {
  const schemas = new NamedSchemas(components)
  const paths: Record<string, JsonSchema> = {}
  for (const { contract } of endpoints) {
    const described = operation(contract, schemas)
    paths[contract.path] = { ...paths[contract.path], [contract.method.toLowerCase()]: described }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Countersign', version: '1', description: DESCRIPTION },
    servers: [{ url: '/' }],
    components: {
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
        bearer: { type: 'http', scheme: 'bearer' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: '__Host-countersign',
          description: "The app's session cookie (HTTPS only)",
        },
        adminToken: { type: 'http', scheme: 'bearer', description: "The deployment's `ADMIN_TOKEN`" },
      },
      schemas: schemas.components(),
    },
    paths,
  }
}

function operation(contract: Contract, schemas: NamedSchemas): JsonSchema {
  return {
    summary: contract.summary,
    ...(contract.description !== undefined && { description: contract.description }),
    operationId: operationId(contract),
    tags: [TAGS[contract.family]],
    security: security(contract),
    parameters: [
      ...parameters('path', contract.params),
      ...parameters('query', contract.query),
      ...metadataParameters(contract),
      ...headerParameters(contract),
    ],
    ...(contract.body && {
      requestBody: {
        required: contract.body.type !== 'optional',
        content: json(schemas.reference(contract.body, 'input'), contract.example.body),
      },
    }),
    responses: { ...successes(contract, schemas), ...failures(contract) },
  }
}

const TAGS: Readonly<Record<Family, string>> = {
  ingest: 'Ingestion',
  otlp: 'OpenTelemetry',
  read: 'Reading',
  review: 'Reviewing',
  dataset: 'Datasets',
  experiment: 'Experiments',
  problem: 'Problems',
  webhook: 'Webhooks',
  manage: 'Management',
  mcp: 'Model Context Protocol',
  session: 'Signing in',
  operation: 'Operation',
}

/** Turns `POST /api/v1/traces` into `postApiV1Traces`. */
const operationId = ({ method, path }: Contract): string =>
  method.toLowerCase() + path.replace(/[^a-zA-Z0-9]+(\w?)/g, (_, letter: string) => letter.toUpperCase())

function security({ scope, family }: Contract): JsonSchema[] {
  if (scope === 'public') return []
  if (scope === 'admin') return [{ adminToken: [] }]
  return [{ apiKey: [] }, { bearer: [] }, ...(family === 'otlp' || family === 'mcp' ? [] : [{ session: [] }])]
}

const json = (schema: JsonSchema, example?: object | string): JsonSchema => ({
  'application/json': { schema, ...(example && { example }) },
})

function parameters(place: 'path' | 'query', schema: Contract['params'] | Contract['query']): JsonSchema[] {
  if (!schema) return []
  const { properties = {}, required = [] } = inputSchema(schema)
  return Object.entries(properties as Record<string, JsonSchema>).map(([name, { description, ...schema }]) => ({
    name,
    in: place,
    required: (required as string[]).includes(name),
    ...(description !== undefined && { description }),
    schema,
  }))
}

/** Describes query parameters whose names the client chooses. */
function metadataParameters({ metadataPrefix }: Contract): JsonSchema[] {
  if (metadataPrefix === undefined) return []
  const isAnyName = metadataPrefix === ''
  return [
    {
      name: 'metadata',
      in: 'query',
      required: false,
      description: `${isAnyName ? 'Any other parameter' : `A parameter whose name begins with \`${metadataPrefix}\``} filters by the metadata field with that dotted path.`,
      style: 'form',
      explode: true,
      schema: {
        type: 'object',
        ...(!isAnyName && { propertyNames: { pattern: `^${metadataPrefix.replaceAll('.', '\\.')}` } }),
        additionalProperties: { type: 'string' },
      },
    },
  ]
}

function headerParameters(contract: Contract): JsonSchema[] {
  const header = (name: string, description: string) => ({
    name,
    in: 'header',
    description,
    schema: { type: 'string' },
  })
  if (!hasCaller(contract)) return []
  return [
    header(
      'x-org-slug',
      "The slug of the key's organization. If the key belongs to a different one, the request gets a 401.",
    ),
    ...(isIngestion(contract)
      ? [header('x-project-slug', 'The project, for a key that can access all projects in its organization.')]
      : []),
    ...(contract.etag === 'body'
      ? [
          header(
            'if-none-match',
            'The ETag of the version you already have. If nothing has changed since, the response is a 304.',
          ),
        ]
      : []),
    ...(contract.etag === 'guard'
      ? [
          header(
            'if-match',
            'The ETag of the version you last read. If the resource has changed since, the response is a 412.',
          ),
        ]
      : []),
    ...(mayReadReplicas(contract)
      ? [
          header(
            BOOKMARK_HEADER,
            'The bookmark from an earlier response. This response will be at least as recent. To send several bookmarks, separate them with commas.',
          ),
        ]
      : []),
    ...(contract.location === 202
      ? [header('prefer', 'If this is `respond-async`, the response is an immediate 202.')]
      : []),
  ]
}

function successes(contract: Contract, schemas: NamedSchemas): JsonSchema {
  const headers = {
    ...(contract.etag && { ETag: ETAG }),
    ...(hasCaller(contract) && {
      RateLimit: RATE_LIMIT,
      'RateLimit-Policy': RATE_LIMIT_POLICY,
      [BOOKMARK_HEADER]: BOOKMARK,
      ...(contract.method === 'GET' && { 'x-missing-shards': MISSING_SHARDS }),
    }),
  }
  const responses: JsonSchema = {}
  for (const [status, schema] of Object.entries(contract.responses)) {
    const example = contract.example.answers[Number(status)]
    const content = contract.files ? fileContent(contract.files) : json(schemas.reference(schema, 'output'), example)
    const more = {
      ...(Number(status) === contract.location && { Location: LOCATION }),
      ...(contract.files && { 'x-next-cursor': NEXT_CURSOR, 'Content-Disposition': CONTENT_DISPOSITION }),
    }
    responses[status] = {
      description: ANSWERS[Number(status)] ?? 'Success',
      headers: { ...headers, ...more },
      ...(example !== undefined && { content }),
    }
  }
  if (contract.etag === 'body') responses[304] = { description: 'Not modified', headers: { ETag: ETAG } }
  return responses
}

const fileContent = (files: Readonly<Record<string, string>>): JsonSchema =>
  Object.fromEntries(
    Object.entries(files).map(([type, example]) => [type, { schema: { type: 'string' }, example }] as const),
  )

const ANSWERS: Readonly<Record<number, string>> = {
  200: 'Success',
  201: 'Created',
  202: 'Accepted',
  207: 'A separate result for each item',
}

const textHeader = (description: string, example: string) => ({ description, schema: { type: 'string' }, example })

const ETAG = textHeader('Identifies the current version of the resource', '"2f0a9c41d7ab3e58"')
const BOOKMARK = textHeader(
  'On a deployment with read replicas, says how recent the response is. If you send it with a later request, the response to that request is at least as recent.',
  'DB=00000085-0000024c-00004c6d-8e61117bf38d7adb71b934ebbf891683',
)
const MISSING_SHARDS = textHeader(
  "On a deployment with several databases, the numbers that identify those that didn't respond. The response doesn't include their traces. Absent if all of them responded.",
  '2',
)
const RATE_LIMIT = textHeader(
  'The number of requests left (`r`), and the number of seconds until the limit resets (`t`)',
  '"default";r=5999;t=60',
)
const RATE_LIMIT_POLICY = textHeader(
  'The number of requests allowed (`q`) in any period of 60 seconds (`w`)',
  '"default";q=6000;w=60',
)
const LOCATION = textHeader(
  'The URL of the resource, which may not be ready yet',
  '/api/prompts/a7b8c9d0-1e2f-4a3b-8c4d-5e6f7a8b9c71',
)
const NEXT_CURSOR = textHeader('The `cursor` for the next file. Absent if this is the last file.', 'MmM5ZjE0')
const CONTENT_DISPOSITION = textHeader('The name to save the file under', 'attachment; filename="export.jsonl"')
const RETRY_AFTER = textHeader('The number of seconds to wait before retrying', '2')

/** Every error status that the request pipeline or the endpoint itself can return, with its message. */
export function errorStatuses(contract: Contract): Map<ErrorStatus, string> {
  const { family, scope, body, errors = {} } = contract
  const isOpen = scope === 'public'
  const fromOrder: Partial<Record<ErrorStatus, boolean>> = {
    400: !isOpen || family !== 'operation',
    401: !isOpen,
    403: (!isOpen && scope !== 'admin') || contract.managesSession === true,
    404: scope === 'admin' || isIngestion(contract) || contract.params !== undefined,
    412: contract.etag === 'guard',
    413: body !== undefined,
    415: body !== undefined,
    429: !isOpen || contract.isLimitedByAddress === true,
    500: family !== 'otlp',
    503: !isOpen,
  }
  const statuses = ERROR_STATUSES.filter(status => fromOrder[status] || errors[status] !== undefined)
  return new Map(statuses.map(status => [status, errors[status] ?? ERRORS[status].message]))
}

const failures = (contract: Contract): JsonSchema =>
  Object.fromEntries(
    Array.from(errorStatuses(contract), ([status, message]) => {
      const content = contract.family === 'otlp' ? STATUS : errorContent(status, message, contract.family)
      const headers = ERROR_HEADERS[status]
      return [status, { description: message, ...(headers && { headers }), content }]
    }),
  )

const ERROR_HEADERS: Readonly<Partial<Record<ErrorStatus, JsonSchema>>> = {
  401: { 'WWW-Authenticate': textHeader('How to authenticate', 'Bearer realm="countersign"') },
  429: { 'Retry-After': RETRY_AFTER },
  503: { 'Retry-After': RETRY_AFTER },
}

const referenceTo = (name: string) => ({ $ref: `#/components/schemas/${name}` })

/** If an MCP request fails before its message is read, the error has the format of the other endpoints. */
const EITHER_ERROR = { anyOf: [referenceTo('Error'), referenceTo('RpcError')] }

const STATUS = json(referenceTo('Status'), { code: 3, message: 'The body cannot be decoded' })

const errorContent = (status: ErrorStatus, message: string, family: Family): JsonSchema =>
  json(family === 'mcp' ? EITHER_ERROR : referenceTo('Error'), {
    error: status === 400 ? 'timestamp: is required' : message,
    code: ERRORS[status].code,
    ...(status === 400 && { details: [{ path: 'timestamp', message: 'is required' }] }),
    requestId: '9b2f6c1e-3d4a-4e5b-8f6c-7a8b9c0d1e2f',
  })

type TypeMode = 'input' | 'output'

/** Maps each schema to its component name. */
type Names = ReadonlyMap<object, string>

/** Named schemas. The document references them instead of repeating them. */
class NamedSchemas {
  readonly #schemas: Readonly<Record<TypeMode, Schemas>>
  readonly #names: Readonly<Record<TypeMode, Names>>

  constructor({ input, output }: Components) {
    this.#schemas = { input, output: { ...output, Error: ErrorBody, RpcError: RpcErrorBody, Status: StatusBody } }
    this.#names = { input: namesOf(this.#schemas.input), output: namesOf(this.#schemas.output) }
  }

  /** A reference if the schema has a name, or else the schema itself. */
  reference(schema: v.GenericSchema<unknown, unknown>, typeMode: TypeMode): JsonSchema {
    const name = this.#names[typeMode].get(schema)
    return name === undefined ? jsonSchema(schema, typeMode, this.#names[typeMode]) : referenceTo(name)
  }

  components(): Record<string, JsonSchema> {
    const componentsIn = (typeMode: TypeMode) =>
      Object.entries(this.#schemas[typeMode]).map(([name, schema]) => [
        name,
        jsonSchema(schema, typeMode, this.#names[typeMode]),
      ])
    return Object.fromEntries([...componentsIn('output'), ...componentsIn('input')])
  }
}

const namesOf = (schemas: Schemas): Names => new Map(Object.entries(schemas).map(([name, schema]) => [schema, name]))

/** The JSON Schema of what a client sends, without references. */
export const inputSchema = (schema: v.GenericSchema<unknown, unknown>): JsonSchema =>
  jsonSchema(schema, 'input', new Map())

/**
 * Checks that are functions (a real date, well-formed text) aren't in the JSON Schema unless atoms.ts documents them.
 */
function jsonSchema(schema: v.GenericSchema<unknown, unknown>, typeMode: TypeMode, names: Names): JsonSchema {
  const { $schema, ...rest } = toJsonSchema(schema, {
    typeMode,
    errorMode: 'ignore',
    overrideSchema: ({ valibotSchema, jsonSchema: converted }) => {
      const name = valibotSchema === schema ? undefined : names.get(valibotSchema)
      if (name !== undefined) return referenceTo(name)
      if (!('shown' in valibotSchema)) return withDocumented(valibotSchema, converted)
      const shown = valibotSchema.shown as v.GenericSchema<unknown, unknown>
      const shownName = names.get(shown)
      return shownName === undefined ? jsonSchema(shown, typeMode, names) : referenceTo(shownName)
    },
    overrideAction: ({ valibotAction, jsonSchema: converted }) => withDocumented(valibotAction, converted),
  })
  return rest
}

const withDocumented = (item: object, converted: ConvertedSchema): ConvertedSchema | undefined =>
  'jsonSchema' in item ? { ...converted, ...(item.jsonSchema as ConvertedSchema) } : undefined
