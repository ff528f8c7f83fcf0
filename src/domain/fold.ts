import { isJsonObject, type Json, type JsonObject } from './json.ts'

export type ObservationType = 'input' | 'output' | 'state'

/** An observation as far as it makes up a span. */
export interface FoldedObservation {
  id: string
  type: ObservationType
  stateKey: string | null
  data: Json
  timestamp: number
  receivedAt: number
}

/** What a span's observations add up to; `input` and `output` are undefined where there is none. */
export interface FoldedSpan {
  input: Json | undefined
  output: Json | undefined
  state: JsonObject
}

/** The order in which observations fold: by the client's time, then arrival, then id. */
function byFoldOrder(left: FoldedObservation, right: FoldedObservation): number {
  return left.timestamp - right.timestamp || left.receivedAt - right.receivedAt || (left.id < right.id ? -1 : 1)
}

/**
 * Folds one span's observations: inputs that are all objects merge at the top level, a single one stands as it is, others
 * become an array of all; the last output counts; `state` holds the last value of each key.
 */
export function foldObservations(observations: readonly FoldedObservation[]): FoldedSpan {
  const ordered = observations.toSorted(byFoldOrder)
  const dataOf = (type: ObservationType) => ordered.filter(each => each.type === type).map(each => each.data)
  const state = ordered.filter(each => each.type === 'state').map(each => [each.stateKey ?? '', each.data] as const)
  return { input: foldInputs(dataOf('input')), output: dataOf('output').at(-1), state: Object.fromEntries(state) }
}

function foldInputs(inputs: readonly Json[]): Json | undefined {
  if (inputs.length <= 1) return inputs[0]
  // Object.fromEntries, unlike Object.assign, keeps a field named __proto__ a field.
  return inputs.every(isJsonObject) ? Object.fromEntries(inputs.flatMap(Object.entries)) : [...inputs]
}
