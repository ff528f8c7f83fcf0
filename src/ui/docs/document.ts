import type { Json } from '../api/wire.ts'

/** The parts of JSON Schema that the Worker's document uses. */
export interface Schema {
  $ref?: string
  type?: string | string[]
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  additionalProperties?: boolean | Schema
  enum?: Json[]
  const?: Json
  format?: string
  pattern?: string
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  minimum?: number
  maximum?: number
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  description?: string
  required?: boolean
  explode?: boolean
  schema: Schema
}

/** By media type. Only files have types other than JSON, and their examples are text. */
type Content = Record<string, { schema: Schema; example?: Json }>

export interface Answer {
  description: string
  headers?: Record<string, { description: string }>
  content?: Content
}

interface Operation {
  summary: string
  description?: string
  operationId: string
  tags: string[]
  security: Record<string, never[]>[]
  parameters: Parameter[]
  requestBody?: { required: boolean; content: Content }
  responses: Record<string, Answer>
}

/** The parts of `/openapi.json` that the page shows. */
export interface ApiDocument {
  info: { title: string; description: string }
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

/** An operation with its method and path. */
export interface Endpoint extends Operation {
  method: string
  path: string
}

/** Operations grouped by tag, in the document's order. */
export function endpointsByTag({ paths }: ApiDocument): Map<string, Endpoint[]> {
  const groups = new Map<string, Endpoint[]>()
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const [tag = 'Other'] = operation.tags
      const group = groups.get(tag) ?? []
      groups.set(tag, group)
      group.push({ ...operation, method: method.toUpperCase(), path })
    }
  }
  return groups
}
