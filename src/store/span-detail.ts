import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { SelectResultFields } from 'drizzle-orm/query-builders/select.types'
import { type FoldedObservation, foldObservations, mergeInputs } from '../domain/fold.ts'
import { JsonText } from '../domain/json.ts'
import type { ReviewOutcome } from '../domain/review-state.ts'
import type { PayloadMode, SpanStatus } from '../domain/span.ts'
import { MAX_DETAIL_APPROVED_BYTES, MAX_DETAIL_BYTES } from '../limits.ts'
import { bounded, bytesSoFar } from './bounds.ts'
import { named } from './database.ts'
import { type FoundValue, type ShownValue, showValues } from './payloads.ts'
import { observations, reviews, spans } from './schema.ts'
import type { Store } from './store.ts'

/** A span with its values, as answers show it. */
export interface SpanDetail {
  id: string
  parentId: string | null
  stepId: string
  status: SpanStatus | null
  durationMs: number | null
  promptVersionId: string | null
  metadata: JsonText
  timestamp: number
  input: JsonText
  output: JsonText
  /** `null` where the span is unreviewed. */
  approvedOutput: JsonText
  /** By key. */
  state: Record<string, JsonText>
  review: SpanReview | undefined
  /** Names what there was to judge, and what was decided: it changes with the output and with each decision. */
  revision: string
  /** The fields that are previews of their values: `input`, `output`, `approvedOutput`, `state.<key>`, `metadata`. */
  truncated: string[]
}

/** The decision that counts, where the span is reviewed. */
export interface SpanReview {
  state: ReviewOutcome
  userId: string
  createdAt: number
  comment: string | null
  errorType: string | null
  /** Whether the output has changed since. */
  isStale: boolean
}

const spanBytes = bytesSoFar(spans.metadata, spans.input, spans.output, spans.state)
const MAX_BYTES = sql.raw(String(MAX_DETAIL_BYTES))

/** The fields of a span, its values as far as an answer may hold them. */
export const spanFields = {
  ...named({
    id: spans.id,
    traceKey: spans.traceKey,
    parentId: spans.parentId,
    stepId: spans.stepId,
    status: spans.status,
    durationMs: spans.durationMs,
    promptVersionId: spans.promptVersionId,
    timestamp: spans.timestamp,
    inputRef: spans.inputRef,
    outputRef: spans.outputRef,
    outputRevision: spans.outputRevision,
    reviewNumber: spans.reviewNumber,
    claimedBy: spans.claimedBy,
    claimedUntil: spans.claimedUntil,
  }),
  isStale: sql<number>`${spans.isStale}`.as('isStale'),
  metadata: bounded(spans.metadata, spanBytes, MAX_BYTES, 'metadata'),
  input: bounded(spans.input, spanBytes, MAX_BYTES, 'input'),
  output: bounded(spans.output, spanBytes, MAX_BYTES, 'output'),
  state: sql<string | null>`iif(${spanBytes} > ${MAX_BYTES}, null, ${spans.state})`.as('state'),
  hadState: sql<number>`${spans.state} is not null`.as('hadState'),
  isCut: sql<number>`${spanBytes} > ${MAX_BYTES}`.as('isCut'),
}

/** The fields of an observation likewise; `spanBytes`, what its trace's spans hold already. */
export const observationFields = (spanBytes: SQL = sql`0`) => {
  const soFar = bytesSoFar(observations.data)
  const maxBytes = sql`${MAX_BYTES} - ${spanBytes}`
  return {
    ...named({
      id: observations.id,
      traceKey: observations.traceKey,
      spanId: observations.spanId,
      type: observations.type,
      stateKey: observations.stateKey,
      dataRef: observations.dataRef,
      timestamp: observations.timestamp,
      receivedAt: observations.receivedAt,
    }),
    data: bounded(observations.data, soFar, maxBytes, 'data'),
    isCut: sql<number>`${soFar} > ${maxBytes}`.as('isCut'),
  }
}

