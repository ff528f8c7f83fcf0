import { isUuid } from '../../domain/ids.ts'
import { isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'
import type { StepKind } from '../../domain/step-kind.ts'
import {
  idOf,
  isRedacted,
  numberOf,
  objectOf,
  parsedObject,
  present,
  taken,
  textOf,
  versionOf,
} from '../reading/attribute-values.ts'
import type { Convention, HumanJudgment, PromptReference, Reading, SpanReader, Usage } from '../reading/convention.ts'
import {
  type Answer,
  answerOf,
  conversationOf,
  inputMessages,
  outputMessage,
  withMessages,
} from '../reading/messages.ts'
import { modelConfig, toolNames } from '../reading/model-config.ts'
import { withoutPrints } from '../reading/python.ts'
import { chunkOf, retrievedChunks } from '../reading/retrieved-chunks.ts'
import { unflatten } from '../reading/serialized.ts'
import { plainFrom } from '../reading/span-content.ts'
import { nameInGraph, stableName } from '../reading/step-names.ts'
import { objectValue } from '../reading/values.ts'

/*
 * OpenInference (Arize Phoenix): lists are sent item by item, with the index in the key. `input.value` and
 * `output.value` are what the instrumented function took and returned, which may be a provider's raw request, so
 * messages have priority over them. Source: openinference, `spec/semantic_conventions.md` of 2026-08-21, and recorded
 * exports.
 */

const KINDS_OF_SPANS: ReadonlyMap<string, StepKind> = new Map([
  ['LLM', 'llm'],
  ['EMBEDDING', 'embedding'],
  ['CHAIN', 'chain'],
  ['RETRIEVER', 'retriever'],
  ['RERANKER', 'reranker'],
  ['TOOL', 'tool'],
  ['AGENT', 'agent'],
  ['GUARDRAIL', 'guardrail'],
  ['EVALUATOR', 'evaluator'],
  ['PROMPT', 'prompt'],
])

/** The first words of the convention's keys. */
const WORDS = [
  'openinference',
  'input',
  'output',
  'llm',
  'embedding',
  'retrieval',
  'reranker',
  'tool',
  'prompt',
  'graph',
  'metadata',
  'annotations',
  'evaluations',
  'trace',
]

export const openInference: Convention = {
  name: 'openinference',
  read(span) {
    if (!span.speaksOf(...WORDS)) return undefined
    const kind = kindOf(span)
    const asked = unflatten(span.below('llm.input_messages.')) ?? textsBelow(span, 'llm.prompts.', 'prompt', 'user')
    const answered =
      unflatten(span.below('llm.output_messages.')) ?? textsBelow(span, 'llm.choices.', 'completion', 'assistant')
    const answer = answered === undefined ? undefined : answerOf(answered)
    const raw = rawContent(span, kind)
    const metadata = metadataOf(span)
    const retrieved = documentsBelow(span, 'retrieval.documents.')
    const reranked = documentsBelow(span, 'reranker.output_documents.')
    const finishReason = taken(span, 'llm.finish_reason', textOf)
    const { feedback, evaluations, annotations } = judgmentsOf(span)
    const model =
      taken(span, 'llm.response.model_name', idOf) ?? taken(span, 'llm.model_name', idOf) ?? requestedModel(span)
    const fallback = present<NonNullable<Reading['fallback']>>({
      kind: model === undefined ? undefined : 'llm',
      input: raw.input ?? requestInput(span),
      output: raw.answer?.output ?? retrieved ?? reranked,
    })
    return present<Reading>({
      kind,
      stepId: stepIdOf(span, kind, metadata),
      input: asked === undefined ? undefined : completed(conversationOf(asked), span, kind),
      output: answer?.output,
      state: present<Record<string, Json>>({
        retrieved_chunks: retrieved && withIds(retrieved, retrievedChunks(raw.answer?.output)),
        reranked_chunks: reranked,
        config: configOf(span, kind),
        context: taken(span, 'llm.prompt_template.variables', value => objectOf(plainFrom(value))),
      }),
      model,
      provider: taken(span, 'llm.provider', idOf) ?? taken(span, 'llm.system', idOf),
      usage: usageOf(span),
      cost: costOf(span),
      finishReasons: finishReason === undefined ? nonEmpty(raw.answer?.finishReasons) : [finishReason],
      prompt: promptOf(span),
      evaluations: nonEmpty(evaluations),
      feedback: nonEmpty(feedback),
      trace: metadata && { metadata },
      metadata: present<JsonObject>({
        annotations: nonEmpty(annotations),
        response: raw.answer && Object.keys(raw.answer.rest).length > 0 ? raw.answer.rest : undefined,
      }),
      fallback,
    })
  },
}

function kindOf(span: SpanReader): StepKind | undefined {
  const kind = taken(span, 'openinference.span.kind', type => KINDS_OF_SPANS.get(textOf(type)?.toUpperCase() ?? ''))
  if (span.span.source.scope.name !== 'openinference.instrumentation.llama_index') return kind
  // LlamaIndex records both a public method and the private method that does its work, with the same content.
  if (/\._[a-z]\w*$/.test(span.span.name)) return 'generic'
  // It also records methods that call a model through another method. Only the model call has messages.
  return kind === 'llm' && !OF_CALLS.some(prefix => span.hasBelow(prefix)) ? 'chain' : kind
}

const OF_CALLS = ['llm.input_messages.', 'llm.output_messages.', 'llm.prompts.', 'llm.token_count.']

/** The texts of a completion call, which is the older form of a model call, without messages. */
function textsBelow(span: SpanReader, prefix: string, name: string, role: string): JsonObject[] | undefined {
  const texts = itemsBelow(span, prefix, name, /^text$/).flatMap(({ text }) => text ?? [])
  return nonEmpty(texts.map(content => ({ role, content })))
}

/** A tool's own name, the node of a graph, or the agent. Some frameworks give each node a random id. */
function stepIdOf(span: SpanReader, kind: StepKind | undefined, metadata: JsonObject | undefined): string | undefined {
  const node = idOf(span.peek('graph.node.id'))
  return idOf(
    kind === 'tool' ? span.peek('tool.name') : undefined,
    span.peek('graph.node.name'),
    kind === 'agent' ? span.peek('agent.name') : undefined,
    node !== undefined && stableName(node) === node ? node : undefined,
    nameInGraph(kind, span.span.name, metadata),
    span.peek('tool.name'),
  )
}

const nonEmpty = <Item>(list: Item[] | undefined): Item[] | undefined => (list && list.length > 0 ? list : undefined)

const requestedModel = (span: SpanReader): string | undefined =>
  taken(span, 'llm.request.model_name', idOf) ??
  taken(span, 'embedding.model_name', idOf) ??
  taken(span, 'reranker.model_name', idOf)

/** The raw request and response, for spans without messages. Conversations in them are converted. */
function rawContent(
  span: SpanReader,
  kind: StepKind | undefined,
): { input: Json | undefined; answer: Answer | undefined } {
  const output = rawValue(span, 'output', 'llm.output_messages.')
  const input = taskOfCrew(output) ?? argumentsOf(rawValue(span, 'input', 'llm.input_messages.'))
  const answer = kind === 'llm' ? outputMessage(output) : undefined
  const whole = output === undefined ? undefined : { output: withMessages(output), finishReasons: [], rest: {} }
  return { input: input === undefined ? undefined : withMessages(input), answer: answer ?? whole }
}

/** What a crew's agent was asked. The call's arguments only describe the agent. */
function taskOfCrew(output: Json | undefined): Json | undefined {
  if (!isJsonObject(output) || typeof output.raw !== 'string' || output.output_format === undefined) return undefined
  const { messages, description, expected_output } = output
  const all = inputMessages(messages ?? null)?.messages
  if (!Array.isArray(all)) return present<JsonObject>({ description, expected_output })
  const end = all.findIndex(message => isJsonObject(message) && message.role === 'assistant')
  return { messages: all.slice(0, end < 0 ? all.length : end) }
}

/** Arguments to frameworks' own methods that aren't content: smolagents' options, LlamaIndex's state. */
const OPTIONS = new Set(['stream', 'reset', 'max_steps', 'return_full_result', 'init_state', 'tags'])

/** A framework's arguments without its options. If only the task is left, the task itself. */
function argumentsOf(input: Json | undefined): Json | undefined {
  if (!isJsonObject(input) || (input.init_state === undefined && input.return_full_result === undefined)) return input
  const own = Object.entries(input).filter(([field, value]) => value !== null && !OPTIONS.has(field))
  if (own.length === 0) return undefined
  return own.length === 1 && typeof input.task === 'string' ? input.task : Object.fromEntries(own)
}

/** A raw value. It's parsed as JSON if its type is JSON or missing. The type distinguishes numbers from strings. */
function rawValue(span: SpanReader, side: 'input' | 'output', messages: string): Json | undefined {
  if (isRedacted(span.peek(`${side}.value`))) return undefined
  const value = span.get(`${side}.value`)
  const type = textOf(span.get(`${side}.mime_type`))
  if (span.hasBelow(messages)) return undefined
  if (type === 'application/json') return scalarFrom(value) ?? unwrapped(span, side, plainFrom(value))
  return type === undefined ? unwrapped(span, side, plainFrom(value)) : value && withoutPrints(value)
}

/** Unwraps a value. If a value isn't an object, LangChain's callbacks send an object that contains it. */
const unwrapped = (span: SpanReader, side: 'input' | 'output', value: Json | undefined): Json | undefined =>
  isJsonObject(value) &&
  value[side] !== undefined &&
  Object.keys(value).length === 1 &&
  span.span.source.scope.name.includes('langchain')
    ? value[side]
    : value

/** A serialized number or boolean, or undefined for any other string. */
const scalarFrom = (value: Json | undefined): Json | undefined =>
  typeof value === 'string' && /^(?:true|false|-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?)$/.test(value)
    ? JSON.parse(value)
    : undefined

/** The input of an embedding or reranking call. */
function requestInput(span: SpanReader): Json | undefined {
  const texts = itemsBelow(span, 'embedding.embeddings.', 'embedding', /^text$/).flatMap(({ text }) => text ?? [])
  if (texts.length > 0) return texts.length === 1 ? texts[0] : texts
  const query = span.get('reranker.query')
  const documents = documentsBelow(span, 'reranker.input_documents.')
  return present<JsonObject>({ query, documents })
}

/** Documents, plus the fields that only the function's own output has, such as LangChain's ids. */
function withIds(documents: JsonObject[], whole: readonly JsonObject[] | undefined): JsonObject[] {
  const areSame =
    whole?.length === documents.length && documents.every(({ content }, index) => content === whole[index]?.content)
  return areSame ? documents.map((document, index) => ({ ...whole[index], ...document })) : documents
}

/**
 * The conversation, plus what only the function's own input has: LangChain's system prompt in JavaScript, and the later
 * messages of a chain.
 */
function completed(conversation: JsonObject, span: SpanReader, kind: StepKind | undefined): JsonObject {
  const { messages } = conversation
  const isEmpty = (message: Json | undefined): boolean =>
    isJsonObject(message) && message.content === null && Object.keys(message).length === 2
  if (!Array.isArray(messages) || (kind === 'llm' && !messages.some(isEmpty))) return conversation
  const whole = inputMessages(span.peek('input.value'))
  const request = whole?.messages
  if (!Array.isArray(request) || request.length < messages.length) return conversation
  if (request.length > messages.length) return kind === 'llm' ? conversation : { messages: request }
  return { messages: messages.map((message, index) => (isEmpty(message) ? (request[index] ?? null) : message)) }
}

/**
 * The requested fields of objects that were sent item by item. `name` comes between an object's index and its fields.
 */
function itemsBelow(span: SpanReader, prefix: string, name: string, fields: RegExp): JsonObject[] {
  if (!span.hasBelow(prefix)) return []
  const entries: [string, Json][] = []
  for (const key of span.span.attributes.keys()) {
    const [, index, field] = key.startsWith(prefix) ? (ITEM.exec(key.slice(prefix.length)) ?? []) : []
    if (index === undefined || field === undefined || !field.startsWith(`${name}.`)) continue
    const rest = field.slice(name.length + 1)
    const value = fields.test(rest) ? span.get(key) : undefined
    if (value !== undefined) entries.push([`${index}.${rest}`, value])
  }
  const list = unflatten(entries)
  return Array.isArray(list) ? list.filter(isJsonObject) : []
}

const ANY_FIELD = /^/
const ITEM = /^(\d+)\.(.+)$/s

const documentsBelow = (span: SpanReader, prefix: string): JsonObject[] | undefined =>
  nonEmpty(
    itemsBelow(span, prefix, 'document', /^(?:id|content|score|metadata)(?:\.|$)/)
      .map(chunkOf)
      .filter(chunk => chunk !== undefined),
  )

/** Fields that instrumentations put among the parameters: the content of the request and of the whole response. */
const NO_PARAMETERS = new Set([
  ...['tools', 'messages', 'instructions', 'input', '_type', 'model_name', 'api_base', 'api_key'],
  ...['id', 'object', 'created', 'created_at', 'status', 'output', 'usage', 'error', 'metadata', 'incomplete_details'],
])

function configOf(span: SpanReader, kind: StepKind | undefined): JsonObject | undefined {
  const given = objectOf(span.peek('llm.invocation_parameters')) ?? {}
  const { tools, messages } = given
  const parameters = Object.entries(given).filter(([name, value]) => value !== null && !NO_PARAMETERS.has(name))
  // The definitions stay among the attributes, so at least one copy is kept.
  const definitions = span.hasBelow('llm.tools.')
    ? [...span.span.attributes].filter(([key]) => key.startsWith('llm.tools.'))
    : []
  if (messages === undefined && (tools === undefined || definitions.length > 0)) span.get('llm.invocation_parameters')
  const names = definitions.length > 0 ? toolNames(definitions.map(([, value]) => value)) : toolNames(tools)
  return kind === 'llm' || definitions.length > 0 || parameters.length > 0
    ? modelConfig(parameters, taken(span, 'llm.request.model_name', idOf), names)
    : undefined
}

function usageOf(span: SpanReader): Usage | undefined {
  if (!span.hasBelow('llm.token_count.')) return undefined
  const count = (key: string): number | undefined => taken(span, key, numberOf)
  return present<Usage>({
    input_tokens: count('llm.token_count.prompt'),
    output_tokens: count('llm.token_count.completion'),
    total_tokens: count('llm.token_count.total'),
    cache_read_tokens: count('llm.token_count.prompt_details.cache_read'),
    cache_write_tokens: count('llm.token_count.prompt_details.cache_write'),
    reasoning_tokens: count('llm.token_count.completion_details.reasoning'),
  })
}

/** The cost in dollars: `prompt`, `completion`, `total`, `prompt_details.cache_read`, and so on. */
const costOf = (span: SpanReader): JsonObject | undefined =>
  span.hasBelow('llm.cost.') ? objectValue(span.below('llm.cost.')) : undefined

function promptOf(span: SpanReader): PromptReference | undefined {
  const id = taken(span, 'prompt.id', idOf)
  const isOurs = id !== undefined && isUuid(id)
  return present<PromptReference>({
    id: isOurs ? id : undefined,
    name: isOurs ? undefined : id,
    version: taken(span, 'llm.prompt_template.version', versionOf),
  })
}

/** The caller's metadata, which also contains LangGraph's node. */
function metadataOf(span: SpanReader): JsonObject | undefined {
  const metadata = taken(span, 'metadata', objectOf)
  // Vercel's spans, converted to OpenInference, send each field under its own key.
  const fields = parsedObject(span.below('metadata.'))
  return metadata && fields ? { ...metadata, ...fields } : (metadata ?? fields)
}

interface Judgments {
  feedback: HumanJudgment[]
  evaluations: JsonObject[]
  /** People's judgments in full. */
  annotations: JsonObject[]
}

/**
 * Judgments of the span and of its trace. There is no place for judgments of a session, so they stay among the
 * attributes.
 */
function judgmentsOf(span: SpanReader): Judgments {
  const judgments: Judgments = { feedback: [], evaluations: [], annotations: [] }
  for (const scope of ['', 'trace.']) {
    const made = [
      ...itemsBelow(span, `${scope}annotations.`, 'annotation', ANY_FIELD),
      ...itemsBelow(span, `${scope}evaluations.`, 'evaluation', ANY_FIELD),
    ]
    for (const judgment of made) {
      const scoped = scope === '' ? judgment : { ...judgment, scope: 'trace' }
      if (textOf(judgment.annotator_kind)?.toUpperCase() !== 'HUMAN') {
        judgments.evaluations.push(scoped)
        continue
      }
      judgments.annotations.push(scoped)
      judgments.feedback.push({ ...(scope !== '' && { isOfTrace: true }), ...humanJudgment(judgment) })
    }
  }
  return judgments
}

const GOOD = new Set([
  'pass',
  'passed',
  'correct',
  'relevant',
  'good',
  'positive',
  'yes',
  'true',
  'thumbs_up',
  'factual',
])
const BAD = new Set([
  'fail',
  'failed',
  'incorrect',
  'irrelevant',
  'unrelated',
  'bad',
  'negative',
  'no',
  'false',
  'thumbs_down',
  'hallucinated',
])

function humanJudgment(judgment: JsonObject): HumanJudgment {
  const label = textOf(judgment.label)
  return {
    name: idOf(judgment.name) ?? 'annotation',
    identifier: idOf(judgment.identifier) ?? 'human',
    ...present<Pick<HumanJudgment, 'rating' | 'comment'>>({
      rating: ratingOf(numberOf(judgment.score), label),
      comment: textOf(judgment.explanation) ?? label,
    }),
  }
}

function ratingOf(score: number | undefined, label: string | undefined): HumanJudgment['rating'] {
  if (score !== undefined && score >= 0 && score <= 1) return score
  const word = label?.trim().toLowerCase().replaceAll(/[\s-]/g, '_') ?? ''
  return GOOD.has(word) ? 'positive' : BAD.has(word) ? 'negative' : undefined
}
