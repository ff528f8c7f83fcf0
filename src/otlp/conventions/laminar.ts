import type { JsonObject } from '../../domain/json.ts'
import type { StepKind } from '../../domain/step-kind.ts'
import { numberOf, parsedObject, present, taken, textOf } from '../reading/attribute-values.ts'
import type { Convention, Reading, SpanReader } from '../reading/convention.ts'
import { contentOf } from '../reading/span-content.ts'

/*
 * Laminar's SDKs. Source: lmnr-ts, `packages/lmnr/src/opentelemetry-lib/tracing/attributes.ts`; lmnr,
 * `app-server/src/traces/span_attributes.rs`; and a run of the client.
 */

const KINDS_OF_TYPES: ReadonlyMap<string, StepKind> = new Map([
  ['LLM', 'llm'],
  ['TOOL', 'tool'],
  ['EVALUATOR', 'evaluator'],
  ['HUMAN_EVALUATOR', 'evaluator'],
  ['EVALUATION', 'workflow'],
  ['PIPELINE', 'workflow'],
  ['EXECUTOR', 'task'],
])

export const laminar: Convention = {
  name: 'laminar',
  read(span) {
    if (!span.hasBelow('lmnr.')) return undefined
    const type = typeOf(span)
    const kind = KINDS_OF_TYPES.get(type ?? '')
    if (kind !== undefined || type === 'DEFAULT') span.get('lmnr.span.type')
    const { response, ...content } = contentOf(kind, span.get('lmnr.span.input'), span.get('lmnr.span.output'))
    const properties = parsedObject(span.below('lmnr.association.properties.metadata.'))
    return present<Reading>({
      kind,
      ...content,
      cost: present<JsonObject>({
        input: taken(span, 'gen_ai.usage.input_cost', numberOf),
        output: taken(span, 'gen_ai.usage.output_cost', numberOf),
        total: taken(span, 'gen_ai.usage.cost', numberOf),
      }),
      trace: properties && { metadata: properties },
      metadata: response && { response },
      // The SDK gives this type to every span without a more specific type, even to spans around model calls. The
      // JavaScript client omits the type instead.
      fallback: type === 'DEFAULT' || (type === undefined && isOwn(span)) ? { kind: 'task' } : undefined,
    })
  },
}

const isOwn = ({ span }: SpanReader): boolean => span.source.scope.name === 'lmnr.tracer'

/** A call answered from the cache gives its original type in another attribute. */
function typeOf(span: SpanReader): string | undefined {
  const type = textOf(span.peek('lmnr.span.type'))?.toUpperCase()
  return type === 'CACHED' ? (textOf(span.peek('lmnr.span.original_type'))?.toUpperCase() ?? 'LLM') : type
}
