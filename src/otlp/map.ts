import * as v from 'valibot'
import { isJsonObject, type Json, type JsonObject } from '../domain/json.ts'
import { reviewabilityOf, type StepKind } from '../domain/step-kind.ts'
import { TraceId } from '../ingest/wire.ts'
import {
  MAX_COMMENT_LENGTH,
  MAX_EXPORTED_STATES,
  MAX_METADATA_BYTES,
  MAX_NAME_LENGTH,
  MAX_OBSERVATION_BYTES,
  MAX_SPAN_ATTRIBUTES,
} from '../limits.ts'
import { countersign } from './conventions/countersign.ts'
import { BY_KIND, BY_MODEL, BY_STEP_ID, CONVENTIONS } from './conventions/index.ts'
import { GROUP_FIELDS, TAGS_FIELDS, USER_FIELDS } from './conventions/trace-identity.ts'
import { fitted } from './fit.ts'
import { modelUseOf } from './model-use.ts'
import { idOf, isRedacted, present, textOf, textsOf } from './reading/attribute-values.ts'
import { dividedRequest, inputFor, outputFor, withSystemPrompt } from './reading/content-by-kind.ts'
import {
  type Convention,
  type HumanJudgment,
  type PromptReference,
  type Reading,
  SpanReader,
  type TraceReading,
} from './reading/convention.ts'
import { errorFrom } from './reading/errors.ts'
import { retrievedChunks } from './reading/retrieved-chunks.ts'
import { splitMetadata, stableName } from './reading/step-names.ts'
import type { Attributes, TelemetryLog, TelemetrySpan } from './reading/telemetry.ts'
import { objectValue } from './reading/values.ts'
import { recordOf } from './span-record.ts'
import type { SpanStep } from './span-step.ts'
import type { Twins } from './twins.ts'

/**
 * The `trace_id` of a span's trace: a valid `countersign.trace_id` on the span or its resource, or else OpenTelemetry's
 * id.
 */
export function traceIdOf({ traceId, attributes, source }: TelemetrySpan | TelemetryLog): string {
  const given = [attributes, source.resource].map(values => values.get('countersign.trace_id'))
  return given.find(value => v.is(TraceId, value)) ?? `trace_${traceId}`
}

/**
 * Converts a span to a step. Every convention reads the span, and the first one that has a value for a field sets it.
 * Attributes that no convention reads stay in the metadata. `twins` comes from the span's export.
 */
export function stepOf(given: TelemetrySpan, twins?: Twins): SpanStep {
  const fit = new Fit()
  const answer = twins?.answers.get(given)
  const { resource, scope } = given.source
  const span = {
    ...given,
    attributes: fit.attributes('attributes', answer ? new Map([...given.attributes, ...answer]) : given.attributes),
    events: fit.parts('events', given.events),
    links: fit.parts('links', given.links),
    source: {
      resource: fit.attributes('resource', resource),
      scope: { ...scope, attributes: fit.attributes('scope', scope.attributes) },
    },
  }
  const reader = new SpanReader(span)
  const readings = new Readings(reader)
  const isRepeated = twins?.repeated.has(given) ?? false
  const kind = isRepeated
    ? 'generic'
    : (readings.firstBy(BY_KIND, r => r.kind) ?? readings.first(r => r.fallback?.kind) ?? 'generic')
  const inputs = isRepeated ? [] : readings.contents('input')
  const { input, parameters } = dividedRequest(inputFor(kind, inputs))
  const output = outputFor(kind, isRepeated ? [] : readings.contents('output'))
  const asked = kind === 'llm' ? withSystemPrompt(input, inputs) : input
  const model = readings.firstBy(BY_MODEL, r => r.model) ?? idOf(parameters.model)
  const provider = readings.first(r => r.provider)
  // Spans around a model call repeat its model, usage, and cost, so only the call's own values are used.
  const isCall = kind === 'llm' || kind === 'embedding' || kind === 'reranker'
  const usage = isCall ? readings.merged(r => r.usage) : undefined
  const cost = readings.merged(r => r.cost)
  const error = errorOf(reader) ?? readings.first(r => r.metadata?.error)
  const prompt = readings.first(r => r.prompt)
  const evaluations = readings.all(r => r.evaluations)
  // The field names come from our code, so Object.assign is safe. Spreading takes ten times as long.
  const metadata: JsonObject = Object.assign(
    {},
    present<JsonObject>({
      kind,
      model,
      provider,
      usage,
      cost,
      finish_reasons: readings.first(r => r.finishReasons),
      prompt: prompt && { ...prompt },
      evaluations: evaluations.length > 0 ? evaluations : undefined,
      error,
    }),
    recordOf(reader),
  )
  const { own, run } = splitMetadata(readings.merged(r => r.trace?.metadata))
  const said = readings.merged(r => r.metadata)
  const more = run ? { run, ...said } : said
  const isNamed = readings.of(countersign)?.stepId !== undefined
  return {
    kind,
    stepId: stepIdOf(span, readings, { kind, model }),
    status: error === undefined ? 'ok' : 'error',
    isPending: readings.first(r => r.isPending || undefined) ?? false,
    isNamed,
    reviewability: reviewabilityOf(kind, isNamed),
    input: asked === undefined ? undefined : fit.value('input', asked, MAX_OBSERVATION_BYTES),
    output: output === undefined ? undefined : fit.value('output', output, MAX_OBSERVATION_BYTES),
    state: stateOf(readings, { kind, model, provider, output, parameters }, fit),
    metadata: fit.object('metadata', more ? { ...more, ...metadata } : metadata, MAX_METADATA_BYTES),
    modelUse: modelUseOf(
      isCall ? { model: fit.name('model', model), provider: fit.name('provider', provider), usage, cost } : {},
    ),
    prompt: promptOf(readings, kind, prompt),
    feedback: readings.all(r => r.feedback).map(judgment => shortJudgment(judgment, fit)),
    trace: traceOf(span, readings, own ?? {}, fit),
    warnings: fit.warnings,
  }
}

