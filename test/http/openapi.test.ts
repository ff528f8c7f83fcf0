import * as v from 'valibot'
import { describe, it } from 'vitest'
import { endpoints } from '../../src/app.ts'
import { send } from '../support/org.ts'

interface Message {
  content?: Record<string, { example?: unknown }>
}

interface Operation {
  summary: string
  requestBody?: Message
  responses: Record<string, Message>
}

/** The shape from which client generators create types. */
const RESOURCES = [
  'ApiKey',
  'AttributionResult',
  'AuditLogEntry',
  'Error',
  'ErrorType',
  'Feedback',
  'KnowledgeDoc',
  'KnowledgeDocVersion',
  'Observation',
  'Project',
  'Prompt',
  'PromptVersion',
  'Review',
  'Session',
  'Span',
  'Trace',
  'TraceSummary',
  'User',
]

describe('the OpenAPI document', () => {
  it('lists every endpoint with its credentials, its fields, and every possible status', async ({ expect }) => {
    const { status, body } = await send(new Request('https://countersign.test/openapi.json'))
    expect(status).toBe(200)
    expect(body.openapi).toBe('3.1.0')
    const operations = Object.entries<Record<string, object>>(body.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map(method => `${method.toUpperCase()} ${path}`),
    )
    expect(operations.sort()).toEqual(endpoints.map(({ contract }) => `${contract.method} ${contract.path}`).sort())
    for (const { contract } of endpoints) {
      const operation = body.paths[contract.path][contract.method.toLowerCase()]
      expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(Object.keys(contract.responses)))
      const asksNoDatabase = ['/openapi.json', '/healthz'].includes(contract.path)
      expect(Object.keys(operation.responses).includes('503')).toBe(!asksNoDatabase)
      if (contract.body) expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(['400', '413', '415']))
      expect(operation.requestBody !== undefined).toBe(contract.body !== undefined)
    }
    const ids = Object.values<Record<string, { operationId: string }>>(body.paths).flatMap(methods =>
      Object.values(methods).map(({ operationId }) => operationId),
    )
    expect(new Set(ids).size).toBe(endpoints.length)
  })

  it('gives valid examples for all request bodies and responses', async ({ expect }) => {
    for (const { contract } of endpoints) {
      const name = `${contract.method} ${contract.path}`
      const { params, query = {}, body, answers } = contract.example
      if (contract.params) expect(v.safeParse(contract.params, params).issues, name).toBeUndefined()
      if (contract.query) expect(v.safeParse(contract.query, query).issues, name).toBeUndefined()
      if (contract.body) expect(v.safeParse(contract.body, body).issues, name).toBeUndefined()
      expect(Object.keys(answers), name).toEqual(Object.keys(contract.responses))
      for (const [status, schema] of Object.entries(contract.responses)) {
        const shown = answers[Number(status)]
        const { issues, output } = v.safeParse(schema, shown)
        expect(issues, name).toBeUndefined()
        // Fields that aren't in the schema would be missing.
        expect(output, name).toEqual(shown)
      }
    }
    const { body } = await send(new Request('https://countersign.test/openapi.json'))
    for (const operation of Object.values<Record<string, Operation>>(body.paths).flatMap(methods =>
      Object.values(methods),
    )) {
      for (const { content } of [operation.requestBody ?? {}, ...Object.values(operation.responses)]) {
        for (const { example } of Object.values(content ?? {})) expect(example, operation.summary).toBeDefined()
      }
    }
  })

  it('lists the media types of files', async ({ expect }) => {
    const { body } = await send(new Request('https://countersign.test/openapi.json'))
    for (const { contract } of endpoints.filter(({ contract }) => contract.files)) {
      const { content, headers } = body.paths[contract.path].get.responses[200]
      expect(Object.keys(content)).toEqual(Object.keys(contract.files ?? {}))
      expect(content['text/csv']).toMatchObject({ schema: { type: 'string' }, example: expect.any(String) })
      expect(headers['x-next-cursor']).toBeDefined()
    }
  })

  it('defines each resource once and refers to it everywhere else', async ({ expect }) => {
    const { body } = await send(new Request('https://countersign.test/openapi.json'))
    const { schemas } = body.components
    expect(Object.keys(schemas)).toEqual(expect.arrayContaining(RESOURCES))
    const schemaOf = (method: string, path: string, status: number) =>
      body.paths[path][method].responses[status].content['application/json'].schema
    const named = (name: string) => ({ $ref: `#/components/schemas/${name}` })
    expect(schemaOf('get', '/api/traces/{traceId}', 200)).toEqual(named('Trace'))
    expect(schemaOf('get', '/api/traces', 200).properties.traces.items).toEqual(named('TraceSummary'))
    expect(schemaOf('post', '/api/v1/traces/{trace_id}/attribute', 200)).toEqual(named('AttributionResult'))
    expect(schemaOf('get', '/api/users', 200).properties.users.items).toEqual(named('User'))
    expect(schemaOf('get', '/api/users', 401)).toEqual(named('Error'))
    expect(schemas.Trace.properties.spans.items).toEqual(named('Span'))
    expect(body.paths['/api/v1/spans'].post.requestBody.content['application/json'].schema).toEqual(named('NewSpan'))
    const references = [...JSON.stringify(body).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(
      ([, name]) => name,
    )
    expect(references.filter(name => !schemas[name ?? ''])).toEqual([])
  })

  it('may be requested with any query', async ({ expect }) => {
    expect((await send(new Request('https://countersign.test/openapi.json?v=2'))).status).toBe(200)
  })

  it('matches the limits that the code enforces', async ({ expect }) => {
    const { body } = await send(new Request('https://countersign.test/openapi.json'))
    const { NewFeedback: feedback, NewObservation } = body.components.schemas
    expect(feedback.required).toEqual(['trace_id'])
    const NULL = { type: 'null' }
    expect(feedback.properties.feedback_id.anyOf).toMatchObject([
      { type: 'string', minLength: 1, maxLength: 128 },
      NULL,
    ])
    expect(feedback.properties.correction.anyOf).toMatchObject([{ type: 'object' }, NULL])
    const { timestamp, observation_id } = NewObservation.oneOf[0].properties
    expect(timestamp).toMatchObject({ type: 'string', format: 'date-time', description: expect.any(String) })
    expect(observation_id.anyOf).toMatchObject([{ type: 'string', format: 'uuid' }, NULL])
    const search = body.paths['/api/v1/traces/search'].get.parameters
    expect(search.map(({ name }: { name: string }) => name)).toEqual(
      expect.arrayContaining(['group_id', 'name', 'status', 'limit', 'x-org-slug', 'x-project-slug']),
    )
    const limitOf = (path: string) =>
      body.paths[path].get.parameters.find(({ name }: { name: string }) => name === 'limit').schema
    expect(limitOf('/api/traces')).toEqual({ type: 'integer', minimum: 1, maximum: 200, default: 50 })
    expect(limitOf('/api/v1/traces/search')).toMatchObject({ type: 'integer', minimum: 1, default: 10 })
    // Email addresses aren't checked against RFC 5321, which `format` would promise.
    const { email } = body.paths['/api/users'].post.requestBody.content['application/json'].schema.properties
    expect(email).toMatchObject({ type: 'string', maxLength: 320, pattern: expect.any(String) })
    expect(email.format).toBeUndefined()
    const listed = body.paths['/api/traces'].get.parameters
    const described = (wanted: string) => listed.find(({ name }: { name: string }) => name === wanted)?.description
    expect([described('from'), described('to')]).toEqual(['Traces at or after this time', 'Traces before this time'])
    expect(listed.find(({ name }: { name: string }) => name === 'metadata')).toMatchObject({
      explode: true,
      schema: { propertyNames: { pattern: '^metadata\\.' } },
    })
    expect(body.paths['/api/traces/{traceId}'].get.parameters[0]).toMatchObject({
      name: 'traceId',
      in: 'path',
      required: true,
    })
  })
})
