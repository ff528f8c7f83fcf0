import type { Json, JsonObject } from '../../domain/json.ts'
import { idOf, numberOf, present, taken } from '../reading/attribute-values.ts'
import type { Convention, Reading, SpanReader, Usage } from '../reading/convention.ts'
import { modelConfig } from '../reading/model-config.ts'
import type { TelemetryEvent } from '../reading/telemetry.ts'

/*
 * The Codex CLI traces its own functions, in hundreds of spans per prompt. This convention reads only the spans of the
 * prompt's actual steps. Text is only in log records. Each belongs to the span that has the same event. Source:
 * recorded exports of version 0.169.
 */

export const codex: Convention = {
  name: 'codex',
  read(span) {
    const { name, source } = span.span
    const service = source.resource.get('service.name')
    const isCodex =
      source.scope.name.startsWith('codex') || (typeof service === 'string' && service.startsWith('codex'))
    if (!isCodex) return undefined
    const result = eventOf(span, 'codex.tool_result')
    if (result) return present<Reading>({ kind: 'tool', stepId: idOf(result.attributes.get('tool_name') ?? undefined) })
    if (eventOf(span, 'codex.user_prompt')) return { kind: 'prompt', stepId: 'user_prompt' }
    if (name === 'session_task.turn') return turn(span)
    // There is one of these spans for each chunk of the stream. The last one has the usage.
    if (name === 'handle_responses' && span.hasBelow('gen_ai.usage.')) return response(span)
    return undefined
  },
}

/** An event's name is its location in the source code; the real name is in an attribute. */
const eventOf = (span: SpanReader, name: string): TelemetryEvent | undefined =>
  span.span.events.find(({ attributes }) => attributes.get('event.name') === name)

/** A turn from prompt to answer. Its usage is the sum of its model calls' usage, so it isn't read here. */
function turn(span: SpanReader): Reading {
  const model = taken(span, 'model', idOf)
  const config = configOf(span, 'codex.turn.reasoning_effort', model)
  return { kind: 'agent', ...present<Reading>({ model, state: config && { config } }) }
}

function response(span: SpanReader): Reading {
  const config = configOf(span, 'codex.request.reasoning_effort', undefined)
  return { kind: 'llm', ...present<Reading>({ usage: usageOf(span), state: config && { config } }) }
}

function configOf(span: SpanReader, key: string, model: string | undefined): JsonObject | undefined {
  const effort = span.get(key)
  const parameters: [string, Json][] = effort === undefined ? [] : [['reasoning_effort', effort]]
  return modelConfig(parameters, model, [])
}

const usageOf = (span: SpanReader): Usage | undefined =>
  present<Usage>({
    input_tokens: taken(span, 'gen_ai.usage.input_tokens', numberOf),
    output_tokens: taken(span, 'gen_ai.usage.output_tokens', numberOf),
    total_tokens: taken(span, 'codex.usage.total_tokens', numberOf),
    cache_read_tokens: taken(span, 'gen_ai.usage.cache_read.input_tokens', numberOf),
    cache_write_tokens: taken(span, 'gen_ai.usage.cache_write.input_tokens', numberOf),
    reasoning_tokens: taken(span, 'codex.usage.reasoning_output_tokens', numberOf),
  })
