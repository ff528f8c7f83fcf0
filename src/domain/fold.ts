import { isJsonObject, type Json } from './json.ts'

export const OBSERVATION_TYPES = ['input', 'output', 'state'] as const
export type ObservationType = (typeof OBSERVATION_TYPES)[number]

/** The state key of an input that is one message of a conversation: those of a span make up one input. */
export const MESSAGE_KEY = 'message'

/** An observation as far as it makes up a span. `Value` is how its data is held: parsed, or as it is stored. */
export interface FoldedObservation<Value> {
  id: string
  type: ObservationType
  stateKey: string | null
  value: Value
  timestamp: number
  receivedAt: number
}

/** Which values a span is made of; `output` is undefined where there is none. */
export interface Folded<Value> {
  /** The messages last. */
  inputs: Value[]
  messageCount: number
  output: { value: Value; observationId: string } | undefined
  state: [key: string, value: Value][]
}

/** Compares observations by the order in which they fold: the client's time, then arrival, then id. */
function byFoldOrder(
  left: Omit<FoldedObservation<unknown>, 'value'>,
  right: Omit<FoldedObservation<unknown>, 'value'>,
): number {
  return left.timestamp - right.timestamp || left.receivedAt - right.receivedAt || (left.id < right.id ? -1 : 1)
}

/** Chooses what one span's observations add up to: every input in order, the last output, the last value of each state key. */
export function foldObservations<Value>(observations: readonly FoldedObservation<Value>[]): Folded<Value> {
  const ordered = observations.toSorted(byFoldOrder)
  const output = ordered.findLast(({ type }) => type === 'output')
  const state = ordered.filter(({ type }) => type === 'state')
  const inputs = ordered.filter(({ type }) => type === 'input')
  const messages = inputs.filter(({ stateKey }) => stateKey === MESSAGE_KEY)
  return {
    inputs: [...inputs.filter(({ stateKey }) => stateKey !== MESSAGE_KEY), ...messages].map(({ value }) => value),
    messageCount: messages.length,
    output: output && { value: output.value, observationId: output.id },
    state: [...new Map(state.map(({ stateKey, value }) => [stateKey ?? '', value]))],
  }
}

/**
 * Several inputs as one: objects merge at the top level, a single one stands as it is, others become an array of all. The last
 * ones, `messageCount` of them, are messages, which become one input `{messages}` first.
 */
export function mergeInputs(all: readonly Json[], messageCount = 0): Json | undefined {
  const messages = all.slice(all.length - messageCount)
  const inputs = messageCount === 0 ? all : [...all.slice(0, all.length - messageCount), { messages }]
  if (inputs.length <= 1) return inputs[0]
  // Object.fromEntries, unlike Object.assign, keeps a field named __proto__ a field.
  return inputs.every(isJsonObject) ? Object.fromEntries(inputs.flatMap(Object.entries)) : [...inputs]
}