/** Each convention's reading of one span. */
class Readings {
  readonly #readings: Reading[] = []
  readonly #byConvention = new Map<Convention, Reading>()

  constructor(span: SpanReader) {
    for (const convention of CONVENTIONS) {
      const reading = convention.read(span)
      if (!reading) continue
      this.#readings.push(reading)
      this.#byConvention.set(convention, reading)
    }
  }

  of(convention: Convention): Reading | undefined {
    return this.#byConvention.get(convention)
  }

  /** The value from the first convention that has one. */
  first<Value>(pick: (reading: Reading) => Value | undefined): Value | undefined {
    for (const reading of this.#readings) {
      const value = pick(reading)
      if (value !== undefined) return value
    }
    return undefined
  }

  /** Like `first`, but in the given order. */
  firstBy<Value>(order: readonly Convention[], pick: (reading: Reading) => Value | undefined): Value | undefined {
    for (const convention of order) {
      const reading = this.#byConvention.get(convention)
      const value = reading && pick(reading)
      if (value !== undefined) return value
    }
    return undefined
  }

  /** Everything that conventions recognize as the input or the output, best first. */
  contents(side: 'input' | 'output'): Json[] {
    const values = [...this.#readings.map(r => r[side]), ...this.#readings.map(r => r.fallback?.[side])]
    return values.filter(value => value !== undefined)
  }

  all<Value>(pick: (reading: Reading) => readonly Value[] | undefined): Value[] {
    return this.#readings.flatMap(reading => pick(reading) ?? [])
  }

  /** Merges objects field by field; the first convention that has a field sets it. */
  merged(pick: (reading: Reading) => object | undefined): JsonObject | undefined {
    let only: object | undefined
    let fields: Map<string, Json> | undefined
    for (const reading of this.#readings) {
      const object = pick(reading)
      if (object && !only) only = object
      else if (object && only) {
        // A map, because a field may be named __proto__.
        fields ??= new Map(entriesOf(only))
        for (const [field, value] of entriesOf(object)) if (!fields.has(field)) fields.set(field, value)
      }
    }
    return fields ? objectValue(fields) : only && { ...only }
  }
}

const entriesOf = (object: object | undefined): [string, Json][] => Object.entries(object ?? {})

/** Truncates values to their limits and collects a warning for each truncation. */
class Fit {
  readonly warnings: string[] = []

  value(name: string, value: Json, maxBytes: number): Json {
    const { value: small, cuts } = fitted(value, maxBytes)
    for (const { path, bytes } of cuts) this.#warn(path === '' ? name : `${name}.${path}`, `${bytes} bytes`)
    return small
  }

  object(name: string, value: JsonObject, maxBytes: number): JsonObject {
    const small = this.value(name, value, maxBytes)
    return isJsonObject(small) ? small : {}
  }

  text(name: string, text: string, maxLength = MAX_NAME_LENGTH): string {
    if (text.length <= maxLength) return text
    this.#warn(name, `${text.length} characters`)
    return cutLength(text, maxLength)
  }

