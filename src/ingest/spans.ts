import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { SPAN_ID } from '../api/story.ts'
import { contentName } from '../domain/hash.ts'
import { traceUuid } from '../domain/ids.ts'
import { tokenUsage } from '../domain/model-use.ts'
import { SPAN_STATUSES } from '../domain/span.ts'
import { object, objectOfBytes, Timestamp, text, Uuid, uuid, wholeNumber } from '../http/atoms.ts'
import { conflict, notFound, unprocessable } from '../http/errors.ts'
import {
  ENVELOPE_BYTES,
  escaped,
  MAX_COST_USD,
  MAX_METADATA_BYTES,
  MAX_NAME_LENGTH,
  MAX_OBSERVATION_BYTES,
  MAX_TOKENS,
} from '../limits.ts'
import type { Project } from '../store/accounts/projects.ts'
import { type SpanDraft, type SpanOutcome, saveSpans } from '../store/spans/spans.ts'
import { type NewValue, placeValues } from '../store/traces/payloads.ts'
import { storeInProject } from '../store/traces/placed.ts'
import { spanEvent } from './examples.ts'
import { ingestProject } from './project.ts'
import { JsonPayload, SPAN_OF_OTHER_TRACE, StepId, TOO_LARGE, TRACE_NOT_FOUND, TraceId } from './wire.ts'

const ModelName = text(1, MAX_NAME_LENGTH)
const Tokens = v.nullish(wholeNumber(0, MAX_TOKENS))

const Usage = v.pipe(
  object(
    v.object({
      input_tokens: Tokens,
      output_tokens: Tokens,
      total_tokens: Tokens,
      cached_tokens: Tokens,
      reasoning_tokens: Tokens,
    }),
  ),
  v.metadata({ description: 'The tokens of a model call. `total_tokens` defaults to the sum of input and output.' }),
)

const Cost = v.pipe(
  v.number(),
  v.minValue(0, 'must be at least 0'),
  v.maxValue(MAX_COST_USD, `must be at most ${MAX_COST_USD}`),
)

const Fields = v.object({
  trace_id: TraceId,
  span_id: Uuid,
  parent_span_id: v.nullish(uuid('The parent may be sent later. Default: the root span.')),
  step_id: StepId,
  input: v.nullish(JsonPayload),
  output: v.nullish(JsonPayload),
  metadata: v.nullish(objectOfBytes(MAX_METADATA_BYTES)),
  prompt_version_id: v.nullish(Uuid),
  timestamp: Timestamp,
  duration_ms: v.nullish(wholeNumber(0)),
  status: v.nullish(v.picklist(SPAN_STATUSES)),
  model: v.nullish(ModelName),
  provider: v.nullish(ModelName),
  usage: v.nullish(Usage),
  cost_usd: v.nullish(Cost),
})

export const Span = v.pipe(
  Fields,
  v.forward(
    v.check(({ span_id, parent_span_id }) => span_id !== parent_span_id, 'must be a different span'),
    ['parent_span_id'],
  ),
)

const NO_PROMPT_VERSION = 'No prompt in this project has this version'

export const postSpan = endpoint({
  family: 'ingest',
  method: 'POST',
  path: '/api/v1/spans',
  summary: 'Create or update a span',
  description:
    'A span is one step of a trace. If you send a span again, the fields that you send replace the earlier ones, unless they are null.',
  scope: 'ingest',
  body: Span,
  maxBytes: 2 * MAX_OBSERVATION_BYTES + escaped(MAX_METADATA_BYTES) + ENVELOPE_BYTES,
  errors: { 404: TRACE_NOT_FOUND, 409: SPAN_OF_OTHER_TRACE, 413: TOO_LARGE, 422: NO_PROMPT_VERSION },
  responses: { 202: v.object({ status: v.literal('accepted'), span_id: Uuid }) },
  example: {
    body: spanEvent,
    answers: { 202: { status: 'accepted', span_id: SPAN_ID } },
  },
}).handle(async ({ body, caller, store, headers, now }) => {
  const project = await ingestProject({ caller, store, headers })
  const draft = await spanDraft(project, body, now)
  const shard = await storeInProject(store, project, draft.traceUuid)
  const placement = await placeValues(shard, valuesOf(draft))
  const [outcome = 'trace_missing'] = await saveSpans(shard, project, [draft], placement)
  return spanReply(draft, outcome)
})

/** Converts a body to the store's form. */
export async function spanDraft(
  project: Project,
  body: v.InferOutput<typeof Span>,
  receivedAt: number,
): Promise<SpanDraft> {
  const uuid = await traceUuid(project.id, body.trace_id)
  // If a client sends null for unset fields, that must not remove values from earlier calls.
  const value = (json: string | null | undefined) => (typeof json === 'string' ? { traceUuid: uuid, json } : null)
  return {
    id: body.span_id,
    traceUuid: uuid,
    parentId: body.parent_span_id ?? null,
    stepId: body.step_id,
    timestamp: body.timestamp,
    promptVersionId: body.prompt_version_id ?? null,
    metadata: body.metadata ?? null,
    status: body.status ?? null,
    durationMs: body.duration_ms ?? null,
    modelUse: {
      model: body.model ?? null,
      provider: body.provider ?? null,
      usage: body.usage ? usageOf(body.usage) : null,
      costUsd: body.cost_usd ?? null,
    },
    input: value(body.input),
    output: value(body.output),
    outputRevision: typeof body.output === 'string' ? await contentName(body.output) : null,
    receivedAt,
  }
}

const usageOf = (usage: v.InferOutput<typeof Usage>) =>
  tokenUsage({
    input: usage.input_tokens,
    output: usage.output_tokens,
    total: usage.total_tokens,
    cached: usage.cached_tokens,
    reasoning: usage.reasoning_tokens,
  })

/** A span's values to store. */
export const valuesOf = ({ input, output }: SpanDraft): NewValue[] => [input, output].filter(value => value !== null)

/** The response for one span: 404, 409, or 422 if it was rejected. */
export function spanReply({ id }: SpanDraft, outcome: SpanOutcome) {
  switch (outcome) {
    case 'accepted':
      return { status: 202 as const, body: { status: 'accepted' as const, span_id: id } }
    case 'trace_missing':
      throw notFound(TRACE_NOT_FOUND)
    case 'on_other_trace':
      throw conflict(SPAN_OF_OTHER_TRACE, 'span_id')
    case 'prompt_version_missing':
      throw unprocessable(NO_PROMPT_VERSION, 'prompt_version_id')
  }
}
