import type { Json, JsonObject } from '../../domain/json.ts'
import type { StepKind } from '../../domain/step-kind.ts'
import { present } from './attribute-values.ts'
import { inputMessages, outputMessage, withMessages } from './messages.ts'
import { withoutPrints } from './python.ts'
import { parsed } from './serialized.ts'

/** A span's input and output. */
export interface SpanContent {
  input?: Json
  output?: Json
  finishReasons?: string[]
  /** Other fields of a model's response: its id, its model. */
  response?: JsonObject
}

/** The value, parsed if it was serialized. */
export const valueFrom = (value: Json | undefined): Json | undefined =>
  value === undefined ? undefined : parsed(value)

/** The value, parsed if it was serialized or printed. */
export function plainFrom(value: Json | undefined): Json | undefined {
  const plain = valueFrom(value)
  return plain === undefined ? undefined : withoutPrints(plain)
}

/**
 * The content of a span whose client uses one attribute each for input and output, regardless of kind. Conversations
 * are converted to our form; other values are kept.
 */
export function contentOf(
  kind: StepKind | undefined,
  asked: Json | undefined,
  answered: Json | undefined,
): SpanContent {
  const input = plainFrom(asked)
  const output = plainFrom(answered)
  const answer = kind === 'llm' ? outputMessage(output) : undefined
  const content = present<SpanContent>({
    input: (kind === 'llm' ? inputMessages(input) : undefined) ?? (input && withMessages(input)),
    output: answer?.output ?? (output && withMessages(output)),
    finishReasons: answer && answer.finishReasons.length > 0 ? answer.finishReasons : undefined,
    response: answer && Object.keys(answer.rest).length > 0 ? answer.rest : undefined,
  })
  return content ?? {}
}