  name(field: string, name: string | undefined): string | undefined {
    return name === undefined ? undefined : this.text(field, name)
  }

  count<Item>(name: string, items: readonly Item[], maxCount: number): Item[] {
    if (items.length > maxCount) this.#warn(name, `${items.length} values`)
    return items.slice(0, maxCount)
  }

  attributes(name: string, attributes: Attributes): Attributes {
    if (attributes.size <= MAX_SPAN_ATTRIBUTES) return attributes
    return new Map(this.count(name, [...attributes], MAX_SPAN_ATTRIBUTES))
  }

  /**
   * The first parts whose attributes together stay within a span's limit. Each part itself also counts as one
   * attribute.
   */
  parts<Part extends { attributes: Attributes }>(name: string, parts: readonly Part[]): readonly Part[] {
    let left = MAX_SPAN_ATTRIBUTES
    const end = parts.findIndex(({ attributes }) => {
      left -= 1 + attributes.size
      return left < 0
    })
    return end === -1 ? parts : this.count(name, parts, end)
  }

  #warn(name: string, size: string): void {
    this.warnings.push(`truncated ${name}, which had ${size}`)
  }
}

/** Truncates a string without splitting a surrogate pair. */
const cutLength = (text: string, maxLength: number): string =>
  text.length <= maxLength ? text : text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, '')

/**
 * The name that the sender chose, or else the first name with anything left after removing ids, counters, and the
 * model.
 */
function stepIdOf(
  span: TelemetrySpan,
  readings: Readings,
  { kind, model }: { kind: StepKind; model: string | undefined },
): string {
  const explicit = textOf(readings.of(countersign)?.stepId?.trim())
  if (explicit !== undefined && !isRedacted(explicit)) return cutLength(explicit, MAX_NAME_LENGTH)
  const nameFrom = (name: string | undefined): string | undefined => {
    if (name === undefined || isRedacted(name)) return undefined
    return textOf(withoutModel(stableName(name), model))
  }
  const name =
    readings.firstBy(BY_STEP_ID, r => nameFrom(r.stepId)) ??
    readings.firstBy(BY_STEP_ID, r => nameFrom(r.fallback?.stepId)) ??
    nameFrom(span.name) ??
    (kind === 'generic' ? 'span' : kind)
  return cutLength(name, MAX_NAME_LENGTH)
}

/** Calls of different models are the same step. */
const withoutModel = (name: string, model: string | undefined): string =>
  model !== undefined && (name === model || name.endsWith(` ${model}`)) ? name.slice(0, -model.length).trim() : name

const stableNameOf = (name: string | undefined): string | undefined =>
  name === undefined ? undefined : textOf(stableName(name))

/** The error of a failed span. A span with an exception is treated as failed unless its status is ok. */
function errorOf(reader: SpanReader): JsonObject | undefined {
  const { status, statusMessage, events } = reader.span
  const type = idOf(reader.get('error.type'))
  const exception = events.findLast(({ name }) => name === 'exception')?.attributes
  if (status !== 'error' && (status === 'ok' || (type === undefined && !exception))) return undefined
  return errorFrom(
    type ?? textOf(exception?.get('exception.type')) ?? 'error',
    // Some SDKs repeat the type in the status message, so the exception's message comes first.
    textOf(exception?.get('exception.message')) ?? textOf(statusMessage),
  )
}

/**
 * The prompt of a model call or a prompt span. Spans around them repeat the prompt, so those copies are ignored. Our
 * own attribute, however, is used on every span.
 */
function promptOf(
  readings: Readings,
  kind: StepKind,
  prompt: PromptReference | undefined,
): PromptReference | undefined {
  const own = readings.of(countersign)?.prompt
  if (own) return own
  const parts = [prompt?.id, prompt?.name, prompt?.version]
  // An id or name above the limit can't match anything. It stays in the metadata.
  if (parts.some(part => typeof part === 'string' && part.length > MAX_NAME_LENGTH)) return undefined
  return kind === 'llm' || kind === 'prompt' ? prompt : undefined
}

interface Known {
  kind: StepKind
  model: string | undefined
  provider: string | undefined
  output: Json | undefined
  /** The parameters in the request. Empty if it has only the conversation. */
  parameters: JsonObject
}

/**
 * The states from conventions, plus two derived ones: the retrieved chunks from a retriever's output, and a model
 * call's config.
 */
