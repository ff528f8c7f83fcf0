import type { Json, JsonObject } from '../../domain/json.ts'
import { present } from './attribute-values.ts'
import type { Kind } from './convention.ts'
import { inputMessages, outputMessage, withMessages } from './messages.ts'
import { parsed } from './serialized.ts'

/** What a span took in and gave back. */
export interface SpanContent {
  input?: Json
  output?: Json
  finishReasons?: string[]
  /** What a model's answer came with: its id, its model. */
  response?: JsonObject
}

/** The value, parsed where it was serialized. */
export const valueFrom = (value: Json | undefined): Json | undefined =>
  value === undefined ? undefined : parsed(value)

const contentFrom = (value: Json | undefined): Json | undefined => {
  const content = valueFrom(value)
  return content === undefined ? undefined : withMessages(content)
}

/**
 * A span's content where a client has it in one attribute each for spans of every kind: as a conversation where it is one, any
 * other as it is.
 */
export function contentOf(kind: Kind | undefined, input: Json | undefined, output: Json | undefined): SpanContent {
  const answer = kind === 'llm' ? outputMessage(output) : undefined
  const content = present<SpanContent>({
    input: (kind === 'llm' ? inputMessages(input) : undefined) ?? contentFrom(input),
    output: answer?.output ?? contentFrom(output),
    finishReasons: answer && answer.finishReasons.length > 0 ? answer.finishReasons : undefined,
    response: answer && Object.keys(answer.rest).length > 0 ? answer.rest : undefined,
  })
  return content ?? {}
}
