import type { Json } from '../../domain/json.ts'
import type { StepKind } from '../../domain/step-kind.ts'
import { idOf, present, taken } from '../reading/attribute-values.ts'
import { type Convention, firstWord, type Reading, type SpanReader } from '../reading/convention.ts'
import { outputMessage, withMessages } from '../reading/messages.ts'
import { valueFrom } from '../reading/span-content.ts'

/*
 * Frameworks that define keys for input and output and little else (Google's ADK, LiveKit), and
 * hand-written spans with obvious key names.
 */

const INPUT_KEYS = [
  'gcp.vertex.agent.llm_request',
  'gcp.vertex.agent.tool_call_args',
  'gcp.vertex.agent.data',
  'lk.function_tool.arguments',
  'lk.chat_ctx',
  'lk.input_text',
  'lk.user_input',
  'input',
  'inputs',
  'prompt',
  'query',
]

const OUTPUT_KEYS = [
  'gcp.vertex.agent.llm_response',
  'gcp.vertex.agent.tool_response',
  'lk.function_tool.output',
  'lk.response.text',
  'output',
  'outputs',
  'completion',
  'response',
]

/** The first words of the keys, up to the dot. */
const WORDS = [...new Set([...INPUT_KEYS, ...OUTPUT_KEYS, 'model', 'provider'].map(firstWord))]

export const plain: Convention = {
  name: 'plain',
  read(span) {
    if (!span.speaksOf(...WORDS)) return undefined
    const model = taken(span, 'model', idOf)
    const kind = kindOf(span, model)
    const input = firstOf(span, INPUT_KEYS)
    const output = firstOf(span, OUTPUT_KEYS)
    const answer = kind === 'llm' ? outputMessage(output) : undefined
    return present<Reading>({
      model,
      provider: taken(span, 'provider', idOf),
      finishReasons: answer && answer.finishReasons.length > 0 ? answer.finishReasons : undefined,
      metadata: answer && Object.keys(answer.rest).length > 0 ? { response: answer.rest } : undefined,
      fallback: present<NonNullable<Reading['fallback']>>({
        kind,
        stepId: idOf(span.peek('lk.function_tool.name')),
        input: input === undefined ? undefined : withMessages(input),
        output: answer?.output ?? (output === undefined ? undefined : withMessages(output)),
      }),
    })
  },
}

/**
 * An attribute named `model` could be anything, even a car's model. A span with this attribute is a model call only if
 * it also has an input or output.
 */
function kindOf(span: SpanReader, model: string | undefined): StepKind | undefined {
  const has = (key: string): boolean => !isPlaceholder(span.peek(key))
  if (has('lk.function_tool.name') || has('gcp.vertex.agent.tool_call_args')) return 'tool'
  const isAsked = has('gcp.vertex.agent.llm_request') || has('prompt') || has('completion')
  return isAsked && (model !== undefined || has('gcp.vertex.agent.llm_request')) ? 'llm' : undefined
}

/** The value of the first key that is present. Other keys stay among the attributes. */
function firstOf(span: SpanReader, keys: readonly string[]): Json | undefined {
  const key = keys.find(name => !isPlaceholder(span.peek(name)))
  return key === undefined ? undefined : valueFrom(span.get(key))
}

/** ADK sends an empty object if there is no content or if content capture is off. */
const isPlaceholder = (value: Json | undefined): boolean => value === undefined || value === '{}'