function stateOf(
  readings: Readings,
  { kind, model, provider, output, parameters }: Known,
  fit: Fit,
): Map<string, Json> {
  const state = new Map(entriesOf(readings.merged(r => r.state)))
  if (kind === 'retriever' && !state.has('retrieved_chunks')) {
    const chunks = retrievedChunks(output)
    if (chunks) state.set('retrieved_chunks', chunks)
  }
  const isCall = kind === 'llm' || kind === 'embedding' || kind === 'reranker'
  const given = state.get('config')
  if (given === undefined || isJsonObject(given)) {
    const known = isCall ? { ...present<JsonObject>({ model, provider }), ...parameters } : undefined
    const config = readings.merged(r => (isJsonObject(r.state?.config) ? r.state.config : undefined))
    const whole = { ...known, ...config }
    if (Object.keys(whole).length > 0) state.set('config', whole)
  }
  const kept = fit.count('state', [...state], MAX_EXPORTED_STATES)
  return new Map(kept.map(([key, value]) => [key, fit.value(`state.${key}`, value, MAX_OBSERVATION_BYTES)]))
}

const shortJudgment = (judgment: HumanJudgment, fit: Fit): HumanJudgment => ({
  ...judgment,
  name: fit.text('feedback.name', judgment.name),
  identifier: fit.text('feedback.identifier', judgment.identifier),
  ...(judgment.comment !== undefined && {
    comment: fit.text('feedback.comment', judgment.comment, MAX_COMMENT_LENGTH),
  }),
})

function traceOf(span: TelemetrySpan, readings: Readings, given: JsonObject, fit: Fit): TraceReading {
  const first = <Value>(pick: (trace: TraceReading) => Value | undefined): Value | undefined =>
    readings.first(({ trace }) => trace && pick(trace))
  const text = (name: string, value: string | undefined): string | undefined =>
    isRedacted(value) ? undefined : fit.name(name, value)
  const { resource } = span.source
  const groupId = first(trace => trace.groupId) ?? idOf(...GROUP_FIELDS.map(field => given[field]))
  const userId = first(trace => trace.userId) ?? idOf(...USER_FIELDS.map(field => given[field]))
  const tags = first(trace => trace.tags) ?? TAGS_FIELDS.map(field => textsOf(given[field])).find(Array.isArray)
  const metadata: JsonObject = Object.assign(
    metadataOf(given, groupId, userId, tags),
    present<JsonObject>({
      service_name: idOf(resource.get('service.name')),
      service_version: idOf(resource.get('service.version')),
    }),
  )
  const input = first(trace => trace.input)
  const output = first(trace => trace.output)
  const environment = first(trace => trace.environment) ?? environmentOf(resource)
  const reading = present<TraceReading>({
    name: text(
      'trace name',
      first(trace => trace.name),
    ),
    rootName: text('trace name', stableNameOf(first(trace => trace.rootName))),
    groupId: text('group_id', groupId),
    userId: text('user_id', userId),
    tags: tags && shortTags(tags, fit),
    environment: text('environment', environment),
    release: text(
      'release',
      first(trace => trace.release),
    ),
    metadata: Object.keys(metadata).length > 0 ? fit.object('trace metadata', metadata, MAX_METADATA_BYTES) : undefined,
    input: input === undefined ? undefined : fit.value('trace input', input, MAX_OBSERVATION_BYTES),
    output: output === undefined ? undefined : fit.value('trace output', output, MAX_OBSERVATION_BYTES),
    isRoot: first(trace => trace.isRoot || undefined),
  })
  return reading ?? {}
}

const environmentOf = (resource: TelemetrySpan['source']['resource']): string | undefined =>
  idOf(resource.get('deployment.environment.name'), resource.get('deployment.environment'))

/** Drops metadata that the trace already has as a field. */
function metadataOf(given: JsonObject, groupId: string | undefined, userId: string | undefined, tags?: string[]) {
  const isPromoted = (field: string, value: Json): boolean =>
    (groupId !== undefined && GROUP_FIELDS.includes(field) && idOf(value) === groupId) ||
    (userId !== undefined && USER_FIELDS.includes(field) && idOf(value) === userId) ||
    (tags !== undefined && TAGS_FIELDS.includes(field) && textsOf(value)?.join() === tags.join())
  return objectValue(Object.entries(given).filter(([field, value]) => !isPromoted(field, value)))
}

function shortTags(tags: string[], fit: Fit): string[] {
  const small = fit.value('tags', tags, MAX_METADATA_BYTES / 4)
  return Array.isArray(small) ? small.filter(tag => typeof tag === 'string') : []
}