const approvedBytes = bytesSoFar(reviews.approved)
const MAX_APPROVED_BYTES = sql.raw(String(MAX_DETAIL_APPROVED_BYTES))

const decisionFields = {
  ...named({
    id: reviews.id,
    traceKey: reviews.traceKey,
    spanId: reviews.spanId,
    number: reviews.number,
    decision: reviews.decision,
    state: reviews.state,
    userId: reviews.userId,
    createdAt: reviews.createdAt,
    outputRevision: reviews.outputRevision,
    outputHash: reviews.outputHash,
    approvedRef: reviews.approvedRef,
    comment: reviews.comment,
    errorType: reviews.errorType,
  }),
  approved: bounded(reviews.approved, approvedBytes, MAX_APPROVED_BYTES, 'approved'),
  isCut: sql<number>`${approvedBytes} > ${MAX_APPROVED_BYTES}`.as('isCut'),
}

/** The last decision on each of some spans. */
export const lastDecisions = ({ database }: Store, ofSpans: SQL | undefined) =>
  database
    .select(decisionFields)
    .from(spans)
    .crossJoin(reviews)
    .where(
      and(
        ofSpans,
        eq(reviews.traceKey, spans.traceKey),
        eq(reviews.spanId, spans.id),
        eq(reviews.number, spans.reviewNumber),
      ),
    )

export type SpanRow = SelectResultFields<typeof spanFields>
export type ObservationRow = SelectResultFields<ReturnType<typeof observationFields>>
export type DecisionRow = SelectResultFields<typeof decisionFields>

/** The rows that spans are made of. */
export interface SpanRows {
  traces: readonly { key: number; rootSpanId: string; isPosted: number }[]
  spans: readonly SpanRow[]
  observations: readonly ObservationRow[]
  decisions: readonly DecisionRow[]
}

/** A span's row and the values that it is made of. */
export interface FoldedSpan {
  row: SpanRow
  /** Null where the span has none. */
  parentId: string | null
  inputs: FoundValue[]
  /** How many of them, the last ones, are messages of one conversation. */
  messageCount: number
  output: FoundValue | undefined
  /** The last output's observation, or the name of the one that was given to the span itself. */
  outputRevision: string
  state: [key: string, value: FoundValue][]
  /** The last decision ever made. */
  decision: DecisionRow | undefined
  approved: FoundValue | undefined
}

/** Puts spans together from rows: values given to a span come first, its observations fold over them. */
export function foldSpans({ traces, spans, observations, decisions }: SpanRows): FoldedSpan[] {
  const traceOf = new Map(traces.map(trace => [trace.key, trace]))
  const rootOf = (traceKey: number) => traceOf.get(traceKey)?.rootSpanId ?? ''
  const observationsOf = Map.groupBy(observations, ({ traceKey, spanId }) =>
    placeOf(traceKey, spanId ?? rootOf(traceKey)),
  )
  const decisionOf = new Map(decisions.map(row => [placeOf(row.traceKey, row.spanId), row]))
  return spans.map(row => {
    const place = placeOf(row.traceKey, row.id)
    const parentId = parentOf(row, traceOf.get(row.traceKey))
    return fold(row, parentId, observationsOf.get(place) ?? [], decisionOf.get(place))
  })
}

