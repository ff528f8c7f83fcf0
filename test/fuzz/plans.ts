import * as fc from 'fast-check'
import { type Operation, schemaOf, schemesOf } from './document.ts'
import { bytesOf, type Caller, type Sent } from './sent.ts'
import { hostile, oddName, sometimes, valuesOf } from './values.ts'

/** A request whose placeholders haven't yet been filled in with values from earlier responses. */
export interface Plan extends Twists {
  operation: Operation
  caller: Caller
  /** Selects one of the operation's security schemes. */
  scheme: number
  parts: Parts
}

/** Values by their names in the document. */
export interface Parts {
  path: object
  query: object
  headers: object
  body?: unknown
}

/** Changes to an allowed request's values and to its bytes. */
interface Twists {
  changes: Change[]
  bend?: ((sent: Sent) => Sent) | undefined
}

export interface Change {
  /** Selects the value to change. Inner values follow outer ones. */
  place: number
  how: 'remove' | 'grow' | 'shrink' | 'repeat' | 'replace' | 'add'
  name: string
  value: unknown
}

/** Repeats an earlier successful request with a value from its response, such as a cursor or an ETag. */
export interface Repetition extends Twists {
  /** Selects the request, counting back from the latest. */
  nth: number
}

const isProject = (name: string): boolean => name === 'projectSlug' || name === 'projectId'

/** Plans for requests that the document allows, by callers that have access. */
export function allowed(operation: Operation): fc.Arbitrary<Plan> {
  const { path, parameters, requestBody } = operation
  const valuesIn = (place: string, percentOf: (name: string) => number) => {
    const values = parameters.flatMap(({ name, in: where, schema, required }) => {
      if (where !== place) return []
      const values = valuesOf(schema, { name, path: path.split(`{${name}}`)[0] ?? path })
      return [[name, required ? values : sometimes(percentOf(name), values)]]
    })
    return fc.record<object>(Object.fromEntries(values))
  }
  const schema = schemaOf(requestBody)
  const bodies = schema && valuesOf(schema, { name: '', path })
  return fc.record({
    operation: fc.constant(operation),
    caller: fc.constant<Caller>(schemesOf(operation).includes('adminToken') ? 'admin' : 'owner'),
    scheme: fc.nat(5),
    parts: fc.record({
      path: valuesIn('path', () => 100),
      // Lists require a parameter that identifies the project. The other parameters are rarely valid together if there
      // are more than a few.
      query: valuesIn('query', name => (isProject(name) ? 40 : Math.min(20, Math.ceil(200 / parameters.length)))),
      headers: valuesIn('header', () => 10),
      ...(bodies && { body: requestBody?.required ? bodies : sometimes(50, bodies) }),
    }),
    changes: fc.constant([]),
  })
}

/**
 * Plans for arbitrary requests by any callers, with more requests to operations that accept more input. The document
 * doesn't allow most of these requests, often only because of a small detail.
 */
export function anyPlan(operations: readonly Operation[]): fc.Arbitrary<Plan> {
  const weightOf = ({ parameters, requestBody }: Operation) => 1 + parameters.length + (requestBody ? 4 : 0)
  const plans = operations.map(operation => ({ arbitrary: allowed(operation), weight: weightOf(operation) }))
  return fc
    .tuple(fc.oneof(...plans), sometimes(45, callers), twists)
    .map(([plan, caller = plan.caller, twists]) => ({ ...plan, caller, ...twists }))
}

const callers = fc.oneof(
  { arbitrary: fc.constantFrom<Caller>('intruder', 'ingest', 'stranger'), weight: 5 },
  { arbitrary: fc.constantFrom<Caller>('owner', 'admin', 'impostor', 'nobody'), weight: 2 },
)

const change = fc.record<Change>({
  place: fc.nat(30),
  how: fc.constantFrom('remove', 'grow', 'shrink', 'repeat', 'replace', 'replace', 'add'),
  name: oddName,
  value: hostile,
})

const METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND']

/** Path segments as they're written in the URL. */
const SEGMENTS = [
  ...['', '.', '..', '%2e%2e', '%2F', '%5c', '%00', '%0d%0a', '%zz', '%', '%ff', '%c0%af', '%F0%9F%98%80', '%25'],
  ...['__proto__', 'constructor', ':id', '{id}', '*', '(', '[a-z]', ';a=1', '?', '#', '\\', 'é', 'x'.repeat(15_000)],
]
const QUERIES = ['', '=', '&&', 'a&a', 'a=1&a=2', '__proto__=1', 'constructor=1&toString', '%zz=%zz', '%ff=%00', '[]=1']

const CONTENT_TYPES = [
  ...['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/problem+json', 'application/jsonx', ''],
  ...['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'text/json', ';', '*/*'],
]

/** Functions that corrupt the body before it is sent. */
const bodies = fc.oneof(
  fc.nat().map(at => (text: string) => text.slice(0, at % (text.length + 1))),
  fc.constantFrom<(text: string) => string | Uint8Array>(
    () => '',
    () => 'null',
    text => `[${text}]`,
    text => text + text,
    text => `\ufeff${text}`,
    text => text.padEnd(300_000),
    text => text.replace(/^{("[^"]*"):/, '{$1:null,$1:'),
    text => text.replace('{', '{"__proto__":{"isAdmin":true},'),
    text => Uint8Array.from(text, () => 0xff),
    () => '['.repeat(100_000),
    () => `${'{"a":'.repeat(1100)}0${'}'.repeat(1100)}`,
  ),
)

const bend = <Value>(values: fc.Arbitrary<Value>, bent: (sent: Sent, value: Value) => Partial<Sent>) =>
  values.map(
    value =>
      (sent: Sent): Sent => ({ ...sent, ...bent(sent, value) }),
  )

const bends = fc.oneof(
  bend(fc.constantFrom(...METHODS), (_, method) => ({ method })),
  bend(fc.tuple(fc.nat(6), fc.boolean(), fc.constantFrom(...SEGMENTS)), ({ path }, [at, isInserted, segment]) => ({
    path: path
      .split('/')
      .toSpliced(1 + at, isInserted ? 0 : 1, segment)
      .join('/'),
  })),
  bend(fc.constantFrom(...QUERIES), ({ query }, more) => ({ query: `${query}&${more}` })),
  bend(fc.constantFrom(...CONTENT_TYPES), ({ headers }, type) => ({ headers: { ...headers, 'content-type': type } })),
  bend(bodies, ({ body }, bent) => ({ body: bytesOf(bent(new TextDecoder().decode(body))) })),
)

const twists = fc.record<Twists>({ changes: fc.array(change, { maxLength: 2 }), bend: sometimes(30, bends) })

export const anyRepetition: fc.Arbitrary<Repetition> = fc
  .tuple(fc.nat(999), twists)
  .map(([nth, twists]) => ({ nth, ...twists }))
