import type { Json, JsonObject } from '../../domain/json.ts'
import { idOf, numberOf, present, taken } from '../reading/attribute-values.ts'
import type { Convention, Reading, SpanReader } from '../reading/convention.ts'
import { modelConfig } from '../reading/model-config.ts'

/*
 * What LiteLLM's callback adds to OpenTelemetry's conventions: cost, the caller's user, and a span with the raw request
 * below each call. Source: a recorded export of LiteLLM 1.
 */

export const litellm: Convention = {
  name: 'litellm',
  read(span) {
    if (span.span.source.scope.name !== 'litellm') return undefined
    if (!span.hasBelow('gen_ai.')) return rawRequest(span)
    const costs = span.below('gen_ai.cost.')
    const userId = taken(span, 'llm.user', idOf)
    // The fields of `hidden_params` are empty or repeat the attributes above.
    span.get('hidden_params')
    const names = toolsOf(span)
    return present<Reading>({
      cost: present<JsonObject>({
        input: numberOf(costs.get('input_cost')),
        output: numberOf(costs.get('output_cost')),
        total: numberOf(costs.get('total_cost')),
      }),
      state: present<Record<string, Json>>({
        config: names.length > 0 ? modelConfig([], undefined, names) : undefined,
      }),
      trace: userId === undefined ? undefined : { userId },
    })
  },
}

/** A copy of the call in the provider's own form. Its span has the caller's name for the call. */
function rawRequest(span: SpanReader): Reading {
  span.below('llm.')
  return { kind: 'generic', stepId: 'raw_gen_ai_request' }
}

function toolsOf(span: SpanReader): string[] {
  if (!span.hasBelow('llm.request.functions.')) return []
  return [...span.span.attributes].flatMap(([key, value]) =>
    /^llm\.request\.functions\.\d+\.name$/.test(key) ? (idOf(value) ?? []) : [],
  )
}