/** Under the root hangs what a client sent without a parent; telemetry's spans without parent stand for themselves. */
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
): FoldedSpan {
  const { traceKey } = row
  const found = (text: string | null, ref: string | null, isCut: number): FoundValue | undefined =>
    text === null ? undefined : { text, ref, traceKey, isCut: isCut === 1 }
  const { inputs, messageCount, output, state } = foldObservations(observationRows.map(foldable))
  const given: [key: string, text: string, ref: string | null][] = JSON.parse(row.state ?? '[]')
  const givenState = given.map(([key, text, ref]) => [key, { text, ref, traceKey }] as const)
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

/** An observation as far as it is read. */
const foldable = ({ data, dataRef, isCut, ...row }: ObservationRow): FoldedObservation<FoundValue> => ({
  ...row,
  value: { text: data ?? 'null', ref: dataRef, traceKey: row.traceKey, isCut: isCut === 1 },
})

/**
 * Spans as answers show them. Undefined where an object is gone, as it is when the trace is purged meanwhile.
 */
export async function showSpans(
  store: Store,
  folded: readonly FoldedSpan[],
  mode: PayloadMode,
): Promise<SpanDetail[] | undefined> {
  const values = folded.flatMap(({ inputs, output, state, approved }) => [
    ...inputs,
    ...(output ? [output] : []),
    ...state.map(([, value]) => value),
    ...(approved ? [approved] : []),
  ])
  const shown = await showValues(store, values, mode)
  return shown && folded.map(span => detailOf(span, shown))
}

function detailOf(span: FoldedSpan, shown: ReadonlyMap<FoundValue, ShownValue>): SpanDetail {
  const { row, parentId, inputs, output, state, approved } = span
  const shownOf = (value: FoundValue | undefined) => (value && shown.get(value)) ?? NOTHING
  const shownInputs = inputs.map(shownOf)
  const shownOutput = shownOf(output)
  const shownApproved = shownOf(approved)
  const shownState = state.map(([key, value]) => [key, shownOf(value)] as const)
  const isMetadataCut = row.isCut === 1 && row.metadata !== null
  return {
    id: row.id,
    parentId,
    stepId: row.stepId,
    status: row.status,
    durationMs: row.durationMs,
    promptVersionId: row.promptVersionId,
    timestamp: row.timestamp,
    metadata: new JsonText(isMetadataCut ? '{}' : (row.metadata ?? '{}')),
    input: new JsonText(inputText(shownInputs, span.messageCount)),
    output: new JsonText(shownOutput.text),
    approvedOutput: new JsonText(shownApproved.text),
    review: reviewOf(span),
    revision: revisionOf(span),
    state: Object.fromEntries(shownState.map(([key, { text }]) => [key, new JsonText(text)])),
    truncated: [
      ...(shownInputs.every(({ isWhole }) => isWhole) ? [] : ['input']),
      ...(shownOutput.isWhole ? [] : ['output']),
      ...(shownApproved.isWhole ? [] : ['approvedOutput']),
      ...shownState.filter(([, { isWhole }]) => !isWhole).map(([key]) => `state.${key}`),
      ...(row.isCut === 1 && row.hadState === 1 ? ['state'] : []),
      ...(isMetadataCut ? ['metadata'] : []),
    ],
  }
}

const NOTHING: ShownValue = { text: 'null', isWhole: true }

/** What a reviewer's `If-Match` compares. */
export const revisionOf = ({ outputRevision, row: { reviewNumber } }: FoldedSpan): string =>
  reviewNumber === 0 ? outputRevision : `${outputRevision}.${reviewNumber}`

function reviewOf({ decision, row }: FoldedSpan): SpanReview | undefined {
  if (!decision?.state) return undefined
  const { state, userId, createdAt, comment, errorType } = decision
  return { state, userId, createdAt, comment, errorType, isStale: row.isStale === 1 }
}

/** Only several inputs need to be parsed, to become one. Where one is a preview, it stands for all. */
function inputText(inputs: readonly ShownValue[], messageCount: number): string {
  const [first, ...more] = inputs
  if (!first) return 'null'
  if (more.length === 0 && messageCount === 0) return first.text
  const preview = inputs.find(({ text, isWhole }) => !isWhole && text.startsWith('"'))
  if (preview) return preview.text
  return JSON.stringify(
    mergeInputs(
      inputs.map(({ text }) => JSON.parse(text)),
      messageCount,
    ),
  )
}
