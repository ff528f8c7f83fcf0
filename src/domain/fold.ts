import { isJsonObject, type Json } from './json.ts'

export const OBSERVATION_TYPES = ['input', 'output', 'state'] as const
export type ObservationType = (typeof OBSERVATION_TYPES)[number]

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
  inputs: Value[]
  output: { value: Value; observationId: string } | undefined
  state: [key: string, value: Value][]
}

/** Compares observations by the order in which they fold: the client's time, then arrival, then id. */
export function byFoldOrder(
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
  return {
    inputs: ordered.filter(({ type }) => type === 'input').map(({ value }) => value),
    output: output && { value: output.value, observationId: output.id },
    state: [...new Map(state.map(({ stateKey, value }) => [stateKey ?? '', value]))],
  }
}

/** Several inputs as one: objects merge at the top level, a single one stands as it is, others become an array of all. */
export function mergeInputs(inputs: readonly Json[]): Json | undefined {
  if (inputs.length <= 1) return inputs[0]
  // Object.fromEntries, unlike Object.assign, keeps a field named __proto__ a field.
  return inputs.every(isJsonObject) ? Object.fromEntries(inputs.flatMap(Object.entries)) : [...inputs]
}
