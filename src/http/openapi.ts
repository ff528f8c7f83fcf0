import { type JsonSchema as ConvertedSchema, toJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'
import { type Contract, type Endpoint, isIngestion } from './endpoint.ts'

type JsonSchema = Record<string, unknown>

/** The OpenAPI 3.1 document of a list of endpoints. Nothing in it is written by hand but what contracts say. */
export function openApiDocument(endpoints: readonly Endpoint[]): JsonSchema & { openapi: string } {
  const paths: Record<string, JsonSchema> = {}
  for (const { contract } of endpoints) {
    paths[contract.path] = { ...paths[contract.path], [contract.method.toLowerCase()]: operation(contract) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Countersign',
      version: '1',
      description: 'Records the runs of AI pipelines: traces, observations and feedback.',
    },
    servers: [{ url: '/' }],
    components: {
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
        bearer: { type: 'http', scheme: 'bearer' },
        adminToken: { type: 'http', scheme: 'bearer', description: 'ADMIN_TOKEN of the deployment' },
      },
      schemas: { Error: jsonSchema(ErrorBody, 'output') },
    },
    paths,
  }
}

/** The body of every error. */
export const ErrorBody = v.strictObject({
  error: v.string(),
  code: v.string(),
  details: v.optional(v.array(v.strictObject({ path: v.string(), message: v.string() }))),
  requestId: v.string(),
})

function operation(contract: Contract): JsonSchema {
  return {
    summary: contract.summary,
    operationId: operationId(contract),
    tags: [tagOf(contract)],
    security: security(contract),
    parameters: [
      ...parameters('path', contract.params),
      ...parameters('query', contract.query),
      ...headerParameters(contract),
    ],
    ...(contract.body && {
      requestBody: {
        required: contract.body.type !== 'optional',
        content: { 'application/json': { schema: jsonSchema(contract.body, 'input') } },
      },
    }),
    responses: { ...successes(contract), ...failures(contract) },
  }
}

function tagOf(contract: Contract): string {
  if (isIngestion(contract)) return 'Ingestion'
  return contract.scope === 'manage' || contract.scope === 'admin' ? 'Management' : 'Reading'
}

/** `POST /api/v1/traces` is `postApiV1Traces`. */
const operationId = ({ method, path }: Contract): string =>
  method.toLowerCase() + path.replace(/[^a-zA-Z0-9]+(\w?)/g, (_, letter: string) => letter.toUpperCase())

function security({ scope }: Contract): JsonSchema[] {
  if (scope === 'public') return []
  return scope === 'admin' ? [{ adminToken: [] }] : [{ apiKey: [] }, { bearer: [] }]
}

function parameters(place: 'path' | 'query', schema: Contract['params'] | Contract['query']): JsonSchema[] {
  if (!schema) return []
  const { properties = {}, required = [], additionalProperties } = jsonSchema(schema, 'input')
  const declared = Object.entries(properties as Record<string, JsonSchema>).map(
    ([name, { description, ...schema }]) => ({
      name,
      in: place,
      required: (required as string[]).includes(name),
      ...(description !== undefined && { description }),
      schema,
    }),
  )
  return place === 'query' && additionalProperties !== false ? [...declared, ANY_OTHER_PARAMETER] : declared
}

/** How OpenAPI says that a query takes any name: the fields of one exploded object. */
const ANY_OTHER_PARAMETER = {
  name: 'metadata',
  in: 'query',
  required: false,
  description: 'Any other name matches the metadata field at that dotted path',
  style: 'form',
  explode: true,
  schema: { type: 'object', additionalProperties: { type: 'string' } },
}

function headerParameters(contract: Contract): JsonSchema[] {
  const header = (name: string, description: string) => ({
    name,
    in: 'header',
    description,
    schema: { type: 'string' },
  })
  if (contract.scope === 'public' || contract.scope === 'admin') return []
  return [
    header('x-org-slug', "The key's organization; another one makes the credentials invalid"),
    ...(isIngestion(contract)
      ? [header('x-project-slug', 'The project, where the key serves all projects of its organization')]
      : []),
  ]
}

const successes = (contract: Contract): JsonSchema =>
  Object.fromEntries(
    Object.entries(contract.responses).map(([status, schema]) => [
      status,
      { description: 'Success', content: { 'application/json': { schema: jsonSchema(schema, 'output') } } },
    ]),
  )

/** Every error status that the one request order, or the endpoint's own rules, can give, with its message. */
export function errorStatuses(contract: Contract): Record<number, string> {
  const hasInput = contract.scope !== 'public'
  return {
    ...(hasInput && { 400: 'Invalid request; `details` names the fields' }),
    ...(contract.scope !== 'public' && { 401: 'Not authenticated' }),
    ...(contract.scope !== 'public' && contract.scope !== 'admin' && { 403: 'Forbidden' }),
    ...((contract.scope === 'admin' || isIngestion(contract) || contract.params) && { 404: 'Not found' }),
    ...(contract.body && { 413: 'Request body too large', 415: 'The body is not JSON' }),
    ...(isIngestion(contract) && { 429: 'Rate limit exceeded' }),
    500: 'Internal error',
    ...(contract.scope !== 'public' && { 503: 'Temporarily unavailable, please retry' }),
    ...contract.errors,
  }
}

const failures = (contract: Contract): JsonSchema =>
  Object.fromEntries(
    Object.entries(errorStatuses(contract)).map(([status, description]) => [
      status,
      { description, content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } },
    ]),
  )

/** Checks that are code (a real date, well-formed text) have no JSON Schema, but those that atoms.ts documents. */
function jsonSchema(schema: v.GenericSchema<unknown, unknown>, typeMode: 'input' | 'output'): JsonSchema {
  const { $schema, ...rest } = toJsonSchema(schema, {
    typeMode,
    errorMode: 'ignore',
    overrideSchema: ({ valibotSchema, jsonSchema }) => withDocumented(valibotSchema, jsonSchema),
    overrideAction: ({ valibotAction, jsonSchema }) => withDocumented(valibotAction, jsonSchema),
  })
  return rest
}

const withDocumented = (item: object, converted: ConvertedSchema): ConvertedSchema | undefined =>
  'jsonSchema' in item ? { ...converted, ...(item.jsonSchema as ConvertedSchema) } : undefined
