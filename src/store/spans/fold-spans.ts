import { type FoldedObservation, foldObservations } from '../../domain/fold.ts'
import type { FoundValue } from '../traces/payloads.ts'
import type { DecisionRow, ObservationRow, SpanRow } from './span-fields.ts'
import type { VoteRow } from './vote-rows.ts'

/** The rows that make up spans. */
export interface SpanRows {
  traces: readonly { key: number; rootSpanId: string; isPosted: number }[]
  spans: readonly SpanRow[]
  /** If the rows come from `chosenObservations`, they also contain the total numbers of inputs and states. */
  observations: readonly (ObservationRow & { inputs?: number; states?: number })[]
  decisions: readonly DecisionRow[]
}

/** A span's row and its values. */
export interface FoldedSpan {
  row: SpanRow
  /** Null if the span has none. */
  parentId: string | null
  inputs: FoundValue[]
  /** How many of the last inputs are messages of one conversation. */
  messageCount: number
  output: FoundValue | undefined
  /** The id of the observation with the last output or, if the output was posted with the span, the span's revision. */
  outputRevision: string
  state: [key: string, value: FoundValue][]
  /** The last decision, whether or not it's current. */
  decision: DecisionRow | undefined
  approved: FoundValue | undefined
  /** The votes, if they were read with the span. */
  votes?: readonly VoteRow[] | undefined
  /** The fields with values that were not read at all, not even as previews. */
  leftOut: readonly ('input' | 'state')[]
}

/** Builds spans from rows, starting from each span's own values and folding its observations over them. */
export function foldSpans({ traces, spans, observations, decisions }: SpanRows): FoldedSpan[] {
  const traceOf = new Map(traces.map(trace => [trace.key, trace]))
  const rootOf = (traceKey: number) => traceOf.get(traceKey)?.rootSpanId ?? ''
  const observationsOf = Map.groupBy(observations, ({ traceKey, spanId }) =>
    placeOf(traceKey, spanId ?? rootOf(traceKey)),
  )
  const decisionOf = new Map(decisions.map(row => [placeOf(row.traceKey, row.spanId), row]))
  const leftOut = fieldsLeftOut(observations)
  return spans.map(row => {
    const place = placeOf(row.traceKey, row.id)
    const parentId = parentOf(row, traceOf.get(row.traceKey))
    const folded = fold(row, parentId, observationsOf.get(place) ?? [], decisionOf.get(place))
    return { ...folded, leftOut }
  })
}

/** The fields whose observations weren't all read. If several spans were read, any of them may be affected. */
function fieldsLeftOut(observations: SpanRows['observations']): FoldedSpan['leftOut'] {
  const [first] = observations
  if (!first) return []
  const countOf = (type: ObservationRow['type']) => observations.filter(row => row.type === type).length
  const { inputs = 0, states = 0 } = first
  return [
    ...(inputs > countOf('input') ? (['input'] as const) : []),
    ...(states > countOf('state') ? (['state'] as const) : []),
  ]
}

/** A client's span without a parent appears under the root. A telemetry span without a parent stays separate. */
function parentOf({ id, parentId }: SpanRow, trace: SpanRows['traces'][number] | undefined): string | null {
  if (!trace || id === trace.rootSpanId) return null
  return parentId || (trace.isPosted === 1 ? trace.rootSpanId : null)
}

const placeOf = (traceKey: number, spanId: string): string => `${traceKey}/${spanId}`

function fold(
  row: SpanRow,
  parentId: string | null,
  observationRows: readonly ObservationRow[],
  decision: DecisionRow | undefined,
): Omit<FoldedSpan, 'leftOut'> {
  const { traceKey } = row
  const found = (text: string | null, ref: string | null, isCut: number): FoundValue | undefined =>
    text === null ? undefined : { text, ref, folder: traceKey, isCut: isCut === 1 }
  const { inputs, messageCount, output, state } = foldObservations(observationRows.map(foldable))
  const given: [key: string, text: string, ref: string | null][] = JSON.parse(row.state ?? '[]')
  const givenState = given.map(([key, text, ref]) => [key, { text, ref, folder: traceKey }] as const)
  const givenInput = found(row.input, row.inputRef, row.isCut)
  return {
    row,
    parentId,
    inputs: givenInput ? [givenInput, ...inputs] : inputs,
    messageCount,
    output: output?.value ?? found(row.output, row.outputRef, row.isCut),
    outputRevision: output?.observationId ?? row.outputRevision ?? 'none',
    state: [...new Map<string, FoundValue>([...givenState, ...state])],
    decision,
    approved: decision && found(decision.approved, decision.approvedRef, decision.isCut),
  }
}

/** The part of an observation that was read. */
const foldable = ({ data, dataRef, isCut, ...row }: ObservationRow): FoldedObservation<FoundValue> => ({
  ...row,
  value: { text: data ?? 'null', ref: dataRef, folder: row.traceKey, isCut: isCut === 1 },
})
