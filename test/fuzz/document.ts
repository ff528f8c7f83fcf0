import { type Schema, Validator } from '@cfworker/json-schema'

/* Reads the OpenAPI document that the Worker serves, as a client would. */

export interface Message {
  required?: boolean
  /** By media type. Only files have media types other than JSON. */
  content?: { 'application/json'?: { schema: Schema }; [type: string]: { schema: Schema } | undefined }
}

interface ServedOperation {
  parameters: { name: string; in: 'path' | 'query' | 'header'; required?: boolean; schema: Schema }[]
  requestBody?: Message
  responses: Record<string, Message>
  security: Record<string, string[]>[]
}

/** One method of one path. */
export interface Operation extends ServedOperation {
  method: string
  path: string
  /** Matches the operation's paths, and captures their parameters by name. */
  pattern: RegExp
}

/** The parts of the document that the fuzzer reads. */
interface Served {
  components: {
    schemas: Record<string, Schema>
    securitySchemes: Record<string, { type: string; scheme?: string; in?: string; name?: string }>
  }
  paths: Record<string, Record<string, ServedOperation>>
}

export class ApiDocument {
  readonly operations: readonly Operation[]
  readonly #components: Served['components']
  readonly #validators = new WeakMap<Schema, Validator>()

  constructor({ components, paths }: Served) {
    this.#components = components
    this.operations = Object.entries(paths).flatMap(([path, methods]) => {
      const pattern = new RegExp(`^${path.replace(/{(\w+)}/g, '(?<$1>[^/]+)')}/*$`)
      return Object.entries(methods).map(([name, { requestBody, ...served }]) => ({
        ...served,
        // `valuesOf` doesn't resolve references, so inline them.
        ...(requestBody && { requestBody: withoutReferences(requestBody, components.schemas) }),
        method: name.toUpperCase(),
        path,
        pattern,
      }))
    })
  }

  /** The operations at a URL's path. */
  operationsAt(url: string): Operation[] {
    const { pathname } = new URL(url)
    return this.operations.filter(({ pattern }) => pattern.test(pathname))
  }

  /** The operation that a request reaches. A HEAD request reaches the GET operation. */
  operationAt(method: string, url: string): Operation | undefined {
    return this.operationsAt(url).find(each => each.method === (method === 'HEAD' ? 'GET' : method))
  }

  /** The header that carries a secret under a security scheme. For the session scheme, the secret isn't an API key. */
  credentials(scheme: string, secret: string): Record<string, string> {
    const { type, scheme: form, in: place, name } = this.#components.securitySchemes[scheme] ?? {}
    if (type === 'http' && form === 'bearer') return { authorization: `Bearer ${secret}` }
    if (type === 'apiKey' && place === 'header' && name) return { [name]: secret }
    if (place === 'cookie' && name) return { cookie: `${name}=${secret}` }
    throw new Error(`unsupported security scheme: ${scheme}`)
  }

  /** Explains why a value doesn't match a schema of this document. Returns undefined if the value matches. */
  fault(schema: Schema, value: unknown): string | undefined {
    // The validator looks up references in the schema itself, which therefore has to include the components.
    const validator =
      this.#validators.get(schema) ?? new Validator({ ...schema, components: this.#components }, '2020-12')
    this.#validators.set(schema, validator)
    return validator.validate(value).errors.at(-1)?.error
  }
}

const REFERENCE = '#/components/schemas/'

/** Returns a part of the document with its references replaced by the referenced components. */
function withoutReferences<Part>(part: Part, schemas: Record<string, Schema>): Part {
  return JSON.parse(JSON.stringify(part), (_, value) => {
    const reference = value?.$ref
    if (typeof reference !== 'string' || !reference.startsWith(REFERENCE)) return value
    return withoutReferences(schemas[reference.slice(REFERENCE.length)], schemas)
  })
}

export const schemaOf = (message: Message | undefined): Schema | undefined =>
  message?.content?.['application/json']?.schema

/** The media types of a file. Undefined if the message is JSON. */
export function fileTypesOf(message: Message | undefined): string[] | undefined {
  if (!message?.content || 'application/json' in message.content) return undefined
  return Object.keys(message.content)
}

/** The names of the security schemes, any of which grants access. Empty if the operation is public. */
export const schemesOf = ({ security }: Operation): string[] => security.flatMap(Object.keys)
