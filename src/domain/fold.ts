import { isJsonObject, type Json } from './json.ts'

export const OBSERVATION_TYPES = ['input', 'output', 'state'] as const
export type ObservationType = (typeof OBSERVATION_TYPES)[number]

/** The state key of an input that's one message of a conversation. A span's messages form one input. */
export const MESSAGE_KEY = 'message'

/** The parts of an observation that matter to its span. `Value` is the type of its data: parsed, or as stored. */
export interface FoldedObservation<Value> {
  id: string
  type: ObservationType
  stateKey: string | null
  value: Value
  timestamp: number
  receivedAt: number
}

/** A span's values. `output` is undefined if there is none. */
export interface Folded<Value> {
  /** In order, messages last. */
  inputs: Value[]
  messageCount: number
  output: { value: Value; observationId: string } | undefined
  state: [key: string, value: Value][]
}

/** Orders observations for folding: by the client's time, then arrival, then id. */
function byFoldOrder(
  left: Omit<FoldedObservation<unknown>, 'value'>,
  right: Omit<FoldedObservation<unknown>, 'value'>,
): number {
  return left.timestamp - right.timestamp || left.receivedAt - right.receivedAt || (left.id < right.id ? -1 : 1)
}

/** Folds one span's observations: every input in order, the last output, and the last value of each state key. */
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
 * Merges several inputs into one. Objects merge at the top level, a single input stays as it is, and anything else
 * becomes an array. The last `messageCount` inputs are messages; these first become one input, `{messages}`.
 */
export function mergeInputs(all: readonly Json[], messageCount = 0): Json | undefined {
  const messages = all.slice(all.length - messageCount)
  const inputs = messageCount === 0 ? all : [...all.slice(0, all.length - messageCount), { messages }]
  if (inputs.length <= 1) return inputs[0]
  // Unlike Object.assign, Object.fromEntries keeps a field named __proto__.
  return inputs.every(isJsonObject) ? Object.fromEntries(inputs.flatMap(Object.entries)) : [...inputs]
}
