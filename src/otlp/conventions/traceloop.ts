import { isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'
import type { StepKind } from '../../domain/step-kind.ts'
import { idOf, numberOf, parsedObject, present, taken, textOf } from '../reading/attribute-values.ts'
import { calledWith } from '../reading/content-by-kind.ts'
import type { Convention, PromptReference, Reading, SpanReader } from '../reading/convention.ts'
import { chunkOf, retrievedChunks } from '../reading/retrieved-chunks.ts'
import { parsed, unflatten } from '../reading/serialized.ts'
import { contentOf, valueFrom } from '../reading/span-content.ts'
import { nameInGraph, splitMetadata } from '../reading/step-names.ts'

/*
 * What OpenLLMetry and Traceloop's SDKs add to OpenTelemetry's conventions: decorated functions (entities), association
 * properties, managed prompts, and results from vector databases. Source: traceloop/openllmetry-js,
 * `packages/ai-semantic-conventions`; traceloop/openllmetry, the vector databases' packages; and recorded exports.
 */

const KINDS_OF_ENTITIES: ReadonlyMap<string, StepKind> = new Map([
  ['workflow', 'workflow'],
  ['session', 'workflow'],
  ['task', 'task'],
  ['agent', 'agent'],
  ['tool', 'tool'],
])

export const traceloop: Convention = {
  name: 'traceloop',
  read(span) {
    const chunks = [...chunksFromEvents(span), ...chunksFromAttributes(span)]
    if (!span.hasBelow('traceloop.') && chunks.length === 0) return undefined
    const properties = parsedObject(span.below('traceloop.association.properties.'))
    const kind = taken(span, 'traceloop.span.kind', type => KINDS_OF_ENTITIES.get(textOf(type) ?? ''))
    const entity = idOf(kind === 'tool' ? span.peek('gen_ai.tool.name') : undefined, span.peek('traceloop.entity.name'))
    const called = takenAs(valueFrom(span.get('traceloop.entity.input')))
    const returned = returnedAs(valueFrom(span.get('traceloop.entity.output')))
    const found = nodesIn(returned.value)
    const { response: _, input, output, finishReasons } = contentOf(kind, called.value, returned.value)
    return present<Reading>({
      kind,
      stepId: nameInGraph(kind, entity ?? span.span.name, properties) ?? entity,
      finishReasons,
      state: present<Record<string, Json>>({
        retrieved_chunks: chunks.length > 0 ? chunks : found,
        context: parsedObject(span.below('traceloop.prompt.template_variables.')),
      }),
      prompt: promptOf(span),
      trace: properties && { metadata: properties },
      metadata: present<JsonObject>({
        traceloop: present<JsonObject>({
          workflow: taken(span, 'traceloop.workflow.name', textOf),
          path: taken(span, 'traceloop.entity.path', textOf),
          version: span.get('traceloop.entity.version'),
          ...called.rest,
          ...returned.rest,
        }),
      }),
      // This is only a fallback, because an instrumentation inside the function records more than the arguments.
      fallback: present<NonNullable<Reading['fallback']>>({
        kind: chunks.length > 0 ? 'retriever' : undefined,
        input,
        output,
      }),
    })
  },
}

/** LlamaIndex's retrievers return nodes, each serialized next to its score. */
function nodesIn(output: Json | undefined): JsonObject[] | undefined {
  const items = Array.isArray(output) ? output.map(parsed) : []
  const areNodes = items.length > 0 && items.every(item => isJsonObject(item) && isJsonObject(item.node))
  return areNodes ? retrievedChunks(items) : undefined
}

interface Call {
  value: Json | undefined
  /** Other data that LangChain's callbacks received. */
  rest: JsonObject
}

/** Unwraps the arguments that a function or one of LangChain's callbacks was called with. */
function takenAs(input: Json | undefined): Call {
  if (!isJsonObject(input)) return { value: input, rest: {} }
  if (hasOnly(input, ['inputs', 'tags', 'metadata', 'kwargs'])) return unwrapped(input, 'inputs')
  return { value: calledWith(input), rest: {} }
}

const returnedAs = (output: Json | undefined): Call =>
  isJsonObject(output) && hasOnly(output, ['outputs', 'kwargs'])
    ? unwrapped(output, 'outputs')
    : { value: output, rest: {} }

/** Whether the object has the first of these fields and no fields outside this list. */
const hasOnly = (object: JsonObject, fields: readonly string[]): boolean =>
  fields[0] !== undefined &&
  object[fields[0]] !== undefined &&
  Object.keys(object).every(field => fields.includes(field))

function unwrapped(object: JsonObject, field: string): Call {
  const { [field]: value, ...others } = object
  const { metadata } = others
  // The run's own metadata is among the association properties.
  const own = isJsonObject(metadata) ? (splitMetadata(metadata).own ?? null) : metadata
  const said = metadata === undefined ? others : { ...others, metadata: own ?? null }
  const rest = Object.entries(said).filter(([, other]) => !isEmpty(other))
  return { value, rest: rest.length > 0 ? { [`${field}_call`]: Object.fromEntries(rest) } : {} }
}

const isEmpty = (value: Json): boolean =>
  value === null || (typeof value === 'object' && Object.keys(value).length === 0)

function promptOf(span: SpanReader): PromptReference | undefined {
  const name = taken(span, 'traceloop.prompt.key', idOf)
  const version = taken(span, 'traceloop.prompt.version', numberOf)
  const label = idOf(span.peek('traceloop.prompt.version_name'), span.peek('traceloop.prompt.version_hash'))
  return name === undefined ? undefined : present<PromptReference>({ name, version: version ?? label })
}

const RESULT_EVENTS = ['db.query.result', 'db.search.result']

/**
 * The results from a vector database, one event each. Vectors are left out, because they're meaningless to a reader.
 */
function chunksFromEvents(span: SpanReader): JsonObject[] {
  if (span.span.events.length === 0) return []
  const events = [
    ...RESULT_EVENTS.flatMap(name => span.events(name).map(({ attributes }) => ({ attributes, prefix: `${name}.` }))),
    ...pineconeEvents(span),
  ]
  return events
    .map(({ attributes, prefix }) => foundChunk(name => attributes.get(prefix + name) ?? undefined))
    .filter(chunk => chunk !== undefined)
}

/** Pinecone's JavaScript package puts the index of a match in the event's name and in its attribute names. */
const pineconeEvents = (span: SpanReader) =>
  span.span.events.flatMap(({ name }) => {
    const index = /^pinecone\.query\.result\.(\d+)$/.exec(name)?.[1]
    return index === undefined
      ? []
      : span.events(name).map(({ attributes }) => ({ attributes, prefix: `db.vector.query.result.${index}.` }))
  })

/** Azure AI Search's package sends the results as attributes: `db.query.result.document.0`. */
function chunksFromAttributes(span: SpanReader): JsonObject[] {
  if (!span.hasBelow('db.')) return []
  const fields: [string, Json][] = []
  for (const key of span.span.attributes.keys()) {
    const [, field, index] = /^db\.(?:query|search)\.result\.(\w+)\.(\d+)$/.exec(key) ?? []
    const value = field === undefined ? undefined : span.get(key)
    if (value !== undefined) fields.push([`${index}.${field}`, value])
  }
  const results = unflatten(fields)
  return (Array.isArray(results) ? results : [])
    .map(result => (isJsonObject(result) ? foundChunk(name => result[name]) : undefined))
    .filter(chunk => chunk !== undefined)
}

/** A result whose fields may be serialized. */
function foundChunk(field: (name: string) => Json | undefined): JsonObject | undefined {
  const metadata = valueFrom(field('metadata'))
  const entity = valueFrom(field('entity'))
  const distance = numberOf(valueFrom(field('distance')))
  return chunkOf({
    id: valueFrom(field('id')),
    score: valueFrom(field('score')),
    content: valueFrom(field('document')) ?? (isJsonObject(entity) ? undefined : entity),
    metadata: {
      ...(isJsonObject(metadata) ? metadata : metadata !== undefined && { metadata }),
      ...(isJsonObject(entity) && entity),
      // A distance isn't a score, because smaller is better.
      ...(distance !== undefined && { distance }),
    },
  })
}
